// latency_groups.cpp - which chains `synfire-bench latency` measures.
//
// SPDX-License-Identifier: MIT
#include "latency_groups.hpp"

#include <algorithm>
#include <span>
#include <utility>

namespace synfire_bench {
namespace {

constexpr std::uint64_t all_layers[] = {1, 2, 4, 8, 16};
constexpr std::uint64_t all_steps[] = {1, 8};
constexpr std::uint64_t all_neurons[] = {256, 1024, 16384, 131072};
constexpr bool all_directions[] = {false, true};
constexpr std::pair<bool, bool> idle[] = {{false, false}};
constexpr std::pair<bool, bool> idle_and_busy[] = {{false, false}, {true, false}, {true, true}};

const std::vector<const Policy*> spin_only = {&policies[0]};
const std::vector<const Policy*> every_policy = {&policies[0], &policies[1], &policies[2]};

// The chosen value, or all of them, or a representative one.
std::vector<std::uint64_t> values(std::uint64_t chosen, std::span<const std::uint64_t> all, bool full,
                                  std::uint64_t one) {
  if (chosen != 0) return {chosen};
  if (full) return {all.begin(), all.end()};
  return {one};
}

}  // namespace

std::vector<Group> chosen_groups(const LatencyChoice& choice, bool full, bool host) {
  std::vector<Group> groups;
  const std::vector<const Policy*> waits = choice.policy != nullptr ? std::vector<const Policy*>{choice.policy}
                                           : full                   ? every_policy
                                                                    : spin_only;
  for (const std::uint64_t layers : values(choice.layers, all_layers, full, 1)) {
    for (const std::uint64_t steps : values(choice.steps, all_steps, full, 8)) {
      for (const std::uint64_t neurons : values(choice.neurons, all_neurons, full, 1024)) {
        for (const bool backward : all_directions) {
          if (choice.direction != nullptr ? backward != (choice.direction->direction == Direction::both)
                                          : !full && !backward)
            continue;
          for (const bool busy : {false, true}) {
            for (const bool high : {false, true}) {
              if (host && (busy || high)) continue;
              if (choice.load != nullptr ? busy != (choice.load->id == 1) : busy && !full) continue;
              if (choice.priority != nullptr ? high != (choice.priority->id == 1) : high && !(full && busy)) continue;
              groups.push_back({{layers, steps, neurons, backward}, busy, high, waits});
            }
          }
        }
      }
    }
  }
  return groups;
}

std::vector<Group> default_groups(bool host) {
  std::vector<Group> groups;
  const auto add = [&](const ChainShape& shape, std::span<const std::pair<bool, bool>> ways) {
    for (const auto& way : ways) {
      const bool busy = way.first, high = way.second;
      if (host && busy) continue;
      const auto same = [&](const Group& g) { return g.shape == shape && g.busy == busy && g.high == high; };
      if (std::none_of(groups.begin(), groups.end(), same))
        groups.push_back({shape, busy, high, ways.size() > 1 && !busy ? every_policy : spin_only});
    }
  };
  add({1, 8, 1024, true}, idle_and_busy);
  add({1, 1, 1024, false}, idle_and_busy);
  for (const std::uint64_t layers : all_layers) {
    for (const bool backward : all_directions) add({layers, 8, 1024, backward}, idle);
  }
  for (const std::uint64_t neurons : all_neurons) {
    for (const std::uint64_t steps : all_steps) {
      for (const bool backward : all_directions) add({1, steps, neurons, backward}, idle);
    }
  }
  return groups;
}

}  // namespace synfire_bench
