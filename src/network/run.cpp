// What a network runs: training, evaluation and inference by replays of its graphs.
#include "network.hpp"

#include <base/error.hpp>
#include <base/host_memory.hpp>
#include <base/view_checks.hpp>
#include <graph/eager_calls.hpp>
#include <graph/operands.hpp>
#include <operations/state/state.hpp>

#include <algorithm>
#include <cstring>
#include <new>

namespace synfire::network {

using namespace synfire::core;

// ---- replays --------------------------------------------------------------------------------------------------------

void Network::replay(const RecordedGraph& recorded, int64_t n_times) const {
  uint64_t ticket = 0;
  for (int64_t i = 0; i < n_times; ++i) ticket = recorded.graph->launch(nullptr).ticket;
  recorded.graph->wait(ticket, WaitPolicy::block, -1);
}

void Network::reset_layers() const {
  for (const Pair& pair : parts_->pairs)
    run_now(*context(), operations::reset_rows(*pair.layer, {0, 0}, nullptr), nullptr);
  device().synchronize();
}

// What has been computed counts, also if there is no memory for the reset: the next call on the network makes up for
// it.
void Network::reset_afterwards() {
  reset_owed_ = true;
  try {
    reset_layers();
  } catch (const std::bad_alloc&) {
    return;
  } catch (const Failure& failure) {
    if (failure.status != SYNFIRE_ERROR_OUT_OF_MEMORY) throw;
    return;
  }
  reset_owed_ = false;
}

void Network::reset_state() {
  const Use use(*this);
  check_built();
  reset_layers();
}

void Network::clear_sums() const {
  constexpr uint64_t zero = 0;
  for (const Ref<Buffer>* const sum :
       {&parts_->loss, &parts_->n_correct, &parts_->n_counted, &parts_->n_replaced_in_batches})
    if (*sum) (*sum)->upload(0, &zero, (*sum)->view().bytes);
}

void Network::read_sums(synfire_network_result& result) const {
  const Stage& loss = *design_.only(StageKind::loss);
  double sum = 0;
  uint32_t n_correct = 0, n_counted = 0;
  parts_->loss->download(0, &sum, sizeof sum);
  parts_->n_counted->download(0, &n_counted, sizeof n_counted);
  if (parts_->n_correct) parts_->n_correct->download(0, &n_correct, sizeof n_correct);
  if (const Ref<Buffer>& n_replaced = parts_->n_replaced_in_batches)
    n_replaced->download(0, &result.n_replaced, sizeof result.n_replaced);
  result.n_counted = n_counted;
  result.n_correct = n_correct;
  const int64_t n_classes = loss.choice == SYNFIRE_LOSS_MEAN_SQUARED_ERROR ? parts_->pairs.back().n_neurons() : 1;
  result.loss = n_counted == 0 ? sum : sum / (static_cast<double>(n_counted) * static_cast<double>(n_classes));
}

int64_t Network::batches_per_epoch() const noexcept {
  const int64_t batch = design_.rules().batch, n_rows = training_.n_rows;
  return design_.rules().drop_last ? n_rows / batch : (n_rows + batch - 1) / batch;
}

void Network::read_progress(synfire_network_result& result) const {
  if (!parts_->training.graph) return;
  const auto per_epoch = static_cast<uint64_t>(batches_per_epoch());
  const uint64_t next = parts_->next_batch();
  result.epoch = next / per_epoch;
  result.batch = next % per_epoch;
}

void Network::train(int64_t n_batches, synfire_network_result& result) {
  const Use use(*this);
  check_built();
  if (!design_.is_trainable())
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-INCOMPLETE", "the network has no optimizer, so it cannot be trained");
  const RecordedGraph& recorded = checked_graph(GraphKind::training);
  if (n_batches < 0)
    fail_argument("SYN-NETWORK-BATCHES", "n_batches is %lld; at least 0 is needed (0: the rest of the epoch)",
                  static_cast<long long>(n_batches));
  if (n_batches == 0) {
    read_progress(result);
    n_batches = batches_per_epoch() - static_cast<int64_t>(result.batch);
  }
  uint64_t skipped_before = 0, skipped = 0;
  parts_->optimizer->read(-1, "skipped", &skipped_before, sizeof skipped_before);
  clear_sums();
  replay(recorded, n_batches);
  reset_afterwards();
  parts_->optimizer->read(-1, "skipped", &skipped, sizeof skipped);
  read_sums(result);
  read_progress(result);
  result.n_batches = static_cast<uint64_t>(n_batches);
  result.n_skipped = skipped - skipped_before;
}

void Network::evaluate(synfire_network_result& result) {
  const Use use(*this);
  check_built();
  if (!design_.only(StageKind::loss))
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-NETWORK-INCOMPLETE", "the network has no loss, so it cannot be evaluated");
  const RecordedGraph& recorded = checked_graph(GraphKind::evaluation);
  recorded.begin_again();
  clear_sums();
  const int64_t batch = design_.rules().batch, n_batches = (evaluation_.n_rows + batch - 1) / batch;
  replay(recorded, n_batches);
  reset_afterwards();
  read_sums(result);
  read_progress(result);
  result.n_batches = static_cast<uint64_t>(n_batches);
}

// ---- inference ------------------------------------------------------------------------------------------------------

namespace {

// Rows [R, S, E] of the caller's, and a batch of them [S, B, E] in the inference graph.
class Rows {
 public:
  Rows(Buffer& buffer, const char* name, const RowShape& row, int64_t n_rows, int64_t batch)
      : buffer_(buffer), row_(row), batch_(static_cast<size_t>(batch)) {
    if (buffer.dtype() != row.dtype)
      fail_argument("SYN-BUFFER-TYPE", "%s holds %s; %s is needed", name, name_of_dtype(buffer.dtype()),
                    name_of_dtype(row.dtype));
    const int64_t lengths[] = {n_rows, row.stored_steps(), row.stored_width()};
    constexpr bool any_memory = true;
    view_ = stepped(buffer, name, {lengths[0], lengths[1], lengths[2]},
                    std::string(name_of_dtype(row.dtype)).append(" ").append(lengths_text(lengths)), any_memory);
    if (view_.is_padded())
      fail_argument("SYN-BUFFER-PITCH", "%s has a row_pitch of %llu; rows without gaps are needed", name,
                    static_cast<unsigned long long>(buffer.row_pitch()));
    steps_ = static_cast<size_t>(row.stored_steps());
    step_bytes_ = static_cast<size_t>(row.stored_width()) * bytes_of_dtype(row.dtype);
    require_host_memory(batch_ * row.bytes(), Paging::pageable);
    rows_.resize(batch_ * row.bytes());
  }
  const View& view() const noexcept { return view_; }

