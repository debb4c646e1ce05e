#include "eager_calls.hpp"

#include "operands.hpp"
#include "scratch.hpp"

#include <base/buffer.hpp>
#include <layer/layer.hpp>
#include <synapse/synapse.hpp>

namespace synfire::core {

EagerCall::EagerCall(Context& context, synfire_stream stream) : context_(context), stream_(stream) {
  context.device().check_stream(stream);
  captured_ = context.device().is_capturing(stream);
}

bool EagerCall::run(std::span<const Operation> operations, FunctionRef<void()> failed) const {
  const uint64_t bytes = scratch_bytes(operations);
  if (bytes == 0) return run_placed(operations, failed);
  OperationList placed(operations.begin(), operations.end());
  if (captured_) {
    // Replays of the caller's graph may use it for as long as that graph exists, which the library cannot know.
    place_scratch(placed, {}, context_.allocate_kept(bytes));
    return run_placed(placed, failed);
  }
  Scratch scratch;  // freeing waits for the device
  scratch.provide_once(context_.device(), bytes);
  place_scratch(placed, {}, scratch.get());
  return run_placed(placed, failed);
}

bool EagerCall::run_placed(std::span<const Operation> operations, FunctionRef<void()> failed) const {
  Device& device = context_.device();
  const auto for_each_layer = [&](auto f) {
    for_each_operand(operations, [&](const Operand<const View>& operand) {
      if (Layer* const layer = layer_of(operand.view)) f(*layer);
    });
  };
  const auto note_written = [&] {
    for_each_operand(operations, [](const Operand<const View>& operand) {
      Buffer* const buffer = buffer_of(operand.view);
      if (buffer && operand.is_written()) buffer->mark_written();
      Synapse* const synapse = synapse_of(operand.view);
      if (synapse && operand.is_written() && synapse->holds_weights(operand.view)) synapse->mark_written();
    });
  };
  if (captured_) {
    // As in Graph::refresh_for_capture().
    for_each_layer([](Layer& layer) { layer.settle(); });
    for_each_layer([](Layer& layer) { layer.refresh(nullptr); });
    device.synchronize();
    device.execute_captured(operations, stream_);
    note_written();
    return true;
  }
  for_each_layer([&](Layer& layer) { layer.order_on(nullptr, stream_id(stream_)); });
  for_each_operand(operations, [&](const Operand<const View>& operand) {
    if (SharedObject* const object = shared_of(operand.view))
      object->order().use_on(nullptr, stream_id(stream_), operand.is_written());
  });
  for_each_layer([&](Layer& layer) { layer.refresh(stream_); });
  try {
    device.execute(operations, stream_);
  } catch (...) {
    note_written();
    failed();
    throw;
  }
  note_written();
  return false;
}

bool run_now(Context& context, const OperationList& operations, synfire_stream stream) {
  return EagerCall(context, stream).run(operations);
}

}  // namespace synfire::core
