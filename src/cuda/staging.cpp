#include "staging.hpp"

#include <core/operation_arrays.hpp>

namespace synfire::cuda {

using namespace synfire::core;

namespace {

// Marks an array whose data is an offset into the arena until place() makes it an address.
constexpr int32_t memory_arena = -1;

void* offset_pointer(uint64_t offset) {
  return reinterpret_cast<void*>(static_cast<uintptr_t>(offset));
}

}  // namespace

Staging::Staging(const OperationList& operations) {
  for (const Operation& operation : operations) {
    std::visit([this](const auto& op) { add(op); }, operation);
    ++recorded_;
  }
}

void Staging::append(Operation operation) {
  operations_.push_back(std::move(operation));
  users_.push_back({recorded_});
}

Staging::Staged& Staging::staged(const Array& array) {
  for (Staged& s : staged_)
    if (s.host == array.data && s.bytes >= array.bytes) return s;
  constexpr uint64_t alignment = 256;
  const uint64_t offset = arena_bytes_;
  arena_bytes_ += (array.bytes + alignment - 1) / alignment * alignment;
  return staged_.emplace_back(Staged{array.data, array.bytes, offset, false, 0});
}

// Redirects an input from pinned memory to the arena, with a copy unless the arena already holds it.
void Staging::read(Array& array) {
  if (!array.data || array.memory != SYNFIRE_MEMORY_PINNED) return;
  Staged& s = staged(array);
  Array place = array;
  place.data = offset_pointer(s.offset);
  place.memory = memory_arena;
  if (!s.current) {
    s.copy_in = operations_.size();
    append(CopyOperation{array, place});
  } else if (users_[s.copy_in].back() != recorded_) {
    users_[s.copy_in].push_back(recorded_);
  }
  s.current = true;
  array = place;
}

// Redirects an output to the arena unless it is small enough to be written in place; true when a copy back must follow.
bool Staging::written_through_arena(Array& array, bool in_place) {
  if (!array.data) return false;
  forget(array);
  const uint64_t most = array.dtype == SYNFIRE_DTYPE_BITS ? zero_copy_bytes_of_words : zero_copy_bytes;
  // A copy back would also write what lies between padded rows.
  if (array.memory != SYNFIRE_MEMORY_PINNED || (in_place && array.bytes <= most) || array.padded) return false;
  Staged& s = staged(array);
  array.data = offset_pointer(s.offset);
  array.memory = memory_arena;
  return true;
}

void Staging::forget(const Array& written) {
  if (written.memory != SYNFIRE_MEMORY_PINNED) return;
  for (Staged& s : staged_)
    if (overlaps(s.host, s.bytes, written.data, written.bytes)) s.current = false;
}

void Staging::add(const ForwardOperation& original) {
  ForwardOperation op = original;
  read(op.x);
  if (!op.v_out.data) {
    read(op.v_in);
    read(op.w_in);
  }
  Array* const outputs[] = {&op.spikes, &op.v_final, &op.v_seq, &op.h_seq, &op.w_final, &op.w_seq};
  std::vector<CopyOperation> copies;
  for (Array* output : outputs) {
    const Array host = *output;
    if (written_through_arena(*output)) copies.push_back({*output, host});
  }
  append(op);
  for (const CopyOperation& copy : copies) append(copy);
}

void Staging::add(const BackwardOperation& original) {
  BackwardOperation op = original;
  read(op.x);
  read(op.grad_spike);
  read(op.grad_v_seq);
  read(op.grad_v_final);
  read(op.grad_w_seq);
  read(op.grad_w_final);
  Array* const outputs[] = {&op.grad_x, &op.grad_v_init, &op.grad_w_init};
  std::vector<CopyOperation> copies;
  for (Array* output : outputs) {
    const Array host = *output;
    if (written_through_arena(*output)) copies.push_back({*output, host});
  }
  append(op);
  for (const CopyOperation& copy : copies) append(copy);
}

void Staging::add(const ReduceOperation& original) {
  ReduceOperation op = original;
  const Array host = op.output;
  const bool copied = written_through_arena(op.output);
  append(op);
  if (copied) append(CopyOperation{op.output, host});
}

void Staging::add(const CopyOperation& op) {
  forget(op.destination);
  append(op);
}

void Staging::add(const FillOperation& op) {
  forget(op.array);
  append(op);
}

void Staging::add(const ResetStateOperation& original) {
  ResetStateOperation op = original;
  read(op.mask);
  append(op);
}

// What is added to is read first, and every element of it is written.
void Staging::add(const ScaleAddOperation& original) {
  ScaleAddOperation op = original;
  const Array host = op.destination;
  read(op.source);
  read(op.destination);
  append(op);
  if (host.memory != SYNFIRE_MEMORY_PINNED) return;
  append(CopyOperation{op.destination, host});
  forget(host);
}

// Snapshots go where they belong at once: nothing else reads them in the same replay but a restore.
void Staging::add(const WriteBytesOperation& op) {
  forget(op.destination);
  append(op);
}

void Staging::add(const GuardedCopyOperation& op) {
  append(op);
}

void Staging::add(const SetParametersOperation& op) {
  append(op);
}

void Staging::add(const UpdateParameterOperation& original) {
  UpdateParameterOperation op = original;
  read(op.gradient);
  append(op);
}

void Staging::add(const ConvertSpikesOperation& original) {
  ConvertSpikesOperation op = original;
  read(op.source);
  const Array host = op.destination;
  const bool copied = written_through_arena(op.destination);
  append(op);
  if (copied) append(CopyOperation{op.destination, host});
}

void Staging::add(const CountSpikesOperation& original) {
  CountSpikesOperation op = original;
  read(op.spikes);
  const Array host = op.counts;
  // Counts are added up, which is slow across the bus however few they are.
  const bool copied = written_through_arena(op.counts, false);
  append(op);
  if (copied) append(CopyOperation{op.counts, host});
}

// The caller's kernels read and write pinned memory where it is.
void Staging::add(const NativeOperation& op) {
  for (const Array& array : op.writes) forget(array);
  append(op);
}

OperationList Staging::place(void* arena) const {
  OperationList placed = operations_;
  for (Operation& operation : placed)
    for_each_array(operation, [&](Array& array, Access) {
      if (array.memory != memory_arena) return;
      array.data = static_cast<char*>(arena) + reinterpret_cast<uintptr_t>(array.data);  // an offset until now
      array.memory = SYNFIRE_MEMORY_DEVICE;
    });
  return placed;
}

}  // namespace synfire::cuda
