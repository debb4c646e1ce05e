#include "graph.hpp"

#include "error.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace synfire::core {
namespace {

// One thread at a time; a second one is answered BUSY instead of being made to wait.
class Exclusive {
 public:
  explicit Exclusive(std::atomic_flag& flag) : flag_(flag) {
    if (flag_.test_and_set(std::memory_order_acquire))
      fail(SYNFIRE_ERROR_BUSY, "SYN-GRAPH-BUSY", "the graph is in use on another thread");
  }
  ~Exclusive() { flag_.clear(std::memory_order_release); }
  Exclusive(const Exclusive&) = delete;
  Exclusive& operator=(const Exclusive&) = delete;

 private:
  std::atomic_flag& flag_;
};

void pause_processor() noexcept {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

// ---- recording ------------------------------------------------------------------------------------------------------

void Graph::check_recording() const {
  if (instantiated_.load(std::memory_order_acquire))
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-GRAPH-INSTANTIATED",
         "the graph is already instantiated; record into a new graph");
}

TapeUse& Graph::use_of(Layer& layer) {
  for (TapeUse& use : tapes_)
    if (use.layer == &layer) return use;
  layers_.emplace_back(&layer);
  return tapes_.emplace_back(TapeUse{&layer});
}

void Graph::keep(std::initializer_list<Buffer*> buffers) {
  for (Buffer* buffer : buffers)
    if (buffer) buffers_.emplace_back(buffer);
}

// Operations report what they write: a tape made of it before is worth nothing after.
void Graph::note_written(std::initializer_list<Buffer*> buffers) {
  for (Buffer* buffer : buffers) {
    if (!buffer) continue;
    for (TapeUse& use : tapes_)
      if (use.left.x == buffer) use.overwritten = true;
    if (std::find(written_.begin(), written_.end(), buffer) == written_.end()) written_.push_back(buffer);
  }
}

void Graph::record_forward(Layer& layer, const ForwardRequest& request) {
  const Exclusive exclusive(busy_);
  check_recording();
  operations_.reserve(operations_.size() + 1);
  tapes_.reserve(tapes_.size() + 1);
  const ForwardOperation operation = layer.forward(request);
  keep({request.x, request.spikes, request.v_init, request.v_final, request.v_seq, request.h_seq, request.w_init,
        request.w_final, request.w_seq});
  note_written({request.spikes, request.v_final, request.v_seq, request.h_seq, request.w_final, request.w_seq,
                request.in_place ? request.x : nullptr});
  TapeUse& use = use_of(layer);
  use.ran_forward = true;
  use.left = request.tape == Tape::none ? TapeShape{} : TapeShape{request.x, request.tape, request.in_place};
  use.overwritten = false;
  operations_.emplace_back(operation);
}

void Graph::record_backward(Layer& layer, const BackwardRequest& request) {
  const Exclusive exclusive(busy_);
  check_recording();
  const TapeUse* known = nullptr;
  for (const TapeUse& use : tapes_)
    if (use.layer == &layer) known = &use;
  const bool inside = known && known->ran_forward;
  if (inside && !known->left.x)
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-INFERENCE",
         "the latest forward of the layer in this graph was recorded for inference (SYNFIRE_TAPE_NONE)");
  std::pair<TapeShape, Ref<Buffer>> expected;
  if (inside) expected = {known->left, Ref<Buffer>(known->left.x)};
  else expected = layer.expected_tape();
  const TapeShape& tape = expected.first;
  if (inside && known->overwritten && (layer.reads_input(request, tape) || tape.in_place))
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-WRITTEN",
         "an operation of this graph writes x after the forward that read it, and this backward reads it again");
  const OperationList operations = layer.backward(request, tape);
  operations_.reserve(operations_.size() + operations.size());
  tapes_.reserve(tapes_.size() + 1);
  keep({tape.x, request.grad_spike_seq, request.grad_v_seq, request.grad_v_final, request.grad_x_seq,
        request.grad_v_init, request.grad_w_seq, request.grad_w_final, request.grad_w_init});
  for (const GradientRequest& gradient : request.gradients) keep({gradient.gradient});
  TapeUse& use = use_of(layer);
  if (!inside) {
    use.needed = tape;
    use.needs_input |= layer.reads_input(request, tape) || tape.in_place;
  }
  operations_.insert(operations_.end(), operations.begin(), operations.end());
  note_written({request.grad_x_seq, request.grad_v_init, request.grad_w_init});
  for (const GradientRequest& gradient : request.gradients) note_written({gradient.gradient});
}

