// The exact products by warpgroups, compiled for GPUs of compute capability 9.0 only.
#include "dense_kernels.hpp"
#include "fragments.hpp"
#include "results.cuh"
#include "tensor.cuh"
#include "warpgroup.cuh"

#include <backends/cuda/cuda_storage.cuh>

namespace synfire::cuda {
namespace {

using namespace synfire::model;
using operations::spread;

inline constexpr int plane_bytes = 32 * warpgroup_columns;  // of a word of the right operand

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

extern __shared__ __align__(128) uint8_t shared[];

// All threads copy three planes of 64 columns, of all words, to shared memory, where they stay. Returns once done.
__device__ __forceinline__ void load_columns(const uint8_t* planes, int64_t n_words, int64_t first_column) {
  __shared__ Arrivals arrivals;
  if (threadIdx.x == 0) arrivals.initialize(1);
  __syncthreads();
  if (threadIdx.x == 0) {
    const auto bytes = static_cast<uint32_t>(n_words) * 3 * plane_bytes;
    arrivals.expect(bytes);
    arrivals.copy(shared, planes + operations::right_fragment(0, first_column / 8, 0, 3, n_words), bytes);
  }
  arrivals.wait(0);
}

#endif

// ---- spikes times weights -------------------------------------------------------------------------------------------

// A block has the planes of 64 outputs in shared memory, and each of its warpgroups takes 64 rows at a time. A warp
// copies the words of its 16 rows to shared memory, 4 of each row at a time, three ahead, also those of its next rows.
template <bool kept, int zero_planes>
__global__ void __launch_bounds__(spike_group_threads, 1)
    spike_groups(const __grid_constant__ SpikeProductLaunch launch) {
  wait_for_previous();
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  constexpr int words = spike_group_words, n_stages = spike_group_stages,
                n_groups = spike_group_threads / warpgroup_threads;
  struct Column {
    float scale[2];
    int32_t bias[2];  // on the grid; with dropout, an f32
  };
  __shared__ Column columns[warpgroup_columns / 2];
  __shared__ __align__(16) uint32_t rings[n_groups * 4][n_stages][kept ? 2 : 1][16][words];
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32 % 4),
            group = static_cast<int>(threadIdx.x / warpgroup_threads);
  const int r = lane / 4, c = lane % 4;
  const int64_t active = launch.rows.active(), n_rows = launch.rows.count();
  const int64_t across = (launch.n_outputs + warpgroup_columns - 1) / warpgroup_columns,
                first_output = blockIdx.x % across * warpgroup_columns;
  const int64_t n_words = launch.bits.length, n_steps = (n_words + words - 1) / words;
  for (int i = static_cast<int>(threadIdx.x); i < warpgroup_columns; i += spike_group_threads) {
    const int64_t n = first_output + i;
    Column& column = columns[i / 2];
    const bool exists = n < launch.n_outputs;
    const float scale = exists ? power_of_two(launch.grid[n]) : 0.0f;
    column.scale[i % 2] = kept ? scale * *launch.kept.scale : scale;
    if constexpr (kept)
      column.bias[i % 2] = static_cast<int32_t>(bits_of(launch.own_bias && exists ? launch.own_bias[n] : 0.0f));
    else
      column.bias[i % 2] = exists ? launch.bias[n] : 0;
  }
  load_columns(launch.planes, launch.plane_words, first_output);
  const bool pairs = (launch.output.pitch | launch.output.length) % 2 == 0 &&
                     reinterpret_cast<uintptr_t>(launch.output.data) % sizeof(float2) == 0;
  const int64_t n_tiles = (n_rows + warpgroup_rows - 1) / warpgroup_rows,
                stride = static_cast<int64_t>(gridDim.x) / across * n_groups,
                first_tile = blockIdx.x / across * n_groups + group;
  auto& ring = rings[threadIdx.x / 32];
  // These are copied next.
  int64_t next_tile = first_tile, next_word = 0;
  uint32_t next_stage = 0;
  const uint32_t *rows[2], *masks[2];
  const auto find_rows = [&] {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t m = next_tile * warpgroup_rows + warp * 16 + 8 * half + r;
      const RowIndex at = row_index(m, launch.rows.batch);
      rows[half] = m < n_rows && at.b < active ? launch.bits.row(at) : nullptr;
      if constexpr (kept) masks[half] = rows[half] ? launch.kept.row(at.b) : nullptr;
    }
  };
  const auto copy = [&] {
    if (next_tile < n_tiles) {
      const int64_t word = next_word + c;
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        const bool exists = rows[half] && word < n_words;
        copy4(&ring[next_stage][0][8 * half + r][c], exists ? rows[half] + word : launch.bits.data, exists);
        if constexpr (kept)
          copy4(&ring[next_stage][1][8 * half + r][c], exists ? masks[half] + word : launch.kept.mask, exists);
      }
      next_stage = (next_stage + 1) % n_stages;
      next_word += words;
      if (next_word >= n_words) {
        next_word = 0;
        next_tile += stride;
        find_rows();
      }
    }
    commit_copies();
  };
  find_rows();
