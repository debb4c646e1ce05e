#include "reduce.hpp"
#include "reduce_host_kernels.hpp"

#include <backends/host/host_launcher.hpp>
#include <base/dtype.hpp>
#include <operations/host_places.hpp>

#include <algorithm>
#include <cstring>

namespace synfire::operations {

using namespace synfire::core;
using host::Launcher;
using host::ReduceColumns;

namespace {

// Below this many elements the calling thread works alone.
constexpr int64_t reduce_parallel_threshold = 1 << 18;
constexpr int64_t tile_width = host::reduce_columns;

int64_t element_count(const Extents& e) {
  return e.n_steps * e.row();
}
bool has_whole_numbers(const View& view) {
  return !is_number(view.dtype);
}

// ---- tiles ----------------------------------------------------------------------------------------------------------

// Up to 32 neighbouring elements of a result. A group is a batch row (over the steps) or a step (over the batch).
struct Tile {
  int64_t group, neuron;
  int columns;
};

class Tiles {
 public:
  Tiles(Axis axis, const Extents& e)
      : n_groups_(axis == Axis::steps ? e.batch : e.n_steps),
        per_group_((e.n_neurons + tile_width - 1) / tile_width),
        n_neurons_(e.n_neurons) {}

  int64_t count() const { return n_groups_ * per_group_; }
  Tile at(int64_t index) const {
    const int64_t neuron = index % per_group_ * tile_width;
    return {index / per_group_, neuron, static_cast<int>(std::min(tile_width, n_neurons_ - neuron))};
  }

