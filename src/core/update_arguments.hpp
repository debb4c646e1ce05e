// What the kernels that change parameters during replays receive, on either backend, and where the values live: on the
// device, as doubles, beside the constants that follow from them.
#ifndef SYNFIRE_CORE_UPDATE_ARGUMENTS_HPP
#define SYNFIRE_CORE_UPDATE_ARGUMENTS_HPP

#include "arguments.hpp"

#include <synfire/model/update.hpp>

namespace synfire::core {

// The values of a layer's parameters, in device memory: each one number, or an array of one per neuron.
struct ParameterMaster {
  double shared[model::max_parameters];
  double* rows[model::max_parameters];  // [N], or null
  uint32_t arrived;                     // blocks of the update that is running
};

// What both kernels need to know of a layer.
struct ParameterTarget {
  ParameterMaster* master;
  int64_t n_neurons;
  int32_t model;
  int32_t surrogate;
  bool undecayed_input;
};

// Values that the host set: they replace those on the device, and all constants follow.
template <class R>
struct SetParametersArguments {
  ParameterTarget target;
  ParameterBlock<R>* block;
  R* per_neuron;         // constants [n_constants, N] when any parameter is per neuron, else null
  R* slopes_per_neuron;  // [row, constant, N], or null
  uint32_t changed;      // a bit for each parameter
  double values[model::max_parameters];         // of changed ones that are one number
  const double* staged[model::max_parameters];  // [N], of changed ones that are one per neuron
  double* rows[model::max_parameters];          // ParameterMaster::rows as they shall be
};

// One step of one parameter along its gradient; the model's constants and their slopes follow.
template <class R>
struct UpdateParameterArguments {
  ParameterTarget target;
  ParameterBlock<R>* block;
  int32_t parameter;
  model::DescentStep step;
  const R* gradient;
  bool gradient_per_neuron;
  const double* rate;
};

// Where the two of them write the constants of neuron i. n_constants are those of the model's formula and the two before.
template <class Model, class R>
SYNFIRE_MODEL_FN void write_own_constants(const double* parameters, bool undecayed_input, int64_t i, int64_t n,
                                          ParameterBlock<R>* block, R* per_neuron, R* slopes_per_neuron) {
  double constants[model::first_model_constant + model::max_model_constants];
  model::derive_own<Model>(parameters, undecayed_input, constants);
  constexpr int count = model::first_model_constant + Model::n_constants;
  for (int k = 0; k < count; ++k) {
    if (per_neuron) per_neuron[k * n + i] = model::held<R>(constants[k]);
    if (i == 0) block->shared[k] = model::held<R>(constants[k]);
  }
  if (i != 0 && !slopes_per_neuron) return;
  double slopes[model::max_slope_rows * model::max_model_constants];
  model::derive_slopes<Model>(parameters, undecayed_input, slopes);
  for (int k = 0; k < model::max_slope_rows * model::max_model_constants; ++k)
    if (i == 0) block->slopes[k] = static_cast<R>(slopes[k]);
  if (!slopes_per_neuron) return;
  constexpr int rows = Model::n_parameters + __builtin_popcount(model::reciprocal_names<Model>());
  for (int k = 0; k < rows * model::max_model_constants; ++k)
    slopes_per_neuron[k * n + i] = static_cast<R>(slopes[k]);
}

// The work of SetParametersArguments for neuron i; of neuron 0 alone when nothing is per neuron.
template <class Model, class Surrogate, class R>
SYNFIRE_MODEL_FN void set_parameters_of(const SetParametersArguments<R>& a, int64_t i) {
  constexpr int own = Model::n_parameters + 2, all = own + Surrogate::n_parameters;
  ParameterMaster& master = *a.target.master;
  const int64_t n = a.target.n_neurons;
  double parameters[model::max_parameters];
  for (int p = 0; p < all; ++p) {
    const bool changed = (a.changed >> p & 1u) != 0;
    double value;
    if (!a.rows[p]) value = changed ? a.values[p] : master.shared[p];
    else value = changed ? a.staged[p][i] : a.rows[p][i];
    if (changed && a.rows[p]) a.rows[p][i] = value;
    // Only what changed is written: the others are being read by every neuron.
    if (i == 0 && changed && !a.rows[p]) master.shared[p] = value;
    if (i == 0) master.rows[p] = a.rows[p];
    parameters[p] = value;
  }
  write_own_constants<Model>(parameters, a.target.undecayed_input, i, n, a.block, a.per_neuron, a.slopes_per_neuron);
  double constants[model::max_surrogate_constants] = {};
  Surrogate::derive(parameters + own, constants);
  constexpr int first = model::first_model_constant + Model::n_constants;
  for (int k = 0; k < model::max_surrogate_constants; ++k) {
    if (a.per_neuron) a.per_neuron[(first + k) * n + i] = static_cast<R>(constants[k]);
    if (i == 0) a.block->shared[first + k] = static_cast<R>(constants[k]);
  }
  if (i == 0) {
    a.block->per_neuron = a.per_neuron;
    a.block->slopes_per_neuron = a.slopes_per_neuron;
  }
}

// The work of UpdateParameterArguments for neuron i. Returns the new value; one that is shared is stored by the caller,
// once every neuron has read the old one.
template <class Model, class R>
SYNFIRE_MODEL_FN double update_parameter_of(const UpdateParameterArguments<R>& a, int64_t i) {
  constexpr int own = Model::n_parameters + 2;
  ParameterMaster& master = *a.target.master;
  double* const row = master.rows[a.parameter];
  double parameters[model::max_parameters], first[model::max_parameters];
  for (int p = 0; p < own; ++p) {
    parameters[p] = master.rows[p] ? master.rows[p][i] : master.shared[p];
    if (!row) first[p] = master.rows[p] ? master.rows[p][0] : master.shared[p];
  }
  const double gradient = static_cast<double>(a.gradient[a.gradient_per_neuron ? i : 0]);
  // A number that all neurons share takes its step beside the other parameters of neuron 0.
  double* const beside = row ? parameters : first;
  const double next =
      model::descend<Model, R>(beside, a.parameter, a.step, gradient, *a.rate, a.target.undecayed_input);
  parameters[a.parameter] = next;
  if (row) row[i] = next;
  write_own_constants<Model>(parameters, a.target.undecayed_input, i, a.target.n_neurons, a.block,
                             const_cast<R*>(a.block->per_neuron), const_cast<R*>(a.block->slopes_per_neuron));
  return next;
}

}  // namespace synfire::core

#endif
