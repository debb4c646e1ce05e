// Records the graphs of a network, operation after operation, as a program would by hand.
#include "parts.hpp"

#include <base/error.hpp>
#include <operations/dropout/dropout.hpp>
#include <operations/encode/encode_bernoulli.hpp>
#include <operations/gather_rows/gather_rows.hpp>
#include <operations/loss/loss.hpp>
#include <operations/neuron/backward.hpp>
#include <operations/neuron/forward.hpp>
#include <operations/rate_loss/rate_loss.hpp>
#include <operations/reduce/reduce.hpp>
#include <operations/replace_nonfinite/replace_nonfinite.hpp>
#include <operations/shuffle/shuffle.hpp>
#include <operations/state/state.hpp>
#include <operations/synapse/synapse.hpp>

namespace synfire::network {

using namespace synfire::core;

namespace {

class Recording {
 public:
  Recording(Parts& parts, GraphKind kind)
      : parts_(parts),
        design_(parts.design),
        rules_(design_.rules()),
        kind_(kind),
        graph_(Ref<Graph>::adopt(new Graph(parts.context, kind == GraphKind::inference ? parts.graph_slots() : 0))) {}

  void record_inference() {
    take_input(*parts_.inference_input);
    for (Pair& pair : parts_.pairs) record_forward(pair);
    if (reduces()) record_reduce(*parts_.inference_output);
  }

  void record_evaluation(const DataSet& data) {
    record_batch(data, 0);
    for (Pair& pair : parts_.pairs) record_forward(pair);
    if (reduces()) record_reduce(*parts_.readout);
    record_loss_sums();
  }

  void record_training(const DataSet& data, const Parts::Offsets& offsets) {
    offsets_ = &offsets;
    record_batch(data, offsets.back());
    for (Pair& pair : parts_.pairs) record_forward(pair);
    if (reduces()) record_reduce(*parts_.readout);
    record_loss_gradient();
    record_loss_sums();
    if (reduces() && parts_.pairs.back().has_backward) record_reduce_backward();
    for (size_t i = parts_.pairs.size(); i-- > 0;)
      if (parts_.pairs[i].has_backward) record_backward(i);
    record_step();
  }

  RecordedGraph finish(int64_t n_rows) {
    graph_->instantiate();
    return {graph_, std::move(values_), n_rows};
  }

 private:
  const Stage& stage(size_t index) const { return parts_.stage(index); }
  const Stage& neurons(const Pair& pair) const { return stage(pair.neurons_stage); }
  const Stage* readout() const { return design_.only(StageKind::readout); }
  const Stage& loss() const { return *design_.only(StageKind::loss); }
  bool reduces() const { return readout() && readout()->choice != SYNFIRE_READOUT_STEPS; }
  Extents extents(int64_t width) const { return {rules_.n_steps, rules_.batch, width}; }
  // Only the inference graph computes every row.
  Buffer* n_active() const { return kind_ == GraphKind::inference ? nullptr : parts_.n_active.get(); }

  template <class Make>
  void append(Make make) {
    graph_->record([&](Recorder& recorder) { return make(recorder.on_host()); });
  }
  // The operation recorded last has this value of a stage.
  void note(size_t stage, const char* name, const char* known_as, uint64_t per_replay = 0) {
    values_.push_back({stage, name, graph_->last_operation(), known_as, per_replay});
  }
  void note_offset(size_t stage, uint64_t per_replay) { note(stage, "offset", "offset", per_replay); }
  uint64_t seed_of(size_t index) const { return drawn_seed(stage(index), kind_); }
  uint64_t offset_of(size_t index) const { return kind_ == GraphKind::training ? (*offsets_)[index] : 0; }

  // ---- the batch

  void gather(const Ref<Buffer>& source, Ref<Buffer>& destination, const RowShape& row) {
    if (!source) return;
    if (!destination) destination = parts_.make_sequence(row.dtype, row.n_steps, rules_.batch, row.width);
    append([&](bool on_host) {
      return operations::gather_rows({n_rows_, row.n_steps, row.width, rules_.batch, source.get(), parts_.indices.get(),
                                      parts_.n_active.get(), destination.get(), row.has_lengths ? lengths_ : nullptr},
                                     on_host);
    });
  }

