// Rows of a sequence as a thread writes them, in their stored type.
#ifndef SYNFIRE_NEURONS_PASSES_CUDA_WRITERS_CUH
#define SYNFIRE_NEURONS_PASSES_CUDA_WRITERS_CUH

#include "rows.cuh"

#include <synfire/synfire.h>

namespace synfire::cuda {
namespace {

// `Passing` values leave the second-level cache first, in favour of data that is read again.
template <bool Passing, class T>
__device__ __forceinline__ void store_value(void* at, const T& value) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  if constexpr (Passing && sizeof(T) <= 8) {
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    if constexpr (sizeof(T) == 2) {
      uint16_t half;
      memcpy(&half, &value, sizeof half);
      asm volatile("st.global.L2::cache_hint.u16 [%0], %1, %2;" ::"l"(at), "h"(half), "l"(policy) : "memory");
      return;
    }
    u32 words[2] = {};
    memcpy(words, &value, sizeof value);
    if constexpr (sizeof(T) == 4)
      asm volatile("st.global.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(at), "r"(words[0]), "l"(policy) : "memory");
    if constexpr (sizeof(T) == 8)
      asm volatile("st.global.L2::cache_hint.v2.u32 [%0], {%1, %2}, %3;" ::"l"(at), "r"(words[0]), "r"(words[1]),
                   "l"(policy)
                   : "memory");
    return;
  }
#endif
  *static_cast<T*>(at) = value;
}

template <class E, class O, bool Passing = false>
class Writer {
 public:
  using R = Arithmetic<E>;

  Writer() = default;
  __device__ __forceinline__ Writer(const core::Sequence& sequence, int64_t first_step, int64_t element, int direction)
      : next_(static_cast<E*>(sequence.data) + first_step * sequence.pitch + element),
        step_(direction * sequence.pitch) {}

  __device__ __forceinline__ void put(const Vector<R, O::width>& values, const Owned<O>& owned) {
    const auto row = encoded_row<E, O>(values);
    if constexpr (O::adjacent > 1) {
      if (owned.any()) store_value<Passing>(next_, row);
    } else {
#pragma unroll
      for (int w = 0; w < O::width; ++w)
        if (owned[w]) store_value<Passing>(next_ + O::offset(w), row.e[w]);
    }
    next_ += step_;
  }
  __device__ __forceinline__ void skip(int64_t rows) {
    next_ += rows * step_;
  }

 private:
  E* next_ = nullptr;
  int64_t step_ = 0;
};

template <class O>
class Writer<AnyStorage, O, false> {
 public:
  Writer() = default;
  __device__ __forceinline__ Writer(const core::Sequence& sequence, int64_t first_step, int64_t element, int direction)
      : dtype_(sequence.dtype) {
    const int64_t bytes = dtype_ == SYNFIRE_DTYPE_F32 ? 4 : 2;
    next_ = static_cast<char*>(sequence.data) + (first_step * sequence.pitch + element) * bytes;
    step_ = direction * sequence.pitch * bytes;
  }

  __device__ __forceinline__ void put(const Vector<float, O::width>& values, const Owned<O>& owned) {
    if (dtype_ == SYNFIRE_DTYPE_F32) {
      store<O>(reinterpret_cast<float*>(next_), values, owned);
    } else {
      Vector<uint16_t, O::width> row;
#pragma unroll
      for (int w = 0; w < O::width; ++w)
        row.e[w] = dtype_ == SYNFIRE_DTYPE_F16 ? encode<F16>(values.e[w]).bits : encode<Bf16>(values.e[w]).bits;
      store<O>(reinterpret_cast<uint16_t*>(next_), row, owned);
    }
    next_ += step_;
  }

