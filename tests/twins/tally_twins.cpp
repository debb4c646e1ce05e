#include "twin.hpp"

#include <operations/tally/tally_kernels.hpp>

namespace synfire::cuda {

const void* tally_kernel() {
  return twin<TallyLaunch>({}, [](const TallyLaunch& launch) {
    const core::Extents& e = launch.extents;
    for (int64_t t = 0; t < e.n_steps; ++t)
      for (int64_t b = 0; b < launch.counting.rows(e.batch); ++b)
        launch.totals[0] += launch.counting.counts(t, b) ? 1 : 0;
    ++launch.totals[1];
  });
}

}  // namespace synfire::cuda
