// film.hpp - what a camera sends while a hand moves before it: the data of `gestures`.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "motions.hpp"

namespace gestures {

/// Steps T of a row, of `step_microseconds` each: the network names what it sees in the last 320 ms.
inline constexpr std::size_t steps = 16;
inline constexpr std::uint32_t step_microseconds = 20000, row_microseconds = steps * step_microseconds;

struct Film {
  Scene scene;
  std::vector<std::uint64_t> events;  // in the layout of synfire_bin_events_desc, in the order of their times
  std::uint32_t middle;               // of the motion, in microseconds
};

/// Films each of the motions `per_motion` times, each time before another camera, on several threads; 0 is one for each
/// processor. The same seed gives the same films on every machine.
std::vector<Film> make_films(std::size_t per_motion, bool unseen, std::uint64_t seed, std::int32_t n_threads);

/// Lets the events of each film exchange their times: all that is left is where they were.
void exchange_times(std::vector<Film>& films, std::uint64_t seed);

/// FNV-1a of all events.
std::uint64_t hash_films(const std::vector<Film>& films);

}  // namespace gestures
