// The arguments of a loss, from its operands.
#ifndef SYNFIRE_OPERATIONS_LOSS_LOSS_ARGUMENTS_OF_HPP
#define SYNFIRE_OPERATIONS_LOSS_LOSS_ARGUMENTS_OF_HPP

#include "loss.hpp"
#include "loss_arguments.hpp"

#include <base/dtype.hpp>

namespace synfire::operations {

inline bool is_f64(const Loss& op) {
  return op.source.dtype == SYNFIRE_DTYPE_F64;
}

inline LossArguments arguments_of(const Loss& op) {
  LossArguments a = {};
  a.n_samples = op.extents.n_steps * op.extents.batch;
  a.n_steps = op.extents.n_steps;
  a.batch = op.extents.batch;
  a.n_classes = static_cast<uint32_t>(op.extents.n_neurons);
  a.squared = op.rules.kind == LossKind::mean_squared_error;
  a.sum = op.rules.sum;
  a.accumulate = op.rules.accumulate;
  a.add_gradient = op.rules.add_gradient;
  a.ignores_label = op.rules.ignores_label;
  a.ignored_label = op.rules.ignored_label;
  a.source = op.source.data;
  a.source_pitch = op.source.pitch;
  a.labels = static_cast<const uint32_t*>(op.labels.data);
  a.targets = op.targets.data;
  if (op.rules.per_step) a.target_pitch = op.labels ? op.labels.pitch : op.targets.pitch;
  a.lengths = static_cast<const uint32_t*>(op.lengths.data);
  a.n_active = static_cast<const uint32_t*>(op.n_active.data);
  a.sample_weights = static_cast<const float*>(op.sample_weights.data);
  a.class_weights = static_cast<const float*>(op.class_weights.data);
  a.gradient = op.gradient.data;
  a.gradient_pitch = op.gradient.pitch;
  a.losses = op.losses.data;
  a.losses_pitch = op.losses.pitch;
  a.predictions = static_cast<uint32_t*>(op.predictions.data);
  a.predictions_pitch = op.predictions.pitch;
  a.loss = op.loss.data;
  a.loss_is_f64 = op.loss.dtype == SYNFIRE_DTYPE_F64;
  a.divisor = op.divisor.data;
  a.divisor_is_f64 = op.divisor.dtype == SYNFIRE_DTYPE_F64;
  a.n_correct = static_cast<uint32_t*>(op.n_correct.data);
  a.n_counted = static_cast<uint32_t*>(op.n_counted.data);
  a.label_smoothing = op.label_smoothing;
  a.gradient_scale = op.gradient_scale;
  a.label_smoothing_value = op.label_smoothing_value;
  a.gradient_scale_value = op.gradient_scale_value;
  if (op.scratch && is_f64(op)) a.scratch = loss_scratch(op.scratch.data, a.n_samples, sizeof(double));
  if (op.scratch && !is_f64(op)) a.sums = loss_sums(op.scratch.data, loss_slots);
  if (op.entry == LossEntry::all) return a;
  a.sums.n_slots = loss_slots;
  a.sums.largest_share = static_cast<uint32_t*>(op.parts.largest_share.data);
  a.sums.shares = static_cast<int64_t*>(op.parts.shares.data);
  a.sums.largest = static_cast<uint32_t*>(op.parts.largest.data);
  a.sums.losses = static_cast<int64_t*>(op.parts.losses.data);
  a.sums.of_samples = static_cast<float*>(op.parts.of_samples.data);
  return a;
}

}  // namespace synfire::operations

#endif
