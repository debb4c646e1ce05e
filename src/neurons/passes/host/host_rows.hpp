// The rows of a tile in the host kernels of both passes: constants, padded rows, further variables. Included by the
// files that are compiled once per instruction level, inside its namespace.
#ifndef SYNFIRE_NEURONS_PASSES_HOST_HOST_ROWS_HPP
#define SYNFIRE_NEURONS_PASSES_HOST_HOST_ROWS_HPP

#include "passes_host_kernels.hpp"

#include <backends/host/padded_rows.hpp>
#include <backends/host/row_words.hpp>

namespace synfire::host::SYNFIRE_MODEL_LEVEL {

void forward_f32(int32_t model, const operations::ForwardArguments<float>& a, const Tile& tile, float* rows);
void forward_f64(int32_t model, const operations::ForwardArguments<double>& a, const Tile& tile, double* rows);
void backward_f32(int32_t model, SurrogateRow<float> surrogate_row, const operations::BackwardArguments<float>& a,
                  const Tile& tile, float* rows);
void backward_f64(int32_t model, SurrogateRow<double> surrogate_row, const operations::BackwardArguments<double>& a,
                  const Tile& tile, double* rows);
SurrogateRow<float> surrogate_f32(int32_t surrogate, bool per_neuron, bool centred);
SurrogateRow<double> surrogate_f64(int32_t surrogate, bool per_neuron, bool centred);

namespace {

using namespace synfire::model;
using operations::BackwardArguments;
using operations::ForwardArguments;
static_assert(forward_tile <= max_tile);

// Some constants of neuron i of a tile: shared by all, or one row per constant in memory.
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

// The numbers of a tile's rows that loops compute: whole vectors, or exactly the tile's neurons if each has constants
// of its own. Results beyond the tile's neurons are never stored.
template <class R, bool PerNeuron>
int computed(const Tile& tile) {
  return PerNeuron ? tile.count : whole_vectors<R>(tile.count);
}

// A row of a sequence, as long as the computed numbers. `alone`: no output uses its memory.
template <class R, bool PerNeuron>
SYNFIRE_MODEL_FN const R* input_row(const Sequence& sequence, const core::Extents& extents, const Tile& tile, int64_t t,
                                    bool alone, R* scratch, const Row<R>& absent = zeros<R>) {
  if constexpr (PerNeuron) return read_row(sequence, t, tile.element, tile.count, scratch, absent);
  const int64_t behind = alone ? elements_behind(sequence, extents, t, tile.element, tile.count) : 0;
  return read_padded(sequence, t, tile.element, tile.count, behind, scratch, absent);
}

// Rows of the further variables; those that the model lacks are not read. Functions whose loops must be vectorised take
// the rows one by one, because compilers heed __restrict on parameters only.
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

// One step of one row: H, S and the state after it. Separate functions, because inlined into larger ones the compiler
// does not vectorise all of these loops.
template <class Model, class R, bool PerNeuron>
[[gnu::noinline]] void forward_row(const Constants<R, first_model_constant + Model::n_constants, PerNeuron>& source,
                                   const Rules& of, const R* __restrict x, R* __restrict v, R* __restrict w,
                                   R* __restrict third, R* __restrict fourth, R* __restrict h, R* __restrict spikes,
                                   int count) {
  // Numbers that the loop does not change are read before it. Otherwise g++ 12 reads some of them only where a Ruled
  // model needs them, and does not vectorise the loop.
  const Rules rules = of;
  constexpr int n_constants = first_model_constant + Model::n_constants;
  [[maybe_unused]] R shared[n_constants];
  if constexpr (is_ruled<Model> && !PerNeuron) source.load(shared, 0);
  for (int i = 0; i < count; ++i) {
    R c[n_constants];
    if constexpr (is_ruled<Model> && !PerNeuron)
      for (int k = 0; k < n_constants; ++k) c[k] = shared[k];
    else
      source.load(c, i);
    StateOf<Model, R> before = {v[i], {}};
    load_further<Model>(before, w, third, fourth, i);
    const R charged = charge<Model>(c, rules, before, x[i]);
    const bool spike = fires<Model>(c, rules, before, charged);
    const StateOf<Model, R> after = advance<Model>(c, rules, before, x[i], charged, spike);
    h[i] = charged;
    if constexpr (!never_fires<Model>) spikes[i] = spike ? R(1) : R(0);
    v[i] = after.v;
    store_further<Model>(after, w, third, fourth, i);
  }
}

}  // namespace
}  // namespace synfire::host::SYNFIRE_MODEL_LEVEL

#endif
