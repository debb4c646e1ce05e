// FPTT and BPTT over one tile of neurons. The inner loop of every step runs over neighbouring neurons and is written
// for the compiler's vectoriser: it uses selections instead of branches, and rows of zeros or scratch rows in place of
// absent arrays.
//
// This file is compiled once per instruction level, with SYNFIRE_MODEL_LEVEL naming the level's namespace. It uses no
// standard-library templates: otherwise the linker could choose an instance compiled here for AVX-512 for all other
// code.
#include "host_kernels.hpp"

#include <host/padded_rows.hpp>
#include <host/row_words.hpp>

namespace synfire::host::SYNFIRE_MODEL_LEVEL {
namespace {

using namespace synfire::model;
using operations::BackwardArguments;
using operations::ForwardArguments;
static_assert(forward_tile <= max_tile && backward_tile<float> * sizeof(float) == RowsOfBackward::wide_bytes);

// Some of the constants of neuron i of a tile: shared by all, or one row per constant in memory.
template <class R, int Count, bool PerNeuron>
struct Constants {
  R shared[Count];
  const R* per_neuron;
  int64_t n_neurons;

  Constants(const core::ParameterBlock<R>& block, int first, int64_t n, const Tile& tile)
      : per_neuron(PerNeuron ? block.per_neuron + first * n + tile.neuron : nullptr), n_neurons(n) {
    for (int k = 0; k < Count; ++k) shared[k] = block.shared[first + k];
  }

