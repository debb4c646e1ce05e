// The BPTT kernel.
#ifndef SYNFIRE_CUDA_BACKWARD_CUH
#define SYNFIRE_CUDA_BACKWARD_CUH

#include "kernels.cuh"

namespace synfire::cuda {
namespace {

// Rows of dL/dS and of X in flight. 16 take registers that other threads need: 453 us instead of 205 in f32, 205
// instead of 132 in f16, and 4 take 155 (H200, LIF, N = 2,097,152, T = 32).
inline constexpr int backward_ahead = 8;

// Any surrogate, selected by its id at run time.
struct AnySurrogate {
  static constexpr int n_constants = max_surrogate_constants;
};

// That of a model which never fires.
struct NoSurrogate {
  static constexpr int n_constants = 0;
  template <class R>
  static __device__ __forceinline__ R derivative(const R* /*constants*/, R /*x*/) {
    return R(0);
  }
};

template <class R, class... Entries>
__device__ __forceinline__ R derivative_of(List<Entries...>, int32_t surrogate, const R* constants, R x) {
  R g = R(0);
  ((Entries::id == surrogate ? static_cast<void>(g = Entries::type::derivative(constants, x)) : static_cast<void>(0)),
   ...);
  return g;
}

// Not inlined: in an unrolled loop, a choice among many surrogates would fill the instruction cache.
template <class R>
__device__ __noinline__ R any_derivative(int32_t surrogate, R c0, R c1, R c2, R c3, R x) {
  const R constants[max_surrogate_constants] = {c0, c1, c2, c3};
  return derivative_of(Surrogates{}, surrogate, constants, x);
}

// Surrogates of a few additions, products and at most a reciprocal: cheap enough for unrolled loops, with one choice
// for a whole chunk of steps. A call instead would wait for every load in flight (434 us against 209: H200, LIF, rect,
// N = 2,097,152, T = 32).
template <class Surrogate>
inline constexpr bool is_rational = false;
template <class Surrogate>
  requires requires {
    Surrogate::rational;
  }
inline constexpr bool is_rational<Surrogate> = Surrogate::rational;

template <class F, class... Entries>
__device__ __forceinline__ bool visit_rational(List<Entries...>, int32_t surrogate, F f) {
  bool found = false;
  const auto visit_one = [&](auto entry) {
    using Entry = decltype(entry);
    if constexpr (is_rational<typename Entry::type>)
      if (Entry::id == surrogate) {
        f(typename Entry::type{});
        found = true;
      }
  };
  (visit_one(Entries{}), ...);
  return found;
}

template <class Surrogate, class R>
__device__ __forceinline__ R derivative(int32_t surrogate, const R* constants, R x) {
  if constexpr (is_same<Surrogate, AnySurrogate>)
    return any_derivative(surrogate, constants[0], constants[1], constants[2], constants[3], x);
  else
    return Surrogate::derivative(constants, x);
}

// The type in which a reader sees an H of arithmetic R on a tape.
template <class R>
struct StoredAs {
  using type = AnyStorage;
};
template <>
struct StoredAs<double> {
  using type = double;
};

// The most common rules, known at compile time, so that their selections cost nothing.
struct HardAttached {
  __device__ __forceinline__ explicit HardAttached(const Rules&) {}
  __device__ __forceinline__ operator Rules() const { return {false, false}; }
};

// One thread's neurons, backward through time: interval by interval, H is recomputed from the checkpoint (or read from
// the tape) into shared memory and then walked in reverse.
template <class Model, class Surrogate, class E, int W, bool PerNeuron, class KnownRules, BackwardInputs Inputs>
class BackwardThread {
 public:
  using R = Arithmetic<E>;
  using Sequence = Reader<E, W>;
  using Row = typename Sequence::Row;
  // dL/dX leaves the second-level cache first, in favour of X: 202.3 us against 204.3, and 279.1 against 281.3 with the
  // forward (H200, LIF, f32, N = 2,097,152, T = 32). Marking the loads as well, or keeping X, gained nothing or lost.
  using GradientWriter = Writer<E, W, true>;
  static constexpr int n_further = n_further_states<Model>;
  static constexpr int rows_w = n_further > 0 ? n_further : 1;
  static constexpr bool any = Inputs != BackwardInputs::spikes;
  // Fewer if each row is read in several ways: twice as many took the compiler minutes for compute capability 10.0.
  static constexpr int ahead = any ? backward_ahead / 2 : backward_ahead;
  static constexpr bool reads_input = slope_reads_input<Model> || Inputs == BackwardInputs::parameters;
  // Long unrolled code, so only for the common case: one variable, f32, a surrogate with its own instance.
  static constexpr bool deep =
      W == 1 && !any && !PerNeuron && n_further == 0 && is_same<E, float> && !is_same<Surrogate, AnySurrogate>;
  static constexpr bool keeps_w = backward_variables<Model>(Inputs) > 1;
  // In shared memory, elements from one variable and from one step to the next.
  static constexpr int variable_stride = backward_block(backward_variables<Model>(Inputs), sizeof(R));
  static constexpr int step_stride = backward_variables<Model>(Inputs) * variable_stride;
  // The derivatives of a whole chunk are computed before its steps.
  static constexpr bool chunk_of_slopes = is_same<Surrogate, AnySurrogate> && !PerNeuron && !any;

