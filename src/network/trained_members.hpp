// The members of an optimizer that belong to a stage. Their factors follow from its values, also after the network was
// built.
#ifndef SYNFIRE_NETWORK_TRAINED_MEMBERS_HPP
#define SYNFIRE_NETWORK_TRAINED_MEMBERS_HPP

#include "stage_parts.hpp"

#include <optional>
#include <string>
#include <vector>

namespace synfire::network {

class TrainedMembers {
 public:
  // Adds an array of a synapse. The names of the factors of all but the first array begin with the array's name.
  void add_array(Trainer& trainer, const Stage& stage, core::Synapse& synapse, const char* name);
  // Adds a parameter of neurons, whose factors are its own; only "frozen" is a value of the stage.
  void add_parameter(Trainer& trainer, core::Layer& layer, core::ParameterName name, Buffer& gradient,
                     const operations::MemberFactors& factors, double lower, double upper);
  // Gives the optimizer the values that the stage has now. It may throw what Optimizer::set_factors() throws.
  void take_factors(const Stage& stage) const;

 private:
  struct Member {
    int32_t number;
    std::optional<std::string> prefix;  // of the factors' names; nothing for a parameter
    operations::MemberFactors factors;  // of a parameter
  };
  void note(Trainer& trainer, Member member);
  static operations::MemberFactors factors_of(const Stage& stage, const Member& member);

  Ref<operations::Optimizer> optimizer_;  // null: nothing is trained
  std::vector<Member> members_;
};

}  // namespace synfire::network

#endif