  SYNFIRE_MODEL_FN void load(R* constants, int i) const {
    for (int k = 0; k < Count; ++k) constants[k] = PerNeuron ? per_neuron[k * n_neurons + i] : shared[k];
  }
};

// The numbers of a tile's rows that loops compute: whole vectors, or exactly the tile's neurons where each has its own
// constants. What is computed beyond the tile's neurons is never stored.
template <class R, bool PerNeuron>
int computed(const Tile& tile) {
  return PerNeuron ? tile.count : whole_vectors<R>(tile.count);
}

// A row of a sequence that is read, as long as what is computed. `alone`: no output lies over it.
template <class R, bool PerNeuron>
SYNFIRE_MODEL_FN const R* input_row(const Sequence& sequence, const core::Extents& extents, const Tile& tile, int64_t t,
                                    bool alone, R* scratch, const Row<R>& absent = zeros<R>) {
  if constexpr (PerNeuron) return read_row(sequence, t, tile.element, tile.count, scratch, absent);
  const int64_t behind = alone ? elements_behind(sequence, extents, t, tile.element, tile.count) : 0;
  return read_padded(sequence, t, tile.element, tile.count, behind, scratch, absent);
}

// Rows of the further variables; those that the model does not have are not read. Functions whose loops must be
// vectorised take the rows one by one, because compilers heed __restrict on parameters only.
template <class R>
struct FurtherRows {
  R* w = nullptr;
  R* third = nullptr;
  R* fourth = nullptr;
};

template <class Model, class R, class Variables>
SYNFIRE_MODEL_FN void load_further(Variables& of, const R* __restrict w, const R* __restrict third,
                                   const R* __restrict fourth, int i) {
  if constexpr (Model::n_states > 1) of.w[0] = w[i];
  if constexpr (Model::n_states > 2) of.w[1] = third[i];
  if constexpr (Model::n_states > 3) of.w[2] = fourth[i];
}
template <class Model, class R>
SYNFIRE_MODEL_FN void store_further(const StateOf<Model, R>& state, R* __restrict w, R* __restrict third,
                                    R* __restrict fourth, int i) {
  if constexpr (Model::n_states > 1) w[i] = state.w[0];
  if constexpr (Model::n_states > 2) third[i] = state.w[1];
  if constexpr (Model::n_states > 3) fourth[i] = state.w[2];
}

// Steps of a backward that are taken together: one of a long row, up to 32 of a short one, whose step takes less time
// than the calls for it. Their rows are `stride` apart and take `most` numbers at most. It divides checkpoint_interval.
inline int steps_together(int stride, int most) {
  int steps = 1;
  while (2 * steps * stride <= most && 2 * steps <= checkpoint_interval) steps *= 2;
  return steps;
}

// Rows of consecutive steps, `step` numbers apart.
template <class R>
struct Rows {
  const R* first;
  int64_t step;
};

// Consecutive rows of a sequence that is read: in place if they can be, else in `scratch`, `stride` apart.
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

// One step of one row: H, S and the state after it. Functions of their own for the loops that must be vectorised:
// inlined into larger ones the compiler gives up on some of them.
template <class Model, class R, bool PerNeuron>
[[gnu::noinline]] void forward_row(const Constants<R, first_model_constant + Model::n_constants, PerNeuron>& source,
                                   Rules rules, const R* __restrict x, R* __restrict v, R* __restrict w,
                                   R* __restrict third, R* __restrict fourth, R* __restrict h, R* __restrict spikes,
                                   int count) {
  for (int i = 0; i < count; ++i) {
    R c[first_model_constant + Model::n_constants];
    source.load(c, i);
    StateOf<Model, R> before = {v[i], {}};
    load_further<Model>(before, w, third, fourth, i);
    const R charged = charge<Model>(c, before, x[i]);
    const bool spike = fires<Model>(c, charged);
    const StateOf<Model, R> after = advance<Model>(c, rules, before, x[i], charged, spike);
    h[i] = charged;
    if constexpr (!never_fires<Model>) spikes[i] = spike ? R(1) : R(0);
    v[i] = after.v;
    store_further<Model>(after, w, third, fourth, i);
  }
}

// H for a tape in 16 bits.
template <class R>
void keep_finite(R* h, int32_t dtype, int count) {
  if constexpr (sizeof(R) == 4) {
    if (dtype == SYNFIRE_DTYPE_F32) return;
    const float largest = dtype == SYNFIRE_DTYPE_F16 ? largest_f16 : largest_bf16;
    for (int i = 0; i < count; ++i) h[i] = within(largest, h[i]);
  }
}

// A row of a tile is short and the next one is far away, so the processor does not prefetch it by itself: these
// functions do, for the rows of the next tile too. They also prefetch long rows that will be written: LIF, f32, T = 32,
// N = 262,144, one thread took 4.7 ms with dense spikes and 5.1 with a stored H without it, 3.3 and 4.1 with.
template <class R>
SYNFIRE_MODEL_FN void prefetch_rows(const ForwardArguments<R>& a, const Tile& tile, int64_t step) {
  const int64_t n_steps = a.extents.n_steps;
  const bool here = step < n_steps;
  if (step >= 2 * n_steps) return;
  const int64_t t = here ? step : step - n_steps, element = here ? tile.element : tile.element + tile.count;
  const int count = here ? tile.count : tile.next;
  prefetch_row<0>(a.x, t, element, count);
  prefetch_row<1>(a.spikes, t, element, count);
  prefetch_row<1>(a.tape_h, t, element, count);
}

template <class Model, class R>
SYNFIRE_MODEL_FN void prefetch_next_state(const ForwardArguments<R>& a, const Tile& tile) {
  const int64_t next = tile.element + tile.count;
  prefetch_array<0>(a.v_in, next, tile.next);
  prefetch_array<1>(a.v_out, next, tile.next);
  prefetch_array<1>(a.tape, next, tile.next);
  for (int k = 0; k < n_further_states<Model>; ++k) {
    prefetch_array<0>(a.w_in[k], next, tile.next);
    prefetch_array<1>(a.w_out[k], next, tile.next);
    prefetch_array<1>(a.tape, (k + 1) * a.extents.row() + next, tile.next);
  }
}

// Writes the spikes of a tile, step by step, dense or packed. Rows are as long as forward_tile, and zero behind what
// was computed.
template <class R>
class SpikeWriter {
 public:
  SpikeWriter(const ForwardArguments<R>& a, const Tile& tile)
      : a_(a),
        tile_(tile),
        crosses_rows_(a.extents.n_neurons % 32 != 0 && tile.neuron + tile.count > a.extents.n_neurons) {
    if (a.spike_bits && crosses_rows_) rows_.set(a.extents.n_neurons, tile.neuron, tile.words);
  }

  void write(int64_t t, const R* spikes) {
    write_exactly(a_.spikes, t, tile_.element, tile_.count, spikes);
    if (a_.spike_bits) write_bits(a_.spike_bits.data + t * a_.spike_bits.pitch + tile_.word, spikes);
    if (a_.spike_time_bits || a_.tape_spikes) write_time_bits(t, spikes);
  }

 private:
  void write_bits(uint32_t* words, const R* spikes) {
    const int packed_words = (tile_.count + 31) / 32, rest = tile_.count % 32;
    if (crosses_rows_) {
      pack_words(packed_, spikes, packed_words);
      rows_.write(words, packed_);
    } else if (rest == 0) {
      pack_words(words, spikes, packed_words);
    } else {
      pack_words(words, spikes, packed_words - 1);
      uint32_t last = 0;
      pack_words(&last, spikes + tile_.count - rest, 1);
      words[packed_words - 1] = last & ((uint32_t{1} << rest) - 1);
    }
  }

