// shape_work.cpp - arrays at any element, layers and graphs of shapes.
//
// SPDX-License-Identifier: MIT
#include "shape_work.hpp"

#include <algorithm>

#include "inputs.hpp"

namespace synfire_bench {
namespace {

constexpr std::uint64_t most_passes = 16;
// Bytes of one graph: about 1 ms on an H200, and on a host with many fewer threads than that takes.
constexpr std::uint64_t series_bytes = 4'000'000'000, host_series_bytes = 20'000'000;

synfire_layer_memory memory_of(const synfire_layer_desc& desc) {
  synfire_layer_memory memory = SYNFIRE_LAYER_MEMORY_INIT;
  check(synfire_layer_query_memory(&desc, &memory), "synfire_layer_query_memory");
  return memory;
}

// Bytes of the state of one neuron: the library rounds those of a layer up, so they are asked of a layer whose own need
// no rounding.
std::uint64_t state_bytes_of_neuron(const Job& job) {
  constexpr std::int64_t neurons = 1024;
  synfire_layer_desc desc = layer_desc(job);
  desc.n_neurons = neurons;
  desc.batch = 1;
  return memory_of(desc).state_bytes / neurons;
}

std::uint64_t checkpoints_of(const Job& job) {
  const std::uint64_t interval = memory_of(layer_desc(job)).checkpoint_interval;
  return (job.shape.steps + interval - 1) / interval;
}

}  // namespace

Traffic shape_traffic(const Job& job, Direction direction) {
  const std::uint64_t state = job.shape.batch * job.shape.neurons * state_bytes_of_neuron(job);
  Traffic forward, backward;
  if (is_spikeless(*job.model)) {
    forward.sequences = backward.sequences = 2 * sequence_bytes(job);
    forward.all = forward.sequences + 2 * state + checkpoints_of(job) * state;
    backward.all = backward.sequences;
  } else {
    const std::uint64_t tape = job.tape->allows_backward ? checkpoints_of(job) * state : 0;
    forward.sequences = traffic(job, Direction::forward).sequences;
    backward.sequences = traffic(job, Direction::backward).sequences;
    forward.all = forward.sequences + 2 * state + tape;
    backward.all = backward.sequences + tape;
  }
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

// ---- ShapePool ------------------------------------------------------------------------------------------------------

std::uint64_t ShapePool::elements(const PlacedShape& placed) {
  const std::uint64_t row = placed.shape.batch * placed.shape.neurons + placed.padding;
  return placed.shape.steps * row + *std::max_element(std::begin(placed.offsets), std::end(placed.offsets));
}

void ShapePool::prepare(const Model& model, std::uint64_t elements) {
  // Packed spikes of few neurons take more than a dense array of them: a word for each row.
  const std::uint64_t bytes = (elements * std::max<std::uint64_t>(dtype_.bytes, 4) + 255) / 256 * 256;
  const bool larger = bytes > bytes_;
  if (larger) {
    for (Owned<synfire_buffer>& area : areas_) area.reset();
    machine_.reclaim();
    for (Owned<synfire_buffer>& area : areas_) {
      synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
      desc.n_elements = bytes / sizeof(float);
      synfire_buffer buffer = nullptr;
      check(synfire_buffer_create(machine_.context(), &desc, &buffer), "synfire_buffer_create");
      area.reset(buffer);
    }
    bytes_ = bytes;
    fill_random(machine_, areas_[grad_spike].get(), dtype_, dtype_, bytes_ / dtype_.bytes, -1.0F, 1.0F,
                seed_of_grad_spike);
  }
  if (larger || filled_for_ == nullptr || filled_for_->x_low != model.x_low || filled_for_->x_high != model.x_high) {
    fill_random(machine_, areas_[x].get(), dtype_, dtype_, bytes_ / dtype_.bytes, model.x_low, model.x_high, seed_of_x);
  }
  filled_for_ = &model;
}

Owned<synfire_buffer> ShapePool::array(Array which, std::int32_t dtype, std::uint32_t element_bytes,
                                       std::uint64_t steps, std::uint64_t row, std::uint64_t padding,
                                       std::uint64_t offset) const {
  void* data = nullptr;
  check(synfire_buffer_get_data(areas_[which].get(), &data, nullptr), "synfire_buffer_get_data");
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.dtype = dtype;
  desc.n_elements = (steps - 1) * (row + padding) + row;
  desc.row_pitch = padding == 0 || steps == 1 ? 0 : row + padding;
  desc.data = static_cast<char*>(data) + offset * element_bytes;
  synfire_buffer buffer = nullptr;
  check(synfire_buffer_create(machine_.context(), &desc, &buffer), "synfire_buffer_create");
  return Owned<synfire_buffer>(buffer);
}

// ---- ShapeWork ------------------------------------------------------------------------------------------------------

ShapeWork::ShapeWork(const Machine& machine, const ShapePool& pool, const Job& job, const PlacedShape& placed,
                     const std::vector<Direction>& directions)
    : job_(job), layer_(make_layer(machine, layer_desc(job))) {
  const std::uint64_t steps = job.shape.steps, row = job.shape.batch * job.shape.neurons;
  const Dtype& dtype = *job.dtype;
  const auto sequence = [&](ShapePool::Array which) {
    return pool.array(which, dtype.id, dtype.bytes, steps, row, placed.padding, placed.offsets[which]);
  };
  arrays_.x = sequence(ShapePool::x);
  arrays_.grad_spike = sequence(ShapePool::grad_spike);
  arrays_.grad_x = sequence(ShapePool::grad_x);
  if (is_spikeless(*job.model) || job.spikes->id == dtype_of_layer) {
    arrays_.spikes = sequence(ShapePool::spikes);
  } else {
    const bool along_time = job.spikes->id == SYNFIRE_DTYPE_TIME_BITS;
    const std::uint64_t rows = along_time ? (steps + 31) / 32 : steps;
    const std::uint64_t padding = job.spikes->element_bytes == 1 ? placed.padding : placed.padding % 4;
    arrays_.spikes = pool.array(ShapePool::spikes, job.spikes->id, job.spikes->element_bytes, rows,
                                job.spikes->elements(job.shape) / rows, padding, placed.offsets[ShapePool::spikes]);
  }

  // A backward alone needs the tape of a forward.
  first_ = record(machine, Direction::forward, 1);
  std::uint64_t ticket = 0;
  check(synfire_graph_launch(first_.get(), nullptr, &ticket), "synfire_graph_launch");
  check(synfire_graph_wait(first_.get(), ticket, SYNFIRE_WAIT_SPIN, -1), "synfire_graph_wait");
  for (const Direction direction : directions) {
    const auto at = static_cast<std::size_t>(direction);
    const std::uint64_t bytes = shape_traffic(job, direction).all;
    passes_[at] =
        std::clamp((machine.is_host() ? host_series_bytes : series_bytes) / bytes, std::uint64_t{1}, most_passes);
    series_[at] = record(machine, direction, passes_[at]);
  }
}

Owned<synfire_graph> ShapeWork::record(const Machine& machine, Direction direction, std::uint64_t passes) const {
  Owned<synfire_graph> graph = make_graph(machine);
  for (std::uint64_t pass = 0; pass < passes; ++pass) record_pass(graph.get(), layer_.get(), arrays_, job_, direction);
  check(synfire_graph_instantiate(graph.get()), "synfire_graph_instantiate");
  return graph;
}

Rotation ShapeWork::rotation(Direction direction) const {
  const auto at = static_cast<std::size_t>(direction);
  return {{series_[at].get()}, series_[at].get(), passes_[at], nullptr};
}

}  // namespace synfire_bench
