// What follows from the operands of operations: every one in turn, who owns the memory, and outputs that meet other
// operands.
#ifndef SYNFIRE_CORE_OPERANDS_HPP
#define SYNFIRE_CORE_OPERANDS_HPP

#include "operation.hpp"

#include <concepts>
#include <span>

namespace synfire::core {

class Buffer;
class Layer;

// Calls visit(Operand<Array>), or visit(Operand<const Array>) where the operation is constant, for each operand that is
// given.
template <class Op, class Visit>
  requires std::same_as<std::remove_const_t<Op>, Operation>
void for_each_operand(Op& operation, Visit visit) {
  std::visit(
      [&](auto& op) {
        std::remove_cvref_t<decltype(op)>::operands(op, [&](const auto& operand) {
          if (operand.array.bytes > 0) visit(operand);
        });
      },
      operation);
}

template <class Visit>
void for_each_operand(std::span<const Operation> operations, Visit visit) {
  for (const Operation& operation : operations) for_each_operand(operation, visit);
}

inline bool overlaps(const void* a, uint64_t a_bytes, const void* b, uint64_t b_bytes) {
  const auto a0 = reinterpret_cast<uintptr_t>(a), b0 = reinterpret_cast<uintptr_t>(b);
  return a0 < b0 + b_bytes && b0 < a0 + a_bytes;
}

// The buffer, or the layer, that the memory belongs to; null when it belongs to another object or none.
Buffer* buffer_of(const Array& array) noexcept;
Layer* layer_of(const Array& array) noexcept;

// The entries of one recorded operation: throws INVALID_ARGUMENT where one writes a caller's memory that any other
// operand of them names too, unless it may take that one's place.
void check_overlap(std::span<const Operation> operations);

}  // namespace synfire::core

#endif