  void record_batch(const DataSet& data, uint64_t first_batch) {
    n_rows_ = data.n_rows;
    const bool training = kind_ == GraphKind::training;
    operations::record_shuffle(*graph_, {data.n_rows, rules_.batch, !training, training && rules_.drop_last,
                                         parts_.indices.get(), parts_.n_active.get(), rules_.seed, first_batch});
    note_offset(design_.stages().size(), 1);
    // First: the other arrays have nothing beyond them.
    gather(data.lengths, parts_.batch.lengths, length_row());
    lengths_ = data.lengths ? parts_.batch.lengths.get() : nullptr;
    gather(data.inputs, parts_.batch.inputs, input_row(design_));
    gather(data.labels, parts_.batch.labels, label_row(design_));
    gather(data.targets, parts_.batch.targets, target_row(design_));
    gather(data.sample_weights, parts_.batch.sample_weights, weight_row());
    sample_weights_ = data.sample_weights ? parts_.batch.sample_weights.get() : nullptr;
    take_input(*parts_.batch.inputs);
    for (Pair& pair : parts_.pairs) append([&](bool) { return operations::reset_rows(*pair.layer, {0, 0}, nullptr); });
  }

  // Numbers without those that are not finite. A batch is the network's own, and changed where it is; what the program
  // has written stays as it is, and the inference graph reads a copy.
  Buffer& replace_nonfinite(Buffer& array) {
    const bool infers = kind_ == GraphKind::inference;
    const RowShape row = input_row(design_);
    Ref<Buffer>& count = infers ? parts_.n_replaced : parts_.n_replaced_in_batches;
    Buffer& destination = infers ? *parts_.finite_input : array;
    append([&](bool on_host) {
      return operations::replace_nonfinite(
          {!infers, row.n_steps, row.width, rules_.batch, &array, count.get(), &destination}, on_host);
    });
    return destination;
  }

  void take_input(Buffer& array) {
    const Stage& input = design_.input();
    input_ = input.flag("replace_nonfinite") ? &replace_nonfinite(array) : &array;
    if (input.choice != SYNFIRE_NETWORK_INPUT_RATES) return;
    operations::record_encode_bernoulli(*graph_, {extents(input.width), input.flag("per_step"), input_,
                                                  parts_.input_spikes.get(), seed_of(0), offset_of(0)});
    note(0, "seed", "seed");
    note_offset(0, static_cast<uint64_t>(rules_.n_steps));
    input_ = parts_.input_spikes.get();
  }

  // ---- forward

  bool is_last(const Pair& pair) const { return &pair == &parts_.pairs.back(); }
  // The arrays that the last neurons write: the inference graph has its own.
  Buffer* v_of(const Pair& pair) const {
    const bool is_output = kind_ == GraphKind::inference && is_last(pair) && !reduces();
    const bool of_v = readout() ? !readout()->of_spikes : design_.never_fires(neurons(pair));
    return is_output && of_v ? parts_.inference_output.get() : pair.v_seq.get();
  }
  Buffer* spikes_of(const Pair& pair) const {
    const bool is_output = kind_ == GraphKind::inference && is_last(pair) && !reduces();
    const bool of_spikes = readout() ? readout()->of_spikes : !design_.never_fires(neurons(pair));
    return is_output && of_spikes ? parts_.inference_output.get() : pair.spikes.get();
  }
  Buffer* input_of(const Pair& pair) const {
    return &pair == &parts_.pairs.front() ? input_ : (&pair - 1)->spikes.get();
  }

