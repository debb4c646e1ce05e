// Reductions of up to 32 neighbouring elements of a result at a time.
#ifndef SYNFIRE_OPERATIONS_REDUCE_REDUCE_HOST_KERNELS_HPP
#define SYNFIRE_OPERATIONS_REDUCE_REDUCE_HOST_KERNELS_HPP

#include <backends/host/level.hpp>

#include <synfire/model/reduction.hpp>

#include <cstdint>

namespace synfire::host {

inline constexpr int reduce_columns = 32;

// Entries to reduce, one for each step or batch row; each has up to 32 neighbouring neurons.
struct ReduceColumns {
  const void* data;  // of the first entry and neuron
  int32_t dtype;
  int64_t stride;           // elements, or words, from one entry to the next; time-packed steps: to the next 32
  bool steps;               // the entries are steps
  int bit;                  // of a time-packed word; not for steps
  int64_t count;            // entries
  const uint32_t* lengths;  // of each entry: it counts if this is above `step`; null: every entry counts
  int64_t step;
  int columns;
};

// A row of a gradient to write or to add to.
struct SpreadRow {
  const void* from;  // f32; f64 if `wide`
  void* to;
  int32_t dtype;  // of `to`
  bool wide;
  bool add;
  int64_t divisor;  // 0: none
  int64_t columns;
};

struct ReduceKernels {
  // Sums numbers in f64, in the order of model/reduction.hpp. `lanes` has room for reduce_lanes() numbers.
  void (*sum_numbers)(const ReduceColumns& in, double* sums, double* lanes);
  // Sums integers and spikes.
  void (*sum_whole)(const ReduceColumns& in, uint64_t* sums);
  // Finds the largest, as operations::order_of() orders them, and their indices unless null: -1 if no entry counts.
  void (*largest)(const ReduceColumns& in, uint64_t* orders, int64_t* indices);
  void (*spread)(const SpreadRow& row);
};
SYNFIRE_LEVEL_TABLES(ReduceKernels, reduce_kernels)

// The running sums of one chunk of up to `count` entries and, with several chunks, those of the chunks after it.
constexpr int64_t reduce_lanes(int64_t count) {
  constexpr int64_t chunk = model::reduction_chunk, lanes = model::reduction_lanes;
  const int64_t n_chunks = (count + chunk - 1) / chunk;
  const int64_t rows = (count < lanes ? count : lanes) + (n_chunks < 2 ? 0 : n_chunks < lanes ? n_chunks : lanes);
  return (rows < 1 ? 1 : rows) * reduce_columns;
}

}  // namespace synfire::host

#endif
