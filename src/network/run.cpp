// Training, evaluation and inference by replays of a network's graphs.
#include "contents_hash.hpp"
#include "kept_arrays.hpp"
#include "network.hpp"
#include "sample_counts.hpp"
#include "stages/stage_kinds.hpp"

#include <base/error.hpp>
#include <base/host_memory.hpp>
#include <base/view_checks.hpp>
#include <graph/eager_calls.hpp>
#include <graph/operands.hpp>
#include <operations/loss/loss_arithmetic.hpp>

#include <algorithm>
#include <cstring>
#include <new>
#include <string>

namespace synfire::network {

using namespace synfire::core;

// ---- state of neurons -----------------------------------------------------------------------------------------------

void Network::reset_layers() const {
  run_now(*context(), parts_->resets, nullptr);
  device().synchronize();
}

// The results count even if the reset fails for lack of memory or in the job system: the next call makes up for it.
void Network::reset_afterwards() {
  reset_owed_ = true;
  try {
    reset_layers();
  } catch (const std::bad_alloc&) {
    return;
  } catch (const Failure& failure) {
    if (failure.status != SYNFIRE_ERROR_OUT_OF_MEMORY && failure.status != SYNFIRE_ERROR_CALLBACK) throw;
    return;
  }
  reset_owed_ = false;
}

void Network::with_state_kept(const HeldGraphs& held, FunctionRef<void()> body) {
  check_order();
  parts_->kept->keep(held);
  try {
    body();
  } catch (...) {
    kept_owed_ = true;
    reset_owed_ = false;
    take_back(held);
    throw;
  }
}

void Network::reset_state() {
  const Use use(*this);
  check_built();
  HeldGraphs held;
  hold_all(held);
  with_state_kept(held, [&] { reset_layers(); });
}

void Network::reset_rows(int64_t first_row, int64_t n_rows) {
  const Use use(*this);
  check_built();
  const int64_t batch = design_.rules().batch;
  if (first_row < 0 || n_rows < 1 || first_row > batch - n_rows)
    fail_argument("SYN-NETWORK-ROWS", "first_row is %lld and n_rows %lld; the network has %lld rows",
                  static_cast<long long>(first_row), static_cast<long long>(n_rows), static_cast<long long>(batch));
  HeldGraphs held;
  hold_all(held);
  OperationList resets;
  for (const std::unique_ptr<StageParts>& stage : parts_->stages) stage->add_reset(resets, {first_row, n_rows});
  with_state_kept(held, [&] {
    run_now(*context(), resets, nullptr);
    device().synchronize();
  });
}

// ---- sums over batches ----------------------------------------------------------------------------------------------

void Network::clear_sums() const {
  constexpr uint64_t zero = 0;
  const auto clear = [&](const Ref<Buffer>& sum) {
    if (sum) sum->upload(0, &zero, sum->view().bytes);
  };
  for (Score& score : parts_->scores) {
    clear(score.loss);
    clear(score.divisor);
    clear(score.n_correct);
    clear(score.n_counted);
    score.counted = score.correct = 0;
  }
  for (const Ref<Buffer>& sum : parts_->rate_losses) clear(sum);
  for (const Ref<Buffer>& sum : parts_->n_replaced_in_batches) clear(sum);
  clear_monitors();
}

void Network::clear_monitors() const {
  for (const std::unique_ptr<StageParts>& stage : parts_->stages)
    if (stage->stage()->keeps(kept_arrays::monitor)) stage->clear_monitor();
}

void Network::count_rows(int64_t n_rows) const {
  for (const std::unique_ptr<StageParts>& stage : parts_->stages)
    if (stage->stage()->keeps(kept_arrays::monitor)) stage->count_rows(n_rows);
}

// Adds the device's counts to those of the call. Losses stay on the device, where every batch is added to them.
void Network::take_counts() const {
  constexpr uint32_t zero = 0;
  const auto take = [&](Buffer& buffer, uint64_t& sum) {
    uint32_t count = 0;
    buffer.download(0, &count, sizeof count);
    buffer.upload(0, &zero, sizeof zero);
    sum += count;
  };
  for (Score& score : parts_->scores) {
    take(*score.n_counted, score.counted);
    if (score.n_correct) take(*score.n_correct, score.correct);
  }
}

void Network::run_batches(const HeldGraphs& held, GraphKind kind, int64_t n_batches, uint64_t& n_launched) const {
  const Graph::Hold& hold = *held.find(kind);
  Graph& graph = *parts_->graph(kind).graph;
  const bool trains = kind == GraphKind::training;
  DataStream* const stream = (trains ? training_ : evaluation_).stream.get();
  const uint64_t first = stream && trains ? parts_->next_batch(held) : 0;
  if (stream) stream->begin(first, parts_->seed(design_.stages().size(), kind));
  int64_t n_samples = 1;
  for (const Score& score : parts_->scores) n_samples = std::max(n_samples, score.n_samples);
  clear_sums();
  uint64_t ticket = 0;  // of the last launch; those of a call follow each other
  const auto wait = [&](uint64_t launch) { graph.wait(ticket + 1 + launch - n_launched, WaitPolicy::block, -1); };
  const auto provide = [&] {
    try {
      stream->provide(first + n_launched, n_launched, wait);
    } catch (...) {
      if (n_launched > 0) wait(n_launched - 1);
      throw;
    }
  };
  run_counted(
      n_batches, n_samples,
      [&](int64_t n) {
        for (int64_t i = 0; i < n; ++i, ++n_launched) {
          if (stream) provide();
          ticket = hold.launch().ticket;
        }
        graph.wait(ticket, WaitPolicy::block, -1);
      },
      [&] { take_counts(); });
}

namespace {

// A loss of weight 0 takes no part, whatever it is.
double weighted(const Stage& stage, double loss) {
  const double weight = stage.value("weight");
  return weight == 0 ? 0 : weight == 1 ? loss : weight * loss;
}

}  // namespace

// Adds up the results of all losses: what training minimises.
void Network::read_sums(const RankCall& together, uint64_t n_batches, synfire_network_result& result,
                        std::span<synfire_stage_result> of_stages) const {
  const auto read = [](Buffer& from) {
    double number = 0;
    from.download(0, &number, sizeof number);
    return number;
  };
  result.n_batches = n_batches;
  for (const Score& score : parts_->scores) {
    const double loss = operations::mean_of(read(*score.loss), read(*score.divisor));
    result.n_counted += score.counted;
    result.n_correct += score.correct;
    result.loss += weighted(design_.stages()[score.stage], loss);
    for (synfire_stage_result& one : of_stages)
      if (design_.stages()[score.stage].name == one.stage) one = {one.stage, loss, score.counted, score.correct};
  }
  for (const Ref<Buffer>& sum : parts_->rate_losses)
    result.rate_loss += operations::mean_of(read(*sum), static_cast<double>(n_batches));
  result.loss += result.rate_loss;
  for (const Ref<Buffer>& n_replaced : parts_->n_replaced_in_batches) {
    uint64_t count = 0;
    n_replaced->download(0, &count, sizeof count);
    result.n_replaced += together.sum(count);  // of the rows of each rank
  }
}

// ---- training and evaluation ----------------------------------------------------------------------------------------

int64_t Network::batches_per_epoch() const noexcept {
  const int64_t batch = design_.rules().batch, n_rows = training_.n_rows;
  return design_.rules().drop_last ? n_rows / batch : (n_rows + batch - 1) / batch;
}

void Network::read_progress(const HeldGraphs& held, synfire_network_result& result) const {
  if (!parts_->has_graph(GraphKind::training)) return;
  const auto per_epoch = static_cast<uint64_t>(batches_per_epoch());
  const uint64_t next = parts_->next_batch(held);
  result.epoch = next / per_epoch;
  result.batch = next % per_epoch;
}

namespace {

void check_role(const Design& design, Role role, const char* use) {
  if (!design.has(role))
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-INCOMPLETE", "the network has no %s, so it cannot be %s",
         kind_with(role).traits.name, use);
}

void check_score(const Design& design, const Parts& parts, const char* stage) {
  const size_t index = design.find(stage);
  if (std::ranges::find(parts.scores, index, &Score::stage) == parts.scores.end())
    fail_argument("SYN-NETWORK-STAGE", "stage \"%s\" is of kind %s, which has no result; one of kind %s has", stage,
                  design.stages()[index].kind->traits.name, kind_with(Role::scores).traits.name);
}

// Batches of which an optimiser has begun to use the gradients.
uint64_t batches_of(operations::Optimizer& optimizer) {
  uint64_t n_taken = 0, n_skipped = 0, n_accumulated = 0;
  optimizer.read(-1, "step_count", &n_taken, sizeof n_taken);
  optimizer.read(-1, "skipped", &n_skipped, sizeof n_skipped);
  optimizer.read(-1, "accumulated_batches", &n_accumulated, sizeof n_accumulated);
  return (n_taken + n_skipped) * optimizer.spec().rates.batches_per_step + n_accumulated;
}

}  // namespace

