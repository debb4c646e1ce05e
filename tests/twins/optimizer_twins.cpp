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

// Null if another launch has it.
const void* gradient_of(const NormLaunch& launch, const MemberGradient& member) {
  const int32_t index = member.parameter - launch.first_parameter;
  if (member.parameter < 0 ? launch.first_parameter > 0 : index < 0 || index >= norm_parameters) return nullptr;
  return member.parameter < 0 ? member.data : launch.parameters[index];
}

template <class R>
void accumulate(const void* gradient, void* mean, double share, bool is_first, int64_t count) {
  for (int64_t i = 0; i < count; ++i) {
    R& at = static_cast<R*>(mean)[i];
    at = accumulated_gradient(static_cast<const R*>(gradient)[i], static_cast<R>(share), at, is_first);
  }
}

void sum_member(const NormLaunch& launch, const MemberGradient& member) {
  const void* const data = member.accumulated ? member.accumulated : gradient_of(launch, member);
  if (!data) return;
  for (int64_t first = 0, chunk = member.first_chunk; first < member.count; first += model::reduction_chunk, ++chunk) {
    const int64_t count = std::min<int64_t>(member.count - first, model::reduction_chunk);
    launch.sums[chunk] = member.factors->frozen != 0 ? 0
                         : member.is_f64             ? squares<double>(data, first, count)
                                                     : squares<float>(data, first, count);
  }
}

}  // namespace

const void* norm_kernel() {
  return twin<NormLaunch>({}, [](const NormLaunch& launch) {
    const uint64_t batch = batch_of_step(*launch.state, launch.rates);
    if (batch < launch.rates.batches_per_step) {
      if (launch.begins_step) note_batch(*launch.state, batch);
      return;
    }
    for (int32_t i = 0; i < launch.n_members; ++i) sum_member(launch, launch.members[i]);
    if (launch.begins_step)
      begin_step(*launch.state, next_corrections(*launch.state, launch.rates, launch.values), launch.values,
                 model::lane_sum(launch.sums, launch.n_chunks), launch.largest_norm);
  });
}

const void* accumulate_kernel() {
  return twin<NormLaunch>({}, [](const NormLaunch& launch) {
    const bool is_first = batch_of_step(*launch.state, launch.rates) == 1;
    const double share = 1.0 / launch.rates.batches_per_step;
    for (int32_t i = 0; i < launch.n_members; ++i) {
      const MemberGradient& member = launch.members[i];
      const void* const data = gradient_of(launch, member);
      if (!data) continue;
      if (member.is_f64)
        accumulate<double>(data, member.accumulated, share, is_first, member.count);
      else
        accumulate<float>(data, member.accumulated, share, is_first, member.count);
    }
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
    if (a.state->takes_step == 0 || a.factors->frozen != 0) return;
    core::ParameterMaster& master = *a.update.target.master;
    for (int64_t i = 0; i < (a.update.block->per_neuron ? a.update.target.n_neurons : 1); ++i) step_parameter_of(a, i);
    if (!master.rows[a.update.parameter]) master.shared[a.update.parameter] = shared_parameter_step(a);
  });
}
template const void* parameter_step_kernel<float>();
template const void* parameter_step_kernel<double>();

}  // namespace synfire::cuda
