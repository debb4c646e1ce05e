// One thread's neurons, backward through time.
#ifndef SYNFIRE_NEURONS_PASSES_CUDA_BACKWARD_THREAD_CUH
#define SYNFIRE_NEURONS_PASSES_CUDA_BACKWARD_THREAD_CUH

#include "backward_interval.cuh"
#include "writers.cuh"

namespace synfire::cuda {
namespace {

// The place of a step's row in shared memory, [step][variable][thread]: neighbouring threads use neighbouring banks.
template <class Model, class R, BackwardInputs Inputs>
struct Kept {
  static constexpr int variables = backward_variables<Model>(Inputs);
  static constexpr int block = backward_block(variables, sizeof(R));
  static constexpr int step_stride = variables * block;
};

// The most common rules, known at compile time, so that their selections cost nothing.
struct HardAttached {
  __device__ __forceinline__ explicit HardAttached(const Rules&) {}
  __device__ __forceinline__ operator Rules() const { return {false, false}; }
};

// Interval by interval, H is recomputed from the checkpoint or read from the tape into shared memory, then walked back.
// One class, although it is long: its members are what a thread keeps in registers, and its functions are inlined into
// one kernel. Its template parameters are the axes of the instances (backward_instances.cuh).
template <class Model, class Surrogate, class E, class O, bool PerNeuron, class KnownRules, BackwardInputs Inputs>
class BackwardThread {
 public:
  static constexpr int W = O::width;
  using R = Arithmetic<E>;
  using Sequence = Reader<E, O>;
  using Row = typename Sequence::Row;
  static constexpr bool early = begins_early<Surrogate, E, O>;
  using Walked = Interval<Model, E, O, Inputs, early>;
  using Further = typename Walked::Further;
  // dL/dX leaves the second-level cache first, in favour of X. Marking the loads as well, or keeping X, gains nothing.
  using GradientWriter = Writer<E, O, true>;
  static constexpr int n_constants = first_surrogate_constant<Model> + Surrogate::n_constants;
  static constexpr int n_further = n_further_states<Model>;
  static constexpr int rows_w = n_further > 0 ? n_further : 1;
  static constexpr bool any = Inputs != BackwardInputs::spikes;
  static constexpr int ahead = Walked::ahead;
  static constexpr bool reads_input = slope_reads_input<Model> || Inputs == BackwardInputs::parameters;
  static constexpr bool keeps_w = backward_variables<Model>(Inputs) > 1;
  // In shared memory, elements from one variable and from one step to the next.
  static constexpr int variable_stride = Kept<Model, R, Inputs>::block;
  static constexpr int step_stride = Kept<Model, R, Inputs>::step_stride;
  // Steps of the last chunk without a branch between them: two if one neuron per thread waits for each derivative.
  static constexpr int together = any || PerNeuron || W > 1 ? 1 : 2;
  // True if last chunks of every length run one copy of the code, which is smaller and a little slower: while H is
  // recomputed, for the rare kernels with constants per neuron; on the way back, also for gradients of parameters.
  static constexpr bool one_last_chunk = PerNeuron && !O::at_once;
  static constexpr bool one_last_chunk_back = one_last_chunk || Inputs == BackwardInputs::parameters;
  // The derivatives of a whole chunk are computed before its steps.
  static constexpr bool chunk_of_slopes = is_same<Surrogate, AnySurrogate> && !PerNeuron && !any;

  __device__ __forceinline__ BackwardThread(const BackwardLaunch<R>& launch, int64_t element, const Owned<O>& owned,
                                            const Constants<R, n_constants, O, PerNeuron>& constants,
                                            Vector<R, W>* shared)
      : a_(launch.arguments),
        rules_(a_.rules),
        element_(element),
        owned_(owned),
        constants_(constants),
        row_(launch.tiles.elements),
        h_(shared + threadIdx.x) {
    carried_v_ = carried_w_[0] = {};
    if (a_.grad_v_final) carried_v_ = load<O>(a_.grad_v_final + element);
#pragma unroll
    for (int k = 0; k < n_further; ++k) {
      carried_w_[k] = {};
      if (a_.grad_w_final[k]) carried_w_[k] = load<O>(a_.grad_w_final[k] + element);
    }
    const int64_t last = a_.extents.n_steps - 1;
    if (a_.grad_x) grad_x_ = GradientWriter(a_.grad_x, last, element, -1);
    if constexpr (any) {
      if (a_.grad_v_seq) grad_v_ = Sequence(a_.grad_v_seq, last, element, -1);
#pragma unroll
      for (int k = 0; k < n_further; ++k)
        if (a_.grad_w_seq[k]) grad_w_[k] = Sequence(a_.grad_w_seq[k], last, element, -1);
    }
    if constexpr (reads_input) x_again_ = Sequence(a_.x, last, element, -1);
    if constexpr (Inputs == BackwardInputs::parameters) {
      static_assert(W == 1, "gradients of parameters are taken one neuron a thread");
      const int64_t n_steps = a_.extents.n_steps;
      const int64_t steps = n_steps < checkpoint_interval ? n_steps : checkpoint_interval;
      gradients_ = reinterpret_cast<double*>(shared + steps * step_stride) + threadIdx.x;
      for (int q = 0; q < a_.gradients.count; ++q) gradients_[q * variable_stride] = 0;
    }
  }

