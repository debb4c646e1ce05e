// What the kernels that change parameters during replays receive, on either backend, and where the values live: on the
// device, as doubles, beside the constants that follow from them.
#ifndef SYNFIRE_CORE_UPDATE_ARGUMENTS_HPP
#define SYNFIRE_CORE_UPDATE_ARGUMENTS_HPP

#include "arguments.hpp"

#include <synfire/model/layout.hpp>

namespace synfire::core {

// The values of a layer's parameters, in device memory: each one number, or an array of one per neuron.
struct ParameterMaster {
  double shared[model::max_parameters];
  double* rows[model::max_parameters];  // [N], or null
  uint32_t arrived;                     // blocks of the update that is running
  uint32_t readers_done;                // blocks of the kernel that takes over values of the host's
  uint64_t read_number;                 // the highest of those kernels that is done (ValueStaging)
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
  int64_t active;        // ParameterBlock::active as it shall be
  uint32_t changed;      // a bit for each parameter
  double values[model::max_parameters];         // of changed ones that are one number
  const double* staged[model::max_parameters];  // [N], of changed ones that are one per neuron
  double* rows[model::max_parameters];          // ParameterMaster::rows as they shall be
  uint64_t number;                              // of this work, and where to write it when what is staged has been
  uint64_t* read_number;                        // read; null when nothing is staged
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

}  // namespace synfire::core

#endif
