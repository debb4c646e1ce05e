// A block counts a piece of one row's events at once; what its threads find wrong is added up in shared memory.
#include "events_kernels.hpp"
#include "events_results.hpp"

#include <backends/cuda/cuda_storage.cuh>

namespace synfire::cuda {
namespace {

using operations::EventsRow;

// Calls f(row, b, i) for places of a row's array, for each thread of a block: piece after piece.
template <class Begin, class F, class End>
__device__ __forceinline__ void for_each_piece(const EventsLaunch& launch, bool all, Begin begin, F f, End end) {
  __shared__ EventsRow shared_row;
  const int64_t per_row = launch.pieces_per_row();
  for (int64_t piece = blockIdx.x; piece < launch.n_pieces(); piece += gridDim.x) {
    const int64_t b = piece / per_row, first = (piece - b * per_row) * events_per_piece;
    __syncthreads();  // all threads have read the row before
    if (threadIdx.x == 0) shared_row = row_of(launch, b);
    begin();
    __syncthreads();
    const EventsRow row = shared_row;
    const int64_t count = all ? launch.rules.capacity : row.n_held;
    const int64_t last = first + events_per_piece < count ? first + events_per_piece : count;
    for (int64_t i = first + threadIdx.x; i < last; i += threads_per_block) f(row, b, static_cast<uint32_t>(i));
    __syncthreads();
    end(row, b, first == 0);
  }
}

__global__ void __launch_bounds__(threads_per_block) clear_events(const __grid_constant__ EventsLaunch launch) {
  wait_for_previous();
  const int64_t n_sums = launch.n_sums(), n_faults = launch.extents.batch * operations::n_event_faults;
  for (int64_t i = first_element(); i < n_sums; i += stride()) launch.sums[i] = 0;
  for (int64_t i = first_element(); i < n_faults; i += stride()) launch.faults[i] = 0;
}

__global__ void __launch_bounds__(threads_per_block) event_keys(const __grid_constant__ EventsLaunch launch) {
  wait_for_previous();
  for_each_piece(
      launch, true, [] {}, [&](const EventsRow& row, int64_t b, uint32_t i) { write_event_key(launch, row, b, i); },
      [](const EventsRow&, int64_t, bool) {});
}

__global__ void __launch_bounds__(threads_per_block) count_events(const __grid_constant__ EventsLaunch launch) {
  wait_for_previous();
  __shared__ uint32_t faults[operations::n_event_faults];
  for_each_piece(
      launch, false,
      [&] {
        if (threadIdx.x < operations::n_event_faults) faults[threadIdx.x] = 0;
      },
      [&](const EventsRow& row, int64_t b, uint32_t i) {
        count_event(
            launch, row, b, i, [&](int64_t at, uint32_t n) { atomicAdd(launch.sums + at, n); },
            [&](int kind) { atomicAdd(faults + kind, 1u); });
      },
      [&](const EventsRow& row, int64_t b, bool is_first) {
        if (threadIdx.x >= operations::n_event_faults) return;
        uint32_t count = faults[threadIdx.x];
        if (is_first && threadIdx.x == SYNFIRE_EVENTS_FAULT_CAPACITY) count = row.n_given - row.n_held;
        if (count != 0) atomicAdd(launch.faults + b * operations::n_event_faults + threadIdx.x, count);
      });
}

__global__ void __launch_bounds__(threads_per_block) write_events(const __grid_constant__ EventsLaunch launch) {
  wait_for_previous();
  const int64_t n = launch.extents.n_neurons, words = launch.extents.words_per_row();
  const int64_t count = launch.extents.n_steps * launch.extents.batch * words * 32;
  const int lane = static_cast<int>(threadIdx.x) & 31;
  // A warp has the elements of one word, also where a row lacks them.
  for (int64_t e = first_element(); e < count; e += stride()) {
    const int64_t word = e / 32, image = word / words, i = (word - image * words) * 32 + lane;
    const int64_t t = image / launch.extents.batch, b = image - t * launch.extents.batch;
    const uint32_t sum = i < n ? launch.sums[image * n + i] : 0;
    if (launch.result == EventsResult::bits) {
      const uint32_t bits = __ballot_sync(0xFFFFFFFFu, sum != 0);
      if (lane == 0)
        static_cast<uint32_t*>(launch.destination)[t * launch.pitch + b * words + (word - image * words)] = bits;
      continue;
    }
    if (i < n) write_result(launch, t, b, i, sum);
    const uint32_t above = __ballot_sync(0xFFFFFFFFu, is_above_bound(launch, sum));
    if (lane == 0 && above != 0)
      atomicAdd(launch.faults + b * operations::n_event_faults + SYNFIRE_EVENTS_FAULT_BOUND,
                static_cast<uint32_t>(__popc(above)));
  }
  // Nobody reads the offset any more: the kernel that does has ended.
  if (launch.offset_set && blockIdx.x == 0 && threadIdx.x == 0)
    operations::advance_offset(launch.offset_set, launch.offset_state, 1);
}

}  // namespace

const void* event_keys_kernel() {
  return address(event_keys);
}
const void* count_events_kernel() {
  return address(count_events);
}
const void* clear_events_kernel() {
  return address(clear_events);
}
const void* write_events_kernel() {
  return address(write_events);
}

}  // namespace synfire::cuda
