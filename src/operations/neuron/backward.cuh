// The BPTT kernel.
#ifndef SYNFIRE_CUDA_BACKWARD_CUH
#define SYNFIRE_CUDA_BACKWARD_CUH

#include "linear_backward.cuh"
#include "slopes.cuh"

namespace synfire::cuda {
namespace {

// Rows of dL/dS and of X in flight. 16 take registers that other threads need: 453 us instead of 205 in f32, 205
// instead of 132 in f16, and 4 take 155 (H200, LIF, N = 2,097,152, T = 32).
inline constexpr int backward_ahead = 8;

// The type in which a reader sees an H of arithmetic R on a tape.
template <class R>
struct StoredAs {
  using type = AnyStorage;
};
template <>
struct StoredAs<double> {
  using type = double;
};

// dL/dS, which always exists where nothing else comes in.
template <class Source, bool Maybe>
struct MaybeGiven {
  using type = Source;
};
template <class Source>
struct MaybeGiven<Source, true> {
  using type = Optional<Source>;
};

// The most common rules, known at compile time, so that their selections cost nothing.
struct HardAttached {
  __device__ __forceinline__ explicit HardAttached(const Rules&) {}
  __device__ __forceinline__ operator Rules() const { return {false, false}; }
};

// One thread's neurons, backward through time: interval by interval, H is recomputed from the checkpoint (or read from
// the tape) into shared memory and then walked in reverse.
template <class Model, class Surrogate, class E, class O, bool PerNeuron, class KnownRules, BackwardInputs Inputs>
class BackwardThread {
 public:
  static constexpr int W = O::width;
  using R = Arithmetic<E>;
  using Sequence = Reader<E, O>;
  using Row = typename Sequence::Row;
  using Spikes = typename MaybeGiven<Sequence, Inputs != BackwardInputs::spikes>::type;
  // dL/dX leaves the second-level cache first, in favour of X: 202.3 us against 204.3, and 279.1 against 281.3 with the
  // forward (H200, LIF, f32, N = 2,097,152, T = 32). Marking the loads as well, or keeping X, gained nothing or lost.
  using GradientWriter = Writer<E, O, true>;
  static constexpr bool two_variables = Model::n_states == 2;
  static constexpr bool any = Inputs != BackwardInputs::spikes;
  // Fewer if each row is read in several ways: twice as many took the compiler minutes for compute capability 10.0.
  static constexpr int ahead = any ? backward_ahead / 2 : backward_ahead;
  static constexpr bool reads_input = slope_reads_input<Model> || Inputs == BackwardInputs::parameters;
  // Long unrolled code, so only for the common case: one variable, f32, a surrogate with its own instance.
  static constexpr bool deep =
      W == 1 && !any && !PerNeuron && !two_variables && is_same<E, float> && !is_same<Surrogate, AnySurrogate>;
  static constexpr bool keeps_w = backward_variables<Model>(Inputs) == 2;
  static constexpr int step_stride = backward_variables<Model>(Inputs) * backward_threads;  // in shared memory
  // The derivatives of a whole chunk are computed before its steps.
  static constexpr bool chunk_of_slopes = is_same<Surrogate, AnySurrogate> && !PerNeuron && !any;

  __device__ __forceinline__ BackwardThread(const BackwardLaunch<R>& launch, const Place<O>& at, Vector<R, W>* shared)
      : a_(launch.arguments),
        rules_(a_.rules),
        element_(at.element),
        owned_(at.owned),
        constants_(*a_.parameters, a_.extents, at.element),
        row_(a_.extents.row()),
        h_(shared + threadIdx.x) {
    carried_v_ = carried_w_ = {};
    if (a_.grad_v_final) carried_v_ = load<O>(a_.grad_v_final + at.element);
    if (two_variables && a_.grad_w_final) carried_w_ = load<O>(a_.grad_w_final + at.element);
    const int64_t last = a_.extents.n_steps - 1;
    if (a_.grad_spike) grad_spike_ = Spikes(Sequence(a_.grad_spike, last, at.element, -1));
    if (a_.grad_x) grad_x_ = GradientWriter(a_.grad_x, last, at.element, -1);
    if constexpr (any) {
      if (a_.grad_v_seq) grad_v_ = Sequence(a_.grad_v_seq, last, at.element, -1);
      if (two_variables && a_.grad_w_seq) grad_w_ = Sequence(a_.grad_w_seq, last, at.element, -1);
    }
    if constexpr (reads_input) x_again_ = Sequence(a_.x, last, at.element, -1);
    if constexpr (Inputs == BackwardInputs::parameters) {
      static_assert(W == 1, "gradients of parameters are taken one neuron a thread");
      const int64_t n_steps = a_.extents.n_steps;
      const int64_t steps = n_steps < checkpoint_interval ? n_steps : checkpoint_interval;
      gradients_ = reinterpret_cast<double*>(shared + steps * step_stride) + threadIdx.x;
      for (int q = 0; q < a_.gradients.count; ++q) gradients_[q * backward_threads] = 0;
    }
  }