  __device__ __forceinline__ BackwardThread(const BackwardLaunch<R>& launch, const Position& at, Vector<R, W>* shared)
      : a_(launch.arguments),
        rules_(a_.rules),
        element_(at.element),
        constants_(*a_.parameters, a_.extents, at),
        row_(a_.extents.row()),
        h_(shared + threadIdx.x) {
    carried_v_ = carried_w_[0] = {};
    if (a_.grad_v_final) carried_v_ = load<W>(a_.grad_v_final + at.element);
#pragma unroll
    for (int k = 0; k < n_further; ++k) {
      carried_w_[k] = {};
      if (a_.grad_w_final[k]) carried_w_[k] = load<W>(a_.grad_w_final[k] + at.element);
    }
    const int64_t last = a_.extents.n_steps - 1;
    if (a_.grad_spike) grad_spike_ = Sequence(a_.grad_spike, last, at.element, -1);
    if (a_.grad_x) grad_x_ = GradientWriter(a_.grad_x, last, at.element, -1);
    if constexpr (any) {
      if (a_.grad_v_seq) grad_v_ = Sequence(a_.grad_v_seq, last, at.element, -1);
#pragma unroll
      for (int k = 0; k < n_further; ++k)
        if (a_.grad_w_seq[k]) grad_w_[k] = Sequence(a_.grad_w_seq[k], last, at.element, -1);
    }
    if constexpr (reads_input) x_again_ = Sequence(a_.x, last, at.element, -1);
    if constexpr (Inputs == BackwardInputs::parameters) {
      static_assert(W == 1, "gradients of parameters are taken one neuron a thread");
      const int64_t n_steps = a_.extents.n_steps;
      const int64_t steps = n_steps < checkpoint_interval ? n_steps : checkpoint_interval;
      gradients_ = reinterpret_cast<double*>(shared + steps * step_stride) + threadIdx.x;
      for (int q = 0; q < a_.gradients.count; ++q) gradients_[q * variable_stride] = 0;
    }
  }

  __device__ __forceinline__ void run() {
    const int64_t n_steps = a_.extents.n_steps;
    int64_t interval = (n_steps - 1) / checkpoint_interval;
    if constexpr (deep) {
      if (n_steps >= 2 * checkpoint_interval && !a_.tape_h) {
        if (n_steps % checkpoint_interval != 0) walk(interval--);
        walk_deep(interval);
        interval = -1;
      }
    }
    for (; interval >= 0; --interval) walk(interval);
    if (a_.grad_v_init) store<W>(a_.grad_v_init + element_, carried_v_);
#pragma unroll
    for (int k = 0; k < n_further; ++k)
      if (a_.grad_w_init[k]) store<W>(a_.grad_w_init[k] + element_, carried_w_[k]);
    if constexpr (Inputs == BackwardInputs::parameters)
      for (int q = 0; q < a_.gradients.count; ++q)
        a_.gradient_partials[q * row_ + element_] = gradients_[q * variable_stride];
  }

