// Rows of sequences as a thread reads and writes them: its neurons of one step, in the type they are stored in, several
// steps in flight.
#ifndef SYNFIRE_OPERATIONS_NEURON_ROWS_CUH
#define SYNFIRE_OPERATIONS_NEURON_ROWS_CUH

#include "tiles.cuh"

#include <cuda/storage.cuh>

#include <synfire/synfire.h>

namespace synfire::cuda {
namespace {

// ---- W elements of a thread -----------------------------------------------------------------------------------------

template <class R, int W>
struct alignas(sizeof(R) * W) Vector {
  R e[W];
};

template <class O, class R>
__device__ __forceinline__ Vector<R, O::width> load(const R* at) {
  if constexpr (O::adjacent > 1) {
    return *reinterpret_cast<const Vector<R, O::width>*>(at);
  } else {
    Vector<R, O::width> values;
#pragma unroll
    for (int w = 0; w < O::width; ++w) values.e[w] = at[O::offset(w)];
    return values;
  }
}
// At most sixteen bytes per access.
template <class O, class R>
__device__ __forceinline__ void store(R* at, const Vector<R, O::width>& values, const Owned<O>& owned) {
  if constexpr (O::adjacent > 1) {
    constexpr int part = O::width * static_cast<int>(sizeof(R)) <= 16 ? O::width : 16 / static_cast<int>(sizeof(R));
    if (!owned.any()) return;
#pragma unroll
    for (int w = 0; w < O::width; w += part) {
      Vector<R, part> some;
#pragma unroll
      for (int k = 0; k < part; ++k) some.e[k] = values.e[w + k];
      *reinterpret_cast<Vector<R, part>*>(at + w) = some;
    }
  } else {
#pragma unroll
    for (int w = 0; w < O::width; ++w)
      if (owned[w]) at[O::offset(w)] = values.e[w];
  }
}

// A load under a condition that is the same for the whole warp, without a branch, which the compiler would not move
// other loads over. Where the condition does not hold, the value is none. The compiler keeps these loads in the order
// in which they are written, so that what is loaded first arrives first.
template <int Offset, class T>
__device__ __forceinline__ void load_if(bool condition, const T* at, T& value) {
  static_assert(sizeof(T) == 2 || sizeof(T) == 4 || sizeof(T) == 8 || sizeof(T) == 16);
  constexpr int bytes = Offset * static_cast<int>(sizeof(T));
  const u32 wanted = condition ? 1u : 0u;
  if constexpr (sizeof(T) == 2) {
    uint16_t half;
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.u16 %0, [%1 + %3]; }"
                 : "=h"(half)
                 : "l"(at), "r"(wanted), "n"(bytes));
    memcpy(&value, &half, sizeof half);
  } else {
    u32 words[sizeof(T) / 4];
    if constexpr (sizeof(T) == 4)
      asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; @p ld.global.u32 %0, [%1 + %3]; }"
                   : "=r"(words[0])
                   : "l"(at), "r"(wanted), "n"(bytes));
    else if constexpr (sizeof(T) == 8)
      asm volatile("{ .reg .pred p; setp.ne.u32 p, %3, 0; @p ld.global.v2.u32 {%0, %1}, [%2 + %4]; }"
                   : "=r"(words[0]), "=r"(words[1])
                   : "l"(at), "r"(wanted), "n"(bytes));
    else
      asm volatile("{ .reg .pred p; setp.ne.u32 p, %5, 0; @p ld.global.v4.u32 {%0, %1, %2, %3}, [%4 + %6]; }"
                   : "=r"(words[0]), "=r"(words[1]), "=r"(words[2]), "=r"(words[3])
                   : "l"(at), "r"(wanted), "n"(bytes));
    memcpy(&value, words, sizeof value);
  }
}
// A load that begins here, before whatever its value is not needed for.
template <class T>
__device__ __forceinline__ T load_now(const T* at) {
  T value;
  load_if<0>(true, at, value);
  return value;
}

