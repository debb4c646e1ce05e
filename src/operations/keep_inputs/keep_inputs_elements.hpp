// One element, or one word of spikes, for host code, kernels and twins.
#ifndef SYNFIRE_OPERATIONS_KEEP_INPUTS_KEEP_INPUTS_ELEMENTS_HPP
#define SYNFIRE_OPERATIONS_KEEP_INPUTS_KEEP_INPUTS_ELEMENTS_HPP

#include <base/extents.hpp>

#include <synfire/model/platform.hpp>

#include <cstdint>

namespace synfire::operations {

struct KeepInputsArrays {
  core::Extents extents;
  int64_t n_channels;
  const uint32_t* mask;
  const void* input;  // null: ones
  int64_t pitch;      // of the input, from step to step
  void* kept;
};

SYNFIRE_MODEL_FN uint32_t mask_bit(const uint32_t* row, int64_t i) {
  return row[i / 32] >> (i % 32) & 1u;
}

// Word `word` of the mask of all inputs of a batch row. Bits after the last input are 0.
SYNFIRE_MODEL_FN uint32_t word_of_mask(const KeepInputsArrays& arrays, int64_t b, int64_t word) {
  const int64_t n = arrays.extents.n_neurons, first = word * 32, count = n - first < 32 ? n - first : 32;
  const uint32_t* const row = arrays.mask + b * ((arrays.n_channels + 31) / 32);
  uint32_t found = 0;
  int64_t channel = first % arrays.n_channels;
  for (int i = 0; i < count; ++i) {
    found |= mask_bit(row, channel) << i;
    channel = channel + 1 == arrays.n_channels ? 0 : channel + 1;
  }
  return found;
}

SYNFIRE_MODEL_FN int64_t n_words(const KeepInputsArrays& arrays) {
  return arrays.extents.n_steps * arrays.extents.batch * arrays.extents.words_per_row();
}
SYNFIRE_MODEL_FN void keep_word(const KeepInputsArrays& arrays, int64_t i) {
  const int64_t of_row = arrays.extents.words_per_row(), of_step = arrays.extents.batch * of_row, at = i % of_step;
  const uint32_t ones =
      arrays.input ? static_cast<const uint32_t*>(arrays.input)[i / of_step * arrays.pitch + at] : ~uint32_t{0};
  static_cast<uint32_t*>(arrays.kept)[i] = ones & word_of_mask(arrays, at / of_row, at % of_row);
}

SYNFIRE_MODEL_FN int64_t n_elements(const KeepInputsArrays& arrays) {
  return arrays.extents.n_steps * arrays.extents.row();
}
// Zero bits are +0 in every type; E has the size of an element.
template <class E>
SYNFIRE_MODEL_FN void keep_element(const KeepInputsArrays& arrays, int64_t i) {
  const int64_t n = arrays.extents.n_neurons, of_step = arrays.extents.row(), at = i % of_step;
  const uint32_t* const row = arrays.mask + at / n * ((arrays.n_channels + 31) / 32);
  static_cast<E*>(arrays.kept)[i] = mask_bit(row, at % n % arrays.n_channels) != 0
                                        ? static_cast<const E*>(arrays.input)[i / of_step * arrays.pitch + at]
                                        : E(0);
}

}  // namespace synfire::operations

#endif