  // Of up to 32 steps.
  void write_time_bits(int64_t t, const R* spikes) {
    const int64_t element = tile_.element;
    pack_step(time_words_, spikes, static_cast<int>(t % 32), whole_vectors<R>(tile_.count));
    if (t % 32 != 31 && t != a_.extents.n_steps - 1) return;
    if (a_.spike_time_bits)
      copy_row(a_.spike_time_bits.data + t / 32 * a_.spike_time_bits.pitch + element, time_words_, tile_.count);
    if (a_.tape_spikes) copy_row(a_.tape_spikes + t / 32 * a_.extents.row() + element, time_words_, tile_.count);
  }

  const ForwardArguments<R>& a_;
  const Tile& tile_;
  const bool crosses_rows_;
  RowWords rows_;
  uint32_t packed_[forward_tile / 32 + RowWords::group + 1] = {};
  uint32_t time_words_[forward_tile];
};

template <class Model, class R, bool PerNeuron>
void forward_tile_of(const ForwardArguments<R>& a, const Tile& tile, R* rows) {
  constexpr int n_further = n_further_states<Model>;
  const Constants<R, first_model_constant + Model::n_constants, PerNeuron> source(*a.parameters, 0, a.extents.n_neurons,
                                                                                  tile);
  const int64_t row = a.extents.row(), element = tile.element;
  const int count = tile.count, lanes = computed<R, PerNeuron>(tile);
  // The layout of `rows` is that of RowsOfForward.
  R *const v = rows, *const h = v + forward_tile, *const spikes = h + forward_tile,
           *const scratch = spikes + forward_tile;
  R* w[max_further_states] = {};
  for (int k = 0; k < n_further; ++k) w[k] = scratch + (k + 1) * forward_tile;
  SpikeWriter<R> spike_writer(a, tile);
  copy_row(v, a.v_in + element, count);
  fill_row(v + count, R(0), lanes - count);
  for (int k = 0; k < n_further; ++k) {
    copy_row(w[k], a.w_in[k] + element, count);
    fill_row(w[k] + count, R(0), lanes - count);
  }
  fill_row(spikes + lanes, R(0), (lanes + 31) / 32 * 32 - lanes);
  if (tile.far) prefetch_next_state<Model>(a, tile);

  for (int64_t t = 0; t < a.extents.n_steps; ++t) {
    if (tile.far) prefetch_rows(a, tile, t + prefetch_ahead);
    if (a.tape && t % checkpoint_interval == 0) {
      R* const checkpoint = a.tape + t / checkpoint_interval * Model::n_states * row + element;
      copy_row(checkpoint, v, count);
      for (int k = 0; k < n_further; ++k) copy_row(checkpoint + (k + 1) * row, w[k], count);
    }
    const R* const x = input_row<R, PerNeuron>(a.x, a.extents, tile, t, a.x.data != a.tape_h.data, scratch);
    forward_row<Model, R, PerNeuron>(source, a.rules, x, v, w[0], w[1], w[2], h, spikes, lanes);
    if constexpr (!never_fires<Model>) spike_writer.write(t, spikes);
    write_exactly(a.h_seq, t, element, count, h);
    if (a.tape_h) keep_finite(h, a.tape_h.dtype, lanes);
    write_exactly(a.tape_h, t, element, count, h);
    write_exactly(a.v_seq, t, element, count, v);
    for (int k = 0; k < n_further; ++k) write_exactly(a.w_seq[k], t, element, count, w[k]);
  }
  if (a.v_out) copy_row(a.v_out + element, v, count);
  if (a.v_final) copy_row(a.v_final + element, v, count);
  for (int k = 0; k < n_further; ++k) {
    if (a.w_out[k]) copy_row(a.w_out[k] + element, w[k], count);
    if (a.w_final[k]) copy_row(a.w_final[k] + element, w[k], count);
  }
}

// g'(H − v_threshold) of one row. A separate pass, so that surrogates and models need no combined instances.
template <class Surrogate, class R, bool PerNeuron>
void surrogate_row_of(R* __restrict g, const R* __restrict h, const core::ParameterBlock<R>& block, int first_constant,
                      int64_t n_neurons, const Tile& tile) {
  const Constants<R, 1, PerNeuron> thresholds(block, constant_v_threshold, n_neurons, tile);
  const Constants<R, Surrogate::n_constants, PerNeuron> source(block, first_constant, n_neurons, tile);
  for (int i = 0; i < tile.count; ++i) {
    R v_threshold[1], c[Surrogate::n_constants];
    thresholds.load(v_threshold, i);
    source.load(c, i);
    g[i] = Surrogate::derivative(c, h[i] - v_threshold[0]);
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

// H of one step from the tape; `step` counts from the start of the sequence.
template <class R, bool PerNeuron>
void stored_row(const BackwardArguments<R>& a, const Tile& tile, int64_t step, R* h) {
  const int count = tile.count, lanes = computed<R, PerNeuron>(tile);
  const R* const stored = input_row<R, PerNeuron>(a.tape_h, a.extents, tile, step, true, h);
  if (stored != h) copy_row(h, stored, lanes);
  if constexpr (sizeof(R) == 4) {
    if (!a.tape_spikes) return;
    const Constants<R, 1, PerNeuron> thresholds(*a.parameters, constant_v_threshold, a.extents.n_neurons, tile);
    const uint32_t* __restrict words = a.tape_spikes + step / 32 * a.extents.row() + tile.element;
    const uint32_t bit = uint32_t{1} << (step % 32);
    for (int i = 0; i < count; ++i) {
      R v_threshold[1];
      thresholds.load(v_threshold, i);
      h[i] = on_the_side_of((words[i] & bit) != 0, h[i], v_threshold[0]);
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
    const StateOf<Model, R> after = advance<Model>(c, rules, before, R(0), h[i], fires<Model>(c, h[i]));
    v[i] = after.v;
    store_further<Model>(after, w, third, fourth, i);
  }
}

// One tile, backward through time: interval by interval, H is recomputed from the checkpoint (or read from the tape)
// and then walked in reverse.
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
        lanes_(computed<R, PerNeuron>(tile)),
        // Sums of gradients need what a step carried back before the step before it is computed.
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
      if (a_.grad_w_final[k])
        copy_row(carried_w_[k], a_.grad_w_final[k] + element_, count_);
      else
        fill_row(carried_w_[k], R(0), count_);
    }
    for (int64_t interval = (a_.extents.n_steps - 1) / checkpoint_interval; interval >= 0; --interval) {
      const int64_t first = interval * checkpoint_interval;
      const int64_t left = a_.extents.n_steps - first;
      const int length = left < checkpoint_interval ? static_cast<int>(left) : checkpoint_interval;
      const R* const checkpoint = a_.tape + interval * Model::n_states * row_ + element_;
      copy_row(v_before_, checkpoint, count_);
      for (int k = 0; k < n_further; ++k) copy_row(w_before_[k], checkpoint + (k + 1) * row_, count_);
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
      if (a_.grad_w_init[k]) copy_row(a_.grad_w_init[k] + element_, carried_w_[k], count_);
  }

 private:
  static constexpr int n_constants = first_model_constant + Model::n_constants;
  static constexpr int n_further = n_further_states<Model>;
  static constexpr int rows_w = n_further > 0 ? n_further : 1;
  static constexpr int row_length = backward_tile<R>;

  // The steps of one interval of one tile.
  struct Stretch {
    int64_t first, element;
    int length, count;
  };

  // What is processed after an interval: the interval before it in time, or the last one of the next tile.
  Stretch after(int64_t interval) const {
    if (interval > 0) return {(interval - 1) * checkpoint_interval, element_, checkpoint_interval, count_};
    const int64_t first = (a_.extents.n_steps - 1) / checkpoint_interval * checkpoint_interval;
    return {first, element_ + count_, static_cast<int>(a_.extents.n_steps - first), tile_.next};
  }

  // The rows of an interval are prefetched evenly during the reverse pass over the interval before it, which takes most
  // of the time and reads little. Rows that are prefetched later, or many at once, arrive late. LIF, f32, T = 16, N =
  // 1,048,576, one thread: 23 to 28 ms without, 13 to 14 with.
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
    const int64_t at = next.first / checkpoint_interval * Model::n_states * row_ + next.element;
    prefetch_array<0>(a_.tape, at, next.count);
    for (int k = 0; k < n_further; ++k) prefetch_array<0>(a_.tape, at + (k + 1) * row_, next.count);
  }

  // Whether a step needs X beside H.
  bool reads_x() const { return slope_reads_input<Model> || a_.gradients.count > 0; }

  // Steps that are computed together, from step s of an interval.
  int steps_of(int s, int length) const { return length - s < together_ ? length - s : together_; }

  Rows<R> read(const Sequence& sequence, int64_t t, int steps, R* scratch, const Row<R>& absent = zeros<R>) const {
    return input_rows<R, PerNeuron>(sequence, a_.extents, tile_, t, steps, lanes_, sequence.data != a_.grad_x.data,
                                    scratch, absent);
  }

  // The further variables before step s of the interval.
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
        stored_row<R, PerNeuron>(a_, tile_, t + k, h);
        advance_row<Model, R, PerNeuron>(source_, a_.rules, h, next, further.w, further.third, further.fourth, lanes_);
      } else {
        forward_row<Model, R, PerNeuron>(source_, a_.rules, x.first + k * x.step, next, further.w, further.third,
                                         further.fourth, h, unwanted_, lanes_);
      }
    }
  }

  // The adjoint of some steps, the last one first.
  void go_back(int64_t t, int s, int steps) {
    const R* const h = h_ + s * lanes_;
    const R* const v = v_before_ + s * lanes_;
    if constexpr (!never_fires<Model>) {
      Tile all = tile_;
      all.count = steps * lanes_;
      surrogate_row_(g_, h, *a_.parameters, n_constants, a_.extents.n_neurons, all);
    }
    const Rows<R> x = reads_x() ? read(a_.x, t, steps, x_) : Rows<R>{zeros<R>.values, 0};
    const Rows<R> grad_spike = read(a_.grad_spike, t, steps, grad_spike_);
    const Rows<R> grad_v = read(a_.grad_v_seq, t, steps, grad_v_, negative_zeros<R>);
    Rows<R> grad_w[max_further_states] = {};
    for (int k = 0; k < n_further; ++k) grad_w[k] = read(a_.grad_w_seq[k], t, steps, grad_w_[k], negative_zeros<R>);
    const FurtherRows<R> w = further_before(s);
    if (a_.gradients.count > 0) {
      const FurtherRows<const R> incoming = {grad_w[0].first, grad_w[1].first, grad_w[2].first};
      for (int q = 0; q < a_.gradients.count; ++q)
        add_gradient(q, v, w, h, x.first, grad_spike.first, grad_v.first, incoming);
    }
    // Where grad_x lies over grad_spike, a row is read whole before it is written.
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

  // One step's share of the gradient of one parameter.
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
        partial[i] += static_cast<double>(v_threshold_gradient<Model>(c, rules, h[i], g[i], step, incoming));
      } else if (slope_row == gradient_of_v_reset) {
        partial[i] += static_cast<double>(v_reset_gradient<Model>(c, rules, h[i], incoming));
      } else {
        along.load(slopes, Model::n_constants, i);
        partial[i] += static_cast<double>(parameter_gradient<Model>(c, slopes, before, x[i], h[i], step, incoming));
      }
    }
  }

  const BackwardArguments<R>& a_;
  const Tile& tile_;
  const SurrogateRow<R> surrogate_row_;
  const Constants<R, n_constants, PerNeuron> source_;
  const int64_t row_, element_;
  const int count_, lanes_, together_;
  R *carried_v_, *carried_w_[rows_w] = {}, *g_, *unwanted_;
  R *x_, *grad_spike_, *grad_v_, *grad_w_[rows_w] = {};
  R* h_;                      // H of one interval, rows lanes_ apart
  R* v_before_;               // V before each of its steps, and after the last
  R* w_before_[rows_w] = {};  // the further variables, likewise
};

