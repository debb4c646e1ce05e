// BPTT over one tile of neurons, compiled once per instruction level (passes_host_kernels.cpp).
#include "host_rows.hpp"

namespace synfire::host::SYNFIRE_MODEL_LEVEL {
namespace {

// Number of steps per block of the backward. Long rows use 1; short rows up to 32, because the call costs more than the
// step. Rows are `stride` apart and take at most `most` numbers. It divides checkpoint_interval.
inline int steps_together(int stride, int most) {
  int steps = 1;
  while (2 * steps * stride <= most && 2 * steps <= checkpoint_interval) steps *= 2;
  return steps;
}

template <class R>
struct Rows {
  const R* first;
  int64_t step;
};

// Consecutive rows of a sequence: in place if possible, else in `scratch`, `stride` apart.
template <class R, bool PerNeuron>
Rows<R> input_rows(const Sequence& sequence, const core::Extents& extents, const Tile& tile, int64_t t, int steps,
                   int stride, bool alone, R* scratch, const Row<R>& absent = zeros<R>) {
  if (!sequence) return {absent.values, 0};
  if (steps == 1) return {input_row<R, PerNeuron>(sequence, extents, tile, t, alone, scratch, absent), 0};
  const int lanes = computed<R, PerNeuron>(tile);
  const int64_t behind = alone ? elements_behind(sequence, extents, t + steps - 1, tile.element, tile.count) : 0;
  if (holds(sequence, R()) && lanes - tile.count <= behind)
    return {element<const R>(sequence, t, tile.element), sequence.pitch};
  for (int s = 0; s < steps; ++s) {
    R* const to = scratch + s * stride;
    const R* const from = input_row<R, PerNeuron>(sequence, extents, tile, t + s, alone, to);
    if (from != to) copy_exactly(to, from, lanes);
  }
  return {scratch, stride};
}

// g'(H − v_threshold) of one row, or g' of one that holds H less the threshold. A separate pass, so that surrogates and
// models need no combined instances.
template <class Surrogate, class R, bool PerNeuron, bool Centred>
void surrogate_row_of(R* __restrict g, const R* __restrict h, const core::ParameterBlock<R>& block, int first_constant,
                      int64_t n_neurons, const Tile& tile) {
  const Constants<R, 1, PerNeuron> thresholds(block, constant_v_threshold, n_neurons, tile);
  const Constants<R, Surrogate::n_constants, PerNeuron> source(block, first_constant, n_neurons, tile);
  for (int i = 0; i < tile.count; ++i) {
    R v_threshold[1], c[Surrogate::n_constants];
    thresholds.load(v_threshold, i);
    source.load(c, i);
    g[i] = Surrogate::derivative(c, Centred ? h[i] : h[i] - v_threshold[0]);
  }
}

// Slopes of the model's constants along one parameter, for neuron i of a tile.
template <class R, bool PerNeuron>
struct Slopes {
  const R* shared;
  const R* per_neuron;
  int64_t n_neurons;

  Slopes(const core::ParameterBlock<R>& block, int slope_row, int64_t n, const Tile& tile)
      : shared(block.slopes + int64_t{slope_row} * max_model_constants),
        per_neuron(PerNeuron ? block.slopes_per_neuron + int64_t{slope_row} * max_model_constants * n + tile.neuron
                             : nullptr),
        n_neurons(n) {}

