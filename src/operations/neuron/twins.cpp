// Passes are the host backend's kernels.
#include "host_kernels.hpp"
#include "kernels.hpp"

#include <cuda/twin.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace synfire::cuda {
namespace {

// Tiles like those of the host backend: batch rows one by one, which is correct for every layer.
template <class Arguments, class Body>
void for_each_tile(const Arguments& arguments, int tile, Body body) {
  const core::Extents& e = arguments.extents;
  const int64_t words = (e.n_neurons + 31) / 32;
  for (int64_t row = 0; row < arguments.parameters->active / e.n_neurons; ++row)
    for (int64_t neuron = 0; neuron < e.n_neurons; neuron += tile) {
      const int count = static_cast<int>(std::min<int64_t>(tile, e.n_neurons - neuron));
      body(host::Tile{row * e.n_neurons + neuron, neuron, row * words + neuron / 32, (count + 31) / 32, count, 0,
                      false});
    }
}

// Rows of the largest tile of any model.
struct alignas(host::RowsOfBackward::alignment) Line {
  std::byte bytes[host::RowsOfBackward::alignment];
};
class BackwardRows {
 public:
  void* data() noexcept { return lines_.data(); }

 private:
  using Rows = host::RowsOfBackward;
  static constexpr int64_t n_rows =
      Rows::n_wide(model::max_further_states) + Rows::n_rows(model::max_further_states, model::checkpoint_interval);
  std::vector<Line> lines_ = std::vector<Line>(n_rows * Rows::wide_bytes / Rows::alignment);
};

const host::NeuronKernels& passes() {
  return SYNFIRE_SELECT_LEVEL(neuron_kernels);
}

}  // namespace

template <class E>
const void* forward_kernel(int32_t model, Ownership ownership, ForwardOutputs outputs) {
  using Launch = ForwardLaunch<Arithmetic<E>>;
  return twin<Launch>({model, ownership.width, static_cast<int64_t>(ownership.kind), static_cast<int64_t>(outputs)},
                      [model](const Launch& launch) {
                        constexpr int smallest = host::forward_tile<Arithmetic<E>, 2>;  // of models of any kind
                        for_each_tile(launch.arguments, smallest,
                                      [&](const host::Tile& tile) { passes().forward(model, launch.arguments, tile); });
                      });
}

template <class E>
const void* backward_kernel(int32_t model, int32_t surrogate, Ownership ownership, BackwardInputs inputs) {
  using R = Arithmetic<E>;
  using Launch = BackwardLaunch<R>;
  return twin<Launch>(
      {model, surrogate, ownership.width, static_cast<int64_t>(ownership.kind), static_cast<int64_t>(inputs)},
      [model](const Launch& launch) {
        const host::SurrogateRow<R> surrogate_row =
            passes().surrogate_row<R>(launch.arguments.surrogate, launch.arguments.parameters->per_neuron != nullptr);
        BackwardRows memory;
        R* const rows = reinterpret_cast<R*>(memory.data());
        for_each_tile(launch.arguments, host::backward_tile<R>, [&](const host::Tile& tile) {
          passes().backward(model, surrogate_row, launch.arguments, tile, rows);
        });
      });
}

template const void* forward_kernel<float>(int32_t, Ownership, ForwardOutputs);
template const void* forward_kernel<double>(int32_t, Ownership, ForwardOutputs);
template const void* forward_kernel<F16>(int32_t, Ownership, ForwardOutputs);
template const void* forward_kernel<Bf16>(int32_t, Ownership, ForwardOutputs);
template const void* forward_kernel<AnyStorage>(int32_t, Ownership, ForwardOutputs);
template const void* backward_kernel<float>(int32_t, int32_t, Ownership, BackwardInputs);
template const void* backward_kernel<double>(int32_t, int32_t, Ownership, BackwardInputs);
template const void* backward_kernel<F16>(int32_t, int32_t, Ownership, BackwardInputs);
template const void* backward_kernel<Bf16>(int32_t, int32_t, Ownership, BackwardInputs);
template const void* backward_kernel<AnyStorage>(int32_t, int32_t, Ownership, BackwardInputs);

}  // namespace synfire::cuda
