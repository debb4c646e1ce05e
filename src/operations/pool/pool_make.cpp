// Turns requests about pools into checked operations.
#include "pool.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>
#include <graph/operands.hpp>
#include <operations/spikes/spike_views.hpp>

#include <cstdio>

namespace synfire::operations {

using namespace synfire::core;

namespace {

constexpr int64_t longest = int64_t{1} << 29;
// f32 holds integers below this.
constexpr int64_t most_in_f32 = int64_t{1} << 24;

struct AxisFields {
  const char *axis, *kernel_name, *stride_name, *padding_name;
  int64_t length, kernel, stride, padding;
};

void check_range(const char* name, int64_t value, int64_t least, const char* otherwise) {
  if (value < least || value > longest)
    fail_argument("SYN-POOL-WINDOW", "desc.%s is %lld; %lld to 2^29 are allowed%s", name, static_cast<long long>(value),
                  static_cast<long long>(least), otherwise);
}

WindowAxis axis_of(AxisFields f) {
  if (f.length == 0) f.length = 1;
  check_range(f.axis, f.length, 1, " (0 means 1)");
  if (f.kernel == 0) f.kernel = f.length;
  if (f.stride == 0) f.stride = f.kernel;
  check_range(f.kernel_name, f.kernel, 1, " (0 means the whole map)");
  check_range(f.stride_name, f.stride, 1, " (0 means the kernel)");
  check_range(f.padding_name, f.padding, 0, "");
  if (f.padding > f.kernel / 2)
    fail_argument("SYN-POOL-PADDING", "desc.%s is %lld and desc.%s %lld; a padding is at most half of the window",
                  f.padding_name, static_cast<long long>(f.padding), f.kernel_name, static_cast<long long>(f.kernel));
  const int64_t padded = f.length + 2 * f.padding;
  if (f.kernel > padded || padded > longest)
    fail_argument("SYN-POOL-WINDOW",
                  "desc.%s is %lld, but the padded map has a %s of %lld (desc.%s is %lld, desc.%s %lld)", f.kernel_name,
                  static_cast<long long>(f.kernel), f.axis, static_cast<long long>(padded), f.axis,
                  static_cast<long long>(f.length), f.padding_name, static_cast<long long>(f.padding));
  WindowAxis axis;
  axis.n_inputs = static_cast<int32_t>(f.length);
  axis.n_outputs = static_cast<int32_t>((padded - f.kernel) / f.stride + 1);
  axis.kernel = static_cast<int32_t>(f.kernel);
  axis.stride = static_cast<int32_t>(f.stride);
  axis.padding = static_cast<int32_t>(f.padding);
  return axis;
}

int32_t bound_of(const PoolWindows& w) {
  if (w.count_bound < 0 || w.count_bound > 255)
    fail_argument("SYN-POOL-BOUND", "desc.count_bound is %d; 1 to 255 are allowed (0 means 1)", w.count_bound);
  return w.count_bound == 0 ? 1 : w.count_bound;
}

constexpr int32_t source_dtypes[] = {SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64};

bool is_value(int32_t dtype) {
  return dtype == SYNFIRE_DTYPE_F32 || dtype == SYNFIRE_DTYPE_F64;
}

View view_of(const Buffer& buffer, const char* name, const Extents& e) {
  if (buffer.dtype() == SYNFIRE_DTYPE_BITS) return spike_view(buffer, name, e);
  return stepped(buffer, name, {e.n_steps, e.batch, e.n_neurons},
                 std::string(name_of_dtype(buffer.dtype())).append(" ").append(shape_text(e)));
}

// Sums of spikes and counts are counts if a byte holds them, or else f32; means are f32.
void check_destination(const Pool& op, const Buffer& source, const Buffer& destination) {
  check_type(destination, "desc.destination", source_dtypes);
  const int32_t from = source.dtype(), to = destination.dtype();
  const bool of_counts = !is_value(from) && op.kind != PoolKind::max;
  if (!of_counts) {
    if (to != from)
      fail_argument("SYN-POOL-TYPE", "desc.source holds %s and desc.destination %s; both must have one type",
                    name_of_dtype(from), name_of_dtype(to));
    return;
  }
  const int64_t most = op.shape.window() > most_in_f32 ? most_in_f32 : op.shape.window() * op.bound;
  if (to == SYNFIRE_DTYPE_U8 && op.kind == PoolKind::sum) {
    if (most > 255)
      fail_argument(
          "SYN-POOL-BOUND",
          "a window of %d x %d has counts of up to %d each, so a sum may be %lld; desc.destination in u8 holds "
          "255, in f32 less than 2^24",
          op.shape.y.kernel, op.shape.x.kernel, op.bound, static_cast<long long>(most));
    return;
  }
  if (to != SYNFIRE_DTYPE_F32)
    fail_argument("SYN-POOL-TYPE", "desc.destination holds %s; a %s of spikes or counts is %s", name_of_dtype(to),
                  op.kind == PoolKind::sum ? "sum" : "mean", op.kind == PoolKind::sum ? "u8 or f32" : "f32");
  check_sums_in_f32(op.shape, op.bound);
}

std::string label_text(const PoolShape& shape, const Extents& e) {
  char text[160];
  std::snprintf(text, sizeof text, "%d x %d of [%lld, %lld, %d x %d x %lld]", shape.y.kernel, shape.x.kernel,
                static_cast<long long>(e.n_steps), static_cast<long long>(e.batch), shape.y.n_inputs, shape.x.n_inputs,
                static_cast<long long>(shape.channels));
  return text;
}

}  // namespace

PoolShape pool_shape(const PoolWindows& w) {
  PoolShape shape;
  shape.y =
      axis_of({"height", "kernel_height", "stride_y", "padding_y", w.height, w.kernel_height, w.stride_y, w.padding_y});
  shape.x =
      axis_of({"width", "kernel_width", "stride_x", "padding_x", w.width, w.kernel_width, w.stride_x, w.padding_x});
  if (w.channels < 1 || w.channels > (int64_t{1} << 40))
    fail_argument("SYN-POOL-WINDOW", "desc.channels is %lld; 1 to 2^40 are allowed",
                  static_cast<long long>(w.channels));
  shape.channels = w.channels;
  int64_t count = 0;
  if (__builtin_mul_overflow(shape.input_places(), shape.channels, &count) || count > (int64_t{1} << 40) ||
      __builtin_mul_overflow(shape.places(), shape.channels, &count) || count > (int64_t{1} << 40))
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-POOL-OVERFLOW", "a map has more than 2^40 elements");
  return shape;
}

void check_sums_in_f32(const PoolShape& shape, int32_t bound) {
  if (shape.window() < most_in_f32 && shape.window() * bound < most_in_f32) return;
  fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-POOL-BOUND",
       "a window of %d x %d with counts of up to %d each may sum to 2^24 or more, which f32 does not hold exactly",
       shape.y.kernel, shape.x.kernel, bound);
}