 private:
  // The further variables.
  struct Rows {
    Vector<R, W> of[rows_w];
  };

  // One interval: H first, then its steps in reverse.
  __device__ __forceinline__ void walk(int64_t interval) {
    const int64_t first = interval * checkpoint_interval, left = a_.extents.n_steps - first;
    const int length = left < checkpoint_interval ? static_cast<int>(left) : checkpoint_interval;
    const R* const checkpoint = a_.tape + interval * Model::n_states * row_ + element_;
    v_start_ = load<W>(checkpoint);
    Rows w_start = {};
#pragma unroll
    for (int k = 0; k < n_further; ++k) w_start.of[k] = load<W>(checkpoint + (k + 1) * row_);

    // Incoming gradients of the last steps, in flight while H is recomputed.
    Row grad_spike[ahead];
#pragma unroll
    for (int u = 0; u < ahead; ++u)
      if (u < length) grad_spike[u] = next_grad_spike();

    if (a_.tape_h)
      read_h(first, w_start, length);
    else
      recompute(first, w_start, length);

    h_now_ = h_[(length - 1) * step_stride];
    int s = length - 1;
    if constexpr (chunk_of_slopes) {
      // One copy of the code for both kinds of whole chunks, because it is long.
      while (s + 1 >= 2 * ahead || s + 1 == ahead) {
        Vector<R, W> slopes[ahead];
        find_slopes(slopes, s);
        const auto slope = [&](int u, int w) { return slopes[u].e[w]; };
        if (s + 1 == ahead)
          chunk<Chunk::last>(grad_spike, s, slope);
        else
          chunk<Chunk::loading>(grad_spike, s, slope);
        s -= ahead;
      }
    } else {
      for (; s + 1 >= 2 * ahead; s -= ahead) chunk<Chunk::loading>(grad_spike, s, own_slope());
      if (s + 1 == ahead) {
        chunk<Chunk::last>(grad_spike, s, own_slope());
        return;
      }
    }
    for (; s >= 0; s -= ahead) chunk<Chunk::partial>(grad_spike, s, own_slope());
  }

  // The surrogate's derivative at step s, computed in the step.
  __device__ __forceinline__ R slope_at(R h, int w) const {
    return derivative<Surrogate>(a_.surrogate, constants_[w] + first_surrogate_constant<Model>,
                                 h - constants_[w][constant_v_threshold]);
  }
  __device__ __forceinline__ auto own_slope() const {
    return [this](int, int w) { return slope_at(h_now_.e[w], w); };
  }

  // Those of a whole chunk that ends with step s, the last one first.
  __device__ __forceinline__ void find_slopes(Vector<R, W> (&slopes)[ahead], int s) const {
    const R* const constants = constants_[0] + first_surrogate_constant<Model>;
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      slopes[u] = h_[(s - u) * step_stride];
#pragma unroll
      for (int w = 0; w < W; ++w) slopes[u].e[w] -= constants_[0][constant_v_threshold];
    }
    const bool found = visit_rational(Surrogates{}, a_.surrogate, [&](auto surrogate) {
#pragma unroll
      for (int u = 0; u < ahead; ++u)
#pragma unroll
        for (int w = 0; w < W; ++w) slopes[u].e[w] = decltype(surrogate)::derivative(constants, slopes[u].e[w]);
    });
    if (found) return;
#pragma unroll
    for (int u = 0; u < ahead; ++u)
#pragma unroll
      for (int w = 0; w < W; ++w) slopes[u].e[w] = derivative<Surrogate>(a_.surrogate, constants, slopes[u].e[w]);
  }

