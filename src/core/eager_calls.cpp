// The operation that a graph would record, run at once: on the stream that it is given, or into the caller's capture of
// it.
#include "eager_calls.hpp"

#include "operands.hpp"

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

// What a call leaves behind on a device that fails may have run in part: `failed` says what then holds of a layer's tape.
// Where the stream is captured, the operations are part of that now.
template <class Failed>
void run(const Target& to, std::span<const Operation> operations, Failed failed) {
  Device& device = to.device;
  const synfire_stream stream = to.stream;
  const auto for_each_layer = [&](auto f) {
    for_each_operand(operations, [&](const Operand<const Array>& operand) {
      if (Layer* const layer = layer_of(operand.array)) f(*layer);
    });
  };
  const auto note_written = [&] {
    for_each_operand(operations, [](const Operand<const Array>& operand) {
      Buffer* const buffer = buffer_of(operand.array);
      if (buffer && operand.is_written()) buffer->mark_written();
    });
  };
  if (to.captured) {
    // As Graph::refresh_for_capture() does.
    for_each_layer([](Layer& layer) { layer.settle(); });
    for_each_layer([](Layer& layer) { layer.refresh(nullptr); });
    device.synchronize();
    device.execute_captured(operations, stream);
    return note_written();
  }
  for_each_layer([&](Layer& layer) { layer.order_on(nullptr, stream_id(stream)); });
  for_each_layer([&](Layer& layer) { layer.refresh(stream); });
  try {
    device.execute(operations, stream);
  } catch (...) {
    note_written();
    failed();
    throw;
  }
  note_written();
}

}  // namespace

bool run_forward(Layer& layer, const ForwardRequest& request, synfire_stream stream) {
  const Target to(layer.context()->device(), stream);
  const Operation operation = layer.forward(request);  // in no list: an eager forward needs no memory
  run(to, {&operation, 1}, [&] { layer.set_tape({}, {}); });
  const TapeShape left =
      request.tape == Tape::none ? TapeShape{} : TapeShape{request.x, request.tape, request.in_place};
  layer.set_tape(left, layer.stamp(left.x));
  layer.expect_tape(left);
  return to.captured;
}

bool run_backward(Layer& layer, const BackwardRequest& request, synfire_stream stream) {
  const Target to(layer.context()->device(), stream);
  const auto [tape, input] = layer.require_tape(request);
  run(to, layer.backward(request, tape), [] {});
  return to.captured;
}

bool run_now(Context& context, const OperationList& operations, synfire_stream stream) {
  const Target to(context.device(), stream);
  run(to, operations, [] {});
  return to.captured;
}

}  // namespace synfire::core
