#include "kernels.hpp"

#include <cuda/twin.hpp>
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

template <OptimizerRule rule, class R>
void step_array(const SynapsesLaunch& launch, const MemberArray& array, int64_t count) {
  if (!array.gradient) return;
  const auto constants = constants_of<R>(*launch.state, launch.rates, array.factors);
  R none = 0;
  for (int64_t i = 0; i < count; ++i) {
    R& weight = static_cast<R*>(array.values)[i];
    R& moment1 = array.moment1 ? static_cast<R*>(array.moment1)[i] : none;
    R& moment2 = array.moment2 ? static_cast<R*>(array.moment2)[i] : none;
    weight = stepped_weight<rule>(constants, static_cast<const R*>(array.gradient)[i], weight, moment1, moment2);
  }
}

template <class Launch>
void run_twin(const void* twin, const Launch& launch) {
  static_cast<const Twin*>(twin)->run(&launch);
}

template <OptimizerRule rule, class R>
void step_synapse(const SynapsesLaunch& launch, const SynapseMembers& s) {
  step_array<rule, R>(launch, s.weights, s.n_inputs * s.n_outputs);
  step_array<rule, R>(launch, s.bias, s.n_outputs);
  run_twin(prepare_rows_kernel<R>(),
           PrepareRowsLaunch<R>{s.n_inputs, s.n_outputs, static_cast<R*>(s.weights.values), s.any_bias, s.mask, s.rows,
                                s.rows_pitch, s.grid, s.bias_on_grid});
}

}  // namespace

const void* norm_kernel() {
  return twin<NormLaunch>({}, [](const NormLaunch& launch) {
    for (int32_t i = 0; i < launch.n_members; ++i) sum_member(launch, launch.members[i]);
    if (launch.begins_step)
      begin_step(*launch.state, launch.rates, launch.values, model::lane_sum(launch.sums, launch.n_chunks));
  });
}

const void* step_rows_kernel(OptimizerRule rule) {
  return twin<SynapsesLaunch>({0, static_cast<int64_t>(rule)}, [](const SynapsesLaunch& launch) {
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
  return twin<SynapsesLaunch>({1, 0}, [](const SynapsesLaunch& launch) {
    if (launch.state->takes_step == 0) return;
    for (int32_t i = 0; i < launch.n_synapses; ++i) {
      const SynapseMembers& s = launch.synapses[i];
      run_twin(prepare_table_kernel(table_kind_of(s)), table_of(s));
      if (s.rows_planes) run_twin(prepare_planes_kernel(), planes_of(s));
    }
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
