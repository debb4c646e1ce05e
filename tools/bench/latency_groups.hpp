// latency_groups.hpp - which chains `synfire-bench latency` measures.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_LATENCY_GROUPS_HPP
#define SYNFIRE_TOOLS_BENCH_LATENCY_GROUPS_HPP

#include <vector>

#include "chain.hpp"
#include "options.hpp"

namespace synfire_bench {

/// A group is measured together: one chain with several wait policies, and a bare graph for comparison.
struct Group {
  ChainShape shape;
  bool busy = false, high = false;
  std::vector<const Policy*> policies;
};

/// The chains that the command line selects; with `full`, all values of what it leaves open.
std::vector<Group> chosen_groups(const LatencyChoice& choice, bool full, bool host);

/// The default: the smallest chain and a typical one in every mode, then more layers, then other sizes.
std::vector<Group> default_groups(bool host);

}  // namespace synfire_bench

#endif
