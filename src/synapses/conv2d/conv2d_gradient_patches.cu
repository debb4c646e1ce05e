// The gradients of a convolution that the places of its input meet.
#include "conv2d_elements.hpp"
#include "conv2d_kernels.hpp"

#include <backends/cuda/cuda_storage.cuh>
#include <synapses/dense/fragments.hpp>
#include <synapses/dense/planes.cuh>

namespace synfire::cuda {
namespace {

// A row of the patches: an input place of an image, which may not count.
struct PatchRow {
  const int32_t* on_grid = nullptr;  // of the image; null: zeros
  int32_t iy = 0, ix = 0;

  __device__ __forceinline__ PatchRow(const Conv2dGradientPatchLaunch& launch, int64_t active, int64_t m,
                                      bool writes_grid) {
    if (m >= launch.n_places()) return;
    const RowIndex place = row_index(m, launch.shape.input_places());
    RowIndex image = row_index(place.t, launch.n_images);
    image = {image.t + launch.first_step, image.b + launch.first_image};
    if (image.b >= active) return;
    const int64_t at = image.t * launch.rows.batch + image.b;
    const int32_t grid = launch.row_grid[at];
    if (writes_grid) launch.patch_grid[m] = grid;
    if (grid == operations::conv2d_not_finite) return;
    on_grid = launch.on_grid + at * launch.shape.n_outputs();
    const RowIndex index = row_index(place.b, launch.shape.x.n_inputs);
    iy = static_cast<int32_t>(index.t);
    ix = static_cast<int32_t>(index.b);
  }
  // The gradients of the output place that a tap meets; null: none.
  __device__ __forceinline__ const int32_t* of_tap(const Conv2dShape& shape, int32_t tap) const {
    if (!on_grid || tap >= shape.n_taps()) return nullptr;
    const int64_t place = shape.output_place(iy, ix, tap / shape.x.kernel, tap % shape.x.kernel);
    return place < 0 ? nullptr : on_grid + place * shape.output_channels;
  }
};

// Writes a word of the planes for a group of places. A lane has every fourth number of the word, for two places; the
// first is output `o` of `tap`, and both are moved to those of the next word.
__device__ __forceinline__ void write_word(const Conv2dGradientPatchLaunch& launch, const PatchRow (&rows)[2],
                                           const int32_t* (&gradients)[2], int32_t& tap, int32_t& o, int32_t word,
                                           int64_t group, int lane) {
  const auto n_outputs = static_cast<int32_t>(launch.shape.output_channels);
  const auto move = [&](int32_t count) {
    o += count;
    if (o < n_outputs) return;
    while (o >= n_outputs) {
      o -= n_outputs;
      ++tap;
    }
    gradients[0] = rows[0].of_tap(launch.shape, tap);
    gradients[1] = rows[1].of_tap(launch.shape, tap);
  };
  int32_t values[4][4] = {};  // of the four registers of a fragment
  if (o + 28 < n_outputs) {
    // All of one tap, and loaded together.
#pragma unroll
    for (int half = 0; half < 2; ++half)
      if (gradients[half])
#pragma unroll
        for (int k = 0; k < 8; ++k) values[2 * (k % 2) + half][k / 2] = gradients[half][o + 4 * k];
    move(32);
  } else {
#pragma unroll
    for (int k = 0; k < 8; ++k) {
#pragma unroll
      for (int half = 0; half < 2; ++half)
        if (gradients[half]) values[2 * (k % 2) + half][k / 2] = gradients[half][o];
      move(4);
    }
  }
  uint32_t bytes[3][4];
#pragma unroll
  for (int q = 0; q < 4; ++q) {
    uint32_t of_planes[3];
    bytes_of_planes(values[q], of_planes);
#pragma unroll
    for (int plane = 0; plane < 3; ++plane) bytes[plane][q] = of_planes[plane];
  }
#pragma unroll
  for (int plane = 0; plane < 3; ++plane)
    reinterpret_cast<uint4*>(launch.planes)[((int64_t{word} * 3 + plane) * launch.row_groups + group) * 32 + lane] =
        make_uint4(bytes[plane][0], bytes[plane][1], bytes[plane][2], bytes[plane][3]);
}

__global__ void __launch_bounds__(patch_threads)
    conv2d_gradient_patches(const __grid_constant__ Conv2dGradientPatchLaunch launch) {
  wait_for_previous();
  const Conv2dShape& shape = launch.shape;
  const int lane = static_cast<int>(threadIdx.x % 32), r = lane / 4, c = lane % 4;
  const int64_t warp = (static_cast<int64_t>(blockIdx.x) * patch_threads + threadIdx.x) / 32,
                n_warps = static_cast<int64_t>(gridDim.x) * (patch_threads / 32);
  const int64_t active = launch.rows.active(), n_groups = (launch.n_places() + 15) / 16;
  const auto n_outputs = static_cast<int32_t>(shape.output_channels);
  const int64_t n_chunks = (launch.n_words + launch.words_together - 1) / launch.words_together;
  for (int64_t i = warp; i < n_chunks * n_groups; i += n_warps) {
    const RowIndex at = row_index(i, n_groups);
    const int64_t group = at.b;
    const auto first_word = static_cast<int32_t>(at.t) * launch.words_together;
    const bool writes_grid = first_word == 0 && c == 0;
    const PatchRow rows[2] = {{launch, active, group * 16 + r, writes_grid},
                              {launch, active, group * 16 + 8 + r, writes_grid}};
    const auto last_word = static_cast<int32_t>(
        first_word + launch.words_together < launch.n_words ? first_word + launch.words_together : launch.n_words);
    int32_t tap = first_word * 32 / n_outputs, o = first_word * 32 - tap * n_outputs + c;  // of the lane's first number
    while (o >= n_outputs) {
      o -= n_outputs;
      ++tap;
    }
    const int32_t* gradients[2] = {rows[0].of_tap(shape, tap), rows[1].of_tap(shape, tap)};
    for (int32_t word = first_word; word < last_word; ++word)
      write_word(launch, rows, gradients, tap, o, word, group, lane);
  }
}

}  // namespace

const void* conv2d_gradient_patches_kernel() {
  return address(conv2d_gradient_patches);
}

}  // namespace synfire::cuda