  SYNFIRE_MODEL_FN void load(R* slopes, int count, int i) const {
    for (int k = 0; k < count; ++k) slopes[k] = PerNeuron ? per_neuron[k * n_neurons + i] : shared[k];
  }
};

// H of one step from the tape; the further variables are those before it.
template <class Model, class R, bool PerNeuron>
void stored_row(const Constants<R, first_model_constant + Model::n_constants, PerNeuron>& source,
                const BackwardArguments<R>& a, const Tile& tile, int64_t step, const FurtherRows<R>& further, R* h) {
  const int count = tile.count, lanes = computed<R, PerNeuron>(tile);
  const R* const stored = input_row<R, PerNeuron>(a.tape_h, a.extents, tile, step, true, h);
  if (stored != h) copy_row(h, stored, lanes);
  if constexpr (sizeof(R) == 4) {
    if (!a.tape_spikes) return;
    const uint32_t* __restrict words = a.tape_spikes + step / 32 * a.extents.row() + tile.element;
    const uint32_t bit = uint32_t{1} << (step % 32);
    for (int i = 0; i < count; ++i) {
      R c[first_model_constant + Model::n_constants];
      source.load(c, i);
      StateOf<Model, R> before = {R(0), {}};
      load_further<Model>(before, further.w, further.third, further.fourth, i);
      h[i] = on_the_side_of<Model>(c, a.rules, before, (words[i] & bit) != 0, h[i]);
    }
  }
}

// The state after a step that charged to h (models of which a further variable follows X never store H).
template <class Model, class R, bool PerNeuron>
void advance_row(const Constants<R, first_model_constant + Model::n_constants, PerNeuron>& source, Rules rules,
                 const R* __restrict h, R* __restrict v, R* __restrict w, R* __restrict third, R* __restrict fourth,
                 int count) {
  for (int i = 0; i < count; ++i) {
    R c[first_model_constant + Model::n_constants];
    source.load(c, i);
    StateOf<Model, R> before = {v[i], {}};
    load_further<Model>(before, w, third, fourth, i);
    const bool spike = fires<Model>(c, rules, before, h[i]);
    const StateOf<Model, R> after = advance<Model>(c, rules, before, R(0), h[i], spike);
    v[i] = after.v;
    store_further<Model>(after, w, third, fourth, i);
  }
}

// One tile, interval by interval: H is recomputed from the checkpoint (or read from the tape), then walked in reverse.
template <class Model, class R, bool PerNeuron>
class BackwardTile {
 public:
  // The layout of `rows` is that of RowsOfBackward.
  BackwardTile(const BackwardArguments<R>& a, SurrogateRow<R> surrogate_row, const Tile& tile, R* rows)
      : a_(a),
        tile_(tile),
        surrogate_row_(surrogate_row),
        source_(*a.parameters, 0, a.extents.n_neurons, tile),
        row_(a.extents.row()),
        element_(tile.element),
        count_(tile.count),
        stored_(stored_states<Model>(a.rules)),
        lanes_(computed<R, PerNeuron>(tile)),
        // Sums of gradients need the adjoint of each step before that of the step before it.
        together_(PerNeuron || a.gradients.count > 0 ? 1 : steps_together(lanes_, row_length)) {
    constexpr int aligned = static_cast<int>(RowsOfBackward::alignment / sizeof(R));
    const int row = (lanes_ + aligned - 1) / aligned * aligned;
    const int steps =
        a.extents.n_steps < checkpoint_interval ? static_cast<int>(a.extents.n_steps) : checkpoint_interval;
    const auto take = [&](int count) {
      R* const taken = rows;
      rows += count;
      return taken;
    };
    g_ = take(row_length);
    unwanted_ = take(row_length);
    x_ = take(row_length);
    grad_spike_ = take(row_length);
    grad_v_ = take(row_length);
    for (int k = 0; k < n_further; ++k) grad_w_[k] = take(row_length);
    carried_v_ = take(row);
    h_ = take(steps * row);
    v_before_ = take((steps + 1) * row);
    for (int k = 0; k < n_further; ++k) {
      carried_w_[k] = take(row);
      w_before_[k] = take((steps + 1) * row);
    }
  }