 private:
  int64_t n_groups_, per_group_, n_neurons_;
};

// The entries of a group to look at: all that count and, over the batch, others between them.
int64_t entries_of(const Counting& counting, Axis axis, const Extents& e, int64_t group) {
  const int64_t n_rows = counting.rows(e.batch);
  if (axis == Axis::batch) return n_rows;
  return group < n_rows ? counting.steps(e.n_steps, group) : 0;
}
int64_t count_of(const Counting& counting, Axis axis, const Extents& e, int64_t group) {
  const int64_t n_entries = entries_of(counting, axis, e, group);
  if (axis == Axis::steps || !counting.lengths) return n_entries;
  int64_t count = 0;
  for (int64_t b = 0; b < n_entries; ++b) count += counting.counts(group, b) ? 1 : 0;
  return count;
}
// The last entry that counts, or -1.
int64_t last_of(const Counting& counting, Axis axis, const Extents& e, int64_t group) {
  int64_t entry = entries_of(counting, axis, e, group) - 1;
  if (axis == Axis::batch)
    while (entry >= 0 && !counting.counts(group, entry)) --entry;
  return entry;
}

ReduceColumns columns_of(const View& source, Axis axis, const Extents& e, const Counting& counting, const Tile& tile) {
  const bool steps = axis == Axis::steps, bits = source.dtype == SYNFIRE_DTYPE_BITS,
             time_bits = source.dtype == SYNFIRE_DTYPE_TIME_BITS;
  const int64_t row = bits ? e.words_per_row() : e.n_neurons;
  const int64_t first = (steps       ? tile.group * row
                         : time_bits ? tile.group / 32 * source.pitch
                                     : tile.group * source.pitch) +
                        (bits ? tile.neuron / 32 : tile.neuron);
  return {static_cast<const char*>(source.data) + first * static_cast<int64_t>(bytes_of_dtype(source.dtype)),
          source.dtype,
          steps ? source.pitch : row,
          steps,
          static_cast<int>(tile.group % 32),
          entries_of(counting, axis, e, tile.group),
          steps ? nullptr : counting.lengths,
          tile.group,
          tile.columns};
}

// ---- results --------------------------------------------------------------------------------------------------------

template <class R>
R* result_at(const View& view, Axis axis, const Extents& e, const Tile& tile) {
  return static_cast<R*>(view.data) + tile.group * (axis == Axis::steps ? e.n_neurons : view.pitch) + tile.neuron;
}

template <class R, class Sum>
void store_sums(const Reduce& op, const Tile& tile, const Sum* sums, R* to) {
  if (op.reduction == Reduction::sum) {
    for (int i = 0; i < tile.columns; ++i) to[i] = static_cast<R>(sums[i]);
    return;
  }
  const int64_t count = count_of(counting_of(op.lengths, op.n_active), op.axis, op.extents, tile.group);
  if (count == 1)  // without divisions
    for (int i = 0; i < tile.columns; ++i) to[i] = static_cast<R>(static_cast<double>(sums[i]));
  else
    for (int i = 0; i < tile.columns; ++i) to[i] = mean_of<R>(sums[i], count);
}

template <class R>
void store_largest(const Reduce& op, const Tile& tile, const uint64_t* orders, R* to) {
  for (int i = 0; i < tile.columns; ++i) {
    if (has_whole_numbers(op.source))
      to[i] = static_cast<R>(orders[i]);
    else if constexpr (sizeof(R) == 8)
      to[i] = number_of(u64{orders[i]});
    else
      to[i] = number_of(static_cast<u32>(orders[i]));
  }
}

// The same columns with one entry only.
ReduceColumns only(ReduceColumns in, int64_t entry) {
  const bool time_bits = in.dtype == SYNFIRE_DTYPE_TIME_BITS && in.steps;
  const int64_t skipped = (time_bits ? entry / 32 : entry) * in.stride;
  in.data = static_cast<const char*>(in.data) + skipped * static_cast<int64_t>(bytes_of_dtype(in.dtype));
  if (time_bits) in.bit = static_cast<int>(entry % 32);
  in.steps = false;
  in.lengths = nullptr;
  in.count = 1;
  return in;
}

// The bytes of a place: its running sums, if the reduction has any.
uint64_t bytes_of_lanes(const Reduce& op) {
  const bool sums = op.reduction == Reduction::sum || op.reduction == Reduction::mean;
  if (!sums || has_whole_numbers(op.source)) return 0;
  const int64_t count = op.axis == Axis::steps ? op.extents.n_steps : op.extents.batch;
  return static_cast<uint64_t>(host::reduce_lanes(count)) * sizeof(double);
}

template <class R>
void reduce_tile(const Reduce& op, const host::ReduceKernels& kernels, const Tile& tile, double* lanes) {
  const Counting counting = counting_of(op.lengths, op.n_active);
  ReduceColumns in = columns_of(op.source, op.axis, op.extents, counting, tile);
  R* const to = result_at<R>(op.destination, op.axis, op.extents, tile);
  uint64_t whole[tile_width];
  double numbers[tile_width];
  if (op.reduction == Reduction::max || op.reduction == Reduction::last) {
    if (op.reduction == Reduction::last) {
      const int64_t last = last_of(counting, op.axis, op.extents, tile.group);
      if (last < 0)
        in.count = 0;
      else
        in = only(in, last);
    }
    kernels.largest(in, whole, nullptr);
    return store_largest(op, tile, whole, to);
  }
  if (has_whole_numbers(op.source)) {
    kernels.sum_whole(in, whole);
    return store_sums(op, tile, whole, to);
  }
  kernels.sum_numbers(in, numbers, lanes);
  return store_sums(op, tile, numbers, to);
}

// ---- gradients ------------------------------------------------------------------------------------------------------

int64_t bytes_of(const View& view) {
  return static_cast<int64_t>(bytes_of_dtype(view.dtype));
}

// Values that the rows of a group share.
struct Group {
  int64_t number = -1;
  int64_t count = 0, last = -1;
};
void go_to(Group& group, int64_t number, const ReduceBackward& op) {
  if (group.number == number) return;
  const Counting counting = counting_of(op.lengths, op.n_active);
  group.number = number;
  if (op.reduction == Reduction::mean) group.count = count_of(counting, op.axis, op.extents, number);
  if (op.reduction == Reduction::last) group.last = last_of(counting, op.axis, op.extents, number);
}

// Writes the gradients of their results to the neurons of one step and batch row, or nothing.
void spread_row(const ReduceBackward& op, const host::ReduceKernels& kernels, Group& group, int64_t step, int64_t row) {
  const Extents& e = op.extents;
  const Counting counting = counting_of(op.lengths, op.n_active);
  const bool steps = op.axis == Axis::steps;
  go_to(group, steps ? row : step, op);
  char* const to = static_cast<char*>(op.grad_source.data) +
                   (step * op.grad_source.pitch + row * e.n_neurons) * bytes_of(op.grad_source);
  const bool receives = op.reduction == Reduction::last ? (steps ? step : row) == group.last
                                                        : row < counting.rows(e.batch) && counting.counts(step, row);
  if (!receives) {
    if (!op.accumulate) std::memset(to, 0, static_cast<size_t>(e.n_neurons * bytes_of(op.grad_source)));
    return;
  }
  const int64_t pitch = steps ? e.n_neurons : op.grad_destination.pitch;
  kernels.spread(
      {static_cast<const char*>(op.grad_destination.data) + group.number * pitch * bytes_of(op.grad_destination), to,
       op.grad_source.dtype, op.grad_source.dtype == SYNFIRE_DTYPE_F64, op.accumulate, group.count, e.n_neurons});
}

// Writes the gradients of maxima to the entries that won. All others are zero already, or are added to.
void spread_tile(const ReduceBackward& op, const host::ReduceKernels& kernels, const Tile& tile) {
  const Extents& e = op.extents;
  const bool steps = op.axis == Axis::steps;
  const int64_t element = bytes_of(op.grad_source);
  const int64_t stride = steps ? op.grad_source.pitch : e.n_neurons;
  char* const to = static_cast<char*>(op.grad_source.data) +
                   (tile.group * (steps ? e.n_neurons : op.grad_source.pitch) + tile.neuron) * element;
  uint64_t orders[tile_width];
  int64_t winners[tile_width];
  kernels.largest(columns_of(op.source, op.axis, e, counting_of(op.lengths, op.n_active), tile), orders, winners);
  const char* const from =
      static_cast<const char*>(op.grad_destination.data) +
      (tile.group * (steps ? e.n_neurons : op.grad_destination.pitch) + tile.neuron) * bytes_of(op.grad_destination);
  for (int i = 0; i < tile.columns; ++i)
    if (winners[i] >= 0)
      kernels.spread({from + i * bytes_of(op.grad_destination), to + (winners[i] * stride + i) * element,
                      op.grad_source.dtype, op.grad_source.dtype == SYNFIRE_DTYPE_F64, op.accumulate, 0, 1});
}

}  // namespace

bool wants_threads(const Reduce& op) {
  return element_count(op.extents) >= reduce_parallel_threshold;
}
bool wants_threads(const ReduceBackward& op) {
  return element_count(op.extents) >= reduce_parallel_threshold;
}

View host_places_of(const Device& device, const Reduce& op) {
  const uint64_t bytes = bytes_of_lanes(op);
  return bytes > 0 ? places_for(device, Tiles(op.axis, op.extents).count(), wants_threads(op), bytes) : View{};
}

void run(const Reduce& op, Launcher& launcher) {
  const Tiles tiles(op.axis, op.extents);
  const host::ReduceKernels& kernels = SYNFIRE_SELECT_LEVEL(reduce_kernels);
  const uint64_t bytes = bytes_of_lanes(op);
  launcher.for_each_placed_range(tiles.count(), wants_threads(op), [&](int64_t begin, int64_t end, int64_t place) {
    double* const lanes = bytes > 0 ? place_of<double>(op.host_places, place, bytes) : nullptr;
    for (int64_t index = begin; index < end; ++index) {
      if (op.destination.dtype == SYNFIRE_DTYPE_F64)
        reduce_tile<double>(op, kernels, tiles.at(index), lanes);
      else
        reduce_tile<float>(op, kernels, tiles.at(index), lanes);
    }
  });
}

void run(const ReduceBackward& op, Launcher& launcher) {
  const Extents& e = op.extents;
  const host::ReduceKernels& kernels = SYNFIRE_SELECT_LEVEL(reduce_kernels);
  if (op.reduction != Reduction::max)
    return launcher.for_each_range(e.n_steps * e.batch, wants_threads(op), [&](int64_t begin, int64_t end) {
      Group group;
      for (int64_t row = begin; row < end; ++row) spread_row(op, kernels, group, row / e.batch, row % e.batch);
    });
  // Clears whole steps, because writing pieces of rows that are far apart is much slower.
  if (!op.accumulate)
    launcher.for_each_range(e.n_steps, wants_threads(op), [&](int64_t begin, int64_t end) {
      const int64_t element = bytes_of(op.grad_source);
      for (int64_t t = begin; t < end; ++t)
        std::memset(static_cast<char*>(op.grad_source.data) + t * op.grad_source.pitch * element, 0,
                    static_cast<size_t>(e.row() * element));
    });
  const Tiles tiles(op.axis, e);
  launcher.for_each_range(tiles.count(), wants_threads(op), [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) spread_tile(op, kernels, tiles.at(index));
  });
}

}  // namespace synfire::operations