#pragma unroll
  for (int i = 0; i < n_stages - 1; ++i) copy();
  uint32_t stage = 0;
  for (int64_t tile = first_tile; tile < n_tiles; tile += stride) {
    int32_t sums[3][32] = {};
    for (int64_t step = 0; step < n_steps; ++step) {
      wait_copies<n_stages - 2>();
      __syncwarp();
      uint4 found[2];
#pragma unroll
      for (int half = 0; half < 2; ++half) {
        found[half] = *reinterpret_cast<const uint4*>(ring[stage][0][8 * half + r]);
        if constexpr (kept) {
          const uint4 mask = *reinterpret_cast<const uint4*>(ring[stage][1][8 * half + r]);
          found[half] = make_uint4(found[half].x & mask.x, found[half].y & mask.y, found[half].z & mask.z,
                                   found[half].w & mask.w);
        }
      }
      stage = (stage + 1) % n_stages;
      uint32_t spikes[words][4];
#pragma unroll
      for (int q = 0; q < 4; ++q) {
        const uint4& of_row = found[q % 2];
        spikes[0][q] = spread(of_row.x, c, q / 2);
        spikes[1][q] = spread(of_row.y, c, q / 2);
        spikes[2][q] = spread(of_row.z, c, q / 2);
        spikes[3][q] = spread(of_row.w, c, q / 2);
      }
      const uint64_t planes = right_operand(shared + step * words * 3 * plane_bytes);
      begin_products();
#pragma unroll
      for (int w = 0; w < words; ++w) {
        constexpr uint64_t apart = plane_bytes >> 4;
        if constexpr (zero_planes < 1) multiply<false, false>(sums[0], spikes[w], planes + (w * 3) * apart);
        if constexpr (zero_planes < 2) multiply<false, false>(sums[1], spikes[w], planes + (w * 3 + 1) * apart);
        multiply<false, true>(sums[2], spikes[w], planes + (w * 3 + 2) * apart);
      }
      commit_products();
      __syncwarp();
      copy();
      wait_products();
#pragma unroll
      for (int w = 0; w < words; ++w) keep_operand(spikes[w]);
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int64_t m = tile * warpgroup_rows + warp * 16 + 8 * half + r;
      if (m >= n_rows) continue;
      const RowIndex at = row_index(m, launch.rows.batch);
      float* const output = launch.output.row(at) + first_output;
      const bool counts = at.b < active;
      const int64_t left = launch.n_outputs - first_output;
#pragma unroll
      for (int j = 0; j < warpgroup_columns / 8; ++j) {
        const int n = j * 8 + 2 * c;
        const Column column = columns[n / 2];
        float found[2];
#pragma unroll
        for (int q = 0; q < 2; ++q) {
          const int i = j * 4 + half * 2 + q;
          const int32_t of_planes[3] = {sums[0][i], sums[1][i], sums[2][i]};
          const s64 sum = sum_of_planes(of_planes);
          if constexpr (kept) {
            const float as_float = static_cast<float>(sum);
            found[q] =
                fma(as_float, as_float == 0.0f ? 0.0f : column.scale[q], from_bits(static_cast<u32>(column.bias[q])));
          } else {
            found[q] = from_grid(sum + column.bias[q], column.scale[q]);
          }
          found[q] = counts ? found[q] : 0.0f;
        }
        if (pairs) {
          if (n < left) *reinterpret_cast<float2*>(output + n) = make_float2(found[0], found[1]);
        } else {
          if (n < left) output[n] = found[0];
          if (n + 1 < left) output[n + 1] = found[1];
        }
      }
    }
  }
