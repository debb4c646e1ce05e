// Spikes on the host are processed in blocks of 32 steps by 32 neurons, time-packed: one word per neuron, bit t is step
// t of the block. Every format is read into such a block and written from one.
#ifndef SYNFIRE_OPERATIONS_SPIKES_BLOCKS_HPP
#define SYNFIRE_OPERATIONS_SPIKES_BLOCKS_HPP

#include "spikes_arrays.hpp"

#include <base/extents.hpp>

#include <algorithm>

namespace synfire::operations {

using core::Extents;

struct Block {
  uint32_t words[32];
};

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
  int64_t step_groups() const { return (extents_.n_steps + 31) / 32; }
  Place at(int64_t group, int64_t column) const {
    const int64_t step = group * 32, neuron = column % per_row_ * 32;
    return {step, column / per_row_, neuron, static_cast<int>(std::min<int64_t>(32, extents_.n_steps - step)),
            static_cast<int>(std::min<int64_t>(32, extents_.n_neurons - neuron))};
  }

 private:
  const Extents& extents_;
  int64_t per_row_, columns_;
};

// Bit j of word i goes to bit i of word j, by swapping ever smaller squares off the diagonal.
inline void transpose(Block& block) {
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
inline uint32_t* bits_word(const SpikeArray& spikes, const Extents& e, const Place& at, int step) {
  return static_cast<uint32_t*>(spikes.data) + (at.step + step) * spikes.pitch + at.row * e.words_per_row() +
         at.neuron / 32;
}
inline uint32_t* time_words(const SpikeArray& spikes, const Extents& e, const Place& at) {
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
inline Block read(SpikeStorage storage, const SpikeArray& spikes, const Extents& e, const Place& at) {
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

inline void write(Block& block, SpikeStorage storage, const SpikeArray& spikes, const Extents& e, const Place& at) {
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

}  // namespace synfire::operations

#endif
