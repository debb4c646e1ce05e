// The kernels that change parameters during replays, for one neuron: the same text on both backends. It iterates over
// the lists of models and surrogates; include it only in code that is compiled with them.
#ifndef SYNFIRE_NEURONS_PARAMETERS_DERIVE_HPP
#define SYNFIRE_NEURONS_PARAMETERS_DERIVE_HPP

#include "parameters_arguments.hpp"

#include <synfire/model/update.hpp>

namespace synfire::operations {
inline namespace SYNFIRE_MODEL_LEVEL {

// The place of the constants of neuron i. n_constants counts those of the model's formula and the two before them.
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
  constexpr int rows = model::slope_rows<Model>;
  for (int k = 0; k < rows * model::max_model_constants; ++k) slopes_per_neuron[k * n + i] = static_cast<R>(slopes[k]);
}

// A listed model as the two kernels use it.
template <class Model>
struct ListedFormula {
  static constexpr int n_own = Model::n_parameters + model::n_firing_parameters<Model>;
  static constexpr int first_surrogate_constant = model::first_model_constant + Model::n_constants;
  static constexpr bool fires = !model::never_fires<Model>;

  template <class R>
  static SYNFIRE_MODEL_FN void write(const double* parameters, bool undecayed_input, int64_t i, int64_t n,
                                     ParameterBlock<R>* block, R* per_neuron, R* slopes_per_neuron) {
    write_own_constants<Model>(parameters, undecayed_input, i, n, block, per_neuron, slopes_per_neuron);
  }
  template <class R>
  static SYNFIRE_MODEL_FN double descend(double* parameters, int index, const model::Descent& descent, double gradient,
                                         double rate, bool undecayed_input) {
    return model::descend<Model, R>(parameters, index, descent, gradient, rate, undecayed_input);
  }
};

// A loaded model on the host. On a GPU it has kernels of its own, whose lists contain it.
struct LoadedFormula {
  const core::LoadedModelFormula& of;
  int n_own = of.n_own;
  int first_surrogate_constant = of.first_surrogate_constant;
  bool fires = of.fires;

