// Reductions and their gradients. Lane i of a warp has column i of a tile; the eight warps of a block share the
// entries, which are far apart in memory.
#include "reduce_kernels.hpp"

#include <base/row_index.hpp>

#include <backends/cuda/cuda_storage.cuh>

#include <synfire/synfire.h>
#include <synfire/model/reduction.hpp>

namespace synfire::cuda {
namespace {

using namespace synfire::model;
using core::Extents;
using operations::Counting;

constexpr int n_warps = reduce_threads / 32;
constexpr int lanes_per_warp = reduction_lanes / n_warps;

struct Bits {
  static constexpr int32_t dtype = SYNFIRE_DTYPE_BITS;
};
struct TimeBits {
  static constexpr int32_t dtype = SYNFIRE_DTYPE_TIME_BITS;
};
using EntryTypes = NumberTypes::with<uint32_t, uint8_t, Bits, TimeBits>;

__device__ __forceinline__ int lane() {
  return static_cast<int>(threadIdx.x) % 32;
}
__device__ __forceinline__ int warp() {
  return static_cast<int>(threadIdx.x) / 32;
}

// ---- columns --------------------------------------------------------------------------------------------------------

struct Column {
  int64_t index, group, neuron;
  bool exists;
};
__device__ __forceinline__ Column column_of(const Extents& e, int64_t tile, int64_t n_columns) {
  Column at;
  at.index = tile * 32 + lane();
  at.exists = at.index < n_columns;
  const core::RowIndex row = core::row_index(at.index, e.n_neurons);
  at.group = row.t;
  at.neuron = row.b;
  return at;
}

// The entries of a group to look at: all that count and, over the batch, others between them.
__device__ __forceinline__ int64_t entries_of(const Counting& counting, bool steps, const Extents& e,
                                              const Column& at) {
  if (!at.exists) return 0;
  const int64_t n_rows = counting.rows(e.batch);
  if (!steps) return n_rows;
  return at.group < n_rows ? counting.steps(e.n_steps, at.group) : 0;
}
__device__ __forceinline__ bool counts(const Counting& counting, bool steps, const Column& at, int64_t entry) {
  return steps || counting.counts(at.group, entry);
}
__device__ __forceinline__ int64_t count_of(const Counting& counting, bool steps, const Extents& e, const Column& at) {
  const int64_t n_entries = entries_of(counting, steps, e, at);
  if (steps || !counting.lengths) return n_entries;
  int64_t count = 0;
  for (int64_t b = 0; b < n_entries; ++b) count += counting.counts(at.group, b) ? 1 : 0;
  return count;
}
// The last entry that counts, or -1.
__device__ __forceinline__ int64_t last_of(const Counting& counting, bool steps, const Extents& e, const Column& at) {
  int64_t entry = entries_of(counting, steps, e, at) - 1;
  while (entry >= 0 && !counts(counting, steps, at, entry)) --entry;
  return entry;
}

// ---- entries of a column --------------------------------------------------------------------------------------------

template <class E>
struct Entries {
  using Value = Arithmetic<E>;
  const E* first;
  int64_t stride;

  __device__ __forceinline__ Entries(const ReduceLaunch& launch, const Column& at)
      : first(static_cast<const E*>(launch.source) + (launch.steps ? at.index : at.group * launch.pitch + at.neuron)),
        stride(launch.steps ? launch.pitch : launch.extents.n_neurons) {}
  __device__ __forceinline__ Value operator[](int64_t entry) const { return decode(first[entry * stride]); }
};
template <>
struct Entries<uint32_t> {
  using Value = u32;
  const uint32_t* first;
  int64_t stride;

