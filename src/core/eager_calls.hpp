// Eager calls: the operation that a graph would record, run now. True: it became part of the caller's capture instead.
#ifndef SYNFIRE_CORE_EAGER_CALLS_HPP
#define SYNFIRE_CORE_EAGER_CALLS_HPP

#include "layer.hpp"
#include "recording.hpp"
#include "spike_operations.hpp"

namespace synfire::core {

bool run_forward(Layer& layer, const ForwardRequest& request, synfire_stream stream);
bool run_backward(Layer& layer, const BackwardRequest& request, synfire_stream stream);
bool run(Context& context, const Recording& recording, synfire_stream stream);
bool run_convert_spikes(Context& context, const ConvertSpikesRequest& request, synfire_stream stream);
bool run_count_spikes(Context& context, const CountSpikesRequest& request, synfire_stream stream);

}  // namespace synfire::core

#endif
