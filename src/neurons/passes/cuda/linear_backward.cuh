// The BPTT kernel of models that never fire.
#ifndef SYNFIRE_NEURONS_PASSES_CUDA_LINEAR_BACKWARD_CUH
#define SYNFIRE_NEURONS_PASSES_CUDA_LINEAR_BACKWARD_CUH

#include "flight.cuh"
#include "passes_kernels.cuh"
#include "writers.cuh"

namespace synfire::cuda {
namespace {

// Rows in flight, by the reasons of forward_ahead (forward.cuh).
template <class E, class O>
inline constexpr int linear_ahead = O::width == 1 && !is_same<E, AnyStorage> && !is_double<E> ? 32 : 8;

// One thread's neurons, without gradients of parameters: slopes are the same at every step, so neither H nor X is read.
template <class Model, class E, class O, bool PerNeuron>
class LinearBackwardThread {
 public:
  static constexpr int W = O::width;
  using R = Arithmetic<E>;
  using Input = Optional<Reader<E, O>>;
  using Row = typename Input::Row;
  static constexpr int n_constants = first_model_constant + Model::n_constants;
  using Rows = Flight<Input, linear_ahead<E, O>>;

  struct Start {
    Constants<R, n_constants, O, false> constants;
    Vector<R, W> carried;
    Rows rows;

    __device__ __forceinline__ Start(const operations::BackwardArguments<R>& a, int64_t element)
        : constants(*a.parameters),
          carried{},
          rows(a.grad_v_seq ? Input(Reader<E, O>(a.grad_v_seq, a.extents.n_steps - 1, element, -1)) : Input(),
               a.extents.n_steps) {
      if (a.grad_v_final) carried = load_row_now<O>(a.grad_v_final + element);
    }
  };

  template <class AnyStart>
  __device__ __forceinline__ LinearBackwardThread(const BackwardLaunch<R>& launch, int64_t element,
                                                  const Owned<O>& owned, const AnyStart& start,
                                                  const Constants<R, n_constants, O, PerNeuron>& constants)
      : a_(launch.arguments),
        element_(element),
        owned_(owned),
        constants_(constants),
        rows_(start.rows),
        carried_(start.carried) {
    if (a_.grad_x) grad_x_ = Writer<E, O, true>(a_.grad_x, a_.extents.n_steps - 1, element, -1);
  }

  __device__ __forceinline__ void run() {
    rows_.template run<PerNeuron>([](int64_t) {}, [this](const Row& row, int64_t, int, auto, bool) { step(row); },
                                  [](int) {});
    if (a_.grad_v_init) store<O>(a_.grad_v_init + element_, carried_, owned_);
  }

 private:
  __device__ __forceinline__ void step(const Row& row) {
    Vector<R, W> grad_v = rows_.decoded(row), grad_x;
#pragma unroll
    for (int w = 0; w < W; ++w) {
      if (!a_.grad_v_seq) grad_v.e[w] = R(-0.0);  // adding −0 changes no number
      const Incoming<R> incoming = {R(0), grad_v.e[w] + carried_.e[w], {R(0)}};
      const StepGradient<R> step =
          backward_step<Model>(constants_[w], a_.rules, State<R>{R(0), {R(0)}}, R(0), R(0), R(0), incoming);
      grad_x.e[w] = step.x;
      carried_.e[w] = step.before.v;
    }
    if (a_.grad_x) grad_x_.put(grad_x, owned_);
  }

  const operations::BackwardArguments<R>& a_;
  const int64_t element_;
  const Owned<O> owned_;
  const Constants<R, n_constants, O, PerNeuron> constants_;
  Rows rows_;
  Writer<E, O, true> grad_x_;
  Vector<R, W> carried_;
};

template <class Model, class E, class O>
__global__ void __launch_bounds__(backward_threads)
    linear_backward(const __grid_constant__ BackwardLaunch<Arithmetic<E>> launch) {
  wait_for_previous();
  if (launch.next_begins_early) let_next_begin();
  using R = Arithmetic<E>;
  using Shared = LinearBackwardThread<Model, E, O, false>;
  const operations::BackwardArguments<R>& a = launch.arguments;
  const int64_t row = launch.tiles.elements, tile = tile_of(gridDim.x - 1 - blockIdx.x);
  if (tile >= launch.tiles.count) return;
  const Range range = range_of<O>(tile, row);
  const int64_t window = window_of<O>(range, row), element = element_in<O>(window, row);
  const Switches<R> switches(*a.parameters);
  const typename Shared::Start start(a, element);
  const Owned<O> owned = owned_in<O>(range, window, switches.active);
  if (!owned.any()) return;
  if (switches.per_neuron) {
    const Constants<R, Shared::n_constants, O, true> own(*a.parameters, a.extents.n_neurons, element);
    LinearBackwardThread<Model, E, O, true>(launch, element, owned, start, own).run();
    return;
  }
  Shared(launch, element, owned, start, start.constants).run();
}

}  // namespace
}  // namespace synfire::cuda

#endif
