#include "native_operation.hpp"

#include "error.hpp"
#include "float_environment.hpp"

#include <exception>

namespace synfire::core {
namespace {

// In an array of their own for each call: a launch on the host calls the function and does not allocate.
class Memories {
 public:
  explicit Memories(const std::vector<Array>& arrays) noexcept {
    for (size_t i = 0; i < arrays.size(); ++i) list_[i] = {arrays[i].data, arrays[i].bytes};
  }
  const synfire_memory* data() const noexcept { return list_; }

 private:
  synfire_memory list_[most_native_buffers];
};

}  // namespace

std::string describe_native(const NativeOperation& op) {
  std::string text = std::string("native node ").append(std::to_string(op.number));
  if (!op.name.empty()) text.append(" \"").append(op.name).append("\"");
  return text;
}

void fail_native(const NativeOperation& op, const char* rule, const char* what) {
  fail(SYNFIRE_ERROR_CALLBACK, rule, "%s %s", describe_native(op).c_str(), what);
}

void call_native(const NativeOperation& op, synfire_stream stream, uint32_t slot) {
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
    thrown = "something that is no std::exception";
  }
  if (thrown)
    fail(SYNFIRE_ERROR_CALLBACK, "SYN-GRAPH-NATIVE", "the callback of %s threw: %s", describe_native(op).c_str(),
         thrown);
  if (answer < 0)
    fail(SYNFIRE_ERROR_CALLBACK, "SYN-GRAPH-NATIVE", "the callback of %s answered %d; 0 or more is success",
         describe_native(op).c_str(), answer);
}

}  // namespace synfire::core
