// workload.cpp - arrays, layers and graphs to measure.
//
// SPDX-License-Identifier: MIT
#include "workload.hpp"

#include <algorithm>

#include "inputs.hpp"

namespace synfire_bench {
namespace {

constexpr std::uint64_t most_sets = 64;
constexpr std::uint64_t most_passes = 16;               // of one set per series
constexpr std::uint64_t series_bytes = 20'000'000'000;  // about 5 ms on an H200; more passes would only take longer

constexpr std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + 255) / 256 * 256;
}

std::int32_t spike_dtype(const Job& job) {
  return job.spikes->id == dtype_of_layer ? job.dtype->id : job.spikes->id;
}
std::uint32_t spike_element_bytes(const Job& job) {
  return job.spikes->id == dtype_of_layer ? job.dtype->bytes : job.spikes->element_bytes;
}

synfire_layer_memory layer_memory(const Job& job) {
  const synfire_layer_desc desc = layer_desc(job);
  synfire_layer_memory memory = SYNFIRE_LAYER_MEMORY_INIT;
  check(synfire_layer_query_memory(&desc, &memory), "synfire_layer_query_memory");
  return memory;
}

// The tape stores H for each step, and also spikes if H has 16 bits.
std::uint64_t stored_bytes(const Job& job) {
  const synfire_layer_memory memory = layer_memory(job);
  switch (job.tape->id) {
    case SYNFIRE_TAPE_STORE:
      return memory.stored_tape_bytes;
    case SYNFIRE_TAPE_STORE_NARROW:
      return memory.narrow_tape_bytes + memory.narrow_tape_spike_bytes;
    default:
      return 0;
  }
}

}  // namespace

synfire_layer_desc layer_desc(const Job& job) {
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  desc.model = job.model->id;
  desc.n_steps = static_cast<std::int64_t>(job.shape.steps);
  desc.n_neurons = static_cast<std::int64_t>(job.shape.neurons);
  desc.batch = static_cast<std::int64_t>(job.shape.batch);
  desc.dtype = job.dtype->id;
  desc.surrogate = job.surrogate->id;
  desc.threads_per_block = job.threads_per_block;
  return desc;
}

bool is_spikeless(const Model& model) {
  return model.id == SYNFIRE_MODEL_LI;
}

std::uint64_t sequence_bytes(const Job& job) {
  return job.shape.elements() * job.dtype->bytes;
}

std::uint64_t spike_bytes(const Job& job) {
  return job.spikes->elements(job.shape) * spike_element_bytes(job);
}

std::uint64_t device_bytes(const Job& job) {
  const synfire_layer_memory memory = layer_memory(job);
  return 3 * sequence_bytes(job) + spike_bytes(job) + memory.state_bytes + memory.tape_bytes + stored_bytes(job);
}

Traffic traffic(const Job& job, Direction direction) {
  const synfire_layer_memory memory = layer_memory(job);
  const std::uint64_t tape = job.tape->allows_backward ? memory.tape_bytes : 0;
  Traffic forward, backward;
  const std::uint64_t stored = stored_bytes(job);
  forward.sequences = sequence_bytes(job) + spike_bytes(job) + stored;  // X in, S and a stored H out
  forward.all = forward.sequences + 2 * memory.state_bytes + tape;
  // In: X, or a stored H instead of it, and dL/dS. Out: dL/dX.
  backward.sequences = 2 * sequence_bytes(job) + (stored != 0 ? stored : sequence_bytes(job));
  backward.all = backward.sequences + tape;
  switch (direction) {
    case Direction::forward:
      return forward;
    case Direction::backward:
      return backward;
    case Direction::both:
      break;
  }
  return {forward.sequences + backward.sequences, forward.all + backward.all};
}

std::uint64_t cold_sets(const Machine& machine, const Job& job, Direction direction) {
  const std::uint64_t bytes = traffic(job, direction).sequences;
  return std::min(most_sets, (machine.cold_bytes() + bytes - 1) / bytes);
}

