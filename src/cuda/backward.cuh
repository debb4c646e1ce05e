// The BPTT kernel.
#ifndef SYNFIRE_CUDA_BACKWARD_CUH
#define SYNFIRE_CUDA_BACKWARD_CUH

#include "kernels.cuh"

namespace synfire::cuda {
namespace {

template <class A, class B>
inline constexpr bool is_same = false;
template <class A>
inline constexpr bool is_same<A, A> = true;

inline constexpr int backward_ahead = 8;

// Any surrogate, found by its id at run time.
struct AnySurrogate {
  static constexpr int n_constants = max_surrogate_constants;
};

template <class R, class... Entries>
__device__ __forceinline__ R derivative_of(List<Entries...>, int32_t surrogate, const R* constants, R x) {
  R g = R(0);
  ((Entries::id == surrogate ? static_cast<void>(g = Entries::type::derivative(constants, x)) : static_cast<void>(0)),
   ...);
  return g;
}

// Out of line: inlined into an unrolled loop, a choice among many surrogates would fill the instruction cache.
template <class R>
__device__ __noinline__ R any_derivative(int32_t surrogate, R c0, R c1, R c2, R c3, R x) {
  const R constants[max_surrogate_constants] = {c0, c1, c2, c3};
  return derivative_of(Surrogates{}, surrogate, constants, x);
}

template <class Surrogate, class R>
__device__ __forceinline__ R derivative(int32_t surrogate, const R* constants, R x) {
  if constexpr (is_same<Surrogate, AnySurrogate>)
    return any_derivative(surrogate, constants[0], constants[1], constants[2], constants[3], x);
  else return Surrogate::derivative(constants, x);
}

// One thread's neurons, backward through time: interval by interval, H is recomputed from the checkpoint into shared
// memory and then walked in reverse.
template <class Model, class Surrogate, class R, int W, bool PerNeuron, BackwardInputs Inputs>
class BackwardThread {
 public:
  static constexpr int ahead = backward_ahead;
  static constexpr bool two_variables = Model::n_states == 2;
  static constexpr int step_stride = Model::n_states * threads_per_block;  // in shared memory

  __device__ __forceinline__ BackwardThread(const BackwardLaunch<R>& launch, const Position& at, Vector<R, W>* shared)
      : a_(launch.arguments),
        element_(at.element),
        constants_(*a_.parameters, a_.extents, at),
        row_(a_.extents.row()),
        h_(shared + threadIdx.x) {
    carried_v_ = carried_w_ = {};
    if (a_.grad_v_final) carried_v_ = load<W>(a_.grad_v_final + at.element);
    if (two_variables && a_.grad_w_final) carried_w_ = load<W>(a_.grad_w_final + at.element);
    if constexpr (Inputs == BackwardInputs::parameters) {
      static_assert(W == 1, "gradients of parameters are taken one neuron a thread");
      const int64_t n_steps = a_.extents.n_steps;
      const int64_t steps = n_steps < checkpoint_interval ? n_steps : checkpoint_interval;
      gradients_ = reinterpret_cast<double*>(shared + steps * step_stride) + threadIdx.x;
      for (int q = 0; q < a_.gradients.count; ++q) gradients_[q * threads_per_block] = 0;
    }
  }

  __device__ __forceinline__ void run() {
    const int64_t n_steps = a_.extents.n_steps;
    for (int64_t interval = (n_steps - 1) / checkpoint_interval; interval >= 0; --interval) {
      const int64_t first = interval * checkpoint_interval;
      const int length = n_steps - first < checkpoint_interval ? static_cast<int>(n_steps - first) : checkpoint_interval;
      const R* const checkpoint = a_.tape + interval * Model::n_states * row_ + element_;
      v_start_ = load<W>(checkpoint);
      Vector<R, W> w_start = {};
      if constexpr (two_variables) w_start = load<W>(checkpoint + row_);
      offset_ = (first + length - 1) * row_ + element_;
      grad_spike_next_ = a_.grad_spike + offset_;

      // Incoming gradients of the last steps, on their way while H is recomputed.
      Vector<R, W> grad_spike[ahead];
#pragma unroll
      for (int u = 0; u < ahead; ++u) grad_spike[u] = u < length ? next_grad_spike() : Vector<R, W>{};

      recompute(a_.x + first * row_ + element_, w_start, length);

      h_now_ = h_[(length - 1) * step_stride];
      int s = length - 1;
      for (; s + 1 >= 2 * ahead; s -= ahead) {
#pragma unroll
        for (int u = 0; u < ahead; ++u) {
          const Vector<R, W> now = grad_spike[u];
          grad_spike[u] = next_grad_spike();
          step(now, s - u);
        }
      }
      for (; s >= 0; s -= ahead) {
#pragma unroll
        for (int u = 0; u < ahead; ++u)
          if (s - u >= 0) {
            const Vector<R, W> now = grad_spike[u];
            if (s - u - ahead >= 0) grad_spike[u] = next_grad_spike();
            step(now, s - u);
          }
      }
    }
    if (a_.grad_v_init) store<W>(a_.grad_v_init + element_, carried_v_);
    if (two_variables && a_.grad_w_init) store<W>(a_.grad_w_init + element_, carried_w_);
    if constexpr (Inputs == BackwardInputs::parameters)
      for (int q = 0; q < a_.gradients.count; ++q)
        a_.gradient_partials[q * row_ + element_] = gradients_[q * threads_per_block];
  }

