// Turns requests about upsampling and borders into checked operations.
#include "resize.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>
#include <graph/operands.hpp>
#include <operations/spikes/spike_views.hpp>

#include <cstdio>

namespace synfire::operations {

using namespace synfire::core;

namespace {

constexpr int64_t longest_axis = int64_t{1} << 29;
constexpr int32_t resized_dtypes[] = {SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64};

// The rules of a function.
struct ResizeRules {
  const char *shape, *overflow, *type;
};
constexpr ResizeRules upsample_rules = {"SYN-UPSAMPLE-SHAPE", "SYN-UPSAMPLE-OVERFLOW", "SYN-UPSAMPLE-TYPE"};
constexpr ResizeRules pad_rules = {"SYN-PAD-SHAPE", "SYN-PAD-OVERFLOW", "SYN-PAD-TYPE"};

int64_t map_axis(const ResizeRules& rules, const char* name, int64_t length) {
  check_length(rules.shape, name, length, Zero::means_one);
  if (length > longest_axis)
    fail_argument(rules.shape, "desc.%s is %lld; at most 2^29 is allowed", name, static_cast<long long>(length));
  return length == 0 ? 1 : length;
}

ResizeAxis upsampled_axis(const char* name, int64_t length, const char* scale_name, int64_t scale) {
  length = map_axis(upsample_rules, name, length);
  if (scale == 0) scale = 2;
  if (scale < 1 || scale > longest_axis || length * scale > longest_axis)
    fail_argument("SYN-UPSAMPLE-SCALE",
                  "desc.%s is %lld, with a %s of %lld; at least 1 (0 means 2) is needed, and at most 2^29 places",
                  scale_name, static_cast<long long>(scale), name, static_cast<long long>(length));
  return {static_cast<int32_t>(length), static_cast<int32_t>(length * scale), static_cast<int32_t>(scale), 0};
}

ResizeAxis padded_axis(const char* name, int64_t length, const char* before_name, int64_t before,
                       const char* after_name, int64_t after) {
  length = map_axis(pad_rules, name, length);
  const auto is_far = [&](int64_t border) { return border > longest_axis || border <= -length; };
  if (is_far(before) || is_far(after) || length + before + after > longest_axis ||
      length + (before < 0 ? before : 0) + (after < 0 ? after : 0) < 1)
    fail_argument("SYN-PAD-BORDER",
                  "desc.%s is %lld and desc.%s %lld, with a %s of %lld; at least 1 of it must stay, and at most 2^29 "
                  "places are allowed",
                  before_name, static_cast<long long>(before), after_name, static_cast<long long>(after), name,
                  static_cast<long long>(length));
  return {static_cast<int32_t>(length), static_cast<int32_t>(length + before + after), 1, static_cast<int32_t>(before)};
}

ResizeShape checked_maps(const ResizeRules& rules, const ResizeAxis& y, const ResizeAxis& x, int64_t channels) {
  check_length(rules.shape, "channels", channels);
  constexpr int64_t most = int64_t{1} << 40;
  ResizeShape shape = {y, x, channels};
  int64_t count = 0;
  if (__builtin_mul_overflow(shape.input_places(), channels, &count) || count > most ||
      __builtin_mul_overflow(shape.places(), channels, &count) || count > most)
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, rules.overflow, "a map has more than 2^40 elements");
  return shape;
}
View resized_view(const Buffer& buffer, const char* name, const Extents& e) {
  if (buffer.dtype() == SYNFIRE_DTYPE_BITS) return spike_view(buffer, name, e);
  return array_view(buffer, name, {e.n_steps, e.batch, e.n_neurons});
}

OperationList resize(const ResizeRules& rules, const ResizeMaps& maps, const ResizeShape& shape,
                     const ResizeBuffers& buffers) {
  Resize op = {};
  op.shape = shape;
  op.extents = checked_extents({maps.n_steps, maps.batch, shape.n_inputs()});
  const Extents outputs = checked_extents({maps.n_steps, maps.batch, shape.n_outputs()});
  check_type(*buffers.source, "desc.source", resized_dtypes);
  if (buffers.destination->dtype() != buffers.source->dtype())
    fail_argument(rules.type, "desc.source holds %s and desc.destination %s; both must have one type",
                  name_of_dtype(buffers.source->dtype()), name_of_dtype(buffers.destination->dtype()));
  op.source = resized_view(*buffers.source, "desc.source", op.extents);
  op.destination = resized_view(*buffers.destination, "desc.destination", outputs);
  OperationList operations = {op};
  check_overlap(operations);
  return operations;
}

OperationList resize_backward(const ResizeMaps& maps, const ResizeShape& shape, const ResizeGradients& buffers) {
  ResizeBackward op = {};
  op.shape = shape;
  op.extents = checked_extents({maps.n_steps, maps.batch, shape.n_inputs()});
  op.accumulate = buffers.accumulate;
  const Extents outputs = checked_extents({maps.n_steps, maps.batch, shape.n_outputs()});
  check_type(*buffers.grad_destination, "desc.grad_destination", arithmetic_dtypes);
  check_type(*buffers.grad_source, "desc.grad_source", buffers.grad_destination->dtype());
  op.grad_destination = resized_view(*buffers.grad_destination, "desc.grad_destination", outputs);
  op.grad_source = resized_view(*buffers.grad_source, "desc.grad_source", op.extents);
  OperationList operations = {op};
  check_overlap(operations);
  return operations;
}

OperationLabel resize_label(const ResizeShape& shape, const Extents& e) {
  char text[160];
  std::snprintf(text, sizeof text, "[%lld, %lld, %d x %d x %lld] to %d x %d", static_cast<long long>(e.n_steps),
                static_cast<long long>(e.batch), shape.y.n_inputs, shape.x.n_inputs,
                static_cast<long long>(shape.channels), shape.y.n_outputs, shape.x.n_outputs);
  return {nullptr, text};
}

}  // namespace

OperationLabel label(const Resize& op) {
  return resize_label(op.shape, op.extents);
}
OperationLabel label(const ResizeBackward& op) {
  return resize_label(op.shape, op.extents);
}

ResizeShape upsampled_shape(const ResizeMaps& maps, const UpsampleScales& scales) {
  return checked_maps(upsample_rules, upsampled_axis("height", maps.height, "scale_y", scales.y),
                      upsampled_axis("width", maps.width, "scale_x", scales.x), maps.channels);
}
ResizeShape padded_shape(const ResizeMaps& maps, const PadBorders& borders) {
  return checked_maps(pad_rules, padded_axis("height", maps.height, "top", borders.top, "bottom", borders.bottom),
                      padded_axis("width", maps.width, "left", borders.left, "right", borders.right), maps.channels);
}

OperationList upsample(const ResizeMaps& maps, const UpsampleScales& scales, const ResizeBuffers& buffers) {
  return resize(upsample_rules, maps, upsampled_shape(maps, scales), buffers);
}
OperationList upsample_backward(const ResizeMaps& maps, const UpsampleScales& scales, const ResizeGradients& buffers) {
  return resize_backward(maps, upsampled_shape(maps, scales), buffers);
}
OperationList pad(const ResizeMaps& maps, const PadBorders& borders, const ResizeBuffers& buffers) {
  return resize(pad_rules, maps, padded_shape(maps, borders), buffers);
}
OperationList pad_backward(const ResizeMaps& maps, const PadBorders& borders, const ResizeGradients& buffers) {
  return resize_backward(maps, padded_shape(maps, borders), buffers);
}

}  // namespace synfire::operations
