// Makes the table of a kind. A kind is a struct in `synfire::operations` with
//
//   static constexpr const char* name;               of pictures, profilers and error texts
//   static void operands(Op&, OperandVisitor);       all memory that it touches, and nothing else of it
//
// and these functions beside it, found by the kind:
//
//   OperationLabel label(const Op&);                 the layer that it belongs to, and what else a picture says
//   bool wants_threads(const Op&);                   whether the host should have its threads for it
//   void run(const Op&, host::Launcher&);            the work on processors
//   cuda::Hints hints(const Op&, const cuda::GpuShape&);
//   void enqueue(const Op&, cuda::Launcher&);        the launches on a GPU
//
// One that is missing is a compile-time error (kinds/kinds.cpp) or a link error. A kind may also have `calls_back` and
// fail_capture(): see native/.
#ifndef SYNFIRE_OPERATIONS_KIND_HPP
#define SYNFIRE_OPERATIONS_KIND_HPP

#include <graph/operation.hpp>

#if SYNFIRE_HAVE_CUDA
#include <backends/cuda/hints.hpp>
#endif

namespace synfire::operations {

using core::Access;
using core::Operand;
using core::OperandVisitor;
using core::OperationLabel;
using core::Transfer;
using core::View;

// Throws for a capture that went wrong, which launches of a library kind never cause.
[[noreturn]] void fail_own_capture(const char* name, core::CaptureFault fault, const char* detail);

template <class Op>
concept Kind = std::copy_constructible<Op> &&
    requires(Op& op, const Op& fixed, OperandVisitor visit, host::Launcher& host) {
  { Op::name } -> std::convertible_to<const char*>;
  Op::operands(op, visit);
  { label(fixed) } -> std::same_as<OperationLabel>;
  { wants_threads(fixed) } -> std::same_as<bool>;
  run(fixed, host);
};

template <Kind Op>
constexpr core::OperationKind make_kind() {
  core::OperationKind kind = {};
  kind.name = Op::name;
  if constexpr (requires { Op::calls_back; }) kind.calls_back = Op::calls_back;
  kind.copy = [](const void* from, void* to) { new (to) Op(*static_cast<const Op*>(from)); };
  kind.move = [](void* from, void* to) noexcept {
    new (to) Op(std::move(*static_cast<Op*>(from)));
    static_cast<Op*>(from)->~Op();
  };
  kind.destroy = [](void* op) noexcept { static_cast<Op*>(op)->~Op(); };
  kind.operands = [](void* op, OperandVisitor visit) { Op::operands(*static_cast<Op*>(op), visit); };
  kind.label = [](const void* op) { return label(*static_cast<const Op*>(op)); };
  kind.wants_threads = [](const void* op) { return wants_threads(*static_cast<const Op*>(op)); };
  kind.run = [](const void* op, host::Launcher& launcher) { run(*static_cast<const Op*>(op), launcher); };
#if SYNFIRE_HAVE_CUDA
  kind.hints = [](const void* op, const cuda::GpuShape& gpu) { return hints(*static_cast<const Op*>(op), gpu); };
  kind.enqueue = [](const void* op, cuda::Launcher& launcher) { enqueue(*static_cast<const Op*>(op), launcher); };
#endif
  kind.fail_capture = [](const void* op, core::CaptureFault fault, const char* detail) {
    if constexpr (requires { fail_capture(*static_cast<const Op*>(op), fault, detail); })
      fail_capture(*static_cast<const Op*>(op), fault, detail);
    else
      fail_own_capture(Op::name, fault, detail);
  };
  return kind;
}

}  // namespace synfire::operations

#endif
