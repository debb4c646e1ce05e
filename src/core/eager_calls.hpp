// Eager calls: the operation that a graph would record, run now. True: it became part of the caller's capture instead.
#ifndef SYNFIRE_CORE_EAGER_CALLS_HPP
#define SYNFIRE_CORE_EAGER_CALLS_HPP

#include "layer.hpp"

namespace synfire::core {

bool run_forward(Layer& layer, const ForwardRequest& request, synfire_stream stream);
bool run_backward(Layer& layer, const BackwardRequest& request, synfire_stream stream);
// Of any other kind, made and checked.
bool run_now(Context& context, const OperationList& operations, synfire_stream stream);

}  // namespace synfire::core

#endif