  __device__ __forceinline__ void run() {
    const int64_t n_steps = a_.extents.n_steps;
    bool walked = false;
    if constexpr (deep) {
      if (n_steps > ahead && !a_.tape_h) {
        walk_deep();
        walked = true;
      }
    }
    if (!walked)
      for (int64_t interval = (n_steps - 1) / checkpoint_interval; interval >= 0; --interval) walk(interval);
    if (a_.grad_v_init) store<O>(a_.grad_v_init + element_, carried_v_, owned_);
    if (two_variables && a_.grad_w_init) store<O>(a_.grad_w_init + element_, carried_w_, owned_);
    if constexpr (Inputs == BackwardInputs::parameters)
      for (int q = 0; q < a_.gradients.count; ++q)
        a_.gradient_partials[q * row_ + element_] = gradients_[q * backward_threads];
  }

 private:
  // One interval: H first, then its steps in reverse.
  __device__ __forceinline__ void walk(int64_t interval) {
    const int64_t first = interval * checkpoint_interval, left = a_.extents.n_steps - first;
    const int length = left < checkpoint_interval ? static_cast<int>(left) : checkpoint_interval;
    const R* const checkpoint = a_.tape + interval * Model::n_states * row_ + element_;
    v_start_ = load<O>(checkpoint);
    Vector<R, W> w_start = {};
    if constexpr (two_variables) w_start = load<O>(checkpoint + row_);

    // Incoming gradients of the last steps, in flight while H is recomputed.
    Flight<Spikes, ahead> rows(grad_spike_, length);
    if (a_.tape_h)
      read_h(first, w_start, length);
    else
      recompute(first, w_start, length);

    h_now_ = h_[(length - 1) * step_stride];
    const int last = length - 1;
    if constexpr (chunk_of_slopes) {
      Vector<R, W> slopes[ahead];
      rows.run_before([&](int64_t t) { find_slopes(slopes, last - static_cast<int>(t)); },
                      [&](const Row& row, int64_t t, int u, auto loads) {
                        step(row, last - static_cast<int>(t), is_first(loads, u, last - static_cast<int>(t)),
                             [&](int w) { return slopes[u].e[w]; });
                      });
    } else {
      rows.run([](int64_t) {},
               [&](const Row& row, int64_t t, int u, auto loads) {
                 step(row, last - static_cast<int>(t), is_first(loads, u, last - static_cast<int>(t)),
                      [&](int w) { return slope_at(h_now_.e[w], w); });
               },
               [] {});
    }
  }

  // Whether step s, in place u of its chunk, is the first of the interval: known at compile time in whole chunks.
  template <Loads Kind>
  static __device__ __forceinline__ bool is_first(KnownLoads<Kind>, int u, int s) {
    if constexpr (Kind == Loads::none) return u == ahead - 1;
    if constexpr (Kind == Loads::none_partial) return s == 0;
    return false;
  }

  // The surrogate's derivative at step s, computed in the step.
  __device__ __forceinline__ R slope_at(R h, int w) const {
    return derivative<Surrogate>(a_.surrogate, constants_[w] + first_surrogate_constant<Model>,
                                 h - constants_[w][constant_v_threshold]);
  }

