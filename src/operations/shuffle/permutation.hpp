// The rows of a batch: a permutation of a data set for each epoch, any element of which can be computed on its own. The
// same on every backend. synfire_shuffle_desc documents the numbers; changing them changes everybody's training.
#ifndef SYNFIRE_OPERATIONS_SHUFFLE_PERMUTATION_HPP
#define SYNFIRE_OPERATIONS_SHUFFLE_PERMUTATION_HPP

#include <operations/encode/philox.hpp>

#include <synfire/model/platform.hpp>

#include <cstdint>

namespace synfire::operations {
inline namespace SYNFIRE_MODEL_LEVEL {

// ---- which batch ----------------------------------------------------------------------------------------------------

struct ShuffleRules {
  uint32_t n_rows;     // of the data set
  uint32_t batch;      // rows of a full batch
  uint32_t n_batches;  // of an epoch
  bool in_order;
  // The grid of permuted rows: n_columns is even, and n_columns * n_lines its least multiple that is not below n_rows.
  uint32_t n_columns, n_lines;
  // The rows of each batch that are drawn here, if other ranks have the others.
  uint32_t first_row = 0, most_rows = 0xFFFFFFFFu;
};

struct BatchPlace {
  uint64_t epoch;
  uint32_t first;     // position in the epoch, of the rows that are drawn here
  uint32_t n_active;  // how many there are
};
SYNFIRE_MODEL_FN BatchPlace batch_place(const ShuffleRules& rules, uint64_t offset) {
  const uint64_t epoch = offset / rules.n_batches;
  const uint32_t first = static_cast<uint32_t>(offset - epoch * rules.n_batches) * rules.batch;
  const uint32_t left = rules.n_rows - first, in_batch = left < rules.batch ? left : rules.batch;
  const uint32_t from_here = in_batch > rules.first_row ? in_batch - rules.first_row : 0;
  return {epoch, first + rules.first_row, from_here < rules.most_rows ? from_here : rules.most_rows};
}

// The smallest even number whose square is not less than n_rows, at most 2^16.
SYNFIRE_MODEL_FN uint32_t columns_of(uint32_t n_rows) {
  uint32_t below = 0;  // the largest even number whose square is less
  for (uint32_t bit = 1u << 15; bit >= 2; bit >>= 1)
    if (static_cast<uint64_t>(below + bit) * (below + bit) < n_rows) below += bit;
  return below + 2;
}
SYNFIRE_MODEL_FN uint32_t lines_of(uint32_t n_rows, uint32_t n_columns) {
  return (n_rows - 1) / n_columns + 1;
}

// ---- which row ------------------------------------------------------------------------------------------------------

// A network of J. Black and P. Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002 (the generalised Feistel
// construction): a number is a column and a line of a grid; each round moves one of them by an amount that depends on
// the other, around the end. Numbers that are not rows are permuted again. Sums instead of exclusive ors, and an even
// number of columns, make odd permutations as frequent as even ones. With 32 rounds each of the 8! permutations of 8
// rows has its share to 0.5 %, with 24 to 5 % (exact, for ideal amounts).
inline constexpr int shuffle_rounds = 32;

// Words 4i to 4i + 3 of an epoch's keys, one for each round. The second word of the counter, "shuf", separates them
// from those of an encoding with the same seed.
SYNFIRE_MODEL_FN Words4 shuffle_keys(uint64_t seed, uint64_t epoch, uint32_t i) {
  return philox({{i, 0x66756873u, static_cast<uint32_t>(epoch), static_cast<uint32_t>(epoch >> 32)}}, seed);
}

// An integer below `limit`: lowbias32, a bijection of 32 bits by C. Wellons, whose result is scaled.
SYNFIRE_MODEL_FN uint32_t shuffle_amount(uint32_t other, uint32_t key, uint32_t limit) {
  uint32_t x = other * 0x9E3779B9u + key;
  x = (x ^ x >> 16) * 0x7FEB352Du;
  x = (x ^ x >> 15) * 0x846CA68Bu;
  x ^= x >> 16;
  return static_cast<uint32_t>(static_cast<uint64_t>(x) * limit >> 32);
}

SYNFIRE_MODEL_FN uint32_t moved(uint32_t from, uint32_t amount, uint32_t limit) {
  const uint32_t to = from + amount;  // at most 2^17
  return to >= limit ? to - limit : to;
}

SYNFIRE_MODEL_FN uint32_t shuffled_row(const ShuffleRules& rules, const uint32_t* keys, uint32_t position) {
  do {
    uint32_t line = position / rules.n_columns, column = position - line * rules.n_columns;
    for (int round = 0; round < shuffle_rounds; round += 2) {
      column = moved(column, shuffle_amount(line, keys[round], rules.n_columns), rules.n_columns);
      line = moved(line, shuffle_amount(column, keys[round + 1], rules.n_lines), rules.n_lines);
    }
    position = line * rules.n_columns + column;
  } while (position >= rules.n_rows);
  return position;
}

// Index i of a batch; beyond n_active it is 0, a row that exists.
SYNFIRE_MODEL_FN uint32_t batch_index(const ShuffleRules& rules, const BatchPlace& place, const uint32_t* keys,
                                      uint32_t i) {
  if (i >= place.n_active) return 0;
  return rules.in_order ? place.first + i : shuffled_row(rules, keys, place.first + i);
}

}  // namespace SYNFIRE_MODEL_LEVEL
}  // namespace synfire::operations

#endif