  void run() {
    for (int q = 0; q < a_.gradients.count; ++q) fill_row(a_.gradient_partials + q * row_ + element_, 0.0, count_);
    if (a_.grad_v_final)
      copy_row(carried_v_, a_.grad_v_final + element_, count_);
    else
      fill_row(carried_v_, R(0), count_);
    fill_row(carried_v_ + count_, R(0), lanes_ - count_);
    fill_row(v_before_ + count_, R(0), lanes_ - count_);
    for (int k = 0; k < n_further; ++k) {
      fill_row(carried_w_[k] + count_, R(0), lanes_ - count_);
      fill_row(w_before_[k] + count_, R(0), lanes_ - count_);
      if (stores(k) && a_.grad_w_final[k])
        copy_row(carried_w_[k], a_.grad_w_final[k] + element_, count_);
      else
        fill_row(carried_w_[k], R(0), count_);
    }
    for (int64_t interval = (a_.extents.n_steps - 1) / checkpoint_interval; interval >= 0; --interval) {
      const int64_t first = interval * checkpoint_interval;
      const int64_t left = a_.extents.n_steps - first;
      const int length = left < checkpoint_interval ? static_cast<int>(left) : checkpoint_interval;
      const R* const checkpoint = a_.tape + interval * stored_ * row_ + element_;
      copy_row(v_before_, checkpoint, count_);
      for (int k = 0; k < n_further; ++k) {
        if (stores(k))
          copy_row(w_before_[k], checkpoint + (k + 1) * row_, count_);
        else
          fill_row(w_before_[k], R(0), count_);
      }
      for (int s = 0; s < length; s += together_) find_h(first + s, s, steps_of(s, length));
      const Stretch next = after(interval);
      if (tile_.far) prefetch_checkpoint(next);
      for (int s = (length - 1) / together_ * together_; s >= 0; s -= together_) {
        const int steps = steps_of(s, length), done = length - s - steps;
        if (tile_.far)
          for (int pass = next.length * done / length; pass < next.length * (done + steps) / length; ++pass)
            prefetch(next, pass);
        go_back(first + s, s, steps);
      }
    }
    if (a_.grad_v_init) copy_row(a_.grad_v_init + element_, carried_v_, count_);
    for (int k = 0; k < n_further; ++k)
      if (stores(k) && a_.grad_w_init[k]) copy_row(a_.grad_w_init[k] + element_, carried_w_[k], count_);
  }

 private:
  static constexpr int n_constants = first_model_constant + Model::n_constants;
  static constexpr int n_further = n_further_states<Model>;
  static constexpr int rows_w = n_further > 0 ? n_further : 1;
  static constexpr int row_length = backward_tile<R>;

  struct Stretch {
    int64_t first, element;
    int length, count;
  };

  // The stretch after an interval: the interval before it in time, or the last one of the next tile.
  Stretch after(int64_t interval) const {
    if (interval > 0) return {(interval - 1) * checkpoint_interval, element_, checkpoint_interval, count_};
    const int64_t first = (a_.extents.n_steps - 1) / checkpoint_interval * checkpoint_interval;
    return {first, element_ + count_, static_cast<int>(a_.extents.n_steps - first), tile_.next};
  }

  // Prefetches the rows of an interval evenly during the reverse pass over the interval before it, which takes most of
  // the time and reads little. Later or at once, rows arrive late (docs/pages/tuning.md, "The host backend").
  SYNFIRE_MODEL_FN void prefetch(const Stretch& next, int pass) const {
    const int64_t forth = next.first + pass, back = next.first + next.length - 1 - pass;
    if (a_.tape_h) prefetch_row<0>(a_.tape_h, forth, next.element, next.count);
    if (!a_.tape_h || reads_x()) prefetch_row<0>(a_.x, forth, next.element, next.count);
    prefetch_row<0>(a_.grad_spike, back, next.element, next.count);
    prefetch_row<0>(a_.grad_v_seq, back, next.element, next.count);
    for (int k = 0; k < n_further; ++k) prefetch_row<0>(a_.grad_w_seq[k], back, next.element, next.count);
    prefetch_row<1>(a_.grad_x, back, next.element, next.count);
  }

  SYNFIRE_MODEL_FN void prefetch_checkpoint(const Stretch& next) const {
    const int64_t at = next.first / checkpoint_interval * stored_ * row_ + next.element;
    prefetch_array<0>(a_.tape, at, next.count);
    for (int k = 0; k < stored_ - 1; ++k) prefetch_array<0>(a_.tape, at + (k + 1) * row_, next.count);
  }

