#include "one_to_one_kernels.hpp"

#include <synapses/passes/input_numbers.cuh>

#include <synfire/model/grid.hpp>

namespace synfire::cuda {
namespace {

using namespace synfire::model;

template <class R>
__device__ __forceinline__ void write_gradient(R* to, int64_t entry, R gradient, bool add) {
  to[entry] = add ? to[entry] + gradient : gradient;
}

// ---- elements -------------------------------------------------------------------------------------------------------

template <class R>
__global__ void __launch_bounds__(threads_per_block)
    one_to_one_product(const __grid_constant__ OneToOneProductLaunch<R> launch) {
  wait_for_previous();
  const OneToOneShape& shape = launch.shape;
  const int64_t active = shape.rows.active();
  for (int64_t i = first_element(); i < shape.n_elements(); i += stride()) {
    const RowIndex at = row_index(i, shape.n_neurons);
    const RowIndex row = row_index(at.t, shape.rows.batch);
    R result = R(0);
    if (row.b < active) {
      const int64_t entry = shape.entry(at.b);
      result = fma(launch.weight[entry], number<R>(launch.input, row, at.b), launch.bias ? launch.bias[entry] : R(0));
    }
    launch.output.row(row)[at.b] = result;
  }
}

template <class R>
__global__ void __launch_bounds__(threads_per_block)
    one_to_one_input_gradient(const __grid_constant__ OneToOneInputGradientLaunch<R> launch) {
  wait_for_previous();
  const OneToOneShape& shape = launch.shape;
  const int64_t active = shape.rows.active();
  for (int64_t i = first_element(); i < shape.n_elements(); i += stride()) {
    const RowIndex at = row_index(i, shape.n_neurons);
    const RowIndex row = row_index(at.t, shape.rows.batch);
    R& to = launch.grad_input.row(row)[at.b];
    if (row.b < active) {
      const R gradient = launch.weight[shape.entry(at.b)] * launch.grad_output.row(row)[at.b];
      to = launch.add ? to + gradient : gradient;
    } else if (!launch.add) {
      to = R(0);
    }
  }
}

// ---- exact sums -----------------------------------------------------------------------------------------------------

// Calls f(row) for the active rows of a piece and end(entry) after them, for each element of the block's tile. Threads
// without an element call end() too, with entry -1.
template <class Row, class End>
__device__ __forceinline__ void for_each_piece(const ExactSumLaunch& launch, Row f, End end) {
  const OneToOneShape& shape = launch.shape;
  const int64_t active = shape.rows.active(), n_rows = shape.rows.n_steps * active;
  const int64_t across = (shape.n_neurons + exact_sum_threads - 1) / exact_sum_threads;
  const int64_t n_pieces = across * ((n_rows + launch.rows_per_piece - 1) / launch.rows_per_piece);
  for (int64_t piece = blockIdx.x; piece < n_pieces; piece += gridDim.x) {
    const int64_t element = piece % across * exact_sum_threads + threadIdx.x,
                  first = piece / across * launch.rows_per_piece,
                  last = first + launch.rows_per_piece < n_rows ? first + launch.rows_per_piece : n_rows;
    const bool exists = element < shape.n_neurons;
    if (exists)
      for (int64_t m = first; m < last; ++m) f(row_index(m, active), element);
    end(exists ? shape.entry(element) : int64_t{-1});
  }
}

__global__ void __launch_bounds__(exact_sum_threads) exact_largest(const __grid_constant__ ExactSumLaunch launch) {
  wait_for_previous();
  uint32_t most = 0;
  for_each_piece(
      launch,
      [&](RowIndex row, int64_t element) {
        const uint32_t magnitude = bits_of(launch.grad_output.row(row)[element]) & 0x7FFFFFFFu;
        most = magnitude > most ? magnitude : most;
      },
      [&](int64_t entry) {
        if (launch.shape.n_entries == 1) {
          for (int half = 16; half > 0; half /= 2) {
            const uint32_t other = __shfl_xor_sync(0xFFFFFFFFu, most, half);
            most = other > most ? other : most;
          }
          if (threadIdx.x % 32 == 0 && most != 0) atomicMax(launch.largest, most);
        } else if (entry >= 0 && most != 0) {
          atomicMax(launch.largest + entry, most);
        }
        most = 0;
      });
}

// 2^grid is the unit of an entry's sums. Gradients of an entry with one that is not finite are all 0 on it.
__device__ __forceinline__ s32 grid_of_entry(const ExactSumLaunch& launch, int64_t entry) {
  return grid_of_sum(launch.largest[entry], launch.wide ? largest_on_grid_32 : largest_on_grid_24);
}

__device__ __forceinline__ void add_total(int64_t* to, int64_t value) {
  if (value != 0) atomicAdd(reinterpret_cast<unsigned long long*>(to), static_cast<unsigned long long>(value));
}

__global__ void __launch_bounds__(exact_sum_threads) exact_sum(const __grid_constant__ ExactSumLaunch launch) {
  wait_for_previous();
  const OneToOneShape& shape = launch.shape;
  int64_t total = 0, bias = 0, known = -1;
  s32 grid = 0;
  for_each_piece(
      launch,
      [&](RowIndex row, int64_t element) {
        if (known != element) {
          grid = grid_of_entry(launch, shape.entry(element));
          known = element;
        }
        const int64_t term = on_grid(launch.grad_output.row(row)[element], grid);
        if (number<float>(launch.input, row, element) != 0.0f) total += term;
        bias += term;
      },
      [&](int64_t entry) {
        if (shape.n_entries == 1) {
          for (int half = 16; half > 0; half /= 2) {
            total += __shfl_xor_sync(0xFFFFFFFFu, total, half);
            bias += __shfl_xor_sync(0xFFFFFFFFu, bias, half);
          }
          if (threadIdx.x % 32 == 0) {
            add_total(launch.totals, total);
            add_total(launch.totals + 1, bias);
          }
        } else if (entry >= 0) {
          add_total(launch.totals + entry, total);
          add_total(launch.totals + shape.n_entries + entry, bias);
        }
        total = bias = 0;
      });
}

__global__ void __launch_bounds__(threads_per_block) exact_finish(const __grid_constant__ ExactSumLaunch launch) {
  wait_for_previous();
  const int64_t n_entries = launch.shape.n_entries;
  for (int64_t entry = first_element(); entry < n_entries; entry += stride()) {
    const bool finite = launch.largest[entry] < 0x7F800000u;
    const s32 grid = grid_of_entry(launch, entry);
    const auto gradient = [&](int64_t total) { return finite ? from_wide_grid(total, grid) : from_bits(0x7FC00000u); };
    write_gradient(launch.weight_gradient, entry, gradient(launch.totals[entry]), launch.add);
    if (launch.bias_gradient)
      write_gradient(launch.bias_gradient, entry, gradient(launch.totals[n_entries + entry]), launch.add);
  }
}

// ---- contributions of values in f32 ---------------------------------------------------------------------------------

__global__ void __launch_bounds__(threads_per_block)
    one_to_one_contributions(const __grid_constant__ ContributionsLaunch launch) {
  wait_for_previous();
  const OneToOneShape& shape = launch.shape;
  const int64_t n_elements = shape.rows.active() * shape.n_neurons;
  for (int64_t i = first_element(); i < n_elements; i += stride()) {
    const RowIndex at = row_index(i, shape.n_neurons);  // of [B, N]
    double weight = 0, bias = 0;
#pragma unroll 8
    for (int64_t t = shape.rows.n_steps - 1; t >= 0; --t) {
      const RowIndex row = {t, at.t};
      const auto gradient = static_cast<double>(launch.grad_output.row(row)[at.b]);
      weight = weight + gradient * static_cast<double>(number<float>(launch.input, row, at.b));
      bias = bias + gradient;
    }
    launch.weight[i] = static_cast<float>(weight);
    if (launch.bias) launch.bias[i] = static_cast<float>(bias);
  }
}

// ---- sums in the fixed order, in f64 --------------------------------------------------------------------------------

constexpr int chains_per_block = block_length / chain_length;
static_assert(chains_per_block == 16 && ordered_sum_threads == 16 * chains_per_block);

__device__ __forceinline__ int64_t terms_of(const OrderedSumLaunch& launch) {
  return launch.shape.rows.n_steps * launch.shape.rows.active() * launch.shape.n_shares();
}
__device__ __forceinline__ int64_t blocks_of(int64_t n_terms) {
  return (n_terms + block_length - 1) / block_length;
}

// A chain of terms [q, end) of an entry.
__device__ __forceinline__ void add_chain(const OrderedSumLaunch& launch, int64_t q, int64_t end, int64_t entry,
                                          double& weight, double& bias) {
  const OneToOneShape& shape = launch.shape;
  const int64_t active = shape.rows.active(), n_shares = shape.n_shares();
  for (; q < end; ++q) {
    const RowIndex term = n_shares == 1 ? RowIndex{q, 0} : row_index(q, n_shares);
    const RowIndex row = row_index(term.t, active);
    const int64_t element = term.b * shape.n_entries + entry;
    const double gradient = launch.grad_output.row(row)[element];
    weight = fma(gradient, number<double>(launch.input, row, element), weight);
    bias = bias + gradient;
  }
}

__global__ void __launch_bounds__(ordered_sum_threads) ordered_blocks(const __grid_constant__ OrderedSumLaunch launch) {
  wait_for_previous();
  __shared__ double weights[ordered_sum_threads], biases[ordered_sum_threads];
  const int64_t n_entries = launch.shape.n_entries, n_terms = terms_of(launch), n_blocks = blocks_of(n_terms);
  const int width = launch.tile_entries, blocks_of_tile = 16 / width;
  const int thread = static_cast<int>(threadIdx.x), chain = thread / width % chains_per_block;
  const int64_t across = (n_entries + width - 1) / width,
                n_tiles = across * ((n_blocks + blocks_of_tile - 1) / blocks_of_tile);
  for (int64_t tile = blockIdx.x; tile < n_tiles; tile += gridDim.x) {
    const int64_t entry = tile % across * width + thread % width,
                  block = tile / across * blocks_of_tile + thread / (width * chains_per_block);
    const bool exists = entry < n_entries && block < n_blocks;
    const int64_t first = block * block_length + int64_t{chain} * chain_length,
                  end = first + chain_length < n_terms ? first + chain_length : n_terms;
    double weight = 0, bias = 0;
    if (exists) add_chain(launch, first, end, entry, weight, bias);
    weights[thread] = weight;
    biases[thread] = bias;
    __syncthreads();
    if (exists && chain == 0) {
      double of_weight = 0, of_bias = 0;
      for (int c = 0; c < chains_per_block && first + int64_t{c} * chain_length < n_terms; ++c) {
        of_weight = of_weight + weights[thread + c * width];
        of_bias = of_bias + biases[thread + c * width];
      }
      launch.blocks[block * n_entries + entry] = of_weight;
      launch.blocks[(launch.n_blocks + block) * n_entries + entry] = of_bias;
    }
    __syncthreads();
  }
}

__global__ void __launch_bounds__(threads_per_block) ordered_finish(const __grid_constant__ OrderedSumLaunch launch) {
  wait_for_previous();
  const int64_t n_entries = launch.shape.n_entries, n_blocks = blocks_of(terms_of(launch));
  for (int64_t entry = first_element(); entry < n_entries; entry += stride()) {
    double weight = 0, bias = 0;
    for (int64_t block = 0; block < n_blocks; ++block) {
      weight += launch.blocks[block * n_entries + entry];
      bias += launch.blocks[(launch.n_blocks + block) * n_entries + entry];
    }
    write_gradient(launch.weight_gradient, entry, weight, launch.add);
    if (launch.bias_gradient) write_gradient(launch.bias_gradient, entry, bias, launch.add);
  }
}

}  // namespace

template <class R>
const void* one_to_one_product_kernel() {
  return address(one_to_one_product<R>);
}
template const void* one_to_one_product_kernel<float>();
template const void* one_to_one_product_kernel<double>();

template <class R>
const void* one_to_one_input_gradient_kernel() {
  return address(one_to_one_input_gradient<R>);
}
template const void* one_to_one_input_gradient_kernel<float>();
template const void* one_to_one_input_gradient_kernel<double>();

const void* exact_largest_kernel() {
  return address(exact_largest);
}
const void* exact_sum_kernel() {
  return address(exact_sum);
}
const void* exact_finish_kernel() {
  return address(exact_finish);
}

const void* one_to_one_contributions_kernel() {
  return address(one_to_one_contributions);
}
const void* ordered_blocks_kernel() {
  return address(ordered_blocks);
}
const void* ordered_finish_kernel() {
  return address(ordered_finish);
}

}  // namespace synfire::cuda
