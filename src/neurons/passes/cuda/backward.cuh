// The BPTT kernel.
#ifndef SYNFIRE_NEURONS_PASSES_CUDA_BACKWARD_CUH
#define SYNFIRE_NEURONS_PASSES_CUDA_BACKWARD_CUH

#include "backward_thread.cuh"
#include "linear_backward.cuh"

namespace synfire::cuda {
namespace {

// Long unrolled code, so only for the common case: one variable, f32, a surrogate with its own instance.
template <class Model, class Surrogate, class E, class O, BackwardInputs Inputs>
inline constexpr bool runs_deep = O::width == 1 && Inputs == BackwardInputs::spikes&& n_further_states<Model> == 0 &&
                                  is_same<E, float> && !is_same<Surrogate, AnySurrogate>;

// Blocks per multiprocessor. f32 is bound by the memory, and more warps make it slower; 16-bit storage is bound by
// instructions, and more warps make it faster. Whole intervals of one neuron per thread and rare surrogates in f64 take
// all registers that they can get, and are faster with fewer (docs/pages/tuning.md, "Measured constants").
template <class Surrogate, class E, class O>
inline constexpr bool takes_many_registers = O::width == 1 &&
                                             (is_same<E, float> || (is_double<E> && is_same<Surrogate, AnySurrogate>));
template <class Surrogate, class E, class O>
inline constexpr int backward_blocks_at_least = takes_many_registers<Surrogate, E, O> ? 6
                                                : O::width == 1                       ? 1
                                                : sizeof(E) == 2 && O::adjacent > 1   ? 12
                                                                                      : 10;

template <class Model, class Surrogate, class E, class O, BackwardInputs Inputs>
__global__ void __launch_bounds__(backward_threads, backward_blocks_at_least<Surrogate, E, O>)
    backward(const __grid_constant__ BackwardLaunch<Arithmetic<E>> launch) {
  wait_for_previous();
  if (launch.next_begins_early) let_next_begin();
  extern __shared__ __align__(16) unsigned char shared[];
  using R = Arithmetic<E>;
  constexpr bool early = begins_early<Surrogate, E, O>;
  using Walked = Interval<Model, E, O, Inputs, early>;
  const operations::BackwardArguments<R>& a = launch.arguments;
  // Starts with the last neurons, whose X the forward left in the second-level cache.
  const int64_t row = launch.tiles.elements, tile = tile_of(gridDim.x - 1 - blockIdx.x);
  if (tile >= launch.tiles.count) return;
  const Range range = range_of<O>(tile, row);
  const int64_t window = window_of<O>(range, row), element = element_in<O>(window, row);
  const Switches<R> switches(*a.parameters);
  constexpr int n_constants = first_surrogate_constant<Model> + Surrogate::n_constants;
  const Constants<R, n_constants, O, false> constants(*a.parameters);
  auto* h = reinterpret_cast<Vector<R, O::width>*>(shared);
  const int64_t last = (a.extents.n_steps - 1) / checkpoint_interval;

  const auto run_in = [&](auto& thread, auto& walked) {
    if constexpr (early)
      thread.run(walked, last);
    else
      thread.run(last);
  };
  typename RowsIf<Walked, early>::type walked(a, row, element, last);
  const Owned<O> owned = owned_in<O>(range, window, switches.active);
  if (!owned.any()) return;
  const Rules rules = a.rules;
  // One body for shared constants and constants per neuron, where the code is short beside its loads. Adjacent neurons
  // in f32 have two, because selecting the constants takes longer.
  if constexpr (O::at_once && !(is_same<E, float> && O::adjacent > 1)) {
    const Constants<R, n_constants, O, true> own(constants, switches.per_neuron, *a.parameters, a.extents.n_neurons,
                                                 element);
    BackwardThread<Model, Surrogate, E, O, true, Rules, Inputs>(launch, element, owned, own, h).run(walked, last);
    return;
  }
  if (switches.per_neuron) {
    const Constants<R, n_constants, O, true> own(*a.parameters, a.extents.n_neurons, element);
    BackwardThread<Model, Surrogate, E, O, true, Rules, Inputs> thread(launch, element, owned, own, h);
    run_in(thread, walked);
    return;
  }
  constexpr bool memory_binds = O::at_once || (is_same<E, float> && O::adjacent == 1);
  if constexpr (Inputs == BackwardInputs::spikes && O::width > 1 && !memory_binds &&
                !is_same<Surrogate, AnySurrogate>) {
    if (!rules.soft_reset && !rules.detach_reset && !a.tape_h) {
      BackwardThread<Model, Surrogate, E, O, false, HardAttached, Inputs> thread(launch, element, owned, constants, h);
      run_in(thread, walked);
      return;
    }
  }
  BackwardThread<Model, Surrogate, E, O, false, Rules, Inputs> thread(launch, element, owned, constants, h);
  if constexpr (runs_deep<Model, Surrogate, E, O, Inputs>) {
    if (a.extents.n_steps > deep_from && !a.tape_h) {
      thread.run_deep();
      return;
    }
  }
  run_in(thread, walked);
}

}  // namespace
}  // namespace synfire::cuda

#endif
