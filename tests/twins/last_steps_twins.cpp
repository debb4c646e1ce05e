#include "twin.hpp"

#include <operations/last_steps/last_steps_kernels.hpp>

namespace synfire::cuda {

const void* last_steps_kernel() {
  return twin<LastStepsLaunch>({}, [](const LastStepsLaunch& launch) {
    const operations::LastStepsArrays& arrays = launch.arrays;
    for (int64_t word = 0; word < arrays.n_words(); ++word)
      operations::keep_word(arrays, arrays.first_word(), arrays.end_word(), word);
  });
}

}  // namespace synfire::cuda
