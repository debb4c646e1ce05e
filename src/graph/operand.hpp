// An operand: memory that an operation touches, and how. Each kind of operation states its operands once
// (operations/); what moves memory, orders operations, keeps objects alive or draws them goes by that statement.
#ifndef SYNFIRE_GRAPH_OPERAND_HPP
#define SYNFIRE_GRAPH_OPERAND_HPP

#include <base/function_ref.hpp>
#include <base/view.hpp>

#include <type_traits>

namespace synfire::core {

enum class Access {
  read,
  write,    // every element, or those that the operation has; what was there is not looked at
  update,   // read, then written
  scratch,  // memory for the time of the operation: `data` is null until the graph, or an eager call, gives some
};

// How a machine with a memory of its own brings pinned memory to the operation.
enum class Transfer {
  staged,       // inputs by a copy; outputs by a copy back, or in place where they are small
  accumulated,  // as staged, but never in place: it is written again and again
  direct,       // in place: a copy itself, or the caller's own code
};

// Of a `View`, or of a `const View` where the operation is constant.
template <class V>
struct Operand {
  const char* name;  // for error texts; "[]" in it stands for [index]
  V& view;
  Access access;
  Transfer transfer = Transfer::staged;
  const View* over = nullptr;  // another operand that this one may take the place of, element by element
  bool may_overlap = false;    // the caller's own code knows what it does
  int32_t index = -1;

  bool is_read() const noexcept { return access == Access::read || access == Access::update; }
  bool is_written() const noexcept { return access == Access::write || access == Access::update; }
  bool is_scratch() const noexcept { return access == Access::scratch; }
};

// What a kind hands its operands to, one after the other. Operands that are not given have no bytes.
using OperandVisitor = FunctionRef<void(const Operand<View>&)>;

}  // namespace synfire::core

#endif