#endif
}

// ---- spikes times gradients -----------------------------------------------------------------------------------------

// Two warpgroups have 64 inputs x 64 outputs each. One more warp fills shared memory with 64 rows at a time.
template <int n_planes>
__global__ void __launch_bounds__(weight_group_threads, 1)
    weight_groups(const __grid_constant__ WeightProductLaunch launch) {
  wait_for_previous();
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  constexpr int words = 2, n_stages = weight_group_stages, n_groups = weight_group_threads / warpgroup_threads;
  struct Stage {
    uint8_t planes[words][n_planes][plane_bytes];
    uint32_t spikes[words][weight_tile_inputs];
  };
  static_assert(sizeof(Stage) == weight_group_stage_bytes<n_planes>);
  Stage* const stages = reinterpret_cast<Stage*>(shared);
  __shared__ Arrivals filled[n_stages], emptied[n_stages];
  if (threadIdx.x == 0)
    for (int i = 0; i < n_stages; ++i) {
      filled[i].initialize(1);
      emptied[i].initialize(n_groups * 4);
    }
  __syncthreads();
  uint32_t at = 0;  // steps so far
  const int64_t n_pieces = pieces_of(launch, weight_tile_inputs);
  if (threadIdx.x >= n_groups * warpgroup_threads) {
    if (threadIdx.x % 32 != 0) return;
    for (int64_t index = blockIdx.x; index < n_pieces; index += gridDim.x) {
      const WeightPiece piece(launch, index, weight_tile_inputs);
      const uint8_t* planes = launch.planes + operations::right_fragment(piece.first_word, piece.first_output / 8, 0,
                                                                         n_planes, launch.n_words);
      const uint32_t* spikes = launch.packed + piece.first_word * launch.pitch + piece.first_input;
      for (int64_t step = 0; step < piece.n_words / words; ++step, ++at) {
        const uint32_t stage = at % n_stages;
        if (at >= n_stages) emptied[stage].wait((at / n_stages - 1) % 2);
        Stage& to = stages[stage];
        filled[stage].expect(sizeof(Stage));
        filled[stage].copy(to.planes, planes, sizeof to.planes);
        planes += sizeof to.planes;
        for (int w = 0; w < words; ++w) {
          filled[stage].copy(to.spikes[w], spikes, sizeof to.spikes[w]);
          spikes += launch.pitch;
        }
      }
    }
    return;
  }
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32);
  const int r = lane / 4, c = lane % 4;
  for (int64_t index = blockIdx.x; index < n_pieces; index += gridDim.x) {
    const WeightPiece piece(launch, index, weight_tile_inputs);
    int32_t sums[n_planes][32] = {};
    for (int64_t step = 0; step < piece.n_words / words; ++step, ++at) {
      const uint32_t stage = at % n_stages;
      filled[stage].wait(at / n_stages % 2);
      const Stage& now = stages[stage];
      uint32_t spikes[words][4];
#pragma unroll
      for (int w = 0; w < words; ++w)
#pragma unroll
        for (int q = 0; q < 4; ++q) spikes[w][q] = spread(now.spikes[w][warp * 16 + q % 2 * 8 + r], c, q / 2);
      const uint64_t planes = right_operand(now.planes);
      begin_products();
#pragma unroll
      for (int w = 0; w < words; ++w) {
        constexpr uint64_t apart = plane_bytes >> 4;
#pragma unroll
        for (int plane = 0; plane + 1 < n_planes; ++plane)
          multiply<false, false>(sums[plane], spikes[w], planes + (w * n_planes + plane) * apart);
        multiply<false, true>(sums[n_planes - 1], spikes[w], planes + (w * n_planes + n_planes - 1) * apart);
      }
      commit_products();
      wait_products();
#pragma unroll
      for (int w = 0; w < words; ++w) keep_operand(spikes[w]);
      if (lane == 0) emptied[stage].arrive();  // every warp has read its part
    }
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      s64 sum = 0;
#pragma unroll
      for (int plane = 0; plane < n_planes; ++plane) sum += static_cast<s64>(sums[plane][i]) * (s64{1} << (8 * plane));
      piece.add(launch, warp * 16 + i / 2 % 2 * 8 + r, i / 4 * 8 + 2 * c + i % 2, sum);
    }
  }
