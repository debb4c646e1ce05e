#include "dense_host_kernels.hpp"

#include "vectors.hpp"

#include <synfire/model/grid.hpp>

namespace synfire::host::SYNFIRE_MODEL_LEVEL {
namespace {

using namespace synfire::model;

// Registers for sums: those that remain beside loaded values.
constexpr int sum_registers = 8;
constexpr int most_ints = sum_registers * ints;
// Columns of a row whose sums are in the first-level cache, and fewer that are summed in registers.
constexpr int row_columns = 1024, most_columns_of_registers = 256;

// Any number if no bit is set.
SYNFIRE_MODEL_FN int32_t trailing_zeros(u64 bits) {
#if defined(__BMI__)
  return static_cast<int32_t>(__builtin_ia32_tzcnt_u64(bits));
#else
  return __builtin_ctzll(bits | u64{1} << 63);
#endif
}

// ---- weights on their grid ------------------------------------------------------------------------------------------

// Magnitudes are ordered as their bits are, and a product with a factor keeps their order.
float largest_weight(const float* weights, float factor, int64_t count) {
  u32 largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    const u32 magnitude = bits_of(weights[i]) & 0x7FFFFFFFu;
    const u32 number = magnitude > 0x7F800000u ? 0u : magnitude;
    largest = largest > number ? largest : number;
  }
  return from_bits(largest) * absolute(factor);
}

void put_weights_on_grid(int32_t* to, const float* weights, float factor, int32_t grid, int32_t dropped,
                         int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = on_grid(weights[i] * factor, grid, dropped);
}

// ---- sums of integers -----------------------------------------------------------------------------------------------

template <int n>
SYNFIRE_MODEL_FN void sum_listed(Ints (&sums)[n], const int32_t* table, int64_t pitch, const int32_t* list, int count) {
  for (int i = 0; i < n; ++i) sums[i] = Ints{};
  for (int at = 0; at < count; ++at) {
    const int32_t* const row = table + list[at] * pitch;
#pragma GCC unroll 8
    for (int i = 0; i < n; ++i) sums[i] += load_ints(row + int64_t{i} * ints);
  }
}

// Eight numbers are written for each pair of words, whatever fires: a loop of unknown length is mispredicted once for
// each pair, which takes longer than the numbers.
int list_spikes(int32_t* list, const uint32_t* words, int n_inputs, int32_t first) {
  static_assert(list_slack == 8);
  int count = 0;
  for (int i = 0; i < n_inputs; i += 64, words += 2, first += 64) {
    const int left = n_inputs - i;
    u64 fired = left > 32 ? words[0] | u64{words[1]} << 32 : words[0];
    if (left < 64) fired &= (u64{1} << left) - 1;
    if (fired == 0) continue;
    const int now = __builtin_popcountll(fired);
    int32_t* to = list + count;
    count += now;
#pragma GCC unroll 8
    for (int k = 0; k < list_slack; ++k, fired &= fired - 1) to[k] = first + trailing_zeros(fired);
    for (to += list_slack; fired != 0; fired &= fired - 1) *to++ = first + trailing_zeros(fired);
  }
  return count;
}

template <int n, bool add>
void sum_rows(int32_t* sums, const int32_t* table, int64_t pitch, const int32_t* list, int width) {
  const int32_t* rows[n];
  for (int r = 0; r < n; ++r) rows[r] = table + list[r] * pitch;
  for (int i = 0; i < width; i += ints) {
    Ints sum = load_ints(rows[0] + i);
#pragma GCC unroll 4
    for (int r = 1; r < n; ++r) sum += load_ints(rows[r] + i);
    store_ints(sums + i, add ? sum + load_ints(sums + i) : sum);
  }
}

// Sums of up to most_addends listed rows. Few columns are summed in registers. Many are summed row by row, because the
// same columns of many long rows are far apart, at distances that can share one set of the first-level cache.
void sum_listed_rows(int32_t* sums, const int32_t* table, int64_t pitch, const int32_t* list, int count, int width) {
  if (width <= most_columns_of_registers || count == 0) {
    const auto sum = [&]<int n>(int i) {
      Ints found[n];
      sum_listed(found, table + i, pitch, list, count);
      for (int64_t k = 0; k < n; ++k) store_ints(sums + i + k * ints, found[k]);
    };
    int i = 0;
    for (; i + most_ints <= width; i += most_ints) sum.template operator()<sum_registers>(i);
    for (; i < width; i += 32) sum.template operator()<32 / ints>(i);
    return;
  }
  const int first = (count - 1) % 4 + 1;
  constexpr auto set = [](int n) {
    return n == 1 ? sum_rows<1, false> : n == 2 ? sum_rows<2, false> : n == 3 ? sum_rows<3, false> : sum_rows<4, false>;
  };
  set(first)(sums, table, pitch, list, width);
  for (int at = first; at < count; at += 4) sum_rows<4, true>(sums, table, pitch, list + at, width);
}

template <class S>
void finish_sums(float* __restrict output, const S* __restrict sums, const int32_t* __restrict bias,
                 const int32_t* __restrict grid, int count) {
  for (int i = 0; i < count; ++i)
    output[i] = static_cast<float>(static_cast<double>(sums[i]) + static_cast<double>(bias[i])) * power_of_two(grid[i]);
}

// The same of 32-bit sums. With the bias they nearly always fit 32 bits, and the grid is hardly ever that of subnormal
// numbers: one bit says whether a number must be done again.
void finish_sums(float* __restrict output, const int32_t* __restrict sums, const int32_t* __restrict bias,
                 const int32_t* __restrict grid, int count) {
  u32 again = 0;
  for (int i = 0; i < count; ++i) {
    const u32 sum = static_cast<u32>(sums[i]), own = static_cast<u32>(bias[i]), both = sum + own,
              above = static_cast<u32>(grid[i]) + 126u;
    again |= ((sum ^ both) & (own ^ both)) | above;
    output[i] = static_cast<float>(static_cast<s32>(both)) * from_bits((above + 1u) << 23);
  }
  if (again >> 31 != 0) finish_sums<int32_t>(output, sums, bias, grid, count);
}

// More rows than a 32-bit sum takes.
[[gnu::noinline]] void multiply_many(float* output, const int32_t* table, int64_t pitch, const int32_t* list,
                                     int n_listed, const int32_t* bias, const int32_t* grid, int count, int width) {
  alignas(64) int32_t sums[row_columns];
  alignas(64) double totals[row_columns];
  for (int i = 0; i < width; ++i) totals[i] = 0;
  for (int at = 0; at < n_listed; at += most_addends) {
    const int now = n_listed - at < most_addends ? n_listed - at : most_addends;
    sum_listed_rows(sums, table, pitch, list + at, now, width);
    for (int i = 0; i < width; ++i) totals[i] += static_cast<double>(sums[i]);
  }
  finish_sums(output, totals, bias, grid, count);
}

void multiply_listed(float* output, const int32_t* table, int64_t pitch, const int32_t* list, int n_listed,
                     const int32_t* bias, const int32_t* grid, int64_t n_outputs) {
  alignas(64) int32_t sums[row_columns];
  for (int64_t at = 0; at < n_outputs; at += row_columns) {
    const int count = static_cast<int>(n_outputs - at < row_columns ? n_outputs - at : row_columns);
    const int width = (count + 31) / 32 * 32;
    if (n_listed > most_addends) {
      multiply_many(output + at, table + at, pitch, list, n_listed, bias + at, grid + at, count, width);
      continue;
    }
    sum_listed_rows(sums, table + at, pitch, list, n_listed, width);
    finish_sums(output + at, sums, bias + at, grid + at, count);
  }
}

template <int n>
void add_listed_columns(double* sums, const int32_t* table, int64_t pitch, const int32_t* list, int count) {
  Ints found[n];
  sum_listed(found, table, pitch, list, count);
  int32_t values[n * ints];
  for (int i = 0; i < n; ++i) store_ints(values + i * ints, found[i]);
  for (int i = 0; i < n * ints; ++i) sums[i] += static_cast<double>(values[i]);
}

void add_listed(double* sums, const int32_t* table, int64_t pitch, const int32_t* list, int count, int width) {
  while (count > 0) {
    const int now = count < most_addends ? count : most_addends;
    int i = 0;
    for (; i + most_ints <= width; i += most_ints)
      add_listed_columns<sum_registers>(sums + i, table + i, pitch, list, now);
    for (; i < width; i += 32) add_listed_columns<32 / ints>(sums + i, table + i, pitch, list, now);
    list += now;
    count -= now;
  }
}

void finish(float* output, const double* sums, const int32_t* bias, const int32_t* grid, int count) {
  finish_sums(output, sums, bias, grid, count);
}

void finish_kept(float* output, const double* sums, const float* bias, const int32_t* grid, float factor, int count) {
  for (int i = 0; i < count; ++i)
    output[i] = from_grid_of_kept(static_cast<float>(sums[i]), power_of_two(grid[i]), factor, bias ? bias[i] : 0.0f);
}

template <int n>
SYNFIRE_MODEL_FN void add_where_columns(int32_t* sums, const int32_t* rows, int64_t pitch, uint32_t bits) {
  Ints now[n];
  for (int i = 0; i < n; ++i) now[i] = load_ints(sums + int64_t{i} * ints);
  for (; bits != 0; bits &= bits - 1) {
    const int32_t* const row = rows + __builtin_ctz(bits) * pitch;
#pragma GCC unroll 8
    for (int i = 0; i < n; ++i) now[i] += load_ints(row + int64_t{i} * ints);
  }
  for (int i = 0; i < n; ++i) store_ints(sums + int64_t{i} * ints, now[i]);
}

void add_where(int32_t* sums, const int32_t* rows, int64_t pitch, uint32_t bits, int width) {
  int i = 0;
  for (; i + most_ints <= width; i += most_ints) add_where_columns<sum_registers>(sums + i, rows + i, pitch, bits);
  for (; i < width; i += 32) add_where_columns<32 / ints>(sums + i, rows + i, pitch, bits);
}

void add_where_wide(int64_t* sums, const int32_t* rows, int64_t pitch, uint32_t bits, int width) {
  for (; bits != 0; bits &= bits - 1) {
    const int32_t* const row = rows + __builtin_ctz(bits) * pitch;
    for (int i = 0; i < width; ++i) sums[i] += row[i];
  }
}

void flush(int64_t* totals, int32_t* sums, int width) {
  for (int i = 0; i < width; ++i) {
    totals[i] += sums[i];
    sums[i] = 0;
  }
}

template <class S>
void scale_sums(float (*to)[sum_tile], const S* sums, int64_t pitch, const double* scales, double factor, int n_rows) {
  for (int k = 0; k < n_rows; ++k)
    for (int i = 0; i < sum_tile; ++i)
      to[k][i] = static_cast<float>(static_cast<double>(sums[k * pitch + i]) * scales[i] * factor);
}

// ---- gradients on their grid ----------------------------------------------------------------------------------------

void largest(uint32_t* found, const float* row, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    const u32 magnitude = bits_of(row[i]) & 0x7FFFFFFFu;
    found[i] = found[i] > magnitude ? found[i] : magnitude;
  }
}

