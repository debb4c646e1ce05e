// Shared by the products of dense synapses on processors: inputs of any format as words, and sums in the fixed order.
#ifndef SYNFIRE_SYNAPSES_DENSE_DENSE_HOST_PARTS_HPP
#define SYNFIRE_SYNAPSES_DENSE_DENSE_HOST_PARTS_HPP

#include "dense.hpp"
#include "dense_host_kernels.hpp"

#include <backends/host/host_launcher.hpp>
#include <operations/host_places.hpp>
#include <operations/spikes/blocks.hpp>
#include <operations/spikes/spikes_arrays_of.hpp>
#include <synapses/passes/host_inputs.hpp>

#include <synfire/model/grid.hpp>

#include <algorithm>
#include <bit>

namespace synfire::operations {

using namespace synfire::core;

using host::chain_rows;
using host::most_addends;
using host::product_tile;
using host::sum_tile;
using model::block_length;
using model::chain_length;

// Below this much work the calling thread works alone.
constexpr double synapse_parallel_threshold = 1 << 24;

template <class Op>
bool is_long(const Op& op) {
  return work_of(op) >= synapse_parallel_threshold;
}

inline bool is_connected(const View& mask, const DenseSpec& spec, int64_t n, int64_t k) {
  return !mask || (static_cast<const uint32_t*>(mask.data)[n * spec.mask_words() + k / 32] >> k % 32 & 1u) != 0;
}

// ---- inputs ---------------------------------------------------------------------------------------------------------

// Spikes [T, B, K] of any format as words of 32 inputs each, for 32 steps of one batch row.
class SpikeWords {
 public:
  static constexpr int most_words = 32;  // at a time: 1,024 inputs

  SpikeWords(const View& spikes, const Extents& extents, const KeptInputs<float>& kept)
      : array_(spikes_of(spikes)), storage_(storage_of(spikes.dtype)), extents_(extents), kept_(kept) {}

  void read(int64_t step, int64_t row, int64_t first) {
    n_steps_ = static_cast<int>(std::min<int64_t>(32, extents_.n_steps - step));
    n_words_ = static_cast<int>(std::min<int64_t>(most_words, extents_.words_per_row() - first / 32));
    if (storage_ == SpikeStorage::bits) return read_words(step, row, first);
    for (int j = 0; j < n_words_; ++j) {
      const int64_t input = first + int64_t{32} * j;
      const Place at = {step, row, input, n_steps_,
                        static_cast<int>(std::min<int64_t>(32, extents_.n_neurons - input))};
      const uint32_t counts = lowest(at.neurons) & kept_.word(row, input / 32);
      Block block = operations::read(storage_, array_, extents_, at);
      transpose(block);
      for (int t = 0; t < n_steps_; ++t) words_[t][j] = block.words[t] & counts;
    }
  }
  int n_steps() const { return n_steps_; }
  // The inputs that fire in one of these steps; the list has room for host::list_slack more.
  int list(int step, int64_t first, int32_t* inputs) const {
    return kernels_.list_spikes(inputs, words_[step], count_from(first), static_cast<int32_t>(first));
  }

 private:
  int count_from(int64_t first) const {
    return static_cast<int>(std::min<int64_t>(int64_t{32} * most_words, extents_.n_neurons - first));
  }
  const uint32_t* words_of(int64_t step, int64_t row, int64_t first) const {
    return static_cast<const uint32_t*>(array_.data) + step * array_.pitch + row * extents_.words_per_row() +
           first / 32;
  }
  void read_words(int64_t step, int64_t row, int64_t first) {
    for (int t = 0; t < n_steps_; ++t) {
      const uint32_t* const from = words_of(step + t, row, first);
      for (int j = 0; j < n_words_; ++j) words_[t][j] = from[j] & kept_.word(row, first / 32 + j);
    }
  }