  __device__ __forceinline__ void run(int64_t interval) {
    for (; interval >= 0; --interval) {
      Walked walked(a_, row_, element_, interval);
      walk(walked);
    }
    finish();
  }
  // `walked`: the last interval, number `interval`.
  __device__ __forceinline__ void run(Walked walked, int64_t interval) {
    if constexpr (O::at_once) {
      walk(walked);
    } else {
      for (;;) {
        walk(walked);
        if (--interval < 0) break;
        walked = Walked(a_, row_, element_, interval);
      }
    }
    finish();
  }

  // All intervals, every row loaded a whole interval before its use: otherwise, few neurons over many steps wait for
  // the memory. Not if H is stored.
  __device__ __forceinline__ void run_deep() {
    constexpr int length = checkpoint_interval;
    int64_t interval = (a_.extents.n_steps - 1) / length;
    const int present = static_cast<int>(a_.extents.n_steps - interval * length);  // steps of the last interval
    DeepRows rows = {Sequence(a_.x, interval * length, element_, 1),
                     Sequence(a_.grad_spike, interval * length + length - 1, element_, -1)};
    const R* checkpoint = a_.tape + interval * row_ + element_;
    Vector<R, W> v_next = load<O>(checkpoint);
#pragma unroll
    for (int u = 0; u < length; ++u) rows.x_source.take_if(u < present, rows.x[u]);
#pragma unroll
    for (int u = 0; u < length; ++u) rows.grad_source.take_if(length - 1 - u < present, rows.grad_spike[u]);
    const auto walk_next = [&](auto whole) {
      v_start_ = v_next;
      checkpoint -= row_;
      if (interval > 0) v_next = load<O>(checkpoint);
      walk_deep<decltype(whole)::value>(rows, present, interval > 0);
      --interval;
    };
    if (present < length) {
      grad_x_.skip(present - length);
      walk_next(Whole<false>{});
    }
    while (interval >= 0) walk_next(Whole<true>{});
    finish();
  }

 private:
  struct DeepRows {
    Sequence x_source, grad_source;
    Row x[checkpoint_interval], grad_spike[checkpoint_interval];
  };
  template <bool Is>
  struct Whole {
    static constexpr bool value = Is;
  };

  // One interval, whose rows are there, and `more`: the loads of the one before. Only `present` steps of the last
  // interval exist; the others are computed from anything and change nothing, so that no branch separates steps.
  template <bool IsWhole>
  __device__ __forceinline__ void walk_deep(DeepRows& rows, int present, bool more) {
    constexpr int length = checkpoint_interval;
    Vector<R, W> v = v_start_;
    Further none = {};
#pragma unroll
    for (int s = 0; s < length; ++s) charge_step(rows.x_source.decoded(rows.x[s]), s, v, none);
    rows.x_source.skip(-2 * length);
    h_now_ = h_[(length - 1) * step_stride];
#pragma unroll
    for (int u = 0; u < length; ++u) {
      const int s = length - 1 - u;
      const bool exists = IsWhole || s < present;
      const Row now = rows.grad_spike[u];
      rows.grad_source.take_if(more, rows.grad_spike[u]);
      rows.x_source.take_if(more, rows.x[u]);
      step_if(exists, rows.grad_source.decoded(now), s, s == 0, [this](int w) { return slope_at(h_now_.e[w], w); });
    }
  }

  __device__ __forceinline__ void finish() {
    if (a_.grad_v_init) store<O>(a_.grad_v_init + element_, carried_v_, owned_);
#pragma unroll
    for (int k = 0; k < n_further; ++k)
      if (a_.grad_w_init[k]) store<O>(a_.grad_w_init[k] + element_, carried_w_[k], owned_);
    if constexpr (Inputs == BackwardInputs::parameters)
      for (int q = 0; q < a_.gradients.count; ++q)
        a_.gradient_partials[q * row_ + element_] = gradients_[q * variable_stride];
  }

