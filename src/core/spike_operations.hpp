// Conversions and counts of spikes, which belong to no layer: what a caller asks for, and the checked operations it
// becomes.
#ifndef SYNFIRE_CORE_SPIKE_OPERATIONS_HPP
#define SYNFIRE_CORE_SPIKE_OPERATIONS_HPP

#include "buffer.hpp"

namespace synfire::core {

struct ConvertSpikesRequest {
  Extents extents;  // batch 0 means 1
  Buffer* source;
  Buffer* destination;
};

struct CountSpikesRequest {
  CountKind kind;
  Extents extents;  // batch 0 means 1
  Buffer* spikes;
  Buffer* counts;
};

// Throw INVALID_ARGUMENT, or OUT_OF_MEMORY for a shape that cannot be addressed.
OperationList convert_spikes(const ConvertSpikesRequest& request, bool host_device);
OperationList count_spikes(const CountSpikesRequest& request, bool host_device);

}  // namespace synfire::core

#endif
