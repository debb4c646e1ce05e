#include "normalize_host_kernels.hpp"

#include <synfire/model/grid.hpp>

namespace synfire::host::SYNFIRE_MODEL_LEVEL {
namespace {

template <class R>
void apply(R* to, const R* y, const R* factor, const R* addend, int count) {
  for (int i = 0; i < count; ++i) to[i] = model::fma(y[i], factor[i], addend[i]);
}

template <class R>
void apply_gradient(R* to, const R* gradient, const R* y, const R* factor, const R* of_source, const R* constant,
                    bool add, int count) {
  if (!y) {
    for (int i = 0; i < count; ++i) {
      const R found = factor[i] * gradient[i];
      to[i] = add ? to[i] + found : found;
    }
    return;
  }
  for (int i = 0; i < count; ++i) {
    const R found = model::fma(factor[i], gradient[i], model::fma(of_source[i], y[i], constant[i]));
    to[i] = add ? to[i] + found : found;
  }
}

void find_largest(uint32_t* largest, const float* values, int count) {
  for (int i = 0; i < count; ++i) {
    const uint32_t magnitude = model::magnitude_bits(values[i]);
    largest[i] = magnitude > largest[i] ? magnitude : largest[i];
  }
}

void add_integers(int64_t* totals, int64_t* high, int64_t* low, const float* first, const int32_t* first_grid,
                  const float* second, const int32_t* second_grid, int count) {
  if (!second) {
    for (int i = 0; i < count; ++i) totals[i] += model::on_grid(first[i], first_grid[i]);
    return;
  }
  for (int i = 0; i < count; ++i) {
    const int64_t a = model::on_grid(first[i], first_grid[i]);
    const int64_t product = a * model::on_grid(second[i], second_grid[i]);
    totals[i] += a;
    high[i] += product >> 32;
    low[i] += product & 0xFFFFFFFF;
  }
}

void add(double* sums, const double* values, int count) {
  for (int i = 0; i < count; ++i) sums[i] = sums[i] + values[i];
}

void add_squares(double* sums, const double* values, const double* means, int count) {
  for (int i = 0; i < count; ++i) {
    const double apart = values[i] - means[i];
    sums[i] = model::fma(apart, apart, sums[i]);
  }
}

void add_products(double* sums, const double* first, const double* second, const double* means, int count) {
  for (int i = 0; i < count; ++i) sums[i] = model::fma(first[i], second[i] - means[i], sums[i]);
}

template <class R>
constexpr NormalizeLoops<R> loops = {apply<R>, apply_gradient<R>};

}  // namespace

extern const NormalizeKernels normalize_kernels = {loops<float>, loops<double>, find_largest, add_integers,
                                                   add,          add_squares,   add_products};

}  // namespace synfire::host::SYNFIRE_MODEL_LEVEL