  __device__ __forceinline__ Entries(const ReduceLaunch& launch, const Column& at)
      : first(static_cast<const uint32_t*>(launch.source) +
              (launch.steps ? at.index : at.group * launch.pitch + at.neuron)),
        stride(launch.steps ? launch.pitch : launch.extents.n_neurons) {}
  __device__ __forceinline__ u32 operator[](int64_t entry) const { return first[entry * stride]; }
};
template <>
struct Entries<uint8_t> {
  using Value = u32;
  const uint8_t* first;
  int64_t stride;

  __device__ __forceinline__ Entries(const ReduceLaunch& launch, const Column& at)
      : first(static_cast<const uint8_t*>(launch.source) +
              (launch.steps ? at.index : at.group * launch.pitch + at.neuron)),
        stride(launch.steps ? launch.pitch : launch.extents.n_neurons) {}
  __device__ __forceinline__ u32 operator[](int64_t entry) const { return first[entry * stride] != 0 ? 1u : 0u; }
};
template <>
struct Entries<Bits> {
  using Value = u32;
  const uint32_t* first;
  int64_t stride;
  int bit;

  __device__ __forceinline__ Entries(const ReduceLaunch& launch, const Column& at)
      : first(static_cast<const uint32_t*>(launch.source) +
              at.group * (launch.steps ? launch.extents.words_per_row() : launch.pitch) + at.neuron / 32),
        stride(launch.steps ? launch.pitch : launch.extents.words_per_row()),
        bit(static_cast<int>(at.neuron % 32)) {}
  __device__ __forceinline__ u32 operator[](int64_t entry) const { return first[entry * stride] >> bit & 1u; }
};
template <>
struct Entries<TimeBits> {
  using Value = u32;
  const uint32_t* first;
  int64_t stride;
  int bit;  // negative: the entries are steps

  __device__ __forceinline__ Entries(const ReduceLaunch& launch, const Column& at)
      : first(static_cast<const uint32_t*>(launch.source) +
              (launch.steps ? at.index : at.group / 32 * launch.pitch + at.neuron)),
        stride(launch.steps ? launch.pitch : launch.extents.n_neurons),
        bit(launch.steps ? -1 : static_cast<int>(at.group % 32)) {}
  __device__ __forceinline__ u32 operator[](int64_t entry) const {
    if (bit < 0) return first[entry / 32 * stride] >> (entry % 32) & 1u;
    return first[entry * stride] >> bit & 1u;
  }
  // The steps [0, end) of word i.
  __device__ __forceinline__ u32 word(int64_t i, int64_t end) const {
    const int64_t steps = end - i * 32;
    return first[i * stride] & (steps >= 32 ? 0xFFFFFFFFu : (1u << steps) - 1);
  }
};
template <class P>
struct Partials {
  using Value = P;
  const P* first;
  int64_t stride;

