// The first loads of a backward in one checkpoint interval.
#ifndef SYNFIRE_NEURONS_PASSES_CUDA_BACKWARD_INTERVAL_CUH
#define SYNFIRE_NEURONS_PASSES_CUDA_BACKWARD_INTERVAL_CUH

#include "flight.cuh"
#include "slopes.cuh"

namespace synfire::cuda {
namespace {

// Rows of dL/dS and of X in flight. 16 take registers that other threads need; 4 are too few (docs/pages/tuning.md).
inline constexpr int backward_ahead = 8;

// dL/dS, which always exists if no other gradient comes in.
template <class Source, bool Maybe>
struct MaybeGiven {
  using type = Source;
};
template <class Source>
struct MaybeGiven<Source, true> {
  using type = Optional<Source>;
};

// True if a thread begins its loads before it knows its parameters, so that it waits for the memory once. The loads
// take registers, which other instances do not have.
template <class Surrogate, class E, class O>
inline constexpr bool begins_early = O::at_once || (O::width > 1 && O::adjacent == 1 && is_same<E, float> &&
                                                    !is_same<Surrogate, AnySurrogate>);

struct NoRows {
  template <class... Arguments>
  __device__ __forceinline__ explicit NoRows(const Arguments&...) {}
};
template <class Rows, bool Early>
struct RowsIf {
  using type = Rows;
};
template <class Rows>
struct RowsIf<Rows, false> {
  using type = NoRows;
};

// The first loads of a checkpoint interval: the state before it, its last rows of dL/dS and, if early, first rows of X.
template <class Model, class E, class O, BackwardInputs Inputs, bool Early>
struct Interval {
  static constexpr int W = O::width;
  using R = Arithmetic<E>;
  static constexpr int n_further = n_further_states<Model>;
  // Fewer if each row is read in several ways: twice as many compile for minutes for compute capability 10.0.
  static constexpr int ahead = O::at_once                         ? short_steps
                               : Inputs != BackwardInputs::spikes ? backward_ahead / 2
                                                                  : backward_ahead;
  using Sequence = Reader<E, O>;
  using Spikes = typename MaybeGiven<Sequence, Inputs != BackwardInputs::spikes>::type;

  struct Further {
    Vector<R, W> of[n_further > 0 ? n_further : 1];
  };

  int64_t first;  // step
  int length;
  Vector<R, W> v;
  Further w;
  Flight<Spikes, ahead, O::at_once> grad_spike;
  typename RowsIf<Flight<Sequence, ahead, O::at_once>, Early>::type x;  // no rows if H is stored

  __device__ __forceinline__ Interval(const operations::BackwardArguments<R>& a, int64_t row, int64_t element,
                                      int64_t number)
      : first(number * checkpoint_interval),
        length(static_cast<int>(a.extents.n_steps - first < checkpoint_interval ? a.extents.n_steps - first
                                                                                : checkpoint_interval)),
        v(load_row_now<O>(a.tape + number * stored_states<Model>(a.rules) * row + element)),
        w(further(a.tape + number * stored_states<Model>(a.rules) * row + element, row, a.rules)),
        grad_spike(spikes(a, element), length),
        x(Sequence(a.x, first, element, 1), a.tape_h && !O::at_once ? 0 : length) {}

 private:
  __device__ __forceinline__ static Further further(const R* checkpoint, int64_t row, [[maybe_unused]] Rules rules) {
    Further w = {};
#pragma unroll
    for (int k = 0; k < n_further; ++k)
      if (!is_ruled<Model> || k + 1 < stored_states<Model>(rules))
        w.of[k] = load_row_now<O>(checkpoint + (k + 1) * row);
    return w;
  }
  __device__ __forceinline__ Spikes spikes(const operations::BackwardArguments<R>& a, int64_t element) const {
    if (!a.grad_spike) return {};
    return Spikes(Sequence(a.grad_spike, first + length - 1, element, -1));
  }
};

}  // namespace
}  // namespace synfire::cuda

#endif
