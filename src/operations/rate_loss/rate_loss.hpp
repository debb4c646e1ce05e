// A regulariser that draws the rates of a layer's neurons, or their mean, towards a target; with its gradient.
#ifndef SYNFIRE_OPERATIONS_RATE_LOSS_RATE_LOSS_HPP
#define SYNFIRE_OPERATIONS_RATE_LOSS_RATE_LOSS_HPP

#include <base/extents.hpp>
#include <graph/graph.hpp>
#include <operations/kind.hpp>
#include <operations/sum_entry.hpp>

namespace synfire::operations {

struct RateLoss {
  core::Extents extents;
  bool whole_layer;  // the mean rate, not that of each neuron
  View spikes;       // [T, B, N] in any format
  View lengths;      // u32 [B]; may be absent
  View n_active;     // u32 [1]; may be absent
  View loss;         // [1], f32 or f64; may be absent
  View grad;         // [T, B, N]; may be absent
  bool add_loss;
  bool add_grad;
  double target;
  double strength;
  // u64 [N]: spikes of each neuron. On the host it may be the array between the entries (there are no maxima): u64
  // [N + 1], and how many steps of batch rows count.
  View counts;
  View work;                             // RateWork
  const double* target_value = nullptr;  // in device memory, instead of `target`
  const double* strength_value = nullptr;
  SumEntry entry = SumEntry::all;

  static constexpr const char* name = "rate loss";
  static void operands(RateLoss& op, OperandVisitor visit) {
    visit({"desc.spikes", op.spikes, Access::read});
    visit({"desc.lengths", op.lengths, Access::read});
    visit({"desc.n_active", op.n_active, Access::read});
    visit({"the counts of a rate loss", op.counts, access_of_sums(op.entry)});
    if (!does(op.entry, SumEntry::finish)) return;
    visit({"desc.loss", op.loss, op.add_loss ? Access::update : Access::write});
    visit({"desc.grad_spike_seq", op.grad, op.add_grad ? Access::update : Access::write});
    visit({"the sums of a rate loss", op.work, Access::scratch});
  }
};
OperationLabel label(const RateLoss& op);
bool wants_threads(const RateLoss& op);
void run(const RateLoss& op, host::Launcher& launcher);
cuda::Hints hints(const RateLoss& op, const cuda::GpuShape& gpu);
void enqueue(const RateLoss& op, cuda::Launcher& launcher);

struct RateLossRequest {
  core::Extents extents;  // batch 0 means 1
  bool whole_layer;
  core::Buffer* spikes;
  core::Buffer* lengths;   // may be null
  core::Buffer* n_active;  // may be null
  core::Buffer* loss;      // this or the next may be null
  core::Buffer* grad;
  bool add_loss;
  bool add_grad;
  double target;
  double strength;
};
// Both throw INVALID_ARGUMENT or OUT_OF_MEMORY. A graph's "target" and "strength" may change between replays.
core::OperationList rate_loss(const RateLossRequest& request);
void record_rate_loss(core::Graph& graph, const RateLossRequest& request);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(RateLoss);

#endif