void record_pass(synfire_graph graph, synfire_layer layer, const Arrays& arrays, const Job& job, Direction direction) {
  const bool spikeless = is_spikeless(*job.model);
  if (direction != Direction::backward) {
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.tape = job.tape->id;
    forward.x = arrays.x.get();
    (spikeless ? forward.v_seq : forward.spikes) = arrays.spikes.get();
    check(synfire_graph_record_forward(graph, layer, &forward), "synfire_graph_record_forward");
  }
  if (direction != Direction::forward) {
    synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
    (spikeless ? backward.grad_v_seq : backward.grad_spike_seq) = arrays.grad_spike.get();
    backward.grad_x_seq = arrays.grad_x.get();
    check(synfire_graph_record_backward(graph, layer, &backward), "synfire_graph_record_backward");
  }
}

// ---- Arena ----------------------------------------------------------------------------------------------------------

void Arena::reserve(Area& area, std::uint64_t bytes) const {
  if (bytes <= area.bytes) return;
  area = {};
  machine_.reclaim();
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.n_elements = aligned(bytes) / sizeof(float);
  synfire_buffer buffer = nullptr;
  check(synfire_buffer_create(machine_.context(), &desc, &buffer), "synfire_buffer_create");
  area.buffer.reset(buffer);
  area.bytes = aligned(bytes);
}

void Arena::prepare(const Job& job, std::uint64_t sets) {
  const std::uint64_t sequences = aligned(sequence_bytes(job)) * sets;
  reserve(x_, sequences);
  reserve(grad_spike_, sequences);
  reserve(grad_x_, sequences);
  reserve(spikes_, aligned(spike_bytes(job)) * sets);
  const std::uint64_t elements = sequences / dtype_.bytes;
  if (x_.filled_for != job.model || x_.filled_elements < elements) {
    fill_random(machine_, x_.buffer.get(), dtype_, inputs_as_, elements, job.model->x_low, job.model->x_high,
                seed_of_x);
    x_.filled_for = job.model;
    x_.filled_elements = elements;
  }
  if (grad_spike_.filled_elements < elements) {
    fill_random(machine_, grad_spike_.buffer.get(), dtype_, inputs_as_, elements, -1.0F, 1.0F, seed_of_grad_spike);
    grad_spike_.filled_elements = elements;
  }
  machine_.reclaim();
}

Owned<synfire_buffer> Arena::slice(const Area& area, std::int32_t dtype, std::uint64_t elements,
                                   std::uint64_t element_bytes, std::uint64_t index) const {
  void* data = nullptr;
  check(synfire_buffer_get_data(area.buffer.get(), &data, nullptr), "synfire_buffer_get_data");
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.dtype = dtype;
  desc.n_elements = elements;
  desc.data = static_cast<char*>(data) + index * aligned(elements * element_bytes);
  synfire_buffer buffer = nullptr;
  check(synfire_buffer_create(machine_.context(), &desc, &buffer), "synfire_buffer_create");
  return Owned<synfire_buffer>(buffer);
}

Arrays Arena::slices(const Job& job, std::uint64_t index) const {
  const std::uint64_t elements = job.shape.elements();
  return {slice(x_, dtype_.id, elements, dtype_.bytes, index),
          slice(spikes_, spike_dtype(job), job.spikes->elements(job.shape), spike_element_bytes(job), index),
          slice(grad_spike_, dtype_.id, elements, dtype_.bytes, index),
          slice(grad_x_, dtype_.id, elements, dtype_.bytes, index)};
}

synfire_graph Arena::flush() {
  if (!flush_) {
    // Twice the size that is needed, because caches do not evict strictly in order.
    reserve(flush_from_, machine_.cold_bytes());
    reserve(flush_to_, machine_.cold_bytes());
    flush_ = copy_graph(machine_, flush_from_.buffer.get(), flush_to_.buffer.get());
  }
  return flush_.get();
}

// ---- Workload -------------------------------------------------------------------------------------------------------