// Calls f with the number of each neuron of a thread, known at compile time.
template <int W>
struct Index {
  static constexpr int value = W;
};
template <int W, class F>
__device__ __forceinline__ void for_each_neuron(F f) {
  if constexpr (W > 1) for_each_neuron<W - 1>(f);
  f(Index<W - 1>{});
}

template <class O, class R>
__device__ __forceinline__ void load_row_if(bool condition, const R* at, Vector<R, O::width>& values) {
  if constexpr (O::adjacent > 1) {
    static_assert(O::width * sizeof(R) <= 16, "one access");
    load_if<0>(condition, reinterpret_cast<const Vector<R, O::width>*>(at), values);
  } else {
    for_each_neuron<O::width>([&](auto w) {
      constexpr int w_value = decltype(w)::value;
      load_if<w_value * warp_lanes>(condition, at, values.e[w_value]);
    });
  }
}
template <class O, class R>
__device__ __forceinline__ Vector<R, O::width> load_row_now(const R* at) {
  Vector<R, O::width> values;
  load_row_if<O>(true, at, values);
  return values;
}

// ---- a row between load and use, and between use and store
// ------------------------------------------------------------

// In registers: 16-bit elements that lie side by side in pairs, as the conversion instructions take them.
template <class E, class O>
inline constexpr bool in_pairs = sizeof(E) == 2 && O::adjacent % 2 == 0;
template <class E, class O, bool Pairs = in_pairs<E, O>>
struct RowOf {
  using type = Vector<E, O::width>;
};
template <class E, class O>
struct RowOf<E, O, true> {
  using type = Vector<u32, O::width / 2>;
};

template <class E>
__device__ __forceinline__ float2 decode_pair(u32 pair) {
  if constexpr (is_same<E, F16>)
    return {f32_of_f16(static_cast<uint16_t>(pair)), f32_of_f16(static_cast<uint16_t>(pair >> 16))};
  else
    return {__uint_as_float(pair << 16), __uint_as_float(pair & 0xFFFF0000u)};
}
template <class E>
__device__ __forceinline__ u32 encode_pair(float low, float high) {
  return is_same<E, F16> ? f16_pair(low, high) : bf16_pair(low, high);
}

template <class E, class O>
__device__ __forceinline__ Vector<Arithmetic<E>, O::width> decoded_row(const typename RowOf<E, O>::type& row) {
  constexpr int W = O::width;
  Vector<Arithmetic<E>, W> values;
  if constexpr (in_pairs<E, O>) {
#pragma unroll
    for (int w = 0; w < W; w += 2) {
      const float2 pair = decode_pair<E>(row.e[w / 2]);
      values.e[w] = pair.x;
      values.e[w + 1] = pair.y;
    }
  } else {
#pragma unroll
    for (int w = 0; w < W; ++w) values.e[w] = decode(row.e[w]);
  }
  return values;
}

template <class E, class O>
__device__ __forceinline__ typename RowOf<E, O>::type encoded_row(const Vector<Arithmetic<E>, O::width>& values) {
  constexpr int W = O::width;
  typename RowOf<E, O>::type row;
  if constexpr (in_pairs<E, O>) {
#pragma unroll
    for (int w = 0; w < W; w += 2) row.e[w / 2] = encode_pair<E>(values.e[w], values.e[w + 1]);
  } else {
#pragma unroll
    for (int w = 0; w < W; ++w) row.e[w] = encode<E>(values.e[w]);
  }
  return row;
}

// ---- reading --------------------------------------------------------------------------------------------------------

// Rows of a sequence for one thread's neurons, one after the other, forwards or backwards in time. take() only loads;
// decoded(), several steps later, waits for the memory.
template <class E, class O>
class Reader {
 public:
  using R = Arithmetic<E>;
  using Row = typename RowOf<E, O>::type;

  Reader() = default;
  __device__ __forceinline__ Reader(const core::Sequence& sequence, int64_t first_step, int64_t element, int direction)
      : next_(static_cast<const E*>(sequence.data) + first_step * sequence.pitch + element),
        step_(direction * sequence.pitch) {}

