// Turns requests about normalisations into checked operations.
#include "normalize.hpp"
#include "normalize_work_of.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>
#include <graph/operands.hpp>
#include <operations/reduce/reduce.hpp>

#include <cstdio>

namespace synfire::operations {

using namespace synfire::core;

namespace {

Extents extents_of(const ChannelShape& shape) {
  return {shape.n_steps, shape.batch, shape.image()};
}

ChannelShape checked_channels(const NormalizeMaps& maps) {
  constexpr const char* rule = "SYN-NORMALIZE-SHAPE";
  check_length(rule, "n_steps", maps.n_steps);
  check_length(rule, "channels", maps.channels);
  check_length(rule, "batch", maps.batch, Zero::means_one);
  check_length(rule, "height", maps.height, Zero::means_one);
  check_length(rule, "width", maps.width, Zero::means_one);
  const int64_t batch = maps.batch == 0 ? 1 : maps.batch, height = maps.height == 0 ? 1 : maps.height,
                width = maps.width == 0 ? 1 : maps.width;
  int64_t places = 0, image = 0, rows = 0, n = 0;
  if (__builtin_mul_overflow(height, width, &places) || __builtin_mul_overflow(places, maps.channels, &image) ||
      !is_addressable({maps.n_steps, batch, image}))
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-NORMALIZE-OVERFLOW",
         "desc.n_steps %lld times desc.batch %lld times desc.height %lld times desc.width %lld times desc.channels "
         "%lld elements cannot be addressed",
         static_cast<long long>(maps.n_steps), static_cast<long long>(batch), static_cast<long long>(height),
         static_cast<long long>(width), static_cast<long long>(maps.channels));
  if (__builtin_mul_overflow(maps.n_steps, batch, &rows) || __builtin_mul_overflow(rows, places, &n) ||
      n >= int64_t{1} << 32)
    fail_argument("SYN-NORMALIZE-COUNT",
                  "desc.n_steps %lld times desc.batch %lld times desc.height %lld times desc.width %lld: a channel has "
                  "2^32 elements or more, and sums of them would not be exact",
                  static_cast<long long>(maps.n_steps), static_cast<long long>(batch), static_cast<long long>(height),
                  static_cast<long long>(width));
  return {maps.n_steps, batch, places, maps.channels};
}

View numbers_of_maps(const Buffer& buffer, const char* name, int32_t dtype, const ChannelShape& shape) {
  check_type(buffer, name, dtype);
  return array_view(buffer, name, {shape.n_steps, shape.batch, shape.image()});
}

// [C], of the type of the maps.
View channel_view(const Buffer* buffer, const char* name, int32_t dtype, const ChannelShape& shape) {
  if (!buffer) return {};
  check_type(*buffer, name, dtype);
  char text[60];
  std::snprintf(text, sizeof text, "%s [%lld]", name_of_dtype(dtype), static_cast<long long>(shape.channels));
  return stepped(*buffer, name, {1, shape.channels}, text);
}

View saved_view(const Buffer* buffer, const ChannelShape& shape) {
  if (!buffer) return {};
  check_type(*buffer, "desc.saved", SYNFIRE_DTYPE_U64);
  char text[60];
  std::snprintf(text, sizeof text, "u64 [4, %lld]", static_cast<long long>(shape.channels));
  return stepped(*buffer, "desc.saved", {1, 4, shape.channels}, text);
}

View scratch_of(const Buffer& buffer, const ChannelShape& shape) {
  View view;
  view.dtype = SYNFIRE_DTYPE_U8;
  view.bytes = NormalizeMemory{shape.channels, buffer.dtype() == SYNFIRE_DTYPE_F64}.bytes();
  return view;
}

double checked_epsilon(double epsilon) {
  if (epsilon == 0) return 1e-5;
  if (!(epsilon > 0) || !is_finite_number(epsilon))
    fail_argument("SYN-NORMALIZE-EPSILON", "desc.epsilon is %g; a finite number above 0 is needed (0 means 1e-5)",
                  epsilon);
  return epsilon;
}
double checked_momentum(double momentum) {
  if (momentum == 0) return 0.1;
  if (!(momentum > 0 && momentum <= 1))
    fail_argument("SYN-NORMALIZE-MOMENTUM", "desc.momentum is %g; above 0 and at most 1 is allowed (0 means 0.1)",
                  momentum);
  return momentum;
}

void check_statistics(const NormalizeRequest& request) {
  constexpr const char* rule = "SYN-NORMALIZE-STATISTICS";
  if ((request.running_mean != nullptr) != (request.running_variance != nullptr))
    fail_argument(rule, "desc.%s is null and desc.%s is given; both are needed, or neither",
                  request.running_mean ? "running_variance" : "running_mean",
                  request.running_mean ? "running_mean" : "running_variance");
  if (request.maps.mode == SYNFIRE_NORMALIZE_EVALUATION && !request.running_mean)
    fail_argument(rule, "desc.running_mean is null; an evaluation needs the running statistics");
}

OperationLabel normalize_label(const ChannelShape& shape, bool evaluation) {
  char text[160];
  std::snprintf(text, sizeof text, "%lld channels of [%lld, %lld, %lld], %s statistics",
                static_cast<long long>(shape.channels), static_cast<long long>(shape.n_steps),
                static_cast<long long>(shape.batch), static_cast<long long>(shape.image()),
                evaluation ? "running" : "own");
  return {nullptr, text};
}

}  // namespace

