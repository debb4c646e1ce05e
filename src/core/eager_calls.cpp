// The operation that a graph would record, run at once: on the stream that it is given, or into the caller's capture of
// it.
#include "eager_calls.hpp"

namespace synfire::core {

namespace {

// True: the caller captures the stream, and the operations are part of that now.
bool run(Device& device, std::span<Layer* const> layers, std::span<const Operation> operations, synfire_stream stream) {
  if (!device.is_capturing(stream)) {
    for (Layer* layer : layers) layer->check_use(nullptr, stream);
    for (Layer* layer : layers) layer->note_use(nullptr, stream);
    for (Layer* layer : layers) layer->refresh(stream);
    device.execute(operations, stream);
    return false;
  }
  // As Graph::refresh_for_capture() does.
  for (Layer* layer : layers) layer->settle();
  for (Layer* layer : layers) layer->refresh(nullptr);
  device.synchronize();
  device.execute_captured(operations, stream);
  return true;
}

bool run(Device& device, Layer* layer, std::span<const Operation> operations, synfire_stream stream) {
  return run(device, std::span<Layer* const>(&layer, layer ? 1 : 0), operations, stream);
}

bool run(Device& device, Layer* layer, const Operation& operation, synfire_stream stream) {
  return run(device, layer, std::span<const Operation>(&operation, 1), stream);
}

}  // namespace

bool run_forward(Layer& layer, const ForwardRequest& request, synfire_stream stream) {
  Device& device = layer.context()->device();
  device.is_capturing(stream);  // refuses a stream that the device cannot have
  const ForwardOperation operation = layer.forward(request);
  const bool captured = run(device, &layer, Operation(operation), stream);
  for (Buffer* written : {request.spikes, request.v_final, request.v_seq, request.h_seq, request.w_final, request.w_seq,
                          request.in_place ? request.x : nullptr})
    if (written) written->mark_written();
  layer.set_tape(request.tape == Tape::none ? TapeShape{} : TapeShape{request.x, request.tape, request.in_place},
                 false);
  return captured;
}

bool run_backward(Layer& layer, const BackwardRequest& request, synfire_stream stream) {
  Device& device = layer.context()->device();
  device.is_capturing(stream);
  const auto [tape, input] = layer.require_tape(request);
  const bool captured = run(device, &layer, layer.backward(request, tape), stream);
  for (Buffer* written : {request.grad_x_seq, request.grad_v_init, request.grad_w_init})
    if (written) written->mark_written();
  for (const GradientRequest& gradient : request.gradients) gradient.gradient->mark_written();
  return captured;
}

bool run(Context& context, const Recording& recording, synfire_stream stream) {
  const bool captured = run(context.device(), std::span<Layer* const>(recording.layers), recording.operations, stream);
  for (Buffer* buffer : recording.writes) buffer->mark_written();
  return captured;
}

bool run_convert_spikes(Context& context, const ConvertSpikesRequest& request, synfire_stream stream) {
  Device& device = context.device();
  device.is_capturing(stream);
  const bool captured = run(device, nullptr, Operation(convert_spikes(request, device.is_host())), stream);
  request.destination->mark_written();
  return captured;
}

bool run_count_spikes(Context& context, const CountSpikesRequest& request, synfire_stream stream) {
  Device& device = context.device();
  device.is_capturing(stream);
  const bool captured = run(device, nullptr, Operation(count_spikes(request, device.is_host())), stream);
  request.counts->mark_written();
  return captured;
}

}  // namespace synfire::core
