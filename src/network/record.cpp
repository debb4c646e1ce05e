// Records the graphs of a network, stage after stage, with the operations that a program would use by hand.
#include "stage_recorder.hpp"

#include "kept_arrays.hpp"
#include "pack_exchanges.hpp"
#include "rank_rows.hpp"

#include <base/dtype.hpp>
#include <base/log.hpp>
#include <operations/combine/combine.hpp>
#include <operations/elementwise/copy.hpp>
#include <operations/elementwise/fill.hpp>
#include <operations/elementwise/scale_add.hpp>
#include <operations/gather_rows/gather_rows.hpp>
#include <operations/shuffle/shuffle.hpp>

#include <algorithm>

namespace synfire::network {

using namespace synfire::core;

namespace {

// Arrays that wait for a message of ranks: few enough for the memory of processors, and enough for all of a small
// network, in which a message takes longer than its arrays.
constexpr uint64_t most_held_bytes = uint64_t{16} << 20;

}  // namespace

// ---- what a stage asks for ------------------------------------------------------------------------------------------

StageRecorder::StageRecorder(Parts& parts, GraphKind kind)
    : parts_(parts),
      kind_(kind),
      graph_(charged_to_new_account(SYNFIRE_TAG_GRAPH,
                                    [&] {
                                      const uint32_t n_slots = kind == GraphKind::inference ? parts.graph_slots() : 0;
                                      return Ref<Graph>::adopt(new Graph(parts.context, n_slots, parts.arena));
                                    })),
      handed_on_(parts.stages.size()),
      has_gradient_(parts.stages.size()),
      has_step_gradient_(parts.stages.size()),
      tapes_(parts.stages.size()),
      has_weight_gradients_(parts.stages.size()) {
  if (has_batch() && parts.rules().ranks) {
    graph_->rewrite_with([&parts, held = std::vector<Ref<Buffer>>()](OperationList&& operations) mutable {
      return divided(parts, std::move(operations), held);
    });
    graph_->arrange_with([ranks = parts.rules().ranks, is_planned = parts.planned != nullptr](
                             OperationList& entries, std::vector<uint32_t>& owners) {
      const ExchangeCounts counts = pack_exchanges(entries, owners, most_held_bytes);
      ranks->make_room(counts.n_arrays);  // replays allocate nothing
      if (!is_planned)
        log_message(SYNFIRE_LOG_CHOICE, "network: in each batch, ranks exchange %zu arrays in %zu messages",
                    counts.n_arrays, counts.n_messages);
    });
  }
  if (has_batch()) return;
  for (const NetworkOutput& output : parts_.outputs)
    if (!parts_.is_copied(output))
      handed_on_[output.from.from][static_cast<size_t>(output.from.port)] = output.array.get();
}

void StageRecorder::note(const char* name, const char* known_as, uint64_t per_replay) {
  values_.push_back({index_, name, graph_->last_operation(), known_as, per_replay});
}

void StageRecorder::note_draws(uint64_t per_replay) {
  note("seed", "seed");
  note("offset", "offset", per_replay);
}

Buffer* StageRecorder::data(DataRole role) const noexcept {
  if (!has_batch()) {
    for (const FrameArray& one : parts_.frame)
      if (one.stage == index_ && one.role == role) return one.array.get();
    return nullptr;
  }
  size_t i = 0;
  for (const DataNeed& need : parts_.data_needs) {
    if (need.stage == index_ && need.role == role) return parts_.batch.arrays[i].get();
    ++i;
  }
  return nullptr;
}

Buffer* StageRecorder::array_at(size_t stage, Port port) const noexcept {
  Buffer* const handed_on = handed_on_[stage][static_cast<size_t>(port)];
  return handed_on ? handed_on : parts_.stages[stage]->array(port);
}

Buffer* StageRecorder::steps_of(Buffer* array, const Edge& source) const {
  if (!array) return nullptr;
  const int64_t before = source.port == Port::output ? parts_.delays[source.from] : 0;
  const int64_t first = before - source.delay;
  // An array of one step, which may be one without steps, such as a readout.
  if (step_ && rules().n_steps == 1 && before == 0) return array;
  if (step_) return parts_.part(*array, first + *step_, 1);
  return before == 0 ? array : parts_.part(*array, first, rules().n_steps);
}

StageRecorder::Read StageRecorder::read_edge(size_t reader, size_t i) const {
  const Edge& edge = parts_.stage(reader).inputs[i];
  StageParts& from = *parts_.stages[edge.from];
  if (Product* const product = from.product()) return {nullptr, {}, product, nullptr};
  const Edge source = parts_.design.source(edge);
  return {steps_of(array_at(source.from, source.port), source), from.kept(), nullptr,
          own(parts_.stages[source.from]->counts())};
}

StageRecorder::Gradient StageRecorder::begin_gradient(const Edge& source) {
  Buffer* const array =
      parts_.gradients[source.from].has_backward ? parts_.stages[source.from]->gradient(source.port) : nullptr;
  if (!array) return {nullptr, false};
  const bool add = has_gradient(source.from, source.port);
  (step_ ? has_step_gradient_ : has_gradient_)[source.from][static_cast<size_t>(source.port)] = true;
  return {steps_of(array, source), add};
}

StageRecorder::Gradient StageRecorder::gradient_of(size_t reader, size_t i) {
  Edge source = parts_.design.source(parts_.stage(reader).inputs[i]);
  const StageView view = parts_.design.view(reader);
  if (view.flow(i).count_scale != 1 && view->kind->takes_counts(view)) source.port = Port::counts;
  return begin_gradient(source);
}

StageRecorder::Gradient StageRecorder::own_gradient(Port port) {
  return begin_gradient({number(), port});
}

Buffer* StageRecorder::output_gradient(Port port) const {
  return has_gradient(index_, port) ? steps_of(parts_.stages[index_]->gradient(port), {number(), port}) : nullptr;
}

void StageRecorder::clear_gradient() {
  Buffer* const gradient = parts_.stages[index_]->gradient(Port::output);
  if (parts_.delays[index_] == 0 || !parts_.gradients[index_].has_backward || !gradient) return;
  append([&] { return OperationList{operations::Fill{gradient->view(), 0}}; });
  has_gradient_[index_][static_cast<size_t>(Port::output)] = true;
}

// ---- the graphs -----------------------------------------------------------------------------------------------------

class Recording {
 public:
  Recording(Parts& parts, GraphKind kind)
      : parts_(parts), recorder_(parts, kind), leads_to_neurons_(parts.stages.size()) {
    const std::vector<std::vector<uint32_t>>& units = parts.cycles.units;
    for (size_t k = units.size(); k-- > 0;)
      for (const uint32_t i : units[k])  // neurons are in every cycle
        leads_to_neurons_[i] = parts.in_cycle(i) || parts.stage(i).kind->traits.reads_products ||
                               std::ranges::any_of(parts.design.readers(i),
                                                   [&](const Edge& reader) { return leads_to_neurons_[reader.from]; });
  }

