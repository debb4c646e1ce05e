// Converts a parameter's part of a step to the arguments of its kernel; the same on both backends.
#ifndef SYNFIRE_OPTIMIZER_PARAMETER_ARGUMENTS_HPP
#define SYNFIRE_OPTIMIZER_PARAMETER_ARGUMENTS_HPP

#include "optimizer.hpp"
#include "parameter_step.hpp"

namespace synfire::operations {

template <class R>
ParameterStepArguments<R> arguments_of(const OptimizerStep& op, const ParameterStep& step) {
  const OptimizerMember& member = op.optimizer->members()[step.member];
  return {{member.layer->target(), static_cast<ParameterBlock<R>*>(step.parameters.data),
           static_cast<int32_t>(member.parameter), member.descent,
           static_cast<const R*>(member.accumulated ? member.accumulated : step.gradient.data), member.count, nullptr},
          op.optimizer->state(),
          op.optimizer->spec().rates,
          op.optimizer->factors() + step.member,
          static_cast<R*>(member.moments[0]),
          static_cast<R*>(member.moments[1])};
}

}  // namespace synfire::operations

#endif
