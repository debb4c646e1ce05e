// Passes are the host backend's kernels.
#include "twin.hpp"

#include <neurons/parameters.hpp>
#include <neurons/passes/cuda/passes_kernels.hpp>
#include <neurons/passes/host/passes_host_kernels.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace synfire::cuda {
namespace {

// Tiles like those of the host backend, one batch row at a time.
template <class Arguments, class Body>
void for_each_tile(const Arguments& arguments, int tile, Body body) {
  const core::Extents& e = arguments.extents;
  const int64_t words = (e.n_neurons + 31) / 32;
  for (int64_t row = 0; row < std::min(arguments.parameters->active / e.n_neurons, e.batch); ++row)
    for (int64_t neuron = 0; neuron < e.n_neurons; neuron += tile) {
      const int count = static_cast<int>(std::min<int64_t>(tile, e.n_neurons - neuron));
      body(host::Tile{row * e.n_neurons + neuron, neuron, row * words + neuron / 32, (count + 31) / 32, count, 0,
                      false});
    }
}

class TileRows {
 public:
  static TileRows of_forward() {
    return TileRows(host::RowsOfForward::n_rows(model::max_further_states) * host::forward_tile *
                    int64_t{sizeof(double)});
  }
  static TileRows of_backward() {
    using Rows = host::RowsOfBackward;
    return TileRows((Rows::n_wide(model::max_further_states) +
                     Rows::n_rows(model::max_further_states, model::checkpoint_interval)) *
                    Rows::wide_bytes);
  }
  template <class R>
  R* as() noexcept {
    return reinterpret_cast<R*>(lines_.data());
  }

 private:
  struct alignas(host::RowsOfBackward::alignment) Line {
    std::byte bytes[host::RowsOfBackward::alignment];
  };
  explicit TileRows(int64_t bytes) : lines_(static_cast<size_t>(bytes / host::RowsOfBackward::alignment)) {}

  std::vector<Line> lines_;
};

const host::NeuronKernels& passes() {
  return SYNFIRE_SELECT_LEVEL(neuron_kernels);
}

template <class R>
void run_forward(int32_t model, const ForwardLaunch<R>& launch) {
  TileRows memory = TileRows::of_forward();
  R* const rows = memory.as<R>();
  for_each_tile(launch.arguments, host::forward_tile,
                [&](const host::Tile& tile) { passes().forward(model, launch.arguments, tile, rows); });
}

template <class R>
void run_backward(int32_t model, const BackwardLaunch<R>& launch) {
  const core::ModelRow* const row = core::find_listed_model(model);
  const host::SurrogateRow<R> surrogate_row = passes().surrogate_row<R>(
      launch.arguments.surrogate, launch.arguments.parameters->per_neuron != nullptr, row && row->adapts_threshold);
  TileRows memory = TileRows::of_backward();
  R* const rows = memory.as<R>();
  for_each_tile(launch.arguments, host::backward_tile<R>,
                [&](const host::Tile& tile) { passes().backward(model, surrogate_row, launch.arguments, tile, rows); });
}

}  // namespace

template <class E>
const void* forward_kernel(int32_t model, Ownership ownership, ForwardOutputs outputs) {
  using Launch = ForwardLaunch<Arithmetic<E>>;
  return twin<Launch>({model, ownership.width, static_cast<int64_t>(ownership.kind), static_cast<int64_t>(outputs)},
                      [model](const Launch& launch) { run_forward(model, launch); });
}

// Keys of the kernels of layers with rules that few have.
constexpr int64_t ruled = -1;

template <class E>
const void* ruled_forward_kernel(int32_t model) {
  using Launch = ForwardLaunch<Arithmetic<E>>;
  return twin<Launch>({model, ruled}, [model](const Launch& launch) { run_forward(model, launch); });
}

template <class E>
const void* ruled_backward_kernel(int32_t model) {
  using Launch = BackwardLaunch<Arithmetic<E>>;
  return twin<Launch>({model, ruled}, [model](const Launch& launch) { run_backward(model, launch); });
}

template <class E>
const void* backward_kernel(int32_t model, int32_t surrogate, Ownership ownership, BackwardInputs inputs) {
  using Launch = BackwardLaunch<Arithmetic<E>>;
  return twin<Launch>(
      {model, surrogate, ownership.width, static_cast<int64_t>(ownership.kind), static_cast<int64_t>(inputs)},
      [model](const Launch& launch) { run_backward(model, launch); });
}

template const void* forward_kernel<float>(int32_t, Ownership, ForwardOutputs);
template const void* forward_kernel<double>(int32_t, Ownership, ForwardOutputs);
template const void* forward_kernel<F16>(int32_t, Ownership, ForwardOutputs);
template const void* forward_kernel<Bf16>(int32_t, Ownership, ForwardOutputs);
template const void* forward_kernel<AnyStorage>(int32_t, Ownership, ForwardOutputs);
template const void* ruled_forward_kernel<double>(int32_t);
template const void* ruled_forward_kernel<AnyStorage>(int32_t);
template const void* ruled_backward_kernel<double>(int32_t);
template const void* ruled_backward_kernel<AnyStorage>(int32_t);
template const void* backward_kernel<float>(int32_t, int32_t, Ownership, BackwardInputs);
template const void* backward_kernel<double>(int32_t, int32_t, Ownership, BackwardInputs);
template const void* backward_kernel<F16>(int32_t, int32_t, Ownership, BackwardInputs);
template const void* backward_kernel<Bf16>(int32_t, int32_t, Ownership, BackwardInputs);
template const void* backward_kernel<AnyStorage>(int32_t, int32_t, Ownership, BackwardInputs);

}  // namespace synfire::cuda
