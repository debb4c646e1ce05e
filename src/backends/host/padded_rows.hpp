// Rows whose length is not a multiple of a vector, for loops over whole vectors, which have no slow remainder. Rows are
// read into scratch memory followed by zeros, and exactly their own elements are written. Rows of whole vectors are
// read and written in place, as in storage.hpp. Included by host kernels only.
#ifndef SYNFIRE_BACKENDS_HOST_PADDED_ROWS_HPP
#define SYNFIRE_BACKENDS_HOST_PADDED_ROWS_HPP

#include <backends/host/host_storage.hpp>

#if defined(__AVX512BW__)
#include <immintrin.h>
#endif

namespace synfire::host::SYNFIRE_MODEL_LEVEL {
namespace {

#if defined(__AVX512F__)
inline constexpr int bytes_of_vector = 64;
#elif defined(__AVX2__)
inline constexpr int bytes_of_vector = 32;
#else
inline constexpr int bytes_of_vector = 16;
#endif

template <class R>
SYNFIRE_MODEL_FN int whole_vectors(int count) {
  constexpr int in_vector = bytes_of_vector / static_cast<int>(sizeof(R));
  return (count + in_vector - 1) / in_vector * in_vector;
}

// A vector of bytes at any address. (g++ 12 copies 64 bytes in four parts by __builtin_memcpy, and reading them whole
// waits until all four are in the cache.)
typedef char ByteVector  // NOLINT(modernize-use-using): these attributes belong to a typedef
    __attribute__((vector_size(bytes_of_vector), aligned(1), may_alias));

SYNFIRE_MODEL_FN void copy_vector(char* to, const char* from) {
  *reinterpret_cast<ByteVector*>(to) = *reinterpret_cast<const ByteVector*>(from);
}

// Copies 2^n bytes if that bit of `count` is set, for each n below that of a vector.
template <int Bytes>
SYNFIRE_MODEL_FN void copy_rest(char* to, const char* from, int64_t count) {
  if constexpr (Bytes > 0) {
    if (count & Bytes) {
      __builtin_memcpy(to, from, Bytes);
      to += Bytes;
      from += Bytes;
    }
    copy_rest<Bytes / 2>(to, from, count);
  }
}

// Copies exactly `count` elements, inline: a call of memcpy takes as long as a step of a short row.
template <class E>
SYNFIRE_MODEL_FN void copy_exactly(E* __restrict to, const E* __restrict from, int count) {
  const int64_t bytes = count * static_cast<int64_t>(sizeof(E));
  char* const out = reinterpret_cast<char*>(to);
  const char* const in = reinterpret_cast<const char*>(from);
  int64_t at = 0;
  for (; at + bytes_of_vector <= bytes; at += bytes_of_vector) copy_vector(out + at, in + at);
  if (at == bytes) return;
#if defined(__AVX512BW__)
  const __mmask64 rest = ~__mmask64{0} >> (64 - (bytes - at));
  _mm512_mask_storeu_epi8(out + at, rest, _mm512_maskz_loadu_epi8(rest, in + at));
#else
  copy_rest<bytes_of_vector / 2>(out + at, in + at, bytes - at);
#endif
}

// Also writes zeros after them, up to a whole vector of bytes. Reads nothing after the elements.
template <class E>
SYNFIRE_MODEL_FN void copy_padded(E* __restrict to, const E* __restrict from, int count) {
  const int64_t bytes = count * static_cast<int64_t>(sizeof(E));
  char* const out = reinterpret_cast<char*>(to);
  const char* const in = reinterpret_cast<const char*>(from);
  int64_t at = 0;
  for (; at + bytes_of_vector <= bytes; at += bytes_of_vector) copy_vector(out + at, in + at);
  if (at == bytes) return;
#if defined(__AVX512BW__)
  const __mmask64 rest = ~__mmask64{0} >> (64 - (bytes - at));
  _mm512_storeu_si512(out + at, _mm512_maskz_loadu_epi8(rest, in + at));
#else
  *reinterpret_cast<ByteVector*>(out + at) = ByteVector{};
  copy_rest<bytes_of_vector / 2>(out + at, in + at, bytes - at);
#endif
}

// Elements after `count` of a row that may be read: those of its step and, if steps are contiguous, of later steps.
SYNFIRE_MODEL_FN int64_t elements_behind(const Sequence& sequence, const core::Extents& extents, int64_t step,
                                         int64_t at, int count) {
  const int64_t steps_behind = sequence.pitch == extents.row() ? extents.n_steps - 1 - step : 0;
  return steps_behind * sequence.pitch + extents.row() - at - count;
}

// Converts rows in functions of their own, so that the arrays are on the stack for that time only: in the frame of a
// pass, compilers give each call room of its own.
template <class E>
[[gnu::noinline]] void decode_padded(const Sequence& sequence, int64_t step, int64_t at, int count, float* to) {
  alignas(64) E stored[max_tile + bytes_of_vector];
  copy_padded(stored, element<const E>(sequence, step, at), count);
  decode_row(to, stored, whole_vectors<float>(count));
}

template <class E>
[[gnu::noinline]] void encode_exactly(const Sequence& sequence, int64_t step, int64_t at, int count, const float* row) {
  alignas(64) E stored[max_tile];
  encode_row(stored, row, whole_vectors<float>(count));
  copy_exactly(element<E>(sequence, step, at), stored, count);
}

// read_row() of whole vectors. Memory after the row's `count` elements is read too if `behind` allows it, else zeros
// are put there. `scratch` has room for whole vectors.
template <class R>
SYNFIRE_MODEL_FN const R* read_padded(const Sequence& sequence, int64_t step, int64_t at, int count, int64_t behind,
                                      R* scratch, const Row<R>& absent = zeros<R>) {
  const int whole = whole_vectors<R>(count);
  if (whole - count <= behind) return read_row(sequence, step, at, whole, scratch, absent);
  if (!sequence) return absent.values;
  if (holds(sequence, R())) {
    copy_padded(scratch, element<const R>(sequence, step, at), count);
    return scratch;
  }
  if constexpr (sizeof(R) == 4)
    core::with_element_type(NarrowTypes{}, sequence.dtype, [&](auto type) {
      decode_padded<typename decltype(type)::Type>(sequence, step, at, count, scratch);
    });
  return scratch;
}

// write_row() from a row of whole vectors: writes only the first `count` elements.
template <class R>
SYNFIRE_MODEL_FN void write_exactly(const Sequence& sequence, int64_t step, int64_t at, int count, const R* row) {
  if (!sequence) return;
  if (whole_vectors<R>(count) == count) return write_row(sequence, step, at, count, row);
  if (holds(sequence, R())) return copy_exactly(element<R>(sequence, step, at), row, count);
  if constexpr (sizeof(R) == 4) {
    core::with_element_type(WrittenTypes{}, sequence.dtype, [&](auto type) {
      encode_exactly<typename decltype(type)::Type>(sequence, step, at, count, row);
    });
  } else {
    write_row(sequence, step, at, count, row);
  }
}

}  // namespace
}  // namespace synfire::host::SYNFIRE_MODEL_LEVEL

#endif
