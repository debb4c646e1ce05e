#include "native_operation.hpp"

#include "error.hpp"

#include <exception>

namespace synfire::core {
namespace {

std::vector<synfire_memory> memories(const std::vector<Array>& arrays) {
  std::vector<synfire_memory> list;
  list.reserve(arrays.size());
  for (const Array& array : arrays) list.push_back({array.data, array.bytes});
  return list;
}

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
  synfire_status answer = SYNFIRE_OK;
  const char* thrown = nullptr;
  std::string text;
  try {
    const std::vector<synfire_memory> reads = memories(op.reads), writes = memories(op.writes);
    call.reads = reads.data();
    call.writes = writes.data();
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
