// FPTT and BPTT over one tile of neurons. The inner loop of every step runs over neighbouring neurons and is meant for
// the compiler's vectoriser: no branches but selections, absent arrays replaced by rows of zeros or scratch rows.
//
// This file is compiled once per instruction level, with SYNFIRE_MODEL_LEVEL naming the level's namespace. It uses no
// standard-library templates: an instance compiled here for AVX-512 could otherwise replace everybody else's at link time.
#include "kernels.hpp"

#include <synfire/model/models.hpp>

namespace synfire::host::SYNFIRE_MODEL_LEVEL {
namespace {

using namespace synfire::model;
using core::BackwardArguments;
using core::ForwardArguments;

constexpr int max_tile = forward_tile > backward_tile ? forward_tile : backward_tile;

template <class R>
constexpr R zeros[max_tile] = {};

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

template <class R>
void copy_row(R* __restrict to, const R* __restrict from, int count) {
  for (int i = 0; i < count; ++i) to[i] = from[i];
}

// Neuron-packed spikes of one row: bit i of word w is neuron 32w + i, tail bits zero.
template <class R>
void pack_row(uint32_t* __restrict words, const R* __restrict spikes, int count) {
  int i = 0;
  for (; i + 32 <= count; i += 32) {
    uint32_t word = 0;
    for (int j = 0; j < 32; ++j) word |= static_cast<uint32_t>(spikes[i + j] != R(0)) << j;
    words[i / 32] = word;
  }
  if (i < count) {
    uint32_t word = 0;
    for (int j = 0; i + j < count; ++j) word |= static_cast<uint32_t>(spikes[i + j] != R(0)) << j;
    words[i / 32] = word;
  }
}

template <class Model, class R, bool PerNeuron>
void forward_tile_of(const ForwardArguments<R>& a, const Tile& tile) {
  constexpr int n_constants = first_model_constant + Model::n_constants;
  constexpr bool two_variables = Model::n_states == 2;
  const Constants<R, n_constants, PerNeuron> source(*a.parameters, 0, a.extents.n_neurons, tile);
  const int64_t row = a.extents.row();
  const int count = tile.count;
  const Rules rules = a.rules;
  R v[forward_tile], w[two_variables ? forward_tile : 1], h[forward_tile], spikes[forward_tile];
  copy_row(v, a.v_in + tile.element, count);
  if constexpr (two_variables) copy_row(w, a.w_in + tile.element, count);

  for (int64_t t = 0; t < a.extents.n_steps; ++t) {
    const int64_t at = t * row + tile.element;
    if (a.tape && t % checkpoint_interval == 0) {
      R* const checkpoint = a.tape + t / checkpoint_interval * Model::n_states * row + tile.element;
      copy_row(checkpoint, v, count);
      if constexpr (two_variables) copy_row(checkpoint + row, w, count);
    }
    const R* __restrict x = a.x + at;
    for (int i = 0; i < count; ++i) {
      R c[n_constants];
      source.load(c, i);
      const State<R> before = {v[i], two_variables ? w[i] : R(0)};
      const R charged = charge<Model>(c, before, x[i]);
      const bool spike = fires(c, charged);
      const State<R> after = advance<Model>(c, rules, before, charged, spike);
      h[i] = charged;
      spikes[i] = spike ? R(1) : R(0);
      v[i] = after.v;
      if constexpr (two_variables) w[i] = after.w;
    }
    if (a.spikes) copy_row(a.spikes + at, spikes, count);
    if (a.spike_bits) pack_row(a.spike_bits + t * tile.words_per_step + tile.word, spikes, count);
    if (a.h_seq) copy_row(a.h_seq + at, h, count);
    if (a.v_seq) copy_row(a.v_seq + at, v, count);
    if constexpr (two_variables)
      if (a.w_seq) copy_row(a.w_seq + at, w, count);
  }
  if (a.v_out) copy_row(a.v_out + tile.element, v, count);
  if (a.v_final) copy_row(a.v_final + tile.element, v, count);
  if constexpr (two_variables) {
    if (a.w_out) copy_row(a.w_out + tile.element, w, count);
    if (a.w_final) copy_row(a.w_final + tile.element, w, count);
  }
}

// g'(H − v_threshold) of one row. A pass of its own, so that surrogates and models need no common instances.
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
      : shared(block.slopes + slope_row * max_model_constants),
        per_neuron(PerNeuron ? block.slopes_per_neuron + slope_row * max_model_constants * n + tile.neuron : nullptr),
        n_neurons(n) {}

