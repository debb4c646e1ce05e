#include "step_array_twin.hpp"
#include "twin.hpp"

#include <optimizer/optimizer_kernels.hpp>

#include <synfire/model/lane_sum.hpp>

#include <algorithm>

namespace synfire::cuda {

using namespace synfire::operations;

namespace {

template <class R>
double squares(const void* data, int64_t first, int64_t count) {
  double values[model::reduction_chunk];
  for (int64_t i = 0; i < count; ++i) {
    const auto value = static_cast<double>(static_cast<const R*>(data)[first + i]);
    values[i] = value * value;
  }
  return model::lane_sum(values, count);
}

void sum_member(const NormLaunch& launch, const MemberGradient& member) {
  const int32_t index = member.parameter - launch.first_parameter;
  if (member.parameter < 0 ? launch.first_parameter > 0 : index < 0 || index >= norm_parameters) return;
  const void* const data = member.parameter < 0 ? member.data : launch.parameters[index];
  for (int64_t first = 0, chunk = member.first_chunk; first < member.count; first += model::reduction_chunk, ++chunk) {
    const int64_t count = std::min<int64_t>(member.count - first, model::reduction_chunk);
    launch.sums[chunk] = member.is_f64 ? squares<double>(data, first, count) : squares<float>(data, first, count);
  }
}

}  // namespace

const void* norm_kernel() {
  return twin<NormLaunch>({}, [](const NormLaunch& launch) {
    for (int32_t i = 0; i < launch.n_members; ++i) sum_member(launch, launch.members[i]);
    if (launch.begins_step)
      begin_step(*launch.state, next_corrections(*launch.state, launch.rates), launch.values,
                 model::lane_sum(launch.sums, launch.n_chunks), launch.largest_norm);
  });
}

const void* step_arrays_kernel(OptimizerRule rule) {
  return twin<StepArraysLaunch>({static_cast<int64_t>(rule)}, [](const StepArraysLaunch& launch) {
    if (launch.state->takes_step == 0) return;
    with_rule(launch.rates.rule, [&](auto known) {
      constexpr OptimizerRule of = decltype(known)::value;
      for (int32_t i = 0; i < launch.n_arrays; ++i) {
        const SteppedArray& stepped = launch.arrays[i];
        if (stepped.is_f64)
          step_array<of, double>(*launch.state, launch.rates, stepped.array, stepped.count);
        else
          step_array<of, float>(*launch.state, launch.rates, stepped.array, stepped.count);
      }
    });
  });
}

template <class R>
const void* parameter_step_kernel() {
  return twin<ParameterStepLaunch<R>>({}, [](const ParameterStepLaunch<R>& launch) {
    const auto& a = launch.arguments;
    if (a.state->takes_step == 0) return;
    core::ParameterMaster& master = *a.update.target.master;
    for (int64_t i = 0; i < (a.update.block->per_neuron ? a.update.target.n_neurons : 1); ++i) step_parameter_of(a, i);
    if (!master.rows[a.update.parameter]) master.shared[a.update.parameter] = shared_parameter_step(a);
  });
}
template const void* parameter_step_kernel<float>();
template const void* parameter_step_kernel<double>();

}  // namespace synfire::cuda
