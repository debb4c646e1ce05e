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

// Where a step's row of shared memory is, [step][variable][thread]: neighbouring threads use neighbouring banks.
template <class Model, class R, BackwardInputs Inputs>
struct Kept {
  static constexpr int variables = backward_variables<Model>(Inputs);
  // Elements from one variable and from one step to the next.
  static constexpr int block = backward_block(variables, sizeof(R));
  static constexpr int step_stride = variables * block;
};

// Whether a thread begins its loads before it knows what its parameters are: then it waits for the memory once. What is
// in flight meanwhile takes registers, which other instances do not have (adjacent neurons, f32, T = 16: 120 us instead
// of 104).
template <class Surrogate, class E, class O>
inline constexpr bool begins_early = O::at_once || (O::width > 1 && O::adjacent == 1 && is_same<E, float> &&
                                                    !is_same<Surrogate, AnySurrogate>);

// In place of rows that are not loaded early.
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

// The first loads of one checkpoint interval: the state before it, its last rows of dL/dS and, if early, its first rows
// of X.
template <class Model, class E, class O, BackwardInputs Inputs, bool Early>
struct Interval {
  static constexpr int W = O::width;
  using R = Arithmetic<E>;
  static constexpr int n_further = n_further_states<Model>;
  // Fewer if each row is read in several ways: twice as many took the compiler minutes for compute capability 10.0.
  static constexpr int ahead = O::at_once                         ? short_steps
                               : Inputs != BackwardInputs::spikes ? backward_ahead / 2
                                                                  : backward_ahead;
  using Sequence = Reader<E, O>;
  using Spikes = typename MaybeGiven<Sequence, Inputs != BackwardInputs::spikes>::type;

  // The further variables.
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
        v(load_row_now<O>(a.tape + number * Model::n_states * row + element)),
        w(further(a.tape + number * Model::n_states * row + element, row)),
        grad_spike(spikes(a, element), length),
        x(Sequence(a.x, first, element, 1), a.tape_h && !O::at_once ? 0 : length) {}

 private:
  __device__ __forceinline__ static Further further(const R* checkpoint, int64_t row) {
    Further w = {};
#pragma unroll
    for (int k = 0; k < n_further; ++k) w.of[k] = load_row_now<O>(checkpoint + (k + 1) * row);
    return w;
  }
  __device__ __forceinline__ Spikes spikes(const operations::BackwardArguments<R>& a, int64_t element) const {
    if (!a.grad_spike) return {};
    return Spikes(Sequence(a.grad_spike, first + length - 1, element, -1));
  }
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
  static constexpr bool early = begins_early<Surrogate, E, O>;
  using Walked = Interval<Model, E, O, Inputs, early>;
  using Further = typename Walked::Further;
  // dL/dX leaves the second-level cache first, in favour of X: 202.3 us against 204.3, and 279.1 against 281.3 with the
  // forward (H200, LIF, f32, N = 2,097,152, T = 32). Marking the loads as well, or keeping X, gained nothing or lost.
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
  // Steps of the last chunk without a branch between them: where one neuron per thread waits for each derivative.
  static constexpr int together = any || PerNeuron || W > 1 || O::at_once ? 1 : sizeof(R) == 8 ? 4 : 2;
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

  // All intervals, every row loaded a whole interval before it is used: otherwise, few neurons over many steps wait for
  // the memory (H200, 1,024 neurons, T = 1,024: 80 us with 8 rows ahead). Not if H is stored.
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

  // One interval, whose rows have arrived, and `more`: the loads of the one before it. Of the last interval, only
  // `present` steps exist; the others are computed as well, from anything, and change nothing: with a branch for each
  // step, their arithmetic would not overlap (63 steps took 7.7 us, 64 took 5.0: H200, N = 16,384).
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
      const Vector<R, W> carried = carried_v_;
      step(
          rows.grad_source.decoded(now), s, s == 0, [this](int w) { return slope_at(h_now_.e[w], w); }, exists);
#pragma unroll
      for (int w = 0; w < W; ++w) carried_v_.e[w] = exists ? carried_v_.e[w] : carried.e[w];
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