  template <class R>
  void write(const double* parameters, bool undecayed_input, int64_t i, int64_t n, ParameterBlock<R>* block,
             R* per_neuron, R* slopes_per_neuron) const {
    if constexpr (sizeof(R) == 4)
      of.write_f32(parameters, undecayed_input, i, n, block, per_neuron, slopes_per_neuron);
    else
      of.write_f64(parameters, undecayed_input, i, n, block, per_neuron, slopes_per_neuron);
  }
  template <class R>
  double descend(double* parameters, int index, const model::Descent& descent, double gradient, double rate,
                 bool undecayed_input) const {
    if constexpr (sizeof(R) == 4)
      return of.descend_f32(parameters, index, descent, gradient, rate, undecayed_input);
    else
      return of.descend_f64(parameters, index, descent, gradient, rate, undecayed_input);
  }
};

template <class F>
SYNFIRE_MODEL_FN void with_formula(const ParameterTarget& target, F f) {
#if !defined(__CUDACC__) && !defined(__CUDACC_RTC__)
  if (target.model_formula) return f(LoadedFormula{*target.model_formula});
#endif
  model::visit_anywhere(model::Models{}, target.model,
                        [&](auto found) { f(ListedFormula<typename decltype(found)::type>{}); });
}

SYNFIRE_MODEL_FN int n_surrogate_parameters(const ParameterTarget& target) {
#if !defined(__CUDACC__) && !defined(__CUDACC_RTC__)
  if (target.surrogate_formula) return target.surrogate_formula->n_parameters;
#endif
  int n = 0;
  model::visit_anywhere(model::Surrogates{}, target.surrogate,
                        [&](auto found) { n = decltype(found)::type::n_parameters; });
  return n;
}

SYNFIRE_MODEL_FN void derive_surrogate(const ParameterTarget& target, const double* parameters, double* constants) {
#if !defined(__CUDACC__) && !defined(__CUDACC_RTC__)
  if (target.surrogate_formula) return target.surrogate_formula->derive(parameters, constants);
#endif
  model::visit_anywhere(model::Surrogates{}, target.surrogate,
                        [&](auto found) { decltype(found)::type::derive(parameters, constants); });
}

// SetParametersArguments for neuron i, or only for neuron 0 if nothing is per neuron.
template <class R>
SYNFIRE_MODEL_FN void set_parameters_of(const SetParametersArguments<R>& a, int64_t i) {
  ParameterMaster& master = *a.target.master;
  const int64_t n = a.target.n_neurons;
  int own = 0, first = 0;
  bool fires = true;
  with_formula(a.target, [&](auto formula) {
    own = formula.n_own;
    first = formula.first_surrogate_constant;
    fires = formula.fires;
  });
  const int all = own + n_surrogate_parameters(a.target);
  double parameters[model::max_parameters];
  for (int p = 0; p < all; ++p) {
    const bool changed = (a.changed >> p & 1u) != 0;
    double value;
    if (!a.rows[p])
      value = changed ? a.values[p] : master.shared[p];
    else
      value = changed ? a.staged[p][i] : a.rows[p][i];
    if (changed && a.rows[p]) a.rows[p][i] = value;
    // Only changed values are written: the others are being read by every neuron.
    if (i == 0 && changed && !a.rows[p]) master.shared[p] = value;
    if (i == 0) master.rows[p] = a.rows[p];
    parameters[p] = value;
  }
  with_formula(a.target, [&](auto formula) {
    formula.template write<R>(parameters, a.target.undecayed_input, i, n, a.block, a.per_neuron, a.slopes_per_neuron);
  });
  double constants[model::max_surrogate_constants] = {};
  const int n_surrogate_constants = fires ? model::max_surrogate_constants : 0;
  derive_surrogate(a.target, parameters + own, constants);
  for (int k = 0; k < n_surrogate_constants; ++k) {
    if (a.per_neuron) a.per_neuron[(first + k) * n + i] = static_cast<R>(constants[k]);
    if (i == 0) a.block->shared[first + k] = static_cast<R>(constants[k]);
  }
  if (i == 0) {
    a.block->per_neuron = a.per_neuron;
    a.block->slopes_per_neuron = a.slopes_per_neuron;
    a.block->active = a.active;
  }
}

// Updates a number that all neurons share, with the other parameters as neuron 0 has them.
template <class Formula, class R, class Gradient>
SYNFIRE_MODEL_FN double shared_step(Formula formula, const UpdateParameterArguments<R>& a, double rate,
                                    Gradient gradient) {
  const ParameterMaster& master = *a.target.master;
  double parameters[model::max_parameters];
  for (int p = 0; p < formula.n_own; ++p) parameters[p] = master.rows[p] ? master.rows[p][0] : master.shared[p];
  return formula.template descend<R>(parameters, a.parameter, a.descent, gradient(0, parameters[a.parameter]), rate,
                                     a.target.undecayed_input);
}

// UpdateParameterArguments for neuron i, or only for neuron 0 if nothing is per neuron. Returns the new value; the
// caller stores a shared value once every neuron has read the old one.
template <class R, class Gradient>
SYNFIRE_MODEL_FN double update_parameter_of(const UpdateParameterArguments<R>& a, int64_t i, double rate,
                                            Gradient gradient) {
  ParameterMaster& master = *a.target.master;
  double* const row = master.rows[a.parameter];
  double next = 0;
  with_formula(a.target, [&](auto formula) {
    double parameters[model::max_parameters];
    const auto read = [&](int64_t neuron) {
      for (int p = 0; p < formula.n_own; ++p)
        if (p != a.parameter || !row) parameters[p] = master.rows[p] ? master.rows[p][neuron] : master.shared[p];
    };
    if (row) {
      // The neurons of a channel take the same step: with the other parameters as the first of them has them.
      const int64_t first = a.entry_of(i);
      read(first);
      parameters[a.parameter] = row[i];
      next = formula.template descend<R>(parameters, a.parameter, a.descent, gradient(i, row[i]), rate,
                                         a.target.undecayed_input);
      row[i] = next;
      if (first != i) read(i);
    } else {
      read(i);
      next = shared_step(formula, a, rate, gradient);
      parameters[a.parameter] = next;
    }
    formula.template write<R>(parameters, a.target.undecayed_input, i, a.target.n_neurons, a.block,
                              const_cast<R*>(a.block->per_neuron), const_cast<R*>(a.block->slopes_per_neuron));
  });
  return next;
}

// The shared value that update_parameter_of() returns, for threads without a neuron.
template <class R, class Gradient>
SYNFIRE_MODEL_FN double shared_value_of(const UpdateParameterArguments<R>& a, double rate, Gradient gradient) {
  double next = 0;
  with_formula(a.target, [&](auto formula) { next = shared_step(formula, a, rate, gradient); });
  return next;
}

template <class R>
SYNFIRE_MODEL_FN double update_parameter_of(const UpdateParameterArguments<R>& a, int64_t i) {
  return update_parameter_of(a, i, *a.rate,
                             [&](int64_t at, double) { return static_cast<double>(a.gradient[a.entry_of(at)]); });
}
template <class R>
SYNFIRE_MODEL_FN double shared_value_of(const UpdateParameterArguments<R>& a) {
  return shared_value_of(a, *a.rate, [&](int64_t, double) { return static_cast<double>(a.gradient[0]); });
}

}  // namespace SYNFIRE_MODEL_LEVEL
}  // namespace synfire::operations

#endif
