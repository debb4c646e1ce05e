// Sums of integers over rows of contributions, in f32: a row [N] has one number for each element, and the elements that
// share an entry are added up over all rows on the grid of their largest, with 32 bits (model/grid.hpp). Gradients of
// neurons' parameters and of one-to-one synapses are such sums.
#ifndef SYNFIRE_OPERATIONS_ROW_SUMS_ROW_SUMS_HPP
#define SYNFIRE_OPERATIONS_ROW_SUMS_ROW_SUMS_HPP

#include <operations/sum_entry.hpp>

#include <synfire/model/platform.hpp>

#include <algorithm>
#include <span>

namespace synfire::operations {

// Sums of this many numbers on 32 bits do not overflow 64.
inline constexpr int64_t most_row_sum_terms = (int64_t{1} << 32) - 1;

// Maxima and sums of an entry are in slots, so that many blocks of a GPU can find them without atomics; how many
// depends on the number of entries alone, so that the arrays of all parts of the rows have one shape. Neighbouring
// elements are neighbouring lanes of a warp: those of a period, a multiple of the entries.
struct RowSumShape {
  int64_t n_rows, row_length, n_entries;  // element i of a row has entry i mod n_entries

  SYNFIRE_MODEL_FN int64_t period() const { return n_entries >= 32 ? n_entries : n_entries * (32 / n_entries); }
  SYNFIRE_MODEL_FN int64_t n_tiles() const { return (period() + 31) / 32; }
  SYNFIRE_MODEL_FN int64_t n_slots() const { return n_tiles() >= 64 ? 1 : 64 / n_tiles(); }
  SYNFIRE_MODEL_FN int64_t array_length() const { return n_slots() * n_entries; }
};

struct RowSums {
  RowSumShape shape;
  const uint32_t* n_active;     // how many rows count, from the first on; null: all
  const int64_t* layer_active;  // how many elements of all rows count; null: all
  const void* contributions;    // [n_rows, row_length]: f32, or f64 (`wide`) that are rounded to it
  bool wide;
  uint32_t* largest;    // [n_slots, n_entries]: magnitudes as bits
  int64_t* totals;      // [n_slots, n_entries]
  uint32_t* n_arrived;  // [n_tiles], on a GPU with SumEntry::all
  float* output;        // [n_entries]
  bool add;             // to what the output holds
  bool adds_in_f64;     // before the sum is rounded

  SYNFIRE_MODEL_FN int64_t n_elements() const {
    const int64_t rows = n_active && *n_active < shape.n_rows ? *n_active : shape.n_rows;
    const int64_t elements = rows * shape.row_length;
    return layer_active && *layer_active < elements ? *layer_active : elements;
  }
};

// The arrays in one piece of memory: `totals`, `largest` and `n_arrived`.
inline uint64_t row_sum_bytes(const RowSumShape& shape) {
  const auto bytes = static_cast<uint64_t>(shape.array_length()) * (sizeof(int64_t) + sizeof(uint32_t)) +
                     static_cast<uint64_t>(shape.n_tiles()) * sizeof(uint32_t);
  return (bytes + 7) / 8 * 8;
}
// The most that they take with any number of entries that divides the length of a row.
inline uint64_t most_row_sum_bytes(int64_t row_length) {
  const auto entries = static_cast<uint64_t>(std::max(row_length, std::min(int64_t{64} * 32, 64 * row_length))),
             tiles = static_cast<uint64_t>((row_length + 31) / 32);
  return (entries * (sizeof(int64_t) + sizeof(uint32_t)) + tiles * sizeof(uint32_t) + 7) / 8 * 8;
}
inline void place_row_sums(RowSums& sums, void* memory) {
  sums.totals = static_cast<int64_t*>(memory);
  sums.largest = reinterpret_cast<uint32_t*>(sums.totals + sums.shape.array_length());
  sums.n_arrived = sums.largest + sums.shape.array_length();
}

void run_row_sums(const RowSums& sums, SumEntry entry, bool share, host::Launcher& launcher);
// Up to most_row_sums of one shape, which share their launches.
inline constexpr int most_row_sums = 2;
void enqueue_row_sums(std::span<const RowSums> sums, SumEntry entry, cuda::Launcher& launcher);

}  // namespace synfire::operations

#endif