  void record_inference() {
    each([](const Stage& stage) { return stage.inputs.empty(); }, &StageParts::forward);
    record_stages();
  }

  void record_evaluation(const DataSet& data) {
    record_batch(data, 0);
    record_forward(true);
  }

  void record_training(const DataSet& data, const Parts::Offsets& offsets) {
    recorder_.offsets_ = &offsets;
    record_batch(data, offsets.back());
    record_forward(true);
    record_backward();
  }

  void record_own_forward() {
    const Parts::Offsets offsets(parts_.stages.size() + 1);
    recorder_.offsets_ = &offsets;
    record_forward(parts_.rules().own_loss == OwnLoss::starts);
  }

  // After the forward, whose arrays it reads.
  void record_own_backward(const Recording& forward) {
    recorder_.handed_on_ = forward.recorder_.handed_on_;
    recorder_.tapes_ = forward.recorder_.tapes_;
    record_backward();
  }

  RecordedGraph finish(const DataSet& data) {
    if (parts_.has_own_loss()) recorder_.graph_->keeper<FrameTapeKeeper>().keep(parts_.frame_tape, recorder_.kind());
    recorder_.graph_->instantiate();
    return {recorder_.graph_, std::move(recorder_.values_), data.n_rows, data.blocks};
  }

 private:
  // The stage that records itself from here on.
  StageParts& at(size_t index) {
    recorder_.index_ = index;
    return *parts_.stages[index];
  }
  template <class Which>
  void each(Which which, void (StageParts::*record)(StageRecorder&)) {
    for (size_t i = 0; i < parts_.stages.size(); ++i)
      if (which(parts_.stage(i))) (at(i).*record)(recorder_);
  }

