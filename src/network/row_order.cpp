#include "row_order.hpp"

#include <operations/shuffle/permutation.hpp>

#include <algorithm>

namespace synfire::network {

using operations::ShuffleRules;
using operations::Words4;

namespace {

constexpr int n_keys = operations::shuffle_rounds;
// "shuf", as of rows in memory, and "blck".
constexpr uint32_t of_rows = 0x66756873, of_blocks = 0x6B636C62;

void read_keys(uint64_t seed, uint64_t epoch, uint32_t what, uint32_t first, uint32_t* keys) {
  for (uint32_t i = 0; i < n_keys / 4; ++i) {
    const Words4 four =
        operations::philox({{first + i, what, static_cast<uint32_t>(epoch), static_cast<uint32_t>(epoch >> 32)}}, seed);
    std::copy_n(four.word, 4, keys + size_t{4} * i);
  }
}

ShuffleRules rules_of(uint32_t n) {
  const uint32_t n_columns = operations::columns_of(n);
  return {n, 1, n, false, n_columns, operations::lines_of(n, n_columns)};
}

// The place of a row: the inverse of operations::shuffled_row().
uint32_t place_of_row(const ShuffleRules& rules, const uint32_t* keys, uint32_t row) {
  const auto moved_back = [](uint32_t from, uint32_t amount, uint32_t limit) {
    return from >= amount ? from - amount : from + limit - amount;
  };
  do {
    uint32_t line = row / rules.n_columns, column = row - line * rules.n_columns;
    for (int round = n_keys - 2; round >= 0; round -= 2) {
      line = moved_back(line, operations::shuffle_amount(column, keys[round + 1], rules.n_lines), rules.n_lines);
      column = moved_back(column, operations::shuffle_amount(line, keys[round], rules.n_columns), rules.n_columns);
    }
    row = line * rules.n_columns + column;
  } while (row >= rules.n_rows);
  return row;
}

uint32_t quotient_up(uint64_t a, uint64_t b) {
  return static_cast<uint32_t>((a + b - 1) / b);
}

}  // namespace

RowOrder::RowOrder(uint64_t n_rows, uint64_t block_rows, uint64_t window_blocks, bool in_order) noexcept
    : n_rows_(n_rows),
      block_rows_(static_cast<uint32_t>(std::min(block_rows, n_rows))),
      window_blocks_(static_cast<uint32_t>(std::min<uint64_t>(window_blocks, quotient_up(n_rows, block_rows_)))),
      n_blocks_(quotient_up(n_rows, block_rows_)),
      n_windows_(quotient_up(n_blocks_, window_blocks_)),
      in_order_(in_order) {}

RowBlocks RowOrder::blocks() const noexcept {
  return n_windows_ == 1 ? RowBlocks{} : RowBlocks{block_rows_, window_blocks_};
}

uint32_t RowOrder::rows_of_block(uint32_t block) const noexcept {
  return static_cast<uint32_t>(std::min<uint64_t>(block_rows_, n_rows_ - uint64_t{block} * block_rows_));
}

uint32_t RowOrder::blocks_of_window(uint32_t window) const noexcept {
  return std::min(window_blocks_, n_blocks_ - window * window_blocks_);
}

uint32_t RowOrder::block_at(uint64_t seed, uint64_t epoch, uint32_t place) const noexcept {
  if (in_order_ || n_windows_ == 1) return place;
  uint32_t keys[n_keys];
  read_keys(seed, epoch, of_blocks, 0, keys);
  return operations::shuffled_row(rules_of(n_blocks_), keys, place);
}

uint32_t RowOrder::place_of_last_block(uint64_t seed, uint64_t epoch) const noexcept {
  if (in_order_ || n_windows_ == 1) return n_blocks_ - 1;
  uint32_t keys[n_keys];
  read_keys(seed, epoch, of_blocks, 0, keys);
  return place_of_row(rules_of(n_blocks_), keys, n_blocks_ - 1);
}

// Only the last block of the data set may have fewer rows.
uint64_t RowOrder::first_row_of(uint32_t window, uint32_t place_of_last) const noexcept {
  const uint64_t first_place = uint64_t{window} * window_blocks_;
  const uint32_t missing = place_of_last < first_place ? block_rows_ - rows_of_block(n_blocks_ - 1) : 0;
  return first_place * block_rows_ - missing;
}

uint32_t RowOrder::window_at(uint64_t seed, uint64_t epoch, uint64_t row) const noexcept {
  const uint32_t last = place_of_last_block(seed, epoch);
  const auto window = static_cast<uint32_t>(row / window_rows());
  return window + 1 < n_windows_ && first_row_of(window + 1, last) <= row ? window + 1 : window;
}

RowWindow RowOrder::window(uint64_t seed, uint64_t epoch, uint32_t number) const noexcept {
  const uint32_t first_place = number * window_blocks_, n = blocks_of_window(number),
                 last = place_of_last_block(seed, epoch);
  const bool has_last = last >= first_place && last - first_place < n;
  const uint32_t n_full = has_last ? n - 1 : n, n_rows = n_full * block_rows_;
  return {first_row_of(number, last), has_last ? n_rows + rows_of_block(n_blocks_ - 1) : n_rows,
          has_last ? last - first_place : n};
}

// ---- rows of a window -----------------------------------------------------------------------------------------------

RowOrder::Rows::Rows(const RowOrder& order, uint64_t seed, uint64_t epoch, uint32_t window,
                     const RowWindow& its) noexcept
    : order_(order), n_rows_(its.n_rows) {
  const ShuffleRules rules = rules_of(n_rows_);
  n_columns_ = rules.n_columns;
  n_lines_ = rules.n_lines;
  short_block_ = its.short_block;
  short_rows_ = order.rows_of_block(order.n_blocks_ - 1);
  read_keys(seed, epoch, of_rows, (n_keys / 4) * window, keys_);
}

RowOrder::Rows::Place RowOrder::Rows::at(uint32_t place) const noexcept {
  const ShuffleRules rules = {n_rows_, 1, n_rows_, false, n_columns_, n_lines_};
  const uint32_t row = order_.in_order_ ? place : operations::shuffled_row(rules, keys_, place);
  const uint64_t size = order_.block_rows_, before_short = short_block_ * size;
  if (row < before_short) return {static_cast<uint32_t>(row / size), static_cast<uint32_t>(row % size)};
  const uint64_t from_short = row - before_short;
  if (from_short < short_rows_) return {short_block_, static_cast<uint32_t>(from_short)};
  const uint64_t behind = from_short - short_rows_;
  return {static_cast<uint32_t>(short_block_ + 1 + behind / size), static_cast<uint32_t>(behind % size)};
}

uint32_t RowOrder::Rows::place_of(const Place& row) const noexcept {
  const uint32_t size = order_.block_rows_, missing = row.block > short_block_ ? size - short_rows_ : 0,
                 in_window = row.block * size + row.row - missing;
  return order_.in_order_ ? in_window
                          : place_of_row({n_rows_, 1, n_rows_, false, n_columns_, n_lines_}, keys_, in_window);
}

}  // namespace synfire::network
