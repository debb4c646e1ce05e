// The data of a step of an optimiser, as host code and kernels see it.
#ifndef SYNFIRE_OPTIMIZER_OPTIMIZER_ARGUMENTS_HPP
#define SYNFIRE_OPTIMIZER_OPTIMIZER_ARGUMENTS_HPP

#include <synfire/model/platform.hpp>

#include <cstdint>

namespace synfire::operations {

enum class OptimizerRule : int32_t { descent, momentum, adam };

// These numbers do not change after creation.
struct OptimizerRates {
  OptimizerRule rule;
  bool nesterov, decoupled;
  uint32_t batches_per_step;  // gradients of this many are averaged for a step
  double momentum, beta1, beta2, epsilon;
  double longest_ratio;  // longest_ratio_of() these
};

struct OptimizerState {
  uint64_t step_count, skipped;
  uint64_t accumulated_batches;  // since the last step
  double beta1_power, beta2_power;
  double gradient_norm;  // of the last step
  // The step that is running has:
  double rate, decay, scale;        // scale: what gradients are multiplied by
  double correction1, correction2;  // 1 - beta1^t and sqrt(1 - beta2^t)
  double longest;                   // the bound of Adam's m / (...)
  uint32_t takes_step;              // 0: the gradients are not finite, or too large
  uint32_t arrived;                 // blocks
};

// A value of a step: a number, or its address in device memory.
struct StepValue {
  const double* where;  // null: the number
  double number;

  SYNFIRE_MODEL_FN double get() const { return where ? *where : number; }
};

inline constexpr double schedule_constant = 0, schedule_cosine = 1, schedule_step = 2;  // SYNFIRE_SCHEDULE_*
inline constexpr double default_step_factor = 0.1;

struct StepValues {
  StepValue rate, decay, clip;
  StepValue schedule, warmup_steps, schedule_steps, schedule_factor;
};

// The largest norm of gradients of which a step is taken. The squares of single gradients are then at most a quarter of
// the largest number of their type, so that no moment can overflow.
inline constexpr double largest_norm_f32 = 0x1p63, largest_norm_f64 = 0x1p511;

// The factors of one member, in device memory. One that is frozen takes no part in steps.
struct MemberFactors {
  double rate, decay;
  int32_t frozen = 0;
};

struct MemberGradient {
  const void* data;  // null: a parameter's
  int64_t count;
  int64_t first_chunk;  // among the chunks of all members
  int32_t parameter;    // its number among the parameters, or -1
  int32_t is_f64;
  void* accumulated;  // the mean over batches; null: a step takes the gradient of one batch
  const MemberFactors* factors;
};

// An array of a synapse, with its moments. One that is not a member has no gradient.
struct MemberArray {
  void* values;
  const void* gradient;
  void *moment1, *moment2;
  const MemberFactors* factors;

  SYNFIRE_MODEL_FN bool is_stepped() const { return gradient && factors->frozen == 0; }
};

inline constexpr int64_t step_piece = 1024;
struct SteppedArray {
  MemberArray array;
  int64_t count;
  int64_t first_piece;  // among those of all arrays
  int32_t is_f64;
};

}  // namespace synfire::operations

#endif
