#include "dropout.hpp"
#include "dropout_host_kernels.hpp"
#include "mask.hpp"

#include <backends/host/host_launcher.hpp>
#include <operations/encode/offset.hpp>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// Below this many neurons the calling thread works alone.
constexpr int64_t dropout_parallel_threshold = 1 << 18;

void write_scale(const View& scale, double value) {
  if (scale.dtype == SYNFIRE_DTYPE_F64)
    *static_cast<double*>(scale.data) = value;
  else
    *static_cast<float*>(scale.data) = static_cast<float>(value);
}

}  // namespace

bool wants_threads(const Dropout& op) {
  return op.extents.row() >= dropout_parallel_threshold;
}

void run(const Dropout& op, host::Launcher& launcher) {
  const host::DropoutKernels& kernels = SYNFIRE_SELECT_LEVEL(dropout_kernels);
  const Extents& e = op.extents;
  const double probability = op.probability_value ? *op.probability_value : op.probability;
  const uint64_t seed = op.seed_value ? *op.seed_value : op.seed;
  const uint64_t offset = op.offset_value ? current_offset(op.offset_value.set, op.offset_value.state) : op.offset;
  const uint32_t below = dropped_below(probability);
  const int64_t n_words = e.words_per_row();
  auto* const mask = static_cast<uint32_t*>(op.mask.data);
  launcher.for_each_range(e.batch * n_words, wants_threads(op), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t word = i % n_words;
      mask[i] = kernels.kept(seed, offset, op.first_row + static_cast<uint32_t>(i / n_words), word, below) &
                bits_in_use(word, e.n_neurons);
    }
  });
  write_scale(op.scale, scale_of_kept(probability));
  if (op.offset_value) advance_offset(op.offset_value.set, op.offset_value.state, 1);
}

}  // namespace synfire::operations