 private:
  __device__ __forceinline__ Vector<R, W> next_grad_spike() {
    if (Inputs != BackwardInputs::spikes && !a_.grad_spike) return {};
    const Vector<R, W> grad = load<W>(grad_spike_next_);
    grad_spike_next_ -= row_;
    return grad;
  }

  // H of the interval's steps (and W before them) into shared memory, [step][variable][thread]: neighbouring threads use
  // neighbouring banks.
  __device__ __forceinline__ void recompute(const R* x_next, Vector<R, W> w_now, int length) {
    const auto next_x = [&] {
      const Vector<R, W> x = load<W>(x_next);
      x_next += row_;
      return x;
    };
    Vector<R, W> v = v_start_, x[ahead];
    const auto step = [&](const Vector<R, W>& now, int s) {
      if constexpr (two_variables) h_[s * step_stride + threads_per_block] = w_now;
      Vector<R, W> h;
#pragma unroll
      for (int w = 0; w < W; ++w) {
        const State<R> before = {v.e[w], w_now.e[w]};
        h.e[w] = charge<Model>(constants_[w], before, now.e[w]);
        const State<R> after =
            advance<Model>(constants_[w], a_.rules, before, h.e[w], fires(constants_[w], h.e[w]));
        v.e[w] = after.v;
        w_now.e[w] = after.w;
      }
      h_[s * step_stride] = h;
    };
#pragma unroll
    for (int u = 0; u < ahead; ++u)
      if (u < length) x[u] = next_x();
    int s = 0;
    for (; s + 2 * ahead <= length; s += ahead) {
#pragma unroll
      for (int u = 0; u < ahead; ++u) {
        const Vector<R, W> now = x[u];
        x[u] = next_x();
        step(now, s + u);
      }
    }
    for (; s < length; s += ahead) {
#pragma unroll
      for (int u = 0; u < ahead; ++u)
        if (s + u < length) {
          const Vector<R, W> now = x[u];
          if (s + u + ahead < length) x[u] = next_x();
          step(now, s + u);
        }
    }
  }

  __device__ __forceinline__ void step(const Vector<R, W>& grad_spike, int s) {
    Vector<R, W> grad_v = {}, grad_w = {};
    if (Inputs != BackwardInputs::spikes && a_.grad_v_seq) grad_v = load<W>(a_.grad_v_seq + offset_);
    if (two_variables && Inputs != BackwardInputs::spikes && a_.grad_w_seq) grad_w = load<W>(a_.grad_w_seq + offset_);
    const Vector<R, W> x = load<W>(a_.x + offset_);  // read by models whose slope depends on the input, else dropped
    Vector<R, W> h_before = {}, w_before = {}, grad_x;
    if (s > 0) h_before = h_[(s - 1) * step_stride];
    if constexpr (two_variables) w_before = h_[s * step_stride + threads_per_block];
#pragma unroll
    for (int w = 0; w < W; ++w) {
      const R v_before =
          s > 0 ? reset(constants_[w], a_.rules, h_before.e[w], fires(constants_[w], h_before.e[w])) : v_start_.e[w];
      const R g = derivative<Surrogate>(a_.surrogate, constants_[w] + first_surrogate_constant<Model>,
                                        h_now_.e[w] - constants_[w][constant_v_threshold]);
      const State<R> before = {v_before, w_before.e[w]};
      const Incoming<R> incoming = {grad_spike.e[w], grad_v.e[w] + carried_v_.e[w], grad_w.e[w] + carried_w_.e[w]};
      const StepGradient<R> step =
          backward_step<Model>(constants_[w], a_.rules, before, x.e[w], h_now_.e[w], g, incoming);
      if constexpr (Inputs == BackwardInputs::parameters) add_gradients(before, x.e[w], h_now_.e[w], g, step, incoming);
      grad_x.e[w] = step.x;
      carried_v_.e[w] = step.before.v;
      carried_w_.e[w] = step.before.w;
    }
    if (Inputs == BackwardInputs::spikes || a_.grad_x) store<W>(a_.grad_x + offset_, grad_x);
    h_now_ = h_before;
    offset_ -= row_;
  }