  // False of a countdown that the layer does not need.
  bool stores(int k) const { return k < stored_ - 1; }

  // True if a step needs X besides H.
  bool reads_x() const { return slope_reads_input<Model> || a_.gradients.count > 0; }

  int steps_of(int s, int length) const { return length - s < together_ ? length - s : together_; }

  Rows<R> read(const Sequence& sequence, int64_t t, int steps, R* scratch, const Row<R>& absent = zeros<R>) const {
    return input_rows<R, PerNeuron>(sequence, a_.extents, tile_, t, steps, lanes_, sequence.data != a_.grad_x.data,
                                    scratch, absent);
  }

  FurtherRows<R> further_before(int s) {
    if constexpr (n_further == 0) return {};
    return {w_before_[0] + s * lanes_, n_further > 1 ? w_before_[n_further > 1 ? 1 : 0] + s * lanes_ : nullptr,
            n_further > 2 ? w_before_[n_further > 2 ? 2 : 0] + s * lanes_ : nullptr};
  }

  // H of some steps, and the states before the next of each.
  void find_h(int64_t t, int s, int steps) {
    const Rows<R> x = a_.tape_h ? Rows<R>{} : read(a_.x, t, steps, x_);
    for (int k = 0; k < steps; ++k) {
      R* const h = h_ + (s + k) * lanes_;
      R* const next = v_before_ + (s + k + 1) * lanes_;
      copy_exactly(next, next - lanes_, lanes_);
      for (int q = 0; q < n_further; ++q)
        copy_exactly(w_before_[q] + (s + k + 1) * lanes_, w_before_[q] + (s + k) * lanes_, lanes_);
      const FurtherRows<R> further = further_before(s + k + 1);
      if (a_.tape_h) {
        stored_row<Model, R, PerNeuron>(source_, a_, tile_, t + k, further, h);
        advance_row<Model, R, PerNeuron>(source_, a_.rules, h, next, further.w, further.third, further.fourth, lanes_);
      } else {
        forward_row<Model, R, PerNeuron>(source_, a_.rules, x.first + k * x.step, next, further.w, further.third,
                                         further.fourth, h, unwanted_, lanes_);
      }
    }
  }

  void go_back(int64_t t, int s, int steps) {
    const R* const h = h_ + s * lanes_;
    const R* const v = v_before_ + s * lanes_;
    if constexpr (!never_fires<Model>) {
      Tile all = tile_;
      all.count = steps * lanes_;
      if (surrogate_row_) {
        const R* row = h;
        if constexpr (is_centred<Model>) {
          const FurtherRows<R> w = further_before(s);
          centre_row(h, w.w, w.third, w.fourth, unwanted_, all.count);
          row = unwanted_;
        }
        surrogate_row_(g_, row, *a_.parameters, n_constants, a_.extents.n_neurons, all);
      } else {
        fill_row(g_, R(0), all.count);
      }
    }
    const Rows<R> x = reads_x() ? read(a_.x, t, steps, x_) : Rows<R>{zeros<R>.values, 0};
    const Rows<R> grad_spike = read(a_.grad_spike, t, steps, grad_spike_);
    const Rows<R> grad_v = read(a_.grad_v_seq, t, steps, grad_v_, negative_zeros<R>);
    Rows<R> grad_w[max_further_states] = {};
    for (int k = 0; k < n_further; ++k)
      grad_w[k] = read(stores(k) ? a_.grad_w_seq[k] : Sequence{}, t, steps, grad_w_[k], negative_zeros<R>);
    const FurtherRows<R> w = further_before(s);
    if (a_.gradients.count > 0) {
      const FurtherRows<const R> incoming = {grad_w[0].first, grad_w[1].first, grad_w[2].first};
      for (int q = 0; q < a_.gradients.count; ++q)
        add_gradient(q, v, w, h, x.first, grad_spike.first, grad_v.first, incoming);
    }
    // If grad_x uses the memory of grad_spike, a row is read whole before it is written.
    const bool direct = lanes_ == count_ && a_.grad_x && holds(a_.grad_x, R()) && a_.grad_x.data != a_.grad_spike.data;
    R* const grad_x = direct ? host::SYNFIRE_MODEL_LEVEL::element<R>(a_.grad_x, t, element_) : unwanted_;
    const int64_t grad_x_step = direct ? a_.grad_x.pitch : lanes_;
    for (int k = steps - 1; k >= 0; --k) {
      const int at = k * lanes_;
      adjoint_row(v + at, n_further > 0 ? w.w + at : nullptr, n_further > 1 ? w.third + at : nullptr,
                  n_further > 2 ? w.fourth + at : nullptr, h + at, g_ + at, x.first + k * x.step,
                  grad_spike.first + k * grad_spike.step, grad_v.first + k * grad_v.step,
                  n_further > 0 ? grad_w[0].first + k * grad_w[0].step : nullptr,
                  n_further > 1 ? grad_w[1].first + k * grad_w[1].step : nullptr,
                  n_further > 2 ? grad_w[2].first + k * grad_w[2].step : nullptr, grad_x + k * grad_x_step, carried_v_,
                  n_further > 0 ? carried_w_[0] : nullptr, n_further > 1 ? carried_w_[n_further > 1 ? 1 : 0] : nullptr,
                  n_further > 2 ? carried_w_[n_further > 2 ? 2 : 0] : nullptr);
    }
    if (!direct)
      for (int k = 0; k < steps; ++k) write_exactly(a_.grad_x, t + k, element_, count_, grad_x + k * lanes_);
  }

