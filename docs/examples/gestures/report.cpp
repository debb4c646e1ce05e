// report.cpp - see report.hpp.
//
// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <cinttypes>
#include <cstdio>

namespace gestures {

void report_films(const char* what, const std::vector<Film>& films) {
  std::size_t n_events = 0;
  for (const Film& film : films) n_events += film.events.size();
  std::printf("%-12s %zu films of %zu gestures, %zu events, hash %016" PRIx64 "\n", what, films.size(), names.size(),
              n_events, hash_films(films));
  std::fflush(stdout);
}

void report_epoch(const Epoch& epoch) {
  std::printf("epoch %3zu    loss %.4f, learnt %5.1f %%, unseen %5.1f %%\n", epoch.number, epoch.loss,
              100 * epoch.learnt, 100 * epoch.unseen);
  std::fflush(stdout);
}

void report_confusion(const Confusion& counts) {
  std::size_t right = 0, all = 0;
  std::printf("done         named\n             ");
  for (const char* const name : names) std::printf("%6.5s", name);
  std::printf("\n");
  for (std::size_t r = 0; r < names.size(); ++r) {
    std::printf("%-13s", names.at(r));
    for (std::size_t c = 0; c < names.size(); ++c) {
      const std::size_t count = counts.at(r).at(c);
      std::printf("%6zu", count);
      all += count;
      right += r == c ? count : 0;
    }
    std::printf("\n");
  }
  std::printf("right        %zu of %zu films of unseen hands, speeds, lights and noise: %.2f %%\n", right, all,
              all == 0 ? 0.0 : 100.0 * static_cast<double>(right) / static_cast<double>(all));
}

void report_weights(std::uint64_t hash) {
  std::printf("weights      hash %016" PRIx64 "\n", hash);
}

}  // namespace gestures
