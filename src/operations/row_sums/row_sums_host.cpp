#include "row_sums.hpp"

#include <backends/host/atomic_merge.hpp>
#include <backends/host/host_launcher.hpp>

#include <synfire/model/grid.hpp>

#include <algorithm>

namespace synfire::operations {
namespace {

constexpr int row_tile = 256;
constexpr int64_t rows_of_item = 32;

uint32_t largest_of(const RowSums& sums, int64_t entry) {
  uint32_t largest = 0;
  for (int64_t slot = 0; slot < sums.shape.n_slots(); ++slot)
    largest = std::max(largest, sums.largest[slot * sums.shape.n_entries + entry]);
  return largest;
}

// Finds a maximum or a sum for each entry: makes an `Add` for the entries of up to row_tile columns, calls its
// add(found[], contributions, count) for the rows, and joins what threads found. Column c has entry c mod n_entries.
template <class Add, class E, class V>
void reduce_rows(const RowSums& sums, V* to, bool share, const host::Launcher& launcher) {
  const RowSumShape& shape = sums.shape;
  const int64_t n_entries = shape.n_entries, n_elements = sums.n_elements();
  // Columns of several rows side by side if there are few entries.
  const int64_t width = n_entries >= row_tile ? n_entries : n_entries * (row_tile / n_entries);
  const int64_t n_rows = (n_elements + width - 1) / width, n_tiles = (width + row_tile - 1) / row_tile;
  std::fill_n(to, shape.array_length(), V(0));  // one slot suffices
  const auto* const all = static_cast<const E*>(sums.contributions);
  const auto run_items = [&](int64_t begin, int64_t end) {
    for (int64_t item = begin; item < end; ++item) {
      const int64_t column = item % n_tiles * row_tile, first = item / n_tiles * rows_of_item,
                    last = std::min(first + rows_of_item, n_rows);
      const auto n_columns = static_cast<int>(std::min<int64_t>(row_tile, width - column));
      const Add adder(sums, column, n_columns);
      V found[row_tile] = {};
      for (int64_t row = first; row < last; ++row) {
        const int64_t at = row * width + column;
        adder.add(found, all + at, static_cast<int>(std::clamp<int64_t>(n_elements - at, 0, n_columns)));
      }
      for (int i = 0; i < n_columns; ++i) host::merge(to[(column + i) % n_entries], found[i]);
    }
  };
  launcher.for_each_range((n_rows + rows_of_item - 1) / rows_of_item * n_tiles, share, run_items);
}

template <class E>
struct Maxima {
  Maxima(const RowSums&, int64_t, int) {}
  void add(uint32_t* found, const E* row, int count) const {
    for (int i = 0; i < count; ++i)
      found[i] = std::max<uint32_t>(found[i], model::magnitude_bits(static_cast<float>(row[i])));
  }
};
template <class E>
struct Totals {
  int32_t grid[row_tile];

  Totals(const RowSums& sums, int64_t column, int n_columns) {
    const int64_t n_entries = sums.shape.n_entries;
    for (int i = 0; i < n_columns; ++i)
      grid[i] = i < n_entries
                    ? model::grid_of_sum(largest_of(sums, (column + i) % n_entries), model::largest_on_grid_32)
                    : grid[i - n_entries];
  }
  void add(int64_t* found, const E* row, int count) const {
    for (int i = 0; i < count; ++i) found[i] += model::on_grid(static_cast<float>(row[i]), grid[i]);
  }
};

template <class E>
void run_entries(const RowSums& sums, SumEntry entry, bool share, const host::Launcher& launcher) {
  const int64_t n_entries = sums.shape.n_entries;
  if (does(entry, SumEntry::maxima)) reduce_rows<Maxima<E>, E>(sums, sums.largest, share, launcher);
  if (does(entry, SumEntry::sums)) reduce_rows<Totals<E>, E>(sums, sums.totals, share, launcher);
  if (!does(entry, SumEntry::finish)) return;
  for (int64_t at = 0; at < n_entries; ++at) {
    int64_t total = 0;
    for (int64_t slot = 0; slot < sums.shape.n_slots(); ++slot) total += sums.totals[slot * n_entries + at];
    const double sum = model::from_sum(total, largest_of(sums, at));
    float& to = sums.output[at];
    to = !sums.add          ? static_cast<float>(sum)
         : sums.adds_in_f64 ? static_cast<float>(static_cast<double>(to) + sum)
                            : to + static_cast<float>(sum);
  }
}

}  // namespace

void run_row_sums(const RowSums& sums, SumEntry entry, bool share, host::Launcher& launcher) {
  if (sums.wide)
    run_entries<double>(sums, entry, share, launcher);
  else
    run_entries<float>(sums, entry, share, launcher);
}

}  // namespace synfire::operations
