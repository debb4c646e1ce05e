#include "rate_loss.hpp"
#include "rate_loss_counts.hpp"
#include "rates.hpp"

#include <backends/host/host_launcher.hpp>
#include <base/dtype.hpp>
#include <operations/reduce/reduce.hpp>
#include <operations/reduce/reduce_host_kernels.hpp>
#include <operations/spikes/blocks.hpp>
#include <operations/spikes/spikes_arrays_of.hpp>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

namespace synfire::operations {

using namespace synfire::core;
using host::Launcher;

u64 counted_steps(const Counting& counting, const Extents& e) {
  const int64_t n_rows = counting.rows(e.batch);
  if (!counting.lengths) return static_cast<u64>(n_rows * e.n_steps);
  u64 steps = 0;
  for (int64_t b = 0; b < n_rows; ++b) steps += static_cast<u64>(counting.steps(e.n_steps, b));
  return steps;
}

// Blocks of 32 neurons of a batch row. Rows are shared among threads.
void add_counts(const Extents& extents, const Counting& counting, const View& source, uint64_t* counts, bool share,
                const Launcher& launcher) {
  const Blocks blocks(extents);
  const SpikeArray spikes = spikes_of(source);
  const SpikeStorage storage = storage_of(source.dtype);
  launcher.for_each_range(
      counting.rows(extents.batch) * extents.words_per_row(), share, [&](int64_t begin, int64_t end) {
        for (int64_t column = begin; column < end; ++column) {
          uint64_t sums[32] = {};
          const int64_t n_steps = counting.steps(extents.n_steps, column / extents.words_per_row());
          for (int64_t group = 0; group * 32 < n_steps; ++group) {
            const Block block = read(storage, spikes, extents, blocks.at(group, column));
            const uint32_t mask = lowest(static_cast<int>(std::min<int64_t>(32, n_steps - group * 32)));
            for (int i = 0; i < 32; ++i) sums[i] += static_cast<uint64_t>(std::popcount(block.words[i] & mask));
          }
          const Place at = blocks.at(0, column);
          for (int i = 0; i < at.neurons; ++i)
            if (sums[i] != 0) std::atomic_ref(counts[at.neuron + i]).fetch_add(sums[i], std::memory_order_relaxed);
        }
      });
}

namespace {

// Below this many spikes the calling thread works alone.
constexpr int64_t rate_loss_parallel_threshold = 1 << 18;

// The sum of the squared deviations, in the order of model/reduction.hpp.
double sum_squares(const RateLoss& op, const Rates& rates, const Launcher& launcher) {
  const auto* const counts = static_cast<const uint64_t*>(op.counts.data);
  const RateWork work(op.work.data, rates.n_neurons);
  const int64_t n_chunks = RateWork::n_chunks(rates.n_neurons);
  launcher.for_each_range(n_chunks, wants_threads(op), [&](int64_t begin, int64_t end) {
    for (int64_t chunk = begin; chunk < end; ++chunk) {
      LaneSquares squares;
      const int64_t first = chunk * model::reduction_chunk,
                    last = std::min<int64_t>(first + model::reduction_chunk, rates.n_neurons);
      for (int64_t n = first; n < last; ++n) squares.add(n, rates.deviation(counts[n], 0));
      work.squares[chunk] = squares.sum();
    }
  });
  return n_chunks == 1 ? work.squares[0] : model::lane_sum(work.squares, n_chunks);
}

template <class R>
void store_loss(const RateLoss& op, double loss) {
  R& to = *static_cast<R*>(op.loss.data);
  to = static_cast<R>(op.add_loss ? static_cast<double>(to) + loss : loss);
}

// Writes up to 256 neighbouring neurons in every step and batch row.
template <class R>
void spread(const RateLoss& op, const Rates& rates, u64 total, const Launcher& launcher) {
  constexpr int64_t width = 256;
  const Extents& e = op.extents;
  const Counting counting = counting_of(op.lengths, op.n_active);
  const host::ReduceKernels& kernels = SYNFIRE_SELECT_LEVEL(reduce_kernels);
  const auto* const counts = static_cast<const uint64_t*>(op.counts.data);
  const auto element = static_cast<int64_t>(bytes_of_dtype(op.grad.dtype));
  const int64_t per_row = (e.n_neurons + width - 1) / width, n_rows = counting.rows(e.batch);
  // Tiles are within a group of 32 steps, so that gradients are computed once for many rows.
  const int64_t n_groups = (e.n_steps + 31) / 32;
  launcher.for_each_range(n_groups * per_row, wants_threads(op), [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      const int64_t neuron = index % per_row * width, columns = std::min(width, e.n_neurons - neuron);
      R gradients[width];
      for (int64_t i = 0; i < columns; ++i)
        gradients[i] = rates.counted == 0 ? R(0) : static_cast<R>(rates.gradient(counts[neuron + i], total));
      const int64_t first = index / per_row * 32, last = std::min(first + 32, e.n_steps);
      for (int64_t t = first; t < last; ++t)
        for (int64_t b = 0; b < e.batch; ++b) {
          char* const to = static_cast<char*>(op.grad.data) + (t * op.grad.pitch + b * e.n_neurons + neuron) * element;
          if (b < n_rows && counting.counts(t, b))
            kernels.spread({gradients, to, op.grad.dtype, sizeof(R) == 8, op.add_grad, 0, columns});
          else if (!op.add_grad)
            std::memset(to, 0, static_cast<size_t>(columns * element));
        }
    }
  });
}

}  // namespace

bool wants_threads(const RateLoss& op) {
  return op.extents.n_steps * op.extents.row() >= rate_loss_parallel_threshold;
}

void run(const RateLoss& op, Launcher& launcher) {
  const Extents& e = op.extents;
  auto* const counts = static_cast<uint64_t*>(op.counts.data);
  if (does(op.entry, SumEntry::sums)) {
    const Counting counting = counting_of(op.lengths, op.n_active);
    std::fill_n(counts, e.n_neurons, uint64_t{0});
    add_counts(e, counting, op.spikes, counts, wants_threads(op), launcher);
    if (op.entry == SumEntry::sums) counts[e.n_neurons] = counted_steps(counting, e);
  }
  if (!does(op.entry, SumEntry::finish)) return;
  const Rates rates = {
      op.target_value ? *op.target_value : op.target, op.strength_value ? *op.strength_value : op.strength, e.n_neurons,
      op.entry == SumEntry::finish ? counts[e.n_neurons] : counted_steps(counting_of(op.lengths, op.n_active), e),
      op.whole_layer};
  u64 total = 0;
  if (op.whole_layer)
    for (int64_t n = 0; n < e.n_neurons; ++n) total += static_cast<const uint64_t*>(op.counts.data)[n];
  if (op.loss) {
    const double loss = rates.loss(op.whole_layer || rates.counted == 0 ? 0 : sum_squares(op, rates, launcher), total);
    if (op.loss.dtype == SYNFIRE_DTYPE_F64)
      store_loss<double>(op, loss);
    else
      store_loss<float>(op, loss);
  }
  if (!op.grad) return;
  if (op.grad.dtype == SYNFIRE_DTYPE_F64)
    spread<double>(op, rates, total, launcher);
  else
    spread<float>(op, rates, total, launcher);
}

}  // namespace synfire::operations