  __device__ __forceinline__ void walk(Walked& walked) {
    v_start_ = walked.v;
    if (!O::at_once && !is_same<KnownRules, HardAttached> && a_.tape_h)
      read_h(walked);
    else
      recompute(walked);
    const int last = walked.length - 1;
    h_now_ = h_[last * step_stride];
    if constexpr (chunk_of_slopes) {
      Vector<R, W> slopes[ahead];
      walked.grad_spike.run_before([&](int64_t t) { find_slopes(slopes, last - static_cast<int>(t)); },
                                   [&](const Row& row, int64_t t, int u, auto loads, bool) {
                                     const int s = last - static_cast<int>(t);
                                     step(walked.grad_spike.decoded(row), s, is_first(loads, u, s),
                                          [&](int w) { return slopes[u].e[w]; });
                                   });
    } else {
      walked.grad_spike.template run<one_last_chunk_back, together>(
          [](int64_t) {},
          [&](const Row& row, int64_t t, int u, auto loads, bool exists) {
            const int s = last - static_cast<int>(t);
            const auto slope = [&](int w) { return slope_at(h_now_.e[w], w); };
            if constexpr (together == 1)
              step(walked.grad_spike.decoded(row), s, is_first(loads, u, s), slope);
            else
              step_if(exists, walked.grad_spike.decoded(row), s, is_first(loads, u, s), slope);
          },
          [](int) {});
      if constexpr (together > 1) {
        const int missing = walked.length % together;
        grad_x_.skip(-missing);
        if constexpr (reads_input) x_again_.skip(-missing);
      }
    }
  }

  // True if step s, in place u of its chunk, is the first of the interval: known at compile time in whole chunks.
  template <Loads Kind>
  static __device__ __forceinline__ bool is_first(KnownLoads<Kind>, int u, int s) {
    if constexpr (Kind == Loads::none) return u == ahead - 1 || (together > 1 && u == ahead - 2 && s == 0);
    if constexpr (Kind == Loads::none_partial) return s <= 0;
    return false;
  }

  __device__ __forceinline__ R slope_at(R h, int w) const {
    return derivative<Surrogate>(a_.surrogate, constants_[w] + first_surrogate_constant<Model>,
                                 h - constants_[w][constant_v_threshold]);
  }

  // The derivatives of a chunk that ends with step s, the last one first. A shorter chunk computes 1, 2 or 4 steps, or
  // the whole one, some of them again.
  __device__ __forceinline__ void find_slopes(Vector<R, W> (&slopes)[ahead], int s) const {
    const R* const constants = constants_[0] + first_surrogate_constant<Model>;
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      if (begins_part(u) && u > s) break;
      slopes[u] = h_[(s > u ? s - u : 0) * step_stride];
#pragma unroll
      for (int w = 0; w < W; ++w) slopes[u].e[w] -= constants_[0][constant_v_threshold];
    }
    const bool found = visit_unrolled<Model>(Surrogates{}, a_.surrogate, [&](auto surrogate) {
#pragma unroll
      for (int u = 0; u < ahead; ++u) {
        if (begins_part(u) && u > s) break;
#pragma unroll
        for (int w = 0; w < W; ++w) slopes[u].e[w] = decltype(surrogate)::derivative(constants, slopes[u].e[w]);
      }
    });
    if (found) return;
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      if (u > s) break;
#pragma unroll
      for (int w = 0; w < W; ++w) slopes[u].e[w] = derivative<Surrogate>(a_.surrogate, constants, slopes[u].e[w]);
    }
  }
  static __device__ __forceinline__ constexpr bool begins_part(int u) {
    return u == 1 || u == 2 || u == 4;
  }

  // Writes H of one step, and the further variables before it, to shared memory. The state moves on.
  __device__ __forceinline__ void charge_step(const Vector<R, W>& x, int s, Vector<R, W>& v, Further& w_now,
                                              bool exists = true) {
    if constexpr (keeps_w) {
#pragma unroll
      for (int k = 0; k < n_further; ++k)
        if (exists) h_[s * step_stride + (k + 1) * variable_stride] = w_now.of[k];
    }
    Vector<R, W> h;
#pragma unroll
    for (int w = 0; w < W; ++w) {
      StateOf<Model, R> before = {v.e[w], {}};
#pragma unroll
      for (int k = 0; k < n_further; ++k) before.w[k] = w_now.of[k].e[w];
      h.e[w] = charge<Model>(constants_[w], rules_, before, x.e[w]);
      const StateOf<Model, R> after = advance<Model>(constants_[w], rules_, before, x.e[w], h.e[w],
                                                     fires<Model>(constants_[w], rules_, before, h.e[w]));
      v.e[w] = after.v;
#pragma unroll
      for (int k = 0; k < n_further; ++k) w_now.of[k].e[w] = after.w[k];
    }
    if (exists) h_[s * step_stride] = h;
  }

