#include "eager_calls.hpp"

#include "memory_plan.hpp"
#include "operands.hpp"

#include <base/error.hpp>
#include <base/replayed.hpp>
#include <base/shared_order.hpp>
#include <base/versioned.hpp>

namespace synfire::core {

namespace {

// Memory of a single call, which writes it before it reads it. Freeing waits for the device.
class Temporary {
 public:
  Temporary(Device& device, uint64_t bytes) : device_(device), data_(device.allocate_scratch(bytes)) {}
  ~Temporary() { device_.release(SYNFIRE_MEMORY_DEVICE, data_); }
  Temporary(const Temporary&) = delete;
  Temporary& operator=(const Temporary&) = delete;

  void* data() const noexcept { return data_; }

 private:
  Device& device_;
  void* const data_;
};

void check_no_transient_buffers(std::span<const Operation> operations) {
  for_each_operand(operations, [](const Operand<const View>& operand) {
    if (operand.view.transient != 0 && operand.view.owner)
      fail_argument(
          "SYN-TRANSIENT-EAGER",
          "%s is a transient buffer, whose contents exist during the replay of a graph only; an operation that "
          "runs now needs memory",
          operand.name);
  });
}

}  // namespace

EagerCall::EagerCall(Context& context, synfire_stream stream) : context_(context), stream_(stream) {
  context.device().check_stream(stream);
  captured_ = context.device().is_capturing(stream);
}

bool EagerCall::run(std::span<const Operation> operations, FunctionRef<void()> failed) const {
  check_written(operations);
  if (!has_transients(operations)) return run_placed(operations, failed);
  check_no_transient_buffers(operations);
  OperationList placed(operations.begin(), operations.end());
  Transients transients;
  transients.number(placed);
  const Plan plan = make_plan(placed, transients.arrays());
  const auto place = [&](void* memory) { place_transients(placed, transients.arrays(), plan.offsets, memory); };
  if (captured_) {
    // Replays of the caller's graph may use it for as long as that graph exists, which the library cannot know.
    place(context_.allocate_kept(plan.arena_bytes));
    return run_placed(placed, failed);
  }
  const Temporary memory(context_.device(), plan.arena_bytes);
  place(memory.data());
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
