// The inner loops of synapses, compiled once for each instruction level. Lengths of rows are multiples of 32, because
// the derived arrays are padded, unless a count is given.
#ifndef SYNFIRE_SYNAPSES_DENSE_DENSE_HOST_KERNELS_HPP
#define SYNFIRE_SYNAPSES_DENSE_DENSE_HOST_KERNELS_HPP

#include <backends/host/level.hpp>

#include <cstdint>

namespace synfire::host {

inline constexpr int product_tile = 128;
// A 32-bit sum of this many numbers on a 24-bit grid does not overflow: 256 * 0x7F7F7F < 2^31.
inline constexpr int most_addends = 256;
// The sum of this many products of numbers on 24-bit grids is exact in f64: 128 * 0x7F7F7F^2 < 2^53.
inline constexpr int most_products = 128;
inline constexpr int chain_rows = 4;
inline constexpr int split_length = 64;
inline constexpr int sum_tile = 32;
inline constexpr int list_slack = 8;

template <class R>
struct ChainKernels {
  // One chain for up to four rows r and `width` columns i: sums[r][i] += the sum over l < length of coefficients[r][l]
  // * rows[l][i], from +0 by fused multiply-adds.
  void (*add_chain)(R (*sums)[product_tile], const R* const* rows, const R (*coefficients)[64], int length, int n_rows,
                    int width);
  // blocks[i] += sums[i], in f64; then the sums are +0.
  void (*add_block)(double* blocks, R* sums, int width);
};

struct SynapseKernels {
  // The largest magnitude of weights[i] * factor; NaN is none.
  float (*largest_weight)(const float* weights, float factor, int64_t count);
  // on_grid[i] = weights[i] * factor / 2^grid, rounded, without the lower `dropped` bits.
  void (*put_weights_on_grid)(int32_t* on_grid, const float* weights, float factor, int32_t grid, int32_t dropped,
                              int64_t count);
  // Lists first + i for every set bit i of the words, and returns their number. The list has room for `list_slack`
  // more.
  int (*list_spikes)(int32_t* list, const uint32_t* words, int n_words, int32_t first);
  // output[i] = (bias[i] + the sum over the listed rows of table[row * pitch + i]) * 2^grid[i], exactly, for `count`
  // outputs.
  void (*multiply_listed)(float* output, const int32_t* table, int64_t pitch, const int32_t* list, int n_listed,
                          const int32_t* bias, const int32_t* grid, int64_t count);
  // sums[i] += the sum over the listed rows of table[row * pitch + i], exactly.
  void (*add_listed)(double* sums, const int32_t* table, int64_t pitch, const int32_t* list, int count, int width);
  // output[i] = (sums[i] + bias[i]) * 2^grid[i], for `count` outputs.
  void (*finish)(float* output, const double* sums, const int32_t* bias, const int32_t* grid, int count);
  // With dropout: output[i] = (sums[i] * factor) * 2^grid[i] + bias[i], as from_grid_of_kept() does; bias may be null.
  void (*finish_kept)(float* output, const double* sums, const float* bias, const int32_t* grid, float factor,
                      int count);
  // sums[i] += the sum over the set bits t of rows[t * pitch + i].
  void (*add_where)(int32_t* sums, const int32_t* rows, int64_t pitch, uint32_t bits, int width);
  void (*add_where_wide)(int64_t* sums, const int32_t* rows, int64_t pitch, uint32_t bits, int width);
  // totals[i] += sums[i]; then the sums are 0.
  void (*flush)(int64_t* totals, int32_t* sums, int width);
  // to[k][i] = sums[k * pitch + i] * scales[i] * factor, rounded once, for sum_tile columns i and n_rows rows k.
  void (*scale_sums)(float (*to)[sum_tile], const int64_t* sums, int64_t pitch, const double* scales, double factor,
                     int n_rows);
  void (*scale_few)(float (*to)[sum_tile], const int32_t* sums, int64_t pitch, const double* scales, double factor,
                    int n_rows);
  // The largest magnitudes, as bits: largest[i] = max(largest[i], |row[i]|).
  void (*largest)(uint32_t* largest, const float* row, int64_t count);
  // on_grid[i] = row[i] / 2^grid[i], rounded; bits is 24 or 32.
  void (*put_on_grid)(int32_t* on_grid, const float* row, const int32_t* grid, int64_t count);
  // The largest of the magnitudes (model::magnitude_of) of row[i] * 2^grid[i], and those numbers on the row's grid.
  int64_t (*largest_product)(const float* row, const int32_t* grid, int64_t count);
  void (*put_products_on_grid)(int32_t* on_grid, const float* row, const int32_t* grid, int32_t row_grid,
                               int64_t count);
  // For up to four rows r and `width` columns i: sums[r][i] += the sum over l < length <= 128 of
  // coefficients[r][l] * rows[l][i], integers of 24 bits, exactly.
  void (*add_products)(int64_t (*sums)[product_tile], const int32_t* const* rows,
                       const double (*coefficients)[most_products], int length, int n_rows, int width);
  // The same of coefficients in two parts, without conversion to integers: high[r][i] += the sum over l < length <=
  // split_length of of_high[r][l] * rows[l][i], and low[r][i] likewise. The sums must be exact in f64.
  void (*add_split_products)(double (*high)[product_tile], double (*low)[product_tile], const int32_t* const* rows,
                             const double (*of_high)[split_length], const double (*of_low)[split_length], int length,
                             int n_rows, int width);
  ChainKernels<float> chain_f32;
  ChainKernels<double> chain_f64;
};

SYNFIRE_LEVEL_TABLES(SynapseKernels, synapse_kernels)

}  // namespace synfire::host

#endif