  __device__ __forceinline__ void recompute(Walked& walked) {
    if constexpr (early) {
      recompute(walked, walked.x);
    } else {
      Flight<Sequence, ahead> x(Sequence(a_.x, walked.first, element_, 1), walked.length);
      recompute(walked, x);
    }
  }
  template <class Rows>
  __device__ __forceinline__ void recompute(Walked& walked, Rows& rows) {
    Vector<R, W> v = walked.v;
    Further w_now = walked.w;
    rows.template run<one_last_chunk, together>([](int64_t) {},
                                                [&](const Row& x, int64_t s, int, auto, bool exists) {
                                                  charge_step(rows.decoded(x), static_cast<int>(s), v, w_now, exists);
                                                },
                                                [](int) {});
  }

  // Reads H from a tape, in the arithmetic type or in 16 bits beside time-packed spikes. Further variables follow from
  // H (models of which one follows X never store H).
  __device__ __forceinline__ void read_h(Walked& walked) {
    using Stored = typename TapeReaderOf<E, O>::type;
    Further w_now = walked.w;
    u32 spikes[W];
#pragma unroll
    for (int w = 0; w < W; ++w)
      spikes[w] =
          a_.tape_spikes ? a_.tape_spikes[walked.first / checkpoint_interval * row_ + element_ + O::offset(w)] : 0;
    static_assert(checkpoint_interval == 32, "one word of packed spikes per interval");
    Flight<Stored, ahead> rows(Stored(a_.tape_h, walked.first, element_, 1), walked.length);
    const auto keep = [&](const typename Stored::Row& row, int64_t t, int, auto, bool) {
      const int s = static_cast<int>(t);
      Vector<R, W> h = rows.decoded(row);
#pragma unroll
      for (int w = 0; w < W; ++w) {
        StateOf<Model, R> before = {R(0), {}};
#pragma unroll
        for (int k = 0; k < n_further; ++k) before.w[k] = w_now.of[k].e[w];
        if constexpr (sizeof(R) == 4)
          if (a_.tape_spikes)
            h.e[w] = on_the_side_of<Model>(constants_[w], rules_, before, (spikes[w] >> s & 1u) != 0, h.e[w]);
        if constexpr (n_further > 0) {
#pragma unroll
          for (int k = 0; k < n_further; ++k)
            if constexpr (keeps_w) h_[s * step_stride + (k + 1) * variable_stride].e[w] = before.w[k];
          const StateOf<Model, R> after = advance<Model>(constants_[w], rules_, before, R(0), h.e[w],
                                                         fires<Model>(constants_[w], rules_, before, h.e[w]));
#pragma unroll
          for (int k = 0; k < n_further; ++k) w_now.of[k].e[w] = after.w[k];
        }
      }
      h_[s * step_stride] = h;
    };
    rows.template run<true>([](int64_t) {}, keep, [](int) {});
  }

  template <class Slope>
  __device__ __forceinline__ void step_if(bool exists, const Vector<R, W>& grad_spike, int s, bool first, Slope slope) {
    const Vector<R, W> v = carried_v_;
    Vector<R, W> w[rows_w];
#pragma unroll
    for (int k = 0; k < n_further; ++k) w[k] = carried_w_[k];
    step(grad_spike, s, first, slope, exists);
#pragma unroll
    for (int i = 0; i < W; ++i) {
      carried_v_.e[i] = exists ? carried_v_.e[i] : v.e[i];
#pragma unroll
      for (int k = 0; k < n_further; ++k) carried_w_[k].e[i] = exists ? carried_w_[k].e[i] : w[k].e[i];
    }
  }

