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

// ---- f32 ------------------------------------------------------------------------------------------------------------

// A maximum or a sum to which threads add in any order.
class Joined {
 public:
  void include(uint32_t value) {
    uint32_t held = largest_.load(std::memory_order_relaxed);
    while (held < value && !largest_.compare_exchange_weak(held, value, std::memory_order_relaxed)) {
    }
  }
  void add(int64_t value, int64_t count = 0) {
    sum_.fetch_add(value, std::memory_order_relaxed);
    count_.fetch_add(count, std::memory_order_relaxed);
  }
  uint32_t largest() const { return largest_; }
  int64_t sum() const { return sum_; }
  int64_t count() const { return count_; }

 private:
  std::atomic<uint32_t> largest_{0};
  std::atomic<int64_t> sum_{0}, count_{0};
};

bool does(const Loss& op, LossEntry entry) {
  return op.entry == LossEntry::all || op.entry == entry;
}

void run_f32(const Loss& op, const LossArguments& a, const LossSums& sums, host::Launcher& launcher) {
  const auto for_each_range = [&](auto f) { launcher.for_each_range(a.n_samples, wants_threads(op), f); };
  if (does(op, LossEntry::share_maxima)) {
    Joined joined;
    if (is_weighted(a))
      for_each_range([&](int64_t begin, int64_t end) { joined.include(largest_share(a, begin, end)); });
    write_largest_share(sums, joined.largest());
  }
  if (does(op, LossEntry::share_sums)) {
    Joined joined;
    const uint32_t largest = largest_of_slots(a, sums);
    for_each_range([&](int64_t begin, int64_t end) {
      const LossShares found = sum_shares(a, largest, begin, end);
      joined.add(found.sum, found.count);
    });
    write_shares(sums, joined.sum(), joined.count());
  }
  if (does(op, LossEntry::samples)) {
    const host::LossKernels& kernels = SYNFIRE_SELECT_LEVEL(loss_kernels);
    const double factor = factor_of(a, divisor_of(a, shares_of_slots(a, sums), all_class_weights(a)));
    Joined joined;
    for_each_range([&](int64_t begin, int64_t end) {
      joined.add(static_cast<int64_t>(kernels.samples(a, {op.source.dtype, factor, begin, end, sums.of_samples})));
      joined.include(largest_loss(sums.of_samples, begin, end));
    });
    *sums.largest = joined.largest();
    sums.losses[1] = joined.sum();
  }
  if (does(op, LossEntry::sums)) {
    Joined joined;
    for_each_range(
        [&](int64_t begin, int64_t end) { joined.add(sum_losses(sums.of_samples, *sums.largest, begin, end)); });
    sums.losses[0] = joined.sum();
  }
  if (does(op, LossEntry::finish)) {
    const LossShares shares = shares_of_slots(a, sums);
    write_results(a, loss_of_terms(sums.losses[0], *sums.largest), divisor_of(a, shares, all_class_weights(a)),
                  static_cast<uint64_t>(sums.losses[1]), static_cast<uint64_t>(shares.count));
  }
}

void run_f32(const Loss& op, host::Launcher& launcher) {
  const LossArguments a = arguments_of(op);
  if (op.entry != LossEntry::all || op.scratch) return run_f32(op, a, a.sums, launcher);
  alignas(int64_t) char memory[loss_integers_bytes(1) + model::reduction_chunk * sizeof(float)];
  run_f32(op, a, loss_sums(memory, 1), launcher);
}

// ---- f64 ------------------------------------------------------------------------------------------------------------

void run_f64(const Loss& op, host::Launcher& launcher) {
  const LossArguments a = arguments_of(op);
  const bool share = wants_threads(op);
  const int64_t n_chunks = loss_chunks(a.n_samples);
  double one_weight = 0, one_count = 0, one_sum = 0;
  double own_losses[model::reduction_chunk];
  const bool small = !op.scratch;
  double* const weights = small ? &one_weight : a.scratch.weights;
  double* const counts = small ? &one_count : a.scratch.counts;
  double* const sums = small ? &one_sum : a.scratch.sums;
  double* const losses = small ? own_losses : static_cast<double*>(a.scratch.losses);

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
    run_f64(op, launcher);
  else
    run_f32(op, launcher);
}

}  // namespace synfire::operations