  // One interval: H first, then its steps in reverse. Incoming gradients are in flight meanwhile.
  __device__ __forceinline__ void walk(Walked& walked) {
    v_start_ = walked.v;
    if (!O::at_once && a_.tape_h)
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
      walked.grad_spike.template run<PerNeuron, together>(
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
        // Back over the steps that do not exist; of a whole chunk there are none.
        const int missing = (together - walked.length % together) % together;
        grad_x_.skip(-missing);
        if constexpr (reads_input) x_again_.skip(-missing);
      }
    }
  }

  // Whether step s, in place u of its chunk, is the first of the interval: known at compile time in whole chunks.
  template <Loads Kind>
  static __device__ __forceinline__ bool is_first(KnownLoads<Kind>, int u, int s) {
    if constexpr (Kind == Loads::none) return u == ahead - 1;
    if constexpr (Kind == Loads::none_partial) return s <= 0;
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

  // H of one step (and the further variables before it) into shared memory. The state moves on.
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
      h.e[w] = charge<Model>(constants_[w], before, x.e[w]);
      const StateOf<Model, R> after =
          advance<Model>(constants_[w], rules_, before, x.e[w], h.e[w], fires<Model>(constants_[w], h.e[w]));
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
    rows.template run<PerNeuron, together>([](int64_t) {},
                                           [&](const Row& x, int64_t s, int, auto, bool exists) {
                                             charge_step(rows.decoded(x), static_cast<int>(s), v, w_now, exists);
                                           },
                                           [](int) {});
  }

  // The same from a tape that holds H, in the arithmetic type or in 16 bits beside time-packed spikes. Further
  // variables follow from H (models of which one follows X as well never store H).
  __device__ __forceinline__ void read_h(Walked& walked) {
    using Stored = Reader<typename StoredAs<R>::type, O>;
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
    };
    rows.template run<true>([](int64_t) {}, keep, [](int) {});
  }

  // A step that need not exist, like those that do.
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

  // `first`: the interval begins with this step. `slope(w)`: the surrogate's derivative. Of a step that does not exist,
  // nothing is written, and the state is what it makes of anything.
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
      if constexpr (together == 1)
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
    if (!any || a_.grad_x) grad_x_.put(grad_x, exists ? owned_ : Owned<O>());
    h_now_ = h_before;
  }

  // One step's share of the gradients of parameters, summed in shared memory.
  __device__ __forceinline__ void add_gradients(StateOf<Model, R> before, R x, R h, R g,
                                                const StepGradientOf<Model, R>& step, IncomingOf<Model, R> incoming) {
    const core::ParameterBlock<R>& parameters = *a_.parameters;
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
          slopes[k] = PerNeuron ? parameters.slopes_per_neuron[at * n + element_ % n] : parameters.slopes[at];
        }
        share = parameter_gradient<Model>(constants_[0], slopes, before, x, h, step, incoming);
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
  double* gradients_ = nullptr;  // [gradient][thread], behind H in shared memory
  Vector<R, W> carried_v_, carried_w_[rows_w], v_start_, h_now_;
  Sequence grad_v_, grad_w_[rows_w], x_again_;
  GradientWriter grad_x_;
};

// Long unrolled code, so only for the common case: one variable, f32, a surrogate with its own instance.
template <class Model, class Surrogate, class E, class O, BackwardInputs Inputs>
inline constexpr bool runs_deep = O::width == 1 && Inputs == BackwardInputs::spikes&& n_further_states<Model> == 0 &&
                                  is_same<E, float> && !is_same<Surrogate, AnySurrogate>;

// Blocks per multiprocessor. f32 is bound by the memory, and more warps make it slower (226 us against 205); 16-bit
// storage is bound by instructions, and more warps make it faster (135 us against 150). Whole intervals of one neuron
// per thread take 240 registers where they can, and do with 168.
template <class E, class O>
inline constexpr int backward_blocks_at_least = O::width == 1                       ? (is_same<E, float> ? 6 : 1)
                                                : sizeof(E) == 2 && O::adjacent > 1 ? 12
                                                                                    : 10;

template <class Model, class Surrogate, class E, class O, BackwardInputs Inputs>
__global__ void __launch_bounds__(backward_threads, backward_blocks_at_least<E, O>)
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
  const Constants<R, first_surrogate_constant<Model> + Surrogate::n_constants, O, false> constants(*a.parameters);
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
  if (switches.per_neuron) {
    const Constants<R, first_surrogate_constant<Model> + Surrogate::n_constants, O, true> own(
        *a.parameters, a.extents.n_neurons, element);
    BackwardThread<Model, Surrogate, E, O, true, Rules, Inputs> thread(launch, element, owned, own, h);
    run_in(thread, walked);
    return;
  }
  // Separate instances pay off where instructions bind.
  constexpr bool memory_binds = O::at_once || (is_same<E, float> && O::adjacent == 1);
  if constexpr (Inputs == BackwardInputs::spikes && O::width > 1 && !memory_binds &&
                !is_same<Surrogate, AnySurrogate>) {
    if (!rules.soft_reset && !rules.detach_reset) {
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
    visit_ownership<forward_adjacent<E>, is_same<E, AnyStorage> ? 1 : forward_strided<E>, 1, 1, false>(
        ownership, [&](auto o) { found = address(linear_backward<Model, E, decltype(o)>); });
  return found;
}

// Storing two variables needs twice the shared memory; threads with fewer neurons keep a block's share small.
template <class Model, class Surrogate, class E, bool Short>
const void* spikes_address(const Ownership& ownership) {
  constexpr bool wide = backward_variables<Model>(BackwardInputs::spikes) == 1;
  const void* found = nullptr;
  visit_ownership<wide ? backward_adjacent<E> : 1, wide ? backward_strided<E> : 1,
                  wide && Short ? backward_short_adjacent<E> : 1, wide && Short ? backward_short_strided<E> : 1, false>(
      ownership, [&](auto o) { found = address(backward<Model, Surrogate, E, decltype(o), BackwardInputs::spikes>); });
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
      if (!has_own_backward(surrogate)) return spikes_address<Model, AnySurrogate, E, false>(ownership);
      visit(Surrogates{}, surrogate, [&](auto entry) {
        using Entry = decltype(entry);
        if constexpr (has_own_backward(Entry::id))
          found = spikes_address<Model, typename Entry::type, E, has_short_backward<E>(Entry::id)>(ownership);
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
  visit(Models{}, model, [&](auto entry) {
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
