#include "rank_rows.hpp"

#include <base/dtype.hpp>
#include <base/error.hpp>
#include <neurons/parameters/set_parameters.hpp>
#include <neurons/parameters/update_parameter.hpp>
#include <neurons/passes/backward.hpp>
#include <neurons/passes/forward.hpp>
#include <neurons/state/reset_state.hpp>
#include <neurons/sum_gradient/sum_gradient.hpp>
#include <operations/all_reduce/all_reduce.hpp>
#include <operations/combine/combine.hpp>
#include <operations/dropout/dropout.hpp>
#include <operations/elementwise/copy.hpp>
#include <operations/elementwise/fill.hpp>
#include <operations/elementwise/scale_add.hpp>
#include <operations/encode/encode_bernoulli.hpp>
#include <operations/gather_rows/gather_rows.hpp>
#include <operations/group_mean/group_mean.hpp>
#include <operations/keep_inputs/keep_inputs.hpp>
#include <operations/last_steps/last_steps.hpp>
#include <operations/loss/loss.hpp>
#include <operations/loss/loss_arguments.hpp>
#include <operations/normalize/normalize.hpp>
#include <operations/pool/pool.hpp>
#include <operations/rate_loss/rate_loss.hpp>
#include <operations/reduce/reduce.hpp>
#include <operations/replace_nonfinite/replace_nonfinite.hpp>
#include <operations/resize/resize.hpp>
#include <operations/running_reduce/running_reduce.hpp>
#include <operations/shuffle/shuffle.hpp>
#include <operations/spikes/convert_spikes.hpp>
#include <operations/square_sum/square_sum.hpp>
#include <operations/sum_steps/sum_steps.hpp>
#include <optimizer/optimizer.hpp>
#include <synapses/conv2d/conv2d.hpp>
#include <synapses/delayed/delayed.hpp>
#include <synapses/dense/dense.hpp>
#include <synapses/one_to_one/one_to_one.hpp>
#include <synapses/population/population.hpp>

namespace synfire::network {

using namespace synfire::core;
using namespace synfire::operations;

namespace {

class Divided {
 public:
  Divided(Parts& parts, std::vector<Ref<Buffer>>& held)
      : parts_(parts),
        held_(held),
        ranks_(parts.rules().ranks),
        rows_(rows_of_rank(ranks_->place(), parts.rules().batch)) {}

  void add(Operation&& operation) {
    if (const auto* const op = operation.as<Shuffle>()) return add(*op);
    if (const auto* const op = operation.as<Dropout>()) return add_drawn(*op);
    if (const auto* const op = operation.as<EncodeBernoulli>()) return add_drawn(*op);
    if (const auto* const op = operation.as<DenseWeightGradient>()) return add_weight_gradient(*op);
    if (const auto* const op = operation.as<Conv2dWeightGradient>()) return add_weight_gradient(*op);
    if (const auto* const op = operation.as<OneToOneGradient>()) return add_contributed(*op);
    if (const auto* const op = operation.as<PopulationGradient>()) return add_contributed(*op);
    if (const auto* const op = operation.as<SumGradient>()) return add(*op);
    if (const auto* const op = operation.as<Normalize>()) return add(*op);
    if (const auto* const op = operation.as<NormalizeBackward>()) return add(*op);
    if (const auto* const op = operation.as<RateLoss>()) return add(*op);
    if (const auto* const op = operation.as<Loss>()) return add(*op);
    if (!is_of_rows(operation)) fail_ordered(operation.kind().name);
    list_.push_back(std::move(operation));
  }
  OperationList take() { return std::move(list_); }

