#include "shuffle.hpp"

#include <backends/host/host_launcher.hpp>
#include <operations/encode/offset.hpp>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// Below this many indices the calling thread works alone.
constexpr uint32_t shuffle_parallel_threshold = 1 << 13;

struct Keys {
  uint32_t word[shuffle_rounds];
};
Keys keys_of(uint64_t seed, uint64_t epoch) {
  Keys keys;
  for (uint32_t i = 0; i < shuffle_rounds / 4; ++i) {
    const Words4 four = shuffle_keys(seed, epoch, i);
    for (uint32_t k = 0; k < 4; ++k) keys.word[4 * i + k] = four.word[k];
  }
  return keys;
}

}  // namespace

bool wants_threads(const Shuffle& op) {
  return op.rules.batch >= shuffle_parallel_threshold;
}

void run(const Shuffle& op, host::Launcher& launcher) {
  const uint64_t seed = op.seed_value ? *op.seed_value : op.seed;
  const uint64_t offset = op.offset_value ? current_offset(op.offset_value.set, op.offset_value.state) : op.offset;
  const BatchPlace place = batch_place(op.rules, offset);
  const Keys keys = keys_of(seed, place.epoch);
  auto* const indices = static_cast<uint32_t*>(op.indices.data);
  launcher.for_each_range(op.rules.batch, wants_threads(op), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      indices[i] = batch_index(op.rules, place, keys.word, static_cast<uint32_t>(i));
  });
  if (op.n_active) *static_cast<uint32_t*>(op.n_active.data) = place.n_active;
  if (op.offset_value) advance_offset(op.offset_value.set, op.offset_value.state, 1);
}

}  // namespace synfire::operations