  // From the caller's rows to a batch; rows that there are not are zero.
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
  // From a batch to the caller's rows.
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

void* slot_of(Graph& graph, uint64_t ticket, const Buffer& buffer) {
  void* const data = graph.slot_memory(ticket, buffer).data;
  if (!data)
    fail(SYNFIRE_ERROR_BUSY, "SYN-GRAPH-SLOTS",
         "replays of the inference graph are in flight in all its slots; wait for them first");
  return data;
}

}  // namespace

void Network::infer(Buffer& inputs, int64_t n_rows, Buffer& outputs) {
  const Use use(*this);
  check_built();
  constexpr int64_t most_rows = 0xFFFFFFFF;
  if (n_rows < 1 || n_rows > most_rows)
    fail_argument("SYN-NETWORK-DATA", "n_rows is %lld; 1 to 2^32 - 1 are allowed", static_cast<long long>(n_rows));
  const int64_t batch = design_.rules().batch;
  Rows from(inputs, "inputs", input_row(design_), n_rows, batch);
  Rows to(outputs, "outputs", parts_->output_row(), n_rows, batch);
  if (overlaps(from.view().data, from.view().bytes, to.view().data, to.view().bytes))
    fail_argument("SYN-BUFFER-OVERLAP", "inputs and outputs overlap in memory");
  const RecordedGraph& recorded = parts_->inference;
  Graph& graph = *recorded.graph;
  uint64_t n_replaced = 0;
  for (int64_t first = 0; first < n_rows; first += batch) {
    const int64_t count = std::min(batch, n_rows - first);
    from.load(first, count, slot_of(graph, 0, *parts_->inference_input));
    parts_->inference_input->mark_written();
    reset_layers();
    recorded.begin_again();
    const uint64_t ticket = graph.launch(nullptr).ticket;
    graph.wait(ticket, WaitPolicy::yield, -1);
    to.store(first, count, slot_of(graph, ticket, *parts_->inference_output));
    if (parts_->n_replaced) n_replaced += *static_cast<uint64_t*>(slot_of(graph, ticket, *parts_->n_replaced));
  }
  // In the memory that is not of a replay, nor of a slot but the first.
  if (parts_->n_replaced) parts_->n_replaced->upload(0, &n_replaced, sizeof n_replaced);
  reset_afterwards();
}

}  // namespace synfire::network
