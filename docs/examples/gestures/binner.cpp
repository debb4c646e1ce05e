// binner.cpp - see binner.hpp.
//
// SPDX-License-Identifier: MIT
#include "binner.hpp"

#include <algorithm>
#include <stdexcept>

namespace gestures {

static_assert(row_elements % 32 == 0, "a step of a row ends with a word");

Row middle_of(const Film& film) {
  return {&film, static_cast<std::int32_t>(film.middle) - static_cast<std::int32_t>(row_microseconds / 2),
          step_microseconds};
}

Binner::Binner(const synfire::Context& context, std::size_t batch, std::size_t capacity, bool moves, std::uint64_t seed)
    : batch_(batch),
      capacity_(std::max<std::size_t>(capacity, 1)),
      events_(context, synfire::buffer_desc<std::uint64_t>({batch_, capacity_}, SYNFIRE_MEMORY_PINNED)),
      event_counts_(context, synfire::counts_desc(batch_, SYNFIRE_MEMORY_PINNED)),
      window_(context, synfire::counts_desc({batch_, std::size_t{2}}, SYNFIRE_MEMORY_PINNED)),
      spikes_(context, synfire::buffer_desc<std::uint32_t>({steps, batch_, row_words}, SYNFIRE_MEMORY_PINNED)),
      faults_(context, synfire::counts_desc({batch_, std::size_t{5}}, SYNFIRE_MEMORY_PINNED)),
      graph_(context) {
  synfire_bin_events_desc desc = synfire::bin_events_desc(
      events_, event_counts_, spikes_, faults_, synfire::steps(static_cast<std::int64_t>(steps)),
      static_cast<std::int64_t>(capacity_), static_cast<std::int64_t>(side), static_cast<std::int64_t>(side));
  desc.batch = static_cast<std::int64_t>(batch_);
  desc.crop_height = desc.crop_width = static_cast<std::int64_t>(view);
  if (moves)
    desc.crop_range_y = desc.crop_range_x = static_cast<std::int64_t>(side - view);
  else
    desc.crop_top = desc.crop_left = static_cast<std::int64_t>(side - view) / 2;
  desc.window = window_;
  desc.seed = seed;
  graph_.record_bin_events(desc);
  graph_.instantiate();
}

void Binner::bin(const std::vector<Row>& rows, std::uint32_t* spikes) {
  const auto events = events_.data<std::uint64_t>();
  const auto counts = event_counts_.data<std::uint32_t>(), window = window_.data<std::uint32_t>();
  const auto binned = spikes_.data<std::uint32_t>();
  for (std::size_t first = 0; first < rows.size(); first += batch_) {
    const std::size_t n = std::min(batch_, rows.size() - first);
    for (std::size_t b = 0; b < batch_; ++b) {
      counts[b] = 0;
      if (b >= n) continue;
      const Row& row = rows[first + b];
      if (row.film->events.size() > capacity_) throw std::runtime_error("a film has more events than there is room");
      std::copy(row.film->events.begin(), row.film->events.end(), events.begin() + b * capacity_);
      counts[b] = static_cast<std::uint32_t>(row.film->events.size());
      window[2 * b] = static_cast<std::uint32_t>(row.start);
      window[2 * b + 1] = row.ticks;
    }
    graph_.wait(graph_.launch());
    // Data sets have one row after the other, batches one step after the other.
    for (std::size_t b = 0; b < n; ++b)
      for (std::size_t t = 0; t < steps; ++t)
        std::copy_n(binned.begin() + (t * batch_ + b) * row_words, row_words,
                    spikes + ((first + b) * steps + t) * row_words);
  }
}

}  // namespace gestures
