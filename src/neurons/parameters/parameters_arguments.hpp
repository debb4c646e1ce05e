// The arguments of the kernels that change parameters during replays, on either backend.
#ifndef SYNFIRE_NEURONS_PARAMETERS_PARAMETERS_ARGUMENTS_HPP
#define SYNFIRE_NEURONS_PARAMETERS_PARAMETERS_ARGUMENTS_HPP

#include <neurons/parameter_block.hpp>

#include <synfire/model/platform.hpp>

namespace synfire::operations {

using core::ParameterBlock;
using core::ParameterMaster;
using core::ParameterTarget;

// Values that the host set replace those on the device, and all constants are derived anew.
template <class R>
struct SetParametersArguments {
  ParameterTarget target;
  ParameterBlock<R>* block;
  R* per_neuron;                         // constants [n_constants, N] when any parameter is per neuron, else null
  R* slopes_per_neuron;                  // [row, constant, N], or null
  int64_t active;                        // the new ParameterBlock::active
  uint32_t changed;                      // a bit for each parameter
  double values[model::max_parameters];  // of changed parameters with one number
  const double* staged[model::max_parameters];  // [N], of changed parameters with one number per channel or neuron
  double* rows[model::max_parameters];          // the new ParameterMaster::rows
  uint64_t number;                              // of this work, and where to write it when what is staged has been
  uint64_t* read_number;                        // read; null when nothing is staged
};

// Updates one parameter along its gradient, and derives the model's constants and their slopes anew.
template <class R>
struct UpdateParameterArguments {
  ParameterTarget target;
  ParameterBlock<R>* block;
  int32_t parameter;
  model::Descent descent;
  const R* gradient;
  int64_t n_entries;  // of the gradient and the parameter: neuron i has entry i mod n_entries
  const double* rate;

  SYNFIRE_MODEL_FN int64_t entry_of(int64_t i) const {
    return n_entries == target.n_neurons ? i : n_entries == 1 ? 0 : i % n_entries;
  }
};

}  // namespace synfire::operations

#endif
