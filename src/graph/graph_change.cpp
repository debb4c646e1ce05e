// Changes between the replays of a graph: values, enabled operations, and buffers.
#include "graph.hpp"

#include <base/error.hpp>
#include "operands.hpp"

#include <algorithm>

namespace synfire::core {

void Graph::check_operation(int32_t operation) const {
  if (operation < 0 || static_cast<size_t>(operation) >= enabled_.size())
    fail_argument("SYN-GRAPH-OPERATION", "operation is %d; %zu operations are recorded in this graph, from 0 on",
                  operation, enabled_.size());
}

void Graph::set_value(int32_t operation, const char* name, double value) {
  const Exclusive exclusive(use_);
  change_value(operation, name, value);
}

void Graph::change_value(int32_t operation, const char* name, double value) {
  check_operation(operation);
  values_.set(static_cast<uint32_t>(operation), name, value);
}

void Graph::change_whole(int32_t operation, const char* name, uint64_t value) {
  check_operation(operation);
  values_.set_whole(static_cast<uint32_t>(operation), name, value);
}

uint64_t Graph::Hold::counted(int32_t operation, const char* name) const {
  graph_->check_operation(operation);
  if (graph_->instantiated_.load(std::memory_order_relaxed)) graph_->finish();
  return graph_->values_.counted(static_cast<uint32_t>(operation), name);
}

void Graph::set_enabled(int32_t operation, bool enabled) {
  const Exclusive exclusive(use_);
  check_operation(operation);
  uint8_t& flag = enabled_[static_cast<size_t>(operation)];
  if (flag == static_cast<uint8_t>(enabled)) return;
  const bool instantiated = instantiated_.load(std::memory_order_relaxed);
  if (instantiated) replay_->set_enabled(static_cast<uint32_t>(operation), enabled);
  flag = enabled ? 1 : 0;
  if (instantiated) plan_launches();
}

namespace {

std::string describe(const Buffer& buffer) {
  const View& array = buffer.view();
  std::string text =
      std::string(name_of_memory(buffer.memory())).append(" memory, ").append(name_of_dtype(buffer.dtype()));
  if (buffer.shape().rank > 0)
    text.append(" ").append(lengths_text(buffer.shape().all()));
  else
    text.append("[").append(std::to_string(array.bytes / bytes_of_dtype(buffer.dtype()))).append("]");
  if (buffer.row_pitch() != 0) text.append(", row_pitch ").append(std::to_string(buffer.row_pitch()));
  return text;
}

}  // namespace

// Stays within the room that rebind() has made. The graph may use `now` already.
void Graph::rebind_indices(Buffer& before, Buffer& now) noexcept {
  const uint32_t kept = buffers_at_.find(&before);
  buffers_at_.set(&before, AddressIndex::none);
  if (buffers_at_.find(&now) == AddressIndex::none) buffers_at_.set(&now, kept);

  writes_.rebind(before, now);
}

void Graph::rebind(Buffer& before, Buffer& now) {
  const Exclusive exclusive(use_);
  if (buffers_at_.find(&before) == AddressIndex::none)
    fail_argument("SYN-REBIND-UNKNOWN", "old_buffer (%s) is used by no operation of this graph",
                  describe(before).c_str());
  if (&before == &now) return;
  for (const Buffer* const buffer : {&before, &now})
    if (buffer->is_transient())
      fail_argument("SYN-REBIND-TRANSIENT", "%s (%s) is transient: it has no memory for which another could be used",
                    buffer == &before ? "old_buffer" : "new_buffer", describe(*buffer).c_str());
  const View& from = before.view();
  const View& to = now.view();
  if (before.dtype() != now.dtype() || from.bytes != to.bytes || from.memory != to.memory ||
      before.row_pitch() != now.row_pitch())
    fail_argument("SYN-REBIND-SHAPE", "new_buffer is %s; old_buffer is %s, and both must be the same",
                  describe(now).c_str(), describe(before).c_str());
  const auto inside = [&](const View& array) { return overlaps(array.data, array.bytes, from.data, from.bytes); };
  OperationList operations = operations_;
  for (size_t i = 0; i < operations.size(); ++i) {
    bool named = false;
    for_each_operand(operations[i], [&](const Operand<View>& operand) { named |= inside(operand.view); });
    if (!named) continue;
    for_each_operand(operations[i], [&](const Operand<View>& operand) {
      View& array = operand.view;
      if (!inside(array)) {
        if (overlaps(array.data, array.bytes, to.data, to.bytes))
          fail_argument("SYN-BUFFER-OVERLAP",
                        "new_buffer overlaps in memory with another array of operation %u, which old_buffer did not",
                        owners_[i]);
        return;
      }
      // Operands recorded through another buffer over the same memory move too, if they are entirely inside.
      const auto offset = static_cast<char*>(array.data) - static_cast<char*>(from.data);
      if (offset >= 0 && static_cast<uint64_t>(offset) + array.bytes <= from.bytes)
        array.data = static_cast<char*>(to.data) + offset;
      if (array.owner != &before) return;
      if (array.rank > 0 && !fits(now.shape(), {array.shape, static_cast<size_t>(array.rank)}))
        fail_argument("SYN-REBIND-SHAPE", "new_buffer has shape %s; operation %u needs %s",
                      lengths_text(now.shape().all()).c_str(), owners_[i],
                      lengths_text({array.shape, static_cast<size_t>(array.rank)}).c_str());
      if (operand.is_written()) now.check_may_be_written("new_buffer");
      array.owner = &now;
    });
  }
  buffers_at_.make_room(1);
  writes_.make_room(1);
  std::vector<Ref<Buffer>> buffers = buffers_;
  for (Ref<Buffer>& buffer : buffers)
    if (buffer.get() == &before) buffer = Ref<Buffer>(&now);
  if (instantiated_.load(std::memory_order_relaxed)) {
    const std::vector<Ref<Buffer>> slotted = buffers_with_slots(operations, buffers);
    auto slots = std::make_unique<Slots>(device(), slotted, slot_count());
    replay_->rebuild(plan(operations, *slots));
    const std::lock_guard lock(slots_mutex_);
    for (const Ref<Buffer>& buffer : slotted)
      if (buffer.get() != &now) slots->take_over(*slots_, *buffer, slot_count());
    slots_ = std::move(slots);
    buffers_.swap(buffers);  // under the lock: slot_memory() reads both
  } else {
    buffers_.swap(buffers);
  }
  operations_ = std::move(operations);
  rebind_indices(before, now);
  for (TapeKeeper& keeper : keepers_) keeper.rebind(before, now);
  if (instantiated_.load(std::memory_order_relaxed)) plan_launches();
}

}  // namespace synfire::core