  // Those of a chunk that ends with step s, the last one first. Of a shorter chunk some are computed again.
  __device__ __forceinline__ void find_slopes(Vector<R, W> (&slopes)[ahead], int s) const {
    const R* const constants = constants_[0] + first_surrogate_constant<Model>;
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      slopes[u] = h_[(s > u ? s - u : 0) * step_stride];
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

  // All intervals, every row loaded a whole interval before it is used: otherwise, few neurons over many steps wait for
  // the memory (H200, 1,024 neurons, T = 1,024: 80 us with 8 rows ahead).
  __device__ __forceinline__ void walk_deep() {
    constexpr int length = checkpoint_interval;
    int64_t interval = (a_.extents.n_steps - 1) / length;
    const int partial = static_cast<int>(a_.extents.n_steps - interval * length);  // steps of the last interval
    Row x[length], grad_spike[length];
    Sequence x_rows(a_.x, interval * length, element_, 1);
#pragma unroll
    for (int u = 0; u < length; ++u) x_rows.take_if(u < partial, x[u]);
#pragma unroll
    for (int u = 0; u < length; ++u) grad_spike_.take_if(u < partial, grad_spike[u]);
    if (partial < length) grad_spike_.skip(partial - length);
    const R* checkpoint = a_.tape + interval * row_ + element_;
    Vector<R, W> v_next = load<O>(checkpoint), none = {};
    if (partial < length) {
      v_start_ = v_next;
      Vector<R, W> v = v_next;
      const bool more = interval > 0;
#pragma unroll
      for (int s = 0; s < length; ++s)
        if (s < partial) charge_step(x_rows.decoded(x[s]), s, v, none);
      x_rows.skip(-2 * length);
      checkpoint -= row_;
      if (more) v_next = load<O>(checkpoint);
#pragma unroll
      for (int u = 0; u < length; ++u) x_rows.take_if(more, x[u]);
      h_now_ = h_[(partial - 1) * step_stride];
#pragma unroll
      for (int u = 0; u < length; ++u)
        if (u < partial)
          step(grad_spike[u], partial - 1 - u, u == partial - 1, [this](int w) { return slope_at(h_now_.e[w], w); });
#pragma unroll
      for (int u = 0; u < length; ++u) grad_spike_.take_if(more, grad_spike[u]);
      --interval;
    }
    for (; interval >= 0; --interval) {
      const bool more = interval > 0;
      v_start_ = v_next;
      Vector<R, W> v = v_next;
      checkpoint -= row_;
      if (more) v_next = load<O>(checkpoint);
#pragma unroll
      for (int s = 0; s < length; ++s) charge_step(x_rows.decoded(x[s]), s, v, none);
      x_rows.skip(-2 * length);
      h_now_ = h_[(length - 1) * step_stride];
#pragma unroll
      for (int u = 0; u < length; ++u) {
        const Row now = grad_spike[u];
        grad_spike_.take_if(more, grad_spike[u]);
        x_rows.take_if(more, x[u]);
        step(now, length - 1 - u, u == length - 1, [this](int w) { return slope_at(h_now_.e[w], w); });
      }
    }
  }

  // H of one step (and W before it) into shared memory, [step][variable][thread]: neighbouring threads use neighbouring
  // banks. The state moves on.
  __device__ __forceinline__ void charge_step(const Vector<R, W>& x, int s, Vector<R, W>& v, Vector<R, W>& w_now) {
    if constexpr (keeps_w) h_[s * step_stride + backward_threads] = w_now;
    Vector<R, W> h;
#pragma unroll
    for (int w = 0; w < W; ++w) {
      const State<R> before = {v.e[w], w_now.e[w]};
      h.e[w] = charge<Model>(constants_[w], before, x.e[w]);
      const State<R> after = advance<Model>(constants_[w], rules_, before, h.e[w], fires<Model>(constants_[w], h.e[w]));
      v.e[w] = after.v;
      w_now.e[w] = after.w;
    }
    h_[s * step_stride] = h;
  }

  __device__ __forceinline__ void recompute(int64_t first, Vector<R, W> w_now, int length) {
    Vector<R, W> v = v_start_;
    Sequence rows(a_.x, first, element_, 1);
    Flight<Sequence, ahead> flight(rows, length);
    flight.run([](int64_t) {},
               [&](const Row& x, int64_t s, int, auto) { charge_step(rows.decoded(x), static_cast<int>(s), v, w_now); },
               [] {});
  }

  // The same from a tape that holds H, in the arithmetic type or in 16 bits beside time-packed spikes.
  __device__ __forceinline__ void read_h(int64_t first, Vector<R, W> w_now, int length) {
    using Stored = Reader<typename StoredAs<R>::type, O>;
    u32 spikes[W];
#pragma unroll
    for (int w = 0; w < W; ++w)
      spikes[w] = a_.tape_spikes ? a_.tape_spikes[first / checkpoint_interval * row_ + element_ + O::offset(w)] : 0;
    static_assert(checkpoint_interval == 32, "one word of packed spikes per interval");
    Stored rows(a_.tape_h, first, element_, 1);
    Flight<Stored, ahead> flight(rows, length);
    const auto keep = [&](const typename Stored::Row& row, int64_t t, int, auto) {
      const int s = static_cast<int>(t);
      Vector<R, W> h = rows.decoded(row);
#pragma unroll
      for (int w = 0; w < W; ++w) {
        if constexpr (sizeof(R) == 4)
          if (a_.tape_spikes)
            h.e[w] = on_the_side_of((spikes[w] >> s & 1u) != 0, h.e[w], constants_[w][constant_v_threshold]);
        if constexpr (two_variables) {
          const State<R> before = {R(0), w_now.e[w]};
          if constexpr (keeps_w) h_[s * step_stride + backward_threads].e[w] = before.w;
          w_now.e[w] = advance<Model>(constants_[w], rules_, before, h.e[w], fires<Model>(constants_[w], h.e[w])).w;
        }
      }
      h_[s * step_stride] = h;
    };
    flight.run([](int64_t) {}, keep, [] {});
  }

  // `first`: the interval begins with this step. `slope(w)`: the surrogate's derivative.
  template <class Slope>
  __device__ __forceinline__ void step(const Row& grad_spike_row, int s, bool first, Slope slope) {
    const Vector<R, W> grad_spike = grad_spike_.decoded(grad_spike_row);
    Vector<R, W> grad_v, grad_w, x = {};
#pragma unroll
    for (int w = 0; w < W; ++w) grad_v.e[w] = grad_w.e[w] = R(-0.0);  // adding −0 changes no number
    if (any && a_.grad_v_seq) grad_v = grad_v_.decoded(grad_v_.take());
    if (two_variables && any && a_.grad_w_seq) grad_w = grad_w_.decoded(grad_w_.take());
    if constexpr (reads_input) x = x_again_.decoded(x_again_.take());
    Vector<R, W> h_before = {}, w_before = {}, grad_x;
    if (!first) h_before = h_[(s - 1) * step_stride];
    if constexpr (keeps_w) w_before = h_[s * step_stride + backward_threads];
#pragma unroll
    for (int w = 0; w < W; ++w) {
      const R v_before = first
                             ? v_start_.e[w]
                             : reset(constants_[w], rules_, h_before.e[w], fires<Model>(constants_[w], h_before.e[w]));
      const R g = slope(w);
      const State<R> before = {v_before, w_before.e[w]};
      const Incoming<R> incoming = {grad_spike.e[w], grad_v.e[w] + carried_v_.e[w], grad_w.e[w] + carried_w_.e[w]};
      const StepGradient<R> step =
          backward_step<Model>(constants_[w], rules_, before, x.e[w], h_now_.e[w], g, incoming);
      if constexpr (Inputs == BackwardInputs::parameters) add_gradients(before, x.e[w], h_now_.e[w], g, step, incoming);
      grad_x.e[w] = step.x;
      carried_v_.e[w] = step.before.v;
      carried_w_.e[w] = step.before.w;
    }
    if (!any || a_.grad_x) grad_x_.put(grad_x, owned_);
    h_now_ = h_before;
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
      gradients_[q * backward_threads] += static_cast<double>(share);
    }
  }

