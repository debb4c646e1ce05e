// A native node: the caller's own code between two operations of a graph. On CUDA its function enqueues work, when the
// graph is captured or, without a capture, at each replay; on the host it does the work at each replay.
#ifndef SYNFIRE_OPERATIONS_NATIVE_NATIVE_HPP
#define SYNFIRE_OPERATIONS_NATIVE_NATIVE_HPP

#include <graph/graph.hpp>
#include <operations/kind.hpp>

#include <string>
#include <vector>

namespace synfire::operations {

inline constexpr uint64_t most_native_buffers = 64;  // read, and as many written

struct Native {
  uint32_t number;       // of the operation in its graph, for error texts
  std::string known_as;  // the caller's name for it, printable
  synfire_native_callback callback;
  void* user;
  std::vector<View> reads, writes;

  static constexpr const char* name = "native";
  static constexpr bool calls_back = true;
  static void operands(Native& op, OperandVisitor visit);
};
OperationLabel label(const Native& op);
inline bool wants_threads(const Native&) {
  return false;
}
void run(const Native& op, host::Launcher& launcher);
cuda::Hints hints(const Native& op, const cuda::GpuShape& gpu);
void enqueue(const Native& op, cuda::Launcher& launcher);
[[noreturn]] void fail_capture(const Native& op, core::CaptureFault fault, const char* detail);

struct NativeRequest {
  const char* name;  // may be null
  synfire_native_callback callback;
  void* user;
  std::vector<core::Buffer*> reads, writes;
};
void record_native(core::Graph& graph, const NativeRequest& request);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(Native);

#endif
