// The host kernels, compiled once per instruction level and chosen at run time; all levels give the same bits. A kernel
// works on one tile: a range of neighbouring neurons over all steps.
#ifndef SYNFIRE_NEURONS_PASSES_HOST_PASSES_HOST_KERNELS_HPP
#define SYNFIRE_NEURONS_PASSES_HOST_PASSES_HOST_KERNELS_HPP

#include <backends/host/level.hpp>
#include <neurons/passes/passes_arguments.hpp>

namespace synfire::host {

// The most neurons of a tile (docs/pages/tuning.md, "The host backend"). The H of one checkpoint interval is in the
// thread's part of the operation's scratch memory, in the second-level cache; f64 takes as many bytes.
inline constexpr int forward_tile = 512;
template <class R>
inline constexpr int backward_tile = static_cast<int>(1024 / sizeof(R));
// How many rows ahead the forward prefetches.
inline constexpr int prefetch_ahead = 12;

struct Tile {
  int64_t element;  // first element within a row [B, N]
  int64_t neuron;   // first neuron within its batch row: indexes per-neuron constants
  int64_t word;     // first packed word within a step
  int words;        // packed words, of which no other tile writes one
  int count;        // neurons
  int next;         // neurons of the tile that follows in memory, whoever computes it
  bool far;         // the sequences are larger than the nearer caches: rows are asked for early
};

// g'(H − v_threshold) of one row of a tile, with which the surrogate's constants begin; or g' of a row that holds H
// less the threshold.
template <class R>
using SurrogateRow = void (*)(R* g, const R* h, const core::ParameterBlock<R>&, int first_constant, int64_t n_neurons,
                              const Tile&);

// The rows of a forward, each as long as the largest tile, at an address that is a multiple of 64.
struct RowsOfForward {
  static constexpr int64_t n_rows(int n_further) { return 4 + n_further; }
};

// The rows of a backward as BackwardTile lays them out, for tiles of up to `count` neurons and `n_steps` steps, at an
// address that is a multiple of 64.
struct RowsOfBackward {
  static constexpr int64_t alignment = 64;
  static constexpr int64_t wide_bytes = 1024;  // backward_tile<R> numbers
  // Each is as long as the tile's neurons, rounded up to the alignment; wide ones are as long as the largest tile.
  static constexpr int64_t n_wide(int n_further) { return 5 + n_further; }
  static constexpr int64_t n_rows(int n_further, int64_t n_steps) {
    const int64_t steps = n_steps < model::checkpoint_interval ? n_steps : model::checkpoint_interval;
    return (1 + n_further) * (steps + 2) + steps;
  }
};

// For the listed models and surrogates or, in a text that was compiled at run time, those of the text.
struct NeuronKernels {
  // `rows` has room for the rows of the tile, which nobody else uses meanwhile.
  void (*forward_f32)(int32_t model, const operations::ForwardArguments<float>&, const Tile&, float* rows);
  void (*forward_f64)(int32_t model, const operations::ForwardArguments<double>&, const Tile&, double* rows);
  // The surrogate's row is null for a model that never fires.
  void (*backward_f32)(int32_t model, SurrogateRow<float>, const operations::BackwardArguments<float>&, const Tile&,
                       float* rows);
  void (*backward_f64)(int32_t model, SurrogateRow<double>, const operations::BackwardArguments<double>&, const Tile&,
                       double* rows);
  SurrogateRow<float> (*surrogate_f32)(int32_t surrogate, bool per_neuron, bool centred);
  SurrogateRow<double> (*surrogate_f64)(int32_t surrogate, bool per_neuron, bool centred);

  void forward(int32_t m, const operations::ForwardArguments<float>& a, const Tile& t, float* rows) const {
    forward_f32(m, a, t, rows);
  }
  void forward(int32_t m, const operations::ForwardArguments<double>& a, const Tile& t, double* rows) const {
    forward_f64(m, a, t, rows);
  }
  void backward(int32_t m, SurrogateRow<float> s, const operations::BackwardArguments<float>& a, const Tile& t,
                float* rows) const {
    backward_f32(m, s, a, t, rows);
  }
  void backward(int32_t m, SurrogateRow<double> s, const operations::BackwardArguments<double>& a, const Tile& t,
                double* rows) const {
    backward_f64(m, s, a, t, rows);
  }
  // Null if there is no such surrogate. `centred`: of rows of H less the threshold.
  template <class R>
  SurrogateRow<R> surrogate_row(int32_t surrogate, bool per_neuron, bool centred) const {
    if constexpr (sizeof(R) == sizeof(float))
      return surrogate_f32(surrogate, per_neuron, centred);
    else
      return surrogate_f64(surrogate, per_neuron, centred);
  }
};
SYNFIRE_LEVEL_TABLES(NeuronKernels, neuron_kernels)

}  // namespace synfire::host

#endif
