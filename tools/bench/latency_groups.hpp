// latency_groups.hpp - which chains `synfire-bench latency` measures.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_LATENCY_GROUPS_HPP
#define SYNFIRE_TOOLS_BENCH_LATENCY_GROUPS_HPP

#include <vector>

#include "chain.hpp"
#include "options.hpp"

namespace synfire_bench {

/// What is measured together: one chain, by several policies, beside one bare graph.
struct Group {
  ChainShape shape;
  bool busy = false, high = false;
  std::vector<const Policy*> policies;
};

/// Those that the command line chose; with `full` all of what it did not choose.
std::vector<Group> chosen_groups(const LatencyChoice& choice, bool full, bool host);

/// Without a choice: the smallest chain and a usual one in every way, then more layers, then other sizes.
std::vector<Group> default_groups(bool host);

}  // namespace synfire_bench

#endif
