// Means over groups of neighbours: several outputs vote for each class.
#include "combined.hpp"
#include "stage_kinds.hpp"

#include <network/stage_key_values.hpp>
#include <network/stage_recorder.hpp>

#include <operations/group_mean/group_mean.hpp>

namespace synfire::network {

using namespace synfire::core;

namespace {

constexpr ChoiceSpec group_choices[] = {{"group_size"}};
constexpr int64_t largest_group = int64_t{1} << 24;

struct GroupSettings final : SettingsOf<GroupSettings> {
  explicit GroupSettings(int64_t its_size) : group_size(its_size) {}
  int64_t group_size;
};

int64_t group_size_of(const Stage& stage) {
  return stage.as<GroupSettings>().group_size;
}

class GroupMeanParts final : public CombinedParts {
 public:
  explicit GroupMeanParts(StageMaker& maker) : CombinedParts(maker, maker.number()) {}

  void forward(StageRecorder& recorder) override {
    const Flow& flow = stage()->output;
    recorder.append([&] {
      return operations::group_mean({flow.n_steps, flow.n_features(), group_size_of(stage().stage()), flow.batch,
                                     recorder.read().array, recorder.written()});
    });
  }
  void backward(StageRecorder& recorder) override {
    const Flow& flow = stage()->output;
    const StageRecorder::Gradient before = recorder.gradient();
    if (!before.array) return;
    recorder.append([&] {
      return operations::group_mean_backward({flow.n_steps, flow.n_features(), group_size_of(stage().stage()),
                                              flow.batch, before.add, recorder.output_gradient(), before.array});
    });
  }
};

class GroupMeanKind final : public StageKind {
 public:
  constexpr GroupMeanKind()
      : StageKind({.name = "group_mean",
                   .noun = "means over groups",
                   .choices = group_choices,
                   .reads = combinable,
                   .makes = signal::combined | signal::readout,
                   .reads_before = true,
                   .is_new = true}) {}

  std::unique_ptr<StageSettings> settings(const Design&, Choices choices) const override {
    return std::make_unique<GroupSettings>(choices[0]);
  }
  uint32_t makes(const StageView& view) const override { return combined_of(view); }
  Flow shape(const StageView& view) const override {
    Flow flow = view.flow();
    const int64_t size = group_size_of(view.stage()), n_features = flow.n_features();
    if (size < 1 || size > largest_group || n_features % size != 0)
      fail_argument(
          "SYN-NETWORK-SHAPE",
          "\"group_size\" of stage \"%s\" is %lld, and stage \"%s\" has %lld outputs; a divisor of them, at most "
          "2^24, is needed",
          view->name.c_str(), static_cast<long long>(size), view.input()->name.c_str(),
          static_cast<long long>(n_features));
    Flow groups = {flow.n_steps, flow.batch};
    groups.channels = n_features / size;
    return groups;
  }
  void check(const StageView&) const override {}
  bool reads_numbers(const StageView&) const override { return true; }
  std::optional<StageOutput> output(const StageView& view) const override { return combined_output(view); }

  std::string describe(const StageView& view) const override {
    return "groups of " + std::to_string(group_size_of(view.stage()));
  }

  void write(const StageView& view, StageKeyValues& words) const override {
    words.before_seed.add_whole("group_size", static_cast<uint64_t>(group_size_of(view.stage())));
  }
  void read(Stage& stage, KeyValueReader& words, const Context&) const override {
    stage.settings = std::make_unique<GroupSettings>(static_cast<int64_t>(words.take_whole("group_size", INT64_MAX)));
  }
  void compare_choice(const Stage& here, const Stage& there) const override {
    compare_whole(here, "group_size", group_size_of(here), group_size_of(there));
  }

  std::unique_ptr<StageParts> make(StageMaker& maker) const override { return std::make_unique<GroupMeanParts>(maker); }
};

constexpr GroupMeanKind the_group_mean;

}  // namespace

const StageKind& group_mean_kind = the_group_mean;

}  // namespace synfire::network
