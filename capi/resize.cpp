// The functions of synfire.h for nearest upsampling, borders of zeros, and their gradients.
#include "calls.hpp"

#include <operations/resize/resize.hpp>

namespace {

using namespace synfire;
using namespace synfire::capi;

template <class Desc>
operations::ResizeMaps maps_of(const Desc& desc) {
  return {desc.n_steps, desc.batch, desc.channels, desc.height, desc.width};
}
template <class Desc>
operations::UpsampleScales scales_of(const Desc& desc) {
  return {desc.scale_y, desc.scale_x};
}
template <class Desc>
operations::PadBorders borders_of(const Desc& desc) {
  return {desc.left, desc.right, desc.top, desc.bottom};
}
template <class Desc>
operations::ResizeBuffers buffers_of(const Operands<Desc>& given) {
  return {given.source.get(), given.destination.get()};
}
template <class Desc>
operations::ResizeGradients gradients_of(const Operands<Desc>& given) {
  return {given.grad_destination.get(), given.grad_source.get(), given.desc.accumulate == 1};
}

core::OperationList upsample_of(const Operands<synfire_upsample_desc>& given) {
  return operations::upsample(maps_of(given.desc), scales_of(given.desc), buffers_of(given));
}
core::OperationList upsample_backward_of(const Operands<synfire_upsample_backward_desc>& given) {
  return operations::upsample_backward(maps_of(given.desc), scales_of(given.desc), gradients_of(given));
}
core::OperationList pad_of(const Operands<synfire_pad_desc>& given) {
  return operations::pad(maps_of(given.desc), borders_of(given.desc), buffers_of(given));
}
core::OperationList pad_backward_of(const Operands<synfire_pad_backward_desc>& given) {
  return operations::pad_backward(maps_of(given.desc), borders_of(given.desc), gradients_of(given));
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_upsample(synfire_context context, const synfire_upsample_desc* desc,
                                             synfire_stream stream) noexcept {
  return run_now(__func__, context, desc, stream, upsample_of);
}

synfire_status SYNFIRE_CALL synfire_upsample_backward(synfire_context context,
                                                      const synfire_upsample_backward_desc* desc,
                                                      synfire_stream stream) noexcept {
  return run_now(__func__, context, desc, stream, upsample_backward_of);
}

synfire_status SYNFIRE_CALL synfire_pad(synfire_context context, const synfire_pad_desc* desc,
                                        synfire_stream stream) noexcept {
  return run_now(__func__, context, desc, stream, pad_of);
}

synfire_status SYNFIRE_CALL synfire_pad_backward(synfire_context context, const synfire_pad_backward_desc* desc,
                                                 synfire_stream stream) noexcept {
  return run_now(__func__, context, desc, stream, pad_backward_of);
}

synfire_status SYNFIRE_CALL synfire_graph_record_upsample(synfire_graph graph,
                                                          const synfire_upsample_desc* desc) noexcept {
  return record(__func__, graph, desc, upsample_of);
}

synfire_status SYNFIRE_CALL synfire_graph_record_upsample_backward(
    synfire_graph graph, const synfire_upsample_backward_desc* desc) noexcept {
  return record(__func__, graph, desc, upsample_backward_of);
}

synfire_status SYNFIRE_CALL synfire_graph_record_pad(synfire_graph graph, const synfire_pad_desc* desc) noexcept {
  return record(__func__, graph, desc, pad_of);
}

synfire_status SYNFIRE_CALL synfire_graph_record_pad_backward(synfire_graph graph,
                                                              const synfire_pad_backward_desc* desc) noexcept {
  return record(__func__, graph, desc, pad_backward_of);
}

}  // extern "C"