  void record_forward(bool resets) {
    each([](const Stage& stage) { return stage.inputs.empty(); }, &StageParts::forward);
    for (const std::unique_ptr<StageParts>& stage : parts_.stages) {
      OperationList reset;
      if (resets) stage->add_reset(reset, {0, 0});
      if (!reset.empty()) recorder_.append([&] { return std::move(reset); });
    }
    record_stages();
  }

  // Readouts and losses that no neurons follow come last, so that the passes of several heads are neighbours, which
  // small ones need to be joined in one launch. Nothing that is computed depends on it.
  void record_stages() {
    const auto all = [](const Stage&) { return true; };
    each(all, &StageParts::begin_forward);
    for (const bool leads : {true, false})
      for (const std::vector<uint32_t>& unit : parts_.cycles.units) {
        const uint32_t first = unit.front();
        if (parts_.stage(first).inputs.empty() || leads_to_neurons_[first] != leads) continue;
        if (parts_.in_cycle(first))
          record_cycle(unit);
        else
          at(first).forward(recorder_);
      }
    each(all, &StageParts::end_forward);
    copy_outputs();
  }

  // Outputs of arrays that have memory of their own; and, if they are kept, those of a batch.
  void copy_outputs() {
    for (const NetworkOutput& output : parts_.outputs) {
      const Edge& from = output.from;
      if (recorder_.has_batch() ? !parts_.stage(output.stage).keeps(kept_arrays::output) : !parts_.is_copied(output))
        continue;
      Buffer* const array = recorder_.steps_of(recorder_.array_at(from.from, from.port), from);
      recorder_.append([&] { return OperationList{operations::Copy{array->view(), output.array->view()}}; });
    }
  }

  // ---- cycles, step by step

  bool hands_on(size_t index) const { return parts_.stage(index).kind->hands_on(parts_.stage(index)); }

  // An array that an input hands on can be read in parts if it is in device memory and not packed by time.
  void import_inputs(const std::vector<uint32_t>& unit) {
    for (const uint32_t i : unit)
      for (const Edge& edge : parts_.stage(i).inputs) {
        const Edge source = parts_.design.source(edge);
        const Stage& input = parts_.stage(source.from);
        if (!input.inputs.empty()) continue;
        Buffer*& array = recorder_.handed_on_[source.from][0];
        if (array->memory() == SYNFIRE_MEMORY_DEVICE && array->dtype() != SYNFIRE_DTYPE_TIME_BITS) continue;
        Buffer& copy = parts_.import(source.from, *array);
        recorder_.append([&] { return copied(input.output, *array, copy); });
        array = &copy;
      }
  }
  static OperationList copied(const core::Flow& flow, Buffer& array, Buffer& copy) {
    if (array.dtype() == copy.dtype()) return {operations::Copy{array.view(), copy.view()}};
    Buffer* const sources[] = {&array};
    const int64_t channels[] = {flow.n_features()};
    return operations::combine({operations::CombineKind::concatenate,
                                {flow.n_steps, flow.batch, flow.n_features()},
                                sources,
                                channels,
                                {},
                                &copy});
  }

  void record_cycle(const std::vector<uint32_t>& unit) {
    import_inputs(unit);
    for (const uint32_t i : unit)
      if (hands_on(i)) at(i).forward(recorder_);
    for (int64_t t = 0; t < parts_.rules().n_steps; ++t) {
      recorder_.step_ = t;
      for (const uint32_t i : unit)
        if (!hands_on(i)) at(i).forward(recorder_);
    }
    recorder_.step_.reset();
  }