  __device__ __forceinline__ Partials(const ReduceLaunch& launch, const Column& at)
      : first(reinterpret_cast<const P*>(launch.partials) + at.index), stride(launch.n_columns) {}
  __device__ __forceinline__ P operator[](int64_t entry) const { return first[entry * stride]; }
};

// ---- the three kinds of accumulation --------------------------------------------------------------------------------

// Reduces the values of a thread by a binary tree. The recursion keeps the array in registers.
template <int Count, class A, class Op>
__device__ __forceinline__ A tree(A (&values)[Count], Op op) {
  if constexpr (Count == 1) {
    return values[0];
  } else {
    A halves[Count / 2];
#pragma unroll
    for (int i = 0; i < Count / 2; ++i) halves[i] = op(values[i], values[i + Count / 2]);
    return tree(halves, op);
  }
}
// Reduces the values of the warps of a block in a fixed order; valid in warp 0.
template <class A, class Op>
__device__ __forceinline__ A tree_of_warps(A mine, A (*shared)[32], Op op) {
  shared[warp()][lane()] = mine;
  __syncthreads();
  if (warp() != 0) return mine;
  A all[n_warps];
#pragma unroll
  for (int w = 0; w < n_warps; ++w) all[w] = shared[w][lane()];
  return tree(all, op);
}

// Sums in f64, in the order of model/reduction.hpp: warp w has its lanes w, w + 8, w + 16 ...
struct Numbers {
  using Result = double;
  template <class Source, class Counts>
  static __device__ __forceinline__ double of(const Source& source, int64_t first, int64_t end, Counts counts,
                                              double (*shared)[32]) {
    double lanes[lanes_per_warp] = {};
    for (int64_t base = first + warp(); base < end; base += reduction_lanes) {
#pragma unroll
      for (int j = 0; j < lanes_per_warp; ++j) {
        const int64_t entry = base + j * n_warps;
        if (entry < end && counts(entry)) lanes[j] += static_cast<double>(source[entry]);
      }
    }
    const auto add = [](double a, double b) { return a + b; };
    return tree_of_warps(tree(lanes, add), shared, add);
  }
};
struct Whole {
  using Result = u64;
  template <class Source, class Counts>
  static __device__ __forceinline__ u64 of(const Source& source, int64_t first, int64_t end, Counts counts,
                                           u64 (*shared)[32]) {
    u64 sum = 0;
#pragma unroll 8
    for (int64_t entry = first + warp(); entry < end; entry += n_warps)
      if (counts(entry)) sum += source[entry];
    return tree_of_warps(sum, shared, [](u64 a, u64 b) { return a + b; });
  }
};
__device__ __forceinline__ u64 order(float value) {
  return operations::order_of(value);
}
__device__ __forceinline__ u64 order(double value) {
  return operations::order_of(value);
}
__device__ __forceinline__ u64 order(u32 value) {
  return value;
}
__device__ __forceinline__ u64 order(u64 partial) {
  return partial;
}
struct Largest {
  using Result = u64;
  template <class Source, class Counts>
  static __device__ __forceinline__ u64 of(const Source& source, int64_t first, int64_t end, Counts counts,
                                           u64 (*shared)[32]) {
    u64 best = 0;
#pragma unroll 8
    for (int64_t entry = first + warp(); entry < end; entry += n_warps) {
      if (!counts(entry)) continue;
      const u64 found = order(source[entry]);
      best = found > best ? found : best;
    }
    return tree_of_warps(best, shared, [](u64 a, u64 b) { return a > b ? a : b; });
  }
};

// ---- results --------------------------------------------------------------------------------------------------------

template <class R, class Sum>
__device__ __forceinline__ R finished(const ReduceLaunch& launch, const Column& at, Sum sum) {
  if (launch.reduction == SYNFIRE_REDUCE_SUM) return static_cast<R>(sum);
  return operations::mean_of<R>(sum, count_of(launch.counting, launch.steps, launch.extents, at));
}
template <class R>
__device__ __forceinline__ R of_order(const ReduceLaunch& launch, u64 order) {
  if (launch.whole) return static_cast<R>(order);
  if constexpr (sizeof(R) == 8)
    return operations::number_of(order);
  else
    return operations::number_of(static_cast<u32>(order));
}

template <class Kind, class R>
__device__ __forceinline__ void store(const ReduceLaunch& launch, const Column& at, typename Kind::Result result) {
  R& to = static_cast<R*>(launch.destination)[at.group * launch.group_pitch + at.neuron];
  if constexpr (is_same<Kind, Largest>)
    to = of_order<R>(launch, result);
  else
    to = finished<R>(launch, at, result);
}
template <class Kind>
__device__ __forceinline__ void store_result(const ReduceLaunch& launch, const Column& at,
                                             typename Kind::Result result) {
  if (warp() != 0 || !at.exists) return;
  if (launch.wide)
    store<Kind, double>(launch, at, result);
  else
    store<Kind, float>(launch, at, result);
}

// ---- kernels --------------------------------------------------------------------------------------------------------

template <class E, class Kind>
__global__ void __launch_bounds__(reduce_threads, 3) reduce(const __grid_constant__ ReduceLaunch launch) {
  wait_for_previous();
  using Result = typename Kind::Result;
  __shared__ Result shared[n_warps][32];
  for (int64_t piece = blockIdx.x; piece < launch.n_tiles * launch.n_chunks; piece += gridDim.x) {
    const int64_t chunk = piece / launch.n_tiles;
    const Column at = column_of(launch.extents, piece % launch.n_tiles, launch.n_columns);
    const Entries<E> entries(launch, at);
    int64_t first = chunk * reduction_chunk, end = entries_of(launch.counting, launch.steps, launch.extents, at);
    if (launch.reduction == SYNFIRE_REDUCE_LAST) {
      end = last_of(launch.counting, launch.steps, launch.extents, at) + 1;
      first = end > 0 ? end - 1 : 0;
    } else if (launch.n_chunks > 1 && end > first + reduction_chunk) {
      end = first + reduction_chunk;
    }
    Result result;
    if constexpr (is_same<E, TimeBits> && is_same<Kind, Whole>) {
      if (launch.steps) {
        struct SpikesOfWords {
          const Entries<TimeBits>& entries;
          int64_t end;
          __device__ __forceinline__ u32 operator[](int64_t i) const {
            return static_cast<u32>(__popc(entries.word(i, end)));
          }
        };
        result = Whole::of(
            SpikesOfWords{entries, end}, first / 32, (end + 31) / 32, [](int64_t) { return true; }, shared);
      } else {
        result = Whole::of(
            entries, first, end, [&](int64_t entry) { return launch.counting.counts(at.group, entry); }, shared);
      }
    } else {
      result = Kind::of(
          entries, first, end, [&](int64_t entry) { return counts(launch.counting, launch.steps, at, entry); }, shared);
    }
    if (!launch.partials)
      store_result<Kind>(launch, at, result);
    else if (warp() == 0 && at.exists)
      reinterpret_cast<Result*>(launch.partials)[chunk * launch.n_columns + at.index] = result;
    __syncthreads();
  }
}

// The results of what reduce() stored for each chunk.
template <class Kind>
__global__ void __launch_bounds__(reduce_threads) reduce_partials(const __grid_constant__ ReduceLaunch launch) {
  wait_for_previous();
  using Result = typename Kind::Result;
  __shared__ Result shared[n_warps][32];
  for (int64_t tile = blockIdx.x; tile < launch.n_tiles; tile += gridDim.x) {
    const Column at = column_of(launch.extents, tile, launch.n_columns);
    store_result<Kind>(
        launch, at,
        Kind::of(
            Partials<Result>(launch, at), 0, at.exists ? launch.n_chunks : 0, [](int64_t) { return true; }, shared));
    __syncthreads();
  }
}

template <class E>
__global__ void __launch_bounds__(reduce_threads) winners(const __grid_constant__ WinnersLaunch launch) {
  wait_for_previous();
  __shared__ u64 orders[n_warps][32];
  __shared__ int64_t indices[n_warps][32];
  const ReduceLaunch& of = launch.of;
  for (int64_t tile = blockIdx.x; tile < of.n_tiles; tile += gridDim.x) {
    const Column at = column_of(of.extents, tile, of.n_columns);
    const Entries<E> entries(of, at);
    const int64_t end = entries_of(of.counting, of.steps, of.extents, at);
    u64 best = 0;
    int64_t index = -1;
#pragma unroll 4
    for (int64_t entry = warp(); entry < end; entry += n_warps) {
      if (!counts(of.counting, of.steps, at, entry)) continue;
      const u64 found = order(entries[entry]);
      if (found > best || index < 0) {
        best = found;
        index = entry;
      }
    }
    orders[warp()][lane()] = best;
    indices[warp()][lane()] = index;
    __syncthreads();
    if (warp() == 0 && at.exists) {
      for (int w = 1; w < n_warps; ++w) {
        const u64 other = orders[w][lane()];
        const int64_t other_index = indices[w][lane()];
        if (other_index < 0) continue;
        if (index < 0 || other > best || (other == best && other_index < index)) {
          best = other;
          index = other_index;
        }
      }
      launch.winners[at.index] = index;
    }
    __syncthreads();
  }
}

template <class To>
__global__ void __launch_bounds__(reduce_threads) spread(const __grid_constant__ SpreadLaunch launch) {
  wait_for_previous();
  using R = Arithmetic<To>;
  const Extents& e = launch.extents;
  const int64_t n_entries = launch.steps ? e.n_steps : e.batch;
  const int tiles = launch.tile_of_warp ? n_warps : 1, first_entry = launch.tile_of_warp ? 0 : warp(),
            own_tile = launch.tile_of_warp ? warp() : 0;
  const int64_t across = (launch.n_tiles + tiles - 1) / tiles;
  for (int64_t piece = blockIdx.x; piece < across * launch.n_chunks; piece += gridDim.x) {
    const core::RowIndex of_chunk = core::row_index(piece, across);
    const Column at = column_of(e, of_chunk.b * tiles + own_tile, launch.n_columns);
    if (!at.exists) continue;
    R value = static_cast<const R*>(launch.from)[at.group * launch.group_pitch + at.neuron];
    if (launch.reduction == SYNFIRE_REDUCE_MEAN)
      value = value / static_cast<R>(count_of(launch.counting, launch.steps, e, at));
    int64_t winner = -1;
    if (launch.winners)
      winner = launch.winners[at.index];
    else if (launch.reduction == SYNFIRE_REDUCE_LAST)
      winner = last_of(launch.counting, launch.steps, e, at);
    const bool one = launch.winners || launch.reduction == SYNFIRE_REDUCE_LAST;
    const int64_t counted = entries_of(launch.counting, launch.steps, e, at);
    To* const to = static_cast<To*>(launch.to) + (launch.steps ? at.index : at.group * launch.pitch + at.neuron);
    const int64_t stride = launch.steps ? launch.pitch : e.n_neurons;
    const int64_t first = of_chunk.t * spread_chunk;
    const int64_t end = first + spread_chunk < n_entries ? first + spread_chunk : n_entries;
#pragma unroll 4
    for (int64_t entry = first + first_entry; entry < end; entry += launch.tile_of_warp ? 1 : n_warps) {
      const bool receives = one ? entry == winner : entry < counted && counts(launch.counting, launch.steps, at, entry);
      To& element = to[entry * stride];
      if (!launch.add)
        element = encode<To, R>(receives ? value : R(0));
      else if (receives)
        element = encode<To, R>(static_cast<R>(decode(element)) + value);
    }
  }
}

template <class E, class Kind>
const void* reduce_of() {
  return address(reduce<E, Kind>);
}

}  // namespace

const void* reduce_kernel(int32_t dtype, bool largest) {
  return core::with_element_type(EntryTypes{}, dtype, [=](auto type) {
    using E = typename decltype(type)::Type;
    if constexpr (is_same<typename Entries<E>::Value, u32>)
      return largest ? reduce_of<E, Largest>() : reduce_of<E, Whole>();
    else
      return largest ? reduce_of<E, Largest>() : reduce_of<E, Numbers>();
  });
}

const void* partials_kernel(bool whole, bool largest) {
  return largest ? address(reduce_partials<Largest>)
         : whole ? address(reduce_partials<Whole>)
                 : address(reduce_partials<Numbers>);
}

const void* winners_kernel(int32_t dtype) {
  return core::with_element_type(EntryTypes{}, dtype,
                                 [](auto type) { return address(winners<typename decltype(type)::Type>); });
}

const void* spread_kernel(int32_t dtype) {
  return core::with_element_type(NumberTypes{}, dtype,
                                 [](auto type) { return address(spread<typename decltype(type)::Type>); });
}

}  // namespace synfire::cuda
