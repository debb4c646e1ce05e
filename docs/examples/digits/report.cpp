// report.cpp - see report.hpp.
//
// SPDX-License-Identifier: MIT
#include "report.hpp"

#include <array>
#include <cinttypes>
#include <cstdio>

#include "voices.hpp"

namespace digits {

void report_data(const Data& data) {
  std::size_t learnt = 0;
  for (const Voice& voice : voices) learnt += voice.tested ? 0U : 1U;
  std::printf("data         %zu digits of %zu voices that are learnt and %zu that are not, hash %016" PRIx64 "\n",
              data.utterances.size(), learnt, voices.size() - learnt, data.hash);
}

void report_epoch(const Epoch& epoch) {
  std::printf("epoch %3zu    loss %.4f, learnt %5.1f %%, unheard voices %5.1f %%\n", epoch.number, epoch.loss,
              100 * epoch.learnt, 100 * epoch.unheard);
  std::fflush(stdout);
}

void report_confusion(const std::vector<const Utterance*>& rows, const std::vector<std::uint32_t>& names) {
  std::array<std::array<std::size_t, words.size()>, words.size()> counts{};
  std::array<std::size_t, voices.size()> wrong{}, spoken{};
  std::size_t right = 0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const bool good = names.at(r) == rows[r]->digit;
    ++counts.at(rows[r]->digit).at(names[r]);
    ++spoken.at(rows[r]->voice);
    wrong.at(rows[r]->voice) += good ? 0U : 1U;
    right += good ? 1U : 0U;
  }
  std::printf("spoken       named\n           ");
  for (const char* const word : words) std::printf("%7s", word);
  std::printf("\n");
  for (std::size_t digit = 0; digit < words.size(); ++digit) {
    std::printf("%-11s", words.at(digit));
    for (const std::size_t count : counts.at(digit)) std::printf("%7zu", count);
    std::printf("\n");
  }
  for (std::size_t voice = 0; voice < voices.size(); ++voice)
    if (spoken.at(voice) > 0)
      std::printf("voice        %s+%s: %zu of %zu\n", voices.at(voice).accent, voices.at(voice).speaker,
                  spoken.at(voice) - wrong.at(voice), spoken.at(voice));
  std::printf("right        %zu of %zu digits of unheard voices: %.2f %%\n", right, rows.size(),
              rows.empty() ? 0.0 : 100.0 * static_cast<double>(right) / static_cast<double>(rows.size()));
}

void report_weights(std::uint64_t hash) {
  std::printf("weights      hash %016" PRIx64 "\n", hash);
}

void report_stream(const Streamed& streamed) {
  std::printf("streamed     %zu of %zu right: %zu wrong, %zu missed, %zu invented\n", streamed.right, streamed.spoken,
              streamed.wrong, streamed.missed, streamed.invented);
}

}  // namespace digits
