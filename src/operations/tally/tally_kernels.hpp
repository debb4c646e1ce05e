// The kernel of a tally's totals, as the host code sees it. Those of the rate loss count the spikes.
#ifndef SYNFIRE_OPERATIONS_TALLY_TALLY_KERNELS_HPP
#define SYNFIRE_OPERATIONS_TALLY_TALLY_KERNELS_HPP

#include <backends/cuda/device_types.hpp>
#include <operations/reduce/counting.hpp>

#include <synfire/model/reduction.hpp>

namespace synfire::cuda {

struct TallyLaunch {
  core::Extents extents;
  operations::Counting counting;
  uint64_t* totals;
};

// One block of reduction_lanes threads.
const void* tally_kernel();

}  // namespace synfire::cuda

#endif
