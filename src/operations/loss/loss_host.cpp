#include "loss_arguments_of.hpp"
#include "loss_arithmetic.hpp"
#include "loss_host_kernels.hpp"
#include "sums.hpp"

#include <backends/host/host_launcher.hpp>

#include <atomic>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// Below this many classes of all samples the calling thread works alone.
constexpr int64_t loss_parallel_threshold = 1 << 16;

template <class R>
void run_as(const Loss& op, host::Launcher& launcher) {
  const LossArguments a = arguments_of(op);
  const bool share = wants_threads(op);
  const int64_t n_chunks = loss_chunks(a.n_samples);
  double one_weight = 0, one_count = 0, one_sum = 0;
  R own_losses[model::reduction_chunk];
  const bool small = !op.scratch;
  double* const weights = small ? &one_weight : a.scratch.weights;
  double* const counts = small ? &one_count : a.scratch.counts;
  double* const sums = small ? &one_sum : a.scratch.sums;
  R* const losses = small ? own_losses : static_cast<R*>(a.scratch.losses);

  launcher.for_each_range(n_chunks, share, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) weigh_chunk(a, chunk, weights[chunk], counts[chunk]);
  });
  const double count = model::lane_sum(counts, n_chunks);
  const double divisor = divisor_of(a, model::lane_sum(weights, n_chunks), count, all_class_weights(a));

  const host::LossKernels& kernels = SYNFIRE_SELECT_LEVEL(loss_kernels);
  std::atomic<uint64_t> n_correct{0};
  launcher.for_each_range(a.n_samples, share, [&](int64_t begin, int64_t end) {
    const host::LossRange range = {op.source.dtype, factor_of(a, divisor), begin, end, losses};
    n_correct.fetch_add(kernels.samples(a, range), std::memory_order_relaxed);
  });

  launcher.for_each_range(n_chunks, share, [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) sums[chunk] = sum_chunk(a, losses, chunk);
  });
  write_results(a, model::lane_sum(sums, n_chunks), divisor, n_correct, static_cast<uint64_t>(count));
}

}  // namespace

bool wants_threads(const Loss& op) {
  return op.extents.n_steps * op.extents.row() >= loss_parallel_threshold;
}

void run(const Loss& op, host::Launcher& launcher) {
  if (is_f64(op))
    run_as<double>(op, launcher);
  else
    run_as<float>(op, launcher);
}

}  // namespace synfire::operations