  // Whole intervals from this one down, every row loaded a whole interval before it is used: otherwise, few neurons
  // over many steps wait for the memory (H200, 1,024 neurons, T = 1,024: 80 us with 8 rows ahead).
  __device__ __forceinline__ void walk_deep(int64_t interval) {
    constexpr int length = checkpoint_interval;
    Row x[length], grad_spike[length];
    Sequence x_rows(a_.x, interval * length + length - 1, element_, -1);
#pragma unroll
    for (int u = 0; u < length; ++u) x[length - 1 - u] = x_rows.take();
#pragma unroll
    for (int u = 0; u < length; ++u) grad_spike[u] = grad_spike_.take();
    const R* checkpoint = a_.tape + interval * Model::n_states * row_ + element_;
    Vector<R, W> v_next = load<W>(checkpoint);
    Rows no_w = {};
    for (; interval >= 0; --interval) {
      v_start_ = v_next;
      Vector<R, W> v = v_next;
      if (interval == 0) {
        x_rows.hold();
        grad_spike_.hold();
      } else {
        checkpoint -= Model::n_states * row_;
        v_next = load<W>(checkpoint);
      }
#pragma unroll
      for (int s = 0; s < length; ++s) charge_step(x_rows.decoded(x[s]), s, v, no_w);
      h_now_ = h_[(length - 1) * step_stride];
#pragma unroll
      for (int u = 0; u < length; ++u) {
        const Row now = grad_spike[u];
        grad_spike[u] = grad_spike_.take();
        x[length - 1 - u] = x_rows.take();
        step(now, length - 1 - u, u == length - 1, [this](int w) { return slope_at(h_now_.e[w], w); });
      }
    }
  }

  // The next `ahead` steps: with as many loads after them, with none, or with each step and load checked for existence.
  enum class Chunk { loading, last, partial };
  template <Chunk Kind>
  struct Known {
    static constexpr Chunk value = Kind;
  };

  template <Chunk Kind, class Slope>
  __device__ __forceinline__ void chunk(Row (&grad_spike)[ahead], int s, Slope slope) {
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      if (Kind == Chunk::partial && s - u < 0) continue;
      const Row now = grad_spike[u];
      if (Kind == Chunk::loading || (Kind == Chunk::partial && s - u - ahead >= 0)) grad_spike[u] = next_grad_spike();
      step(now, s - u, Kind == Chunk::last ? u == ahead - 1 : Kind == Chunk::partial && s == u,
           [&](int w) { return slope(u, w); });
    }
  }

  // Bits of zero are zero in every storage type.
  __device__ __forceinline__ Row next_grad_spike() {
    if (any && !a_.grad_spike) return {};
    return grad_spike_.take();
  }

  // Rows of the interval, several loads ahead: step(row, s) for every step in order.
  template <class Source, class F>
  __device__ __forceinline__ void for_each_row(Source source, int length, F step) {
    typename Source::Row rows[ahead];
#pragma unroll
    for (int u = 0; u < ahead; ++u)
      if (u < length) rows[u] = source.take();
    const auto chunk = [&](auto kind, int s) {
      constexpr Chunk Kind = decltype(kind)::value;
#pragma unroll
      for (int u = 0; u < ahead; ++u) {
        if (Kind == Chunk::partial && s + u >= length) continue;
        const typename Source::Row now = rows[u];
        if (Kind == Chunk::loading || (Kind == Chunk::partial && s + u + ahead < length)) rows[u] = source.take();
        step(source.decoded(now), s + u);
      }
    };
    int s = 0;
    for (; s + 2 * ahead <= length; s += ahead) chunk(Known<Chunk::loading>{}, s);
    if (s + ahead == length)
      chunk(Known<Chunk::last>{}, s);
    else
      for (; s < length; s += ahead) chunk(Known<Chunk::partial>{}, s);
  }

  // H of one step (and the further variables before it) into shared memory, [step][variable][thread]: neighbouring
  // threads use neighbouring banks. The state moves on.
  __device__ __forceinline__ void charge_step(const Vector<R, W>& x, int s, Vector<R, W>& v, Rows& w_now) {
    if constexpr (keeps_w) {
#pragma unroll
      for (int k = 0; k < n_further; ++k) h_[s * step_stride + (k + 1) * variable_stride] = w_now.of[k];
    }
    Vector<R, W> h;
#pragma unroll
    for (int w = 0; w < W; ++w) {
      StateOf<Model, R> before = {v.e[w], {}};
#pragma unroll
      for (int k = 0; k < n_further; ++k) before.w[k] = w_now.of[k].e[w];
      h.e[w] = charge<Model>(constants_[w], before, x.e[w]);
      const StateOf<Model, R> after =
          advance<Model>(constants_[w], rules_, before, x.e[w], h.e[w], fires<Model>(constants_[w], h.e[w]));
      v.e[w] = after.v;
#pragma unroll
      for (int k = 0; k < n_further; ++k) w_now.of[k].e[w] = after.w[k];
    }
    h_[s * step_stride] = h;
  }

