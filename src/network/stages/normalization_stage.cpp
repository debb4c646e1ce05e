// A batch normalisation of maps or features. Training takes the statistics of its batch, and all else the running ones.
#include "combined.hpp"
#include "stage_kinds.hpp"

#include <network/monitors.hpp>
#include <network/stage_key_values.hpp>
#include <network/stage_recorder.hpp>
#include <network/state_arrays.hpp>
#include <network/trained_members.hpp>

#include <files/layout.hpp>
#include <graph/operands.hpp>
#include <operations/normalize/normalize.hpp>
#include <synapses/normalization/normalization.hpp>

namespace synfire::network {

using namespace synfire::core;

namespace {

constexpr ValueSpec normalization_values[] = {
    {"momentum", 0.1, value::above_0, 1, value::any, value::fixed, value::on_training},
    {"epsilon", 1e-5, value::above_0, 1e30, value::any, value::fixed},
    {"affine", 1, 0, 1, value::whole, value::fixed},
    {"threshold", 1, value::above_0, 1e30, value::any, value::fixed, value::on_none},
    {"freeze", 0, 0, 1, value::whole, value::fixed, value::on_none},
    {"learning_rate_factor", 1, 0, value::largest, value::any, value::changes, value::on_training},
    {"weight_decay_factor", 0, 0, value::largest, value::any, value::changes, value::on_training},
    {"bias_learning_rate_factor", 1, 0, value::largest, value::any, value::changes, value::on_training},
    {"bias_weight_decay_factor", 0, 0, value::largest, value::any, value::changes, value::on_training},
    {"frozen", 0, 0, 1, value::whole, value::changes, value::on_training, value::if_changed},
};

constexpr const char* statistics_names[] = {"running_mean", "running_variance"};

std::string array_name(const Stage& stage, const char* array) {
  return stage.name + "." + array;
}

class NormalizationParts final : public CombinedParts {
 public:
  explicit NormalizationParts(StageMaker& maker)
      : CombinedParts(maker, maker.number()), learns_(maker.gradient().learns) {
    maker.count_as(&PartBytes::synapses, [&] {
      synapse_ = Ref<operations::NormalizationSynapse>::adopt(new operations::NormalizationSynapse(
          maker.context(), {stage()->output, maker.number(), stage()->flag("affine"), stage()->value("threshold")}));
      if (!maker.is_planned()) synapse_->initialize();
      if (learns_) synapse_->prepare_gradients();
    });
    monitor_.emplace(maker, *synapse_, learns_);
    for (const SynapseArray& array : synapse_->arrays()) {
      wrappers_.push_back(wrapper(maker, array.values));
      wrappers_.push_back(learns_ && array.trained ? wrapper(maker, array.gradient) : Ref<Buffer>());
    }
    if (maker.gradient().has_backward)
      saved_ = maker.parts().make(SYNFIRE_DTYPE_U64, {4, stage()->output.channels}, maker.parts().passed_on());
  }

  Object* object() const noexcept override { return synapse_.get(); }

  void forward(StageRecorder& recorder) override {
    operations::NormalizeRequest request = {};
    request.maps = maps(recorder);
    request.epsilon = stage()->value("epsilon");
    request.momentum = stage()->value("momentum");
    request.source = recorder.read().array;
    request.destination = recorder.written();
    request.gamma = values("weight");
    request.beta = values("bias");
    request.running_mean = values("running_mean");
    request.running_variance = values("running_variance");
    request.saved = recorder.has_backward() ? saved_.get() : nullptr;
    recorder.append([&] { return of_synapse(operations::normalize(request)); });
  }
  void backward(StageRecorder& recorder) override {
    const StageRecorder::Gradient before = recorder.gradient();
    operations::NormalizeBackwardRequest request = {};
    request.maps = maps(recorder);
    request.accumulate = before.add;
    request.grad_destination = recorder.output_gradient();
    request.source = recorder.read().array;
    request.saved = saved_.get();
    request.gamma = values("weight");
    request.grad_source = before.array;
    request.grad_gamma = gradient_of("weight");
    request.grad_beta = gradient_of("bias");
    recorder.append([&] { return of_synapse(operations::normalize_backward(request)); });
  }

  void end_step(StageRecorder& recorder) override { monitor_->record(recorder); }

  void train(Trainer& trainer) override {
    if (!learns_) return;
    for (const char* const name : {"weight", "bias"}) {
      members_.add_array(trainer, stage().stage(), *synapse_, name);
      trainer.name_member(array_name(stage().stage(), name),
                          [channels = stage()->output.channels] { return std::vector<int64_t>{channels}; });
    }
  }
  bool take_value(const char*, double) override {
    take_values();
    return true;
  }
  void take_values() override { members_.take_factors(stage().stage()); }
  void wait() const override { synapse_->order().wait(); }
  void read_monitor(synfire_network_monitor& monitor) const override { monitor_->read(monitor); }
  void clear_monitor() const override { monitor_->clear(); }
  void list_saved(StateArrays& list) const override {
    for (const SynapseArray& of : synapse_->arrays()) {
      StateArray array = {
          array_name(stage().stage(), of.name),
          file_type_of(of.dtype),
          {of.count()},
          of.name == std::string_view("running_variance") ? StateArray::Numbers::from_0 : StateArray::Numbers::finite};
      array.is_state = false;
      array.read = [synapse = synapse_.get(), name = of.name, bytes = of.bytes()](void* to) {
        synapse->read(name, to, bytes);
      };
      array.write = [synapse = synapse_.get(), name = of.name, bytes = of.bytes()](const void* from) {
        synapse->write(name, from, bytes);
      };
      list.arrays.push_back(std::move(array));
    }
  }

