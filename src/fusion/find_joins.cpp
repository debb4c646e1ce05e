#include "find_joins.hpp"

#include "stack_shared_memory.hpp"

#include <backends/cuda/hints.hpp>
#include <graph/operands.hpp>
#include <neurons/layer.hpp>
#include <neurons/passes/backward.hpp>
#include <synapses/dense/few_rows.hpp>

#include <algorithm>
#include <numeric>
#include <optional>

namespace synfire::operations {

using namespace synfire::core;
using cuda::GpuShape;

namespace {

// Compute capability 8.6 has 99 KiB for a block, 9.0 and up twice as much. Planes that do not fit are better shared by
// the rows of many steps and batch rows, in launches of their own.
int64_t most_shared_bytes(const GpuShape& gpu) {
  return int64_t{gpu.compute_major >= 9 ? 160 : 96} * 1024;
}
// A block walks alone through all steps of its batch row, in less time than two launches take for that many. Few batch
// rows over more steps take less time apart (docs/pages/tuning.md, "Measured constants").
constexpr int64_t most_steps = 32, most_steps_of_few_rows = 16, few_rows = 7;
// Lets every block begin at once, or soon after others.
constexpr int64_t rows_of_a_multiprocessor = 2;

bool has_tensor_cores(const GpuShape& gpu) {
  return gpu.compute_major >= 8 && gpu.code_version >= 80;
}

bool on_device(const View& view) {
  return !view.data || view.memory == SYNFIRE_MEMORY_DEVICE;
}

bool takes(const DenseProduct& op, const GpuShape& gpu) {
  const Extents& e = op.extents;
  return op.synapse->spec().is_exact() && op.synapse->spec().n_outputs <= cuda::most_stack_neurons &&
         op.input.dtype == SYNFIRE_DTYPE_BITS && on_device(op.input) && on_device(op.output) &&
         op.output.dtype == SYNFIRE_DTYPE_F32 && !op.kept.mask &&
         e.n_steps <= (e.batch > few_rows ? most_steps : most_steps_of_few_rows) &&
         e.batch <= rows_of_a_multiprocessor * gpu.n_multiprocessors;
}

// Rows of the state in shared memory have V and W.
bool takes(const Forward& op) {
  const LayerSpec& spec = op.layer->spec();
  return !spec.loaded_model && !spec.is_ruled() && spec.model->n_states <= 2 && spec.dtype == SYNFIRE_DTYPE_F32 &&
         spec.threads_per_block == 0 &&
         (op.spike_format == SpikeFormat::none || op.spike_format == SpikeFormat::bits) && !op.h_seq && !op.w_seq[0] &&
         !op.tape_h && !op.tape_spikes && (!op.v_seq || op.v_seq.dtype == SYNFIRE_DTYPE_F32);
}

// The product at an entry and the pass after it that reads its output.
const Forward* pass_behind(std::span<const Operation> entries, size_t at, const GpuShape& gpu) {
  if (at + 1 >= entries.size()) return nullptr;
  const auto* const product = entries[at].as<DenseProduct>();
  const auto* const pass = entries[at + 1].as<Forward>();
  if (!product || !pass || !takes(*product, gpu) || !takes(*pass)) return nullptr;
  const Extents &of_product = product->extents, &of_pass = pass->layer->spec().extents;
  const bool fits = pass->x.data == product->output.data && pass->x.pitch == product->output.pitch &&
                    of_pass.n_steps == of_product.n_steps && of_pass.batch == of_product.batch &&
                    of_pass.n_neurons == product->synapse->spec().n_outputs;
  return fits ? pass : nullptr;
}

// Blocks are not ordered: what one operation writes, another must neither read nor write, unless may(a, b) says that
// each batch row has its own. X that stays in shared memory is not written.
template <class May>
bool conflict(const Operation& a, const Operation& b, May may) {
  bool found = false;
  for_each_operand(a, [&](const Operand<const View>& of_a) {
    for_each_operand(b, [&](const Operand<const View>& of_b) {
      if (!of_a.is_written() && !of_b.is_written()) return;
      if (overlaps(of_a.view.data, of_a.view.bytes, of_b.view.data, of_b.view.bytes) && !may(of_a, of_b)) found = true;
    });
  });
  return found;
}

bool is_sound(const StackLink& link) {
  return !conflict(link.product, link.pass, [&](const auto& written, const auto& read) {
    return !read.is_written() && written.view.data == link.product.output.data && read.view.data == link.pass.x.data;
  });
}

// True if the input of a link is exactly what the pass of another one writes.
bool follows(const StackLink& next, const StackLink& before) {
  const View &input = next.product.input, &spikes = before.pass.spikes;
  return before.pass.spike_format == SpikeFormat::bits && input.data == spikes.data && input.pitch == spikes.pitch &&
         next.product.extents.words_per_row() == before.pass.layer->spec().extents.words_per_row();
}

bool may_follow(const StackLink& next, const StackLink& before) {
  const auto never = [](const auto&, const auto&) { return false; };
  const auto of_the_row = [&](const auto& written, const auto& read) {
    return !read.is_written() && written.view.data == before.pass.spikes.data &&
           read.view.data == next.product.input.data && follows(next, before);
  };
  return !conflict(before.product, next.product, never) && !conflict(before.product, next.pass, never) &&
         !conflict(before.pass, next.pass, never) && !conflict(before.pass, next.product, of_the_row);
}

bool may_follow(const StackLink& next, const Stack& stack) {
  const Extents &e = next.product.extents, &of_stack = stack.links[0].product.extents;
  if (stack.links.size() == cuda::most_stack_links || e.n_steps != of_stack.n_steps || e.batch != of_stack.batch)
    return false;
  for (const StackLink& before : stack.links)
    if (!may_follow(next, before)) return false;
  return true;
}

// The number of operands of a list that use each transient array.
class TransientUses {
 public:
  explicit TransientUses(std::span<const Operation> entries) {
    for_each_operand(entries, [&](const Operand<const View>& operand) {
      const auto number = static_cast<size_t>(operand.view.transient);
      if (number >= n_uses_.size()) n_uses_.resize(number + 1);
      ++n_uses_[number];
    });
  }
  // False if the link alone writes and reads its X, which need not be in memory then.
  bool keeps_x(const StackLink& link) const {
    const auto number = static_cast<size_t>(link.pass.x.transient);
    return number == 0 || n_uses_[number] != 2;
  }

