// A step on processors.
#include "optimizer.hpp"
#include "optimizer_arithmetic.hpp"
#include "optimizer_host_kernels.hpp"
#include "parameter_arguments.hpp"

#include <backends/host/host_launcher.hpp>
#include <synfire/model/lane_sum.hpp>

#include <algorithm>
#include <atomic>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// Below this many elements of all members the calling thread works alone.
constexpr int64_t optimizer_parallel_threshold = 1 << 16;
constexpr int64_t piece = 4096;

const MemberGradient& member_of(const OptimizerStep& op, int64_t chunk) {
  const auto& gradients = op.optimizer->gradients();
  const auto after = std::upper_bound(gradients.begin(), gradients.end(), chunk,
                                      [](int64_t at, const MemberGradient& g) { return at < g.first_chunk; });
  return *(after - 1);
}
const void* gradient_of(const OptimizerStep& op, const MemberGradient& g) {
  return g.parameter < 0 ? g.data : op.parameters[static_cast<size_t>(g.parameter)].gradient.data;
}

double squares_of_chunk(const OptimizerStep& op, int64_t chunk) {
  const host::OptimizerKernels& kernels = SYNFIRE_SELECT_LEVEL(optimizer_kernels);
  const MemberGradient& g = member_of(op, chunk);
  if (g.factors->frozen != 0) return 0;
  const void* const data = g.accumulated ? g.accumulated : gradient_of(op, g);
  const int64_t first = (chunk - g.first_chunk) * model::reduction_chunk;
  const int64_t count = std::min<int64_t>(g.count - first, model::reduction_chunk);
  return g.is_f64 ? kernels.f64.squares(static_cast<const double*>(data) + first, count)
                  : kernels.f32.squares(static_cast<const float*>(data) + first, count);
}

void accumulate_chunk(const OptimizerStep& op, int64_t chunk, double share, bool is_first) {
  const host::OptimizerKernels& kernels = SYNFIRE_SELECT_LEVEL(optimizer_kernels);
  const MemberGradient& g = member_of(op, chunk);
  const void* const data = gradient_of(op, g);
  const int64_t first = (chunk - g.first_chunk) * model::reduction_chunk;
  const int64_t count = std::min<int64_t>(g.count - first, model::reduction_chunk);
  if (g.is_f64)
    kernels.f64.accumulate(static_cast<const double*>(data) + first, static_cast<double*>(g.accumulated) + first, share,
                           is_first, count);
  else
    kernels.f32.accumulate(static_cast<const float*>(data) + first, static_cast<float*>(g.accumulated) + first,
                           static_cast<float>(share), is_first, count);
}

// Adds the gradients of a batch to their means. Returns false if the step waits for further batches.
bool accumulate(const OptimizerStep& op, const host::Launcher& launcher) {
  OptimizerState& state = *op.optimizer->state();
  const OptimizerRates& rates = op.optimizer->spec().rates;
  const uint64_t batch = batch_of_step(state, rates);
  note_batch(state, batch);  // also if the work below fails: it may have begun
  const double share = divide(1.0, static_cast<double>(rates.batches_per_step));
  launcher.for_each_range(op.optimizer->n_chunks(), wants_threads(op), [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) accumulate_chunk(op, chunk, share, batch == 1);
  });
  return batch == rates.batches_per_step;
}

double squares_of_all(const OptimizerStep& op, const host::Launcher& launcher) {
  const int64_t n_chunks = op.optimizer->n_chunks();
  double* const sums = op.optimizer->chunk_sums();
  launcher.for_each_range(n_chunks, wants_threads(op), [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) sums[chunk] = squares_of_chunk(op, chunk);
  });
  return model::lane_sum(sums, n_chunks);
}

void update_array(const OptimizerStep& op, const MemberArray& array, int64_t count, bool is_f64,
                  const host::Launcher& launcher) {
  if (!array.is_stepped()) return;
  const host::OptimizerKernels& kernels = SYNFIRE_SELECT_LEVEL(optimizer_kernels);
  const OptimizerState& state = *op.optimizer->state();
  const OptimizerRates& rates = op.optimizer->spec().rates;
  launcher.for_each_range((count + piece - 1) / piece, wants_threads(op), [&](int64_t begin, int64_t end) {
    const int64_t first = begin * piece, length = std::min(end * piece, count) - first;
    if (is_f64)
      kernels.f64.step(array, state, rates, first, length);
    else
      kernels.f32.step(array, state, rates, first, length);
  });
}

template <class R>
void update_parameter(const OptimizerStep& op, const ParameterStep& step) {
  const auto a = arguments_of<R>(op, step);
  if (a.factors->frozen != 0) return;
  double next = 0;
  for (int64_t i = 0; i < (a.update.block->per_neuron ? a.update.target.n_neurons : 1); ++i)
    next = step_parameter_of(a, i);
  ParameterMaster& master = *a.update.target.master;
  if (master.rows[a.update.parameter]) return;
  next = shared_parameter_step(a);
  // Another thread may read it meanwhile, and gets the old or the new value.
  std::atomic_ref(master.shared[a.update.parameter]).store(next, std::memory_order_relaxed);
}

}  // namespace

bool wants_threads(const OptimizerStep& op) {
  return op.optimizer->n_elements() >= optimizer_parallel_threshold;
}

void run(const OptimizerStep& op, host::Launcher& launcher) {
  Optimizer& optimizer = *op.optimizer;
  if (optimizer.accumulates() && !accumulate(op, launcher)) return;
  begin_step(*optimizer.state(), next_corrections(*optimizer.state(), optimizer.spec().rates, op.values), op.values,
             squares_of_all(op, launcher), optimizer.largest_norm());
  if (optimizer.state()->takes_step == 0) return;
  for (const OptimizerSynapse& member : optimizer.synapses()) {
    for (size_t i = 0; i < member.arrays.size(); ++i) {
      const SynapseArray& array = member.synapse->arrays()[i];
      update_array(op, member.arrays[i], array.count(), array.dtype == SYNFIRE_DTYPE_F64, launcher);
    }
    for (const Operation& operation : member.derive) operation.kind().run(operation.data(), launcher);
  }
  for (const ParameterStep& step : op.parameters)
    if (optimizer.members()[step.member].dtype == SYNFIRE_DTYPE_F64)
      update_parameter<double>(op, step);
    else
      update_parameter<float>(op, step);
}

}  // namespace synfire::operations