#endif
}

// ---- gradients times weights ----------------------------------------------------------------------------------------

#if defined(__CUDA_ARCH_FEAT_SM90_ALL)

// Sums of the products with the weights 2^0, 2^8 .. 2^32, of the 64 x 64 results of a warpgroup.
using InputSums = int32_t[5][32];

// Begins the products of a word: the planes of 64 rows, in registers, with those of 64 inputs, in shared memory.
template <int zero_planes>
__device__ __forceinline__ void multiply_planes(InputSums& sums, const uint32_t (&left)[3][4], uint64_t planes) {
  constexpr uint64_t step = plane_bytes >> 4;
  begin_products();
  // Products into the same sums follow each other as late as possible.
  if constexpr (zero_planes < 1) multiply<false, false>(sums[0], left[0], planes);
  multiply<false, false>(sums[1], left[0], planes + step);
  multiply<false, true>(sums[2], left[0], planes + 2 * step);
  multiply<false, true>(sums[3], left[1], planes + 2 * step);
  if constexpr (zero_planes < 1) multiply<false, false>(sums[1], left[1], planes);
  multiply<false, false>(sums[2], left[1], planes + step);
  multiply<true, true>(sums[4], left[2], planes + 2 * step);
  multiply<true, false>(sums[3], left[2], planes + step);
  if constexpr (zero_planes < 1) multiply<true, false>(sums[2], left[2], planes);
  commit_products();
}

__device__ __forceinline__ void keep_planes(uint32_t (&left)[3][4]) {
#pragma unroll
  for (int p = 0; p < 3; ++p) keep_operand(left[p]);
}

// Copies the planes of a warpgroup's rows to a ring in shared memory, word after word and tile after tile: every thread
// its own part, three words ahead.
class LeftPlanes {
 public:
  static constexpr int n_stages = input_group_stages;

  __device__ __forceinline__ LeftPlanes(const InputProductLaunch& launch, uint8_t* ring, int64_t first_tile,
                                        int64_t n_tiles, int64_t stride)
      : launch_(launch),
        ring_(reinterpret_cast<uint4*>(ring) + threadIdx.x),
        n_tiles_(n_tiles),
        stride_(stride),
        next_tile_(first_tile) {
    find();
#pragma unroll
    for (int i = 0; i < n_stages - 1; ++i) copy();
  }
  // The next word, and the copy of a later one, which begins once the products of an earlier word have ended.
  __device__ __forceinline__ void take(uint32_t (&left)[3][4]) {
    wait_copies<n_stages - 2>();
#pragma unroll
    for (int p = 0; p < 3; ++p) {
      const uint4 found = at(stage_, p);
      left[p][0] = found.x;
      left[p][1] = found.y;
      left[p][2] = found.z;
      left[p][3] = found.w;
    }
    stage_ = (stage_ + 1) % n_stages;
  }
  __device__ __forceinline__ void copy() {
    if (next_tile_ < n_tiles_) {
#pragma unroll
      for (int p = 0; p < 3; ++p) {
        copy16(&at(next_stage_, p), next_);
        next_ += launch_.row_groups * operations::left_bytes;  // from plane to plane
      }
      next_stage_ = (next_stage_ + 1) % n_stages;
      if (++next_word_ == launch_.n_words) {
        next_word_ = 0;
        next_tile_ += stride_;
        find();
      }
    }
    commit_copies();
  }

 private:
  __device__ __forceinline__ uint4& at(uint32_t stage, int p) const {
    return ring_[(stage * 3 + p) * input_group_threads];
  }
  __device__ __forceinline__ void find() {
    next_ = launch_.left + ((next_tile_ * 4 + threadIdx.x / 32 % 4) * 32 + threadIdx.x % 32) * 16;
  }

