#include "twin.hpp"

#include <neurons/state/state_kernels.hpp>

#include <cstring>

namespace synfire::cuda {

template <class R>
const void* reset_rows_kernel() {
  return twin<ResetRowsLaunch<R>>({}, [](const ResetRowsLaunch<R>& launch) {
    const int64_t n = launch.n_neurons;
    for (int64_t i = 0; i < launch.n_rows * n; ++i) {
      if (launch.mask && launch.mask[i / n] == 0) continue;
      const auto& p = *launch.parameters;
      launch.v[i] = launch.soft_reset ? R(0)
                    : p.per_neuron    ? p.per_neuron[model::constant_v_reset * n + i % n]
                                      : p.shared[model::constant_v_reset];
      for (R* const w : launch.w)
        if (w) w[i] = R(0);
    }
  });
}

const void* guarded_copy_kernel() {
  return twin<GuardedCopyLaunch>({}, [](const GuardedCopyLaunch& launch) {
    if (std::memcmp(launch.guard, launch.expected, static_cast<size_t>(launch.n_expected)) != 0) return;
    for (int64_t i = 0; i < launch.count; ++i) copy_word(launch, i);
  });
}

template const void* reset_rows_kernel<float>();
template const void* reset_rows_kernel<double>();

}  // namespace synfire::cuda
