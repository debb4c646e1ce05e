// Shared by the kernels of the passes: vectors of neighbouring elements, which neurons a thread owns, its constants.
// One thread owns a few neighbouring neurons over all of T, the state stays in registers, rows of the input are loaded
// several steps ahead. The mathematics is that of model/, the same text the host compiles.
#ifndef SYNFIRE_OPERATIONS_NEURON_KERNELS_CUH
#define SYNFIRE_OPERATIONS_NEURON_KERNELS_CUH

#include "kernels.hpp"

#include <cuda/storage.cuh>

#include <synfire/synfire.h>
#include <synfire/model/models.hpp>

namespace synfire::cuda {
namespace {

using namespace synfire::model;

// ---- vectors of W neighbouring elements -----------------------------------------------------------------------------

template <class R, int W>
struct alignas(sizeof(R) * W) Vector {
  R e[W];
};

template <int W, class R>
__device__ __forceinline__ Vector<R, W> load(const R* at) {
  return *reinterpret_cast<const Vector<R, W>*>(at);
}
template <int W, class R>
__device__ __forceinline__ void store(R* at, const Vector<R, W>& value) {
  *reinterpret_cast<Vector<R, W>*>(at) = value;
}

// At most sixteen bytes per access.
template <int W>
__device__ __forceinline__ void store_words(u32* at, const Vector<u32, W>& value) {
  constexpr int part = W < 4 ? W : 4;
#pragma unroll
  for (int w = 0; w < W; w += part) {
    Vector<u32, part> words;
#pragma unroll
    for (int k = 0; k < part; ++k) words.e[k] = value.e[w + k];
    store<part>(at + w, words);
  }
}

// The register layout of one thread's row between load and use: 16-bit elements in pairs, as the conversion
// instructions take them.
template <class E, int W>
inline constexpr bool in_pairs = sizeof(E) == 2 && W % 2 == 0;
template <class E, int W, bool Pairs = in_pairs<E, W>>
struct RowOf {
  using type = Vector<E, W>;
};
template <class E, int W>
struct RowOf<E, W, true> {
  using type = Vector<u32, W / 2>;
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

template <class E, int W>
__device__ __forceinline__ Vector<Arithmetic<E>, W> decoded_row(const typename RowOf<E, W>::type& row) {
  Vector<Arithmetic<E>, W> values;
  if constexpr (in_pairs<E, W>) {
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

template <class E, int W>
__device__ __forceinline__ typename RowOf<E, W>::type encoded_row(const Vector<Arithmetic<E>, W>& values) {
  typename RowOf<E, W>::type row;
  if constexpr (in_pairs<E, W>) {
#pragma unroll
    for (int w = 0; w < W; w += 2) row.e[w / 2] = encode_pair<E>(values.e[w], values.e[w + 1]);
  } else {
#pragma unroll
    for (int w = 0; w < W; ++w) row.e[w] = encode<E>(values.e[w]);
  }
  return row;
}

// Rows of a sequence for one thread's neurons, one after the other, forwards or backwards in time. take() only loads;
// decoded(), several steps later, waits for the memory.
template <class E, int W>
class Reader {
 public:
  using R = Arithmetic<E>;
  using Row = typename RowOf<E, W>::type;

  Reader() = default;
  __device__ __forceinline__ Reader(const core::Sequence& sequence, int64_t first_step, int64_t element, int direction)
      : next_(static_cast<const E*>(sequence.data) + first_step * sequence.pitch + element),
        step_(direction * sequence.pitch) {}

  __device__ __forceinline__ Row take() {
    const Row row = *reinterpret_cast<const Row*>(next_);
    next_ += step_;
    return row;
  }
  __device__ __forceinline__ Vector<R, W> decoded(const Row& row) const { return decoded_row<E, W>(row); }
  // Past the last row: from here on take() returns that row again.
  __device__ __forceinline__ void hold() {
    next_ -= step_;
    step_ = 0;
  }

 private:
  const E* next_ = nullptr;
  int64_t step_ = 0;
};

template <int W>
class Reader<AnyStorage, W> {
 public:
  using R = float;
  using Row = Vector<u32, W>;  // an element's bits as they are stored

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
      row = load<W>(reinterpret_cast<const u32*>(next_));
    } else {
      const auto narrow = load<W>(reinterpret_cast<const uint16_t*>(next_));
#pragma unroll
      for (int w = 0; w < W; ++w) row.e[w] = narrow.e[w];
    }
    next_ += step_;
    return row;
  }
  __device__ __forceinline__ Vector<R, W> decoded(const Row& row) const {
    Vector<R, W> values;
#pragma unroll
    for (int w = 0; w < W; ++w) {
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

// Stores a row. `Passing` rows leave the second-level cache first, in favour of data that is read again.
template <bool Passing, class Row>
__device__ __forceinline__ void store_row(void* at, const Row& row) {
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800
  if constexpr (Passing && (sizeof(Row) == 4 || sizeof(Row) == 8)) {
    uint64_t policy;
    asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
    u32 words[2] = {};
    memcpy(words, &row, sizeof row);
    if constexpr (sizeof(Row) == 4)
      asm volatile("st.global.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(at), "r"(words[0]), "l"(policy) : "memory");
    else
      asm volatile("st.global.L2::cache_hint.v2.u32 [%0], {%1, %2}, %3;" ::"l"(at), "r"(words[0]), "r"(words[1]),
                   "l"(policy)
                   : "memory");
    return;
  }
#endif
  *static_cast<Row*>(at) = row;
}

template <class E, int W, bool Passing = false>
class Writer {
 public:
  using R = Arithmetic<E>;

  Writer() = default;
  __device__ __forceinline__ Writer(const core::Sequence& sequence, int64_t first_step, int64_t element, int direction)
      : next_(static_cast<E*>(sequence.data) + first_step * sequence.pitch + element),
        step_(direction * sequence.pitch) {}

  __device__ __forceinline__ void put(const Vector<R, W>& values, bool writes) {
    if (writes) store_row<Passing>(next_, encoded_row<E, W>(values));
    next_ += step_;
  }

 private:
  E* next_ = nullptr;
  int64_t step_ = 0;
};

template <int W, bool Passing>
class Writer<AnyStorage, W, Passing> {
 public:
  Writer() = default;
  __device__ __forceinline__ Writer(const core::Sequence& sequence, int64_t first_step, int64_t element, int direction)
      : dtype_(sequence.dtype) {
    const int64_t bytes = dtype_ == SYNFIRE_DTYPE_F32 ? 4 : 2;
    next_ = static_cast<char*>(sequence.data) + (first_step * sequence.pitch + element) * bytes;
    step_ = direction * sequence.pitch * bytes;
  }

  __device__ __forceinline__ void put(const Vector<float, W>& values, bool writes) {
    if (writes) {
      if (dtype_ == SYNFIRE_DTYPE_F32) {
        store<W>(reinterpret_cast<float*>(next_), values);
      } else {
        Vector<uint16_t, W> row;
#pragma unroll
        for (int w = 0; w < W; ++w)
          row.e[w] = dtype_ == SYNFIRE_DTYPE_F16 ? encode<F16>(values.e[w]).bits : encode<Bf16>(values.e[w]).bits;
        store<W>(reinterpret_cast<uint16_t*>(next_), row);
      }
    }
    next_ += step_;
  }

 private:
  char* next_ = nullptr;
  int64_t step_ = 0;
  int32_t dtype_ = SYNFIRE_DTYPE_F32;
};

// Dense spikes in u8.
template <int W>
class ByteWriter {
 public:
  ByteWriter() = default;
  __device__ __forceinline__ ByteWriter(const core::Sequence& sequence, int64_t element)
      : next_(static_cast<uint8_t*>(sequence.data) + element), step_(sequence.pitch) {}

  __device__ __forceinline__ void put(u32 bits, bool writes) {
    if (writes) {
      Vector<uint8_t, W> row;
#pragma unroll
      for (int w = 0; w < W; ++w) row.e[w] = bits >> w & 1u;
      store<W>(next_, row);
    }
    next_ += step_;
  }

 private:
  uint8_t* next_ = nullptr;
  int64_t step_ = 0;
};

// ---- which neurons a thread owns ------------------------------------------------------------------------------------

// Threads without neurons read those of the last thread that has some, and write nothing: they take part in warp votes,
// and loads need no condition.
struct Position {
  bool writes;
  int64_t element;  // first own element in a row [B, N]
  int64_t lane;     // first own lane, which says where packed bits go
};

template <int W>
__device__ __forceinline__ Position position(const Lanes& lanes, const core::Extents& extents, unsigned block) {
  const int64_t lane = (static_cast<int64_t>(block) * blockDim.x + threadIdx.x) * W;
  if (lanes.padded_neurons == 0) {
    const bool inside = lane < lanes.count;
    return {inside, inside ? lane : lanes.count - W, lane};
  }
  const int64_t row = lane / lanes.padded_neurons;
  const int64_t neuron = lane - row * lanes.padded_neurons;
  const bool inside = lane < lanes.count && neuron < extents.n_neurons;
  return {inside, inside ? row * extents.n_neurons + neuron : 0, lane};
}

// The constants of a thread's neurons: one set for all of them, or one each.
template <class R, int Count, int W, bool PerNeuron>
struct Constants {
  static constexpr int sets = PerNeuron ? W : 1;
  R values[sets][Count];

  __device__ __forceinline__ Constants(const core::ParameterBlock<R>& block, const core::Extents& extents,
                                       const Position& at) {
#pragma unroll
    for (int w = 0; w < sets; ++w)
#pragma unroll
      for (int k = 0; k < Count; ++k)
        values[w][k] = PerNeuron ? block.per_neuron[k * extents.n_neurons + (at.element + w) % extents.n_neurons]
                                 : block.shared[k];
  }
  __device__ __forceinline__ const R* operator[](int w) const {
    return values[PerNeuron ? w : 0];
  }
};

// How many variables per step a backward stores in shared memory: H, and the further variables before the step if they
// are needed.
template <class Model>
constexpr int backward_variables(BackwardInputs inputs) {
  return slope_reads_w<Model> || inputs == BackwardInputs::parameters ? Model::n_states : 1;
}

// ---- instances ------------------------------------------------------------------------------------------------------

template <int W>
struct Width {
  static constexpr int value = W;
};

}  // namespace
}  // namespace synfire::cuda

#endif
