// Exact sums become elements of the output, of the totals of a weight gradient, and of the gradient of the input.
#ifndef SYNFIRE_SYNAPSES_DENSE_RESULTS_CUH
#define SYNFIRE_SYNAPSES_DENSE_RESULTS_CUH

#include "dense_kernels.hpp"

#include <backends/cuda/cuda_storage.cuh>

#include <synfire/model/grid.hpp>

namespace synfire::cuda {
namespace {

using namespace synfire::model;

// ---- output ---------------------------------------------------------------------------------------------------------

[[maybe_unused]] __device__ __forceinline__ s64 sum_of_planes(const int32_t (&planes)[3]) {
  return static_cast<s64>(planes[0]) + static_cast<s64>(planes[1]) * 0x100 + static_cast<s64>(planes[2]) * 0x10000;
}

template <bool kept>
__device__ __forceinline__ float result(const SpikeProductLaunch& launch, s64 sum, int64_t n) {
  const float scale = power_of_two(launch.grid[n]);
  if constexpr (kept) {
    const float bias = launch.own_bias && n < launch.n_outputs ? launch.own_bias[n] : 0.0f;
    return from_grid_of_kept(static_cast<float>(sum), scale, *launch.kept.scale, bias);
  } else {
    return from_grid(sum + launch.bias[n], scale);
  }
}

// ---- totals of a weight gradient ------------------------------------------------------------------------------------

__device__ __forceinline__ void add_to(int64_t* total, s64 value) {
  atomicAdd(reinterpret_cast<unsigned long long*>(total), static_cast<unsigned long long>(value));
}

// The rows, inputs and outputs of a piece of a weight gradient: a tile of 64 outputs, and words_per_piece words.
__device__ __forceinline__ int64_t tiles_across(const WeightProductLaunch& launch, int tile_inputs) {
  return (launch.n_inputs + tile_inputs - 1) / tile_inputs;
}
__device__ __forceinline__ int64_t tiles_of(const WeightProductLaunch& launch, int tile_inputs) {
  return tiles_across(launch, tile_inputs) * ((launch.n_outputs + weight_tile_outputs - 1) / weight_tile_outputs);
}
__device__ __forceinline__ int64_t pieces_of(const WeightProductLaunch& launch, int tile_inputs) {
  return tiles_of(launch, tile_inputs) * ((launch.n_words + launch.words_per_piece - 1) / launch.words_per_piece);
}

struct WeightPiece {
  int64_t first_input, first_output, first_word, n_words;

  __device__ __forceinline__ WeightPiece(const WeightProductLaunch& launch, int64_t index, int tile_inputs) {
    const int64_t across = tiles_across(launch, tile_inputs), tiles = tiles_of(launch, tile_inputs),
                  tile = index % tiles;
    first_input = tile % across * tile_inputs;
    first_output = tile / across * weight_tile_outputs;
    first_word = index / tiles * launch.words_per_piece;
    const int64_t left = launch.n_words - first_word;
    n_words = left < launch.words_per_piece ? left : launch.words_per_piece;
  }
  __device__ __forceinline__ void add(const WeightProductLaunch& launch, int row, int column, s64 sum) const {
    const int64_t k = first_input + row, n = first_output + column;
    if (k < launch.n_inputs && n < launch.n_outputs && sum != 0) add_to(launch.total + n * launch.pitch + k, sum);
  }
};

// ---- gradient of the input ------------------------------------------------------------------------------------------

class ResultRow {
 public:
  __device__ __forceinline__ ResultRow(const InputProductLaunch& launch, int64_t m)
      : ResultRow(launch, row_index(m, launch.rows.batch), [&] { return launch.row_grid[m]; }) {}
  __device__ __forceinline__ ResultRow(const InputProductLaunch& launch, int64_t m, s32 grid)
      : ResultRow(launch, row_index(m, launch.rows.batch), [=] { return grid; }) {}
  __device__ __forceinline__ void write_pair(int64_t k, const s64 (&sums)[2]) const {
    if (plain_ && k + 1 < launch_.n_inputs) {
      *reinterpret_cast<float2*>(row_ + k) =
          make_float2(from_wide_grid(sums[0], grid_), from_wide_grid(sums[1], grid_));
    } else {
      write(k, sums[0]);
      write(k + 1, sums[1]);
    }
  }
  __device__ __forceinline__ void write(int64_t k, s64 sum) const {
    if (k >= launch_.n_inputs) return;
    if (!counts_) {
      if (!launch_.add) row_[k] = 0;
      return;
    }
    const float gradient = of_kept(k, sum);
    row_[k] = launch_.add ? row_[k] + gradient : gradient;
  }

 private:
  template <class Grid>
  __device__ __forceinline__ ResultRow(const InputProductLaunch& launch, RowIndex at, Grid grid) : launch_(launch) {
    counts_ = at.b < launch.rows.active();
    row_ = launch.grad_input.row(at);
    grid_ = counts_ ? grid() : 0;
    plain_ = counts_ && !launch.add && !launch.kept.mask && grid_ != not_finite &&
             reinterpret_cast<uintptr_t>(row_) % sizeof(float2) == 0;
    if (!launch.kept.mask) return;
    mask_ = launch.kept.row(at.b);
    scale_ = static_cast<double>(*launch.kept.scale);
  }
  __device__ __forceinline__ float of_kept(int64_t k, s64 sum) const {
    if (mask_ && (mask_[k / 32] >> (k % 32) & 1u) == 0) return 0;
    if (grid_ == not_finite) return from_bits(0x7FC00000u);
    return mask_ ? from_wide_grid(sum, grid_, scale_) : from_wide_grid(sum, grid_);
  }

  const InputProductLaunch& launch_;
  float* row_;
  const uint32_t* mask_ = nullptr;  // null: all inputs count
  double scale_ = 1;
  s32 grid_;
  bool counts_;
  bool plain_;  // pairs of sums on the row's grid, and nothing else
};

}  // namespace
}  // namespace synfire::cuda

#endif