  const InputProductLaunch& launch_;
  uint4* const ring_;
  const int64_t n_tiles_, stride_;
  int64_t next_tile_, next_word_ = 0;
  uint32_t stage_ = 0, next_stage_ = 0;
  const uint8_t* next_ = nullptr;
};

__device__ __forceinline__ void write_sums(const InputProductLaunch& launch, int64_t tile, int64_t first_input,
                                           const InputSums& sums) {
  const int lane = static_cast<int>(threadIdx.x % 32), warp = static_cast<int>(threadIdx.x / 32 % 4);
  const int r = lane / 4, c = lane % 4;
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int64_t m = tile * warpgroup_rows + warp * 16 + 8 * half + r;
    if (m >= launch.rows.count()) continue;
    const ResultRow row(launch, m);
#pragma unroll
    for (int j = 0; j < warpgroup_columns / 8; ++j) {
      s64 found[2];
#pragma unroll
      for (int q = 0; q < 2; ++q) {
        const int i = j * 4 + half * 2 + q;
        found[q] = static_cast<s64>(sums[1][i]) * 0x100 + sums[0][i] +
                   (static_cast<s64>(sums[3][i]) * 0x100 + sums[2][i]) * 0x10000 +
                   static_cast<s64>(sums[4][i]) * 0x100000000;
      }
      row.write_pair(first_input + j * 8 + 2 * c, found);
    }
  }
}

#endif

// A block has the planes of 64 inputs in shared memory, and each of its warpgroups takes 64 rows at a time.
template <int zero_planes>
__global__ void __launch_bounds__(input_group_threads, 1)
    input_groups(const __grid_constant__ InputProductLaunch launch) {
  wait_for_previous();
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  constexpr int n_groups = input_group_threads / warpgroup_threads;
  const int64_t n_words = launch.n_words, across = (launch.n_inputs + warpgroup_columns - 1) / warpgroup_columns,
                first_input = blockIdx.x % across * warpgroup_columns;
  load_columns(launch.right, n_words, first_input);
  const int64_t n_tiles = (launch.rows.count() + warpgroup_rows - 1) / warpgroup_rows,
                stride = static_cast<int64_t>(gridDim.x) / across * n_groups,
                first_tile = blockIdx.x / across * n_groups + threadIdx.x / warpgroup_threads;
  LeftPlanes planes(launch, shared + n_words * 3 * plane_bytes, first_tile, n_tiles, stride);
  for (int64_t tile = first_tile; tile < n_tiles; tile += stride) {
    InputSums sums = {};
    // The products of a word begin before those of the word before have ended.
    uint32_t even[3][4] = {}, odd[3][4] = {};
    const auto multiply_word = [&](int64_t word, uint32_t(&now)[3][4], uint32_t(&before)[3][4]) {
      planes.take(now);
      multiply_planes<zero_planes>(sums, now, right_operand(shared + word * 3 * plane_bytes));
      wait_products<1>();
      keep_planes(before);
      planes.copy();
    };
    for (int64_t word = 0; word < n_words; word += 2) {
      multiply_word(word, even, odd);
      if (word + 1 < n_words) multiply_word(word + 1, odd, even);
    }
    wait_products();
    keep_planes(even);
    keep_planes(odd);
    write_sums(launch, tile, first_input, sums);
  }
#endif
}