  const operations::BackwardArguments<R>& a_;
  const KnownRules rules_;
  const int64_t element_;
  const Owned<O> owned_;
  const Constants<R, first_surrogate_constant<Model> + Surrogate::n_constants, O, PerNeuron> constants_;
  const int64_t row_;
  Vector<R, W>* const h_;
  double* gradients_ = nullptr;  // [gradient][thread], behind H in shared memory
  Vector<R, W> carried_v_, carried_w_, v_start_, h_now_;
  Spikes grad_spike_;
  Sequence grad_v_, grad_w_, x_again_;
  GradientWriter grad_x_;
};

// Blocks per multiprocessor. f32 is bound by the memory, and more warps make it slower (226 us against 205); 16-bit
// storage is bound by instructions, and more warps make it faster (135 us against 150).
template <class E, class O>
inline constexpr int backward_blocks_at_least = O::width == 1    ? 1
                                                : sizeof(E) == 2 ? 12
                                                                 : 10;

template <class Model, class Surrogate, class E, class O, BackwardInputs Inputs>
__global__ void __launch_bounds__(backward_threads, backward_blocks_at_least<E, O>)
    backward(const __grid_constant__ BackwardLaunch<Arithmetic<E>> launch) {
  wait_for_previous();
  if (launch.next_begins_early) let_next_begin();
  extern __shared__ __align__(16) unsigned char shared[];
  if (launch.tiles.count == 0) return;  // never so; the compiler arranges the loop better (measurements.md)
  // Both at once: every thread waits for them before its first row.
  const int64_t active = launch.arguments.parameters->active;
  const bool per_neuron = launch.arguments.parameters->per_neuron;
  // Starts with the last neurons, whose X the forward left in the second-level cache.
  const int64_t row = launch.arguments.extents.row();
  const Place<O> at = place_in<O>(range_of<O>(tile_of(gridDim.x - 1 - blockIdx.x), row), row, active);
  if (!at.owned.any()) return;
  auto* h = reinterpret_cast<Vector<Arithmetic<E>, O::width>*>(shared);
  const Rules rules = launch.arguments.rules;
  if (per_neuron) {
    BackwardThread<Model, Surrogate, E, O, true, Rules, Inputs>(launch, at, h).run();
    return;
  }
  // Separate instances pay off where instructions bind.
  if constexpr (Inputs == BackwardInputs::spikes && O::width > 1 && !is_same<Surrogate, AnySurrogate>) {
    if (!rules.soft_reset && !rules.detach_reset) {
      BackwardThread<Model, Surrogate, E, O, false, HardAttached, Inputs>(launch, at, h).run();
      return;
    }
  }
  BackwardThread<Model, Surrogate, E, O, false, Rules, Inputs>(launch, at, h).run();
}

// ---- instances ------------------------------------------------------------------------------------------------------

// Gradients of parameters take the general kernel.
template <class Model, class E>
const void* linear_backward_address(const Ownership& ownership, BackwardInputs inputs) {
  if constexpr (is_same<E, AnyStorage> || is_same<E, double>)
    if (inputs == BackwardInputs::parameters)
      return address(backward<Model, NoSurrogate, E, Strided<1>, BackwardInputs::parameters>);
  constexpr BackwardInputs own = is_same<E, AnyStorage> ? BackwardInputs::any : BackwardInputs::potential;
  const void* found = nullptr;
  if (inputs == own)
    visit_ownership<E, is_same<E, AnyStorage> ? 1 : linear_backward_width<E>>(
        ownership, [&](auto o) { found = address(linear_backward<Model, E, decltype(o)>); });
  return found;
}

// Storing two variables needs twice the shared memory; threads with fewer neurons keep a block's share small.
template <class Model, class Surrogate, class E>
const void* spikes_address(const Ownership& ownership) {
  constexpr int wide = backward_variables<Model>(BackwardInputs::spikes) == 1 ? backward_width<E> : 1;
  const void* found = nullptr;
  visit_ownership<E, wide>(ownership, [&](auto o) {
    found = address(backward<Model, Surrogate, E, decltype(o), BackwardInputs::spikes>);
  });
  return found;
}

// Rare surrogates share one instance, which selects them at run time, so the common ones are not slowed. Gradients of
// parameters, and sequences other than spikes and inputs, use one neuron per thread, for any surrogate.
template <class Model, class E>
const void* backward_address(int32_t surrogate, const Ownership& ownership, BackwardInputs inputs) {
  constexpr bool any_type = is_same<E, AnyStorage> || is_same<E, double>;
  if constexpr (any_type) {
    if (inputs == BackwardInputs::parameters)
      return address(backward<Model, AnySurrogate, E, Strided<1>, BackwardInputs::parameters>);
    if (inputs == BackwardInputs::any)
      return address(backward<Model, AnySurrogate, E, Strided<1>, BackwardInputs::any>);
  }
  if constexpr (!is_same<E, AnyStorage>) {
    if (inputs == BackwardInputs::spikes) {
      const void* found = nullptr;
      if (!has_own_backward(surrogate)) return spikes_address<Model, AnySurrogate, E>(ownership);
      visit(Surrogates{}, surrogate, [&](auto entry) {
        using Entry = decltype(entry);
        if constexpr (has_own_backward(Entry::id)) found = spikes_address<Model, typename Entry::type, E>(ownership);
      });
      return found;
    }
  }
  return nullptr;
}

}  // namespace

template <class E>
const void* backward_kernel(int32_t model, int32_t surrogate, Ownership ownership, BackwardInputs inputs) {
  const void* found = nullptr;
  visit(CompiledModels{}, model, [&](auto entry) {
    using Model = typename decltype(entry)::dynamics;
    if constexpr (never_fires<Model>)
      found = linear_backward_address<Model, E>(ownership, inputs);
    else
      found = backward_address<Model, E>(surrogate, ownership, inputs);
  });
  return found;
}

}  // namespace synfire::cuda

#endif
