// Kinds whose output is made of others without weights (sums, concatenations, means over groups, flattened maps) share
// this.
#ifndef SYNFIRE_NETWORK_STAGES_COMBINED_HPP
#define SYNFIRE_NETWORK_STAGES_COMBINED_HPP

#include <network/parts.hpp>
#include <network/stage_parts.hpp>

namespace synfire::network {

// The signals that all of them read.
inline constexpr uint32_t combinable =
    signal::input | signal::spikes | signal::v | signal::product | signal::readout | signal::combined;

// A readout if all that the stage reads are readouts, so that a loss can follow it; else signal::combined.
uint32_t combined_of(const StageView& view);
// The output of inference, if the stage is a readout.
std::optional<StageOutput> combined_output(const StageView& view);
// "[6, 4, 15]", or "[6, 4, 2x2x15]" of a map.
std::string text_of(const core::Flow& flow);
// Throws INVALID_ARGUMENT unless both inputs have the same steps, and the same map: all of it, or its height and width.
void check_same_shape(const StageView& view, size_t one, size_t other, bool with_channels);
// Throws INVALID_ARGUMENT unless the stage reads a spike in every element.
void check_spikes(const StageView& view, size_t i);

// Counts in u8 as numbers.
core::OperationList as_numbers(const core::Flow& flow, Buffer& counts, Buffer& numbers);

// An array of the stage's own, and its gradient.
class CombinedParts : public StageParts {
 public:
  Buffer* array(Port) const noexcept override { return array_.get(); }
  Buffer* gradient(Port) const noexcept override { return gradient_.get(); }

 protected:
  // Without a type, it has no such array.
  CombinedParts(StageMaker& maker, std::optional<int32_t> dtype);

 private:
  Ref<Buffer> array_, gradient_;  // [T, B, N]; the second is null where nothing before is trained
};

}  // namespace synfire::network

#endif
