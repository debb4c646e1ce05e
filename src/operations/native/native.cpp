#include "native.hpp"

#include <backends/host/host_launcher.hpp>
#include <base/error.hpp>
#include <base/text.hpp>
#include <base/view_checks.hpp>
#include <platform/float_environment.hpp>

#if SYNFIRE_HAVE_CUDA
#include <backends/cuda/cuda_launcher.hpp>
#endif

#include <exception>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// An array on the stack, because a launch on the host calls the function and must not allocate.
class Memories {
 public:
  explicit Memories(const std::vector<View>& arrays) noexcept {
    for (size_t i = 0; i < arrays.size(); ++i) list_[i] = {arrays[i].data, arrays[i].bytes};
  }
  const synfire_memory* data() const noexcept { return list_; }

 private:
  synfire_memory list_[most_native_buffers];
};

// "native node 3 \"my kernel\"".
std::string describe(const Native& op) {
  std::string text = std::string("native node ").append(std::to_string(op.number));
  if (!op.known_as.empty()) text.append(" \"").append(op.known_as).append("\"");
  return text;
}

[[noreturn]] void fail_native(const Native& op, const char* rule, const char* what) {
  fail(SYNFIRE_ERROR_CALLBACK, rule, "%s %s", describe(op).c_str(), what);
}

// Calls the node's function. A negative status or an exception becomes a Failure that names the node.
void call_native(const Native& op, synfire_stream stream, uint32_t slot) {
  synfire_native_call call = SYNFIRE_NATIVE_CALL_INIT;
  call.slot = slot;
  call.stream = stream;
  call.n_reads = op.reads.size();
  call.n_writes = op.writes.size();
  const Memories reads(op.reads), writes(op.writes);
  call.reads = reads.data();
  call.writes = writes.data();
  synfire_status answer = SYNFIRE_OK;
  const char* thrown = nullptr;
  std::string text;
  try {
    const CallersFloatEnvironment theirs;
    answer = op.callback(op.user, &call);
  } catch (const std::exception& exception) {
    text = exception.what();
    thrown = text.c_str();
  } catch (...) {
    thrown = "something that is not a std::exception";
  }
  if (thrown)
    fail(SYNFIRE_ERROR_CALLBACK, "SYN-GRAPH-NATIVE", "the callback of %s threw: %s", describe(op).c_str(), thrown);
  if (answer < 0)
    fail(SYNFIRE_ERROR_CALLBACK, "SYN-GRAPH-NATIVE", "the callback of %s returned %d; 0 or more is success",
         describe(op).c_str(), answer);
}

}  // namespace

void Native::operands(Native& op, OperandVisitor visit) {
  const auto say = [&](const char* field, std::vector<View>& views, Access access) {
    int32_t index = 0;
    for (View& view : views) visit({field, view, access, Transfer::direct, nullptr, true, index++});
  };
  say("desc.reads[]", op.reads, Access::read);
  say("desc.writes[]", op.writes, Access::write);
}

OperationLabel label(const Native& op) {
  return {nullptr, "", op.known_as};
}

void run(const Native& op, host::Launcher& launcher) {
  call_native(op, nullptr, launcher.slot());
}

#if SYNFIRE_HAVE_CUDA
cuda::Hints hints(const Native&, const cuda::GpuShape&) {
  return {};
}

void enqueue(const Native& op, cuda::Launcher& launcher) {
  launcher.call([&](synfire_stream stream, uint32_t slot) { call_native(op, stream, slot); });
}
#endif

void fail_capture(const Native& op, CaptureFault fault, const char* detail) {
  switch (fault) {
    case CaptureFault::empty:
      fail_native(op, "SYN-GRAPH-NATIVE-EMPTY", "enqueued nothing on the stream that its callback was given");
    case CaptureFault::node_type:
      fail_native(op, "SYN-GRAPH-NATIVE-NODE",
                  std::string("enqueued a node of CUDA's type ")
                      .append(detail)
                      .append("; kernels, copies and fills are allowed")
                      .c_str());
    case CaptureFault::not_joined:
      fail_native(op, "SYN-GRAPH-NATIVE-JOIN", "forked work to another stream and did not join it again");
    case CaptureFault::count:  // only its callback knows
    case CaptureFault::broken:
      break;
  }
  fail_native(op, "SYN-GRAPH-NATIVE-CAPTURE",
              "broke the capture: its callback ended it, synchronised, or made a call that CUDA forbids in one");
}

void record_native(Graph& graph, const NativeRequest& request) {
  graph.record([&](Recorder& recorder) {
    Native operation = {
        recorder.number(), printable(request.name ? request.name : ""), request.callback, request.user, {}, {}};
    const auto views_of = [&](const std::vector<Buffer*>& buffers, const char* field, std::vector<View>& views) {
      for (size_t i = 0; i < buffers.size(); ++i) {
        const std::string name = std::string("desc.").append(field).append("[").append(std::to_string(i)).append("]");
        check_memory(*buffers[i], name.c_str());
        views.push_back(buffers[i]->view());
      }
    };
    views_of(request.reads, "reads", operation.reads);
    views_of(request.writes, "writes", operation.writes);
    OperationList operations;
    operations.emplace_back(std::move(operation));
    return operations;
  });
}

}  // namespace synfire::operations