  __device__ __forceinline__ Row take() {
    Row row;
    if constexpr (O::adjacent > 1) {
      row = *reinterpret_cast<const Row*>(next_);
    } else {
#pragma unroll
      for (int w = 0; w < O::width; ++w) row.e[w] = next_[O::offset(w)];
    }
    next_ += step_;
    return row;
  }
  // Under a condition of the whole warp; the next row is the one after it either way.
  __device__ __forceinline__ void take_if(bool condition, Row& row) {
    if constexpr (in_pairs<E, O>)
      load_if<0>(condition, reinterpret_cast<const Row*>(next_), row);
    else
      load_row_if<O>(condition, next_, row);
    next_ += step_;
  }
  __device__ __forceinline__ void skip(int64_t rows) {
    next_ += rows * step_;
  }
  __device__ __forceinline__ Vector<R, O::width> decoded(const Row& row) const {
    return decoded_row<E, O>(row);
  }

 private:
  const E* next_ = nullptr;
  int64_t step_ = 0;
};

template <class O>
class Reader<AnyStorage, O> {
 public:
  using R = float;
  using Row = Vector<u32, O::width>;  // an element's bits as they are stored

  Reader() = default;
  __device__ __forceinline__ Reader(const core::Sequence& sequence, int64_t first_step, int64_t element, int direction)
      : dtype_(sequence.dtype) {
    const int64_t bytes = sequence.dtype == SYNFIRE_DTYPE_F32 ? 4 : 2;
    next_ = static_cast<const char*>(sequence.data) + (first_step * sequence.pitch + element) * bytes;
    step_ = direction * sequence.pitch * bytes;
  }

  __device__ __forceinline__ Row take() {
    Row row;
    if (dtype_ == SYNFIRE_DTYPE_F32) {
      row = load<O>(reinterpret_cast<const u32*>(next_));
    } else {
      const auto narrow = load<O>(reinterpret_cast<const uint16_t*>(next_));
#pragma unroll
      for (int w = 0; w < O::width; ++w) row.e[w] = narrow.e[w];
    }
    next_ += step_;
    return row;
  }
  __device__ __forceinline__ void take_if(bool condition, Row& row) {
    if (condition)
      row = take();
    else
      next_ += step_;
  }
  __device__ __forceinline__ void skip(int64_t rows) {
    next_ += rows * step_;
  }
  __device__ __forceinline__ Vector<R, O::width> decoded(const Row& row) const {
    Vector<R, O::width> values;
#pragma unroll
    for (int w = 0; w < O::width; ++w) {
      const auto half = static_cast<uint16_t>(row.e[w]);
      values.e[w] = dtype_ == SYNFIRE_DTYPE_F32   ? __uint_as_float(row.e[w])
                    : dtype_ == SYNFIRE_DTYPE_F16 ? decode(F16{half})
                                                  : decode(Bf16{half});
    }
    return values;
  }

 private:
  const char* next_ = nullptr;
  int64_t step_ = 0;
  int32_t dtype_ = SYNFIRE_DTYPE_F32;
};

// One that may not be given, whose rows are then zeros: bits of zero are zero in every storage type.
template <class Source>
class Optional {
 public:
  using Row = typename Source::Row;

  Optional() = default;
  __device__ __forceinline__ explicit Optional(const Source& source) : source_(source), given_(true) {}

  __device__ __forceinline__ explicit operator bool() const { return given_; }
  __device__ __forceinline__ Row take() {
    if (given_) return source_.take();
    return {};
  }
  __device__ __forceinline__ void take_if(bool condition, Row& row) {
    if (given_)
      source_.take_if(condition, row);
    else
      row = {};
  }
  __device__ __forceinline__ auto decoded(const Row& row) const { return source_.decoded(row); }

 private:
  Source source_;
  bool given_ = false;
};

// ---- in flight ------------------------------------------------------------------------------------------------------

// What a chunk of `Ahead` steps loads: those of as many rows after it that exist, or none. The last chunk may have
// fewer steps.
enum class Loads { rows, none, none_partial };
template <Loads Kind>
struct KnownLoads {
  static constexpr Loads value = Kind;
};