// On the host a batch can fail in the middle. Unless its step has begun, nothing has been learnt, and the training
// continues with it. The error says how far the call has come.
void Network::train_batches(const HeldGraphs& held, int64_t n_batches, uint64_t& n_launched) {
  const bool on_host = device().is_host();
  Parts::Offsets& offsets = parts_->offsets_before;
  uint64_t batches_before = 0;
  if (on_host) {
    parts_->read_offsets(GraphKind::training, held, offsets);
    batches_before = batches_of(*parts_->optimizer);
  }
  bool in_part = false;
  const auto go_on_from_there = [&] {
    if (!on_host) return;
    const uint64_t n_done = n_launched;
    in_part = batches_of(*parts_->optimizer) - batches_before > n_done;
    for (const RecordedGraph::Value& one : parts_->graph(GraphKind::training).values)
      if (one.is_offset()) offsets[one.stage] += (n_done + (in_part ? 1 : 0)) * one.per_replay;
    parts_->set_offsets(held, offsets);
  };
  try {
    run_batches(held, GraphKind::training, n_batches, n_launched);
  } catch (Failure& failure) {
    go_on_from_there();
    failure.text.append("; ").append(std::to_string(n_launched)).append(" of ");
    failure.text.append(std::to_string(n_batches)).append(" batches had been launched before");
    failure.text.append(in_part ? ", and this one has been learnt in part" : "");
    throw;
  } catch (...) {
    go_on_from_there();
    throw;
  }
}

