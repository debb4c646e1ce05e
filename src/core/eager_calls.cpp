// The operation that a graph would record, run at once: on the stream that it is given, or into the caller's capture of
// it.
#include "eager_calls.hpp"

namespace synfire::core {

namespace {

// A stream that the device can have, and whether the caller captures it: asked once, before anything is done.
struct Target {
  Target(Device& on, synfire_stream to) : device(on), stream(to) {
    device.check_stream(stream);
    captured = device.is_capturing(stream);
  }

  Device& device;
  synfire_stream stream;
  bool captured = false;
};

// Where the stream is captured, the operations are part of that now. What fails on the way may have run in part: then
// leave() says what has become of what it writes.
template <class Leave>
void run(const Target& to, std::span<Layer* const> layers, std::span<const Operation> operations, Leave leave) {
  const auto& [device, stream, captured] = to;
  if (!captured) {
    for (Layer* layer : layers) layer->order_on(nullptr, stream_id(stream));
    for (Layer* layer : layers) layer->refresh(stream);
    try {
      return device.execute(operations, stream);
    } catch (...) {
      leave();
      throw;
    }
  }
  // As Graph::refresh_for_capture() does.
  for (Layer* layer : layers) layer->settle();
  for (Layer* layer : layers) layer->refresh(nullptr);
  device.synchronize();
  device.execute_captured(operations, stream);
}

// An operation on no layer.
void run(const Target& to, const Operation& operation, Buffer& written) {
  run(to, {}, {&operation, 1}, [&] { written.mark_written(); });
  written.mark_written();
}

}  // namespace

bool run_forward(Layer& layer, const ForwardRequest& request, synfire_stream stream) {
  const Target to(layer.context()->device(), stream);
  const auto leave = [&](const TapeShape& tape) {
    for (Buffer* written : {request.spikes, request.v_final, request.v_seq, request.h_seq, request.w_final,
                            request.w_seq, request.in_place ? request.x : nullptr})
      if (written) written->mark_written();
    layer.set_tape(tape, layer.stamp(tape.x));
    layer.expect_tape(tape);
  };
  Layer* const layers[] = {&layer};
  const Operation operation = layer.forward(request);
  run(to, layers, {&operation, 1}, [&] { leave({}); });
  leave(request.tape == Tape::none ? TapeShape{} : TapeShape{request.x, request.tape, request.in_place});
  return to.captured;
}

bool run_backward(Layer& layer, const BackwardRequest& request, synfire_stream stream) {
  const Target to(layer.context()->device(), stream);
  const auto [tape, input] = layer.require_tape(request);
  const auto leave = [&] {
    for (Buffer* written : {request.grad_x_seq, request.grad_v_init, request.grad_w_init})
      if (written) written->mark_written();
    for (const GradientRequest& gradient : request.gradients) gradient.gradient->mark_written();
  };
  Layer* const layers[] = {&layer};
  run(to, layers, layer.backward(request, tape), leave);
  leave();
  return to.captured;
}

bool run(Context& context, const Recording& recording, synfire_stream stream) {
  const Target to(context.device(), stream);
  const auto leave = [&] {
    for (Buffer* buffer : recording.writes) buffer->mark_written();
  };
  run(to, recording.layers, recording.operations, leave);
  leave();
  return to.captured;
}

bool run_convert_spikes(Context& context, const ConvertSpikesRequest& request, synfire_stream stream) {
  const Target to(context.device(), stream);
  run(to, Operation(convert_spikes(request, to.device.is_host())), *request.destination);
  return to.captured;
}

bool run_count_spikes(Context& context, const CountSpikesRequest& request, synfire_stream stream) {
  const Target to(context.device(), stream);
  run(to, Operation(count_spikes(request, to.device.is_host())), *request.counts);
  return to.captured;
}

}  // namespace synfire::core
