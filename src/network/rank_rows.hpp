// Operations of a network on a rank that has a part of the rows of each batch: sums over rows are divided into their
// entries, between which the ranks join what they have found, and random numbers count by the rows of the whole batch.
// No other file knows which operations these are.
#ifndef SYNFIRE_NETWORK_RANK_ROWS_HPP
#define SYNFIRE_NETWORK_RANK_ROWS_HPP

#include "parts.hpp"

namespace synfire::network {

// The rows of a batch that a rank has.
struct RankRows {
  int64_t first, count;
};
inline RankRows rows_of_rank(const ranks::Place& place, int64_t batch) {
  // B and W are below 2^32.
  const int64_t first = place.rank * batch / place.size;
  return {first, (place.rank + 1) * batch / place.size - first};
}

// The entries in place of those of one recorded operation. Arrays between them are added to `held`, which the graph
// keeps. Throws UNSUPPORTED for an operation whose sums over rows have an order.
core::OperationList divided(Parts& parts, core::OperationList&& operations, std::vector<Ref<Buffer>>& held);

}  // namespace synfire::network

#endif
