// change_costs.hpp - what a change between replays costs the host, and the launch after it.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_CHANGE_COSTS_HPP
#define SYNFIRE_TOOLS_BENCH_CHANGE_COSTS_HPP

#include <cstdint>
#include <limits>

#include "chain.hpp"
#include "machine.hpp"

namespace synfire_bench {

/// Medians, nanoseconds of host time: the call that changes, and the launch that brings the change along.
struct Cost {
  double call = std::numeric_limits<double>::quiet_NaN(), launch = std::numeric_limits<double>::quiet_NaN();
};

struct Costs {
  Cost parameter, value, enabled, neurons;  // neurons: a parameter that is one number per neuron
};

/// Of a parameter of its first layer, as one number and per neuron, a value, and its last operation. The chain is
/// afterwards as it was.
Costs measure_costs(const Machine& machine, const Chain& chain, std::uint64_t replays);

}  // namespace synfire_bench

#endif