  __device__ __forceinline__ void recompute(int64_t first, Rows w_now, int length) {
    Vector<R, W> v = v_start_;
    for_each_row(Sequence(a_.x, first, element_, 1), length,
                 [&](const Vector<R, W>& x, int s) { charge_step(x, s, v, w_now); });
  }

  // The same from a tape that holds H, in the arithmetic type or in 16 bits beside time-packed spikes. Further
  // variables follow from H (models of which one follows X as well never store H).
  __device__ __forceinline__ void read_h(int64_t first, Rows w_now, int length) {
    using Stored = Reader<typename StoredAs<R>::type, W>;
    u32 spikes[W];
#pragma unroll
    for (int w = 0; w < W; ++w)
      spikes[w] = a_.tape_spikes ? a_.tape_spikes[first / checkpoint_interval * row_ + element_ + w] : 0;
    static_assert(checkpoint_interval == 32, "one word of packed spikes per interval");
    for_each_row(Stored(a_.tape_h, first, element_, 1), length, [&](Vector<R, W> h, int s) {
#pragma unroll
      for (int w = 0; w < W; ++w) {
        if constexpr (sizeof(R) == 4)
          if (a_.tape_spikes)
            h.e[w] = on_the_side_of((spikes[w] >> s & 1u) != 0, h.e[w], constants_[w][constant_v_threshold]);
        if constexpr (n_further > 0) {
          StateOf<Model, R> before = {R(0), {}};
#pragma unroll
          for (int k = 0; k < n_further; ++k) {
            before.w[k] = w_now.of[k].e[w];
            if constexpr (keeps_w) h_[s * step_stride + (k + 1) * variable_stride].e[w] = before.w[k];
          }
          const StateOf<Model, R> after =
              advance<Model>(constants_[w], rules_, before, R(0), h.e[w], fires<Model>(constants_[w], h.e[w]));
#pragma unroll
          for (int k = 0; k < n_further; ++k) w_now.of[k].e[w] = after.w[k];
        }
      }
      h_[s * step_stride] = h;
    });
  }

  // `first`: the interval begins with this step. `slope(w)`: the surrogate's derivative.
  template <class Slope>
  __device__ __forceinline__ void step(const Row& grad_spike_row, int s, bool first, Slope slope) {
    const Vector<R, W> grad_spike = grad_spike_.decoded(grad_spike_row);
    Vector<R, W> grad_v, grad_w[rows_w], x = {};
#pragma unroll
    for (int w = 0; w < W; ++w) {
      grad_v.e[w] = R(-0.0);  // adding −0 changes no number
#pragma unroll
      for (int k = 0; k < n_further; ++k) grad_w[k].e[w] = R(-0.0);
    }
    if (any && a_.grad_v_seq) grad_v = grad_v_.decoded(grad_v_.take());
    if constexpr (any) {
#pragma unroll
      for (int k = 0; k < n_further; ++k)
        if (a_.grad_w_seq[k]) grad_w[k] = grad_w_[k].decoded(grad_w_[k].take());
    }
    if constexpr (reads_input) x = x_again_.decoded(x_again_.take());
    Vector<R, W> h_before = {}, w_before[rows_w] = {}, grad_x;
    if (!first) h_before = h_[(s - 1) * step_stride];
    if constexpr (keeps_w) {
#pragma unroll
      for (int k = 0; k < n_further; ++k) w_before[k] = h_[s * step_stride + (k + 1) * variable_stride];
    }
#pragma unroll
    for (int w = 0; w < W; ++w) {
      const R v_before = first
                             ? v_start_.e[w]
                             : reset(constants_[w], rules_, h_before.e[w], fires<Model>(constants_[w], h_before.e[w]));
      const R g = slope(w);
      StateOf<Model, R> before = {v_before, {}};
      IncomingOf<Model, R> incoming = {grad_spike.e[w], grad_v.e[w] + carried_v_.e[w], {}};
#pragma unroll
      for (int k = 0; k < n_further; ++k) {
        before.w[k] = w_before[k].e[w];
        incoming.w[k] = grad_w[k].e[w] + carried_w_[k].e[w];
      }
      const StepGradientOf<Model, R> step =
          backward_step<Model>(constants_[w], rules_, before, x.e[w], h_now_.e[w], g, incoming);
      if constexpr (Inputs == BackwardInputs::parameters) add_gradients(before, x.e[w], h_now_.e[w], g, step, incoming);
      grad_x.e[w] = step.x;
      carried_v_.e[w] = step.before.v;
#pragma unroll
      for (int k = 0; k < n_further; ++k) carried_w_[k].e[w] = step.before.w[k];
    }
    if (!any || a_.grad_x) grad_x_.put(grad_x, true);
    h_now_ = h_before;
  }