// The same for a model that never fires, without gradients of parameters: neither H nor X is needed, and the slopes are
// the same at every step.
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

  // The rows of a step before this one, or of the next tile's last steps.
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
void forward(int32_t model, const ForwardArguments<R>& a, const Tile& tile, R* rows) {
  visit(Models{}, model, [&](auto entry) {
    using Model = typename decltype(entry)::dynamics;
    if (a.parameters->per_neuron)
      forward_tile_of<Model, R, true>(a, tile, rows);
    else
      forward_tile_of<Model, R, false>(a, tile, rows);
  });
}

template <class R>
SurrogateRow<R> surrogate_row(int32_t surrogate, bool per_neuron) {
  SurrogateRow<R> found = nullptr;
  visit(Surrogates{}, surrogate, [&](auto entry) {
    using Surrogate = typename decltype(entry)::type;
    found = per_neuron ? surrogate_row_of<Surrogate, R, true> : surrogate_row_of<Surrogate, R, false>;
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
    if (per_neuron)
      BackwardTile<Model, R, true>(a, surrogate_row, tile, rows).run();
    else
      BackwardTile<Model, R, false>(a, surrogate_row, tile, rows).run();
  });
}

}  // namespace

extern const NeuronKernels neuron_kernels = {forward<float>,   forward<double>,      backward<float>,
                                             backward<double>, surrogate_row<float>, surrogate_row<double>};

}  // namespace synfire::host::SYNFIRE_MODEL_LEVEL