  // H less the threshold of each step, which depends on the variables before it.
  [[gnu::noinline]] void centre_row(const R* __restrict h, const R* __restrict w, const R* __restrict third,
                                    const R* __restrict fourth, R* __restrict centred, int count) {
    for (int i = 0; i < count; ++i) {
      R c[n_constants];
      source_.load(c, i);
      StateOf<Model, R> before = {R(0), {}};
      load_further<Model>(before, w, third, fourth, i);
      centred[i] = h[i] - step_threshold<Model>(c, before);
    }
  }

  [[gnu::noinline]] void adjoint_row(const R* __restrict v, const R* __restrict w, const R* __restrict third,
                                     const R* __restrict fourth, const R* __restrict h, const R* __restrict g,
                                     const R* __restrict x, const R* __restrict grad_spike, const R* __restrict grad_v,
                                     const R* __restrict grad_w, const R* __restrict grad_third,
                                     const R* __restrict grad_fourth, R* __restrict grad_x, R* __restrict carried_v,
                                     R* __restrict carried_w, R* __restrict carried_third,
                                     R* __restrict carried_fourth) {
    const Rules rules = a_.rules;
    for (int i = 0; i < lanes_; ++i) {
      R c[n_constants];
      source_.load(c, i);
      StateOf<Model, R> before = {v[i], {}};
      load_further<Model>(before, w, third, fourth, i);
      IncomingOf<Model, R> incoming = {grad_spike[i], grad_v[i] + carried_v[i], {}};
      if constexpr (n_further > 0) incoming.w[0] = grad_w[i] + carried_w[i];
      if constexpr (n_further > 1) incoming.w[1] = grad_third[i] + carried_third[i];
      if constexpr (n_further > 2) incoming.w[2] = grad_fourth[i] + carried_fourth[i];
      const StepGradientOf<Model, R> step = backward_step<Model>(c, rules, before, x[i], h[i], g[i], incoming);
      grad_x[i] = step.x;
      carried_v[i] = step.before.v;
      if constexpr (n_further > 0) carried_w[i] = step.before.w[0];
      if constexpr (n_further > 1) carried_third[i] = step.before.w[1];
      if constexpr (n_further > 2) carried_fourth[i] = step.before.w[2];
    }
  }

