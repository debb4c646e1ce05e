// Neurons: a layer, its spikes and its V over all steps. Their rates can be drawn to a target.
#include "stage_kinds.hpp"

#include "packed_rows.hpp"

#include <network/constant_names.hpp>
#include <network/kept_arrays.hpp>
#include <network/monitors.hpp>
#include <network/stage_key_values.hpp>
#include <network/stage_recorder.hpp>
#include <network/state_arrays.hpp>
#include <network/trained_members.hpp>

#include <base/dtype.hpp>
#include <base/text.hpp>
#include <base/view_checks.hpp>
#include <graph/transients.hpp>
#include <neurons/graph_tapes.hpp>
#include <neurons/layer.hpp>
#include <neurons/layer_spec.hpp>
#include <neurons/loaded.hpp>
#include <neurons/parameter_bounds.hpp>
#include <neurons/passes/backward.hpp>
#include <neurons/passes/forward.hpp>
#include <neurons/state/make_layer.hpp>
#include <neurons/state/state_rows.hpp>
#include <operations/elementwise/copy.hpp>
#include <operations/elementwise/scale_add.hpp>
#include <operations/last_steps/last_steps.hpp>
#include <operations/rate_loss/rate_loss.hpp>
#include <operations/reduce/reduce.hpp>
#include <operations/spikes/convert_spikes.hpp>
#include <operations/sum_steps/sum_steps.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace synfire::network {

using namespace synfire::core;

namespace {

constexpr ChoiceSpec neurons_choices[] = {{"model", &names::models}};
constexpr PortName neurons_ports[] = {{"spikes", Port::output}, {"v", Port::v}};

constexpr ValueSpec neurons_values[] = {
    {"dtype", 0, 0, SYNFIRE_DTYPE_U64, value::whole, value::fixed, value::on_results, value::always, &names::dtypes},
    {"reset", 0, 0, SYNFIRE_RESET_SOFT_DELAYED, value::whole, value::fixed, value::on_results, value::always,
     &names::resets},
    {"surrogate", 0, 0, 0x7FFFFFFF, value::whole, value::fixed, value::on_training, value::always, &names::surrogates},
    {"detach_reset", 0, 0, 1, value::whole, value::fixed, value::on_training},
    {"undecayed_input", 0, 0, 1, value::whole, value::fixed},
    {"strict_threshold", 0, 0, 1, value::whole, value::fixed, value::on_results, value::if_changed},
    {"refractory_steps", 0, 0, 1'000'000, value::whole, value::fixed, value::on_results, value::if_changed},
    {"tape", 0, 0, SYNFIRE_TAPE_STORE_NARROW, value::whole, value::fixed, value::on_training, value::always,
     &names::tapes},
    {"rate_target", 0, -value::largest, value::largest, value::any, value::changes, value::on_training},
    {"rate_strength", 0, -value::largest, value::largest, value::any, value::changes, value::on_training},
    {"rate_of_layer", 0, 0, 1, value::whole, value::fixed, value::on_training},
    {"frozen", 0, 0, 1, value::whole, value::changes, value::on_training, value::if_changed},
};

constexpr std::string_view frozen_name = "frozen";

struct NamedValue {
  std::string name;
  double value;
};

// Who shares a parameter of more than one number.
struct NamedScope {
  std::string name;
  Scope scope;
};

struct NeuronsSettings final : SettingsOf<NeuronsSettings> {
  explicit NeuronsSettings(int32_t its_model) : model(its_model) {}
  int32_t model;          // SYNFIRE_MODEL_*, or the id of one that was loaded
  bool has_rate = false;  // their rates are drawn to a target, also with a strength of 0 for now
  std::vector<NamedValue> parameters = {};
  std::vector<NamedScope> scopes = {};  // of parameters that are not one number
  std::vector<TrainedParameter> trained = {};
  // Keep loaded models and surrogates alive.
  Ref<LoadedModel> loaded_model = {};
  Ref<LoadedSurrogate> loaded_surrogate = {};
};

const NeuronsSettings& settings_of(const Stage& stage) {
  return stage.as<NeuronsSettings>();
}

int32_t model_of(const Stage& stage) {
  const int32_t model = settings_of(stage).model;
  return model == SYNFIRE_MODEL_DEFAULT ? SYNFIRE_MODEL_LIF : model;
}
// A model that does not exist is refused when the stage is checked.
bool never_fires(const Stage& stage) {
  const FoundModel model = find_model(model_of(stage));
  return model && model->never_fires;
}
bool has_rate(const Stage& stage) {
  return settings_of(stage).has_rate || stage.value("rate_strength") != 0;
}

synfire_layer_desc layer_desc(const StageView& view) {
  const Stage& stage = view.stage();
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  desc.model = settings_of(stage).model;
  desc.n_steps = view.rules().n_steps;
  desc.n_neurons = stage.width();
  desc.batch = view.rules().batch;
  desc.dtype = stage.whole("dtype") == 0 ? view.rules().dtype : stage.whole("dtype");
  desc.reset = stage.whole("reset");
  desc.surrogate = stage.whole("surrogate");
  desc.detach_reset = stage.whole("detach_reset");
  desc.undecayed_input = stage.whole("undecayed_input");
  desc.strict_threshold = stage.whole("strict_threshold");
  desc.refractory_steps = stage.whole("refractory_steps");
  return desc;
}

ParameterSet parameters_of(const LayerSpec& spec) {
  return {*spec.model, *spec.surrogate, 1, spec.undecayed_input};
}
ParameterSet parameters_of(const StageView& view) {
  return parameters_of(LayerSpec(layer_desc(view)));
}

Scope scope_of(const NeuronsSettings& settings, const ParameterSet& set, std::string_view name) {
  const uint32_t wanted = set.find(name).index;
  for (const NamedScope& one : settings.scopes)
    if (set.find(one.name).index == wanted) return one.scope;
  return Scope::layer;
}

// How many numbers a parameter of a stage is.
int64_t n_entries(const StageView& view, const ParameterSet& set, std::string_view name) {
  return core::n_entries(scope_of(settings_of(view.stage()), set, name), view->width(), view.flow().channels);
}

bool has_parameter(const ParameterSet& set, std::string_view name) {
  for (uint32_t i = 0; i < set.size(); ++i)
    if (name == set.spec(i).name || (set.spec(i).reciprocal_name && name == set.spec(i).reciprocal_name)) return true;
  return false;
}

void check_trained(const ParameterSet& set, const Stage& stage, std::span<const TrainedParameter> before,
                   const TrainedParameter& parameter) {
  const ParameterName wanted = set.find(parameter.name, "parameter");
  set.gradient_row(wanted, "parameter");
  for (const TrainedParameter& other : before)
    if (set.find(other.name).index == wanted.index)
      fail_argument("SYN-NETWORK-TRAINED", "parameter is \"%s\" of stage \"%s\", which is trained already",
                    parameter.name.c_str(), stage.name.c_str());
  for (const double* const factor : {&parameter.rate_factor, &parameter.decay_factor})
    if (!std::isfinite(*factor) || *factor < 0)
      fail_argument("SYN-NETWORK-VALUE", "%s is %g; a finite number of at least 0 is needed",
                    factor == &parameter.rate_factor ? "learning_rate_factor" : "weight_decay_factor", *factor);
  const ParameterBounds bounds = trained_bounds(set, wanted, {parameter.lower, parameter.upper});
  if (!(bounds.lower <= bounds.upper))
    fail_argument("SYN-NETWORK-VALUE", "lower is %g%s and upper %g%s; no number is between them", bounds.lower,
                  std::isnan(parameter.lower) ? " (the default)" : "", bounds.upper,
                  std::isnan(parameter.upper) ? " (the default)" : "");
}

// ---- parts ----------------------------------------------------------------------------------------------------------

class NeuronsParts final : public StageParts {
 public:
  explicit NeuronsParts(StageMaker& maker)
      : StageParts(maker.stage()),
        has_rate_(network::has_rate(own())),
        in_cycle_(maker.parts().in_cycle(maker.stage().index())),
        n_before_(maker.parts().delays[maker.stage().index()]),
        monitor_(maker) {
    synfire_layer_desc desc = layer_desc(maker.stage());
    desc.history_steps = n_before_;
    if (in_cycle_) desc.n_steps = 1;
    const LayerSpec spec(desc);
    if (!maker.is_planned()) spec.check_context(maker.context());
    maker.count_as(&PartBytes::layers, [&] {
      layer_ = Ref<Layer>::adopt(operations::make_layer(maker.context(), spec));
      set_parameters(maker.stage());
    });
    make_arrays(maker);
    if (!has_rate_ || !maker.parts().design.has(Role::scores)) return;
    rate_loss_ = maker.one(SYNFIRE_DTYPE_F64);
    maker.parts().rate_losses.push_back(rate_loss_);
  }

