// The functions of synfire.h for the caller's own code in a graph.
#include "pins.hpp"

#include <operations/native/native.hpp>

#include <string>
#include <vector>

namespace {

using namespace synfire;
using namespace synfire::capi;

class PinnedNative {
 public:
  PinnedNative(const synfire_native_desc* descriptor, const core::Context& context)
      : desc_(read_descriptor(descriptor, "desc")) {
    check_reserved(desc_.reserved, "desc.reserved");
    if (!desc_.callback) core::fail_argument("SYN-ARGUMENT-NULL", "desc.callback is null");
    pin(desc_.reads, desc_.n_reads, "reads", context, reads_);
    pin(desc_.writes, desc_.n_writes, "writes", context, writes_);
  }
  operations::NativeRequest request() const {
    operations::NativeRequest request = {desc_.name, desc_.callback, desc_.user, {}, {}};
    for (const PinnedBuffer& buffer : reads_) request.reads.push_back(buffer.get());
    for (const PinnedBuffer& buffer : writes_) request.writes.push_back(buffer.get());
    return request;
  }

 private:
  static void pin(const synfire_buffer* buffers, uint64_t count, const char* field, const core::Context& context,
                  std::vector<PinnedBuffer>& pinned_buffers) {
    constexpr uint64_t most = operations::most_native_buffers;
    const std::string name = std::string("desc.").append(field);
    if (count == 0) return;
    check_pointer(buffers, name.c_str());
    if (count > most)
      core::fail_argument("SYN-GRAPH-NATIVE-COUNT", "desc.n_%s is %llu; at most %llu are allowed", field,
                          static_cast<unsigned long long>(count), static_cast<unsigned long long>(most));
    for (uint64_t i = 0; i < count; ++i)
      pinned_buffers.push_back(
          required(buffers[i], std::string(name).append("[").append(std::to_string(i)).append("]").c_str(), context));
  }

  synfire_native_desc desc_;
  std::vector<PinnedBuffer> reads_, writes_;
};

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_graph_record_native(synfire_graph graph, const synfire_native_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto target = pinned(graph);
    const PinnedNative native(desc, *target->context());
    operations::record_native(*target, native.request());
    return SYNFIRE_OK;
  });
}

}  // extern "C"
