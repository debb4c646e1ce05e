#include "reduce_host_kernels.hpp"

#include "counting.hpp"

#include <backends/host/host_storage.hpp>

#include <synfire/model/reduction.hpp>

namespace synfire::host::SYNFIRE_MODEL_LEVEL {
namespace {

using operations::order_of;

constexpr int width = reduce_columns;

// ---- one entry ------------------------------------------------------------------------------------------------------

// Reads a type as numbers of type V.
template <class E, class V>
struct Dense {
  static constexpr int32_t dtype = core::dtype_of<E>;
  using Value = V;
  static void read(const ReduceColumns& in, int64_t r, V* __restrict row) {
    const E* const from = static_cast<const E*>(in.data) + r * in.stride;
    for (int i = 0; i < in.columns; ++i) {
      if constexpr (sizeof(E) == 2)
        row[i] = decode(from[i]);
      else if constexpr (sizeof(E) == 1)
        row[i] = from[i] != 0 ? 1 : 0;
      else
        row[i] = from[i];
    }
  }
};
struct Bits {
  static constexpr int32_t dtype = SYNFIRE_DTYPE_BITS;
  using Value = u32;
  static void read(const ReduceColumns& in, int64_t r, u32* __restrict row) {
    const uint32_t word = static_cast<const uint32_t*>(in.data)[r * in.stride];
    for (u32 i = 0; i < static_cast<u32>(width); ++i) row[i] = word >> i & 1u;
  }
};
struct TimeBits {
  static constexpr int32_t dtype = SYNFIRE_DTYPE_TIME_BITS;
  using Value = u32;
  static void read(const ReduceColumns& in, int64_t r, u32* __restrict row) {
    const uint32_t* const from = static_cast<const uint32_t*>(in.data) + (in.steps ? r / 32 : r) * in.stride;
    const int bit = in.steps ? static_cast<int>(r % 32) : in.bit;
    for (int i = 0; i < in.columns; ++i) row[i] = from[i] >> bit & 1u;
  }
};

template <class E>
using Number = Dense<E, Arithmetic<E>>;
using Numbers = NumberTypes::each<Number>;
using Integers = core::ElementTypes<Dense<uint8_t, u32>, Bits, TimeBits, Dense<uint32_t, u32>>;
using Entries = Numbers::with<Dense<uint8_t, u32>, Dense<uint32_t, u32>, Bits, TimeBits>;

bool counts(const ReduceColumns& in, int64_t r) {
  return !in.lengths || in.lengths[r] > in.step;
}

// ---- sums of numbers ------------------------------------------------------------------------------------------------

// Running sums, `width` apart: one per entry, at most reduction_lanes.
using Lanes = double (*)[width];

void join(Lanes lanes, int used, int columns, double* __restrict sums) {
  for (int half = model::reduction_lanes / 2; half > 0; half /= 2)
    for (int lane = 0; lane < half && lane + half < used; ++lane) {
      double* __restrict const to = lanes[lane];
      const double* __restrict const from = lanes[lane + half];
      for (int i = 0; i < columns; ++i) to[i] += from[i];
    }
  for (int i = 0; i < columns; ++i) sums[i] = lanes[0][i];
}
// Clears as many lanes as join() reads.
int clear(Lanes lanes, int64_t count) {
  const int used = count < model::reduction_lanes ? static_cast<int>(count) : model::reduction_lanes;
  for (int lane = 0; lane < (used > 0 ? used : 1); ++lane)
    for (double& value : lanes[lane]) value = 0;
  return used;
}

template <class Read>
void sum_chunk(const ReduceColumns& in, int64_t first, int64_t end, double* sums, Lanes lanes) {
  const int used = clear(lanes, end - first);
  typename Read::Value row[width];
  for (int64_t r = first; r < end; ++r) {
    if (!counts(in, r)) continue;
    Read::read(in, r, row);
    double* __restrict const lane = lanes[r % model::reduction_lanes];
    for (int i = 0; i < in.columns; ++i) lane[i] += static_cast<double>(row[i]);
  }
  join(lanes, used, in.columns, sums);
}

template <class Read>
void sum_all(const ReduceColumns& in, double* sums, Lanes of_chunk) {
  constexpr int64_t chunk = model::reduction_chunk;
  if (in.count <= chunk) return sum_chunk<Read>(in, 0, in.count, sums, of_chunk);
  const int64_t n_chunks = (in.count + chunk - 1) / chunk;
  const Lanes lanes = of_chunk + model::reduction_lanes;
  const int used = clear(lanes, n_chunks);
  for (int64_t c = 0; c < n_chunks; ++c) {
    double part[width];
    sum_chunk<Read>(in, c * chunk, (c + 1) * chunk < in.count ? (c + 1) * chunk : in.count, part, of_chunk);
    double* __restrict const lane = lanes[c % model::reduction_lanes];
    for (int i = 0; i < in.columns; ++i) lane[i] += part[i];
  }
  join(lanes, used, in.columns, sums);
}

void sum_numbers(const ReduceColumns& in, double* sums, double* memory) {
  const auto lanes = reinterpret_cast<Lanes>(memory);
  core::with_element_type(Numbers{}, in.dtype,
                          [&](auto read) { sum_all<typename decltype(read)::Type>(in, sums, lanes); });
}

// ---- sums of integers -----------------------------------------------------------------------------------------------

template <class Read>
void sum_entries(const ReduceColumns& in, uint64_t* __restrict sums) {
  for (int i = 0; i < width; ++i) sums[i] = 0;
  u32 row[width];
  for (int64_t r = 0; r < in.count; ++r) {
    if (!counts(in, r)) continue;
    Read::read(in, r, row);
    for (int i = 0; i < in.columns; ++i) sums[i] += row[i];
  }
}

void sum_whole(const ReduceColumns& in, uint64_t* sums) {
  core::with_element_type(Integers{}, in.dtype,
                          [&](auto read) { sum_entries<typename decltype(read)::Type>(in, sums); });
}

// ---- maxima ---------------------------------------------------------------------------------------------------------

template <class Read>
using OrderOf = decltype(order_of(typename Read::Value()));

template <class Read>
void largest_order(const ReduceColumns& in, uint64_t* orders) {
  OrderOf<Read> best[width] = {};
  typename Read::Value row[width];
  for (int64_t r = 0; r < in.count; ++r) {
    if (!counts(in, r)) continue;
    Read::read(in, r, row);
    for (int i = 0; i < in.columns; ++i) {
      const OrderOf<Read> order = order_of(row[i]);
      best[i] = order > best[i] ? order : best[i];
    }
  }
  for (int i = 0; i < in.columns; ++i) orders[i] = best[i];
}

// An index as wide as an order, where it suffices, is selected in the same vector lanes.
template <class Read, class Index>
void largest_index(const ReduceColumns& in, uint64_t* orders, int64_t* indices) {
  OrderOf<Read> best[width] = {};
  Index at[width];
  for (Index& index : at) index = -1;
  typename Read::Value row[width];
  for (int64_t r = 0; r < in.count; ++r) {
    if (!counts(in, r)) continue;
    Read::read(in, r, row);
    const Index here = static_cast<Index>(r);
    for (int i = 0; i < in.columns; ++i) {
      const OrderOf<Read> order = order_of(row[i]);
      const bool above = (order > best[i]) | (at[i] < 0);
      best[i] = above ? order : best[i];
      at[i] = above ? here : at[i];
    }
  }
  for (int i = 0; i < in.columns; ++i) orders[i] = best[i];
  for (int i = 0; i < in.columns; ++i) indices[i] = at[i];
}

template <class Read>
void largest_of(const ReduceColumns& in, uint64_t* orders, int64_t* indices) {
  if (!indices) return largest_order<Read>(in, orders);
  if (sizeof(OrderOf<Read>) == 4 && in.count <= 0x7FFFFFFF) return largest_index<Read, int32_t>(in, orders, indices);
  return largest_index<Read, int64_t>(in, orders, indices);
}

void largest(const ReduceColumns& in, uint64_t* orders, int64_t* indices) {
  core::with_element_type(Entries{}, in.dtype,
                          [&](auto read) { largest_of<typename decltype(read)::Type>(in, orders, indices); });
}

// ---- gradients ------------------------------------------------------------------------------------------------------

template <class To, class R>
void spread_as(const SpreadRow& row) {
  const R* __restrict const from = static_cast<const R*>(row.from);
  To* __restrict const to = static_cast<To*>(row.to);
  const R divisor = row.divisor == 0 ? R(1) : static_cast<R>(row.divisor);
  for (int64_t i = 0; i < row.columns; ++i) {
    R value = from[i] / divisor;
    if constexpr (sizeof(To) == 2) {
      if (row.add) value = decode(to[i]) + value;
      to[i] = encode<To>(value);
    } else {
      to[i] = row.add ? to[i] + value : value;
    }
  }
}

void spread(const SpreadRow& row) {
  if (row.wide) return spread_as<double, double>(row);
  core::with_element_type(F32NumberTypes{}, row.dtype,
                          [&](auto type) { spread_as<typename decltype(type)::Type, float>(row); });
}

}  // namespace

extern const ReduceKernels reduce_kernels = {sum_numbers, sum_whole, largest, spread};

}  // namespace synfire::host::SYNFIRE_MODEL_LEVEL
