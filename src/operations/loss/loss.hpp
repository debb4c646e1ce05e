// A loss of predictions against labels or targets, and its gradient: cross-entropy or squared error
// (loss_arithmetic.hpp).
#ifndef SYNFIRE_OPERATIONS_LOSS_LOSS_HPP
#define SYNFIRE_OPERATIONS_LOSS_LOSS_HPP

#include <base/extents.hpp>
#include <graph/graph.hpp>
#include <operations/kind.hpp>

namespace synfire::operations {

enum class LossKind : int32_t {
  cross_entropy = SYNFIRE_LOSS_CROSS_ENTROPY,
  mean_squared_error = SYNFIRE_LOSS_MEAN_SQUARED_ERROR
};

// The caller's choices besides the buffers.
struct LossRules {
  LossKind kind;
  bool per_step;  // labels or targets of each step
  bool ignores_label;
  uint32_t ignored_label;
  bool sum;           // instead of the mean
  bool accumulate;    // to the loss, its divisor and the numbers of samples
  bool add_gradient;  // to what the gradient's buffer holds
};

// The entries of a loss in f32 (sum_entry.hpp). It has two sums over its samples: that of the shares in the divisor of
// the mean, which the gradient needs, and that of the losses.
enum class LossEntry : int32_t {
  all,
  share_maxima,  // the largest share
  share_sums,    // the shares, and how many samples count
  samples,       // with the sums of all shares: losses, predictions, gradient, the largest loss, correct predictions
  sums,          // the losses
  finish,        // with the sums of all samples: the loss and the numbers of samples
};
// The arrays between the entries (LossSums); absent with LossEntry::all.
struct LossParts {
  View largest_share;  // u32 [loss_slots]
  View shares;         // i64 [2, loss_slots]
  View largest;        // u32 [1]
  View losses;         // i64 [2]
  View of_samples;     // f32 [T, B]
};

struct Loss {
  core::Extents extents;  // n_neurons are the classes
  LossRules rules;
  View source;          // [T, B, C]
  View labels;          // u32 [B] or [T, B]; or
  View targets;         // [B, C] or [T, B, C], in the type of the arithmetic
  View lengths;         // u32 [B]
  View n_active;        // u32 [1]
  View sample_weights;  // f32 [B]
  View class_weights;   // f32 [C]
  View loss;            // f32 or f64 [1]
  View losses;          // [T, B], in the type of the arithmetic
  View n_correct;       // u32 [1]
  View n_counted;       // u32 [1]
  View predictions;     // u32 [T, B]
  View gradient;        // [T, B, C], in the type of the arithmetic
  View divisor;         // f32 or f64 [1]: of the mean
  View scratch;         // LossSums, in f64 LossScratch; has no bytes if one block does everything
  double label_smoothing;
  double gradient_scale;
  const double* label_smoothing_value = nullptr;  // in device memory, instead of `label_smoothing`
  const double* gradient_scale_value = nullptr;   // instead of `gradient_scale`
  LossEntry entry = LossEntry::all;
  LossParts parts = {};

  static constexpr const char* name = "loss";
  static void operands(Loss& op, OperandVisitor visit);
};
OperationLabel label(const Loss& op);
bool wants_threads(const Loss& op);
void run(const Loss& op, host::Launcher& launcher);
cuda::Hints hints(const Loss& op, const cuda::GpuShape& gpu);
void enqueue(const Loss& op, cuda::Launcher& launcher);

struct LossRequest {
  core::Extents extents;  // 0 steps or batch rows mean 1
  LossRules rules;
  core::Buffer* source;
  core::Buffer *labels, *targets, *lengths, *n_active, *sample_weights, *class_weights;
  core::Buffer *loss, *losses, *n_correct, *n_counted, *predictions, *gradient;
  double label_smoothing;
  double gradient_scale;  // 0 means 1
  core::Buffer* divisor;
};
// Both throw INVALID_ARGUMENT or OUT_OF_MEMORY. A graph's "gradient_scale" and "label_smoothing" may change.
core::OperationList loss(const LossRequest& request);
void record_loss(core::Graph& graph, const LossRequest& request);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(Loss);

#endif
