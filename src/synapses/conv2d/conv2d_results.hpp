// Single results of a convolution, as kernels compute them and their twins do too. `Read` gives an input of an image as
// a number; spikes and counts of exact sums are read in place.
#ifndef SYNFIRE_SYNAPSES_CONV2D_CONV2D_RESULTS_HPP
#define SYNFIRE_SYNAPSES_CONV2D_CONV2D_RESULTS_HPP

#include "conv2d_elements.hpp"

namespace synfire::operations {

// ---- products -------------------------------------------------------------------------------------------------------

// The sum of the weights of output o at a place, without its bias. `column` is that of the output in the table.
SYNFIRE_MODEL_FN int64_t sum_of_spikes(const Conv2dShape& shape, const uint32_t* words, const int32_t* column,
                                       int64_t pitch, int64_t place, int64_t o) {
  const int64_t channels = shape.group_inputs(), first = o / shape.group_outputs() * channels;
  int64_t sum = 0;
  for_each_input_place(shape, place, [&](int64_t tap, int64_t from) {
    for (int64_t c = 0; c < channels; c += 32) {
      const int count = static_cast<int>(channels - c < 32 ? channels - c : 32);
      const int32_t* const weights = column + (tap * channels + c) * pitch;
      int32_t part = 0;  // of at most 32 numbers of 24 bits
      for (uint32_t bits = bits_at(words, from * shape.channels + first + c, count); bits != 0; bits &= bits - 1)
        part += weights[lowest_bit(bits) * pitch];
      sum += part;
    }
  });
  return sum;
}
SYNFIRE_MODEL_FN int64_t sum_of_counts(const Conv2dShape& shape, const uint8_t* counts, int32_t bound,
                                       const int32_t* column, int64_t pitch, int64_t place, int64_t o) {
  const int64_t channels = shape.group_inputs(), first = o / shape.group_outputs() * channels;
  int64_t sum = 0;
  for_each_input_place(shape, place, [&](int64_t tap, int64_t from) {
    for (int64_t c = 0; c < channels; ++c)
      sum += static_cast<int64_t>(bounded(counts[from * shape.channels + first + c], bound)) *
             column[(tap * channels + c) * pitch];
  });
  return sum;
}
template <class R, class Read>
SYNFIRE_MODEL_FN double sum_of_numbers(const Conv2dShape& shape, Read read, const R* column, int64_t pitch,
                                       int64_t place, int64_t o) {
  const int64_t channels = shape.group_inputs(), first = o / shape.group_outputs() * channels;
  OrderedSum<R> sum;
  int64_t n = 0;
  for_each_input_place(shape, place, [&](int64_t tap, int64_t from) {
    sum.skip(tap * channels - n);
    for (int64_t c = 0; c < channels; ++c)
      sum.add(read(from * shape.channels + first + c), column[(tap * channels + c) * pitch]);
    n = (tap + 1) * channels;
  });
  return sum.total();
}

// Word `word` of the spikes that an output place meets, by terms, of one group. Bits after the last term are 0.
SYNFIRE_MODEL_FN uint32_t word_of_patch(const Conv2dShape& shape, const uint32_t* words, int64_t place, int64_t word) {
  const core::RowIndex at = core::row_index(place, shape.x.n_outputs);
  const auto oy = static_cast<int32_t>(at.t), ox = static_cast<int32_t>(at.b);
  const int64_t n_terms = shape.n_terms(), first = word * 32, end = first + 32 < n_terms ? first + 32 : n_terms;
  uint32_t found = 0;
  for (int64_t k = first; k < end;) {
    const auto [tap, c] = core::row_index(k, shape.channels);
    const int count = static_cast<int>(shape.channels - c < end - k ? shape.channels - c : end - k);
    const auto of_kernel = static_cast<int32_t>(tap);
    const int64_t from = shape.input_place(oy, ox, of_kernel / shape.x.kernel, of_kernel % shape.x.kernel);
    if (from >= 0) found |= bits_at(words, from * shape.channels + c, count) << (k - first);
    k += count;
  }
  return found;
}

// How many of the images `first` and up, `count` of them, are among the first `active` ones.
SYNFIRE_MODEL_FN int64_t images_of_part(int64_t active, int64_t first, int64_t count) {
  const int64_t left = active - first;
  return left < 0 ? 0 : left < count ? left : count;
}

// ---- gradients ------------------------------------------------------------------------------------------------------

SYNFIRE_MODEL_FN bool has_bit(const uint32_t* row, int64_t i) {
  return (row[i / 32] >> (i % 32) & 1u) != 0;
}
// Returns true if output o has a weight for term k; with null, all have.
SYNFIRE_MODEL_FN bool is_connected(const Conv2dShape& shape, const uint32_t* mask, int64_t o, int64_t k) {
  return !mask || has_bit(mask + o * ((shape.n_terms() + 31) / 32), k);
}

// The input that term k of output o meets at an output place, or -1.
SYNFIRE_MODEL_FN int64_t input_of_term(const Conv2dShape& shape, int64_t place, int64_t o, int64_t k) {
  const core::RowIndex term = core::row_index(k, shape.group_inputs()), at = core::row_index(place, shape.x.n_outputs);
  const auto tap = static_cast<int32_t>(term.t);
  const int64_t from = shape.input_place(static_cast<int32_t>(at.t), static_cast<int32_t>(at.b), tap / shape.x.kernel,
                                         tap % shape.x.kernel);
  if (from < 0) return -1;
  return from * shape.channels + core::row_index(o, shape.group_outputs()).t * shape.group_inputs() + term.b;
}

// Calls f(output, weight) for the outputs of an image that read channel c of an input place, in order: the index of the
// output in the image, and the index of the weight in [N, K] with this pitch.
template <class F>
SYNFIRE_MODEL_FN void for_each_output(const Conv2dShape& shape, int64_t pitch, int64_t place, int64_t c, F f) {
  const int64_t channels = shape.group_inputs(), outputs = shape.group_outputs(), first = c / channels * outputs;
  for_each_output_place(shape, place, [&](int64_t tap, int64_t to) {
    for (int64_t o = first; o < first + outputs; ++o)
      f(to * shape.output_channels + o, o * pitch + tap * channels + c % channels);
  });
}

// The sum of products of numbers on the grid of their image with weights, times a factor; wide ones are of 32 bits.
template <bool wide>
SYNFIRE_MODEL_FN float input_gradient_of(const Conv2dShape& shape, const int32_t* on_grid, const int32_t* weights,
                                         int64_t pitch, int64_t place, int64_t c, int32_t grid, double factor) {
  int64_t sum = 0, low = 0;
  for_each_output(shape, pitch, place, c, [&](int64_t output, int64_t weight) {
    const int64_t q = weights[weight];
    if (wide) {
      sum += (on_grid[output] >> 16) * q;
      low += (on_grid[output] & 0xFFFF) * q;
    } else {
      sum += on_grid[output] * q;
    }
  });
  return wide ? model::from_parts(sum >> 16, ((sum & 0xFFFF) << 16) + low, grid, factor)
              : model::from_wide_grid(sum, grid, factor);
}

SYNFIRE_MODEL_FN double ordered_input_gradient(const Conv2dShape& shape, const double* gradients, const double* weights,
                                               int64_t pitch, int64_t place, int64_t c) {
  const int64_t channels = shape.group_inputs(), outputs = shape.group_outputs(), first = c / channels * outputs;
  OrderedSum<double> sum;
  int64_t n = 0;
  for_each_output_place(shape, place, [&](int64_t tap, int64_t to) {
    sum.skip(tap * outputs - n);
    for (int64_t o = first; o < first + outputs; ++o)
      sum.add(gradients[to * shape.output_channels + o], weights[o * pitch + tap * channels + c % channels]);
    n = (tap + 1) * outputs;
  });
  return sum.total();
}

}  // namespace synfire::operations

#endif
