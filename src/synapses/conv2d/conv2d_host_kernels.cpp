#include "conv2d_host_kernels.hpp"

#include <synapses/dense/dense_host_kernels.hpp>
#include <synapses/dense/vectors.hpp>

namespace synfire::host::SYNFIRE_MODEL_LEVEL {
namespace {

constexpr int columns = 32, n_vectors = columns / ints;

void add_some(double* sums, const int32_t* table, int64_t pitch, const int32_t* list, const int32_t* times, int count,
              int width) {
  for (int i = 0; i < width; i += columns) {
    Ints found[n_vectors];
    for (Ints& vector : found) vector = Ints{};
    for (int at = 0; at < count; ++at) {
      const int32_t* const row = table + list[at] * pitch + i;
#pragma GCC unroll 8
      for (int v = 0; v < n_vectors; ++v) found[v] += load_ints(row + int64_t{v} * ints) * times[at];
    }
    int32_t values[columns];
    for (int v = 0; v < n_vectors; ++v) store_ints(values + int64_t{v} * ints, found[v]);
    for (int j = 0; j < columns; ++j) sums[i + j] += static_cast<double>(values[j]);
  }
}

// 32 bits hold the sum of as many numbers as the counts that were added.
void add_listed(double* sums, const int32_t* table, int64_t pitch, const int32_t* list, const int32_t* times, int count,
                int width) {
  for (int first = 0; first < count;) {
    int end = first, added = 0;
    while (end < count && added + times[end] <= most_addends) added += times[end++];
    add_some(sums, table, pitch, list + first, times + first, end - first, width);
    first = end;
  }
}

void add_row(int64_t* sums, const int32_t* row, int32_t times, int width) {
  if (times == 1) {
    for (int i = 0; i < width; ++i) sums[i] += row[i];
    return;
  }
  for (int i = 0; i < width; ++i) sums[i] += static_cast<int64_t>(row[i]) * times;
}

void add_counted(int64_t* sums, const int32_t* a, const uint8_t* b, int width) {
  for (int i = 0; i < width; ++i) sums[i] += static_cast<int64_t>(a[i]) * b[i];
}

void add_products(int64_t* sums, const int32_t* a, const int32_t* b, int width) {
  for (int i = 0; i < width; ++i) sums[i] += static_cast<int64_t>(a[i]) * b[i];
}

}  // namespace

extern const Conv2dKernels conv2d_kernels = {add_listed, add_row, add_counted, add_products};

}  // namespace synfire::host::SYNFIRE_MODEL_LEVEL
