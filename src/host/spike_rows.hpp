// Conversions and counts of spikes on processors, in integer arithmetic; results do not depend on the number of
// threads.
#ifndef SYNFIRE_HOST_SPIKE_ROWS_HPP
#define SYNFIRE_HOST_SPIKE_ROWS_HPP

#include "parallel.hpp"

#include <core/operation.hpp>

namespace synfire::host {

// Whether they are long enough for several threads.
bool wants_threads(const core::ConvertSpikesOperation& op);
bool wants_threads(const core::CountSpikesOperation& op);

void convert_spikes(const core::ConvertSpikesOperation& op, const Parallel& threads);
void count_spikes(const core::CountSpikesOperation& op, const Parallel& threads);

}  // namespace synfire::host

#endif
