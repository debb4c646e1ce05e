// The functions of synfire.h for pools and their gradients.
#include "calls.hpp"

#include <operations/pool/pool.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

template <class Desc>
operations::PoolWindows windows_of(const Desc& desc) {
  return {desc.kind,      desc.n_steps,       desc.batch,        desc.channels, desc.height,
          desc.width,     desc.kernel_height, desc.kernel_width, desc.stride_y, desc.stride_x,
          desc.padding_y, desc.padding_x,     desc.count_bound};
}

operations::PoolRequest request_of(const Operands<synfire_pool_desc>& given) {
  return {windows_of(given.desc), given.source.get(), given.destination.get()};
}

operations::PoolBackwardRequest request_of(const Operands<synfire_pool_backward_desc>& given) {
  return {windows_of(given.desc), given.grad_destination.get(), given.source.get(), given.grad_source.get(),
          given.desc.accumulate == 1};
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_pool(synfire_context context, const synfire_pool_desc* desc,
                                         synfire_stream stream) noexcept {
  return run_now(__func__, context, desc, stream,
                 [](const auto& given) { return operations::pool(request_of(given)); });
}

synfire_status SYNFIRE_CALL synfire_pool_backward(synfire_context context, const synfire_pool_backward_desc* desc,
                                                  synfire_stream stream) noexcept {
  return run_now(__func__, context, desc, stream,
                 [](const auto& given) { return operations::pool_backward(request_of(given)); });
}

synfire_status SYNFIRE_CALL synfire_graph_record_pool(synfire_graph graph, const synfire_pool_desc* desc) noexcept {
  return record(__func__, graph, desc, [](const auto& given) { return operations::pool(request_of(given)); });
}

synfire_status SYNFIRE_CALL synfire_graph_record_pool_backward(synfire_graph graph,
                                                               const synfire_pool_backward_desc* desc) noexcept {
  return record(__func__, graph, desc, [](const auto& given) { return operations::pool_backward(request_of(given)); });
}

}  // extern "C"
