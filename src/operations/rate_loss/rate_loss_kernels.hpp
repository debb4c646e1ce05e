// The kernels of the rate loss, as the host code sees them.
#ifndef SYNFIRE_OPERATIONS_RATE_LOSS_RATE_LOSS_KERNELS_HPP
#define SYNFIRE_OPERATIONS_RATE_LOSS_RATE_LOSS_KERNELS_HPP

#include "rates.hpp"

#include <operations/spikes/spikes_kernels.hpp>

namespace synfire::cuda {

// Rows of a gradient (a step and a batch row each) that a block writes.
inline constexpr int rate_rows = 128;
inline constexpr int rate_spread_threads = 256;

// Adds to counts. A block processes `run` pairs of 32 steps and a batch row.
struct RateCountLaunch {
  core::Extents extents;
  operations::Counting counting;
  operations::SpikeArray spikes;
  uint64_t* counts;
  int64_t n_tiles;  // of a row
  int64_t n_pairs;
  int64_t run;
  int64_t n_runs;
};

// Reads the counts: the sums of each chunk, the loss, the gradient.
struct RateLaunch {
  core::Extents extents;
  operations::Counting counting;
  bool whole_layer;
  double target, strength;
  const double* target_value;  // null: `target`
  const double* strength_value;
  const uint64_t* counts;
  void* work;  // operations::RateWork
  void* loss;  // null: none
  bool wide_loss, add_loss;
  void* grad;
  int64_t pitch;
  bool add_grad;
};

const void* rate_count_kernel(operations::SpikeStorage storage);
const void* rate_sums_kernel();   // a block for each chunk; for a single chunk, also the loss
const void* rate_total_kernel();  // one block: the loss
const void* rate_spread_kernel(int32_t dtype);

}  // namespace synfire::cuda

#endif
