// The functions of synfire.h for the caller's own code in a graph.
#include "calls.hpp"

#include <operations/native/native.hpp>

#include <vector>

namespace {

using namespace synfire;
using namespace synfire::capi;

std::vector<core::Buffer*> buffers_of(const HeldList<synfire_buffer>& list) {
  std::vector<core::Buffer*> buffers;
  for (size_t i = 0; i < list.size(); ++i) buffers.push_back(list.buffer(i));
  return buffers;
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_graph_record_native(synfire_graph graph, const synfire_native_desc* desc) noexcept {
  return record_with(__func__, graph, desc, [](core::Graph& target, const auto& given) {
    operations::record_native(target, {.name = given.desc.name,
                                       .callback = given.desc.callback,
                                       .user = given.desc.user,
                                       .reads = buffers_of(given.reads),
                                       .writes = buffers_of(given.writes)});
  });
}

}  // extern "C"
