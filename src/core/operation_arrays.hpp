// Every array that an operation names, one after the other: to move them (slots, re-binding, staging), or to see what
// depends on what. Each kind of operation is listed here once.
#ifndef SYNFIRE_CORE_OPERATION_ARRAYS_HPP
#define SYNFIRE_CORE_OPERATION_ARRAYS_HPP

#include "operation.hpp"

namespace synfire::core {

enum class Access { read, write };

// Calls visit(Array &, Access) for the arrays of one operation, or visit(const Array &, Access) for those of a constant
// one; arrays that are not given are left out.
template <class Visit>
class ArrayVisitor {
 public:
  explicit ArrayVisitor(Visit& visit) : visit_(visit) {}

  template <class Op>
    requires requires(Op& op) { op.v_out; }  // a forward
  void operator()(Op& op) const {
    reads(op.x, op.v_in, op.w_in);
    writes(op.spikes, op.v_out, op.v_final, op.v_seq, op.h_seq, op.w_out, op.w_final, op.w_seq, op.tape_h);
  }
  template <class Op>
    requires requires(Op& op) { op.grad_spike; }  // a backward
  void operator()(Op& op) const {
    reads(op.x, op.tape_h, op.grad_spike, op.grad_v_seq, op.grad_v_final, op.grad_w_seq, op.grad_w_final);
    writes(op.grad_x, op.grad_v_init, op.grad_w_init);
  }
  template <class Op>
    requires requires(Op& op) { op.source; op.destination; }  // copies, conversions
  void operator()(Op& op) const {
    reads(op.source);
    if constexpr (requires { op.guard; }) reads(op.guard);
    writes(op.destination);
  }
  template <class Op>
    requires(requires(Op& op) { op.destination; op.bytes; })  // bytes that are part of the operation
  void operator()(Op& op) const {
    writes(op.destination);
  }
  template <class Op>
    requires requires(Op& op) { op.gradient; op.rate; }  // an update of a parameter
  void operator()(Op& op) const {
    reads(op.gradient);
  }
  void operator()(const SetParametersOperation&) const {}
  template <class Op>
    requires requires(Op& op) { op.spikes; op.counts; }
  void operator()(Op& op) const {
    reads(op.spikes);
    writes(op.counts);
  }
  template <class Op>
    requires requires(Op& op) { op.input; op.output; }  // a reduction
  void operator()(Op& op) const {
    writes(op.output);
  }
  void operator()(FillOperation& op) const { writes(op.array); }
  void operator()(const FillOperation& op) const { writes(op.array); }
  void operator()(ResetStateOperation& op) const { reads(op.mask); }
  void operator()(const ResetStateOperation& op) const { reads(op.mask); }
  template <class Op>
    requires requires(Op& op) { op.reads; op.writes; }  // a native node
  void operator()(Op& op) const {
    for (auto& array : op.reads) reads(array);
    for (auto& array : op.writes) writes(array);
  }

 private:
  template <class... Arrays>
  void reads(Arrays&... arrays) const {
    (one(arrays, Access::read), ...);
  }
  template <class... Arrays>
  void writes(Arrays&... arrays) const {
    (one(arrays, Access::write), ...);
  }
  template <class A>
  void one(A& array, Access access) const {
    if (array.bytes > 0) visit_(array, access);
  }

  Visit& visit_;
};

template <class Op, class Visit>
void for_each_array(Op& operation, Visit visit) {
  std::visit(ArrayVisitor<Visit>(visit), operation);
}

inline bool overlaps(const void* a, uint64_t a_bytes, const void* b, uint64_t b_bytes) {
  const auto a0 = reinterpret_cast<uintptr_t>(a), b0 = reinterpret_cast<uintptr_t>(b);
  return a0 < b0 + b_bytes && b0 < a0 + a_bytes;
}

}  // namespace synfire::core

#endif