void Network::compare(RankCall& together, const HeldGraphs& held, int64_t n_batches) {
  if (!together) return;
  together.agree(ContentsHash().add(contents(held)).add(static_cast<uint64_t>(n_batches)).value(),
                 "weights, values or another position, or another number of batches,");
  has_compared_ = true;
  together.begin_exchanges();
}

void Network::train(int64_t n_batches, synfire_network_result& result, std::span<synfire_stage_result> of_stages) {
  RankCall together(design_.rules().ranks.get(), ranks::Call::train);
  const Use use(*this);
  check_built();
  check_role(design_, Role::trains, "trained");
  for (const synfire_stage_result& one : of_stages) check_score(design_, *parts_, one.stage);
  checked_graph(GraphKind::training);
  if (n_batches < 0)
    fail_argument("SYN-NETWORK-BATCHES", "n_batches is %lld; at least 0 is needed (0: the rest of the epoch)",
                  static_cast<long long>(n_batches));
  HeldGraphs held;
  hold_all(held);
  if (n_batches == 0) {
    read_progress(held, result);
    n_batches = batches_per_epoch() - static_cast<int64_t>(result.batch);
  }
  for (const std::unique_ptr<StageParts>& stage : parts_->stages)
    stage->check_batches(static_cast<uint64_t>(n_batches));
  compare(together, held, n_batches);
  uint64_t n_launched = 0;
  uint64_t skipped_before = 0, skipped = 0;
  with_state_kept(held, [&] {
    parts_->optimizer->read(-1, "skipped", &skipped_before, sizeof skipped_before);
    train_batches(held, n_batches, n_launched);
  });
  reset_afterwards();
  parts_->optimizer->read(-1, "skipped", &skipped, sizeof skipped);
  read_sums(together, n_launched, result, of_stages);
  together.end();
  read_progress(held, result);
  result.n_skipped = skipped - skipped_before;
}

void Network::evaluate(synfire_network_result& result, std::span<synfire_stage_result> of_stages) {
  RankCall together(design_.rules().ranks.get(), ranks::Call::evaluate);
  const Use use(*this);
  check_built();
  check_role(design_, Role::scores, "evaluated");
  for (const synfire_stage_result& one : of_stages) check_score(design_, *parts_, one.stage);
  const RecordedGraph& recorded = checked_graph(GraphKind::evaluation);
  HeldGraphs held;
  hold_all(held);
  const int64_t batch = design_.rules().batch, n_batches = (evaluation_.n_rows + batch - 1) / batch;
  compare(together, held, n_batches);
  uint64_t n_launched = 0;
  with_state_kept(held, [&] {
    recorded.begin_again(*held.find(GraphKind::evaluation));
    run_batches(held, GraphKind::evaluation, n_batches, n_launched);
    reset_afterwards();
  });
  read_sums(together, n_launched, result, of_stages);
  together.end();
  read_progress(held, result);
}

