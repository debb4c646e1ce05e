// Flatten: a map is a row of features, in the order that it has in memory (height, width, channels). No work.
#include "combined.hpp"
#include "stage_kinds.hpp"

#include <network/stage_key_values.hpp>

namespace synfire::network {

using namespace synfire::core;

namespace {

class FlattenParts final : public StageParts {
 public:
  explicit FlattenParts(StageMaker& maker) : StageParts(maker.stage()) {}
  void forward(StageRecorder&) override {}
};

class FlattenKind final : public StageKind {
 public:
  constexpr FlattenKind()
      : StageKind({.name = "flatten",
                   .noun = "a flattened map",
                   .reads = combinable,
                   .makes = signal::combined | signal::readout,
                   .takes_steps = true,
                   .reads_before = true,
                   .is_new = true}) {}

  uint32_t makes(const StageView& view) const override { return combined_of(view); }
  Flow shape(const StageView& view) const override {
    Flow flow = view.flow();
    flow.channels = flow.n_features();
    flow.height = flow.width = 1;
    return flow;
  }
  void check(const StageView&) const override {}
  bool hands_on(const Stage&) const override { return true; }
  std::optional<StageOutput> output(const StageView& view) const override { return combined_output(view); }
  std::string describe(const StageView&) const override { return ""; }

  void write(const StageView&, StageKeyValues&) const override {}
  void read(Stage&, KeyValueReader&, const Context&) const override {}

  std::unique_ptr<StageParts> make(StageMaker& maker) const override { return std::make_unique<FlattenParts>(maker); }
};

constexpr FlattenKind the_flatten;

}  // namespace

const StageKind& flatten_kind = the_flatten;

}  // namespace synfire::network