  // One step's share of the gradients of parameters, summed in shared memory.
  __device__ __forceinline__ void add_gradients(StateOf<Model, R> before, R x, R h, R g,
                                                const StepGradientOf<Model, R>& step, IncomingOf<Model, R> incoming) {
    const core::ParameterBlock<R>& block = *a_.parameters;
    const int64_t n = a_.extents.n_neurons;
#pragma unroll 1
    for (int q = 0; q < a_.gradients.count; ++q) {
      const int slope_row = a_.gradients.rows[q];
      R share;
      if (!never_fires<Model> && slope_row == gradient_of_v_threshold) {
        share = v_threshold_gradient<Model>(constants_[0], rules_, h, g, step, incoming);
      } else if (!never_fires<Model> && slope_row == gradient_of_v_reset) {
        share = v_reset_gradient<Model>(constants_[0], rules_, h, incoming);
      } else {
        R slopes[max_model_constants];
#pragma unroll
        for (int k = 0; k < Model::n_constants; ++k) {
          const int at = slope_row * max_model_constants + k;
          slopes[k] = PerNeuron ? block.slopes_per_neuron[at * n + element_ % n] : block.slopes[at];
        }
        share = parameter_gradient<Model>(constants_[0], slopes, before, x, h, step, incoming);
      }
      gradients_[q * variable_stride] += static_cast<double>(share);
    }
  }

  const operations::BackwardArguments<R>& a_;
  const KnownRules rules_;
  const int64_t element_;
  const Constants<R, first_surrogate_constant<Model> + Surrogate::n_constants, W, PerNeuron> constants_;
  const int64_t row_;
  Vector<R, W>* const h_;
  double* gradients_ = nullptr;  // [gradient][thread], behind H in shared memory
  Vector<R, W> carried_v_, carried_w_[rows_w], v_start_, h_now_;
  Sequence grad_spike_, grad_v_, grad_w_[rows_w], x_again_;
  GradientWriter grad_x_;
};

// Blocks per multiprocessor. f32 is bound by the memory, and more warps make it slower (226 us against 205); 16-bit
// storage is bound by instructions, and more warps make it faster (135 us against 150).
template <class E, int W>
inline constexpr int backward_blocks_at_least = W == 1           ? 1
                                                : sizeof(E) == 2 ? 12
                                                                 : 10;

template <class Model, class Surrogate, class E, int W, BackwardInputs Inputs>
__global__ void __launch_bounds__(backward_threads, backward_blocks_at_least<E, W>)
    backward(const __grid_constant__ BackwardLaunch<Arithmetic<E>> launch) {
  wait_for_previous();
  if (launch.next_begins_early) let_next_begin();
  extern __shared__ __align__(16) unsigned char shared[];
  if (launch.lanes.count == 0) return;  // never so; the compiler arranges the loop better (measurements.md)
  // Starts with the last neurons, whose X the forward left in the second-level cache.
  const Position at = position<W>(launch.lanes, launch.arguments.extents, gridDim.x - 1 - blockIdx.x);
  // Both at once: every thread waits for them before its first row.
  const int64_t active = launch.arguments.parameters->active;
  const bool per_neuron = launch.arguments.parameters->per_neuron;
  if (!at.writes || at.element >= active) return;
  auto* h = reinterpret_cast<Vector<Arithmetic<E>, W>*>(shared);
  const Rules rules = launch.arguments.rules;
  if (per_neuron) {
    BackwardThread<Model, Surrogate, E, W, true, Rules, Inputs>(launch, at, h).run();
    return;
  }
  // Separate instances pay off where instructions bind.
  if constexpr (Inputs == BackwardInputs::spikes && W > 1 && !is_same<Surrogate, AnySurrogate>) {
    if (!rules.soft_reset && !rules.detach_reset) {
      BackwardThread<Model, Surrogate, E, W, false, HardAttached, Inputs>(launch, at, h).run();
      return;
    }
  }
  BackwardThread<Model, Surrogate, E, W, false, Rules, Inputs>(launch, at, h).run();
}