void Graph::record_copy(Buffer& source, uint64_t source_offset, Buffer& destination, uint64_t destination_offset,
                        uint64_t bytes) {
  const Exclusive exclusive(busy_);
  check_recording();
  Array from = source.array(), to = destination.array();
  for (const auto& [name, array] : {std::pair{"desc.source", &from}, std::pair{"desc.destination", &to}})
    if (!device().is_host() && array->memory == SYNFIRE_MEMORY_HOST)
      fail_argument("SYN-BUFFER-KIND",
                    "%s is a buffer of pageable host memory; a graph on a CUDA context copies between device and "
                    "pinned buffers",
                    name);
  if (source_offset > from.bytes)
    fail_argument("SYN-COPY-RANGE", "desc.source_offset is %llu; desc.source holds %llu bytes",
                  static_cast<unsigned long long>(source_offset), static_cast<unsigned long long>(from.bytes));
  if (bytes == 0) bytes = from.bytes - source_offset;
  if (bytes == 0) fail_argument("SYN-COPY-RANGE", "desc.source_offset is the size of desc.source: nothing to copy");
  if (bytes > from.bytes - source_offset)
    fail_argument("SYN-COPY-RANGE", "desc.bytes is %llu at desc.source_offset %llu; desc.source holds %llu bytes",
                  static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(source_offset),
                  static_cast<unsigned long long>(from.bytes));
  if (destination_offset > to.bytes || bytes > to.bytes - destination_offset)
    fail_argument("SYN-COPY-RANGE",
                  "%llu bytes do not fit at desc.destination_offset %llu; desc.destination holds %llu bytes",
                  static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(destination_offset),
                  static_cast<unsigned long long>(to.bytes));
  from.data = static_cast<char*>(from.data) + source_offset;
  to.data = static_cast<char*>(to.data) + destination_offset;
  from.bytes = to.bytes = bytes;
  const auto a = reinterpret_cast<uintptr_t>(from.data), b = reinterpret_cast<uintptr_t>(to.data);
  if (a < b + bytes && b < a + bytes)
    fail_argument("SYN-BUFFER-OVERLAP", "desc.source and desc.destination overlap in memory");
  operations_.reserve(operations_.size() + 1);
  keep({&source, &destination});
  note_written({&destination});
  operations_.emplace_back(CopyOperation{from, to});
}

void Graph::record_convert_spikes(const ConvertSpikesRequest& request) {
  const Exclusive exclusive(busy_);
  check_recording();
  operations_.reserve(operations_.size() + 1);
  const ConvertSpikesOperation operation = convert_spikes(request, device().is_host());
  keep({request.source, request.destination});
  note_written({request.destination});
  operations_.emplace_back(operation);
}

void Graph::record_count_spikes(const CountSpikesRequest& request) {
  const Exclusive exclusive(busy_);
  check_recording();
  operations_.reserve(operations_.size() + 1);
  const CountSpikesOperation operation = count_spikes(request, device().is_host());
  keep({request.spikes, request.counts});
  note_written({request.counts});
  operations_.emplace_back(operation);
}

void Graph::instantiate() {
  const Exclusive exclusive(busy_);
  check_recording();
  if (operations_.empty())
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-GRAPH-EMPTY", "the graph is empty; record at least one operation first");
  for (const TapeUse& use : tapes_) use.layer->refresh(nullptr);
  replay_ = device().instantiate(operations_);
  instantiated_.store(true, std::memory_order_release);
}

// ---- replaying ------------------------------------------------------------------------------------------------------

uint64_t Graph::launch(synfire_stream stream) {
  const Exclusive exclusive(busy_);
  if (!instantiated_.load(std::memory_order_relaxed))
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-GRAPH-NOT-INSTANTIATED",
         "the graph is not instantiated; call synfire_graph_instantiate first");
  if (stream) device().check_stream(stream);
  for (const TapeUse& use : tapes_)
    if (use.needed.x) use.layer->require_tape(use.needed, use.needs_input);
  for (const TapeUse& use : tapes_) use.layer->refresh(stream);
  replay_->launch(stream);
  for (Buffer* buffer : written_) buffer->mark_written();
  for (const TapeUse& use : tapes_)
    if (use.ran_forward) use.layer->set_tape(use.left, use.overwritten);
  const uint64_t ticket = launched_.load(std::memory_order_relaxed) + 1;
  launched_.store(ticket, std::memory_order_release);
  return ticket;
}