  Object* object() const noexcept override { return layer_.get(); }
  Buffer* array(Port port) const noexcept override { return port == Port::v ? v_.get() : spikes_.get(); }
  Buffer* gradient(Port port) const noexcept override { return port == Port::v ? grad_v_.get() : grad_spikes_.get(); }
  void offer(FunctionRef<void(const char*, const Ref<Buffer>&)> each) const override {
    each(".spikes", n_before_ > 0 ? shown_spikes_ : spikes_);
    each(".v", v_);
    each(".grad_spikes", n_before_ > 0 ? shown_grad_spikes_ : grad_spikes_);
    each(".grad_v", grad_v_);
    each(".grad_initial_spikes", first_grad_spikes_);
    each(".counts", counts_);
  }

  void add_reset(OperationList& list, const operations::RowRange& rows) const override {
    const auto add = [&](OperationList&& reset) { std::move(reset.begin(), reset.end(), std::back_inserter(list)); };
    add(operations::reset_rows(*layer_, rows, nullptr));
  }

  // The steps before the first are the last ones of the replay before.
  void begin_forward(StageRecorder& recorder) override {
    if (n_before_ == 0) return;
    recorder.append([&]() -> OperationList {
      const View history = layer_->history_memory(), first = steps_of(*first_spikes_);
      if (first.dtype == SYNFIRE_DTYPE_BITS) return {operations::last_steps(own().width(), {}, history, first)};
      return {operations::ConvertSpikes{history_extents(), history, first}};
    });
  }
  void end_forward(StageRecorder& recorder) override {
    if (in_cycle_) record_rates_alone(recorder);
    record_counts(recorder);
    if (n_before_ == 0) return;
    recorder.append([&]() -> OperationList {
      const View history = layer_->history_memory(), last = steps_of(*last_spikes_);
      const View active = layer_->own(const_cast<int64_t*>(layer_->active()), sizeof(int64_t), SYNFIRE_DTYPE_U64);
      if (last.dtype == SYNFIRE_DTYPE_BITS) return {operations::last_steps(own().width(), active, last, history)};
      const View packed =
          transient_array(1, SYNFIRE_DTYPE_BITS, {history.shape[0], history.shape[1], history.shape[2]});
      return {operations::ConvertSpikes{history_extents(), last, packed},
              operations::last_steps(own().width(), active, packed, history)};
    });
  }

  void forward(StageRecorder& recorder) override {
    operations::ForwardRequest request = {};
    request.tape = recorder.has_backward() ? static_cast<TapeMode>(own().whole("tape")) : TapeMode::none;
    request.spikes = recorder.written(Port::output);
    request.v_seq = recorder.written(Port::v);
    const StageRecorder::Read input = recorder.read();
    if (input.product)
      input.product->give(request, recorder);
    else
      request.x = x_ ? &repeat(recorder, *input.array) : input.array;
    operations::record_forward(recorder.graph(), *layer_, request);
    if (!in_cycle_) return record_rates_alone(recorder);
    if (recorder.has_backward()) recorder.tapes().emplace_back(recorder.graph().keeper<GraphTapes>().newest(*layer_));
  }

