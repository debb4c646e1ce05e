// Spikes go through square blocks of 32 steps by 32 neurons, held time-packed: one word a neuron, bit t is the block's
// step t. Every format is read into such a block and written from one.
#include "spike_rows.hpp"

#include <core/operation_arguments.hpp>

#include <algorithm>
#include <bit>

namespace synfire::host {
namespace {

using namespace synfire::core;

// Spikes below which the calling thread works alone: a block takes a few hundred nanoseconds.
constexpr int64_t parallel_threshold = 1 << 21;

struct Block {
  uint32_t words[32];
};

// Where a block is, and how much of it exists.
struct Place {
  int64_t step, row, neuron;  // the first ones; row is a batch row
  int steps, neurons;
};

// The blocks of [T, B, N], neurons first, then batch rows, then steps.
class Blocks {
 public:
  explicit Blocks(const Extents& extents)
      : extents_(extents), per_row_(extents.words_per_row()), columns_(extents.batch * per_row_) {}

  int64_t columns() const { return columns_; }  // blocks of the same steps
  int64_t layers() const { return (extents_.n_steps + 31) / 32; }
  Place at(int64_t layer, int64_t column) const {
    const int64_t step = layer * 32, neuron = column % per_row_ * 32;
    return {step, column / per_row_, neuron, static_cast<int>(std::min<int64_t>(32, extents_.n_steps - step)),
            static_cast<int>(std::min<int64_t>(32, extents_.n_neurons - neuron))};
  }