  void add_gradient(int q, const R* __restrict v, const FurtherRows<R>& w, const R* __restrict h, const R* __restrict x,
                    const R* __restrict grad_spike, const R* __restrict grad_v, const FurtherRows<const R>& grad_w) {
    double* __restrict partial = a_.gradient_partials + q * row_ + element_;
    const R* __restrict g = g_;
    const Rules rules = a_.rules;
    const int slope_row = a_.gradients.rows[q];
    const Slopes<R, PerNeuron> along(*a_.parameters, slope_row < 0 ? 0 : slope_row, a_.extents.n_neurons, tile_);
    for (int i = 0; i < count_; ++i) {
      R c[n_constants], slopes[max_model_constants];
      source_.load(c, i);
      StateOf<Model, R> before = {v[i], {}};
      load_further<Model>(before, w.w, w.third, w.fourth, i);
      IncomingOf<Model, R> incoming = {grad_spike[i], grad_v[i] + carried_v_[i], {}};
      load_further<Model>(incoming, grad_w.w, grad_w.third, grad_w.fourth, i);
      for (int k = 0; k < n_further; ++k) incoming.w[k] += carried_w_[k][n_further > 0 ? i : 0];
      const StepGradientOf<Model, R> step = backward_step<Model>(c, rules, before, x[i], h[i], g[i], incoming);
      if (slope_row == gradient_of_v_threshold) {
        partial[i] += static_cast<double>(v_threshold_gradient<Model>(c, rules, before, h[i], g[i], step, incoming));
      } else if (slope_row == gradient_of_v_reset) {
        partial[i] += static_cast<double>(v_reset_gradient<Model>(c, rules, before, h[i], incoming));
      } else {
        along.load(slopes, Model::n_constants, i);
        partial[i] +=
            static_cast<double>(parameter_gradient<Model>(c, rules, slopes, before, x[i], h[i], step, incoming));
      }
    }
  }

  const BackwardArguments<R>& a_;
  const Tile& tile_;
  const SurrogateRow<R> surrogate_row_;
  const Constants<R, n_constants, PerNeuron> source_;
  const int64_t row_, element_;
  const int count_, stored_, lanes_, together_;
  R *carried_v_, *carried_w_[rows_w] = {}, *g_, *unwanted_;
  R *x_, *grad_spike_, *grad_v_, *grad_w_[rows_w] = {};
  R* h_;                      // H of one interval, rows lanes_ apart
  R* v_before_;               // V before each of its steps, and after the last
  R* w_before_[rows_w] = {};  // the further variables, likewise
};

// The tile of a model that never fires, without gradients of parameters: constant slopes, so neither H nor X is needed.
template <class Model, class R, bool PerNeuron>
class LinearBackwardTile {
 public:
  LinearBackwardTile(const BackwardArguments<R>& a, const Tile& tile)
      : a_(a),
        tile_(tile),
        source_(*a.parameters, 0, a.extents.n_neurons, tile),
        count_(tile.count),
        lanes_(computed<R, PerNeuron>(tile)) {}

  void run() {
    if (a_.grad_v_final)
      copy_row(carried_, a_.grad_v_final + tile_.element, count_);
    else
      fill_row(carried_, R(0), count_);
    fill_row(carried_ + count_, R(0), lanes_ - count_);
    for (int64_t t = a_.extents.n_steps - 1; t >= 0; --t) {
      if (tile_.far) prefetch(t - prefetch_ahead);
      const R* const grad_v =
          input_row<R, PerNeuron>(a_.grad_v_seq, a_.extents, tile_, t, true, grad_v_, negative_zeros<R>);
      const bool direct = lanes_ == count_ && a_.grad_x && holds(a_.grad_x, R());
      R* const grad_x = direct ? host::SYNFIRE_MODEL_LEVEL::element<R>(a_.grad_x, t, tile_.element) : grad_x_;
      adjoint_row(grad_v, grad_x);
      if (!direct) write_exactly(a_.grad_x, t, tile_.element, count_, grad_x);
    }
    if (a_.grad_v_init) copy_row(a_.grad_v_init + tile_.element, carried_, count_);
  }

 private:
  static constexpr int n_constants = first_model_constant + Model::n_constants;