// ---- models that never fire -----------------------------------------------------------------------------------------

// One thread's neurons, backward through time, without gradients of parameters: the slopes are the same at every step,
// so neither H nor X is read.
template <class Model, class E, int W, bool PerNeuron, int Ahead>
class LinearBackwardThread {
 public:
  using R = Arithmetic<E>;
  using Input = Reader<E, W>;
  using Row = typename Input::Row;

  __device__ __forceinline__ LinearBackwardThread(const BackwardLaunch<R>& launch, const Position& at)
      : a_(launch.arguments), element_(at.element), constants_(*a_.parameters, a_.extents, at) {
    carried_ = {};
    if (a_.grad_v_final) carried_ = load<W>(a_.grad_v_final + at.element);
    const int64_t last = a_.extents.n_steps - 1;
    if (a_.grad_v_seq) grad_v_ = Input(a_.grad_v_seq, last, at.element, -1);
    if (a_.grad_x) grad_x_ = Writer<E, W, true>(a_.grad_x, last, at.element, -1);
  }

  __device__ __forceinline__ void run() {
    int64_t left = a_.extents.n_steps;
    Row rows[Ahead];
#pragma unroll
    for (int u = 0; u < Ahead; ++u)
      if (u < left) rows[u] = next();
    for (; left >= 2 * Ahead; left -= Ahead) chunk<Chunk::loading>(rows, left);
    if (left == Ahead)
      chunk<Chunk::last>(rows, left);
    else
      for (; left > 0; left -= Ahead) chunk<Chunk::partial>(rows, left);
    if (a_.grad_v_init) store<W>(a_.grad_v_init + element_, carried_);
  }

 private:
  // As in BackwardThread.
  enum class Chunk { loading, last, partial };

  template <Chunk Kind>
  __device__ __forceinline__ void chunk(Row (&rows)[Ahead], int64_t left) {
#pragma unroll
    for (int u = 0; u < Ahead; ++u) {
      if (Kind == Chunk::partial && u >= left) continue;
      const Row now = rows[u];
      if (Kind == Chunk::loading || (Kind == Chunk::partial && u + Ahead < left)) rows[u] = next();
      step(now);
    }
  }

  __device__ __forceinline__ Row next() {
    if (!a_.grad_v_seq) return {};
    return grad_v_.take();
  }

  __device__ __forceinline__ void step(const Row& row) {
    Vector<R, W> grad_v = grad_v_.decoded(row), grad_x;
#pragma unroll
    for (int w = 0; w < W; ++w) {
      if (!a_.grad_v_seq) grad_v.e[w] = R(-0.0);  // adding −0 changes no number
      const Incoming<R> incoming = {R(0), grad_v.e[w] + carried_.e[w], {R(0)}};
      const StepGradient<R> step =
          backward_step<Model>(constants_[w], a_.rules, State<R>{R(0), {R(0)}}, R(0), R(0), R(0), incoming);
      grad_x.e[w] = step.x;
      carried_.e[w] = step.before.v;
    }
    grad_x_.put(grad_x, static_cast<bool>(a_.grad_x));
  }

  const operations::BackwardArguments<R>& a_;
  const int64_t element_;
  const Constants<R, first_model_constant + Model::n_constants, W, PerNeuron> constants_;
  Input grad_v_;
  Writer<E, W, true> grad_x_;
  Vector<R, W> carried_;
};

// Rows in flight, by the reasons of forward_ahead and deep_ahead (forward.cuh).
inline constexpr int linear_ahead = 8;
inline constexpr int deep_linear_ahead = 32;