 private:
  // True if a row's results depend on no other row, or if nothing of it depends on rows.
  template <class... Kinds>
  static bool is_any(const Operation& operation) {
    return ((operation.as<Kinds>() != nullptr) || ...);
  }
  static bool is_of_rows(const Operation& operation) {
    return is_any<Forward, Backward, Copy, Fill, ScaleAdd, ConvertSpikes, GatherRows, KeepInputs, LastSteps, SumSteps>(
               operation) ||
           is_any<PrepareDense, DenseProduct, DenseInputGradient, Conv2dProduct, Conv2dInputGradient, OneToOneProduct,
                  OneToOneInputGradient, PopulationProduct, PopulationInputGradient>(operation) ||
           is_any<DelayedInputs, DelayedHistory, DelayedOutputs, PrepareDelayed, DelayedGradient, DelayedInputGradient>(
               operation) ||
           is_any<Pool, PoolBackward, Resize, ResizeBackward, Reduce, ReduceBackward, RunningReduce, Combine,
                  CombineBackward, GroupMean, GroupMeanBackward, ReplaceNonfinite>(operation) ||
           is_any<SetParameters, UpdateParameter, ResetState, OptimizerStep, SquareSum>(operation);
  }
  [[noreturn]] static void fail_ordered(const char* name) {
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-NETWORK-ORDERED",
         "the operation \"%s\" adds over rows in an order, so it cannot be divided among the ranks of a communicator",
         name);
  }

  Ref<Buffer> transient(int32_t dtype, uint64_t length) const {
    return parts_.make(dtype, {static_cast<int64_t>(length)}, SYNFIRE_MEMORY_TRANSIENT);
  }
  View maxima(uint64_t length) { return kept(transient(SYNFIRE_DTYPE_U32, length)); }
  View sums(uint64_t length) { return kept(transient(SYNFIRE_DTYPE_U64, length)); }
  View kept(Ref<Buffer>&& buffer) {
    held_.push_back(std::move(buffer));
    return held_.back()->view();
  }
  void join(ranks::Join how, const View& array) { list_.emplace_back(AllReduce{ranks_, how, {array}}); }

  // Operations are large: each kind has its frame on the stack.

  // ---- what counts by row

  // Not that of batches that are prepared, of the rank's own rows (DataStream): it draws one of those.
  [[gnu::noinline]] void add(Shuffle op) {
    if (op.rules.batch != parts_.rules().batch) return list_.emplace_back(op), void();
    op.rules.first_row = static_cast<uint32_t>(rows_.first);
    op.rules.most_rows = static_cast<uint32_t>(rows_.count);
    list_.emplace_back(op);
  }
  template <class Op>
  [[gnu::noinline]] void add_drawn(Op op) {
    op.first_row = static_cast<uint32_t>(rows_.first);
    list_.emplace_back(op);
  }

  // ---- sums with maxima

  // `of(entry)` makes the operation of an entry, between which the ranks join these arrays.
  template <class Of>
  void add_entries(const View& largest, const View& totals, Of of) {
    if (largest.bytes > 0) {
      list_.emplace_back(of(SumEntry::maxima));
      join(ranks::Join::largest, largest);
    }
    list_.emplace_back(of(SumEntry::sums));
    join(ranks::Join::sum, totals);
    list_.emplace_back(of(SumEntry::finish));
  }
  template <class Op>
  static Op with(Op op, SumEntry entry, const View& largest, View Op::*totals, const View& sums) {
    op.entry = entry;
    op.largest = largest;
    op.*totals = entry == SumEntry::maxima ? View{} : sums;
    return op;
  }