 private:
  char* next_ = nullptr;
  int64_t step_ = 0;
  int32_t dtype_ = SYNFIRE_DTYPE_F32;
};

// dL/dX, without branches, like the reader's loads.
template <class O>
class Writer<AnyStorage, O, true> {
 public:
  Writer() = default;
  __device__ __forceinline__ Writer(const core::Sequence& sequence, int64_t first_step, int64_t element, int direction)
      : bytes_(sequence.dtype == SYNFIRE_DTYPE_F32 ? 4 : 2), dtype_(sequence.dtype) {
    next_ = static_cast<char*>(sequence.data) + (first_step * sequence.pitch + element) * bytes_;
    step_ = direction * sequence.pitch * bytes_;
  }

  __device__ __forceinline__ void put(const Vector<float, O::width>& values, const Owned<O>& owned) {
    const bool is_wide = dtype_ == SYNFIRE_DTYPE_F32;
#pragma unroll
    for (int w = 0; w < O::width; ++w) {
      const uint16_t narrow =
          dtype_ == SYNFIRE_DTYPE_F16 ? encode<F16>(values.e[w]).bits : encode<Bf16>(values.e[w]).bits;
      store_either(next_ + O::offset(w) * bytes_, owned[w] && is_wide, __float_as_uint(values.e[w]),
                   owned[w] && !is_wide, narrow);
    }
    next_ += step_;
  }
  __device__ __forceinline__ void skip(int64_t rows) {
    next_ += rows * step_;
  }

 private:
  static __device__ __forceinline__ void store_either(char* at, bool is_wide, u32 wide, bool is_narrow,
                                                      uint16_t narrow) {
    asm volatile(
        "{ .reg .pred p, q; setp.ne.u32 p, %1, 0; setp.ne.u32 q, %2, 0; "
        "@p st.global.u32 [%0], %3; @q st.global.u16 [%0], %4; }" ::"l"(at),
        "r"(is_wide ? 1u : 0u), "r"(is_narrow ? 1u : 0u), "r"(wide), "h"(narrow)
        : "memory");
  }

  char* next_ = nullptr;
  int64_t step_ = 0;
  int32_t bytes_ = 4, dtype_ = SYNFIRE_DTYPE_F32;
};

template <class O>
class ByteWriter {
 public:
  ByteWriter() = default;
  __device__ __forceinline__ ByteWriter(const core::Sequence& sequence, int64_t element)
      : next_(static_cast<uint8_t*>(sequence.data) + element), step_(sequence.pitch) {}

  __device__ __forceinline__ void put(u32 bits, const Owned<O>& owned) {
    Vector<uint8_t, O::width> row;
#pragma unroll
    for (int w = 0; w < O::width; ++w) row.e[w] = bits >> w & 1u;
    store<O>(next_, row, owned);
    next_ += step_;
  }

 private:
  uint8_t* next_ = nullptr;
  int64_t step_ = 0;
};

// Time-packed words of one thread's neurons: bit t mod 32, written every 32 steps.
template <class O>
class TimeWords {
 public:
  TimeWords() = default;
  __device__ __forceinline__ TimeWords(const core::Words& words, int64_t element)
      : next_(words ? words.data + element : nullptr), step_(words.pitch) {}

  __device__ __forceinline__ explicit operator bool() const { return next_ != nullptr; }
  __device__ __forceinline__ void put(u32 spikes) {
#pragma unroll
    for (int w = 0; w < O::width; ++w) words_.e[w] |= (spikes >> w & 1u) != 0 ? bit_ : 0u;
    bit_ <<= 1;
  }
  // Called between chunks of steps, which never cross a word.
  __device__ __forceinline__ void finish_full(const Owned<O>& owned) {
    if (bit_ == 0) flush(owned);
  }
  __device__ __forceinline__ void finish(const Owned<O>& owned) {
    if (bit_ != 1u) flush(owned);
  }

 private:
  __device__ __forceinline__ void flush(const Owned<O>& owned) {
    store<O>(next_, words_, owned);
    next_ += step_;
    words_ = {};
    bit_ = 1u;
  }

  u32* next_ = nullptr;
  int64_t step_ = 0;
  Vector<u32, O::width> words_ = {};
  u32 bit_ = 1u;
};

}  // namespace
}  // namespace synfire::cuda

#endif
