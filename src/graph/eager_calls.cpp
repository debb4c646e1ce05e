#include "eager_calls.hpp"

#include "operands.hpp"
#include "scratch.hpp"

#include <base/replayed.hpp>
#include <base/shared_order.hpp>
#include <base/versioned.hpp>

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
  const auto for_each_replayed = [&](auto f) {
    for_each_operand(operations, [&](const Operand<const View>& operand) {
      if (Replayed* const object = replayed_of(operand.view)) f(*object);
    });
  };
  const auto note_written = [&] {
    for_each_operand(operations, [](const Operand<const View>& operand) {
      if (!operand.is_written()) return;
      if (Versioned* const object = versioned_of(operand.view)) object->mark_written();
    });
  };
  if (captured_) {
    // As in Graph::refresh_for_capture().
    for_each_replayed([](Replayed& object) { object.settle(); });
    for_each_replayed([](Replayed& object) { object.refresh(nullptr); });
    device.synchronize();
    device.execute_captured(operations, stream_);
    note_written();
    return true;
  }
  for_each_replayed([&](Replayed& object) { object.order_on(nullptr, stream_id(stream_)); });
  for_each_operand(operations, [&](const Operand<const View>& operand) {
    if (SharedObject* const object = shared_of(operand.view))
      object->order().use_on(nullptr, stream_id(stream_), operand.is_written());
  });
  for_each_replayed([&](Replayed& object) { object.refresh(stream_); });
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
