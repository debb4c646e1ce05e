// The kernels of sums of integers over rows, as the host code sees them.
#ifndef SYNFIRE_OPERATIONS_ROW_SUMS_ROW_SUMS_KERNELS_HPP
#define SYNFIRE_OPERATIONS_ROW_SUMS_ROW_SUMS_KERNELS_HPP

#include "row_sums.hpp"

namespace synfire::cuda {

// A block has 32 elements of the period and a share of the rows; a warp has every eighth of those.
inline constexpr int row_sum_threads = 256;
struct RowSumLaunch {
  operations::RowSums sums[operations::most_row_sums];  // of one shape
  int64_t period, n_tiles, n_slots;                     // of the shape: a GPU divides 64-bit integers slowly
  int32_t n_sums;
  bool finishes;  // with the sums: the last block of a tile to arrive finishes; the maxima make n_arrived ready
};
// A block for each sum, tile and slot.
const void* row_maxima_kernel(bool wide);
const void* row_sums_kernel(bool wide);
// A block for each sum and tile: everything, without the arrays.
const void* row_whole_kernel(bool wide);
// A thread for each sum and entry.
const void* row_finish_kernel();

}  // namespace synfire::cuda

#endif
