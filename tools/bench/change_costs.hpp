// change_costs.hpp - the host time of a change between replays, and of the launch after it.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_CHANGE_COSTS_HPP
#define SYNFIRE_TOOLS_BENCH_CHANGE_COSTS_HPP

#include <cstdint>
#include <limits>

#include "chain.hpp"
#include "machine.hpp"

namespace synfire_bench {

/// Medians of host time in nanoseconds: of the call that makes the change, and of the launch that applies it.
struct Cost {
  double call = std::numeric_limits<double>::quiet_NaN(), launch = std::numeric_limits<double>::quiet_NaN();
};

struct Costs {
  Cost parameter, value, enabled, neurons;  // neurons: a parameter with one value per neuron
};

/// Changes a parameter of the first layer (as one number and per neuron), a value, and whether the last operation is
/// enabled. Restores the chain afterwards.
Costs measure_costs(const Machine& machine, const Chain& chain, std::uint64_t replays);

}  // namespace synfire_bench

#endif
