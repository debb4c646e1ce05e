// The arrays of a combination and of its gradients, as host code, kernels and twins read them.
#ifndef SYNFIRE_OPERATIONS_COMBINE_COMBINE_ARRAYS_HPP
#define SYNFIRE_OPERATIONS_COMBINE_COMBINE_ARRAYS_HPP

#include <base/extents.hpp>
#include <operations/spikes/spikes_arrays.hpp>

#include <synfire/synfire.h>

namespace synfire::operations {

enum class CombineKind : int32_t {
  sum = SYNFIRE_COMBINE_SUM,
  both = SYNFIRE_COMBINE_AND,
  first_alone = SYNFIRE_COMBINE_IAND,
  concatenate = SYNFIRE_COMBINE_CONCATENATE
};
inline constexpr int most_combined = 16;

// Rows [T, B, n_neurons] that are read as integers or as numbers.
struct CombineSource {
  SpikeArray array;
  int64_t n_neurons;
  int64_t first, channels;  // in a concatenation: of the channels of the whole
  int32_t dtype;
  SpikeStorage storage;
  int32_t bound;   // of u8: elements above it count as it, which is 1 for spikes
  bool is_number;  // an element is the number that it is, not 1 if it is not zero

  SYNFIRE_MODEL_FN int64_t dense(int64_t t, int64_t b, int64_t n) const { return t * array.pitch + b * n_neurons + n; }
  // The packed words of a batch row.
  SYNFIRE_MODEL_FN const uint32_t* words(int64_t t, int64_t b) const {
    return static_cast<const uint32_t*>(array.data) + t * array.pitch + b * ((n_neurons + 31) / 32);
  }
  // The time-packed words of 32 steps.
  SYNFIRE_MODEL_FN const uint32_t* time_words(int64_t group, int64_t b, int64_t n) const {
    return static_cast<const uint32_t*>(array.data) + dense(group, b, n);
  }
};

struct CombineArrays {
  core::Extents extents;  // of the destination
  CombineKind kind;
  int32_t n_sources;
  int64_t channels;  // of the destination, in a concatenation
  CombineSource sources[most_combined];
  SpikeArray destination;
  int32_t dtype;
  SpikeStorage storage;
};

// The gradient of one source, whose rows are those of `extents`.
struct CombineGradientArrays {
  core::Extents extents;
  CombineKind kind;
  bool of_second;  // of IAND
  bool add;
  const void* from;
  int64_t from_pitch, from_neurons;
  int32_t from_dtype;
  int32_t to_dtype;
  int64_t from_channels, first, channels;  // in a concatenation: those of the source are `channels` from `first` on
  CombineSource other;                     // of AND and IAND
  void* to;
  int64_t to_pitch;

  // The element of a row of `from` that belongs to element n of the source.
  SYNFIRE_MODEL_FN int64_t from_element(int64_t n) const {
    return kind == CombineKind::concatenate ? n / channels * from_channels + first + n % channels : n;
  }
};

// `count` bits, at most 32, from bit `first` of packed words on.
SYNFIRE_MODEL_FN uint32_t bits_from(const uint32_t* words, int64_t first, int count) {
  const int shift = static_cast<int>(first % 32);
  uint32_t bits = words[first / 32] >> shift;
  if (shift + count > 32) bits |= words[first / 32 + 1] << (32 - shift);
  return count == 32 ? bits : bits & ((uint32_t{1} << count) - 1);
}

// The number of the source that has a channel of a concatenation.
SYNFIRE_MODEL_FN int source_of(const CombineArrays& arrays, int64_t channel) {
  int k = 0;
  while (channel >= arrays.sources[k].first + arrays.sources[k].channels) ++k;
  return k;
}

}  // namespace synfire::operations

#endif