  void begin_backward(StageRecorder& recorder) override {
    if (has_rate_) record_rates(recorder, recorder.own_gradient());
  }
  void backward(StageRecorder& recorder) override {
    if (!in_cycle_) begin_backward(recorder);
    operations::BackwardRequest request = {};
    if (const std::optional<int64_t> step = recorder.step()) give_step(request, recorder, *step);
    request.grad_spike_seq = recorder.output_gradient(Port::output);
    request.grad_v_seq = recorder.output_gradient(Port::v);
    const std::vector<TrainedParameter>& trained = settings_of(own()).trained;
    for (size_t i = 0; i < gradients_.size(); ++i)
      request.gradients.push_back({layer_->parameters().find(trained[i].name), gradients_[i].get()});
    if (Product* const product = recorder.read().product) {
      product->give(request, recorder);
      return operations::record_backward(recorder.graph(), *layer_, request);
    }
    const StageRecorder::Gradient before = recorder.gradient();
    // One operation more, where the layer's own cannot write the gradient to its place.
    const bool is_elsewhere = before.array && (x_ || before.add);
    request.grad_x_seq = is_elsewhere ? grad_x_.get() : before.array;
    operations::record_backward(recorder.graph(), *layer_, request);
    if (is_elsewhere) hand_back(recorder, before);
  }

  void train(Trainer& trainer) override {
    const std::vector<TrainedParameter>& trained = settings_of(own()).trained;
    for (size_t i = 0; i < gradients_.size(); ++i) {
      const TrainedParameter& one = trained[i];
      const ParameterName name = layer_->parameters().find(one.name);
      members_.add_parameter(trainer, *layer_, name, *gradients_[i], {one.rate_factor, one.decay_factor}, one.lower,
                             one.upper);
      const int64_t count = trainer.optimizer().members().back().count;
      trainer.name_member(parameter_name(name.index), [&layer = *layer_, index = name.index, count] {
        return layer.parameters().values(index).size() > 1 ? std::vector{count} : std::vector<int64_t>{};
      });
    }
  }
  void check_order() const override { layer_->order_on(nullptr, stream_id(nullptr)); }

  bool take_value(const char* name, double value) override {
    if (!own().find_spec(name)) {
      if (scope_of(settings_of(own()), layer_->parameters(), name) != Scope::layer) fail_several(name);
      const ParameterValues one = {layer_->parameters().find(name), {&value, 1}};
      layer_->set_parameters({&one, 1});
      return true;
    }
    if (frozen_name == name) {
      take_values();
      return true;
    }
    if (!has_rate_)
      fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-BUILT",
           "\"rate_strength\" of stage \"%s\" was 0 when the network was built, so its rates have no target",
           own().name.c_str());
    return false;
  }
  void take_values() override { members_.take_factors(own()); }
  std::optional<double> further_value(const char* name) const override {
    const ParameterName parameter = layer_->parameters().find(name);
    if (layer_->n_values(parameter) > 1) fail_several(name);
    double now = 0;
    layer_->get_parameter(parameter, name, {&now, 1});
    return now;
  }

  void read_monitor(synfire_network_monitor& monitor) const override { monitor_.read(monitor); }
  void clear_monitor() const override { monitor_.clear(); }
  void count_rows(int64_t n_rows) const override { monitor_.count_rows(n_rows); }

  void list_state(std::vector<CarriedState>& list) const override {
    const LayerSpec& spec = layer_->spec();
    for (int i = 0; i < spec.model->n_states; ++i)
      list.push_back({layer_->state_memory(i), spec.arithmetic(), spec.extents.batch, spec.extents.n_neurons});
    if (const View history = layer_->history_memory())
      list.push_back({history, history.dtype, history.shape[0] * history.shape[1], history.shape[2]});
  }

  void list_saved(StateArrays& list) const override {
    Layer& layer = *layer_;
    const LayerSpec& spec = layer.spec();
    for (int i = 0; i < spec.model->n_states; ++i) {
      const char* const name = spec.model->states[static_cast<size_t>(i)];
      StateArray array = {own().name + ".state." + name,
                          file_type_of(spec.arithmetic()),
                          {spec.extents.batch, spec.extents.n_neurons},
                          StateArray::Numbers::any};
      array.of_rows = true;
      const uint64_t bytes = array.bytes();
      array.read = [&layer, name, bytes](void* values) { layer.read_state(name, values, bytes); };
      array.write = [&layer, name, bytes](const void* values) { layer.write_state(name, values, bytes); };
      list.arrays.push_back(std::move(array));
    }
    if (n_before_ > 0) list.arrays.push_back(saved_spikes());
    ParameterGroup group = {{}, spec.extents.n_neurons, own().output.channels, {}, {}, {}, {}};
    for (uint32_t i = 0; i < layer.parameters().size(); ++i) group.names.push_back(parameter_name(i));
    group.read = [&layer, names = group.names](uint32_t i) {
      std::vector<double> values(layer.parameters().values(i).size());
      layer.get_parameter({i, false}, names[i].c_str(), values);
      return values;
    };
    group.keeps_length = [&layer](uint32_t i) { return layer.is_updated(i); };
    group.check = [&layer](const ParameterGroup::Values& values) { check_values(layer, values); };
    group.write = [&layer](const ParameterGroup::Values& values) {
      std::vector<ParameterValues> all;
      for (uint32_t i = 0; i < values.size(); ++i) all.push_back({{i, false}, values[i]});
      layer.set_parameters(all);
    };
    list.parameters.push_back(std::move(group));
  }

