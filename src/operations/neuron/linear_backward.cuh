// The BPTT kernel of models that never fire.
#ifndef SYNFIRE_OPERATIONS_NEURON_LINEAR_BACKWARD_CUH
#define SYNFIRE_OPERATIONS_NEURON_LINEAR_BACKWARD_CUH

#include "kernels.cuh"

namespace synfire::cuda {
namespace {

// One thread's neurons, backward through time, without gradients of parameters: the slopes are the same at every step,
// so neither H nor X is read.
template <class Model, class E, class O, bool PerNeuron, int Ahead>
class LinearBackwardThread {
 public:
  static constexpr int W = O::width;
  using R = Arithmetic<E>;
  using Input = Optional<Reader<E, O>>;
  using Row = typename Input::Row;

  __device__ __forceinline__ LinearBackwardThread(const BackwardLaunch<R>& launch, const Place<O>& at)
      : a_(launch.arguments), at_(at), constants_(*a_.parameters, a_.extents, at.element) {
    carried_ = {};
    if (a_.grad_v_final) carried_ = load<O>(a_.grad_v_final + at.element);
    const int64_t last = a_.extents.n_steps - 1;
    if (a_.grad_v_seq) grad_v_ = Input(Reader<E, O>(a_.grad_v_seq, last, at.element, -1));
    if (a_.grad_x) grad_x_ = Writer<E, O, true>(a_.grad_x, last, at.element, -1);
  }

  __device__ __forceinline__ void run() {
    Flight<Input, Ahead> rows(grad_v_, a_.extents.n_steps);
    rows.run([](int64_t) {}, [this](const Row& row, int64_t, int, auto) { step(row); }, [] {});
    if (a_.grad_v_init) store<O>(a_.grad_v_init + at_.element, carried_, at_.owned);
  }

 private:
  __device__ __forceinline__ void step(const Row& row) {
    Vector<R, W> grad_v = grad_v_.decoded(row), grad_x;
#pragma unroll
    for (int w = 0; w < W; ++w) {
      if (!a_.grad_v_seq) grad_v.e[w] = R(-0.0);  // adding −0 changes no number
      const Incoming<R> incoming = {R(0), grad_v.e[w] + carried_.e[w], R(0)};
      const StepGradient<R> step =
          backward_step<Model>(constants_[w], a_.rules, State<R>{R(0), R(0)}, R(0), R(0), R(0), incoming);
      grad_x.e[w] = step.x;
      carried_.e[w] = step.before.v;
    }
    if (a_.grad_x) grad_x_.put(grad_x, at_.owned);
  }

  const operations::BackwardArguments<R>& a_;
  const Place<O> at_;
  const Constants<R, first_model_constant + Model::n_constants, O, PerNeuron> constants_;
  Input grad_v_;
  Writer<E, O, true> grad_x_;
  Vector<R, W> carried_;
};

// Rows in flight, by the reasons of forward_ahead and deep_ahead (forward.cuh).
inline constexpr int linear_ahead = 8;
inline constexpr int deep_linear_ahead = 32;

template <class Model, class E, class O>
__global__ void __launch_bounds__(backward_threads)
    linear_backward(const __grid_constant__ BackwardLaunch<Arithmetic<E>> launch) {
  wait_for_previous();
  if (launch.next_begins_early) let_next_begin();
  const int64_t active = launch.arguments.parameters->active;
  const bool per_neuron = launch.arguments.parameters->per_neuron;
  const int64_t row = launch.arguments.extents.row();
  const Place<O> at = place_in<O>(range_of<O>(tile_of(gridDim.x - 1 - blockIdx.x), row), row, active);
  if (!at.owned.any()) return;
  if (per_neuron) {
    LinearBackwardThread<Model, E, O, true, linear_ahead>(launch, at).run();
    return;
  }
  if constexpr (O::width == 1 && is_same<E, float>) {
    if (launch.arguments.extents.n_steps > linear_ahead) {
      LinearBackwardThread<Model, E, O, false, deep_linear_ahead>(launch, at).run();
      return;
    }
  }
  LinearBackwardThread<Model, E, O, false, linear_ahead>(launch, at).run();
}

}  // namespace
}  // namespace synfire::cuda

#endif
