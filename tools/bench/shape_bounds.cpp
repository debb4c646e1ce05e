// shape_bounds.cpp - the peer's times.
//
// SPDX-License-Identifier: MIT
#include "shape_bounds.hpp"

namespace synfire_bench {
namespace {

// LIF, tau 2, hard reset.
constexpr PeerTime times[] = {
    {1, 2097152, 1, "f32", 9.0, 30.0},    {1, 2097152, 4, "f32", 24.4, 74.4},   {1, 2097152, 6, "f32", 39.5, 102},
    {1, 2097152, 8, "f32", 0, 132},       {1, 2097152, 10, "f32", 50.1, 160},   {1, 2097152, 15, "f32", 71.4, 230},
    {1, 2097152, 16, "f32", 0, 247},      {1, 2097152, 20, "f32", 92.6, 301},   {1, 2097152, 32, "f32", 0, 473},
    {1, 2097151, 16, "f32", 82.4, 257.6}, {1, 2097150, 16, "f32", 83.1, 274.8}, {1, 1500001, 6, "f32", 25.7, 78.6},
    {1, 1500001, 24, "f32", 87.2, 272.8}, {1, 300007, 48, "f32", 42.0, 125.2},  {1, 999999, 16, "f32", 41.1, 126.4},
    {1, 100000, 25, "f32", 6.5, 36.5},    {256, 784, 20, "f32", 6.8, 40.2},     {128, 1000, 50, "f32", 27.1, 72.8},
    {64, 6272, 10, "f32", 8.5, 40.8},     {64, 100, 100, "f32", 19.2, 46.2},    {1, 1024, 8, "f32", 0, 6.5},
    {1, 16384, 8, "f32", 0, 7.6},         {1, 1024, 1024, "f32", 167, 415},     {1, 2097152, 8, "f16", 0, 81},
    {1, 2097152, 32, "f16", 0, 288},      {1, 1500001, 6, "f16", 14.1, 63.3},   {1, 1500001, 24, "f16", 57.2, 202.6},
    {256, 784, 20, "f16", 5.8, 29.6},
};

}  // namespace

std::span<const PeerTime> peer_times() {
  return times;
}

double peer_seconds(const Shape& shape, std::string_view dtype, Direction direction) {
  if (direction == Direction::backward) return 0;
  for (const PeerTime& time : times) {
    if (time.batch == shape.batch && time.neurons == shape.neurons && time.steps == shape.steps && time.dtype == dtype)
      return (direction == Direction::both ? time.both_us : time.forward_us) * 1e-6;
  }
  return 0;
}

double bound_by_peer(double peer_seconds, const Shape& shape, Direction direction) {
  constexpr std::uint64_t large = std::uint64_t{1} << 20;
  const bool faster = direction == Direction::both && shape.elements() >= large && shape.steps >= 4;
  return faster ? peer_seconds / 1.5 : peer_seconds;
}

bool is_device_of_peer(std::string_view device) {
  return device.find("H200") != std::string_view::npos;
}

}  // namespace synfire_bench
