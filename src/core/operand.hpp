// An operand: one stretch of memory that an operation touches, and how. Each kind of operation states its operands once
// (operation.hpp); what moves memory, orders operations, keeps objects alive or draws them goes by that statement.
#ifndef SYNFIRE_CORE_OPERAND_HPP
#define SYNFIRE_CORE_OPERAND_HPP

#include <synfire/synfire.h>

#include <cstdint>
#include <type_traits>

namespace synfire::core {

class Object;

// A stretch of memory of a known kind; null data means "not given".
struct Array {
  void* data = nullptr;
  uint64_t bytes = 0;
  int32_t memory = SYNFIRE_MEMORY_DEVICE;
  int32_t dtype = SYNFIRE_DTYPE_F32;
  int64_t pitch = 0;    // elements from one step to the next, for arrays that have steps
  bool padded = false;  // the pitch is more than a row: there is foreign memory between the rows
  int64_t row = 0;      // elements of one step, for arrays that have steps
  Object* owner = nullptr;  // the buffer or layer whose memory it is; null: the replay's own
};

enum class Access {
  read,
  write,   // every element, or those that the operation has; what was there is not looked at
  update,  // read, then written
};

// How a machine with a memory of its own brings pinned memory to the operation.
enum class Transfer {
  staged,       // inputs by a copy; outputs by a copy back, or in place where they are small
  accumulated,  // as staged, but never in place: it is written again and again
  direct,       // in place: a copy itself, or the caller's own code
};

// Of an `Array`, or of a `const Array` where the operation is constant.
template <class A>
struct Operand {
  const char* name;  // for error texts; "[]" in it stands for [index]
  A& array;
  Access access;
  Transfer transfer = Transfer::staged;
  const Array* over = nullptr;  // another operand that this one may take the place of, element by element
  bool may_overlap = false;     // the caller's own code knows what it does
  int32_t index = -1;

  bool is_read() const noexcept { return access != Access::write; }
  bool is_written() const noexcept { return access != Access::read; }
};

// Operands of a const or mutable operation.
template <class Op>
using OperandOf = Operand<std::conditional_t<std::is_const_v<Op>, const Array, Array>>;

}  // namespace synfire::core

#endif