  void record_backward_of_cycle(const std::vector<uint32_t>& unit) {
    if (!parts_.gradients[unit.front()].has_backward) return;
    const auto each_of_unit = [&](void (StageParts::*record)(StageRecorder&)) {
      for (size_t i = unit.size(); i-- > 0;) (at(unit[i]).*record)(recorder_);
    };
    each_of_unit(&StageParts::begin_backward);
    std::vector<std::array<bool, n_ports>> written(parts_.stages.size());
    for (int64_t t = parts_.rules().n_steps; t-- > 0;) {
      recorder_.step_ = t;
      std::ranges::fill(recorder_.has_step_gradient_, std::array<bool, n_ports>{});
      each_of_unit(&StageParts::backward);
      for (size_t i = 0; i < written.size(); ++i)
        for (size_t port = 0; port < n_ports; ++port)
          written[i][port] = written[i][port] || recorder_.has_step_gradient_[i][port];
    }
    recorder_.step_.reset();
    for (size_t i = 0; i < written.size(); ++i)
      for (size_t port = 0; port < n_ports; ++port)
        recorder_.has_gradient_[i][port] = recorder_.has_gradient_[i][port] || written[i][port];
    each_of_unit(&StageParts::end_backward);
  }

  // True if the backward of a stage may come before those of stages that were added later: it is the only one that
  // writes the gradients that it writes.
  bool may_come_first(size_t index) const {
    if (leads_to_neurons_[index] || parts_.gradients[index].learns) return false;
    return std::ranges::none_of(parts_.stage(index).inputs,
                                [&](const Edge& edge) { return parts_.design.has_other_readers(edge); });
  }
  void record_backward_of(size_t index) {
    if (!parts_.gradients[index].has_backward) return;
    StageParts& stage = at(index);
    record_given_gradient();
    stage.backward(recorder_);
  }
  void record_backward() {
    const std::vector<std::vector<uint32_t>>& units = parts_.cycles.units;
    std::vector<bool> is_done(parts_.stages.size());
    for (size_t i = 0; i < is_done.size(); ++i) {
      at(i);
      recorder_.clear_gradient();
    }
    for (size_t k = units.size(); k-- > 0;) {
      const std::vector<uint32_t>& unit = units[k];
      const uint32_t i = unit.front();
      // After all that read it.
      is_done[i] = may_come_first(i) && std::ranges::all_of(parts_.design.readers(i), [&](const Edge& reader) {
                     return is_done[reader.from] || !parts_.gradients[reader.from].has_backward;
                   });
      if (is_done[i]) record_backward_of(i);
    }
    for (size_t k = units.size(); k-- > 0;) {
      const std::vector<uint32_t>& unit = units[k];
      const uint32_t i = unit.front();
      if (parts_.in_cycle(i))
        record_backward_of_cycle(unit);
      else if (!is_done[i])
        record_backward_of(i);
    }
    each([](const Stage&) { return true; }, &StageParts::step);
    each([](const Stage&) { return true; }, &StageParts::end_step);
  }

  // The gradient that the program has written for an output without a loss; where that is the array of another stage,
  // for this one. The training on a data set has no such gradient: it is 0.
  void record_given_gradient() {
    const auto given = std::ranges::find_if(parts_.frame, [&](const FrameArray& one) {
      return one.stage == recorder_.index_ && one.role == DataRole::outputs;
    });
    if (given == parts_.frame.end()) return;
    const Stage& stage = parts_.stage(recorder_.index_);
    const StageRecorder::Gradient to = stage.kind->hands_on(stage) ? recorder_.gradient() : recorder_.own_gradient();
    if (!to.array) return;
    if (!recorder_.has_batch())
      operations::record_scale_add(*recorder_.graph_, {given->array.get(), to.array, 1, to.add ? 1.0 : 0.0});
    else if (!to.add)
      recorder_.append([&] { return OperationList{operations::Fill{to.array->view(), 0}}; });
  }

