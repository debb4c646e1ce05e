// What stands between the passes of a step on processors: scale-and-add, state rows, parameters that replays update.
#ifndef SYNFIRE_HOST_STEP_OPERATIONS_HPP
#define SYNFIRE_HOST_STEP_OPERATIONS_HPP

#include "parallel.hpp"

#include <core/layer.hpp>

namespace synfire::host {

// Whether it is long enough for several threads.
bool wants_threads(const core::ScaleAddOperation& op);

void scale_add(const core::ScaleAddOperation& op, const Parallel& threads);
void reset_state(const core::ResetStateOperation& op);
void guarded_copy(const core::GuardedCopyOperation& op);
void set_parameters(const core::SetParametersOperation& op);
void update_parameter(const core::UpdateParameterOperation& op);

}  // namespace synfire::host

#endif
