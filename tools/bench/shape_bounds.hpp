// shape_bounds.hpp - how long a pass of any shape may take: by the bytes that it moves, or the steps that wait for one
// another, by one step more, and by another library.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_SHAPE_BOUNDS_HPP
#define SYNFIRE_TOOLS_BENCH_SHAPE_BOUNDS_HPP

#include <cstdint>
#include <span>
#include <string_view>

#include "names.hpp"

namespace synfire_bench {

/// Forward and backward are one pass each.
constexpr int passes_of(Direction direction) {
  return direction == Direction::both ? 2 : 1;
}

/// The time of a reference, scaled by the bytes that must move.
constexpr double scaled_reference(double reference_seconds, std::uint64_t bytes, std::uint64_t reference_bytes) {
  return reference_seconds * (static_cast<double>(bytes) / static_cast<double>(reference_bytes));
}

/// How many times as long as the reference a pass may take.
constexpr double slack(bool host) {
  return host ? 1.15 : 1.10;
}

/// The most that `passes` passes may take by the bytes that they move: 1.10 times the scaled reference on a GPU, 1.15
/// times on the host, and 1 us for each pass.
constexpr double bound_by_bytes(double scaled_seconds, int passes, bool host) {
  return slack(host) * scaled_seconds + 1e-6 * passes;
}

/// The most that they may take by latency: as many times the smallest reference of as many steps. No shape need be
/// faster, however few its bytes are, because its steps wait for one another as well.
constexpr double bound_by_latency(double smallest_seconds, bool host) {
  return slack(host) * smallest_seconds;
}

/// The most that T - 1 steps may take where T steps take `seconds`.
constexpr double bound_of_one_step_less(double seconds) {
  return 1.02 * seconds + 0.2e-6;
}

/// Microseconds of SpikingJelly's Triton kernels (August 2026, PyTorch 2.11) on one H200, for LIF with the sigmoid
/// surrogate: the sum of the device operations of one call.
struct PeerTime {
  std::uint64_t batch, neurons, steps;
  std::string_view dtype;
  double forward_us, both_us;  ///< 0: not measured
};
std::span<const PeerTime> peer_times();

/// The peer's seconds, or 0 if that was not measured. There are none of a backward alone.
double peer_seconds(const Shape& shape, std::string_view dtype, Direction direction);

/// The most that a direction may take beside a peer: its time, and two thirds of it both ways from 2^20 elements and
/// 4 steps on.
double bound_by_peer(double peer_seconds, const Shape& shape, Direction direction);

/// The GPU on which the peer was measured: only there the two times can be compared.
bool is_device_of_peer(std::string_view device);

}  // namespace synfire_bench

#endif
