// The inner loops of convolutions that dense synapses do not have, compiled once for each instruction level.
#ifndef SYNFIRE_SYNAPSES_CONV2D_CONV2D_HOST_KERNELS_HPP
#define SYNFIRE_SYNAPSES_CONV2D_CONV2D_HOST_KERNELS_HPP

#include <backends/host/level.hpp>

#include <cstdint>

namespace synfire::host {

struct Conv2dKernels {
  // sums[i] += the sum over the listed rows of table[row * pitch + i] * times[row's number in the list], exactly, for
  // times of up to 255. The width is a multiple of 32.
  void (*add_listed)(double* sums, const int32_t* table, int64_t pitch, const int32_t* list, const int32_t* times,
                     int count, int width);
  // sums[i] += row[i] * times.
  void (*add_row)(int64_t* sums, const int32_t* row, int32_t times, int width);
  // sums[i] += a[i] * b[i].
  void (*add_counted)(int64_t* sums, const int32_t* a, const uint8_t* b, int width);
  void (*add_products)(int64_t* sums, const int32_t* a, const int32_t* b, int width);
};

SYNFIRE_LEVEL_TABLES(Conv2dKernels, conv2d_kernels)

}  // namespace synfire::host

#endif