  // Parts of a dropout that an entry does not use are absent.
  static void leave_out_kept(DenseWeightGradient& op) {
    if (op.entry == SumEntry::finish)
      op.kept.mask = {};
    else
      op.kept.scale = {};
  }
  static void leave_out_kept(Conv2dWeightGradient& op) {
    if (op.entry != SumEntry::finish) op.scale = {};
  }
  template <class Op>
  [[gnu::noinline]] void add_weight_gradient(const Op& op) {
    if (op.largest.bytes == 0) fail_ordered(Op::name);
    const View largest = maxima(op.largest.bytes / sizeof(uint32_t)), totals = sums(op.total.bytes / sizeof(uint64_t));
    add_entries(largest, totals, [&](SumEntry entry) {
      Op made = with(op, entry, largest, &Op::total, totals);
      leave_out_kept(made);
      return made;
    });
  }
  template <class Op>
  [[gnu::noinline]] void add_contributed(const Op& op) {
    if (op.largest.bytes == 0) fail_ordered(Op::name);
    const View largest = maxima(op.largest.bytes / sizeof(uint32_t)), totals = sums(op.totals.bytes / sizeof(uint64_t));
    View contributions;
    if (op.contributions.bytes > 0)
      contributions = kept(transient(op.contributions.dtype, op.contributions.bytes / sizeof(float)));
    add_entries(largest, totals, [&](SumEntry entry) {
      Op made = with(op, entry, largest, &Op::totals, totals);
      made.contributions = entry == SumEntry::finish ? View{} : contributions;
      made.arrived = {};
      return made;
    });
  }
  [[gnu::noinline]] void add(const SumGradient& op) {
    if (op.sum != SumKind::rows) fail_ordered(SumGradient::name);
    const RowSumShape shape = {op.batch, op.count, op.n_entries};
    const auto length = static_cast<uint64_t>(shape.array_length());
    const View largest = maxima(length), totals = sums(length);
    add_entries(largest, totals, [&](SumEntry entry) {
      SumGradient made = with(op, entry, largest, &SumGradient::totals, totals);
      made.scratch = {};
      return made;
    });
  }
  [[gnu::noinline]] void add(const Normalize& op) {
    if (op.evaluation && !op.saved) return list_.emplace_back(op), void();
    if (op.source.dtype != SYNFIRE_DTYPE_F32) fail_ordered(Normalize::name);
    const auto channels = static_cast<uint64_t>(op.shape.channels);
    const View largest = op.evaluation ? View{} : maxima(2 * channels), totals = sums(3 * channels + 1);
    add_entries(largest, totals, [&](SumEntry entry) { return with(op, entry, largest, &Normalize::totals, totals); });
  }
  [[gnu::noinline]] void add(const NormalizeBackward& op) {
    if (!op.has_sums()) return list_.emplace_back(op), void();
    if (op.grad_destination.dtype != SYNFIRE_DTYPE_F32) fail_ordered(NormalizeBackward::name);
    const auto channels = static_cast<uint64_t>(op.shape.channels);
    const View largest = maxima(2 * channels), totals = sums(3 * channels);
    add_entries(largest, totals,
                [&](SumEntry entry) { return with(op, entry, largest, &NormalizeBackward::totals, totals); });
  }
  [[gnu::noinline]] void add(const RateLoss& op) {
    const View counts = sums(static_cast<uint64_t>(op.extents.n_neurons) + 1);
    add_entries({}, counts, [&](SumEntry entry) {
      RateLoss made = op;
      made.entry = entry;
      made.counts = counts;
      return made;
    });
  }

  // ---- losses

  [[gnu::noinline]] void add(const Loss& given) {
    if (given.source.dtype == SYNFIRE_DTYPE_F64) fail_ordered(Loss::name);
    Loss op = given;
    op.scratch = {};
    const auto add_entry = [&](LossEntry entry) {
      op.entry = entry;
      list_.emplace_back(op);
    };
    op.parts.largest_share = maxima(loss_slots);
    add_entry(LossEntry::share_maxima);
    join(ranks::Join::largest, op.parts.largest_share);
    op.parts.shares = sums(uint64_t{2} * loss_slots);
    add_entry(LossEntry::share_sums);
    join(ranks::Join::sum, op.parts.shares);
    op.parts.largest = maxima(1);
    op.parts.losses = sums(2);
    op.parts.of_samples =
        kept(transient(SYNFIRE_DTYPE_F32, static_cast<uint64_t>(op.extents.n_steps * op.extents.batch)));
    add_entry(LossEntry::samples);
    if (!op.loss && !op.n_correct && !op.n_counted && !op.divisor) return;
    join(ranks::Join::largest, op.parts.largest);
    add_entry(LossEntry::sums);
    join(ranks::Join::sum, op.parts.losses);
    add_entry(LossEntry::finish);
  }

  Parts& parts_;
  std::vector<Ref<Buffer>>& held_;
  const Ref<ranks::Communicator> ranks_;
  const RankRows rows_;
  OperationList list_;
};

}  // namespace

OperationList divided(Parts& parts, OperationList&& operations, std::vector<Ref<Buffer>>& held) {
  Divided all(parts, held);
  for (Operation& operation : operations) all.add(std::move(operation));
  return all.take();
}

}  // namespace synfire::network
