// Batch normalisation of maps, and its gradients.
#ifndef SYNFIRE_OPERATIONS_NORMALIZE_NORMALIZE_HPP
#define SYNFIRE_OPERATIONS_NORMALIZE_NORMALIZE_HPP

#include "channel_sums.hpp"

#include <base/buffer.hpp>
#include <operations/kind.hpp>
#include <operations/sum_entry.hpp>

namespace synfire::operations {

struct Normalize {
  bool evaluation;
  ChannelShape shape;
  double epsilon, momentum;
  View source, destination;             // [T, B, H * W * C], f32 or f64
  View gamma, beta;                     // [C]; may be absent
  View running_mean, running_variance;  // [C]; may be absent in a training
  View saved;                           // u64 [4, C]; may be absent
  View factor, addend;                  // [C]; may be absent
  View lengths, n_active;               // u32; may be absent
  View scratch;                         // NormalizeMemory
  // On the host and in f32, the arrays between the entries; absent with SumEntry::all. `largest`: u32 [2, C]. `totals`:
  // i64 [3, C] as in IntegerSums, and how many elements count.
  SumEntry entry = SumEntry::all;
  View largest = {}, totals = {};

  static constexpr const char* name = "normalize";
  static void operands(Normalize& op, OperandVisitor visit) {
    const Access of_statistics = op.evaluation ? Access::read : Access::update;
    visit({"desc.source", op.source, Access::read});
    visit({"the largest of a normalization", op.largest, access_of_maxima(op.entry)});
    visit({"the totals of a normalization", op.totals, access_of_sums(op.entry)});
    if (!does(op.entry, SumEntry::finish)) {
      visit({"desc.lengths", op.lengths, Access::read});
      visit({"desc.n_active", op.n_active, Access::read});
      visit({"the sums of a normalization", op.scratch, Access::scratch});
      return;
    }
    visit({"desc.gamma", op.gamma, Access::read});
    visit({"desc.beta", op.beta, Access::read});
    visit({"desc.lengths", op.lengths, Access::read});
    visit({"desc.n_active", op.n_active, Access::read});
    visit({"desc.running_mean", op.running_mean, of_statistics});
    visit({"desc.running_variance", op.running_variance, of_statistics});
    visit({"desc.saved", op.saved, Access::write});
    visit({"desc.factor", op.factor, Access::write});
    visit({"desc.addend", op.addend, Access::write});
    visit({"desc.destination", op.destination, Access::write});
    visit({"the sums of a normalization", op.scratch, Access::scratch});
  }
};

struct NormalizeBackward {
  bool evaluation;
  ChannelShape shape;
  bool add_gradients;          // of gamma and beta
  bool accumulate;             // add to what grad_source holds
  View grad_destination;       // [T, B, H * W * C], f32 or f64
  View source;                 // may be absent in an evaluation without grad_gamma
  View saved;                  // u64 [4, C]
  View gamma;                  // [C]; may be absent
  View grad_source;            // one of the three is given
  View grad_gamma, grad_beta;  // [C]
  View lengths, n_active;      // u32; may be absent
  View scratch;                // NormalizeMemory
  // As in Normalize, but `totals` has no count.
  SumEntry entry = SumEntry::all;
  View largest = {}, totals = {};

  // dL/dy of an evaluation needs no sums.
  bool has_sums() const { return !evaluation || grad_gamma || grad_beta; }

  static constexpr const char* name = "normalize backward";
  static void operands(NormalizeBackward& op, OperandVisitor visit) {
    const Access of_gradients = op.add_gradients ? Access::update : Access::write;
    visit({"desc.grad_destination", op.grad_destination, Access::read});
    visit({"desc.source", op.source, Access::read});
    visit({"the largest of a normalization's gradients", op.largest, access_of_maxima(op.entry)});
    visit({"the totals of a normalization's gradients", op.totals, access_of_sums(op.entry)});
    visit({"desc.saved", op.saved, Access::read});
    if (!does(op.entry, SumEntry::finish)) {
      visit({"desc.lengths", op.lengths, Access::read});
      visit({"desc.n_active", op.n_active, Access::read});
      visit({"the sums of a normalization's gradients", op.scratch, Access::scratch});
      return;
    }
    visit({"desc.gamma", op.gamma, Access::read});
    visit({"desc.lengths", op.lengths, Access::read});
    visit({"desc.n_active", op.n_active, Access::read});
    visit({"desc.grad_gamma", op.grad_gamma, of_gradients});
    visit({"desc.grad_beta", op.grad_beta, of_gradients});
    visit({"desc.grad_source", op.grad_source, op.accumulate ? Access::update : Access::write});
    visit({"the sums of a normalization's gradients", op.scratch, Access::scratch});
  }
};

#define SYNFIRE_NORMALIZE_FUNCTIONS(Kind)                   \
  OperationLabel label(const Kind& op);                     \
  bool wants_threads(const Kind& op);                       \
  void run(const Kind& op, host::Launcher& launcher);       \
  cuda::Hints hints(const Kind& op, const cuda::GpuShape&); \
  void enqueue(const Kind& op, cuda::Launcher& launcher)
SYNFIRE_NORMALIZE_FUNCTIONS(Normalize);
SYNFIRE_NORMALIZE_FUNCTIONS(NormalizeBackward);
#undef SYNFIRE_NORMALIZE_FUNCTIONS

// The fields that both descriptors have. 0 means 1 in batch, height and width.
struct NormalizeMaps {
  int32_t mode;
  int64_t n_steps, channels, batch, height, width;
  core::Buffer *lengths, *n_active;  // may be null
};
struct NormalizeRequest {
  NormalizeMaps maps;
  double epsilon, momentum;  // 0: the defaults
  core::Buffer *source, *destination;
  core::Buffer *gamma, *beta, *running_mean, *running_variance, *saved, *factor, *addend;  // may be null
};
struct NormalizeBackwardRequest {
  NormalizeMaps maps;
  bool add_gradients, accumulate;
  core::Buffer *grad_destination, *saved;
  core::Buffer *source, *gamma, *grad_source, *grad_gamma, *grad_beta;  // may be null
};
// Both throw INVALID_ARGUMENT, or OUT_OF_MEMORY for maps that cannot be addressed.
core::OperationList normalize(const NormalizeRequest& request);
core::OperationList normalize_backward(const NormalizeBackwardRequest& request);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(Normalize);
SYNFIRE_DECLARE_KIND(NormalizeBackward);

#endif
