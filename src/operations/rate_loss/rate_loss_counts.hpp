// The spikes of each neuron over the steps that count, for operations that need no more of the rate loss.
#ifndef SYNFIRE_OPERATIONS_RATE_LOSS_RATE_LOSS_COUNTS_HPP
#define SYNFIRE_OPERATIONS_RATE_LOSS_RATE_LOSS_COUNTS_HPP

#include <base/extents.hpp>
#include <operations/kind.hpp>
#include <operations/reduce/counting.hpp>

namespace synfire::operations {

// How many steps of batch rows count.
u64 counted_steps(const Counting& counting, const core::Extents& extents);
// Adds to counts [N]. Spikes are [T, B, N] in any format.
void add_counts(const core::Extents& extents, const Counting& counting, const View& source, uint64_t* counts,
                bool share, const host::Launcher& launcher);
void enqueue_counts(const core::Extents& extents, const Counting& counting, const View& spikes, uint64_t* counts,
                    cuda::Launcher& launcher);

}  // namespace synfire::operations

#endif