 private:
  // Operations read arrays of the synapse as buffers.
  static Ref<Buffer> wrapper(const StageMaker& maker, const View& array) {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.dtype = array.dtype;
    desc.data = array.data;
    desc.shape[0] = array.bytes / bytes_of_dtype(array.dtype);
    return charged_as(SYNFIRE_TAG_BUFFER, [&] { return Ref<Buffer>::adopt(new Buffer(maker.context(), desc)); });
  }
  Buffer* wrapped(const char* name, size_t which) const noexcept {
    const SynapseArray* const array = synapse_->find_array(name);
    return array ? wrappers_[2 * static_cast<size_t>(array - synapse_->arrays().data()) + which].get() : nullptr;
  }
  Buffer* values(const char* name) const noexcept { return wrapped(name, 0); }
  Buffer* gradient_of(const char* name) const noexcept { return wrapped(name, 1); }
  // The memory is the synapse's, which orders replays.
  OperationList of_synapse(OperationList&& operations) const {
    for (Operation& operation : operations)
      for_each_operand(operation, [&](const Operand<View>& operand) {
        for (const SynapseArray& array : synapse_->arrays()) {
          const void* const data = operand.view.data;
          if (data && (data == array.values.data || data == array.gradient.data)) operand.view.owner = synapse_.get();
        }
      });
    return std::move(operations);
  }

  operations::NormalizeMaps maps(const StageRecorder& recorder) const {
    const Flow flow = stage().flow();
    const bool takes_running = !recorder.trains() || stage()->flag("freeze");
    // One step before all of the network's has no length.
    const bool has_lengths = flow.n_steps == recorder.rules().n_steps;
    return {takes_running ? SYNFIRE_NORMALIZE_EVALUATION : SYNFIRE_NORMALIZE_TRAINING,
            flow.n_steps,
            flow.channels,
            flow.batch,
            flow.height,
            flow.width,
            has_lengths ? recorder.lengths() : nullptr,
            recorder.n_active()};
  }

  const bool learns_;
  Ref<operations::NormalizationSynapse> synapse_;
  TrainedMembers members_;
  std::optional<WeightMonitor> monitor_;
  std::vector<Ref<Buffer>> wrappers_;  // for each array, its values and its gradient, or null
  Ref<Buffer> saved_;                  // u64 [4, C], for the backward
};

class NormalizationStage final : public StageKind {
 public:
  constexpr NormalizationStage()
      : StageKind({.name = "normalization",
                   .noun = "a normalization",
                   .values = normalization_values,
                   .reads = combinable,
                   .makes = signal::combined | signal::readout,
                   .reads_before = true,
                   .is_new = true}) {}

  uint32_t makes(const StageView& view) const override { return combined_of(view); }
  Flow shape(const StageView& view) const override {
    Flow flow = view.flow();
    flow.elements = Elements::values;
    flow.bound = 1;
    flow.count_scale = 1;
    return flow;
  }
  void check(const StageView& view) const override {
    if (view->flag("affine")) return;
    for (const ValueSpec& spec : normalization_values) {
      const std::string_view name = spec.name;
      if ((name == "threshold" || name.ends_with("_factor")) && view->at(*view->find_spec(name)) != spec.initial)
        fail_argument("SYN-NETWORK-VALUE",
                      "\"%s\" of stage \"%s\" is %g, but \"affine\" is 0; it has no gamma and no beta", spec.name,
                      view->name.c_str(), view->at(*view->find_spec(name)));
    }
  }
  bool reads_numbers(const StageView&) const override { return true; }
  bool has_weights(const StageView& view) const override { return view->flag("affine"); }
  bool learns(const StageView& view) const override { return view->flag("affine") && !view->is_built_frozen(); }
  std::optional<StageOutput> output(const StageView& view) const override { return combined_output(view); }

  std::string describe(const StageView& view) const override {
    return std::string(view->flag("affine") ? "" : "not affine").append(view->flag("freeze") ? " frozen" : "");
  }
  int64_t n_learnt(const StageView& view) const override {
    return view->flag("affine") ? 2 * view->output.channels : 0;
  }

  void write(const StageView&, StageKeyValues&) const override {}
  void read(Stage&, KeyValueReader&, const Context&) const override {}
  // Limits the arrays to those of the file.
  void read_tensors(Design& design, size_t index, const Stage&, const files::SafetensorsFile& file) const override {
    const StageView view = design.view(index);
    const int64_t shape[] = {view->output.channels};
    for (const char* const name : statistics_names) {
      const std::string tensor = array_name(view.stage(), name);
      if (!file.find(tensor))
        fail_argument("SYN-NETWORK-FILE", "the file has no tensor %s: the running statistics of stage \"%s\"",
                      files::shown(tensor).c_str(), view->name.c_str());
      file.bytes(tensor, file_type_of(design.rules().dtype), shape);
    }
  }

  std::unique_ptr<StageParts> make(StageMaker& maker) const override {
    return std::make_unique<NormalizationParts>(maker);
  }
};

constexpr NormalizationStage the_normalization;

}  // namespace

const StageKind& normalization_kind = the_normalization;

}  // namespace synfire::network