  // `first`: the interval begins with this step. `slope(w)`: the surrogate's derivative. A step that does not exist
  // writes nothing, and leaves any state.
  template <class Slope>
  __device__ __forceinline__ void step(const Vector<R, W>& grad_spike, int s, bool first, Slope slope,
                                       bool exists = true) {
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
    if constexpr (reads_input) {
      Row row = {};
      if constexpr (Inputs == BackwardInputs::parameters)
        x_again_.take_if(static_cast<bool>(a_.x), row);  // absent where H is stored and no gradient is taken
      else if constexpr (together == 1)
        row = x_again_.take();
      else
        x_again_.take_if(exists, row);
      x = x_again_.decoded(row);
    }
    Vector<R, W> h_before = {}, w_before[rows_w] = {}, grad_x;
    if (!first) h_before = h_[(s - 1) * step_stride];
    if constexpr (keeps_w) {
#pragma unroll
      for (int k = 0; k < n_further; ++k)
        if (exists) w_before[k] = h_[s * step_stride + (k + 1) * variable_stride];
    }
#pragma unroll
    for (int w = 0; w < W; ++w) {
      StateOf<Model, R> earlier = {R(0), {}};  // before the step before, as far as its firing and reset depend on it
      if constexpr (is_ruled<Model>) {
#pragma unroll
        for (int k = 0; k < n_further; ++k)
          if (!first) earlier.w[k] = h_[(s - 1) * step_stride + (k + 1) * variable_stride].e[w];
      }
      const R v_before = first ? v_start_.e[w]
                               : reset<Model>(constants_[w], rules_, earlier, h_before.e[w],
                                              fires<Model>(constants_[w], rules_, earlier, h_before.e[w]));
      StateOf<Model, R> before = {v_before, {}};
      IncomingOf<Model, R> incoming = {grad_spike.e[w], grad_v.e[w] + carried_v_.e[w], {}};
#pragma unroll
      for (int k = 0; k < n_further; ++k) {
        before.w[k] = w_before[k].e[w];
        incoming.w[k] = grad_w[k].e[w] + carried_w_[k].e[w];
      }
      R g;
      if constexpr (is_centred<Model>)
        g = derivative<Surrogate>(a_.surrogate, constants_[w] + first_surrogate_constant<Model>,
                                  h_now_.e[w] - step_threshold<Model>(constants_[w], before));
      else
        g = slope(w);
      const StepGradientOf<Model, R> step =
          backward_step<Model>(constants_[w], rules_, before, x.e[w], h_now_.e[w], g, incoming);
      if constexpr (Inputs == BackwardInputs::parameters) add_gradients(before, x.e[w], h_now_.e[w], g, step, incoming);
      grad_x.e[w] = step.x;
      carried_v_.e[w] = step.before.v;
#pragma unroll
      for (int k = 0; k < n_further; ++k) carried_w_[k].e[w] = step.before.w[k];
    }
    if (!any || a_.grad_x) grad_x_.put(grad_x, exists ? owned_ : Owned<O>());
    h_now_ = h_before;
  }

  // Adds a step's share to the gradients of parameters, in shared memory.
  __device__ __forceinline__ void add_gradients(StateOf<Model, R> before, R x, R h, R g,
                                                const StepGradientOf<Model, R>& step, IncomingOf<Model, R> incoming) {
    const core::ParameterBlock<R>& parameters = *a_.parameters;
    const int64_t n = a_.extents.n_neurons;
#pragma unroll 1
    for (int q = 0; q < a_.gradients.count; ++q) {
      const int slope_row = a_.gradients.rows[q];
      R share;
      if (!never_fires<Model> && slope_row == gradient_of_v_threshold) {
        share = v_threshold_gradient<Model>(constants_[0], rules_, before, h, g, step, incoming);
      } else if (!never_fires<Model> && slope_row == gradient_of_v_reset) {
        share = v_reset_gradient<Model>(constants_[0], rules_, before, h, incoming);
      } else {
        R slopes[max_model_constants];
#pragma unroll
        for (int k = 0; k < Model::n_constants; ++k) {
          const int at = slope_row * max_model_constants + k;
          slopes[k] = PerNeuron ? parameters.slopes_per_neuron[at * n + element_ % n] : parameters.slopes[at];
        }
        share = parameter_gradient<Model>(constants_[0], rules_, slopes, before, x, h, step, incoming);
      }
      gradients_[q * variable_stride] += static_cast<double>(share);
    }
  }

  const operations::BackwardArguments<R>& a_;
  const KnownRules rules_;
  const int64_t element_;
  const Owned<O> owned_;
  const Constants<R, n_constants, O, PerNeuron> constants_;
  const int64_t row_;
  Vector<R, W>* const h_;
  double* gradients_ = nullptr;  // [gradient][thread], after H in shared memory
  Vector<R, W> carried_v_, carried_w_[rows_w], v_start_, h_now_;
  Sequence grad_v_, grad_w_[rows_w], x_again_;
  GradientWriter grad_x_;
};

}  // namespace
}  // namespace synfire::cuda

#endif