 private:
  // One step of X is that of every step. This is what the gradient of a sum does.
  Buffer& repeat(StageRecorder& recorder, Buffer& step) const {
    recorder.append([&] {
      return operations::reduce_backward({operations::Reduction::sum, operations::Axis::steps,
                                          recorder.extents(own().width()), &step, nullptr, nullptr, nullptr, x_.get(),
                                          false});
    });
    return *x_;
  }
  // The gradient of an X that has one step, or other readers: summed over the steps from the last to the first, then
  // added to that of the others.
  void hand_back(StageRecorder& recorder, const StageRecorder::Gradient& before) const {
    if (!x_) return operations::record_scale_add(recorder.graph(), {grad_x_.get(), before.array, 1, 1});
    recorder.append([&] {
      return operations::sum_steps(recorder.rules().n_steps, recorder.rules().batch, own().width(), *grad_x_,
                                   *before.array, before.add);
    });
  }

  const Stage& own() const noexcept { return stage().stage(); }
  std::string parameter_name(uint32_t index) const {
    return own().name + ".parameter." + layer_->parameters().spec(index).name;
  }

  [[noreturn]] void fail_several(const char* name) const {
    fail_argument("SYN-NETWORK-PER-NEURON",
                  "\"%s\" of stage \"%s\" is one number per channel or neuron; the stage's layer has them "
                  "(synfire_network_get_layer, synfire_layer_get_parameter, synfire_layer_set_parameter)",
                  name, own().name.c_str());
  }

  // Sets the caller's values, and as many of each parameter as its scope has.
  void set_parameters(const StageView& view) const {
    std::vector<ParameterValues> list;
    for (const NamedValue& one : settings_of(own()).parameters)
      list.push_back({layer_->parameters().find(one.name), {&one.value, 1}});
    if (!list.empty()) layer_->set_parameters(list);
    for (const NamedScope& one : settings_of(own()).scopes) {
      const ParameterName name = layer_->parameters().find(one.name);
      double value = 0;
      layer_->get_parameter(name, one.name.c_str(), {&value, 1});
      const std::vector<double> values(static_cast<size_t>(n_entries(view, layer_->parameters(), one.name)), value);
      const ParameterValues all = {name, values};
      layer_->set_parameters({&all, 1});
    }
  }

  void make_arrays(StageMaker& maker) {
    const StageView& view = maker.stage();
    const int64_t width = view->width();
    const bool as_numbers = view.design().wants_numbers(view.index(), Port::output);
    const int32_t spike_dtype = as_numbers ? maker.number() : SYNFIRE_DTYPE_BITS;
    const bool has_spikes = view.is_read(Port::output) || has_rate_;
    const bool counts = maker.keeps(kept_arrays::counts);
    if (has_spikes || maker.keeps(kept_arrays::spikes) || counts || monitor_)
      if (!never_fires(own())) spikes_ = maker.delayed_sequence(spike_dtype, width, kept_arrays::spikes);
    if (counts) counts_ = maker.parts().make(maker.number(), {view.rules().batch, width});
    const int64_t n_steps = view.rules().n_steps;
    if (n_before_ > 0) {
      first_spikes_ = Ref<Buffer>(maker.parts().part(*spikes_, 0, n_before_));
      last_spikes_ = Ref<Buffer>(maker.parts().part(*spikes_, n_steps, n_before_));
      shown_spikes_ = Ref<Buffer>(maker.parts().part(*spikes_, n_before_, n_steps));
    }
    if (view.is_read(Port::v) || maker.keeps(kept_arrays::v))
      v_ = maker.sequence(maker.number(), width, kept_arrays::v);
    const bool one_step = view.flow().n_steps != n_steps;
    const Edge source = view.design().source(view.edge());
    // The gradient of spikes that are read with a delay is added to.
    const bool is_shared = view.design().has_other_readers(view.edge()) ||
                           (source.port == Port::output && maker.parts().delays[source.from] > 0);
    if (one_step) x_ = maker.sequence(maker.number(), width);
    if (!maker.gradient().has_backward) return;
    if (maker.gradient().passes && (one_step || is_shared))
      grad_x_ = in_cycle_ ? maker.parts().make_sequence(maker.number(), 1, view.rules().batch, width)
                          : maker.sequence(maker.number(), width);
    if (spikes_ && has_spikes) grad_spikes_ = maker.delayed_sequence(maker.number(), width, kept_arrays::grad_spikes);
    if (n_before_ > 0) {
      first_grad_spikes_ = Ref<Buffer>(maker.parts().part(*grad_spikes_, 0, n_before_));
      shown_grad_spikes_ = Ref<Buffer>(maker.parts().part(*grad_spikes_, n_before_, n_steps));
    }
    if (in_cycle_) make_carried_gradients(maker);
    if (view.is_read(Port::v)) grad_v_ = maker.sequence(maker.number(), width, kept_arrays::grad_v);
    if (!maker.gradient().learns) return;
    for (const TrainedParameter& trained : settings_of(own()).trained)
      gradients_.push_back(maker.parts().make(maker.number(), {n_entries(view, parameters_of(view), trained.name)}));
  }

  // dL/dV and dL/d(further variables) at the end of a step, and at its beginning, in turn.
  void make_carried_gradients(StageMaker& maker) {
    const LayerSpec& spec = layer_->spec();
    for (int i = 0; i < 2 * spec.model->n_states; ++i)
      carried_.push_back(maker.parts().make_sequence(maker.number(), 1, spec.extents.batch, spec.extents.n_neurons));
  }
  // The tape of a step, and the gradients of the state between it and the steps beside it.
  void give_step(operations::BackwardRequest& request, StageRecorder& recorder, int64_t step) const {
    const ModelRow& model = *layer_->spec().model;
    const bool is_last = step + 1 == recorder.rules().n_steps;
    request.tape = recorder.tapes()[static_cast<size_t>(step)].get();
    request.add_gradients = !is_last;
    const auto carried = [&](int64_t at, int variable) {
      return carried_[static_cast<size_t>(at % 2 * model.n_states + variable)].get();
    };
    if (!is_last) request.grad_v_final = carried(step + 1, 0);
    if (step > 0) request.grad_v_init = carried(step, 0);
    for (int i = 1; i < model.n_states; ++i) {
      const char* const name = model.states[static_cast<size_t>(i)];
      if (!is_last) request.grad_state_final.push_back({name, carried(step + 1, i)});
      if (step > 0) request.grad_state_init.push_back({name, carried(step, i)});
    }
  }

