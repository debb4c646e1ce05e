#include "step_array_twin.hpp"
#include "twin.hpp"

#include <optimizer/dense_steps_kernels.hpp>

namespace synfire::cuda {

using namespace synfire::operations;

namespace {

template <class Launch>
void run_twin(const void* twin, const Launch& launch) {
  static_cast<const Twin*>(twin)->run(&launch);
}

template <OptimizerRule rule, class R>
void step_synapse(const DenseStepLaunch& launch, const DenseMembers& s) {
  step_array<rule, R>(*launch.state, launch.rates, s.weights, s.n_inputs * s.n_outputs);
  step_array<rule, R>(*launch.state, launch.rates, s.bias, s.n_outputs);
  run_twin(prepare_rows_kernel<R>(),
           PrepareRowsLaunch<R>{s.n_inputs, s.n_outputs, static_cast<R*>(s.weights.values), s.any_bias, s.mask, s.rows,
                                s.rows_pitch, s.grid, s.bias_on_grid, R(1), s.dropped_bits});
}

}  // namespace

const void* step_rows_kernel(OptimizerRule rule) {
  return twin<DenseStepLaunch>({0, static_cast<int64_t>(rule)}, [](const DenseStepLaunch& launch) {
    if (launch.state->takes_step == 0) return;
    for (int32_t i = 0; i < launch.n_synapses; ++i)
      with_rule(launch.rates.rule, [&](auto known) {
        constexpr OptimizerRule of = decltype(known)::value;
        if (launch.synapses[i].is_f64)
          step_synapse<of, double>(launch, launch.synapses[i]);
        else
          step_synapse<of, float>(launch, launch.synapses[i]);
      });
  });
}

const void* derive_kernel() {
  return twin<DenseStepLaunch>({1, 0}, [](const DenseStepLaunch& launch) {
    if (launch.state->takes_step == 0) return;
    for (int32_t i = 0; i < launch.n_synapses; ++i) {
      const DenseMembers& s = launch.synapses[i];
      run_twin(prepare_table_kernel(table_kind_of(s)), table_of(s));
      if (s.rows_planes) run_twin(prepare_planes_kernel(), planes_of(s));
    }
  });
}

}  // namespace synfire::cuda
