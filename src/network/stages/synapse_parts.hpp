// The parts of stages that have a synapse, of whatever kind it is: its product, its gradients, and what is trained and
// saved of it. Two stages may use one synapse, which the earlier one owns.
#ifndef SYNFIRE_NETWORK_STAGES_SYNAPSE_PARTS_HPP
#define SYNFIRE_NETWORK_STAGES_SYNAPSE_PARTS_HPP

#include <network/monitors.hpp>
#include <network/parts.hpp>
#include <network/stage_parts.hpp>
#include <network/stage_recorder.hpp>
#include <network/trained_members.hpp>

#include <synapses/synapse.hpp>

namespace synfire::network {

// The product is an operation of its own, unless one stage of neurons reads it, at every step and without a mask, and
// nobody asks for it: then it is a part of the neurons' own operation. A synapse that reads spikes of earlier steps
// keeps the last ones of each replay for the next one: they are a part of the state.
class SynapseParts : public StageParts, private Product {
 public:
  // The first function makes the synapse, unless the stage uses that of another one: then the second one gives what
  // this stage computes with.
  SynapseParts(StageMaker& maker, core::FunctionRef<Ref<core::Synapse>()> make)
      : SynapseParts(maker, make, [](core::Synapse& owned) -> core::Synapse& { return owned; }) {}
  SynapseParts(StageMaker& maker, core::FunctionRef<Ref<core::Synapse>()> make,
               core::FunctionRef<core::Synapse&(core::Synapse&)> use);

  core::Object* object() const noexcept override { return synapse_.get(); }
  Buffer* array(Port) const noexcept override { return x_.get(); }
  Buffer* gradient(Port) const noexcept override { return grad_x_.get(); }
  Product* product() noexcept override { return is_fused_ ? this : nullptr; }

  void add_reset(core::OperationList& list, const operations::RowRange& rows) const override;
  void begin_forward(StageRecorder& recorder) override;
  void forward(StageRecorder& recorder) override;
  void end_forward(StageRecorder& recorder) override;
  void begin_backward(StageRecorder& recorder) override;
  void backward(StageRecorder& recorder) override;
  void end_backward(StageRecorder& recorder) override;
  void end_step(StageRecorder& recorder) override { monitor_.record(recorder); }

  void train(Trainer& trainer) override;
  bool take_value(const char* name, double value) override;
  void take_values() override { members_.take_factors(stage().stage()); }
  void wait() const override { synapse_->order().wait(); }
  std::optional<core::Rounding> rounding() const override;
  void list_state(std::vector<CarriedState>& list) const override;
  void list_saved(StateArrays& list) const override;
  void read_monitor(synfire_network_monitor& monitor) const override { monitor_.read(monitor); }
  void clear_monitor() const override { monitor_.clear(); }

 protected:
  core::Synapse& synapse() const noexcept { return *synapse_; }

 private:
  Buffer* input_of(const StageRecorder::Read& input) const noexcept {
    return used_->reads_counts() ? input.counts : input.array;
  }
  // The input of a step in a cycle, packed after the steps before.
  Buffer& pack(StageRecorder& recorder, Buffer& input) const;
  void record_input_gradient_of_step(StageRecorder& recorder) const;
  void record_gradients(StageRecorder& recorder, bool of_weights, const StageRecorder::Gradient& before) const;
  void give(operations::ForwardRequest& request, StageRecorder& recorder) override;
  void give(operations::BackwardRequest& request, StageRecorder& recorder) override;
  void add_trained(Trainer& trainer, const char* name);

  // The synapse that has the weights.
  static Ref<core::Synapse> owned(StageMaker& maker, core::FunctionRef<Ref<core::Synapse>()> make);

  const bool is_owner_, learns_, trains_;
  const Ref<core::Synapse> synapse_;  // that has the weights
  TrainedMembers members_;            // of those, if this stage owns them
  core::Synapse* const used_;         // the same, or one that it keeps
  const bool is_fused_;
  const WeightMonitor monitor_;
  Ref<Buffer> x_, grad_x_;  // [T, B, N], of a product that is an operation of its own
  // Words [M, B, ceil(K / 32)] of a synapse that reads spikes of M steps before: those of the state, and those that a
  // replay reads. Null: it reads none.
  Ref<Buffer> last_inputs_, history_;
  // In a cycle, such a synapse has the inputs of a whole replay, [M + T, B, ceil(K / 32)], of which history_ is the
  // first part, and the gradient of the T steps, [T, B, K], to which steps add from the last one to the first.
  Ref<Buffer> inputs_, grad_inputs_;
};

// ---- what the kinds of such stages share ----------------------------------------------------------------------------

// The stage whose weights a stage uses, by its name; none if the name is empty.
std::optional<size_t> weights_of_stage(const StageView& view, const std::string& name);
// The stage itself, or that whose weights it uses.
StageView owner_of(const StageView& view);
// The name of its mask in a file.
std::string mask_name(const Stage& stage);
// Throw INVALID_ARGUMENT unless a mask has a 0 or a 1 for each weight; for a stage that uses the weights of another
// one.
void check_mask(std::span<const uint8_t> mask, std::span<const int64_t> weight_lengths);
[[noreturn]] void fail_mask(const Stage& stage, const std::string& owner);
// Throws WRONG_ORDER if it reads neurons that are not there yet: how many weights it has follows from them.
void check_awaits_nothing(const StageView& view);
// Throw INVALID_ARGUMENT unless that stage is of the same kind and has weights of its own; if a stage that uses its
// weights reads what they are not for, or has values of its own; in any of these cases, or with another shape.
void check_owner(const StageView& view, const StageView& owner);
// The stage itself if the name is empty, else the stage of this name, after check_owner().
StageView checked_owner(const StageView& view, const std::string& weights_of);
void check_shared_input(const StageView& view, const StageView& owner);
void check_shared_weights(const StageView& view, const StageView& owner, const core::Flow& own_output);

}  // namespace synfire::network

#endif
