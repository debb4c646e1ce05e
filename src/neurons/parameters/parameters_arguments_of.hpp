// Converts an operation on parameters to its kernel's arguments; the same on both backends.
#ifndef SYNFIRE_NEURONS_PARAMETERS_PARAMETERS_ARGUMENTS_OF_HPP
#define SYNFIRE_NEURONS_PARAMETERS_PARAMETERS_ARGUMENTS_OF_HPP

#include "parameters_arguments.hpp"
#include "set_parameters.hpp"
#include "update_parameter.hpp"

#include <algorithm>

namespace synfire::operations {

template <class R>
SetParametersArguments<R> arguments_of(const SetParameters& op) {
  const core::ParameterUpload upload = op.layer->upload();
  SetParametersArguments<R> a = {};
  a.target = upload.target;
  a.block = static_cast<ParameterBlock<R>*>(upload.block);
  a.per_neuron = static_cast<R*>(upload.per_neuron);
  a.slopes_per_neuron = static_cast<R*>(upload.slopes_per_neuron);
  a.active = upload.active;
  a.changed = upload.changed;
  std::copy_n(upload.values, model::max_parameters, a.values);
  std::copy_n(upload.staged, model::max_parameters, a.staged);
  std::copy_n(upload.rows, model::max_parameters, a.rows);
  a.number = upload.number;
  a.read_number = upload.read_number;
  return a;
}

template <class R>
UpdateParameterArguments<R> arguments_of(const UpdateParameter& op) {
  return {op.layer->target(),
          static_cast<ParameterBlock<R>*>(op.parameters.data),
          static_cast<int32_t>(op.parameter),
          op.descent,
          static_cast<const R*>(op.gradient.data),
          op.n_entries,
          op.rate};
}

}  // namespace synfire::operations

#endif
