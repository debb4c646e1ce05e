// Events of a camera, binned into spikes or counts [T, B, H, W, 2]. Counts are sums of integers, so that neither the
// order of the events nor the number of threads changes a bit.
#ifndef SYNFIRE_OPERATIONS_EVENTS_EVENTS_HPP
#define SYNFIRE_OPERATIONS_EVENTS_EVENTS_HPP

#include "events_place.hpp"

#include <base/extents.hpp>
#include <graph/graph.hpp>
#include <operations/kind.hpp>

namespace synfire::operations {

struct BinEvents {
  EventsRules rules;
  core::Extents extents;  // of the result: n_neurons is H * W * 2
  View events;            // u64 [B, capacity]
  View event_counts;      // u32 [B]
  View window;            // u32 [B, 2], or none
  View destination;       // [T, B, N] in bits, u8 or f32
  View faults;            // u32 [B, 5]
  View sums;              // scratch: u32 [T, B, N] on a GPU, [T, N] for each place on the host
  View order;             // scratch: what sorting takes, or none
  uint64_t seed;
  uint64_t offset;                       // the number of the augmentation
  const uint64_t* seed_value = nullptr;  // in device memory, instead of `seed`
  core::CountedValue offset_value = {};  // instead of `offset`; each replay advances it by 1

  static constexpr const char* name = "bin events";
  static void operands(BinEvents& op, OperandVisitor visit) {
    visit({"desc.events", op.events, Access::read});
    visit({"desc.event_counts", op.event_counts, Access::read});
    visit({"desc.window", op.window, Access::read});
    visit({"desc.destination", op.destination, Access::write});
    visit({"desc.faults", op.faults, Access::write});
    visit({"scratch memory of sums", op.sums, Access::scratch});
    visit({"scratch memory of the order", op.order, Access::scratch});
  }
};
OperationLabel label(const BinEvents& op);
bool wants_threads(const BinEvents& op);
void run(const BinEvents& op, host::Launcher& launcher);
cuda::Hints hints(const BinEvents& op, const cuda::GpuShape& gpu);
void enqueue(const BinEvents& op, cuda::Launcher& launcher);

struct BinEventsRequest {
  bool by_count;
  int64_t n_steps;
  int64_t capacity;
  int64_t sensor_height, sensor_width;
  int64_t batch;  // 0 means 1
  int64_t ticks_per_step, events_per_step;
  int64_t crop_top, crop_left, crop_height, crop_width;  // lengths of 0: all that are left
  int64_t crop_range_y, crop_range_x;
  int64_t downsample_y, downsample_x;  // 0 means 1
  double flip_y, flip_x;
  bool keep_newest, sort, bilinear;
  int32_t count_bound;
  core::Buffer *events, *event_counts;
  core::Buffer* window;  // may be null
  core::Buffer *destination, *faults;
  uint64_t seed, offset;
};
// All throw INVALID_ARGUMENT or OUT_OF_MEMORY. A graph's "seed" and "offset" may change between replays.
core::OperationList bin_events(const BinEventsRequest& request);
// On the host, it also refuses what a replay would count as a fault, except events that belong to no step.
core::OperationList bin_events_now(const BinEventsRequest& request);
void record_bin_events(core::Graph& graph, const BinEventsRequest& request);

// The host's part of them (events_host.cpp).
void refuse_faults(const BinEvents& op);
uint64_t bytes_of_host_sums(const BinEvents& op);   // of one place
uint64_t bytes_of_host_order(const BinEvents& op);  // of one place

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(BinEvents);

#endif