  // Prefetches the rows of a step before this one, or of the next tile's last steps.
  void prefetch(int64_t t) const {
    const int64_t n_steps = a_.extents.n_steps;
    if (t < -n_steps) return;
    const bool here = t >= 0;
    const int64_t step = here ? t : t + n_steps, element = here ? tile_.element : tile_.element + tile_.count;
    const int count = here ? tile_.count : tile_.next;
    prefetch_row<0>(a_.grad_v_seq, step, element, count);
    prefetch_row<1>(a_.grad_x, step, element, count);
  }

  [[gnu::noinline]] void adjoint_row(const R* __restrict grad_v, R* __restrict grad_x) {
    R* __restrict carried = carried_;
    const Rules rules = a_.rules;
    const State<R> before = {R(0), {R(0)}};
    for (int i = 0; i < lanes_; ++i) {
      R c[n_constants];
      source_.load(c, i);
      const Incoming<R> incoming = {R(0), grad_v[i] + carried[i], {R(0)}};
      const StepGradient<R> step = backward_step<Model>(c, rules, before, R(0), R(0), R(0), incoming);
      grad_x[i] = step.x;
      carried[i] = step.before.v;
    }
  }

  const BackwardArguments<R>& a_;
  const Tile& tile_;
  const Constants<R, n_constants, PerNeuron> source_;
  const int count_, lanes_;
  alignas(64) R carried_[backward_tile<R>], grad_v_[backward_tile<R>], grad_x_[backward_tile<R>];
};

template <class R>
SurrogateRow<R> surrogate_row(int32_t surrogate, bool per_neuron, bool centred) {
  SurrogateRow<R> found = nullptr;
  visit(Surrogates{}, surrogate, [&](auto entry) {
    using Surrogate = typename decltype(entry)::type;
    if (centred)
      found = per_neuron ? surrogate_row_of<Surrogate, R, true, true> : surrogate_row_of<Surrogate, R, false, true>;
    else
      found = per_neuron ? surrogate_row_of<Surrogate, R, true, false> : surrogate_row_of<Surrogate, R, false, false>;
  });
  return found;
}

template <class R>
void backward(int32_t model, SurrogateRow<R> surrogate_row, const BackwardArguments<R>& a, const Tile& tile, R* rows) {
  const bool per_neuron = a.parameters->per_neuron != nullptr;
  visit(Models{}, model, [&](auto entry) {
    using Model = typename decltype(entry)::dynamics;
    if constexpr (never_fires<Model>) {
      if (a.gradients.count == 0) {
        if (per_neuron)
          LinearBackwardTile<Model, R, true>(a, tile).run();
        else
          LinearBackwardTile<Model, R, false>(a, tile).run();
        return;
      }
    }
    const auto run = [&]<class Kind>() {
      if (per_neuron)
        BackwardTile<Kind, R, true>(a, surrogate_row, tile, rows).run();
      else
        BackwardTile<Kind, R, false>(a, surrogate_row, tile, rows).run();
    };
    if constexpr (!AdaptsThreshold<Model>)
      if (never_fires<Model> || a.rules.are_plain()) return run.template operator()<Model>();
    if constexpr (!never_fires<Model>) run.template operator()<Ruled<Model>>();
  });
}

}  // namespace

SurrogateRow<float> surrogate_f32(int32_t surrogate, bool per_neuron, bool centred) {
  return surrogate_row<float>(surrogate, per_neuron, centred);
}
SurrogateRow<double> surrogate_f64(int32_t surrogate, bool per_neuron, bool centred) {
  return surrogate_row<double>(surrogate, per_neuron, centred);
}
void backward_f32(int32_t model, SurrogateRow<float> surrogate_row, const BackwardArguments<float>& a, const Tile& tile,
                  float* rows) {
  backward(model, surrogate_row, a, tile, rows);
}
void backward_f64(int32_t model, SurrogateRow<double> surrogate_row, const BackwardArguments<double>& a,
                  const Tile& tile, double* rows) {
  backward(model, surrogate_row, a, tile, rows);
}

}  // namespace synfire::host::SYNFIRE_MODEL_LEVEL