  void record_forward(Pair& pair) {
    operations::ForwardRequest request = {};
    request.tape = kind_ == GraphKind::training && pair.has_backward
                       ? static_cast<TapeMode>(neurons(pair).whole("tape"))
                       : TapeMode::none;
    request.spikes = spikes_of(pair);
    request.v_seq = v_of(pair);
    if (pair.dropout_stage) {
      record_dropout(pair);
      operations::record_synapse_forward(
          *graph_, *pair.synapse,
          {rules_.n_steps, rules_.batch, input_of(pair), pair.x.get(), n_active(), pair.mask.get(), pair.scale.get()});
      request.x = pair.x.get();
    } else {
      request.synapse = pair.synapse.get();
      request.synapse_input = input_of(pair);
      request.n_active = n_active();
    }
    operations::record_forward(*graph_, *pair.layer, request);
  }

  void record_dropout(const Pair& pair) {
    const size_t index = *pair.dropout_stage;
    const bool training = kind_ == GraphKind::training;
    operations::record_dropout(
        *graph_, {stage(index).width, rules_.batch, training ? stage(index).value("probability") : 0, pair.mask.get(),
                  pair.scale.get(), seed_of(index), offset_of(index)});
    note(index, "seed", "seed");
    note_offset(index, 1);
    if (training) note(index, "probability", "probability");
  }

  void record_reduce(Buffer& destination) {
    const Pair& pair = parts_.pairs.back();
    append([&](bool on_host) {
      return operations::reduce(
          {static_cast<operations::Reduction>(readout()->choice), operations::Axis::steps, extents(readout()->width),
           readout()->of_spikes ? pair.spikes.get() : pair.v_seq.get(), &destination, lengths_, n_active()},
          on_host);
    });
  }

  // ---- the loss

  operations::LossRequest loss_request() const {
    const Pair& pair = parts_.pairs.back();
    const Stage& stage = loss();
    operations::LossRequest request = {};
    request.extents = {reduces() ? 1 : rules_.n_steps, rules_.batch, readout()->width};
    request.rules.kind = static_cast<operations::LossKind>(stage.choice);
    request.rules.per_step = stage.flag("per_step");
    request.rules.ignores_label = stage.flag("ignores_label");
    request.rules.ignored_label = static_cast<uint32_t>(stage.value("ignored_label"));
    request.source = reduces() ? parts_.readout.get() : readout()->of_spikes ? pair.spikes.get() : pair.v_seq.get();
    request.labels = parts_.batch.labels.get();
    request.targets = parts_.batch.targets.get();
    request.lengths = lengths_;
    request.n_active = parts_.n_active.get();
    request.sample_weights = sample_weights_;
    request.class_weights = parts_.class_weights.get();
    request.label_smoothing = stage.value("label_smoothing");
    return request;
  }
  void note_loss(const operations::LossRequest& request) {
    const size_t index = static_cast<size_t>(&loss() - design_.stages().data());
    if (request.rules.kind == operations::LossKind::cross_entropy) note(index, "label_smoothing", "label_smoothing");
    if (!request.gradient) return;
    note(index, "gradient_scale", "gradient_scale");
    graph_->set_value(graph_->last_operation(), "gradient_scale", loss().value("gradient_scale"));
  }

  void record_loss_gradient() {
    const Pair& pair = parts_.pairs.back();
    operations::LossRequest request = loss_request();
    request.gradient = reduces()              ? parts_.grad_readout.get()
                       : readout()->of_spikes ? pair.grad_spikes.get()
                                              : pair.grad_v.get();
    operations::record_loss(*graph_, request);
    note_loss(request);
  }

  // Sums over all batches of a call.
  void record_loss_sums() {
    operations::LossRequest request = loss_request();
    request.rules.sum = request.rules.accumulate = true;
    request.loss = parts_.loss.get();
    request.n_correct = parts_.n_correct.get();
    request.n_counted = parts_.n_counted.get();
    operations::record_loss(*graph_, request);
    note_loss(request);
  }

  // ---- backward