synfire_status Graph::wait(uint64_t ticket, WaitPolicy policy, int64_t timeout_ns) {
  using clock = std::chrono::steady_clock;
  if (!instantiated_.load(std::memory_order_acquire))
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-GRAPH-NOT-INSTANTIATED", "the graph is not instantiated");
  const uint64_t launched = launched_.load(std::memory_order_acquire);
  if (ticket == 0 || ticket > launched)
    fail_argument("SYN-GRAPH-TICKET", "ticket is %llu; this graph handed out 1 to %llu",
                  static_cast<unsigned long long>(ticket), static_cast<unsigned long long>(launched));
  if (replay_->finished() >= ticket) return SYNFIRE_OK;
  if (timeout_ns == 0) return SYNFIRE_PENDING;

  const auto start = clock::now();
  auto next_check = start + std::chrono::milliseconds(1);
  for (;;) {
    // A look at the clock costs more than a look at the counter.
    for (int i = 0; i < 32; ++i) {
      if (replay_->finished() >= ticket) return SYNFIRE_OK;
      if (policy == WaitPolicy::spin) pause_processor();
    }
    const auto now = clock::now();
    if (timeout_ns > 0 && now - start >= std::chrono::nanoseconds(timeout_ns)) {
      if (replay_->finished() >= ticket) return SYNFIRE_OK;
      replay_->check();  // a failed replay is reported as such, never as late
      return SYNFIRE_PENDING;
    }
    if (now >= next_check) {
      replay_->check();
      next_check = now + std::chrono::milliseconds(1);
    }
    if (policy == WaitPolicy::yield) std::this_thread::yield();
    // Sleeping longer than the replay has taken so far would at most double the latency.
    if (policy == WaitPolicy::block) {
      const auto nap = std::clamp<clock::duration>((now - start) / 4, std::chrono::microseconds(20),
                                                   std::chrono::microseconds(500));
      std::this_thread::sleep_for(nap);
    }
  }
}

// ---- eager calls ----------------------------------------------------------------------------------------------------

namespace {

void run(Layer& layer, std::span<const Operation> operations, synfire_stream stream) {
  layer.refresh(stream);
  layer.context()->device().execute(operations, stream);
}

void run(Layer& layer, const Operation& operation, synfire_stream stream) { run(layer, {&operation, 1}, stream); }

}  // namespace

void run_forward(Layer& layer, const ForwardRequest& request, synfire_stream stream) {
  layer.context()->device().check_stream(stream);
  const ForwardOperation operation = layer.forward(request);
  run(layer, Operation(operation), stream);
  for (Buffer* written : {request.spikes, request.v_final, request.v_seq, request.h_seq, request.w_final, request.w_seq,
                          request.in_place ? request.x : nullptr})
    if (written) written->mark_written();
  layer.set_tape(request.tape == Tape::none ? TapeShape{} : TapeShape{request.x, request.tape, request.in_place}, false);
}

void run_backward(Layer& layer, const BackwardRequest& request, synfire_stream stream) {
  layer.context()->device().check_stream(stream);
  const auto [tape, input] = layer.require_tape(request);
  run(layer, layer.backward(request, tape), stream);
  for (Buffer* written : {request.grad_x_seq, request.grad_v_init, request.grad_w_init})
    if (written) written->mark_written();
  for (const GradientRequest& gradient : request.gradients) gradient.gradient->mark_written();
}

void run_reset_state(Layer& layer, synfire_stream stream) {
  layer.context()->device().check_stream(stream);
  run(layer, Operation(ResetStateOperation{&layer}), stream);
}

void run_convert_spikes(Context& context, const ConvertSpikesRequest& request, synfire_stream stream) {
  Device& device = context.device();
  device.check_stream(stream);
  const Operation operation = convert_spikes(request, device.is_host());
  device.execute({&operation, 1}, stream);
  request.destination->mark_written();
}

void run_count_spikes(Context& context, const CountSpikesRequest& request, synfire_stream stream) {
  Device& device = context.device();
  device.check_stream(stream);
  const Operation operation = count_spikes(request, device.is_host());
  device.execute({&operation, 1}, stream);
  request.counts->mark_written();
}

}  // namespace synfire::core
