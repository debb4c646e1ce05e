// The inner loops of normalisations, compiled once for each instruction level. All arrays have `count` entries, one for
// each of neighbouring elements.
#ifndef SYNFIRE_OPERATIONS_NORMALIZE_NORMALIZE_HOST_KERNELS_HPP
#define SYNFIRE_OPERATIONS_NORMALIZE_NORMALIZE_HOST_KERNELS_HPP

#include <backends/host/level.hpp>

#include <cstdint>

namespace synfire::host {

// R is float or double.
template <class R>
struct NormalizeLoops {
  // to = y * factor + addend
  void (*apply)(R* to, const R* y, const R* factor, const R* addend, int count);
  // to, or what is added to it, = factor * gradient + (of_source * y + constant); without y: factor * gradient
  void (*apply_gradient)(R* to, const R* gradient, const R* y, const R* factor, const R* of_source, const R* constant,
                         bool add, int count);
};

struct NormalizeKernels {
  NormalizeLoops<float> f32;
  NormalizeLoops<double> f64;
  // Magnitudes as bits.
  void (*find_largest)(uint32_t* largest, const float* values, int count);
  // Adds numbers on their grids, and their products with `second` in two parts; without `second`, there are no
  // products.
  void (*add_integers)(int64_t* totals, int64_t* high, int64_t* low, const float* first, const int32_t* first_grid,
                       const float* second, const int32_t* second_grid, int count);
  void (*add)(double* sums, const double* values, int count);
  void (*add_squares)(double* sums, const double* values, const double* means, int count);
  void (*add_products)(double* sums, const double* first, const double* second, const double* means, int count);
};

SYNFIRE_LEVEL_TABLES(NormalizeKernels, normalize_kernels)

}  // namespace synfire::host

#endif