  // One step's share of the gradients of parameters, summed in shared memory.
  __device__ __forceinline__ void add_gradients(State<R> before, R x, R h, R g, const StepGradient<R>& step,
                                                Incoming<R> incoming) {
    const core::ParameterBlock<R>& block = *a_.parameters;
    const int64_t n = a_.extents.n_neurons;
#pragma unroll 1
    for (int q = 0; q < a_.gradients.count; ++q) {
      const int slope_row = a_.gradients.rows[q];
      R share;
      if (slope_row == gradient_of_v_threshold) {
        share = v_threshold_gradient(constants_[0], a_.rules, h, g, step, incoming);
      } else if (slope_row == gradient_of_v_reset) {
        share = v_reset_gradient(constants_[0], a_.rules, h, incoming);
      } else {
        R slopes[max_model_constants];
#pragma unroll
        for (int k = 0; k < Model::n_constants; ++k) {
          const int at = slope_row * max_model_constants + k;
          slopes[k] = PerNeuron ? block.slopes_per_neuron[at * n + element_ % n] : block.slopes[at];
        }
        share = parameter_gradient<Model>(constants_[0], slopes, before, x, h, step, incoming);
      }
      gradients_[q * threads_per_block] += static_cast<double>(share);
    }
  }

  const core::BackwardArguments<R>& a_;
  const int64_t element_;
  const Constants<R, first_surrogate_constant<Model> + Surrogate::n_constants, W, PerNeuron> constants_;
  const int64_t row_;
  Vector<R, W>* const h_;
  double* gradients_ = nullptr;  // [gradient][thread], behind H in shared memory
  Vector<R, W> carried_v_, carried_w_, v_start_, h_now_;
  int64_t offset_;  // of the step to differentiate
  const R* grad_spike_next_;
};

template <class Model, class Surrogate, class R, int W, BackwardInputs Inputs>
__global__ void __launch_bounds__(threads_per_block) backward(const __grid_constant__ BackwardLaunch<R> launch) {
  extern __shared__ __align__(16) unsigned char shared[];
  if (launch.lanes.count == 0) return;
  const Position at = position<W>(launch.lanes, launch.arguments.extents);
  if (!at.writes) return;
  auto* h = reinterpret_cast<Vector<R, W>*>(shared);
  if (launch.arguments.parameters->per_neuron)
    BackwardThread<Model, Surrogate, R, W, true, Inputs>(launch, at, h).run();
  else
    BackwardThread<Model, Surrogate, R, W, false, Inputs>(launch, at, h).run();
}

}  // namespace

namespace {

template <class Model, class Surrogate, class R, int W>
const void* backward_address(BackwardInputs inputs) {
  return inputs == BackwardInputs::spikes ? address(backward<Model, Surrogate, R, W, BackwardInputs::spikes>)
                                          : address(backward<Model, Surrogate, R, W, BackwardInputs::any>);
}

template <class Model, class Surrogate, class R>
const void* backward_address(int width, BackwardInputs inputs) {
  if (width == 1) return backward_address<Model, Surrogate, R, 1>(inputs);
  if (width == backward_width<R>) return backward_address<Model, Surrogate, R, backward_width<R>>(inputs);
  return nullptr;
}

// Rarely used surrogates share one instance, which finds theirs at run time; the common ones are not slowed. Gradients
// of parameters are taken one neuron a thread, for any surrogate.
template <class Model, class R>
const void* backward_address(int32_t surrogate, int width, BackwardInputs inputs) {
  if (inputs == BackwardInputs::parameters)
    return address(backward<Model, AnySurrogate, R, 1, BackwardInputs::parameters>);
  if (surrogate == 1) return backward_address<Model, Sigmoid, R>(width, inputs);
  if (surrogate == 2) return backward_address<Model, Atan, R>(width, inputs);
  return backward_address<Model, AnySurrogate, R>(width, inputs);
}

}  // namespace

template <class R>
const void* backward_kernel(int32_t model, int32_t surrogate, int width, BackwardInputs inputs) {
  const void* found = nullptr;
  visit(Models{}, model, [&](auto entry) {
    found = backward_address<typename decltype(entry)::dynamics, R>(surrogate, width, inputs);
  });
  return found;
}

}  // namespace synfire::cuda

#endif
