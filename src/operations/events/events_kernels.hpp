// The kernels of events, as the host code sees them.
#ifndef SYNFIRE_OPERATIONS_EVENTS_EVENTS_KERNELS_HPP
#define SYNFIRE_OPERATIONS_EVENTS_EVENTS_KERNELS_HPP

#include "events_place.hpp"

#include <backends/cuda/device_types.hpp>
#include <base/extents.hpp>

#include <cuda_runtime_api.h>

namespace synfire::cuda {

// Events of one row that a block counts at once.
inline constexpr int64_t events_per_piece = int64_t{8} * threads_per_block;

enum class EventsResult : int32_t { bits, counts, f32 };

struct EventsLaunch {
  operations::EventsRules rules;
  core::Extents extents;   // of the result
  const uint64_t* events;  // rows of `capacity`, events_pitch apart
  int64_t events_pitch;
  const uint32_t* event_counts;
  const uint32_t* window;  // may be null
  uint64_t seed, offset;
  const uint64_t* seed_value;  // null: `seed`
  const uint64_t* offset_set;  // null: `offset`
  uint64_t* offset_state;
  uint32_t* faults;  // [B, 5]
  uint32_t* sums;    // [T, B, N]
  // With rules.sort: the events of all rows, each in the order of its times, without gaps. event_keys_kernel() writes
  // them unsorted, with their keys.
  uint64_t *keys, *sorted;
  void* destination;
  int64_t pitch;  // elements or words from one step to the next
  EventsResult result;

  SYNFIRE_MODEL_FN int64_t pieces_per_row() const {
    return (static_cast<int64_t>(rules.capacity) + events_per_piece - 1) / events_per_piece;
  }
  SYNFIRE_MODEL_FN int64_t n_pieces() const { return extents.batch * pieces_per_row(); }
  SYNFIRE_MODEL_FN int64_t n_sums() const { return extents.n_steps * extents.row(); }
};

// Their grids cover pieces of rows.
const void* event_keys_kernel();
const void* count_events_kernel();
// Their grids cover elements. The first makes all sums and faults 0; the second makes results of sums, with 32 elements
// of a row in a warp.
const void* clear_events_kernel();
const void* write_events_kernel();

// The events of a batch: rows, and in a row those that it holds first, by their times after its start.
struct EventsSort {
  uint64_t *keys, *other_keys;
  uint64_t *events, *other_events;
  int64_t n_events;
  int n_key_bits;
};
// A key: the row, then 1 for what the row does not hold, then the time.
inline constexpr int event_key_row = 33;

// Sorts pairs of keys and events by their keys, and keeps the order of those that are the same. The result is in one of
// the two arrays, which `sorted` receives. Calls functions of the CUDA runtime that are not in the table
// (backends/cuda/api.hpp): see Launcher::call_library().
cudaError_t sort_events(const EventsSort& sort, void* workspace, uint64_t workspace_bytes, uint64_t** sorted,
                        cudaStream_t stream);

}  // namespace synfire::cuda

#endif
