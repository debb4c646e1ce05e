// The order in which the entries of a list run: which of them another one waits for, and which may run side by side.
#ifndef SYNFIRE_GRAPH_BRANCHES_HPP
#define SYNFIRE_GRAPH_BRANCHES_HPP

#include "operation.hpp"

#include <cstdint>
#include <span>

namespace synfire::core {

// For each entry of a list, some of the entries before it, in ascending order.
using EarlierEntries = std::vector<std::vector<uint32_t>>;

// For each entry of a list, the earlier entries that must have ended before it begins: those that write what it uses or
// use what it writes. What another one of them waits for may be left out. An entry that calls back waits for all before
// it, and all after it wait for it.
EarlierEntries dependencies(std::span<const Operation> entries);

// The entries of one branch run one after the other, in the order of the list. Entries of different branches run side
// by side unless one waits for the other.
struct Branches {
  uint32_t count = 1;
  std::vector<uint32_t> of;  // the branch of each entry; empty: there is one branch
  // The entries for which each one waits: its dependencies and the entry before it in its branch, without those for
  // which another one of these waits. Empty: there is one branch.
  EarlierEntries after;
};
constexpr uint32_t most_branches = 8;

// Divides a list into branches. Entries that leave room for others on the machine, where leaves_room[entry] is not 0,
// are in different branches if they do not depend on each other. Every other entry is in the branch of the first entry
// of these that needs it or, if there is none, of the last one that it needs.
Branches find_branches(std::span<const Operation> entries, std::span<const uint8_t> leaves_room);

}  // namespace synfire::core

#endif
