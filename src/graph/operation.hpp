// An operation, as a graph records and an eager call runs it: a type-erased value of one of the kinds in operations/,
// used through the kind's table. It holds checked addresses; its holder keeps the memory alive.
#ifndef SYNFIRE_GRAPH_OPERATION_HPP
#define SYNFIRE_GRAPH_OPERATION_HPP

#include "operand.hpp"

#include <cstddef>
#include <new>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace synfire::host {
class Launcher;
}
namespace synfire::cuda {
class Launcher;
struct GpuShape;
struct Hints;
}  // namespace synfire::cuda

namespace synfire::core {

class Replayed;

// The description of an operation in DOT output and profilers, beside the name of its kind.
struct OperationLabel {
  const Replayed* object = nullptr;  // that it belongs to, such as a layer
  std::string detail = {};           // of pictures: printable
  std::string known_as = {};         // as the caller calls it, printable
};

// The failure of a capture, so that the kind can report the cause.
enum class CaptureFault { broken, empty, count, node_type, not_joined };

// The table of a kind, made from its functions (operations/kind.hpp); a missing one is a compile error.
struct OperationKind {
  const char* name;  // "forward"
  bool
      calls_back;  // it runs the caller's code, which may change objects that the library's own operations never change
  void (*copy)(const void* from, void* to);
  void (*move)(void* from, void* to) noexcept;  // ends the life of `from`
  void (*destroy)(void* operation) noexcept;
  void (*operands)(void* operation, OperandVisitor visit);
  OperationLabel (*label)(const void* operation);
  // On the host: true if it is long enough for several threads; and the work.
  bool (*wants_threads)(const void* operation);
  void (*run)(const void* operation, host::Launcher& launcher);
  // On a GPU: hints for a capture, and the launches. Null in a build without CUDA.
  cuda::Hints (*hints)(const void* operation, const cuda::GpuShape& gpu);
  void (*enqueue)(const void* operation, cuda::Launcher& launcher);
  void (*fail_capture)(const void* operation, CaptureFault fault, const char* detail);  // throws
};

// The table of the kind K: declared beside K, defined in kinds/kinds.cpp.
template <class K>
struct KindOf {
  static const OperationKind table;
};
#define SYNFIRE_DECLARE_KIND(Name) \
  template <>                      \
  const synfire::core::OperationKind synfire::core::KindOf<synfire::operations::Name>::table

class Operation {
 public:
  static constexpr size_t capacity = 1984;

  template <class K>
    requires requires {
      std::remove_cvref_t<K>::name;
    }
  Operation(K&& operation) : kind_(&KindOf<std::remove_cvref_t<K>>::table) {
    using Kind = std::remove_cvref_t<K>;
    static_assert(sizeof(Kind) <= capacity);
    static_assert(alignof(Kind) <= alignof(std::max_align_t));
    static_assert(std::is_nothrow_move_constructible_v<Kind>, "lists move operations where nothing may fail");
    new (storage_) Kind(std::forward<K>(operation));
  }
  Operation(const Operation& other) : kind_(other.kind_) { kind_->copy(other.storage_, storage_); }
  Operation(Operation&& other) noexcept : kind_(std::exchange(other.kind_, nullptr)) {
    if (kind_) kind_->move(other.storage_, storage_);
  }
  Operation& operator=(Operation other) noexcept {
    if (kind_) kind_->destroy(storage_);
    kind_ = std::exchange(other.kind_, nullptr);
    if (kind_) kind_->move(other.storage_, storage_);
    return *this;
  }
  ~Operation() {
    if (kind_) kind_->destroy(storage_);
  }

  const OperationKind& kind() const noexcept { return *kind_; }
  const void* data() const noexcept { return storage_; }
  void* data() noexcept { return storage_; }
  template <class K>
  const K* as() const noexcept {
    return kind_ == &KindOf<K>::table ? std::launder(reinterpret_cast<const K*>(storage_)) : nullptr;
  }

  OperationLabel label() const { return kind_->label(storage_); }

 private:
  const OperationKind* kind_;  // null after a move
  alignas(std::max_align_t) std::byte storage_[capacity];
};

using OperationList = std::vector<Operation>;

}  // namespace synfire::core

#endif
