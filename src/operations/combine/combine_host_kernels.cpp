#include "combine_host_kernels.hpp"

#include <backends/host/host_storage.hpp>

namespace synfire::host::SYNFIRE_MODEL_LEVEL {
namespace {

using namespace synfire::operations;

constexpr int tile = combine_tile;

int lesser(int64_t a, int b) {
  return a < b ? static_cast<int>(a) : b;
}

// ---- reading a source -----------------------------------------------------------------------------------------------

template <class E>
void read_spikes(uint8_t* __restrict to, const CombineSource& source, int64_t at, int count) {
  const E* __restrict const from = static_cast<const E*>(source.array.data) + at;
  const E magnitude = static_cast<E>(source.array.magnitude);
  for (int i = 0; i < count; ++i) to[i] = (from[i] & magnitude) != 0 ? 1 : 0;
}

// Counts, or spikes, whose bound is 1.
void read_bytes(uint8_t* __restrict to, const CombineSource& source, int64_t at, int count) {
  const uint8_t* __restrict const from = static_cast<const uint8_t*>(source.array.data) + at;
  const uint8_t bound = static_cast<uint8_t>(source.bound);
  for (int i = 0; i < count; ++i) to[i] = from[i] < bound ? from[i] : bound;
}

void unpack(uint8_t* __restrict to, uint32_t word, int count) {
  if (count == 32)
    for (int i = 0; i < 32; ++i) to[i] = static_cast<uint8_t>(word >> i & 1u);
  else
    for (int i = 0; i < count; ++i) to[i] = static_cast<uint8_t>(word >> i & 1u);
}

// Spikes or counts from element n of a row on.
void read_integers(uint8_t* __restrict to, const CombineSource& source, int64_t t, int64_t b, int64_t n, int count) {
  const int64_t at = source.dense(t, b, n);
  switch (source.storage) {
    case SpikeStorage::bytes1:
      return read_bytes(to, source, at, count);
    case SpikeStorage::bytes2:
      return read_spikes<uint16_t>(to, source, at, count);
    case SpikeStorage::bytes4:
      return read_spikes<uint32_t>(to, source, at, count);
    case SpikeStorage::bytes8:
      return read_spikes<uint64_t>(to, source, at, count);
    case SpikeStorage::bits: {
      const uint32_t* const words = source.words(t, b);
      for (int i = 0; i < count; i += 32) {
        const int some = lesser(count - i, 32);
        unpack(to + i, bits_from(words, n + i, some), some);
      }
      return;
    }
    case SpikeStorage::time_bits: {
      const uint32_t* __restrict const words = source.time_words(t / 32, b, n);
      const int bit = static_cast<int>(t % 32);
      for (int i = 0; i < count; ++i) to[i] = static_cast<uint8_t>(words[i] >> bit & 1u);
      return;
    }
  }
}

template <class R>
void read_numbers(R* __restrict to, const CombineSource& source, int64_t t, int64_t b, int64_t n, int count) {
  if (!source.is_number) {
    uint8_t integers[tile];
    read_integers(integers, source, t, b, n, count);
    for (int i = 0; i < count; ++i) to[i] = static_cast<R>(integers[i]);
    return;
  }
  core::with_element_type(NumberTypesBeside<R>{}, source.dtype, [&](auto type) {
    using E = typename decltype(type)::Type;
    const E* __restrict const from = static_cast<const E*>(source.array.data) + source.dense(t, b, n);
    for (int i = 0; i < count; ++i) to[i] = decode(from[i]);
  });
}

uint32_t packed(const uint8_t* spikes, int count) {
  uint32_t word = 0;
  for (int i = 0; i < count; ++i) word |= static_cast<uint32_t>(spikes[i]) << i;
  return word;
}

// `count` spikes as packed words.
void read_words(uint32_t* __restrict to, const CombineSource& source, int64_t t, int64_t b, int64_t n, int count) {
  if (source.storage == SpikeStorage::bits) {
    const uint32_t* const words = source.words(t, b);
    for (int i = 0; i < count; i += 32) to[i / 32] = bits_from(words, n + i, lesser(count - i, 32));
    return;
  }
  uint8_t spikes[tile];
  read_integers(spikes, source, t, b, n, count);
  for (int i = 0; i < count; i += 32) to[i / 32] = packed(spikes + i, lesser(count - i, 32));
}

// The words of up to 32 steps.
void read_time_words(uint32_t* __restrict to, const CombineSource& source, int64_t group, int steps, int64_t b,
                     int64_t n, int count) {
  if (source.storage == SpikeStorage::time_bits) {
    const uint32_t* __restrict const words = source.time_words(group, b, n);
    const uint32_t used = ~uint32_t{0} >> (32 - steps);
    for (int i = 0; i < count; ++i) to[i] = words[i] & used;
    return;
  }
  for (int i = 0; i < count; ++i) to[i] = 0;
  uint8_t spikes[tile];
  for (int step = 0; step < steps; ++step) {
    read_integers(spikes, source, group * 32 + step, b, n, count);
    for (int i = 0; i < count; ++i) to[i] |= static_cast<uint32_t>(spikes[i]) << step;
  }
}

// ---- combining ------------------------------------------------------------------------------------------------------

// Calls f(source, its element, place in the tile, count) for the parts of a tile of a concatenation.
template <class F>
void for_each_part(const CombineArrays& arrays, int64_t first, int count, F f) {
  int64_t position = first / arrays.channels, channel = first % arrays.channels;
  int k = operations::source_of(arrays, channel);
  for (int at = 0; at < count;) {
    const CombineSource& source = arrays.sources[k];
    const int64_t inside = channel - source.first;
    const int some = lesser(source.channels - inside, count - at);
    f(source, position * source.channels + inside, at, some);
    at += some;
    channel += some;
    if (inside + some == source.channels && ++k == arrays.n_sources) {
      k = 0;
      channel = 0;
      ++position;
    }
  }
}

template <class R>
R both(R a, R b) {
  return a * b;
}
template <class R>
R first_alone(R a, R b) {
  return a * (R(1) - b);
}
uint8_t both(uint8_t a, uint8_t b) {
  return static_cast<uint8_t>(a & b);
}
uint8_t first_alone(uint8_t a, uint8_t b) {
  return static_cast<uint8_t>(a & ~b);
}
uint32_t both(uint32_t a, uint32_t b) {
  return a & b;
}
uint32_t first_alone(uint32_t a, uint32_t b) {
  return a & ~b;
}

template <class E>
void add_to(E* __restrict to, const E* __restrict other, int count) {
  for (int i = 0; i < count; ++i) to[i] = static_cast<E>(to[i] + other[i]);
}
template <class E>
void keep_both(E* __restrict to, const E* __restrict other, int count) {
  for (int i = 0; i < count; ++i) to[i] = both(to[i], other[i]);
}
template <class E>
void keep_first_alone(E* __restrict to, const E* __restrict other, int count) {
  for (int i = 0; i < count; ++i) to[i] = first_alone(to[i], other[i]);
}

// read(to, source, element, count) reads a source. `sum` says whether sums exist: packed words have none.
template <bool sum, class E, class Read>
void combine_sources(const CombineArrays& arrays, int64_t first, int count, E* to, Read read) {
  read(to, arrays.sources[0], first, count);
  E other[tile];
  for (int k = 1; k < arrays.n_sources; ++k) {
    read(other, arrays.sources[k], first, count);
    if constexpr (sum)
      if (arrays.kind == CombineKind::sum) {
        add_to(to, other, count);
        continue;
      }
    if (arrays.kind == CombineKind::both)
      keep_both(to, other, count);
    else
      keep_first_alone(to, other, count);
  }
}

template <bool sum, class E, class Read>
void combine_elements(const CombineArrays& arrays, int64_t first, int count, E* to, Read read) {
  if (arrays.kind != CombineKind::concatenate) return combine_sources<sum>(arrays, first, count, to, read);
  for_each_part(arrays, first, count,
                [&](const CombineSource& source, int64_t n, int at, int some) { read(to + at, source, n, some); });
}

template <class To>
void write_numbers(const CombineArrays& arrays, const CombineTile& at, int64_t element) {
  using R = Arithmetic<To>;
  R row[tile];
  combine_elements<true>(arrays, at.first, at.count, row,
                         [&](R* to, const CombineSource& source, int64_t n, int count) {
                           read_numbers(to, source, at.step, at.row, n, count);
                         });
  To* __restrict const to = static_cast<To*>(arrays.destination.data) + element;
  for (int i = 0; i < at.count; ++i) to[i] = encode<To>(row[i]);
}

void write_bytes(const CombineArrays& arrays, const CombineTile& at, int64_t element) {
  uint8_t row[tile];
  combine_elements<true>(arrays, at.first, at.count, row,
                         [&](uint8_t* to, const CombineSource& source, int64_t n, int count) {
                           read_integers(to, source, at.step, at.row, n, count);
                         });
  uint8_t* __restrict const to = static_cast<uint8_t*>(arrays.destination.data) + element;
  for (int i = 0; i < at.count; ++i) to[i] = row[i];
}

void write_time_words(const CombineArrays& arrays, const CombineTile& at, int64_t element) {
  const int steps = lesser(arrays.extents.n_steps - at.step * 32, 32);
  combine_elements<false>(arrays, at.first, at.count, static_cast<uint32_t*>(arrays.destination.data) + element,
                          [&](uint32_t* to, const CombineSource& source, int64_t n, int count) {
                            read_time_words(to, source, at.step, steps, at.row, n, count);
                          });
}

// Sets bits that are 0 from bit `at` on.
void append(uint32_t* row, int at, const uint32_t* words, int count) {
  for (int i = 0; i < count; i += 32, at += 32) {
    row[at / 32] |= words[i / 32] << at % 32;
    if (at % 32 != 0 && at % 32 + lesser(count - i, 32) > 32) row[at / 32 + 1] |= words[i / 32] >> (32 - at % 32);
  }
}

void write_words(const CombineArrays& arrays, const CombineTile& at) {
  constexpr int most_words = tile / 32;
  uint32_t row[tile] = {};  // combine_sources() takes tiles
  const int n_words = (at.count + 31) / 32;
  if (arrays.kind == CombineKind::concatenate) {
    for_each_part(arrays, at.first, at.count, [&](const CombineSource& source, int64_t n, int place, int count) {
      uint32_t words[most_words];
      read_words(words, source, at.step, at.row, n, count);
      append(row, place, words, count);
    });
  } else {
    combine_sources<false>(arrays, 0, n_words, row, [&](uint32_t* to, const CombineSource& source, int64_t, int) {
      read_words(to, source, at.step, at.row, at.first, at.count);
    });
  }
  uint32_t* const to = static_cast<uint32_t*>(arrays.destination.data) + at.step * arrays.destination.pitch +
                       at.row * arrays.extents.words_per_row() + at.first / 32;
  for (int i = 0; i < n_words; ++i) to[i] = row[i];
}

void combine(const CombineArrays& arrays, const CombineTile& at) {
  const int64_t element = at.step * arrays.destination.pitch + at.row * arrays.extents.n_neurons + at.first;
  switch (arrays.dtype) {
    case SYNFIRE_DTYPE_U8:
      return write_bytes(arrays, at, element);
    case SYNFIRE_DTYPE_BITS:
      return write_words(arrays, at);
    case SYNFIRE_DTYPE_TIME_BITS:
      return write_time_words(arrays, at, element);
    default:
      core::with_element_type(NumberTypes{}, arrays.dtype,
                              [&](auto type) { write_numbers<typename decltype(type)::Type>(arrays, at, element); });
  }
}

void add(float* to, const float* a, const float* b, int64_t count) {
  for (int64_t i = 0; i < count; ++i) to[i] = a[i] + b[i];
}

// ---- gradients ------------------------------------------------------------------------------------------------------

// Elements `first` and up of the part of a row of dL/d(destination) that belongs to the source.
template <class R>
void read_gradient(R* __restrict to, const CombineGradientArrays& arrays, const CombineTile& at) {
  core::with_element_type(NumberTypesBeside<R>{}, arrays.from_dtype, [&](auto type) {
    using E = typename decltype(type)::Type;
    const E* const row =
        static_cast<const E*>(arrays.from) + at.step * arrays.from_pitch + at.row * arrays.from_neurons;
    for (int done = 0; done < at.count;) {
      const int64_t n = at.first + done;
      const int some = arrays.kind == CombineKind::concatenate
                           ? lesser(arrays.channels - n % arrays.channels, at.count - done)
                           : at.count;
      const E* __restrict const from = row + arrays.from_element(n);
      for (int i = 0; i < some; ++i) to[done + i] = decode(from[i]);
      done += some;
    }
  });
}

template <class R>
void multiply(R* __restrict gradient, const CombineGradientArrays& arrays, const CombineTile& at) {
  uint8_t other[tile];
  read_integers(other, arrays.other, at.step, at.row, at.first, at.count);
  if (arrays.kind == CombineKind::both)
    for (int i = 0; i < at.count; ++i) gradient[i] = gradient[i] * static_cast<R>(other[i]);
  else if (arrays.of_second)
    for (int i = 0; i < at.count; ++i) gradient[i] = -gradient[i] * static_cast<R>(other[i]);
  else
    for (int i = 0; i < at.count; ++i) gradient[i] = gradient[i] * (R(1) - static_cast<R>(other[i]));
}

template <class To>
void write_gradient(const CombineGradientArrays& arrays, const CombineTile& at) {
  using R = Arithmetic<To>;
  R gradient[tile];
  read_gradient(gradient, arrays, at);
  if (arrays.kind == CombineKind::both || arrays.kind == CombineKind::first_alone) multiply(gradient, arrays, at);
  To* __restrict const to =
      static_cast<To*>(arrays.to) + at.step * arrays.to_pitch + at.row * arrays.extents.n_neurons + at.first;
  if (arrays.add)
    for (int i = 0; i < at.count; ++i) to[i] = encode<To>(decode(to[i]) + gradient[i]);
  else
    for (int i = 0; i < at.count; ++i) to[i] = encode<To>(gradient[i]);
}

void gradient(const CombineGradientArrays& arrays, const CombineTile& at) {
  core::with_element_type(NumberTypes{}, arrays.to_dtype,
                          [&](auto type) { write_gradient<typename decltype(type)::Type>(arrays, at); });
}

}  // namespace

extern const CombineKernels combine_kernels = {combine, add, gradient};

}  // namespace synfire::host::SYNFIRE_MODEL_LEVEL