 private:
  const Extents& extents_;
  int64_t per_row_, columns_;
};

// Calls f(begin, end) for ranges that cover [0, count), in parallel when that is worth it.
template <class F>
void for_each_range(int64_t count, bool parallel, const Parallel& threads, F f) {
  const bool alone = !parallel || threads.n_threads() == 1;
  const int64_t n = alone ? 1 : std::min<int64_t>(count, int64_t{4} * threads.n_threads());
  auto range = [&](int64_t index) { f(count * index / n, count * (index + 1) / n); };
  threads.for_each_block(n, range);
}

// Bit j of word i goes to bit i of word j: ever smaller squares off the diagonal change places.
void transpose(Block& block) {
  uint32_t mask = 0x0000FFFF;
  for (uint32_t half = 16; half > 0; half /= 2, mask ^= mask << half)
    for (uint32_t i = 0; i < 32; ++i)
      if ((i & half) == 0) {
        const uint32_t exchanged = ((block.words[i] >> half) ^ block.words[i + half]) & mask;
        block.words[i] ^= exchanged << half;
        block.words[i + half] ^= exchanged;
      }
}

template <class E>
E* dense_row(const SpikeArray& spikes, const Extents& e, const Place& at, int step) {
  return static_cast<E*>(spikes.data) + (at.step + step) * spikes.pitch + at.row * e.n_neurons + at.neuron;
}
uint32_t* bits_word(const SpikeArray& spikes, const Extents& e, const Place& at, int step) {
  return static_cast<uint32_t*>(spikes.data) + (at.step + step) * spikes.pitch + at.row * e.words_per_row() +
         at.neuron / 32;
}
uint32_t* time_words(const SpikeArray& spikes, const Extents& e, const Place& at) {
  return static_cast<uint32_t*>(spikes.data) + at.step / 32 * spikes.pitch + at.row * e.n_neurons + at.neuron;
}

constexpr uint32_t lowest(int count) {
  return count == 32 ? ~uint32_t{0} : (uint32_t{1} << count) - 1;
}

template <class E>
void read_dense(Block& block, const SpikeArray& spikes, const Extents& e, const Place& at) {
  const auto magnitude = static_cast<E>(spikes.magnitude);
  for (int t = 0; t < at.steps; ++t) {
    const E* const row = dense_row<const E>(spikes, e, at, t);
    for (int i = 0; i < at.neurons; ++i) block.words[i] |= static_cast<uint32_t>((row[i] & magnitude) != 0) << t;
  }
}
template <class E>
void write_dense(const Block& block, const SpikeArray& spikes, const Extents& e, const Place& at) {
  const auto one = static_cast<E>(spikes.one);
  for (int t = 0; t < at.steps; ++t) {
    E* const row = dense_row<E>(spikes, e, at, t);
    for (int i = 0; i < at.neurons; ++i) row[i] = (block.words[i] >> t & 1u) != 0 ? one : E{0};
  }
}

// Words of neurons from N on, and bits of steps from T on, are zero.
Block read(SpikeStorage storage, const SpikeArray& spikes, const Extents& e, const Place& at) {
  Block block = {};
  switch (storage) {
    case SpikeStorage::bytes1:
      read_dense<uint8_t>(block, spikes, e, at);
      break;
    case SpikeStorage::bytes2:
      read_dense<uint16_t>(block, spikes, e, at);
      break;
    case SpikeStorage::bytes4:
      read_dense<uint32_t>(block, spikes, e, at);
      break;
    case SpikeStorage::bytes8:
      read_dense<uint64_t>(block, spikes, e, at);
      break;
    case SpikeStorage::bits:
      for (int t = 0; t < at.steps; ++t) block.words[t] = *bits_word(spikes, e, at, t) & lowest(at.neurons);
      transpose(block);
      break;
    case SpikeStorage::time_bits:
      for (int i = 0; i < at.neurons; ++i) block.words[i] = time_words(spikes, e, at)[i] & lowest(at.steps);
      break;
  }
  return block;
}

void write(Block& block, SpikeStorage storage, const SpikeArray& spikes, const Extents& e, const Place& at) {
  switch (storage) {
    case SpikeStorage::bytes1:
      return write_dense<uint8_t>(block, spikes, e, at);
    case SpikeStorage::bytes2:
      return write_dense<uint16_t>(block, spikes, e, at);
    case SpikeStorage::bytes4:
      return write_dense<uint32_t>(block, spikes, e, at);
    case SpikeStorage::bytes8:
      return write_dense<uint64_t>(block, spikes, e, at);
    case SpikeStorage::bits:
      transpose(block);
      for (int t = 0; t < at.steps; ++t) *bits_word(spikes, e, at, t) = block.words[t];
      return;
    case SpikeStorage::time_bits:
      std::copy_n(block.words, at.neurons, time_words(spikes, e, at));
      return;
  }
}

// ---- counts ---------------------------------------------------------------------------------------------------------

// Columns of blocks, from the first step to the last: no two threads count the same neuron.
template <class C>
void count_neurons(const CountSpikesOperation& op, const SpikeArray& spikes, SpikeStorage storage,
                   const Parallel& threads) {
  const Blocks blocks(op.extents);
  for_each_range(blocks.columns(), wants_threads(op), threads, [&](int64_t begin, int64_t end) {
    for (int64_t column = begin; column < end; ++column) {
      C sums[32] = {};
      for (int64_t layer = 0; layer < blocks.layers(); ++layer) {
        const Block block = read(storage, spikes, op.extents, blocks.at(layer, column));
        for (int i = 0; i < 32; ++i) sums[i] += static_cast<C>(std::popcount(block.words[i]));
      }
      const Place at = blocks.at(0, column);
      std::copy_n(sums, at.neurons, row_of<C>(op.counts) + at.row * op.extents.n_neurons + at.neuron);
    }
  });
}

// Ranges of all blocks: several threads may add to the same count.
template <class C>
void count_steps(const CountSpikesOperation& op, const SpikeArray& spikes, SpikeStorage storage,
                 const Parallel& threads) {
  const Blocks blocks(op.extents);
  C* const counts = row_of<C>(op.counts);
  const bool total = op.kind == CountKind::total;
  std::fill_n(counts, total ? 1 : op.extents.n_steps, C{0});
  for_each_range(blocks.layers() * blocks.columns(), wants_threads(op), threads, [&](int64_t begin, int64_t end) {
    while (begin < end) {
      const int64_t layer = begin / blocks.columns(), next = std::min(end, (layer + 1) * blocks.columns());
      C sums[32] = {};
      for (; begin < next; ++begin) {
        Block block = read(storage, spikes, op.extents, blocks.at(layer, begin % blocks.columns()));
        if (!total) transpose(block);
        for (int t = 0; t < 32; ++t) sums[t] += static_cast<C>(std::popcount(block.words[t]));
      }
      const int steps = blocks.at(layer, 0).steps;
      for (int i = 0; i < 32; ++i)
        if (sums[i] != 0 && (total || i < steps))
          __atomic_fetch_add(&counts[total ? 0 : layer * 32 + i], sums[i], __ATOMIC_RELAXED);
    }
  });
}

template <class C>
void count(const CountSpikesOperation& op, const Parallel& threads) {
  const SpikeArray spikes = spikes_of(op.spikes);
  const SpikeStorage storage = storage_of(op.spikes.dtype);
  if (op.kind == CountKind::per_neuron)
    count_neurons<C>(op, spikes, storage, threads);
  else
    count_steps<C>(op, spikes, storage, threads);
}

}  // namespace

bool wants_threads(const ConvertSpikesOperation& op) {
  return op.extents.n_steps * op.extents.row() >= parallel_threshold;
}
bool wants_threads(const CountSpikesOperation& op) {
  return op.extents.n_steps * op.extents.row() >= parallel_threshold;
}

void convert_spikes(const ConvertSpikesOperation& op, const Parallel& threads) {
  const Blocks blocks(op.extents);
  const SpikeArray source = spikes_of(op.source), destination = spikes_of(op.destination);
  const SpikeStorage from = storage_of(op.source.dtype), to = storage_of(op.destination.dtype);
  for_each_range(blocks.layers() * blocks.columns(), wants_threads(op), threads, [&](int64_t begin, int64_t end) {
    for (int64_t index = begin; index < end; ++index) {
      const Place at = blocks.at(index / blocks.columns(), index % blocks.columns());
      Block block = read(from, source, op.extents, at);
      write(block, to, destination, op.extents, at);
    }
  });
}

void count_spikes(const CountSpikesOperation& op, const Parallel& threads) {
  if (op.counts.dtype == SYNFIRE_DTYPE_U64)
    count<uint64_t>(op, threads);
  else
    count<uint32_t>(op, threads);
}

}  // namespace synfire::host