  SpikeArray array_;
  SpikeStorage storage_;
  const Extents& extents_;
  const KeptInputs<float>& kept_;
  const host::SynapseKernels& kernels_ = SYNFIRE_SELECT_LEVEL(synapse_kernels);
  int n_steps_ = 0, n_words_ = 0;
  uint32_t words_[32][most_words];
};

// ---- products in the fixed order ------------------------------------------------------------------------------------

template <class R>
const host::ChainKernels<R>& chain_kernels() {
  if constexpr (sizeof(R) == 4)
    return SYNFIRE_SELECT_LEVEL(synapse_kernels).chain_f32;
  else
    return SYNFIRE_SELECT_LEVEL(synapse_kernels).chain_f64;
}

// Up to four rows [width] of sums in the fixed order: chains, blocks, and the sum of the blocks.
template <class R>
class ChainSums {
 public:
  explicit ChainSums(int n_rows, int width) : n_rows_(n_rows), width_(width) {
    for (int r = 0; r < n_rows; ++r) {
      std::fill_n(block_[r], width, R(0));
      std::fill_n(total_[r], width, 0.0);
    }
  }
  // Adds the next chain, of `chain_length` products or the last ones.
  void add(const R* const* rows, const R (*coefficients)[chain_length], int length) {
    kernels_.add_chain(block_, rows, coefficients, length, n_rows_, width_);
    n_added_ += length;
    if (n_added_ % block_length == 0) add_block();
  }
  const double* total(int r) {
    if (n_added_ % block_length != 0) {
      add_block();
      n_added_ = 0;
    }
    return total_[r];
  }

 private:
  void add_block() {
    for (int r = 0; r < n_rows_; ++r) kernels_.add_block(total_[r], block_[r], width_);
  }

  const host::ChainKernels<R>& kernels_ = chain_kernels<R>();
  const int n_rows_, width_;
  int64_t n_added_ = 0;
  R block_[chain_rows][product_tile];
  double total_[chain_rows][product_tile];
};

// Rows (t, b), four at a time, times a matrix [L, n] with padded rows: calls read(t, b, first, count, R*) for the
// coefficients and write(t, b, first, count, totals) for the results; rows that are not active are skipped.
struct ChainShape {
  const Extents& extents;
  int64_t active, length, n_columns, pitch;
};
template <class R, class Read, class Write>
void multiply(host::Launcher& launcher, bool share, const ChainShape& shape, const R* matrix, Read read, Write write) {
  const int64_t n_tiles = pieces(shape.n_columns, product_tile), padded = DenseSpec::padded(shape.n_columns),
                n_rows = shape.extents.n_steps * shape.active;
  launcher.for_each_range(pieces(n_rows, chain_rows) * n_tiles, share, [&](int64_t begin, int64_t end) {
    R coefficients[chain_rows][chain_length];
    const R* rows[chain_length];
    for (int64_t item = begin; item < end; ++item) {
      const int64_t first = item % n_tiles * product_tile, row = item / n_tiles * chain_rows;
      const int width = static_cast<int>(std::min<int64_t>(product_tile, padded - first)),
                count = static_cast<int>(std::min<int64_t>(product_tile, shape.n_columns - first)),
                now = static_cast<int>(std::min<int64_t>(chain_rows, n_rows - row));
      ChainSums<R> sums(now, width);
      for (int64_t l = 0; l < shape.length; l += chain_length) {
        const int length = static_cast<int>(std::min<int64_t>(chain_length, shape.length - l));
        for (int i = 0; i < length; ++i) rows[i] = matrix + (l + i) * shape.pitch + first;
        for (int r = 0; r < now; ++r)
          read((row + r) / shape.active, (row + r) % shape.active, l, length, coefficients[r]);
        sums.add(rows, coefficients, length);
      }
      for (int r = 0; r < now; ++r)
        write((row + r) / shape.active, (row + r) % shape.active, first, count, sums.total(r));
    }
  });
}

}  // namespace synfire::operations

#endif