 private:
  std::vector<uint32_t> n_uses_ = {0};
};

// The following are functions of their own, so that their copies of operations are not on the stack at the same time.

// The longest stack that begins at an entry; none if its first layer does not fit.
[[gnu::noinline]] Stack stack_at(std::span<const Operation> entries, size_t first, const TransientUses& uses,
                                 const GpuShape& gpu) {
  Stack stack;
  for (size_t at = first; const Forward* const pass = pass_behind(entries, at, gpu); at += 2) {
    StackLink link = {*entries[at].as<DenseProduct>(), *pass, true};
    link.keeps_x = uses.keeps_x(link);
    if (!is_sound(link) || (!stack.links.empty() && !may_follow(link, stack))) break;
    stack.links.push_back(link);
    if (stack_shared_bytes(stack.links) <= most_shared_bytes(gpu)) continue;
    stack.links.pop_back();
    break;
  }
  return stack;
}

// ---- backward -------------------------------------------------------------------------------------------------------

// Passes and gradients of synapses, one after the other, however they were recorded. Nothing in the run waits for its
// gradients of weights, which may come last therefore.
struct GradientRun {
  size_t end;                   // of its entries
  std::vector<size_t> weights;  // entries
};

bool is_held(const Operation& entry, const GpuShape& gpu) {
  const auto* const weights = entry.as<DenseWeightGradient>();
  return weights && weights->input.dtype == SYNFIRE_DTYPE_BITS && has_held_rows(*weights, gpu);
}

// The longest run that begins at an entry.
GradientRun gradient_run_at(std::span<const Operation> entries, size_t first, const GpuShape& gpu) {
  GradientRun run = {first, {}};
  for (; run.end < entries.size(); ++run.end) {
    const Operation& entry = entries[run.end];
    const bool held = is_held(entry, gpu), is_full = run.weights.size() == cuda::most_held_gradients;
    if (!held && !entry.as<DenseInputGradient>() && !entry.as<Backward>()) break;
    if (is_full && !entry.as<DenseInputGradient>()) break;
    const auto conflicts = [&](size_t weights) {
      return conflict(entries[weights], entry, [](const auto&, const auto&) { return false; });
    };
    if (std::any_of(run.weights.begin(), run.weights.end(), conflicts)) break;
    if (held) run.weights.push_back(run.end);
  }
  return run;
}

// The joined operation of a run. Gradients over few rows need no scratch memory.
[[gnu::noinline]] Join joined(std::span<const Operation> entries, size_t first, const GradientRun& run) {
  StackBackward stack;
  std::vector<uint32_t> order;
  std::vector<int32_t> left_out;
  const auto last = static_cast<uint32_t>(run.end - first - run.weights.size());
  for (size_t at = first; at < run.end; ++at) {
    if (!std::binary_search(run.weights.begin(), run.weights.end(), at)) {
      order.push_back(static_cast<uint32_t>(stack.operations.size()));
      stack.operations.push_back(entries[at]);
      continue;
    }
    order.push_back(last);
    stack.weights.push_back(*entries[at].as<DenseWeightGradient>());
    for_each_operand(entries[at], [&](const Operand<const View>& operand) {
      if (operand.is_scratch()) left_out.push_back(operand.view.transient);
    });
  }
  std::sort(left_out.begin(), left_out.end());
  return {first, order.size(), Operation(std::move(stack)), std::move(order), std::move(left_out)};
}

[[gnu::noinline]] Join joined(Stack&& stack, size_t at) {
  std::vector<int32_t> left_out;
  for (const StackLink& link : stack.links)
    if (!link.keeps_x) left_out.push_back(link.pass.x.transient);
  std::sort(left_out.begin(), left_out.end());
  const size_t count = 2 * stack.links.size();
  return {at, count, Operation(std::move(stack)), std::vector<uint32_t>(count), std::move(left_out)};
}

// ---- readouts -------------------------------------------------------------------------------------------------------

// More spikes are better counted by many blocks.
constexpr int64_t most_readout_spikes = 8192;

bool over_steps(Reduction reduction, Axis axis) {
  return axis == Axis::steps && (reduction == Reduction::sum || reduction == Reduction::mean);
}

// A block orders its threads, so its parts may read what earlier ones have written.
[[gnu::noinline]] std::optional<Readout> readout_at(std::span<const Operation> entries, size_t at) {
  const auto* const reduce = entries[at].as<Reduce>();
  const auto* const loss = at + 1 < entries.size() ? entries[at + 1].as<Loss>() : nullptr;
  if (!reduce || !loss || !over_steps(reduce->reduction, reduce->axis) || reduce->partials.bytes > 0 ||
      reduce->source.dtype != SYNFIRE_DTYPE_BITS || reduce->destination.dtype != SYNFIRE_DTYPE_F32 ||
      reduce->extents.n_steps * reduce->extents.row() > most_readout_spikes || loss->scratch.bytes > 0 ||
      loss->entry != LossEntry::all || loss->source.dtype != SYNFIRE_DTYPE_F32)
    return std::nullopt;
  Readout readout = {{*reduce, *loss}};
  const auto* const spread = at + 2 < entries.size() ? entries[at + 2].as<ReduceBackward>() : nullptr;
  const core::Extents& e = reduce->extents;
  if (spread && over_steps(spread->reduction, spread->axis) && spread->grad_destination.dtype == SYNFIRE_DTYPE_F32 &&
      spread->grad_source.dtype == SYNFIRE_DTYPE_F32 && spread->extents.n_steps == e.n_steps &&
      spread->extents.batch == e.batch && spread->extents.n_neurons == e.n_neurons)
    readout.operations.emplace_back(*spread);
  return readout;
}

}  // namespace

std::vector<Join> find_joins(std::span<const Operation> entries, const cuda::GpuShape& gpu) {
  std::vector<Join> joins;
  if (!has_tensor_cores(gpu)) return joins;
  const TransientUses uses(entries);
  size_t at = 0;
  while (at < entries.size()) {
    if (Stack stack = stack_at(entries, at, uses, gpu); !stack.links.empty()) {
      joins.push_back(joined(std::move(stack), at));
    } else if (std::optional<Readout> readout = readout_at(entries, at)) {
      const size_t count = readout->operations.size();
      std::vector<uint32_t> order(count);
      std::iota(order.begin(), order.end(), 0);
      joins.push_back({at, count, Operation(*std::move(readout)), std::move(order), {}});
    } else {
      const GradientRun run = gradient_run_at(entries, at, gpu);
      if (run.weights.size() < 2) {
        // A run that begins later has as few, unless it leaves out what conflicts with the only gradient.
        at = run.weights.empty() ? std::max(run.end, at + 1) : run.weights.front() + 1;
        continue;
      }
      joins.push_back(joined(entries, at, run));
    }
    at += joins.back().count;
  }
  return joins;
}

}  // namespace synfire::operations
