// The table that a text exports when it was compiled for the host at run time (loaded_code.hpp).
#ifndef SYNFIRE_NEURONS_PASSES_LOADED_LOADED_TABLE_HPP
#define SYNFIRE_NEURONS_PASSES_LOADED_LOADED_TABLE_HPP

#include "loaded_code.hpp"

#include <neurons/parameters/derive.hpp>

#include <synfire/model/check.hpp>

#include <type_traits>

namespace synfire::operations {
namespace {

using Loaded = model::LoadedType;

constexpr model::Description description = model::describe<Loaded>();

struct Ranges {
  double defaults[model::max_slope_rows], minima[model::max_slope_rows], maxima[model::max_slope_rows];

  Ranges() {
    for (int p = 0; p < Loaded::n_parameters; ++p) {
      defaults[p] = Loaded::parameters[p].default_value;
      minima[p] = Loaded::parameters[p].minimum;
      maxima[p] = Loaded::parameters[p].maximum;
    }
  }
};

template <class Model, const host::NeuronKernels* kernels>
struct ModelCode {
  static void derive(const double* parameters, bool undecayed_input, double* constants) {
    Model::derive(parameters, undecayed_input, constants);
  }
  static void derive_along(const double* parameters, int parameter, bool undecayed_input, double* slopes) {
    double all[model::max_slope_rows * model::max_model_constants];
    model::derive_slopes<Model>(parameters, undecayed_input, all);
    for (int k = 0; k < Model::n_constants; ++k) slopes[k] = all[parameter * model::max_model_constants + k];
  }
  template <class R>
  static void write(const double* parameters, bool undecayed_input, int64_t i, int64_t n, ParameterBlock<R>* block,
                    R* per_neuron, R* slopes_per_neuron) {
    write_own_constants<Model>(parameters, undecayed_input, i, n, block, per_neuron, slopes_per_neuron);
  }
  template <class R>
  static double descend(double* parameters, int index, const model::Descent& descent, double gradient, double rate,
                        bool undecayed_input) {
    return model::descend<Model, R>(parameters, index, descent, gradient, rate, undecayed_input);
  }
  static void check(uint64_t seed, int64_t n_samples, model::CheckResult* result) {
    const Ranges ranges;
    model::check_model<Model>(seed, n_samples, ranges.defaults, ranges.minima, ranges.maxima, *result);
  }

  static constexpr core::LoadedModelFormula formula = {ListedFormula<Model>::n_own,
                                                       ListedFormula<Model>::first_surrogate_constant,
                                                       ListedFormula<Model>::fires,
                                                       derive,
                                                       derive_along,
                                                       write<float>,
                                                       write<double>,
                                                       descend<float>,
                                                       descend<double>};
  static constexpr LoadedTable table = {&description, kernels, &formula, nullptr, check};
};

template <class Surrogate, const host::NeuronKernels* kernels>
struct SurrogateCode {
  static void derive(const double* parameters, double* constants) { Surrogate::derive(parameters, constants); }
  static void check(uint64_t seed, int64_t n_samples, model::CheckResult* result) {
    const Ranges ranges;
    model::check_surrogate<Surrogate>(seed, n_samples, ranges.defaults, ranges.minima, ranges.maxima, *result);
  }

  static constexpr core::LoadedSurrogateFormula formula = {Surrogate::n_parameters, derive};
  static constexpr LoadedTable table = {&description, kernels, nullptr, &formula, check};
};

template <const host::NeuronKernels* kernels>
using LoadedCode =
    std::conditional_t<model::loaded_is_model, ModelCode<Loaded, kernels>, SurrogateCode<Loaded, kernels>>;

}  // namespace
}  // namespace synfire::operations

#define SYNFIRE_EXPORT_LOADED(kernels)                                 \
  extern "C" __attribute__((visibility("default")))                    \
  const synfire::operations::LoadedTable* const synfire_loaded_table = \
      &synfire::operations::LoadedCode<kernels>::table;

#endif