void put_on_grid(int32_t* to, const float* row, const int32_t* grid, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = on_grid(row[i], grid[i]);
}

int64_t largest_product(const float* row, const int32_t* grid, int64_t count) {
  s64 largest = magnitude_of(0.0f, 0);
  for (int64_t i = 0; i < count; ++i) {
    const s64 magnitude = magnitude_of(row[i], grid[i]);
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest;
}

void put_products_on_grid(int32_t* to, const float* row, const int32_t* grid, int32_t row_grid, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = on_grid(row[i], row_grid - grid[i]);
}

// ---- chains ---------------------------------------------------------------------------------------------------------

template <int n, int n_rows, class R>
SYNFIRE_MODEL_FN void chain(R (*sums)[product_tile], int column, const R* const* rows, const R (*coefficients)[64],
                            int length) {
  using V = Numbers<R>;
  V found[n_rows][n];
  for (int r = 0; r < n_rows; ++r)
    for (int i = 0; i < n; ++i) found[r][i] = V::zero();
  for (int l = 0; l < length; ++l) {
    V row[n];
#pragma GCC unroll 8
    for (int i = 0; i < n; ++i) row[i] = V::load(rows[l] + column + int64_t{i} * V::count);
#pragma GCC unroll 4
    for (int r = 0; r < n_rows; ++r) {
      const V coefficient = V::all(coefficients[r][l]);
#pragma GCC unroll 8
      for (int i = 0; i < n; ++i) found[r][i] = found[r][i].plus_product(coefficient, row[i]);
    }
  }
  for (int r = 0; r < n_rows; ++r)
    for (int i = 0; i < n; ++i) {
      R* const to = sums[r] + column + i * V::count;
      V::load(to).plus(found[r][i]).store(to);
    }
}

template <int n_rows, class R>
void chain_columns(R (*sums)[product_tile], const R* const* rows, const R (*coefficients)[64], int length, int width) {
  using V = Numbers<R>;
  // Sums in four times as many registers as there are columns' vectors: 16 of 32, or 8 of 16.
  constexpr int wide = n_registers / 8, step = wide * V::count;
  int column = 0;
  for (; column + step <= width; column += step) chain<wide, n_rows>(sums, column, rows, coefficients, length);
  for (; column < width; column += V::count) chain<1, n_rows>(sums, column, rows, coefficients, length);
}

template <class R>
void add_chain(R (*sums)[product_tile], const R* const* rows, const R (*coefficients)[64], int length, int n_rows,
               int width) {
  switch (n_rows) {
    case 1:
      return chain_columns<1>(sums, rows, coefficients, length, width);
    case 2:
      return chain_columns<2>(sums, rows, coefficients, length, width);
    case 3:
      return chain_columns<3>(sums, rows, coefficients, length, width);
    default:
      return chain_columns<chain_rows>(sums, rows, coefficients, length, width);
  }
}

template <class R>
void add_block(double* blocks, R* sums, int width) {
  for (int i = 0; i < width; ++i) {
    blocks[i] += static_cast<double>(sums[i]);
    sums[i] = R(0);
  }
}

// ---- exact products -------------------------------------------------------------------------------------------------

template <int n, int n_rows>
SYNFIRE_MODEL_FN void products(int64_t (*sums)[product_tile], int column, const int32_t* const* rows,
                               const double (*coefficients)[most_products], int length) {
  using V = Numbers<double>;
  V found[n_rows][n];
  for (int r = 0; r < n_rows; ++r)
    for (int i = 0; i < n; ++i) found[r][i] = V::zero();
  for (int l = 0; l < length; ++l) {
    V row[n];
#pragma GCC unroll 8
    for (int i = 0; i < n; ++i) row[i] = V::of_ints(rows[l] + column + int64_t{i} * V::count);
#pragma GCC unroll 4
    for (int r = 0; r < n_rows; ++r) {
      const V coefficient = V::all(coefficients[r][l]);
#pragma GCC unroll 8
      for (int i = 0; i < n; ++i) found[r][i] = plus_exact_product(found[r][i], coefficient, row[i]);
    }
  }
  for (int r = 0; r < n_rows; ++r) {
    double values[n * V::count];
    for (int i = 0; i < n; ++i) found[r][i].store(values + i * V::count);
    for (int i = 0; i < n * V::count; ++i) sums[r][column + i] += static_cast<int64_t>(values[i]);
  }
}

template <int n_rows>
void products_of_rows(int64_t (*sums)[product_tile], const int32_t* const* rows,
                      const double (*coefficients)[most_products], int length, int width) {
  using V = Numbers<double>;
  constexpr int wide = n_registers / 8, step = wide * V::count;
  int column = 0;
  for (; column + step <= width; column += step) products<wide, n_rows>(sums, column, rows, coefficients, length);
  for (; column < width; column += V::count) products<1, n_rows>(sums, column, rows, coefficients, length);
}

void add_products(int64_t (*sums)[product_tile], const int32_t* const* rows,
                  const double (*coefficients)[most_products], int length, int n_rows, int width) {
  switch (n_rows) {
    case 1:
      return products_of_rows<1>(sums, rows, coefficients, length, width);
    case 2:
      return products_of_rows<2>(sums, rows, coefficients, length, width);
    case 3:
      return products_of_rows<3>(sums, rows, coefficients, length, width);
    default:
      return products_of_rows<chain_rows>(sums, rows, coefficients, length, width);
  }
}

// ---- exact products in two parts ------------------------------------------------------------------------------------

template <int n, int n_rows>
SYNFIRE_MODEL_FN void split_products(double (*high)[product_tile], double (*low)[product_tile], int column,
                                     const int32_t* const* rows, const double (*of_high)[split_length],
                                     const double (*of_low)[split_length], int length) {
  using V = Numbers<double>;
  V found[2][n_rows][n];
  for (int r = 0; r < n_rows; ++r)
    for (int i = 0; i < n; ++i) {
      found[0][r][i] = V::load(high[r] + column + int64_t{i} * V::count);
      found[1][r][i] = V::load(low[r] + column + int64_t{i} * V::count);
    }
  for (int l = 0; l < length; ++l) {
    V row[n];
#pragma GCC unroll 8
    for (int i = 0; i < n; ++i) row[i] = V::of_ints(rows[l] + column + int64_t{i} * V::count);
#pragma GCC unroll 4
    for (int r = 0; r < n_rows; ++r) {
      const V upper = V::all(of_high[r][l]), lower = V::all(of_low[r][l]);
#pragma GCC unroll 8
      for (int i = 0; i < n; ++i) {
        found[0][r][i] = plus_exact_product(found[0][r][i], upper, row[i]);
        found[1][r][i] = plus_exact_product(found[1][r][i], lower, row[i]);
      }
    }
  }
  for (int r = 0; r < n_rows; ++r)
    for (int i = 0; i < n; ++i) {
      found[0][r][i].store(high[r] + column + int64_t{i} * V::count);
      found[1][r][i].store(low[r] + column + int64_t{i} * V::count);
    }
}

template <int n_rows>
void split_products_of_rows(double (*high)[product_tile], double (*low)[product_tile], const int32_t* const* rows,
                            const double (*of_high)[split_length], const double (*of_low)[split_length], int length,
                            int width) {
  // 16 of 32 registers have sums, or 8 of 16.
  constexpr int n = n_registers / 16, step = n * Numbers<double>::count;
  static_assert(32 % step == 0);
  for (int column = 0; column < width; column += step)
    split_products<n, n_rows>(high, low, column, rows, of_high, of_low, length);
}

void add_split_products(double (*high)[product_tile], double (*low)[product_tile], const int32_t* const* rows,
                        const double (*of_high)[split_length], const double (*of_low)[split_length], int length,
                        int n_rows, int width) {
  switch (n_rows) {
    case 1:
      return split_products_of_rows<1>(high, low, rows, of_high, of_low, length, width);
    case 2:
      return split_products_of_rows<2>(high, low, rows, of_high, of_low, length, width);
    case 3:
      return split_products_of_rows<3>(high, low, rows, of_high, of_low, length, width);
    default:
      return split_products_of_rows<chain_rows>(high, low, rows, of_high, of_low, length, width);
  }
}

template <class R>
constexpr ChainKernels<R> chain_kernels = {add_chain<R>, add_block<R>};

}  // namespace

extern const SynapseKernels synapse_kernels = {largest_weight,
                                               put_weights_on_grid,
                                               list_spikes,
                                               multiply_listed,
                                               add_listed,
                                               finish,
                                               finish_kept,
                                               add_where,
                                               add_where_wide,
                                               flush,
                                               scale_sums<int64_t>,
                                               scale_sums<int32_t>,
                                               largest,
                                               put_on_grid,
                                               largest_product,
                                               put_products_on_grid,
                                               add_products,
                                               add_split_products,
                                               chain_kernels<float>,
                                               chain_kernels<double>};

}  // namespace synfire::host::SYNFIRE_MODEL_LEVEL
