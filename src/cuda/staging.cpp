#include "staging.hpp"

namespace synfire::cuda {

using namespace synfire::core;

namespace {

// Marks an array whose data is an offset into the arena until place() makes it an address.
constexpr int32_t memory_arena = -1;

void* offset_pointer(uint64_t offset) { return reinterpret_cast<void*>(static_cast<uintptr_t>(offset)); }

bool overlaps(const void* a, uint64_t a_bytes, const void* b, uint64_t b_bytes) {
  const auto a0 = reinterpret_cast<uintptr_t>(a), b0 = reinterpret_cast<uintptr_t>(b);
  return a0 < b0 + b_bytes && b0 < a0 + a_bytes;
}

}  // namespace

Staging::Staging(const OperationList& operations) {
  for (const Operation& operation : operations) std::visit([this](const auto& op) { add(op); }, operation);
}

Staging::Staged& Staging::staged(const Array& array) {
  for (Staged& s : staged_)
    if (s.host == array.data && s.bytes >= array.bytes) return s;
  constexpr uint64_t alignment = 256;
  const uint64_t offset = arena_bytes_;
  arena_bytes_ += (array.bytes + alignment - 1) / alignment * alignment;
  return staged_.emplace_back(Staged{array.data, array.bytes, offset, false});
}

// Redirects an input from pinned memory to the arena, with a copy unless the arena already holds it.
void Staging::read(Array& array) {
  if (!array.data || array.memory != SYNFIRE_MEMORY_PINNED) return;
  Staged& s = staged(array);
  Array place = array;
  place.data = offset_pointer(s.offset);
  place.memory = memory_arena;
  if (!s.current) operations_.emplace_back(CopyOperation{array, place});
  s.current = true;
  array = place;
}

// Redirects an output to the arena unless it is small enough to be written in place; true when a copy back must follow.
bool Staging::written_through_arena(Array& array, uint64_t in_place_bytes) {
  if (!array.data) return false;
  forget(array);
  // A copy back would also write what lies between padded rows.
  if (array.memory != SYNFIRE_MEMORY_PINNED || array.bytes <= in_place_bytes || array.padded) return false;
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
  operations_.emplace_back(op);
  for (const CopyOperation& copy : copies) operations_.emplace_back(copy);
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
  operations_.emplace_back(op);
  for (const CopyOperation& copy : copies) operations_.emplace_back(copy);
}

void Staging::add(const ReduceOperation& original) {
  ReduceOperation op = original;
  const Array host = op.output;
  const bool copied = written_through_arena(op.output);
  operations_.emplace_back(op);
  if (copied) operations_.emplace_back(CopyOperation{op.output, host});
}

void Staging::add(const CopyOperation& op) {
  forget(op.destination);
  operations_.emplace_back(op);
}

void Staging::add(const FillOperation& op) {
  forget(op.array);
  operations_.emplace_back(op);
}

void Staging::add(const ResetStateOperation& op) { operations_.emplace_back(op); }

void Staging::add(const ConvertSpikesOperation& original) {
  ConvertSpikesOperation op = original;
  read(op.source);
  const Array host = op.destination;
  const bool copied = written_through_arena(op.destination);
  operations_.emplace_back(op);
  if (copied) operations_.emplace_back(CopyOperation{op.destination, host});
}

void Staging::add(const CountSpikesOperation& original) {
  CountSpikesOperation op = original;
  read(op.spikes);
  const Array host = op.counts;
  // Counts are added up, which is slow across the bus however few they are.
  const bool copied = written_through_arena(op.counts, 0);
  operations_.emplace_back(op);
  if (copied) operations_.emplace_back(CopyOperation{op.counts, host});
}

namespace {

// Turns the arena offsets of one operation into addresses.
struct Place {
  char* arena;

  void operator()(Array& array) const {
    if (array.memory != memory_arena) return;
    array.data = arena + reinterpret_cast<uintptr_t>(array.data);
    array.memory = SYNFIRE_MEMORY_DEVICE;
  }
  template <class... Arrays>
  void all(Arrays&... arrays) const {
    ((*this)(arrays), ...);
  }
  void operator()(ForwardOperation& op) const {
    all(op.x, op.spikes, op.v_in, op.v_out, op.v_final, op.v_seq, op.h_seq, op.w_in, op.w_out, op.w_final, op.w_seq);
  }
  void operator()(BackwardOperation& op) const {
    all(op.x, op.grad_spike, op.grad_v_seq, op.grad_v_final, op.grad_x, op.grad_v_init, op.grad_w_seq, op.grad_w_final,
        op.grad_w_init);
  }
  void operator()(ReduceOperation& op) const { all(op.output); }
  void operator()(CopyOperation& op) const { all(op.source, op.destination); }
  void operator()(FillOperation& op) const { all(op.array); }
  void operator()(ResetStateOperation&) const {}
  void operator()(ConvertSpikesOperation& op) const { all(op.source, op.destination); }
  void operator()(CountSpikesOperation& op) const { all(op.spikes, op.counts); }
};

}  // namespace

OperationList Staging::place(void* arena) const {
  OperationList placed = operations_;
  const Place place = {static_cast<char*>(arena)};
  for (Operation& operation : placed) std::visit(place, operation);
  return placed;
}

}  // namespace synfire::cuda
