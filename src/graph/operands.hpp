// Derived from the operands of operations: iteration, ownership of memory, and checks of overlap.
#ifndef SYNFIRE_GRAPH_OPERANDS_HPP
#define SYNFIRE_GRAPH_OPERANDS_HPP

#include "operation.hpp"

#include <base/object.hpp>

#include <span>

namespace synfire::core {

class Buffer;

// Calls visit(Operand<View>), or visit(Operand<const View>) if the operation is constant, for each given operand.
template <class Visit>
void for_each_operand(Operation& operation, Visit visit) {
  operation.kind().operands(operation.data(), [&](const Operand<View>& operand) {
    if (operand.view.bytes > 0) visit(operand);
  });
}
template <class Visit>
void for_each_operand(const Operation& operation, Visit visit) {
  operation.kind().operands(const_cast<void*>(operation.data()), [&](const Operand<View>& o) {
    if (o.view.bytes > 0)
      visit(Operand<const View>{o.name, o.view, o.access, o.transfer, o.over, o.may_overlap, o.index});
  });
}
template <class Visit>
void for_each_operand(std::span<const Operation> operations, Visit visit) {
  for (const Operation& operation : operations) for_each_operand(operation, visit);
}

inline bool overlaps(const void* a, uint64_t a_bytes, const void* b, uint64_t b_bytes) {
  const auto a0 = reinterpret_cast<uintptr_t>(a), b0 = reinterpret_cast<uintptr_t>(b);
  return a0 < b0 + b_bytes && b0 < a0 + a_bytes;
}

// The owner of the memory, as this type; null if it is of another type.
Buffer* buffer_of(const View& view) noexcept;
inline Replayed* replayed_of(const View& view) noexcept {
  return view.owner ? view.owner->replayed() : nullptr;
}
inline SharedObject* shared_of(const View& view) noexcept {
  return view.owner ? view.owner->shared() : nullptr;
}
Versioned* versioned_of(const View& written) noexcept;

// Throws INVALID_ARGUMENT if an entry of one recorded operation writes a caller's memory that another operand uses,
// unless it may overwrite that operand.
void check_overlap(std::span<const Operation> operations);
// Throws INVALID_ARGUMENT if an operation writes a buffer that is only read.
void check_written(std::span<const Operation> operations);

}  // namespace synfire::core

#endif
