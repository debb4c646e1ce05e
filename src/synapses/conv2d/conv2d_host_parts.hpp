// Shared by the operations of convolutions on processors: inputs of an image, a step of a batch row, and its places.
#ifndef SYNFIRE_SYNAPSES_CONV2D_CONV2D_HOST_PARTS_HPP
#define SYNFIRE_SYNAPSES_CONV2D_CONV2D_HOST_PARTS_HPP

#include "conv2d.hpp"
#include "conv2d_elements.hpp"
#include "conv2d_host_kernels.hpp"

#include <operations/spikes/convert_spikes.hpp>
#include <synapses/dense/dense_host_parts.hpp>

namespace synfire::operations {

// The factor of dropout; 1 without.
template <class R>
R factor_of(const View& scale) {
  return scale ? *static_cast<const R*>(scale.data) : R(1);
}

// ---- inputs ---------------------------------------------------------------------------------------------------------

// Spikes as words [T, B, ceil(n_inputs / 32)], converted if they are stored otherwise.
template <class Op>
class SpikeRows {
 public:
  SpikeRows(const Op& op, host::Launcher& launcher) : n_words_(op.extents.words_per_row()), bits_(op.input) {
    if (!op.converted) return;
    bits_ = op.converted;
    bits_.dtype = SYNFIRE_DTYPE_BITS;
    bits_.pitch = op.extents.batch * n_words_;
    run(ConvertSpikes{op.extents, op.input, bits_}, launcher);
  }
  const uint32_t* row(int64_t t, int64_t b) const {
    return static_cast<const uint32_t*>(bits_.data) + t * bits_.pitch + b * n_words_;
  }

 private:
  int64_t n_words_;
  View bits_;
};

template <class Op>
const uint8_t* count_row(const Op& op, int64_t t, int64_t b) {
  return row_of<const uint8_t>(op.input, t, b, op.extents.n_neurons);
}

// Inputs of any kind as numbers.
template <class R>
class ImageNumbers {
 public:
  template <class Op>
  explicit ImageNumbers(const Op& op)
      : shape_(op.synapse->map()),
        input_(op.input),
        n_inputs_(op.extents.n_neurons),
        bound_(op.synapse->conv().elements == Elements::counts ? op.synapse->conv().count_bound : 0),
        all_({}, op.extents),
        numbers_(input_, op.extents, op.synapse->reads_spikes(), all_) {}

  void read(int64_t t, int64_t b, int64_t first, int count, R* to) const {
    if (bound_ == 0) return numbers_.read(t, b, first, count, to);
    const uint8_t* const counts = row_of<const uint8_t>(input_, t, b, n_inputs_) + first;
    for (int i = 0; i < count; ++i) to[i] = static_cast<R>(bounded(counts[i], bound_));
  }
  // Reads the inputs of `count` terms of an output place, from the term `first` on; +0 outside the map.
  void read_terms(int64_t t, int64_t b, int64_t place, int64_t group, int64_t first, int count, R* to) const;

 private:
  const Conv2dShape& shape_;
  const View& input_;
  int64_t n_inputs_;
  int32_t bound_;
  KeptInputs<R> all_;
  Numbers<R> numbers_;
};

// Calls f(number, count, first input or -1) for the runs of neighbouring inputs among `count` terms of an output place,
// from the term `first` on.
template <class F>
void for_each_run(const Conv2dShape& shape, int64_t place, int64_t group, int64_t first, int count, F f) {
  const auto oy = static_cast<int32_t>(place / shape.x.n_outputs), ox = static_cast<int32_t>(place % shape.x.n_outputs);
  const int64_t channels = shape.group_inputs();
  for (int at = 0; at < count;) {
    const int64_t tap = (first + at) / channels, channel = (first + at) % channels;
    const int now = static_cast<int>(std::min<int64_t>(count - at, channels - channel));
    const int64_t from = shape.input_place(oy, ox, static_cast<int32_t>(tap / shape.x.kernel),
                                           static_cast<int32_t>(tap % shape.x.kernel));
    f(at, now, from < 0 ? -1 : from * shape.channels + group * channels + channel);
    at += now;
  }
}

template <class R>
void ImageNumbers<R>::read_terms(int64_t t, int64_t b, int64_t place, int64_t group, int64_t first, int count,
                                 R* to) const {
  for_each_run(shape_, place, group, first, count, [&](int at, int now, int64_t from) {
    if (from < 0)
      std::fill_n(to + at, now, R(0));
    else
      read(t, b, from, now, to + at);
  });
}

// ---- shapes with loops of their own ---------------------------------------------------------------------------------

// Each channel has a kernel of its own: all channels of a tap are neighbours.
// The spikes of a place as bytes.
inline void unpack(const uint32_t* words, int64_t first, int count, uint8_t* to) {
  for (int i = 0; i < count; i += 32) {
    const int now = std::min(32, count - i);
    const uint32_t bits = bits_at(words, first + i, now);
    for (int j = 0; j < now; ++j) to[i + j] = static_cast<uint8_t>(bits >> j & 1u);
  }
}

}  // namespace synfire::operations

#endif