OperationLabel label(const Normalize& op) {
  return normalize_label(op.shape, op.evaluation);
}
OperationLabel label(const NormalizeBackward& op) {
  return normalize_label(op.shape, op.evaluation);
}

OperationList normalize(const NormalizeRequest& request) {
  Normalize op = {};
  op.evaluation = request.maps.mode == SYNFIRE_NORMALIZE_EVALUATION;
  op.shape = checked_channels(request.maps);
  op.epsilon = checked_epsilon(request.epsilon);
  op.momentum = checked_momentum(request.momentum);
  check_statistics(request);
  check_type(*request.source, "desc.source", arithmetic_dtypes);
  const int32_t dtype = request.source->dtype();
  op.source = numbers_of_maps(*request.source, "desc.source", dtype, op.shape);
  op.destination = numbers_of_maps(*request.destination, "desc.destination", dtype, op.shape);
  op.gamma = channel_view(request.gamma, "desc.gamma", dtype, op.shape);
  op.beta = channel_view(request.beta, "desc.beta", dtype, op.shape);
  op.running_mean = channel_view(request.running_mean, "desc.running_mean", dtype, op.shape);
  op.running_variance = channel_view(request.running_variance, "desc.running_variance", dtype, op.shape);
  op.saved = saved_view(request.saved, op.shape);
  op.factor = channel_view(request.factor, "desc.factor", dtype, op.shape);
  op.addend = channel_view(request.addend, "desc.addend", dtype, op.shape);
  op.lengths = lengths_view(request.maps.lengths, extents_of(op.shape));
  op.n_active = n_active_view(request.maps.n_active);
  op.scratch = scratch_of(*request.source, op.shape);
  OperationList operations = {op};
  check_overlap(operations);
  return operations;
}

OperationList normalize_backward(const NormalizeBackwardRequest& request) {
  NormalizeBackward op = {};
  op.evaluation = request.maps.mode == SYNFIRE_NORMALIZE_EVALUATION;
  op.shape = checked_channels(request.maps);
  op.add_gradients = request.add_gradients;
  op.accumulate = request.accumulate;
  if (!request.grad_source && !request.grad_gamma && !request.grad_beta)
    fail_argument("SYN-NORMALIZE-OUTPUT",
                  "desc.grad_source, desc.grad_gamma and desc.grad_beta are null; at least one is needed");
  if (!request.source && (!op.evaluation || request.grad_gamma))
    fail_argument("SYN-NORMALIZE-SOURCE", "desc.source is null; %s needs it",
                  op.evaluation ? "the gradient of gamma" : "the gradient of a training");
  check_type(*request.grad_destination, "desc.grad_destination", arithmetic_dtypes);
  const int32_t dtype = request.grad_destination->dtype();
  op.grad_destination = numbers_of_maps(*request.grad_destination, "desc.grad_destination", dtype, op.shape);
  // Without the gradient of gamma, an evaluation does not read it.
  if (request.source) {
    const View source = numbers_of_maps(*request.source, "desc.source", dtype, op.shape);
    if (!op.evaluation || request.grad_gamma) op.source = source;
  }
  op.saved = saved_view(request.saved, op.shape);
  op.gamma = channel_view(request.gamma, "desc.gamma", dtype, op.shape);
  if (request.grad_source) op.grad_source = numbers_of_maps(*request.grad_source, "desc.grad_source", dtype, op.shape);
  op.grad_gamma = channel_view(request.grad_gamma, "desc.grad_gamma", dtype, op.shape);
  op.grad_beta = channel_view(request.grad_beta, "desc.grad_beta", dtype, op.shape);
  op.lengths = lengths_view(request.maps.lengths, extents_of(op.shape));
  op.n_active = n_active_view(request.maps.n_active);
  op.scratch = scratch_of(*request.grad_destination, op.shape);
  OperationList operations = {op};
  check_overlap(operations);
  return operations;
}

}  // namespace synfire::operations
