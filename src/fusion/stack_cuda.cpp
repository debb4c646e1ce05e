// The launches of stacks: the layout of shared memory.
#include "stack.hpp"
#include "stack_kernels.hpp"
#include "stack_shared_memory.hpp"

#include <backends/cuda/cuda_launcher.hpp>
#include <neurons/passes/passes_arguments_of.hpp>
#include <operations/loss/launch_of.hpp>
#include <synapses/dense/dense_arguments_of.hpp>
#include <synapses/dense/few_rows.hpp>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

int64_t stack_shared_bytes(std::span<const StackLink> links, StackLaunch* launch) {
  int64_t most_words = 0, most_padded = 0, next = stack_parameter_bytes * static_cast<int64_t>(links.size());
  const auto place = [&](int64_t bytes) {
    const auto at = static_cast<int32_t>(next);
    next += (bytes + 15) / 16 * 16;
    return at;
  };
  for (size_t i = 0; i < links.size(); ++i) {
    const DenseSpec& spec = links[i].product.synapse->spec();
    const int64_t words = links[i].product.extents.words_per_row(), padded = (spec.n_outputs + 7) / 8 * 8;
    most_words = std::max({most_words, words, (spec.n_outputs + 31) / 32});
    most_padded = std::max(most_padded, padded);
    const int32_t neurons = place(4 * static_cast<int64_t>(sizeof(float)) * padded),
                  planes =
                      place(DenseSpec::even_words(spec.n_inputs) * 3 * 32 * DenseSpec::padded_columns(spec.n_outputs));
    if (!launch) continue;
    launch->links[i].neurons = neurons;
    launch->links[i].planes = planes;
  }
  const int64_t words_bytes = (most_words * links[0].product.extents.n_steps * 4 + 15) / 16 * 16;
  const int32_t words = place(2 * words_bytes);
  // Keeps pairs of columns and rows in different banks.
  const int64_t x_pitch = (most_padded + 31) / 32 * 32 + 8;
  const int32_t x = place(stack_steps * x_pitch * static_cast<int64_t>(sizeof(float)));
  if (launch) {
    launch->words = words;
    launch->words_bytes = static_cast<int32_t>(words_bytes);
    launch->x = x;
    launch->x_pitch = static_cast<int32_t>(x_pitch);
  }
  return next;
}

Hints hints(const Stack&, const GpuShape&) {
  return {};
}

void enqueue(const Stack& op, Launcher& launcher) {
  StackLaunch launch = {};
  launch.n_links = static_cast<int32_t>(op.links.size());
  for (size_t i = 0; i < op.links.size(); ++i) {
    const StackLink& link = op.links[i];
    StackLinkLaunch& to = launch.links[i];
    to.product = spike_product_of(link.product,
                                  rows_of<const uint32_t>(link.product.input, link.product.extents.words_per_row()));
    to.pass = arguments_of<float>(link.pass);
    to.model = link.pass.layer->spec().model->dynamics;
    to.follows = i > 0 && link.product.input.data == op.links[i - 1].pass.spikes.data;
    to.keeps_x = link.keeps_x;
  }
  Grid grid = {static_cast<uint32_t>(op.links[0].product.extents.batch), stack_threads};
  grid.shared_bytes = static_cast<uint32_t>(stack_shared_bytes(op.links, &launch));
  launcher.launch(stack_kernel(), grid, launch);
}

Hints hints(const StackBackward&, const GpuShape&) {
  return {};
}

void enqueue(const StackBackward& op, Launcher& launcher) {
  for (const Operation& operation : op.operations) operation.kind().enqueue(operation.data(), launcher);
  enqueue_held_rows(op.weights, launcher);
}

Hints hints(const Readout&, const GpuShape&) {
  return {};
}

void enqueue(const Readout& op, Launcher& launcher) {
  const auto& reduce = *op.operations[0].as<Reduce>();
  ReadoutLaunch launch = {};
  launch.extents = reduce.extents;
  launch.counting = counting_of(reduce.lengths, reduce.n_active);
  launch.mean = reduce.reduction == Reduction::mean;
  launch.spikes = data_of<const uint32_t>(reduce.source);
  launch.pitch = reduce.source.pitch;
  launch.results = data_of<float>(reduce.destination);
  launch.loss = loss_launch_of(*op.operations[1].as<Loss>());
  if (op.operations.size() > 2) {
    const auto& spread = *op.operations[2].as<ReduceBackward>();
    launch.spread_counting = counting_of(spread.lengths, spread.n_active);
    launch.spread_mean = spread.reduction == Reduction::mean;
    launch.add = spread.accumulate;
    launch.from = data_of<const float>(spread.grad_destination);
    launch.to = data_of<float>(spread.grad_source);
    launch.to_pitch = spread.grad_source.pitch;
  }
  launcher.launch(readout_kernel(), {1, static_cast<uint32_t>(loss_block_threads)}, launch);
}

}  // namespace synfire::operations
