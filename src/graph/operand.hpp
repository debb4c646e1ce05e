// An operand: memory that an operation accesses, and how. Each kind states its operands once (operations/); staging,
// ordering, lifetimes and DOT output follow from that.
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
  scratch,  // temporary memory of the entry, undefined before it and after it
};

enum class Transfer {
  staged,       // inputs by a copy; outputs by a copy back, or in place where they are small
  accumulated,  // like staged, but never in place, because it is written repeatedly
  direct,       // in place: a copy itself, or the caller's own code
  shared,       // read in place, from the same memory in every slot: a data set, of which a replay needs little
};

// An operand with a `View`, or with a `const View` if the operation is constant.
template <class V>
struct Operand {
  const char* name;  // for error texts; "[]" in it stands for [index]
  V& view;
  Access access;
  Transfer transfer = Transfer::staged;
  const View* over = nullptr;  // another operand that this one may overwrite, element by element
  bool may_overlap = false;    // the caller's own code knows what it does
  int32_t index = -1;

  bool is_read() const noexcept { return access == Access::read || access == Access::update; }
  bool is_written() const noexcept { return access == Access::write || access == Access::update; }
  bool is_in_place() const noexcept { return transfer == Transfer::direct || transfer == Transfer::shared; }
  bool is_scratch() const noexcept { return access == Access::scratch; }
};

// Visits the operands of a kind. Absent operands have no bytes.
using OperandVisitor = FunctionRef<void(const Operand<View>&)>;

}  // namespace synfire::core

#endif