Workload::Workload(const Machine& machine, Arena& arena, const Job& job, const std::vector<Direction>& directions,
                   std::uint64_t sets)
    : machine_(machine), arena_(arena), job_(job) {
  const synfire_layer_desc desc = layer_desc(job);
  arena.prepare(job, sets);
  for (std::uint64_t index = 0; index < sets; ++index) {
    Set set;
    set.arrays = arena.slices(job, index);
    set.layer = make_layer(machine, desc);
    // Run a forward first, because a backward alone needs its tape.
    add_graph(set, Direction::forward);
    std::uint64_t ticket = 0;
    synfire_graph const forward = set.graphs[static_cast<int>(Direction::forward)].get();
    check(synfire_graph_launch(forward, nullptr, &ticket), "synfire_graph_launch");
    check(synfire_graph_wait(forward, ticket, SYNFIRE_WAIT_SPIN, -1), "synfire_graph_wait");
    for (const Direction direction : directions) {
      if (direction != Direction::forward) add_graph(set, direction);
    }
    sets_.push_back(std::move(set));
  }
}

void Workload::add_graph(Set& set, Direction direction) const {
  Owned<synfire_graph> graph = make_graph(machine_);
  record_pass(graph.get(), set.layer.get(), set.arrays, job_, direction);
  check(synfire_graph_instantiate(graph.get()), "synfire_graph_instantiate");
  set.graphs[static_cast<int>(direction)] = std::move(graph);
}

Rotation Workload::rotation(Direction direction, Cache cache) {
  Rotation rotation;
  const std::uint64_t sets =
      cache == Cache::hot ? 1 : std::min<std::uint64_t>(sets_.size(), cold_sets(machine_, job_, direction));
  for (std::uint64_t i = 0; i < sets; ++i) {
    rotation.graphs.push_back(sets_[i].graphs[static_cast<int>(direction)].get());
  }
  if (cache == Cache::cold && sets * traffic(job_, direction).sequences < machine_.cold_bytes()) {
    rotation.flush = arena_.flush();
  }
  // One round if longer series bring nothing: on the host, replays have no fixed cost, and a flushed set is cold only
  // once.
  std::uint64_t rounds = std::clamp(series_bytes / (sets * traffic(job_, direction).sequences), std::uint64_t{1},
                                    (most_passes + sets - 1) / sets);
  if (machine_.is_host() || rotation.flush != nullptr) rounds = 1;
  Owned<synfire_graph> series = make_graph(machine_);
  for (std::uint64_t round = 0; round < rounds; ++round) {
    for (std::uint64_t i = 0; i < sets; ++i)
      record_pass(series.get(), sets_[i].layer.get(), sets_[i].arrays, job_, direction);
  }
  check(synfire_graph_instantiate(series.get()), "synfire_graph_instantiate");
  rotation.series = series.get();
  rotation.passes = rounds * sets;
  series_.push_back(std::move(series));
  return rotation;
}

double Workload::spike_rate() const {
  constexpr std::uint64_t pieces = 16, piece_bytes = std::uint64_t{1} << 18;
  const std::uint64_t total = spike_bytes(job_);
  const std::uint32_t element = spike_element_bytes(job_);
  const bool whole = total <= pieces * piece_bytes;
  std::vector<unsigned char> part(whole ? total : piece_bytes);
  std::uint64_t spikes = 0, seen = 0;
  for (std::uint64_t piece = 0; piece < (whole ? 1 : pieces); ++piece) {
    const std::uint64_t offset = whole ? 0 : (total - piece_bytes) / (pieces - 1) / element * element * piece;
    check(synfire_buffer_download(arrays().spikes.get(), offset, part.data(), part.size()), "synfire_buffer_download");
    spikes += job_.spikes->count(part.data(), part.size(), element);
    seen += part.size();
  }
  return static_cast<double>(spikes) /
         (static_cast<double>(job_.shape.elements()) * static_cast<double>(seen) / static_cast<double>(total));
}

}  // namespace synfire_bench