  void record_reduce_backward() {
    const Pair& pair = parts_.pairs.back();
    const auto reduction = static_cast<operations::Reduction>(readout()->choice);
    const Ref<Buffer>& source = readout()->of_spikes ? pair.spikes : pair.v_seq;
    const Ref<Buffer>& gradient = readout()->of_spikes ? pair.grad_spikes : pair.grad_v;
    append([&](bool on_host) {
      return operations::reduce_backward(
          {reduction, operations::Axis::steps, extents(readout()->width), parts_.grad_readout.get(),
           reduction == operations::Reduction::max ? source.get() : nullptr, lengths_, parts_.n_active.get(),
           gradient.get(), false},
          on_host);
    });
  }

  // Adds the gradient of the neurons' rates to that of their spikes. Returns whether there is one of either.
  bool record_rates(const Pair& pair, bool has_gradient) {
    const Stage& stage = neurons(pair);
    if (!pair.has_rate) return has_gradient;
    operations::record_rate_loss(*graph_, {extents(stage.width), stage.flag("rate_of_layer"), pair.spikes.get(),
                                           lengths_, parts_.n_active.get(), nullptr, pair.grad_spikes.get(), false,
                                           has_gradient, stage.value("rate_target"), stage.value("rate_strength")});
    note(pair.neurons_stage, "rate_target", "target");
    note(pair.neurons_stage, "rate_strength", "strength");
    return true;
  }

  void record_backward(size_t index) {
    const Pair& pair = parts_.pairs[index];
    const bool has_spike_gradient = record_rates(pair, !is_last(pair) || readout()->of_spikes);
    Buffer* const grad_input = pair.passes_gradient ? parts_.pairs[index - 1].grad_spikes.get() : nullptr;
    operations::BackwardRequest request = {};
    request.grad_spike_seq = has_spike_gradient ? pair.grad_spikes.get() : nullptr;
    request.grad_v_seq = pair.grad_v.get();
    for (size_t i = 0; i < pair.gradients.size(); ++i)
      request.gradients.push_back(
          {pair.layer->parameters().find(neurons(pair).trained[i].name), pair.gradients[i].get()});
    if (pair.dropout_stage)
      request.grad_x_seq = pair.grad_x.get();
    else
      request.grad_synapse_input = grad_input;
    operations::record_backward(*graph_, *pair.layer, request);
    if (pair.grad_x)
      operations::record_synapse_backward(
          *graph_, *pair.synapse,
          {rules_.n_steps, rules_.batch, pair.grad_x.get(), pair.trains_synapse ? input_of(pair) : nullptr, grad_input,
           n_active(), false, false, pair.mask.get(), pair.scale.get()});
  }

  void record_step() {
    operations::record_optimizer_step(*graph_, *parts_.optimizer, {0, 0, 0});
    const Stage& optimizer = *design_.only(StageKind::optimizer);
    const size_t index = static_cast<size_t>(&optimizer - design_.stages().data());
    for (const char* const name : {"learning_rate", "weight_decay", "clip_norm"}) {
      note(index, name, name);
      // 0 is a number here, and the optimiser's own in a request.
      graph_->set_value(graph_->last_operation(), name, optimizer.value(name));
    }
  }

  Parts& parts_;
  const Design& design_;
  const NetworkRules& rules_;
  const GraphKind kind_;
  const Parts::Offsets* offsets_ = nullptr;
  Ref<Graph> graph_;
  std::vector<RecordedGraph::Value> values_;
  int64_t n_rows_ = 0;
  Buffer* input_ = nullptr;
  Buffer* lengths_ = nullptr;
  Buffer* sample_weights_ = nullptr;
};

}  // namespace

void Parts::record_inference() {
  Recording recording(*this, GraphKind::inference);
  recording.record_inference();
  inference = recording.finish(0);
  if (planned) reserve_slots();
}

void Parts::record_training(const DataSet& data, const Offsets& offsets) {
  Recording recording(*this, GraphKind::training);
  recording.record_training(data, offsets);
  training = recording.finish(data.n_rows);
}

void Parts::record_evaluation(const DataSet& data) {
  Recording recording(*this, GraphKind::evaluation);
  recording.record_evaluation(data);
  evaluation = recording.finish(data.n_rows);
}

}  // namespace synfire::network
