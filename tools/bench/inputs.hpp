// inputs.hpp - uniformly random arrays, never zero, the same on every machine.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_INPUTS_HPP
#define SYNFIRE_TOOLS_BENCH_INPUTS_HPP

#include <cstdint>
#include <vector>

#include "machine.hpp"
#include "names.hpp"

namespace synfire_bench {

/// Element i of every random array is element i modulo this prime of one sequence, so that the repetition
/// does not coincide with rows.
inline constexpr std::uint64_t random_period = (std::uint64_t{1} << 24) - 3;

/// `count` nonzero numbers in (low, high).
std::vector<float> random_numbers(std::uint64_t count, float low, float high, std::uint64_t seed);

/// Writes the first `count` elements of such an array to the beginning of `buffer`, each rounded as `inputs_as` would
/// store it.
void fill_random(const Machine& machine, synfire_buffer buffer, const Dtype& dtype, const Dtype& inputs_as,
                 std::uint64_t count, float low, float high, std::uint64_t seed);

inline constexpr std::uint64_t seed_of_x = 1, seed_of_grad_spike = 2, seed_of_copy = 3;

}  // namespace synfire_bench

#endif
