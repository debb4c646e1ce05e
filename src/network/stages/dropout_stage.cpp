// Dropout: a mask of its input, which its readers apply. Only training masks anything.
#include "stage_kinds.hpp"

#include <network/stage_key_values.hpp>
#include <network/stage_recorder.hpp>

#include <operations/dropout/dropout.hpp>

#include <cstdio>

namespace synfire::network {

using namespace synfire::core;

namespace {

constexpr ValueSpec dropout_values[] = {
    {"probability", 0, 0, value::below_one, value::any, value::changes},
    {"seed", 0, 0, value::most_whole, value::whole, value::fixed},
    {"by_channel", 0, 0, 1, value::whole, value::fixed, value::on_training, value::if_changed},
};

// Bits of a row of the mask.
int64_t n_kept(const StageView& view) {
  return view->flag("by_channel") ? view->output.channels : view->width();
}

//! [parts]
class DropoutParts final : public StageParts {
 public:
  explicit DropoutParts(StageMaker& maker)
      : StageParts(maker.stage()),
        mask_(maker.parts().make_sequence(SYNFIRE_DTYPE_BITS, 1, maker.parts().rules().batch, n_kept(maker.stage()),
                                          maker.parts().passed_on())),
        scale_(maker.one(maker.number(), maker.parts().passed_on())) {}

  DropoutArrays kept() const noexcept override { return {mask_.get(), scale_.get(), n_kept(stage())}; }

  void forward(StageRecorder& recorder) override {
    const Stage& dropout = stage().stage();
    operations::record_dropout(recorder.graph(), {n_kept(stage()), recorder.rules().batch,
                                                  recorder.trains() ? dropout.value("probability") : 0, mask_.get(),
                                                  scale_.get(), recorder.seed(), recorder.offset()});
    recorder.note_draws(1);
    if (recorder.trains()) recorder.note("probability", "probability");
  }

 private:
  Ref<Buffer> mask_;   // bits [1, B, K], or of channels [1, B, C]
  Ref<Buffer> scale_;  // [1]
};
//! [parts]

//! [kind]
class DropoutKind final : public StageKind {
 public:
  constexpr DropoutKind()
      : StageKind({.name = "dropout",
                   .noun = "a dropout",
                   .values = dropout_values,
                   .reads = signal::input | signal::spikes | signal::v | signal::readout | signal::combined,
                   .makes = signal::masked,
                   .takes_steps = true,
                   .reads_before = true,
                   .draws_for = purpose::dropout}) {}

  Flow shape(const StageView& view) const override { return view.flow(); }
  void check(const StageView&) const override {}
  Draws draws(const Stage&) const override { return Draws::in_training; }
  bool hands_on(const Stage&) const override { return true; }

  std::string describe(const StageView& view) const override {
    char text[48];
    std::snprintf(text, sizeof text, "p = %g%s", view->value("probability"),
                  view->flag("by_channel") ? " of channels" : "");
    return text;
  }

  void write(const StageView&, StageKeyValues& words) const override { write_choice(words, 0); }
  void read(Stage&, KeyValueReader& words, const Context&) const override { take_choice(words); }

  std::unique_ptr<StageParts> make(StageMaker& maker) const override { return std::make_unique<DropoutParts>(maker); }
};
//! [kind]

constexpr DropoutKind the_dropout;

}  // namespace

const StageKind& dropout_kind = the_dropout;

size_t add_dropout(Design& design, const char* name, double probability, const Reads& reads) {
  const InitialValue values[] = {{"probability", probability}};
  return design.add(dropout_kind, name, {}, reads, values);
}

}  // namespace synfire::network
