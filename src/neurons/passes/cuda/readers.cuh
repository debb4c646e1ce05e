// Rows of a sequence as a thread reads them, in their stored type.
#ifndef SYNFIRE_NEURONS_PASSES_CUDA_READERS_CUH
#define SYNFIRE_NEURONS_PASSES_CUDA_READERS_CUH

#include "rows.cuh"

#include <synfire/synfire.h>

namespace synfire::cuda {
namespace {

// Rows of a sequence for one thread's neurons, forwards or backwards in time. take() only loads; decoded(), several
// steps later, waits for the memory.
template <class E, class O>
class Reader {
 public:
  using R = Arithmetic<E>;
  using Row = typename RowOf<E, O>::type;
  static constexpr bool zeros_elsewhere = false;

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
  // The condition is that of the whole warp; the next row is the one after it either way.
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
__device__ __forceinline__ Vector<float, O::width> decoded_at_run_time(const Vector<u32, O::width>& row,
                                                                       int32_t dtype) {
  Vector<float, O::width> values;
#pragma unroll
  for (int w = 0; w < O::width; ++w) {
    const auto half = static_cast<uint16_t>(row.e[w]);
    values.e[w] = dtype == SYNFIRE_DTYPE_F32   ? __uint_as_float(row.e[w])
                  : dtype == SYNFIRE_DTYPE_F16 ? decode(F16{half})
                                               : decode(Bf16{half});
  }
  return values;
}

// Elements of 32 bits or 16, known at run time: of two loads into one register, the hardware skips one. With a branch
// instead, no later load would be moved ahead of it.
template <class O>
class Reader<AnyStorage, O> {
 public:
  using R = float;
  using Row = Vector<u32, O::width>;             // an element's bits as they are stored
  static constexpr bool zeros_elsewhere = true;  // take_if() gives zeros where its condition does not hold

  Reader() = default;
  __device__ __forceinline__ Reader(const core::Sequence& sequence, int64_t first_step, int64_t element, int direction)
      : bytes_(sequence.dtype == SYNFIRE_DTYPE_F32 ? 4 : 2), dtype_(sequence.dtype) {
    next_ = static_cast<const char*>(sequence.data) + (first_step * sequence.pitch + element) * bytes_;
    step_ = direction * sequence.pitch * bytes_;
  }

  __device__ __forceinline__ Row take() {
    Row row;
    take_if(true, row);
    return row;
  }
  __device__ __forceinline__ void take_if(bool condition, Row& row) {
    const bool is_wide = dtype_ == SYNFIRE_DTYPE_F32;
#pragma unroll
    for (int w = 0; w < O::width; ++w)
      row.e[w] = load_either(next_ + O::offset(w) * bytes_, condition && is_wide, condition && !is_wide);
    next_ += step_;
  }
  __device__ __forceinline__ void skip(int64_t rows) {
    next_ += rows * step_;
  }
  __device__ __forceinline__ Vector<R, O::width> decoded(const Row& row) const {
    return decoded_at_run_time<O>(row, dtype_);
  }

 private:
  static __device__ __forceinline__ u32 load_either(const char* at, bool wide, bool narrow) {
    u32 bits;
    asm volatile(
        "{ .reg .pred p, q; setp.ne.u32 p, %2, 0; setp.ne.u32 q, %3, 0; mov.u32 %0, 0; "
        "@p ld.global.u32 %0, [%1]; @q ld.global.u16 %0, [%1]; }"
        : "=&r"(bits)
        : "l"(at), "r"(wide ? 1u : 0u), "r"(narrow ? 1u : 0u));
    return bits;
  }

  const char* next_ = nullptr;
  int64_t step_ = 0;
  int32_t bytes_ = 4, dtype_ = SYNFIRE_DTYPE_F32;
};

// The same with a branch in place of skipped loads, for the tape of a kernel whose sequences have a type: it is read
// rarely, and takes no registers from the other paths.
template <class O>
class TapeReader {
 public:
  using Row = Vector<u32, O::width>;

  TapeReader() = default;
  __device__ __forceinline__ TapeReader(const core::Sequence& sequence, int64_t first_step, int64_t element,
                                        int direction)
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
  __device__ __forceinline__ Vector<float, O::width> decoded(const Row& row) const {
    return decoded_at_run_time<O>(row, dtype_);
  }

 private:
  const char* next_ = nullptr;
  int64_t step_ = 0;
  int32_t dtype_ = SYNFIRE_DTYPE_F32;
};

// Reads a tape's H in a kernel with storage E.
template <class E, class O>
struct TapeReaderOf {
  using type = TapeReader<O>;
};
template <class O>
struct TapeReaderOf<double, O> {
  using type = Reader<double, O>;
};
template <class O>
struct TapeReaderOf<AnyStorage, O> {
  using type = Reader<AnyStorage, O>;
};

// A source that may be absent, whose rows are then zeros: bits of zero are zero in every storage type.
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
    if constexpr (Source::zeros_elsewhere)
      source_.take_if(given_ && condition, row);
    else if (given_)
      source_.take_if(condition, row);
    else
      row = {};
  }
  __device__ __forceinline__ auto decoded(const Row& row) const { return source_.decoded(row); }

 private:
  Source source_;
  bool given_ = false;
};

}  // namespace
}  // namespace synfire::cuda

#endif
