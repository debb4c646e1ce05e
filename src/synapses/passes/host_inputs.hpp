// Shared by operations on synapses of all kinds on processors: rows, and inputs of any format as numbers.
#ifndef SYNFIRE_SYNAPSES_PASSES_HOST_INPUTS_HPP
#define SYNFIRE_SYNAPSES_PASSES_HOST_INPUTS_HPP

#include <backends/host/host_storage.hpp>
#include <base/extents.hpp>
#include <operations/spikes/one_spike.hpp>
#include <operations/spikes/spikes_arrays_of.hpp>
#include <synapses/passes/pieces.hpp>
#include <synapses/synapse.hpp>

#include <algorithm>

namespace synfire::operations {

using core::Extents;
using core::Kept;

namespace formats = synfire::host::SYNFIRE_MODEL_LEVEL;

// ---- rows -----------------------------------------------------------------------------------------------------------

// Pairs of multiplications and additions that an operation takes.
template <class Op>
double work_of(const Op& op) {
  return static_cast<double>(op.extents.n_steps * op.extents.batch) * static_cast<double>(op.synapse->row_operations());
}

template <class Op>
int64_t active_rows(const Op& op) {
  const int64_t batch = op.extents.batch;
  const int64_t active =
      op.n_active ? std::min<int64_t>(*static_cast<const uint32_t*>(op.n_active.data), batch) : batch;
  if (!op.layer_active) return active;
  return std::min(active, *static_cast<const int64_t*>(op.layer_active.data) / op.synapse->n_outputs());
}

template <class R>
R* row_of(const View& sequence, int64_t t, int64_t b, int64_t length) {
  return static_cast<R*>(sequence.data) + t * sequence.pitch + b * length;
}

// Rows from `active` on are +0, or stay as they are where results are added.
template <class R>
void clear_inactive(const View& sequence, const Extents& e, int64_t active, int64_t length) {
  for (int64_t t = 0; t < e.n_steps && active < e.batch; ++t)
    std::fill_n(row_of<R>(sequence, t, active, length), (e.batch - active) * length, R(0));
}

// ---- inputs ---------------------------------------------------------------------------------------------------------

// Which inputs count. All of them, times 1, where there is no dropout.
template <class R>
class KeptInputs {
 public:
  KeptInputs(const Kept& kept, const Extents& extents)
      : words_(static_cast<const uint32_t*>(kept.mask.data)),
        n_words_(extents.words_per_row()),
        scale_(kept.scale ? *static_cast<const R*>(kept.scale.data) : R(1)) {}

  explicit operator bool() const { return words_ != nullptr; }
  R scale() const { return scale_; }
  uint32_t word(int64_t b, int64_t word) const { return words_ ? words_[b * n_words_ + word] : ~uint32_t{0}; }
  bool has(int64_t b, int64_t k) const { return (word(b, k / 32) >> k % 32 & 1u) != 0; }
  // Sets those that do not count to +0.
  void apply(int64_t b, int64_t first, int count, R* to) const {
    if (!words_) return;
    for (int i = 0; i < count; ++i) to[i] = has(b, first + i) ? to[i] : R(0);
  }

 private:
  const uint32_t* words_;
  int64_t n_words_;
  R scale_;
};

// Inputs of any type as numbers.
template <class R>
class Numbers {
 public:
  Numbers(const View& input, const Extents& extents, bool are_spikes, const KeptInputs<R>& kept)
      : input_(input), extents_(extents), are_spikes_(are_spikes), kept_(kept) {
    if (are_spikes) spikes_ = {spikes_of(input), storage_of(input.dtype), extents};
  }
  void read(int64_t t, int64_t b, int64_t first, int count, R* to) const {
    read_all(t, b, first, count, to);
    kept_.apply(b, first, count, to);
  }

 private:
  void read_all(int64_t t, int64_t b, int64_t first, int count, R* to) const {
    if (are_spikes_ && spikes_.storage == SpikeStorage::bits) {
      const uint32_t* const words = spikes_.word(t, b, 0);
      for (int i = 0; i < count; ++i) to[i] = static_cast<R>(words[(first + i) / 32] >> (first + i) % 32 & 1u);
      return;
    }
    if (are_spikes_) {
      for (int i = 0; i < count; ++i) to[i] = spikes_.get(t, b, first + i) ? R(1) : R(0);
      return;
    }
    const int64_t at = t * input_.pitch + b * extents_.n_neurons + first;
    core::with_element_type(formats::NumberTypesBeside<R>{}, input_.dtype, [&](auto type) {
      decode(static_cast<const typename decltype(type)::Type*>(input_.data) + at, count, to);
    });
  }
  template <class E>
  static void decode(const E* from, int count, R* to) {
    for (int i = 0; i < count; ++i) to[i] = static_cast<R>(formats::decode(from[i]));
  }

  const View& input_;
  const Extents& extents_;
  bool are_spikes_;
  const KeptInputs<R>& kept_;
  cuda::OneSpike spikes_ = {};
};

}  // namespace synfire::operations

#endif