  static View steps_of(const Buffer& spikes) {
    const std::span<const int64_t> lengths = spikes.shape().all();
    return array_view(spikes, "the neurons' sequence", {lengths[0], lengths[1], lengths[2]});
  }
  Extents history_extents() const { return {n_before_, layer_->spec().extents.batch, own().width()}; }

  // The history of the layer, packed rows [D, B, words].
  StateArray saved_spikes() const {
    const View history = layer_->history_memory();
    const PackedRows rows = {history.shape[0] * history.shape[1], own().width()};
    StateArray array = {own().name + ".state.spikes",
                        files::Dtype::u32,
                        {history.shape[0], history.shape[1], history.shape[2]},
                        StateArray::Numbers::any};
    array.of_rows = true;
    array.check = [rows, name = array.name](std::span<const std::byte> words) { rows.check(words, name); };
    Device& device = layer_->context()->device();
    array.read = [history, &device](void* words) { device.download(words, history.data, history.bytes); };
    array.write = [history, &device](const void* words) { device.upload(history.data, words, history.bytes); };
    return array;
  }

  void record_rates_alone(StageRecorder& recorder) const {
    if (has_rate_ && recorder.has_batch() && !recorder.has_backward()) record_rates(recorder, {nullptr, false});
  }
  // Adds the loss of the neurons' rates to the sum, and its gradient to that of their spikes.
  void record_rates(StageRecorder& recorder, const StageRecorder::Gradient& gradient) const {
    operations::record_rate_loss(recorder.graph(),
                                 {recorder.extents(own().width()), own().flag("rate_of_layer"), recorder.written(),
                                  recorder.lengths(), recorder.n_active(), rate_loss_.get(), gradient.array, true,
                                  gradient.add, own().value("rate_target"), own().value("rate_strength")});
    recorder.note("rate_target", "target");
    recorder.note("rate_strength", "strength");
  }

  // Records sums over the spikes of all steps that programs have asked for.
  void record_counts(StageRecorder& recorder) const {
    if (counts_)
      recorder.append([&] {
        return operations::reduce({operations::Reduction::sum, operations::Axis::steps, recorder.extents(own().width()),
                                   recorder.written(), counts_.get(), recorder.lengths(), recorder.n_active()});
      });
    if (monitor_) monitor_.record(recorder, *recorder.written());
  }

  static void check_values(const Layer& layer, const ParameterGroup::Values& values) {
    ParameterSet set = [&] {
      const auto lock = layer.lock_parameters();
      return layer.parameters();
    }();
    for (uint32_t i = 0; i < set.size(); ++i) set.set(i, set.checked({i, false}, values[i]));
    const double most = layer.spec().dtype == SYNFIRE_DTYPE_F64 ? std::numeric_limits<double>::max()
                                                                : std::numeric_limits<float>::max();
    for (uint32_t i = 0; i < set.size(); ++i) set.check_constants({i, false}, most);
  }

  const bool has_rate_;
  const bool in_cycle_;     // the layer has one step
  const int32_t n_before_;  // the steps of spikes_ and grad_spikes_ before the first; the layer keeps as many
  const SpikeMonitor monitor_;
  Ref<Layer> layer_;
  Ref<Buffer> x_;                                 // [T, B, N], of an X of one step; null: it has T
  Ref<Buffer> grad_x_;                            // [T, B, N]; null: the gradient is where the stage before has it
  Ref<Buffer> spikes_, v_;                        // [T, B, N]; null: nothing reads it
  Ref<Buffer> grad_spikes_, grad_v_;              // [T, B, N]; null: nothing before is trained
  Ref<Buffer> first_spikes_, last_spikes_;        // the first and the last n_before_ steps of spikes_
  Ref<Buffer> shown_spikes_, shown_grad_spikes_;  // spikes_ and grad_spikes_ from the first step on
  Ref<Buffer> first_grad_spikes_;                 // the steps before
  std::vector<Ref<Buffer>> carried_;              // [1, B, N], in a cycle: two of each state variable
  std::vector<Ref<Buffer>> gradients_;            // of trained parameters
  Ref<Buffer> rate_loss_;                         // f64 [1]; null: the rates have no target
  Ref<Buffer> counts_;                            // [B, N], of spikes over the steps; null: nobody asks for them
  TrainedMembers members_;
};

// ---- words of files -------------------------------------------------------------------------------------------------

constexpr std::string_view surrogate_name = "surrogate", loaded_surrogate_name = "loaded_surrogate",
                           parameter_prefix = "parameter.", trained_prefix = "trained.", scope_prefix = "scope.",
                           default_bound = "default";
constexpr std::string_view scope_names[] = {"layer", "channel", "neuron"};  // by Scope

Scope read_scope(const KeyValueReader& words, const std::string& key, std::string_view whole, std::string_view name) {
  for (size_t i = 0; i < std::size(scope_names); ++i)
    if (name == scope_names[i]) return static_cast<Scope>(i);
  words.fail(key, whole, "\"layer\", \"channel\" or \"neuron\" at its beginning");
}

void write_trained(KeyValueWriter& words, const TrainedParameter& trained, Scope scope) {
  std::string value(scope_names[static_cast<size_t>(scope)]);
  for (const double number : {trained.rate_factor, trained.decay_factor, trained.lower, trained.upper})
    value.append(",").append(std::isnan(number) ? std::string(default_bound) : text_of(number));
  words.add(std::string(trained_prefix) + trained.name, value);
}