// The next `Ahead` rows of a source, on their way from memory. Loads never depend on a branch within a chunk: the
// compiler does not move loads over branches (39.6 us for 16 steps, 56.4 for 15: H200, f32, N = 2,097,152), and where
// branches meet, it waits for what they loaded (backward, T = 16: 180 us instead of 114).
// `AtOnce`: there are no more than these.
template <class Source, int Ahead, bool AtOnce = false>
class Flight {
 public:
  using Row = typename Source::Row;

  __device__ __forceinline__ Flight(const Source& source, int64_t n_rows) : source_(source), left_(n_rows) {
    const int present = n_rows < Ahead ? static_cast<int>(n_rows) : Ahead;
#pragma unroll
    for (int u = 0; u < Ahead; ++u) source_.take_if(u < present, rows_[u]);
  }

  __device__ __forceinline__ auto decoded(const Row& row) const {
    return source_.decoded(row);
  }

  // `Short`: without a copy of the code for a last chunk that is whole, where its time does not matter.
  // Calls before(t) ahead of each chunk, step(row, t + u, u, loads, exists) for each of its steps, and after(n), with
  // their number, behind it. `Together`: in a shorter chunk, so many steps run without a branch between them, so that
  // their arithmetic overlaps; of the last ones, up to Together - 1 need not exist.
  template <bool Short = false, int Together = 1, class Before, class Step, class After>
  __device__ __forceinline__ void run(Before before, Step step, After after) {
    int64_t t = 0;
    if constexpr (!AtOnce) {
      for (; left_ > Ahead; t += Ahead) {
        before(t);
        chunk<Loads::rows>(t, step);
        after(Ahead);
      }
    }
    before(t);
    const int n = static_cast<int>(left_);
    last<Short, Together>(t, step);
    after(n);
  }

  // The same with one copy of the code of before(), where it is long.
  template <class Before, class Step>
  __device__ __forceinline__ void run_before(Before before, Step step) {
    for (int64_t t = 0; left_ > 0; t += Ahead) {
      before(t);
      if (!AtOnce && left_ > Ahead)
        chunk<Loads::rows>(t, step);
      else
        last<false, 1>(t, step);
    }
  }

 private:
  template <Loads Kind, class Step>
  __device__ __forceinline__ void chunk(int64_t t, Step step) {
    const int after = left_ < 2 * Ahead ? static_cast<int>(left_) - Ahead : Ahead;  // rows to load
#pragma unroll
    for (int u = 0; u < Ahead; ++u) {
      const Row now = rows_[u];
      if constexpr (Kind == Loads::rows) source_.take_if(u < after, rows_[u]);
      step(now, t + u, u, KnownLoads<Kind>{}, true);
    }
    left_ -= Ahead;
  }

  template <bool Short, int Together, class Step>
  __device__ __forceinline__ void last(int64_t t, Step step) {
    static_assert(Ahead % Together == 0);
    // Another copy of the code is worth it for short chunks only, which are most of a short sequence.
    if constexpr (!Short && Ahead <= 8) {
      if (left_ == Ahead) {
        chunk<Loads::none>(t, step);
        return;
      }
    }
    const int present = static_cast<int>(left_);
#pragma unroll
    for (int u = 0; u < Ahead; ++u) {
      if (u % Together == 0 && u >= present) break;
      step(rows_[u], t + u, u, KnownLoads<Loads::none_partial>{}, Together == 1 || u < present);
    }
    left_ = 0;
  }

  Source source_;
  int64_t left_;
  Row rows_[Ahead];
};

// ---- writing --------------------------------------------------------------------------------------------------------

// Stores a value. `Passing` ones leave the second-level cache first, in favour of data that is read again.
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

template <class O, bool Passing>
class Writer<AnyStorage, O, Passing> {
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

// Dense spikes in u8.
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
  // Called between chunks of steps, which never straddle a word.
  __device__ __forceinline__ void finish_full(const Owned<O>& owned) {
    if (bit_ == 0) flush(owned);
  }
  // The last word, full or not.
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