template <class Model, class E, int W>
__global__ void __launch_bounds__(backward_threads)
    linear_backward(const __grid_constant__ BackwardLaunch<Arithmetic<E>> launch) {
  wait_for_previous();
  if (launch.next_begins_early) let_next_begin();
  const Position at = position<W>(launch.lanes, launch.arguments.extents, gridDim.x - 1 - blockIdx.x);
  const int64_t active = launch.arguments.parameters->active;
  const bool per_neuron = launch.arguments.parameters->per_neuron;
  if (!at.writes || at.element >= active) return;
  if (per_neuron) {
    LinearBackwardThread<Model, E, W, true, linear_ahead>(launch, at).run();
    return;
  }
  if constexpr (W == 1 && is_same<E, float>) {
    if (launch.arguments.extents.n_steps >= deep_linear_ahead) {
      LinearBackwardThread<Model, E, W, false, deep_linear_ahead>(launch, at).run();
      return;
    }
  }
  LinearBackwardThread<Model, E, W, false, linear_ahead>(launch, at).run();
}

// ---- instances ------------------------------------------------------------------------------------------------------

// Gradients of parameters take the general kernel.
template <class Model, class E>
const void* linear_backward_address(int width, BackwardInputs inputs) {
  if constexpr (is_same<E, AnyStorage> || is_same<E, double>)
    if (inputs == BackwardInputs::parameters)
      return address(backward<Model, NoSurrogate, E, 1, BackwardInputs::parameters>);
  constexpr BackwardInputs own = is_same<E, AnyStorage> ? BackwardInputs::any : BackwardInputs::potential;
  if (inputs != own) return nullptr;
  if (width == 1) return address(linear_backward<Model, E, 1>);
  if constexpr (!is_same<E, AnyStorage>)
    if (width == linear_backward_width<E>) return address(linear_backward<Model, E, linear_backward_width<E>>);
  return nullptr;
}

template <class Model, class Surrogate, class E>
const void* spikes_address(int width) {
  if (width == 1) return address(backward<Model, Surrogate, E, 1, BackwardInputs::spikes>);
  // Storing two variables needs twice the shared memory; threads with fewer neurons keep a block's share small.
  if constexpr (backward_variables<Model>(BackwardInputs::spikes) == 1)
    if (width == backward_width<E>)
      return address(backward<Model, Surrogate, E, backward_width<E>, BackwardInputs::spikes>);
  return nullptr;
}

// Rare surrogates share one instance, which selects them at run time, so the common ones are not slowed. Gradients of
// parameters, and sequences other than spikes and inputs, use one neuron per thread, for any surrogate.
template <class Model, class E>
const void* backward_address(int32_t surrogate, int width, BackwardInputs inputs) {
  constexpr bool any_type = is_same<E, AnyStorage> || is_same<E, double>;
  if constexpr (any_type) {
    if (inputs == BackwardInputs::parameters)
      return address(backward<Model, AnySurrogate, E, 1, BackwardInputs::parameters>);
    if (inputs == BackwardInputs::any) return address(backward<Model, AnySurrogate, E, 1, BackwardInputs::any>);
  }
  if constexpr (!is_same<E, AnyStorage>) {
    if (inputs == BackwardInputs::spikes) {
      const void* found = nullptr;
      if (!has_own_backward(surrogate)) return spikes_address<Model, AnySurrogate, E>(width);
      visit(Surrogates{}, surrogate, [&](auto entry) {
        using Entry = decltype(entry);
        if constexpr (has_own_backward(Entry::id)) found = spikes_address<Model, typename Entry::type, E>(width);
      });
      return found;
    }
  }
  return nullptr;
}

}  // namespace

template <class E>
const void* backward_kernel(int32_t model, int32_t surrogate, int width, BackwardInputs inputs) {
  const void* found = nullptr;
  visit(Models{}, model, [&](auto entry) {
    using Model = typename decltype(entry)::dynamics;
    if constexpr (never_fires<Model>)
      found = linear_backward_address<Model, E>(width, inputs);
    else
      found = backward_address<Model, E>(surrogate, width, inputs);
  });
  return found;
}

}  // namespace synfire::cuda

#endif