void read_trained(const KeyValueReader& words, const KeyValueReader::KeyValue& word, NeuronsSettings& settings) {
  const std::string key = std::string(trained_prefix) + word.key;
  std::vector<std::string_view> parts;
  for (std::string_view rest = word.value; parts.size() < 6;) {
    const size_t comma = std::min(rest.find(','), rest.size());
    parts.push_back(rest.substr(0, comma));
    if (comma == rest.size()) break;
    rest.remove_prefix(comma + 1);
  }
  if (parts.size() != 5) words.fail(key, word.value, "a scope, two factors and two bounds");
  const Scope scope = read_scope(words, key, word.value, parts[0]);
  const auto number = [&](size_t i) { return words.number(key, parts[i]); };
  const auto bound = [&](size_t i) {
    return parts[i] == default_bound ? std::numeric_limits<double>::quiet_NaN() : number(i);
  };
  settings.trained.push_back({word.key, number(1), number(2), bound(3), bound(4)});
  if (scope != Scope::layer) settings.scopes.push_back({word.key, scope});
}

int32_t read_model(KeyValueReader& words, const Context& context) {
  const std::string text = words.take("model");
  if (const FoundModel model = find_model(text, context)) return model->id;
  fail_argument("SYN-NETWORK-FILE",
                "the file has neurons of model %s, which this library does not have, nor was it loaded into this "
                "context; it has %s",
                quoted(text, 64).c_str(), model_names());
}

int32_t read_surrogate(KeyValueReader& words, const Context& context) {
  const std::string text = words.take(loaded_surrogate_name, "");
  if (text.empty()) return 0;
  if (const FoundSurrogate surrogate = find_surrogate(text, context)) return surrogate->id;
  fail_argument("SYN-NETWORK-FILE", "the file has the surrogate %s, which was not loaded into this context",
                quoted(text, 64).c_str());
}

// The name under which a parameter is stored.
std::string_view stored_name(const ModelRow& model, std::string_view name) {
  for (const model::ParameterSpec& spec : model.parameters)
    if (spec.reciprocal_name && name == spec.reciprocal_name) return spec.name;
  return name;
}
Scope scope_named(const Stage& stage, std::string_view name) {
  const FoundModel model = find_model(model_of(stage));
  for (const NamedScope& one : settings_of(stage).scopes)
    if (stored_name(*model.row, one.name) == stored_name(*model.row, name)) return one.scope;
  return Scope::layer;
}
void compare_scope(const Stage& stage, const std::string& what, Scope here, Scope there) {
  if (here != there)
    fail_other(stage, "the scope of " + what, std::string(scope_names[static_cast<size_t>(here)]),
               std::string(scope_names[static_cast<size_t>(there)]));
}

// A default follows from the parameter's kind, not from this network.
void compare_bound(const Stage& stage, std::string_view what, double here, double there) {
  if (!std::isnan(here) && !std::isnan(there)) compare_number(stage, what, here, there);
}

// ---- the kind -------------------------------------------------------------------------------------------------------

class NeuronsKind final : public StageKind {
 public:
  constexpr NeuronsKind()
      : StageKind({.name = "neurons",
                   .noun = "neurons",
                   .choices = neurons_choices,
                   .values = neurons_values,
                   .reads = signal::product | signal::combined,
                   .reads_if_named = signal::input | signal::spikes | signal::v | signal::readout,
                   .makes = signal::spikes | signal::v,
                   .ports = neurons_ports,
                   .reads_products = true,
                   .takes_steps = true,
                   .reads_before = true,
                   .can_end = true}) {}

  std::unique_ptr<StageSettings> settings(const Design&, Choices choices) const override {
    return std::make_unique<NeuronsSettings>(static_cast<int32_t>(choices[0]));
  }
  Flow shape(const StageView& view) const override {
    Flow flow = view.flow();
    flow.n_steps = view.rules().n_steps;
    flow.elements = Elements::spikes;
    flow.bound = 1;
    flow.count_scale = 1;
    return flow;
  }
  void settle(Stage& stage) const override {
    auto& settings = stage.as<NeuronsSettings>();
    settings.loaded_model = find_model(settings.model).loaded;
    settings.loaded_surrogate = find_surrogate(stage.whole(surrogate_name)).loaded;
  }
  void check(const StageView& view) const override {
    in_stage(view.stage(), [&] { check_parameters(view); });
  }
  void check_copy(const StageView& view) const override {
    const NeuronsSettings& settings = settings_of(view.stage());
    if (!settings.parameters.empty()) {
      const ParameterSet set = parameters_of(view);
      uint32_t seen = 0;
      for (const NamedValue& one : settings.parameters) {
        if (!has_parameter(set, one.name)) view.design().fail_unknown_value(view.index(), one.name.c_str());
        const uint32_t bit = uint32_t{1} << set.find(one.name).index;
        if ((seen & bit) != 0)
          fail_argument("SYN-PARAMETER-TWICE", "\"%s\" of stage \"%s\" is given twice", one.name.c_str(),
                        view->name.c_str());
        seen |= bit;
      }
    }
    check(view);
    if (settings.trained.empty() && settings.scopes.empty()) return;
    const ParameterSet set = parameters_of(view);
    uint32_t seen = 0;
    for (const NamedScope& one : settings.scopes) {
      const uint32_t bit = uint32_t{1} << set.find(one.name).index;
      if ((seen & bit) != 0)
        fail_argument("SYN-PARAMETER-TWICE", "\"%s\" of stage \"%s\" has two scopes", one.name.c_str(),
                      view->name.c_str());
      seen |= bit;
    }
    for (size_t i = 0; i < settings.trained.size(); ++i)
      check_trained(set, view.stage(), std::span(settings.trained).first(i), settings.trained[i]);
  }
  uint32_t makes(const StageView& view) const override { return never_fires(view.stage()) ? signal::v : traits.makes; }
  // Version 0.2 has neurons after synapses alone.
  bool needs_new_format(const StageView& view) const override {
    const NeuronsSettings& settings = settings_of(view.stage());
    const auto is_trained = [&](const NamedScope& one) {
      const ModelRow& model = *find_model(model_of(view.stage())).row;
      return std::any_of(settings.trained.begin(), settings.trained.end(), [&](const TrainedParameter& other) {
        return stored_name(model, other.name) == stored_name(model, one.name);
      });
    };
    for (const NamedScope& one : settings.scopes)
      if (one.scope != Scope::neuron || !is_trained(one)) return true;
    return !view->inputs.empty() && (view.input()->makes & signal::product) == 0;
  }
  // X is an array of numbers, also if it is made of spikes.
  bool reads_numbers(const StageView&) const override { return true; }
  const char* why_not(const Stage&) const override { return "whose neurons never fire"; }
  std::vector<std::string_view> keepable(const StageView& view) const override {
    if (never_fires(view.stage())) return {kept_arrays::v, kept_arrays::grad_v};
    return {kept_arrays::spikes,      kept_arrays::v,      kept_arrays::counts,
            kept_arrays::grad_spikes, kept_arrays::grad_v, kept_arrays::grad_initial_spikes,
            kept_arrays::monitor};
  }

