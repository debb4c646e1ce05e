// Conversions and counts of spikes on processors, in integer arithmetic; results do not depend on the number of
// threads.
#ifndef SYNFIRE_HOST_SPIKE_ROWS_HPP
#define SYNFIRE_HOST_SPIKE_ROWS_HPP

#include <core/operation.hpp>

namespace synfire::host {

void convert_spikes(const core::ConvertSpikesOperation& op, int n_threads);
void count_spikes(const core::CountSpikesOperation& op, int n_threads);

}  // namespace synfire::host

#endif
