#include "staging.hpp"

#include <graph/operands.hpp>

#include <utility>

namespace synfire::cuda {

using namespace synfire::core;

namespace {

// Marks an array whose data is an offset into the arena until place() turns it into an address.
constexpr int32_t memory_arena = -1;

void* offset_pointer(uint64_t offset) {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(offset));
}

}  // namespace

Staging::Staging(const OperationList& operations, const MachineOperations& own) : make_copy_(own.copy) {
  for (const Operation& operation : operations) {
    add(operation);
    ++recorded_;
  }
}

void Staging::append(Operation operation) {
  operations_.push_back(std::move(operation));
  serves_.push_back({recorded_});
}

Staging::Staged& Staging::staged(const View& array) {
  for (Staged& s : staged_)
    if (s.host == array.data && s.bytes >= array.bytes) return s;
  constexpr uint64_t alignment = 256;
  const uint64_t offset = arena_bytes_;
  arena_bytes_ += (array.bytes + alignment - 1) / alignment * alignment;
  return staged_.emplace_back(Staged{array.data, array.bytes, offset, false, 0});
}

// Redirects an input from pinned memory to the arena, with a copy unless the arena already holds it.
void Staging::read(View& array) {
  if (!array.data || array.memory != SYNFIRE_MEMORY_PINNED) return;
  Staged& s = staged(array);
  View place = array;
  place.data = offset_pointer(s.offset);
  place.memory = memory_arena;
  if (!s.current) {
    s.copy_in = operations_.size();
    append(make_copy_(array, place));
  } else if (serves_[s.copy_in].back() != recorded_) {
    serves_[s.copy_in].push_back(recorded_);
  }
  s.current = true;
  array = place;
}

// Redirects an output to the arena unless it is small enough to write in place. Returns true if a copy must follow.
bool Staging::written_through_arena(View& array, bool in_place) {
  if (!array.data) return false;
  forget(array);
  const uint64_t most = array.dtype == SYNFIRE_DTYPE_BITS ? zero_copy_bytes_of_words : zero_copy_bytes;
  if (array.memory != SYNFIRE_MEMORY_PINNED || (in_place && array.bytes <= most) || array.is_padded()) return false;
  Staged& s = staged(array);
  array.data = offset_pointer(s.offset);
  array.memory = memory_arena;
  return true;
}

void Staging::forget(const View& written) {
  if (written.memory != SYNFIRE_MEMORY_PINNED) return;
  for (Staged& s : staged_)
    if (overlaps(s.host, s.bytes, written.data, written.bytes)) s.current = false;
}

// Inputs first, because an output may overlap one and make its copy in the arena outdated.
void Staging::add(const Operation& original) {
  Operation op = original;
  for_each_operand(op, [&](const Operand<View>& operand) {
    if (!operand.is_in_place() && operand.access == Access::read) read(operand.view);
  });
  OperationList copies;
  for_each_operand(op, [&](const Operand<View>& operand) {
    if (!operand.is_written()) return;
    View& array = operand.view;
    const View host = array;
    if (operand.transfer == Transfer::direct) return forget(array);
    if (operand.access == Access::update) {
      if (array.memory != SYNFIRE_MEMORY_PINNED) return;
      read(array);
      forget(host);
      copies.push_back(make_copy_(array, host));
    } else if (written_through_arena(array, operand.transfer == Transfer::staged)) {
      copies.push_back(make_copy_(array, host));
    }
  });
  append(std::move(op));
  for (Operation& copy : copies) append(std::move(copy));
}

OperationList Staging::place(void* arena) const {
  OperationList placed = operations_;
  for (Operation& operation : placed)
    for_each_operand(operation, [&](const Operand<View>& operand) {
      View& array = operand.view;
      if (array.memory != memory_arena) return;
      array.data = static_cast<char*>(arena) + reinterpret_cast<uintptr_t>(array.data);  // until now an offset
      array.memory = SYNFIRE_MEMORY_DEVICE;
    });
  return placed;
}

}  // namespace synfire::cuda
