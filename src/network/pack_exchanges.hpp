// Which arrays the ranks of a network exchange in one message, and what they compute meanwhile.
#ifndef SYNFIRE_NETWORK_PACK_EXCHANGES_HPP
#define SYNFIRE_NETWORK_PACK_EXCHANGES_HPP

#include <graph/operation.hpp>

#include <cstdint>
#include <vector>

namespace synfire::network {

struct ExchangeCounts {
  size_t n_arrays = 0, n_messages = 0;
};

// Reorders the entries of a list, which may exchange arrays (operations::AllReduce), and the owners with them. What
// needs no exchange comes first. What is then to be exchanged goes in one message, maxima before sums; and so on with
// what that makes possible. Entries that wait for the next message keep in memory what they read: once this is more
// than `most_held` bytes, the message begins; and it ends when the one after it must begin, or when nothing else can be
// computed. Every rank has the same list, and so the same messages.
ExchangeCounts pack_exchanges(core::OperationList& entries, std::vector<uint32_t>& owners, uint64_t most_held);

}  // namespace synfire::network

#endif