  void gather(int64_t n_rows, const Ref<Buffer>& source, Ref<Buffer>& destination, const RowShape& row) {
    if (!source) return;
    const int64_t batch = parts_.rules().batch;
    if (!destination)
      destination = parts_.make_sequence(row.dtype, row.n_steps, batch, row.width, SYNFIRE_MEMORY_TRANSIENT);
    recorder_.append([&] {
      return operations::gather_rows({n_rows, row.n_steps, row.width, batch, source.get(), parts_.indices.get(),
                                      parts_.n_active.get(), destination.get(),
                                      row.has_lengths ? recorder_.lengths_ : nullptr});
    });
  }

  // With rows in files, batches are prepared one after the other (DataStream::provide()).
  void draw_prepared(const DataSet& data, uint64_t first_batch) {
    operations::record_shuffle(
        *recorder_.graph_, {data.n_prepared, 1, true, false, data.drawn.get(), nullptr, recorder_.seed(), first_batch});
  }
  void read_prepared(const DataSet& data) {
    const auto read = [&](const Ref<Buffer>& prepared, int64_t n, const Ref<Buffer>& to) {
      recorder_.append([&] {
        return operations::gather_rows(
            {data.n_prepared, 1, n, 1, prepared.get(), data.drawn.get(), nullptr, to.get(), nullptr});
      });
    };
    read(data.indices, parts_.rules().batch, parts_.indices);
    read(data.n_active, 1, parts_.n_active);
  }

  void record_batch(const DataSet& data, uint64_t first_batch) {
    const NetworkRules& rules = parts_.rules();
    const bool trains = recorder_.trains();
    recorder_.index_ = parts_.stages.size();
    const int64_t n_rows = data.stream ? data.n_in_memory : data.n_rows;
    if (data.stream)
      draw_prepared(data, first_batch);
    else
      operations::record_shuffle(*recorder_.graph_,
                                 {n_rows, rules.batch, !trains, trains && rules.drop_last, parts_.indices.get(),
                                  parts_.n_active.get(), recorder_.seed(), first_batch});
    recorder_.note_draws(1);
    if (data.stream) read_prepared(data);
    DataSet& batch = parts_.batch;
    // First, because the other arrays have nothing beyond the lengths.
    gather(n_rows, data.lengths, batch.lengths, length_row());
    recorder_.lengths_ = data.lengths ? batch.lengths.get() : nullptr;
    for (size_t i = 0; i < parts_.data_needs.size(); ++i)
      gather(n_rows, data.arrays[i], batch.arrays[i], parts_.data_needs[i].row);
    gather(n_rows, data.sample_weights, batch.sample_weights, weight_row());
    recorder_.sample_weights_ = data.sample_weights ? batch.sample_weights.get() : nullptr;
  }

  Parts& parts_;
  StageRecorder recorder_;
  std::vector<bool> leads_to_neurons_;  // of each stage
};

void Parts::record_inference() {
  Recording recording(*this, GraphKind::inference);
  recording.record_inference();
  graph(GraphKind::inference) = recording.finish({});
  if (planned) reserve_slots();
}

void Parts::record_training(const DataSet& data, const Offsets& offsets) {
  Recording recording(*this, GraphKind::training);
  recording.record_training(data, offsets);
  graph(GraphKind::training) = recording.finish(data);
}

void Parts::record_evaluation(const DataSet& data) {
  Recording recording(*this, GraphKind::evaluation);
  recording.record_evaluation(data);
  graph(GraphKind::evaluation) = recording.finish(data);
}

// The backward reads the tapes of the forward that was recorded last.
void Parts::record_own_loss() {
  Recording forward(*this, GraphKind::forward), backward(*this, GraphKind::backward);
  forward.record_own_forward();
  backward.record_own_backward(forward);
  graph(GraphKind::forward) = forward.finish({});
  graph(GraphKind::backward) = backward.finish({});
}

}  // namespace synfire::network