// The same where the planes of 64 inputs are too many for shared memory: they pass through it, word after word, for the
// warpgroups of a block together. Thread 0 asks for a word some steps after all warps have left its place.
template <int zero_planes>
__global__ void __launch_bounds__(input_group_threads, 1)
    input_streams(const __grid_constant__ InputProductLaunch launch) {
  wait_for_previous();
#if defined(__CUDA_ARCH_FEAT_SM90_ALL)
  constexpr int n_groups = input_group_threads / warpgroup_threads, n_places = input_stream_places,
                ahead = n_places - 3;
  constexpr uint32_t word_bytes = 3 * plane_bytes;
  __shared__ Arrivals filled[n_places], emptied[n_places];
  if (threadIdx.x == 0)
    for (int i = 0; i < n_places; ++i) {
      filled[i].initialize(1);
      emptied[i].initialize(input_group_threads / 32);
    }
  __syncthreads();
  const int64_t n_words = launch.n_words, across = (launch.n_inputs + warpgroup_columns - 1) / warpgroup_columns,
                first_input = blockIdx.x % across * warpgroup_columns;
  const int64_t n_tiles = (launch.rows.count() + warpgroup_rows - 1) / warpgroup_rows,
                stride = static_cast<int64_t>(gridDim.x) / across * n_groups,
                first_of_block = blockIdx.x / across * n_groups;
  // The first warpgroup has as many tiles as any other one of the block; those go along with it.
  const int64_t n_passes = first_of_block < n_tiles ? (n_tiles - first_of_block + stride - 1) / stride : 0;
  const uint8_t* const right = launch.right + operations::right_fragment(0, first_input / 8, 0, 3, n_words);
  uint32_t asked = 0;  // words of all passes
  int64_t asked_word = 0;
  const auto ask = [&] {
    if (asked >= n_passes * n_words) return;
    const uint32_t place = asked % n_places;
    if (asked >= n_places) emptied[place].wait((asked / n_places - 1) % 2);
    filled[place].expect(word_bytes);
    filled[place].copy(shared + place * word_bytes, right + asked_word * word_bytes, word_bytes);
    ++asked;
    if (++asked_word == n_words) asked_word = 0;
  };
  if (threadIdx.x == 0)
    for (int i = 0; i < ahead; ++i) ask();
  __syncwarp();
  const int64_t first_tile = first_of_block + threadIdx.x / warpgroup_threads;
  LeftPlanes planes(launch, shared + n_places * word_bytes, first_tile, n_tiles, stride);
  uint32_t at = 0;  // words so far
  for (int64_t pass = 0; pass < n_passes; ++pass) {
    const int64_t tile = first_tile + pass * stride;
    const bool exists = tile < n_tiles;
    InputSums sums = {};
    uint32_t even[3][4] = {}, odd[3][4] = {};
    const auto multiply_word = [&](uint32_t(&now)[3][4], uint32_t(&before)[3][4]) {
      const uint32_t place = at % n_places;
      filled[place].wait(at / n_places % 2);
      if (exists) {
        planes.take(now);
        multiply_planes<zero_planes>(sums, now, right_operand(shared + place * word_bytes));
        wait_products<1>();
        keep_planes(before);
        planes.copy();
      }
      // The products of the word before have ended.
      if (at > 0 && threadIdx.x % 32 == 0) emptied[(at - 1) % n_places].arrive();
      if (threadIdx.x == 0) ask();
      __syncwarp();
      ++at;
    };
    for (int64_t word = 0; word < n_words; word += 2) {
      multiply_word(even, odd);
      if (word + 1 < n_words) multiply_word(odd, even);
    }
    wait_products();
    keep_planes(even);
    keep_planes(odd);
    if (exists) write_sums(launch, tile, first_input, sums);
  }
#endif
}

template <bool kept>
const void* spike_groups_kernel(int zero_planes) {
  return zero_planes == 0   ? address(spike_groups<kept, 0>)
         : zero_planes == 1 ? address(spike_groups<kept, 1>)
                            : address(spike_groups<kept, 2>);
}

}  // namespace

const void* spike_group_kernel(bool kept, int zero_planes) {
  return kept ? spike_groups_kernel<true>(zero_planes) : spike_groups_kernel<false>(zero_planes);
}
const void* weight_group_kernel(int n_planes) {
  return n_planes == 3 ? address(weight_groups<3>) : address(weight_groups<4>);
}
// With three products a word, ptxas would let them wait for each other: weights of 8 bits take six as those of 16 do.
const void* input_group_kernel(bool streams, int zero_planes) {
  if (streams) return zero_planes == 0 ? address(input_streams<0>) : address(input_streams<1>);
  return zero_planes == 0 ? address(input_groups<0>) : address(input_groups<1>);
}

}  // namespace synfire::cuda