void Network::tell_refusal(ranks::Call call) noexcept {
  try {
    const RankCall refused(design_.rules().ranks.get(), call);
  } catch (...) {
    return;  // another call of the communicator is in progress, and tells what becomes of it
  }
}

// ---- inference ------------------------------------------------------------------------------------------------------

// The caller's rows [R, S, E], and a batch of them [S, B, E] in the inference graph.
class Network::Rows {
 public:
  Rows(Buffer& buffer, const char* name, const RowShape& row, int64_t n_rows, int64_t batch)
      : buffer_(buffer), row_(row), batch_(static_cast<size_t>(batch)) {
    check_type(buffer, name, row.dtype);
    buffer.check_has_memory(name);
    view_ = array_view(buffer, name, {n_rows, row.stored_steps(), row.stored_width()}, Memory::any);
    if (view_.is_padded())
      fail_argument("SYN-BUFFER-PITCH", "%s has a row_pitch of %llu; rows without gaps are needed", name,
                    static_cast<unsigned long long>(buffer.row_pitch()));
    steps_ = static_cast<size_t>(row.stored_steps());
    step_bytes_ = static_cast<size_t>(row.stored_width()) * bytes_of_dtype(row.dtype);
    require_host_memory(batch_ * row.bytes(), Paging::pageable);
    rows_.resize(batch_ * row.bytes());
  }
  const View& view() const noexcept { return view_; }

  // Copies the caller's rows to a batch; missing rows are zero.
  void load(int64_t first, int64_t count, void* batch) {
    buffer_.download(static_cast<uint64_t>(first) * row_.bytes(), rows_.data(),
                     static_cast<uint64_t>(count) * row_.bytes());
    for_each_step([&](size_t in_rows, size_t in_batch, size_t row) {
      char* const to = static_cast<char*>(batch) + in_batch;
      if (row < static_cast<size_t>(count))
        std::memcpy(to, rows_.data() + in_rows, step_bytes_);
      else
        std::memset(to, 0, step_bytes_);
    });
  }
  void store(int64_t first, int64_t count, const void* batch) {
    for_each_step([&](size_t in_rows, size_t in_batch, size_t) {
      std::memcpy(rows_.data() + in_rows, static_cast<const char*>(batch) + in_batch, step_bytes_);
    });
    buffer_.upload(static_cast<uint64_t>(first) * row_.bytes(), rows_.data(),
                   static_cast<uint64_t>(count) * row_.bytes());
  }

 private:
  template <class Body>
  void for_each_step(Body body) const {
    for (size_t row = 0; row < batch_; ++row)
      for (size_t step = 0; step < steps_; ++step)
        body((row * steps_ + step) * step_bytes_, (step * batch_ + row) * step_bytes_, row);
  }

  Buffer& buffer_;
  const RowShape row_;
  const size_t batch_;
  View view_;
  size_t steps_ = 0, step_bytes_ = 0;
  std::vector<char> rows_;  // of a batch
};

namespace {

void* slot_of(Graph& graph, uint64_t ticket, const Buffer& buffer) {
  void* const data = graph.slot_memory(ticket, buffer).data;
  if (!data)
    fail(SYNFIRE_ERROR_BUSY, "SYN-GRAPH-SLOTS",
         "replays of the inference graph are in flight in all its slots; wait for them first");
  return data;
}

}  // namespace

// The caller's arrays, and where the inference graph has those of a batch.
struct Network::RowsOfArrays {
  struct One {
    Buffer& batch;
    Rows rows;
  };
  std::vector<One> inputs, outputs;

  void check_overlaps() const {
    for (const One& to : outputs) {
      const View& view = to.rows.view();
      for (const One& from : inputs) check_apart(from.rows.view(), view, "inputs");
      for (const One& other : outputs)
        if (&other != &to) check_apart(other.rows.view(), view, "outputs");
    }
  }

 private:
  static void check_apart(const View& one, const View& outputs, const char* name) {
    if (overlaps(one.data, one.bytes, outputs.data, outputs.bytes))
      fail_argument("SYN-BUFFER-OVERLAP", "%s and outputs overlap in memory", name);
  }
};

namespace {

void check_rows_of_inference(int64_t n_rows) {
  constexpr int64_t most_rows = 0xFFFFFFFF;
  if (n_rows < 1 || n_rows > most_rows)
    fail_argument("SYN-NETWORK-DATA", "n_rows is %lld; 1 to 2^32 - 1 are allowed", static_cast<long long>(n_rows));
}

// For a call that has one array of inputs and one of outputs.
void check_one(size_t count, const char* what) {
  if (count != 1)
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-ARRAY",
         "the network has %zu %s; synfire_network_infer_arrays takes a list of arrays", count, what);
}

}  // namespace

