#include "trained_members.hpp"

#include <utility>

namespace synfire::network {

using operations::MemberFactors;

void TrainedMembers::add_array(Trainer& trainer, const Stage& stage, core::Synapse& synapse, const char* name) {
  const bool is_first = synapse.find_array(name) == synapse.arrays().data();
  Member member = {0, is_first ? "" : std::string(name) + "_", {}};
  trainer.optimizer().add_array(synapse, name, factors_of(stage, member));
  note(trainer, std::move(member));
}

void TrainedMembers::add_parameter(Trainer& trainer, core::Layer& layer, core::ParameterName name, Buffer& gradient,
                                   const MemberFactors& factors, double lower, double upper) {
  trainer.optimizer().add_parameter(layer, name, gradient, factors, lower, upper);
  note(trainer, {0, std::nullopt, factors});
}

void TrainedMembers::note(Trainer& trainer, Member member) {
  optimizer_ = Ref<operations::Optimizer>(&trainer.optimizer());
  member.number = static_cast<int32_t>(trainer.optimizer().members().size()) - 1;
  members_.push_back(std::move(member));
}

MemberFactors TrainedMembers::factors_of(const Stage& stage, const Member& member) {
  MemberFactors factors = member.factors;
  if (member.prefix)
    factors = {stage.value(*member.prefix + "learning_rate_factor"),
               stage.value(*member.prefix + "weight_decay_factor")};
  factors.frozen = stage.flag("frozen") ? 1 : 0;
  return factors;
}

void TrainedMembers::take_factors(const Stage& stage) const {
  for (const Member& member : members_) optimizer_->set_factors(member.number, factors_of(stage, member));
}

}  // namespace synfire::network