  SYNFIRE_MODEL_FN void load(R* slopes, int count, int i) const {
    for (int k = 0; k < count; ++k) slopes[k] = PerNeuron ? per_neuron[k * n_neurons + i] : shared[k];
  }
};

template <class R>
using SurrogateRow = void (*)(R*, const R*, const core::ParameterBlock<R>&, int, int64_t, const Tile&);

template <class Model, class R, bool PerNeuron>
void backward_tile_of(SurrogateRow<R> surrogate_row, const BackwardArguments<R>& a, const Tile& tile) {
  constexpr int n_constants = first_model_constant + Model::n_constants;
  constexpr bool two_variables = Model::n_states == 2;
  constexpr int w_tile = two_variables ? backward_tile : 1, w_interval = two_variables ? checkpoint_interval : 1;
  const Constants<R, n_constants, PerNeuron> source(*a.parameters, 0, a.extents.n_neurons, tile);
  const int64_t row = a.extents.row();
  const int count = tile.count;
  const Rules rules = a.rules;
  R carried_v[backward_tile], carried_w[w_tile], v[backward_tile], w[w_tile], unwanted[backward_tile], g[backward_tile];
  R h[checkpoint_interval][backward_tile];          // H of one interval
  R v_before[checkpoint_interval][backward_tile];   // V before each of its steps
  R w_before[w_interval][w_tile];                   // W before each of its steps
  const int n_gradients = a.gradients.count;
  for (int q = 0; q < n_gradients; ++q) copy_row(a.gradient_partials + q * row + tile.element, zeros<double>, count);
  copy_row(carried_v, a.grad_v_final ? a.grad_v_final + tile.element : zeros<R>, count);
  if constexpr (two_variables) copy_row(carried_w, a.grad_w_final ? a.grad_w_final + tile.element : zeros<R>, count);

  for (int64_t interval = (a.extents.n_steps - 1) / checkpoint_interval; interval >= 0; --interval) {
    const int64_t first = interval * checkpoint_interval;
    const int64_t left = a.extents.n_steps - first;
    const int length = left < checkpoint_interval ? static_cast<int>(left) : checkpoint_interval;
    const R* const checkpoint = a.tape + interval * Model::n_states * row + tile.element;
    copy_row(v, checkpoint, count);
    if constexpr (two_variables) copy_row(w, checkpoint + row, count);
    for (int s = 0; s < length; ++s) {
      const R* __restrict x = a.x + (first + s) * row + tile.element;
      for (int i = 0; i < count; ++i) {
        R c[n_constants];
        source.load(c, i);
        const State<R> before = {v[i], two_variables ? w[i] : R(0)};
        const R charged = charge<Model>(c, before, x[i]);
        const State<R> after = advance<Model>(c, rules, before, charged, fires(c, charged));
        v_before[s][i] = before.v;
        h[s][i] = charged;
        v[i] = after.v;
        if constexpr (two_variables) {
          w_before[s][i] = before.w;
          w[i] = after.w;
        }
      }
    }
    for (int s = length - 1; s >= 0; --s) {
      const int64_t at = (first + s) * row + tile.element;
      surrogate_row(g, h[s], *a.parameters, n_constants, a.extents.n_neurons, tile);
      const R* __restrict x = a.x + at;
      const R* __restrict grad_spike = a.grad_spike ? a.grad_spike + at : zeros<R>;
      const R* __restrict grad_v = a.grad_v_seq ? a.grad_v_seq + at : zeros<R>;
      const R* __restrict grad_w = two_variables && a.grad_w_seq ? a.grad_w_seq + at : zeros<R>;
      R* __restrict grad_x = a.grad_x ? a.grad_x + at : unwanted;
      for (int q = 0; q < n_gradients; ++q) {
        double* __restrict partial = a.gradient_partials + q * row + tile.element;
        const int slope_row = a.gradients.rows[q];
        const Slopes<R, PerNeuron> along(*a.parameters, slope_row < 0 ? 0 : slope_row, a.extents.n_neurons, tile);
        for (int i = 0; i < count; ++i) {
          R c[n_constants], slopes[max_model_constants];
          source.load(c, i);
          const State<R> before = {v_before[s][i], two_variables ? w_before[two_variables ? s : 0][two_variables ? i : 0] : R(0)};
          const Incoming<R> incoming = {grad_spike[i], grad_v[i] + carried_v[i],
                                        two_variables ? grad_w[i] + carried_w[two_variables ? i : 0] : R(0)};
          const StepGradient<R> step = backward_step<Model>(c, rules, before, x[i], h[s][i], g[i], incoming);
          if (slope_row == gradient_of_v_threshold) {
            partial[i] += static_cast<double>(v_threshold_gradient(c, rules, h[s][i], g[i], step, incoming));
          } else if (slope_row == gradient_of_v_reset) {
            partial[i] += static_cast<double>(v_reset_gradient(c, rules, h[s][i], incoming));
          } else {
            along.load(slopes, Model::n_constants, i);
            const R share = parameter_gradient<Model>(c, slopes, before, x[i], h[s][i], step, incoming);
            partial[i] += static_cast<double>(share);
          }
        }
      }
      for (int i = 0; i < count; ++i) {
        R c[n_constants];
        source.load(c, i);
        State<R> before = {v_before[s][i], R(0)};
        Incoming<R> incoming = {grad_spike[i], grad_v[i] + carried_v[i], R(0)};
        if constexpr (two_variables) {
          before.w = w_before[s][i];
          incoming.w = grad_w[i] + carried_w[i];
        }
        const StepGradient<R> step = backward_step<Model>(c, rules, before, x[i], h[s][i], g[i], incoming);
        grad_x[i] = step.x;
        carried_v[i] = step.before.v;
        if constexpr (two_variables) carried_w[i] = step.before.w;
      }
    }
  }
  if (a.grad_v_init) copy_row(a.grad_v_init + tile.element, carried_v, count);
  if constexpr (two_variables)
    if (a.grad_w_init) copy_row(a.grad_w_init + tile.element, carried_w, count);
}

template <class R>
void forward(int32_t model, const ForwardArguments<R>& a, const Tile& tile) {
  visit(Models{}, model, [&](auto entry) {
    using Model = typename decltype(entry)::dynamics;
    if (a.parameters->per_neuron) forward_tile_of<Model, R, true>(a, tile);
    else forward_tile_of<Model, R, false>(a, tile);
  });
}

template <class R>
void backward(int32_t model, const BackwardArguments<R>& a, const Tile& tile) {
  const bool per_neuron = a.parameters->per_neuron != nullptr;
  SurrogateRow<R> surrogate_row = nullptr;
  visit(Surrogates{}, a.surrogate, [&](auto entry) {
    using Surrogate = typename decltype(entry)::type;
    surrogate_row = per_neuron ? surrogate_row_of<Surrogate, R, true> : surrogate_row_of<Surrogate, R, false>;
  });
  visit(Models{}, model, [&](auto entry) {
    using Model = typename decltype(entry)::dynamics;
    if (per_neuron) backward_tile_of<Model, R, true>(surrogate_row, a, tile);
    else backward_tile_of<Model, R, false>(surrogate_row, a, tile);
  });
}

#define SYNFIRE_HOST_TEXT_(x) #x
#define SYNFIRE_HOST_TEXT(x) SYNFIRE_HOST_TEXT_(x)

}  // namespace

extern const Kernels kernels = {SYNFIRE_HOST_TEXT(SYNFIRE_MODEL_LEVEL), forward<float>, forward<double>,
                                backward<float>, backward<double>};

}  // namespace synfire::host::SYNFIRE_MODEL_LEVEL