void Network::infer(Buffer& inputs, int64_t n_rows, Buffer& outputs) {
  const Use use(*this);
  check_built();
  check_rows_of_inference(n_rows);
  check_one(parts_->inputs.size(), "inputs");
  check_one(parts_->outputs.size(), "outputs");
  const int64_t batch = design_.rules().batch;
  const NetworkInput& input = parts_->inputs.front();
  const NetworkOutput& output = parts_->outputs.front();
  RowsOfArrays rows;
  rows.inputs.push_back({*input.array, Rows(inputs, "inputs", input.row, n_rows, batch)});
  outputs.check_may_be_written("outputs");
  rows.outputs.push_back({*output.array, Rows(outputs, "outputs", output.row, n_rows, batch)});
  infer_rows(rows, n_rows);
}

void Network::infer(std::span<const GivenArray> arrays, int64_t n_rows) {
  const Use use(*this);
  check_built();
  check_rows_of_inference(n_rows);
  std::vector<ArrayPlace> places;
  for (const NetworkInput& input : parts_->inputs) places.push_back({input.stage, DataRole::inputs});
  for (const NetworkOutput& output : parts_->outputs) places.push_back({output.stage, DataRole::outputs});
  const std::vector<Buffer*> given = arrays_of(design_, arrays, places);
  const int64_t batch = design_.rules().batch;
  RowsOfArrays rows;
  for (size_t i = 0; i < parts_->inputs.size(); ++i) {
    if (!given[i]) fail_missing(design_, "arrays", places[i]);
    const NetworkInput& input = parts_->inputs[i];
    in_stage(design_.stages()[input.stage], [&] {
      rows.inputs.push_back({*input.array, Rows(*given[i], "inputs", input.row, n_rows, batch)});
    });
  }
  for (size_t i = 0; i < parts_->outputs.size(); ++i) {
    Buffer* const to = given[parts_->inputs.size() + i];
    if (!to) continue;
    const NetworkOutput& output = parts_->outputs[i];
    in_stage(design_.stages()[output.stage], [&] {
      to->check_may_be_written("outputs");
      rows.outputs.push_back({*output.array, Rows(*to, "outputs", output.row, n_rows, batch)});
    });
  }
  if (rows.outputs.empty()) fail_argument("SYN-NETWORK-ARRAY", "arrays has no outputs; one at least is needed");
  infer_rows(rows, n_rows);
}

void Network::infer_rows(RowsOfArrays& rows, int64_t n_rows) {
  rows.check_overlaps();
  const int64_t batch = design_.rules().batch;
  HeldGraphs held;
  hold_all(held);
  const RecordedGraph& recorded = parts_->graph(GraphKind::inference);
  const Graph::Hold& hold = *held.find(GraphKind::inference);
  Graph& graph = *recorded.graph;
  std::vector<uint64_t> n_replaced(parts_->inputs.size());
  with_state_kept(held, [&] {
    clear_monitors();
    for (int64_t first = 0; first < n_rows; first += batch) {
      const int64_t count = std::min(batch, n_rows - first);
      for (RowsOfArrays::One& input : rows.inputs) {
        input.rows.load(first, count, slot_of(graph, 0, input.batch));
        input.batch.mark_written();
      }
      reset_layers();
      recorded.begin_again(hold);
      if (count < batch) count_rows(count);
      const uint64_t ticket = hold.launch().ticket;
      graph.wait(ticket, WaitPolicy::yield, -1);
      if (count < batch) count_rows(batch);
      for (RowsOfArrays::One& output : rows.outputs)
        output.rows.store(first, count, slot_of(graph, ticket, output.batch));
      for (size_t i = 0; i < n_replaced.size(); ++i)
        if (const Ref<Buffer>& counted = parts_->inputs[i].n_replaced)
          n_replaced[i] += *static_cast<uint64_t*>(slot_of(graph, ticket, *counted));
    }
    // Writes to memory of no replay and no slot but the first.
    for (size_t i = 0; i < n_replaced.size(); ++i)
      if (const Ref<Buffer>& counted = parts_->inputs[i].n_replaced)
        counted->upload(0, &n_replaced[i], sizeof n_replaced[i]);
    reset_afterwards();
  });
}

}  // namespace synfire::network
