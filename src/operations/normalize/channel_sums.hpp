// The sums of a normalisation for each channel of maps: in f32 sums of integers, on the grids of the channel's largest
// numbers, which have no order; in f64 sums of numbers in the order of steps, batch rows and places. For host code,
// kernels and their twins.
#ifndef SYNFIRE_OPERATIONS_NORMALIZE_CHANNEL_SUMS_HPP
#define SYNFIRE_OPERATIONS_NORMALIZE_CHANNEL_SUMS_HPP

#include "wide_integer.hpp"

#include <operations/images.hpp>
#include <operations/reduce/counting.hpp>

namespace synfire::operations {

// Maps of `places` pixels of `channels` each, the channels fastest.
struct ChannelShape {
  int64_t n_steps = 1, batch = 1, places = 1, channels = 1;

  SYNFIRE_MODEL_FN int64_t image() const { return places * channels; }
};

// The elements of a channel that count.
SYNFIRE_MODEL_FN int64_t n_counted(const ChannelShape& shape, const Counting& counting) {
  const int64_t rows = counting.rows(shape.batch);
  if (!counting.lengths) return rows * shape.n_steps * shape.places;
  int64_t n = 0;
  for (int64_t b = 0; b < rows; ++b) n += counting.steps(shape.n_steps, b);
  return n * shape.places;
}

// The smallest power of two 2^p, p at least -149, for which the magnitude is at most 2^30 * 2^p.
SYNFIRE_MODEL_FN s32 grid_of_values(u32 magnitude) {
  if (!model::is_finite_magnitude(magnitude)) return model::grid_of_zeros;
  const s32 above = static_cast<s32>(magnitude >> 23) - 157 + ((magnitude & 0x7FFFFFu) != 0 ? 1 : 0);
  return above < model::finest_grid ? model::finest_grid : above;
}

// Sums of `first` and of its products with `second`, both on grids: of y and its squares, or of dL/dX, y and the
// products of both.
struct IntegerSums {
  ChannelShape shape;
  Counting counting;
  Images first, second;  // f32; of squares both are y; without `second` there are no products
  bool squares;          // the grid of `first` is that of values
  const u64* saved;      // [4, C], of a training: the last row has the grid of `second`
  u32* largest[2];       // [C] of first and second: magnitudes as bits
  int64_t* totals;       // [C]
  int64_t *high, *low;   // [C]: the products v as floor(v / 2^32) and v mod 2^32
  const int64_t* n_all;  // how many elements count on all ranks together; null: one rank has them all

  SYNFIRE_MODEL_FN int64_t n() const { return n_all ? *n_all : n_counted(shape, counting); }
  SYNFIRE_MODEL_FN bool finds_second() const { return second.data && !squares && !saved; }
  SYNFIRE_MODEL_FN s32 first_grid(u32 magnitude) const {
    const u32 most = model::largest_on_grid_32;
    return squares ? grid_of_values(magnitude) : model::grid_of_sum(magnitude, most);
  }
  // `magnitude` is the largest of second where finds_second() is true, and that of first for squares.
  SYNFIRE_MODEL_FN s32 second_grid(u32 magnitude, int64_t channel) const {
    return saved ? static_cast<s32>(static_cast<u32>(saved[3 * shape.channels + channel])) : grid_of_values(magnitude);
  }
};
// v as two parts.
SYNFIRE_MODEL_FN int64_t high_of_product(int64_t v) {
  return v >> 32;
}
SYNFIRE_MODEL_FN int64_t low_of_product(int64_t v) {
  return v & 0xFFFFFFFFll;
}

// In f64: the sum of `first`, and that of the squares of first - mean, or of first * (second - mean).
struct OrderedSums {
  ChannelShape shape;
  Counting counting;
  Images first, second;  // without `second`: squares, or with `saved` no products
  const u64* saved;      // [4, C] of a backward: the first row has the means
  double* totals;        // [C]
  double* products;      // [C]

  SYNFIRE_MODEL_FN int64_t n() const { return n_counted(shape, counting); }
};

}  // namespace synfire::operations

#endif