  std::vector<std::string> further_names(const StageView& view) const override {
    const ParameterSet set = parameters_of(view);
    std::vector<std::string> names;
    for (uint32_t i = 0; i < set.size(); ++i) {
      names.emplace_back(set.spec(i).name);
      if (set.spec(i).reciprocal_name) names.emplace_back(set.spec(i).reciprocal_name);
    }
    return names;
  }
  bool has_further(const StageView& view, std::string_view name) const override {
    return has_parameter(parameters_of(view), name);
  }
  void set_further(const StageView& view, Stage& changed, const char* name, double value) const override {
    const ParameterSet set = parameters_of(view);
    const uint32_t wanted = set.find(name).index;
    std::vector<NamedValue>& parameters = changed.as<NeuronsSettings>().parameters;
    std::erase_if(parameters, [&](const NamedValue& other) { return set.find(other.name).index == wanted; });
    parameters.push_back({name, value});
  }
  double get_further(const StageView& view, const char* name) const override {
    const ParameterSet set = parameters_of(view);
    const ParameterName wanted = set.find(name);
    double value = set.spec(wanted.index).default_value;
    for (const NamedValue& one : settings_of(view.stage()).parameters) {
      const ParameterName other = set.find(one.name);
      if (other.index == wanted.index) value = other.reciprocal ? 1.0 / one.value : one.value;
    }
    return wanted.reciprocal ? 1.0 / value : value;
  }
  bool is_same_further(const StageView& view, const char* one, const char* other) const override {
    const ParameterSet set = parameters_of(view);
    return set.find(one).index == set.find(other).index;
  }
  // If rates are drawn to a target now, they can be later.
  void built(Stage& stage) const noexcept override { stage.as<NeuronsSettings>().has_rate = has_rate(stage); }
  void take_changes(Stage& stage, const Stage& from) const override {
    stage.as<NeuronsSettings>().parameters = settings_of(from).parameters;
  }

  bool learns(const StageView& view) const override {
    return !settings_of(view.stage()).trained.empty() && !view->is_built_frozen();
  }
  bool begins_gradient(const Stage& stage) const override { return has_rate(stage); }
  std::optional<StageOutput> output(const StageView& view) const override {
    const bool fires = !never_fires(view.stage());
    return StageOutput{fires ? Port::output : Port::v,
                       {fires ? SYNFIRE_DTYPE_BITS : view.rules().dtype, view.rules().n_steps, view->width()}};
  }

  std::string describe(const StageView& view) const override {
    const Stage& stage = view.stage();
    std::string text = find_model(model_of(stage))->name;
    for (const TrainedParameter& trained : settings_of(stage).trained) text.append(", trains ").append(trained.name);
    return text;
  }
  int64_t n_learnt(const StageView& view) const override {
    int64_t count = 0;
    if (settings_of(view.stage()).trained.empty()) return count;
    const ParameterSet set = parameters_of(view);
    for (const TrainedParameter& trained : settings_of(view.stage()).trained)
      count += n_entries(view, set, trained.name);
    return count;
  }

