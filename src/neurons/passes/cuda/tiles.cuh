// The neurons that a thread owns. A warp owns a tile, neighbouring elements of a row [B, N] of the state, over all
// steps. Rows of a tile need no alignment.
#ifndef SYNFIRE_NEURONS_PASSES_CUDA_TILES_CUH
#define SYNFIRE_NEURONS_PASSES_CUDA_TILES_CUH

#include "passes_kernels.hpp"

#include <synfire/model/platform.hpp>

namespace synfire::cuda {
namespace {

using model::u32;

inline constexpr int warp_lanes = 32;

// The neurons of a thread lie side by side, for accesses of all of them to aligned rows; or a warp's width apart, for
// accesses of one element, which need no alignment and are as well coalesced.
template <int Width, OwnershipKind Kind>
struct Owns {
  static constexpr int width = Width;
  static constexpr bool at_once = Kind == OwnershipKind::strided_at_once || Kind == OwnershipKind::adjacent_at_once;
  static constexpr bool of_rows = Kind == OwnershipKind::adjacent_of_rows;
  static constexpr int adjacent = Kind == OwnershipKind::strided || Kind == OwnershipKind::strided_at_once ? 1 : width;
  static __device__ __forceinline__ constexpr int offset(int w) { return adjacent > 1 ? w : w * warp_lanes; }
};
using OneNeuron = Owns<1, OwnershipKind::strided>;
template <class O>
inline constexpr int tile_elements = O::width* warp_lanes;

// Calls f with the type of an ownership that has an instance; `WithOne`: also with one neuron per thread.
template <Widths Of, bool WithOne = true, class F>
void visit_ownership(const Ownership& ownership, F f) {
  if constexpr (WithOne)
    if (ownership == Ownership{1}) f(OneNeuron{});
  const auto visit_one = [&](auto owns, OwnershipKind kind) {
    using O = decltype(owns);
    if constexpr (O::width > 1)
      if (ownership == Ownership{O::width, kind}) f(owns);
  };
  visit_one(Owns<Of.strided, OwnershipKind::strided>{}, OwnershipKind::strided);
  visit_one(Owns<Of.adjacent, OwnershipKind::adjacent>{}, OwnershipKind::adjacent);
  visit_one(Owns<Of.strided_at_once, OwnershipKind::strided_at_once>{}, OwnershipKind::strided_at_once);
  visit_one(Owns<Of.adjacent_at_once, OwnershipKind::adjacent_at_once>{}, OwnershipKind::adjacent_at_once);
  visit_one(Owns < Of.adjacent_of_rows ? Of.adjacent : 1, OwnershipKind::adjacent_of_rows > {},
            OwnershipKind::adjacent_of_rows);
}

// The neurons that a thread computes: all or none of adjacent ones, any of strided ones.
template <class O>
class Owned {
 public:
  Owned() = default;
  __device__ __forceinline__ explicit Owned(u32 bits) : bits_(bits) {}

  __device__ __forceinline__ bool operator[](int w) const {
    return O::width == O::adjacent ? bits_ != 0 : (bits_ >> w & 1u) != 0;
  }
  __device__ __forceinline__ bool any() const { return bits_ != 0; }

 private:
  u32 bits_ = 0;
};

__device__ __forceinline__ int lane_of_warp() {
  return static_cast<int>(threadIdx.x % warp_lanes);
}
// The warps of a block take successive tiles.
__device__ __forceinline__ int64_t tile_of(unsigned block) {
  return static_cast<int64_t>(block) * (blockDim.x / warp_lanes) + threadIdx.x / warp_lanes;
}

struct Range {
  int64_t first;
  int count;
};

template <class O>
__device__ __forceinline__ Range range_of(int64_t tile, int64_t row) {
  const int64_t first = tile * tile_elements<O>, left = row - first;
  return {first, left < tile_elements<O> ? static_cast<int>(left) : tile_elements<O>};
}

// Threads read valid elements in place of neurons that they do not own, and write nothing there: they take part in warp
// votes, and loads need no condition. The last tile of a row therefore begins earlier, so that it ends with the row.
template <class O>
__device__ __forceinline__ int64_t window_of(const Range& tile, int64_t row) {
  if (O::adjacent > 1) return tile.first;
  const int64_t latest = row - tile_elements<O>;
  return tile.first <= latest ? tile.first : latest > 0 ? latest : 0;
}

template <class O>
__device__ __forceinline__ int64_t element_in(int64_t window, int64_t row) {
  const int64_t element = window + lane_of_warp() * O::adjacent;
  const int64_t latest = row - O::adjacent;
  return O::width > 1 && O::adjacent == 1 ? element : element < latest ? element : latest;
}

// Elements from `active` on belong to batch rows that the pass leaves out.
template <class O>
__device__ __forceinline__ Owned<O> owned_in(const Range& tile, int64_t window, int64_t active) {
  const int from = static_cast<int>(tile.first - window);
  const int64_t present = active - window;
  const int to = present < from + tile.count ? static_cast<int>(present < 0 ? 0 : present) : from + tile.count;
  if constexpr (O::adjacent > 1) return Owned<O>(lane_of_warp() * O::width < to ? 1u : 0u);
  u32 owned = 0;
#pragma unroll
  for (int w = 0; w < O::width; ++w) {
    const int at = lane_of_warp() + O::offset(w);
    owned |= at >= from && at < to ? 1u << w : 0u;
  }
  return Owned<O>(owned);
}

__device__ __forceinline__ int64_t quotient(int64_t a, int64_t b, bool narrow) {
  return narrow ? static_cast<int64_t>(static_cast<u32>(a) / static_cast<u32>(b)) : a / b;
}

}  // namespace
}  // namespace synfire::cuda

#endif
