// Rows of a sequence on their way from memory, several steps ahead of their use.
#ifndef SYNFIRE_NEURONS_PASSES_CUDA_FLIGHT_CUH
#define SYNFIRE_NEURONS_PASSES_CUDA_FLIGHT_CUH

#include "readers.cuh"

namespace synfire::cuda {
namespace {

// The loads of a chunk of `Ahead` steps: as many rows after it as exist, or none. The last chunk may have fewer steps.
enum class Loads { rows, none, none_partial };
template <Loads Kind>
struct KnownLoads {
  static constexpr Loads value = Kind;
};

// The next `Ahead` rows of a source, in flight. Loads never depend on a branch within a chunk: the compiler does not
// move loads over branches, and waits for loads where branches meet. `AtOnce`: there are no more.
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

  // Calls before(t) ahead of each chunk, step(row, t + u, u, loads, exists) for each of its steps, and after(n), with
  // their number, after it. `Short`: without a copy of the code for a whole last chunk. `Together`, 1 or 2: this many
  // steps of a shorter chunk run without a branch between them, so that their arithmetic overlaps; the last one of an
  // odd number is followed by one that does not exist.
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
  __device__ __forceinline__ void chunk(int64_t t, Step step, bool last_exists = true) {
    const int after = left_ < 2 * Ahead ? static_cast<int>(left_) - Ahead : Ahead;  // rows to load
#pragma unroll
    for (int u = 0; u < Ahead; ++u) {
      const Row now = rows_[u];
      if constexpr (Kind == Loads::rows) source_.take_if(u < after, rows_[u]);
      step(now, t + u, u, KnownLoads<Kind>{}, u < Ahead - 1 || last_exists);
    }
    left_ -= Ahead;
  }

  template <bool Short, int Together, class Step>
  __device__ __forceinline__ void last(int64_t t, Step step) {
    static_assert(Together <= 2 && Ahead % Together == 0);
    // Worth another copy of the code for short chunks only, which are most of a short sequence.
    if constexpr (!Short && Ahead <= 8) {
      if (left_ > Ahead - Together) {
        chunk<Loads::none>(t, step, Together == 1 || left_ == Ahead);
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

}  // namespace
}  // namespace synfire::cuda

#endif
