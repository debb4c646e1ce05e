// replays.hpp - repeated launches and waits, alternating between subjects.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_REPLAYS_HPP
#define SYNFIRE_TOOLS_BENCH_REPLAYS_HPP

#include <cstdint>
#include <functional>
#include <vector>

#include "timing.hpp"

namespace synfire_bench {

struct Times {
  std::vector<double> done;    ///< microseconds from before the launch to after the wait
  std::vector<double> launch;  ///< nanoseconds in the call that launches
};

/// Something that is launched and waited for repeatedly.
struct Subject {
  std::function<void(Times* times, std::uint64_t count, double most_seconds)> block;
  Times times;
};

template <typename Launch, typename Wait>
Subject make_subject(Launch launch, Wait wait) {
  return {[launch, wait](Times* times, std::uint64_t count, double most_seconds) mutable {
            const double limit = now() + most_seconds;
            for (std::uint64_t i = 0; i < count; ++i) {
              const double begin = now();
              if (i > 0 && begin > limit) break;
              launch();
              const double launched = now();
              wait();
              const double done = now();
              if (times == nullptr) continue;
              times->done.push_back((done - begin) * 1e6);
              times->launch.push_back((launched - begin) * 1e9);
            }
          },
          {}};
}

/// Measures every subject's replays in blocks that alternate with the others', after a warm-up. Spends at most that
/// many seconds on each subject.
void measure(std::vector<Subject>& subjects, std::uint64_t replays, double most_seconds);

void wait_for(synfire_graph graph, std::uint64_t ticket, std::int32_t policy);

Subject replays_of(synfire_graph graph, std::int32_t policy);

}  // namespace synfire_bench

#endif
