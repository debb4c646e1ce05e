// One event, and one result, at a time; what they are is the same code as in the kernels (operations/events/).
#include "twin.hpp"

#include <backends/cuda/api.hpp>
#include <operations/events/events_results.hpp>

#include <algorithm>
#include <numeric>
#include <vector>

namespace synfire::cuda {
namespace {

enum Which : int64_t { keys, count, clear, write, sort };

uint32_t& fault_of(const EventsLaunch& launch, int64_t b, int kind) {
  return launch.faults[b * operations::n_event_faults + kind];
}

}  // namespace

const void* clear_events_kernel() {
  return twin<EventsLaunch>({clear}, [](const EventsLaunch& launch) {
    std::fill_n(launch.sums, launch.n_sums(), 0u);
    std::fill_n(launch.faults, launch.extents.batch * operations::n_event_faults, 0u);
  });
}

const void* event_keys_kernel() {
  return twin<EventsLaunch>({keys}, [](const EventsLaunch& launch) {
    for (int64_t b = 0; b < launch.extents.batch; ++b)
      for (uint32_t i = 0; i < launch.rules.capacity; ++i) write_event_key(launch, row_of(launch, b), b, i);
  });
}

const void* count_events_kernel() {
  return twin<EventsLaunch>({count}, [](const EventsLaunch& launch) {
    for (int64_t b = 0; b < launch.extents.batch; ++b) {
      const operations::EventsRow row = row_of(launch, b);
      fault_of(launch, b, SYNFIRE_EVENTS_FAULT_CAPACITY) += row.n_given - row.n_held;
      for (uint32_t i = 0; i < row.n_held; ++i)
        count_event(
            launch, row, b, i, [&](int64_t at, uint32_t n) { launch.sums[at] += n; },
            [&](int kind) { ++fault_of(launch, b, kind); });
    }
  });
}

// Bit by bit.
const void* write_events_kernel() {
  return twin<EventsLaunch>({write}, [](const EventsLaunch& launch) {
    const int64_t n = launch.extents.n_neurons, words = launch.extents.words_per_row();
    for (int64_t t = 0; t < launch.extents.n_steps; ++t)
      for (int64_t b = 0; b < launch.extents.batch; ++b) {
        const uint32_t* const sums = launch.sums + (t * launch.extents.batch + b) * n;
        auto* const bits = static_cast<uint32_t*>(launch.destination) + t * launch.pitch + b * words;
        if (launch.result == EventsResult::bits) std::fill_n(bits, words, 0u);
        for (int64_t i = 0; i < n; ++i) {
          if (launch.result == EventsResult::bits)
            bits[i / 32] |= static_cast<uint32_t>(sums[i] != 0) << i % 32;
          else
            write_result(launch, t, b, i, sums[i]);
          if (is_above_bound(launch, sums[i])) ++fault_of(launch, b, SYNFIRE_EVENTS_FAULT_BOUND);
        }
      }
    if (launch.offset_set) operations::advance_offset(launch.offset_set, launch.offset_state, 1);
  });
}

// The result is in the other arrays.
cudaError_t sort_events(const EventsSort& pairs, void* workspace, uint64_t workspace_bytes, uint64_t** sorted,
                        cudaStream_t stream) {
  if (!workspace || workspace_bytes == 0) return cudaErrorInvalidValue;
  const void* const run = twin<EventsSort>({sort}, [](const EventsSort& given) {
    const uint64_t known = (uint64_t{1} << given.n_key_bits) - 1;
    std::vector<int64_t> order(static_cast<size_t>(given.n_events));
    std::iota(order.begin(), order.end(), int64_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](int64_t a, int64_t b) { return (given.keys[a] & known) < (given.keys[b] & known); });
    for (int64_t i = 0; i < given.n_events; ++i) given.other_events[i] = given.events[order[static_cast<size_t>(i)]];
  });
  *sorted = pairs.other_events;
  EventsSort argument = pairs;
  void* parameters[] = {&argument};
  const cudaError_t error = api().launch_kernel(run, dim3(1), dim3(1), parameters, 0, stream);
  // As CUB, which returns an error that was pending as its own.
  const cudaError_t pending = api().get_last_error();
  return error != cudaSuccess ? error : pending;
}

}  // namespace synfire::cuda
