// The kernel of the gather, as the host code sees it.
#ifndef SYNFIRE_OPERATIONS_GATHER_ROWS_GATHER_ROWS_KERNELS_HPP
#define SYNFIRE_OPERATIONS_GATHER_ROWS_GATHER_ROWS_KERNELS_HPP

#include "gather_rows_arrays.hpp"

namespace synfire::cuda {

inline constexpr int gather_rows_threads = 256;
// Accesses that a thread has in flight: with one, it would wait for its row's index before each.
inline constexpr int gather_accesses = 4;

struct GatherRowsLaunch {
  operations::GatherArrays arrays;
  bool along_rows;  // neighbouring tasks copy one row's steps, not one step's rows
  int lanes;        // threads that share a task: a power of two, at most a warp
  int64_t n_units;  // of a piece
  int64_t n_parts;  // tasks of a piece
  int64_t n_tasks;
};

// Copies units of 16 or 4 bytes, of which all addresses and lengths are multiples; or, as unit 1, bytes at any address:
// then a unit of the launch is a word of the destination, of which a piece may have a part.
const void* gather_rows_kernel(int unit_bytes);

}  // namespace synfire::cuda

#endif
