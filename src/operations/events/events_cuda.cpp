// The launches that bin events on a GPU: sums of integers in device memory, by atomic additions, then the results.
#include "events.hpp"
#include "events_kernels.hpp"
#include "events_order.hpp"

#include <backends/cuda/cuda_launcher.hpp>

#include <bit>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

namespace {

EventsResult result_of(int32_t dtype) {
  switch (dtype) {
    case SYNFIRE_DTYPE_BITS:
      return EventsResult::bits;
    case SYNFIRE_DTYPE_U8:
      return EventsResult::counts;
    default:
      return EventsResult::f32;
  }
}

EventsLaunch launch_of(const BinEvents& op) {
  return {op.rules,
          op.extents,
          static_cast<const uint64_t*>(op.events.data),
          op.events.pitch,
          static_cast<const uint32_t*>(op.event_counts.data),
          static_cast<const uint32_t*>(op.window.data),
          op.seed,
          op.offset,
          op.seed_value,
          op.offset_value.set,
          op.offset_value.state,
          static_cast<uint32_t*>(op.faults.data),
          static_cast<uint32_t*>(op.sums.data),
          nullptr,
          nullptr,
          op.destination.data,
          op.destination.pitch,
          result_of(op.destination.dtype)};
}

// Events by their times, in memory of the operation.
void sort(const BinEvents& op, EventsLaunch& launch, Launcher& launcher) {
  const EventsOrder order = {op.extents.batch * op.rules.capacity};
  void* const memory = op.order.data;
  launch.keys = order.keys(memory, 0);
  launch.sorted = order.events(memory, 0);
  launcher.launch(event_keys_kernel(), launcher.over_pieces(launch.n_pieces(), threads_per_block), launch);
  const auto row_bits = std::bit_width(static_cast<uint64_t>(op.extents.batch - 1));
  const EventsSort pairs = {launch.keys,    order.keys(memory, 1),
                            launch.sorted,  order.events(memory, 1),
                            order.n_events, event_key_row + static_cast<int>(row_bits)};
  launcher.call_library("cub::DeviceRadixSort::SortPairs", [&](cudaStream_t stream) {
    return sort_events(pairs, order.workspace(memory), order.workspace_bytes(), &launch.sorted, stream);
  });
}

}  // namespace

Hints hints(const BinEvents&, const GpuShape&) {
  return {};
}

void enqueue(const BinEvents& op, Launcher& launcher) {
  EventsLaunch launch = launch_of(op);
  launcher.launch(clear_events_kernel(), launcher.over_elements(launch.n_sums()), launch);
  if (op.rules.sort) sort(op, launch, launcher);
  launcher.launch(count_events_kernel(), launcher.over_pieces(launch.n_pieces(), threads_per_block), launch);
  const int64_t padded = op.extents.n_steps * op.extents.batch * op.extents.words_per_row() * 32;
  launcher.launch(write_events_kernel(), launcher.over_elements(padded), launch);
}

}  // namespace synfire::operations