OperationLabel label(const Pool& op) {
  return {nullptr, label_text(op.shape, op.extents)};
}
OperationLabel label(const PoolBackward& op) {
  return {nullptr, label_text(op.shape, op.extents)};
}

OperationList pool(const PoolRequest& request) {
  const PoolWindows& w = request.windows;
  Pool op = {};
  op.kind = static_cast<PoolKind>(w.kind);
  op.shape = pool_shape(w);
  op.bound = bound_of(w);
  op.extents = checked_extents({w.n_steps, w.batch, op.shape.n_inputs()});
  const Extents outputs = checked_extents({w.n_steps, w.batch, op.shape.n_outputs()});
  check_type(*request.source, "desc.source", source_dtypes);
  check_destination(op, *request.source, *request.destination);
  op.source = view_of(*request.source, "desc.source", op.extents);
  op.destination = view_of(*request.destination, "desc.destination", outputs);
  OperationList operations = {op};
  check_overlap(operations);
  return operations;
}

OperationList pool_backward(const PoolBackwardRequest& request) {
  const PoolWindows& w = request.windows;
  PoolBackward op = {};
  op.kind = static_cast<PoolKind>(w.kind);
  op.shape = pool_shape(w);
  op.bound = bound_of(w);
  op.extents = checked_extents({w.n_steps, w.batch, op.shape.n_inputs()});
  op.accumulate = request.accumulate;
  const Extents outputs = checked_extents({w.n_steps, w.batch, op.shape.n_outputs()});
  check_type(*request.grad_destination, "desc.grad_destination", arithmetic_dtypes);
  check_type(*request.grad_source, "desc.grad_source", request.grad_destination->dtype());
  if (op.kind == PoolKind::max) {
    if (!request.source) fail_argument("SYN-POOL-SOURCE", "desc.source is null; the gradient of a maximum needs it");
    check_type(*request.source, "desc.source", source_dtypes);
    op.source = view_of(*request.source, "desc.source", op.extents);
  }
  op.grad_destination = view_of(*request.grad_destination, "desc.grad_destination", outputs);
  op.grad_source = view_of(*request.grad_source, "desc.grad_source", op.extents);
  op.host_places = host_places_of(request.grad_source->context()->device(), op);
  OperationList operations = {op};
  check_overlap(operations);
  return operations;
}

}  // namespace synfire::operations
