// CUB's radix sort of events by their keys. One instance serves batches of any size.
#define CCCL_DISABLE_NVTX  // the operation has a range of its own

#include "events_kernels.hpp"

#include <cub/device/device_radix_sort.cuh>

namespace synfire::cuda {

cudaError_t sort_events(const EventsSort& sort, void* workspace, uint64_t workspace_bytes, uint64_t** sorted,
                        cudaStream_t stream) {
  cub::DoubleBuffer<uint64_t> keys(sort.keys, sort.other_keys), events(sort.events, sort.other_events);
  size_t bytes = workspace_bytes;
  const cudaError_t error =
      cub::DeviceRadixSort::SortPairs(workspace, bytes, keys, events, sort.n_events, 0, sort.n_key_bits, stream);
  *sorted = events.Current();
  return error;
}

}  // namespace synfire::cuda
