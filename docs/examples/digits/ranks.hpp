// ranks.hpp - several ranks learn one network together: threads of this program, or processes that mpirun has started.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <functional>
#include <synfire/synfire.hpp>

#include "options.hpp"

namespace digits {

struct Rank {
  const synfire::Context& context;
  synfire_communicator together;  // null: there is one rank
  bool is_first;                  // the one that writes files and results
};

/// Calls `work` on each rank of this program: once, unless the ranks are threads of it. Each has a context of its own.
/// What one of them throws ends all.
void on_ranks(const Options& options, const std::function<void(const Rank&)>& work);

}  // namespace digits
