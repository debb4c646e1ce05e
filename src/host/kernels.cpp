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

// The constants of neuron i of a tile: shared by all, or one row per constant in memory.
template <class R, int Count, bool PerNeuron>
struct Constants {
  R shared[Count];
  const R* per_neuron;
  int64_t n_neurons;

  Constants(const core::ParameterBlock<R>& block, int64_t n, const Tile& tile)
      : per_neuron(block.per_neuron ? block.per_neuron + tile.neuron : nullptr), n_neurons(n) {
    for (int k = 0; k < Count; ++k) shared[k] = block.shared[k];
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
  const Constants<R, n_constants, PerNeuron> source(*a.parameters, a.extents.n_neurons, tile);
  const int64_t row = a.extents.row();
  const int count = tile.count;
  const Rules rules = a.rules;
  R v[forward_tile], h[forward_tile], spikes[forward_tile];
  copy_row(v, a.v_in + tile.element, count);

  for (int64_t t = 0; t < a.extents.n_steps; ++t) {
    const int64_t at = t * row + tile.element;
    if (a.tape && t % checkpoint_interval == 0)
      copy_row(a.tape + t / checkpoint_interval * row + tile.element, v, count);
    const R* __restrict x = a.x + at;
    for (int i = 0; i < count; ++i) {
      R c[n_constants];
      source.load(c, i);
      const R charged = charge<Model>(c, v[i], x[i]);
      const bool spike = fires(c, charged);
      h[i] = charged;
      spikes[i] = spike ? R(1) : R(0);
      v[i] = reset(c, rules, charged, spike);
    }
    if (a.spikes) copy_row(a.spikes + at, spikes, count);
    if (a.spike_bits) pack_row(a.spike_bits + t * tile.words_per_step + tile.word, spikes, count);
    if (a.h_seq) copy_row(a.h_seq + at, h, count);
    if (a.v_seq) copy_row(a.v_seq + at, v, count);
  }
  if (a.v_out) copy_row(a.v_out + tile.element, v, count);
  if (a.v_final) copy_row(a.v_final + tile.element, v, count);
}

template <class Model, class Surrogate, class R, bool PerNeuron>
void backward_tile_of(const BackwardArguments<R>& a, const Tile& tile) {
  constexpr int n_constants = first_surrogate_constant<Model> + Surrogate::n_constants;
  const Constants<R, n_constants, PerNeuron> source(*a.parameters, a.extents.n_neurons, tile);
  const int64_t row = a.extents.row();
  const int count = tile.count;
  const Rules rules = a.rules;
  R carried[backward_tile], v[backward_tile], unwanted[backward_tile];
  R h[checkpoint_interval][backward_tile];        // H of one interval
  R v_before[checkpoint_interval][backward_tile];  // V before each of its steps
  copy_row(carried, a.grad_v_final ? a.grad_v_final + tile.element : zeros<R>, count);

  for (int64_t chunk = (a.extents.n_steps - 1) / checkpoint_interval; chunk >= 0; --chunk) {
    const int64_t first = chunk * checkpoint_interval;
    const int64_t left = a.extents.n_steps - first;
    const int length = left < checkpoint_interval ? static_cast<int>(left) : checkpoint_interval;
    copy_row(v, a.tape + chunk * row + tile.element, count);
    for (int s = 0; s < length; ++s) {
      const R* __restrict x = a.x + (first + s) * row + tile.element;
      for (int i = 0; i < count; ++i) {
        R c[n_constants];
        source.load(c, i);
        const R charged = charge<Model>(c, v[i], x[i]);
        v_before[s][i] = v[i];
        h[s][i] = charged;
        v[i] = reset(c, rules, charged, fires(c, charged));
      }
    }
    for (int s = length - 1; s >= 0; --s) {
      const int64_t at = (first + s) * row + tile.element;
      const R* __restrict x = a.x + at;
      const R* __restrict grad_spike = a.grad_spike ? a.grad_spike + at : zeros<R>;
      const R* __restrict grad_v = a.grad_v_seq ? a.grad_v_seq + at : zeros<R>;
      R* __restrict grad_x = a.grad_x ? a.grad_x + at : unwanted;
      for (int i = 0; i < count; ++i) {
        R c[n_constants];
        source.load(c, i);
        const StepGradient<R> g = backward_step<Model, Surrogate>(c, rules, v_before[s][i], x[i], h[s][i],
                                                                  grad_spike[i], grad_v[i] + carried[i]);
        grad_x[i] = g.x;
        carried[i] = g.v_before;
      }
    }
  }
  if (a.grad_v_init) copy_row(a.grad_v_init + tile.element, carried, count);
}

template <class R>
void forward(int32_t model, const ForwardArguments<R>& a, const Tile& tile) {
  visit(Models{}, model, [&](auto entry) {
    using Model = typename decltype(entry)::type;
    if (a.parameters->per_neuron) forward_tile_of<Model, R, true>(a, tile);
    else forward_tile_of<Model, R, false>(a, tile);
  });
}

template <class R>
void backward(int32_t model, int32_t surrogate, const BackwardArguments<R>& a, const Tile& tile) {
  visit(Models{}, model, [&](auto model_entry) {
    visit(Surrogates{}, surrogate, [&](auto surrogate_entry) {
      using Model = typename decltype(model_entry)::type;
      using Surrogate = typename decltype(surrogate_entry)::type;
      if (a.parameters->per_neuron) backward_tile_of<Model, Surrogate, R, true>(a, tile);
      else backward_tile_of<Model, Surrogate, R, false>(a, tile);
    });
  });
}

#define SYNFIRE_HOST_TEXT_(x) #x
#define SYNFIRE_HOST_TEXT(x) SYNFIRE_HOST_TEXT_(x)

}  // namespace

extern const Kernels kernels = {SYNFIRE_HOST_TEXT(SYNFIRE_MODEL_LEVEL), forward<float>, forward<double>,
                                backward<float>, backward<double>};

}  // namespace synfire::host::SYNFIRE_MODEL_LEVEL
