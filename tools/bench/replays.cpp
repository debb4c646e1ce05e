// replays.cpp - repeated launches and waits, alternating between subjects.
//
// SPDX-License-Identifier: MIT
#include "replays.hpp"

#include <algorithm>
#include <memory>

namespace synfire_bench {
namespace {

constexpr std::uint64_t blocks = 10;             // of each subject, alternating with the others'
constexpr std::uint64_t warm_up_replays = 2000;  // before the first block; a twentieth before each later one

}  // namespace

void measure(std::vector<Subject>& subjects, std::uint64_t replays, double most_seconds) {
  const std::uint64_t n_blocks = std::min(blocks, replays);
  for (Subject& subject : subjects) {
    subject.times.done.reserve(replays);
    subject.times.launch.reserve(replays);
    subject.block(nullptr, std::min(warm_up_replays, replays), most_seconds / 10);
  }
  for (std::uint64_t block = 0; block < n_blocks; ++block) {
    const std::uint64_t count = replays * (block + 1) / n_blocks - replays * block / n_blocks;
    const double seconds = most_seconds / static_cast<double>(n_blocks);
    for (Subject& subject : subjects) {
      if (subjects.size() > 1)
        subject.block(nullptr, count / 20 + 1, seconds / 10);  // removes traces of the other subjects
      subject.block(&subject.times, count, seconds);
    }
  }
}

void wait_for(synfire_graph graph, std::uint64_t ticket, std::int32_t policy) {
  check(synfire_graph_wait(graph, ticket, policy, -1), "synfire_graph_wait");
}

Subject replays_of(synfire_graph graph, std::int32_t policy) {
  auto ticket = std::make_shared<std::uint64_t>(0);
  return make_subject([=] { check(synfire_graph_launch(graph, nullptr, ticket.get()), "synfire_graph_launch"); },
                      [=] { wait_for(graph, *ticket, policy); });
}

}  // namespace synfire_bench