  void write(const StageView& view, StageKeyValues& words) const override {
    const Stage& stage = view.stage();
    const NeuronsSettings& settings = settings_of(stage);
    words.before_seed.add("model", find_model(model_of(stage))->name);
    if (settings.has_rate) words.after_seed.add_whole("has_rate", 1);
    if (settings.loaded_surrogate) {
      // Ids of loaded models and surrogates mean nothing to another process.
      words.values[static_cast<size_t>(stage.find_spec(surrogate_name) - neurons_values)] = 0;
      words.after_values.add(loaded_surrogate_name, settings.loaded_surrogate->row().name);
    }
    for (const NamedValue& one : settings.parameters)
      words.after_values.add_number(std::string(parameter_prefix) + one.name, one.value);
    if (settings.trained.empty() && settings.scopes.empty()) return;
    const ParameterSet set = parameters_of(view);
    uint32_t trained = 0;
    for (const TrainedParameter& one : settings.trained) {
      write_trained(words.after_values, one, scope_of(settings, set, one.name));
      trained |= uint32_t{1} << set.find(one.name).index;
    }
    for (const NamedScope& one : settings.scopes)
      if ((trained >> set.find(one.name).index & 1u) == 0)
        words.after_values.add(std::string(scope_prefix) + one.name,
                               std::string(scope_names[static_cast<size_t>(one.scope)]));
  }
  void read(Stage& stage, KeyValueReader& words, const Context& context) const override {
    auto settings = std::make_unique<NeuronsSettings>(read_model(words, context));
    settings->has_rate = words.take_whole("has_rate", 1, 0) == 1;
    if (const int32_t surrogate = read_surrogate(words, context); surrogate != 0)
      stage.at(*stage.find_spec(surrogate_name)) = surrogate;
    for (KeyValueReader::KeyValue word; !(word = words.take_first(parameter_prefix)).key.empty();)
      settings->parameters.push_back({word.key, words.number(std::string(parameter_prefix) + word.key, word.value)});
    for (KeyValueReader::KeyValue word; !(word = words.take_first(trained_prefix)).key.empty();)
      read_trained(words, word, *settings);
    for (KeyValueReader::KeyValue word; !(word = words.take_first(scope_prefix)).key.empty();)
      settings->scopes.push_back(
          {word.key, read_scope(words, std::string(scope_prefix) + word.key, word.value, word.value)});
    stage.settings = std::move(settings);
  }
  void compare_choice(const Stage& here, const Stage& there) const override {
    const FoundModel model = find_model(model_of(here)), other = find_model(model_of(there));
    if (std::strcmp(model->name, other->name) != 0) fail_other(here, "the model", model->name, other->name);
  }
  void compare_rest(const Stage& here, const Stage& there, bool is_trained) const override {
    if (!is_trained) return;
    if (settings_of(there).has_rate && !settings_of(here).has_rate)
      fail_argument("SYN-NETWORK-OTHER",
                    "\"rate_strength\" of stage \"%s\" was 0 when the network was built, and not in the file",
                    here.name.c_str());
    const std::vector<TrainedParameter>&mine = settings_of(here).trained, &others = settings_of(there).trained;
    compare_whole(here, "the number of trained parameters", mine.size(), others.size());
    for (size_t i = 0; i < mine.size(); ++i) {
      const TrainedParameter &one = mine[i], &other = others[i];
      const std::string of = "trained parameter \"" + one.name + "\"";
      if (one.name != other.name) fail_other(here, "trained parameter " + std::to_string(i), one.name, other.name);
      compare_scope(here, of, scope_named(here, one.name), scope_named(there, other.name));
      compare_number(here, "the learning_rate_factor of " + of, one.rate_factor, other.rate_factor);
      compare_number(here, "the weight_decay_factor of " + of, one.decay_factor, other.decay_factor);
      compare_bound(here, "the lower bound of " + of, one.lower, other.lower);
      compare_bound(here, "the upper bound of " + of, one.upper, other.upper);
    }
  }

  std::unique_ptr<StageParts> make(StageMaker& maker) const override { return std::make_unique<NeuronsParts>(maker); }

 private:
  static void check_parameters(const StageView& view) {
    const Stage& stage = view.stage();
    const NeuronsSettings& settings = settings_of(stage);
    const LayerSpec spec(layer_desc(view));
    ParameterSet set = parameters_of(spec);
    const double most = spec.dtype == SYNFIRE_DTYPE_F64 ? value::largest : std::numeric_limits<float>::max();
    for (const NamedValue& one : settings.parameters) {
      const ParameterName name = set.find(one.name);
      set.set(name.index, set.checked(name, {&one.value, 1}));
    }
    if (!settings.parameters.empty()) set.check_constants(set.find(settings.parameters.back().name), most);
    for (const TrainedParameter& one : settings.trained) set.find(one.name);
    for (const NamedScope& one : settings.scopes) set.find(one.name);
    if (spec.model->never_fires)
      for (const char* const name : {"rate_target", "rate_strength"})
        if (stage.value(name) != 0)
          fail_argument("SYN-NETWORK-VALUE", "\"%s\" is %g; the neurons never fire, 0 is needed", name,
                        stage.value(name));
    if (stage.whole("tape") == SYNFIRE_TAPE_NONE)
      fail_argument("SYN-NETWORK-VALUE", "\"tape\" is 1 (SYNFIRE_TAPE_NONE), with which no training is possible");
    if (stage.whole("tape") == SYNFIRE_TAPE_STORE_NARROW && !spec.is_narrow())
      fail_argument("SYN-NETWORK-VALUE",
                    "\"tape\" is 3 (SYNFIRE_TAPE_STORE_NARROW), which only layers of 16 bits have");
    if (spec.arithmetic() != view.rules().dtype)
      fail_argument("SYN-NETWORK-DTYPE", "\"dtype\" is %s; the network computes in %s", name_of_dtype(spec.dtype),
                    name_of_dtype(view.rules().dtype));
  }
};

constexpr NeuronsKind the_neurons;

}  // namespace

const StageKind& neurons_kind = the_neurons;

size_t add_neurons(Design& design, const char* name, int32_t model, const Reads& reads) {
  const int64_t choices[] = {model};
  return design.add(neurons_kind, name, choices, reads);
}

namespace {

void put_scope(NeuronsSettings& settings, const ParameterSet& set, std::string name, Scope scope) {
  const uint32_t wanted = set.find(name).index;
  std::erase_if(settings.scopes, [&](const NamedScope& other) { return set.find(other.name).index == wanted; });
  if (scope != Scope::layer) settings.scopes.push_back({std::move(name), scope});
}

}  // namespace

void train_parameter(Design& design, const char* name, TrainedParameter&& parameter, bool per_neuron) {
  const size_t index = design.find(name, neurons_kind);
  const StageView view = design.view(index);
  const ParameterSet set = parameters_of(view);
  check_trained(set, view.stage(), settings_of(view.stage()).trained, parameter);
  auto& settings = static_cast<NeuronsSettings&>(design.settings(index));
  settings.trained.push_back(std::move(parameter));
  if (per_neuron) put_scope(settings, set, settings.trained.back().name, Scope::neuron);
}

void set_scope(Design& design, const char* name, const char* parameter, Scope scope) {
  const size_t index = design.find(name, neurons_kind);
  const ParameterSet set = parameters_of(design.view(index));
  set.find(parameter, "parameter");
  put_scope(static_cast<NeuronsSettings&>(design.settings(index)), set, parameter, scope);
}

}  // namespace synfire::network
