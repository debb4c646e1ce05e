// The host kernels, compiled once per instruction level from host_forward.cpp and host_backward.cpp and chosen at run
// time. All levels give the same bits. A kernel works on one tile: a range of neighbouring neurons over all steps.
#ifndef SYNFIRE_OPERATIONS_NEURON_HOST_KERNELS_HPP
#define SYNFIRE_OPERATIONS_NEURON_HOST_KERNELS_HPP

#include "arguments.hpp"

#include <host/level.hpp>

namespace synfire::host {

// The most neurons of a tile. The constants of this file were
// measured with LIF, f32, T = 16 on an AMD EPYC of family 26 with AVX-512; milliseconds are for N = 1,048,576 with two
// threads. forward_tile: 256 took 1.85 ms, 512 1.83; in the cache 115 and 103 ps per neuron-step, 1024 112; on
// an Intel Xeon, 256 took 7 to 10 % longer than 512 in f64. backward_tile: 256 took 7.0 ms, 512 8.5; with one thread
// 128 took 15.7, 256 13.1, 512 14.3. The H of one checkpoint interval lies in the thread's part of the operation's
// scratch memory, in the second-level cache; f64 takes as many bytes.
inline constexpr int forward_tile = 512;
template <class R>
inline constexpr int backward_tile = static_cast<int>(1024 / sizeof(R));
// How many rows ahead forward prefetches: 4 took 2.66 ms, 8 1.99, 12 1.83, and 4.41 without.
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

// g'(H − v_threshold) of one row of a tile; the surrogate's constants begin with this one.
template <class R>
using SurrogateRow = void (*)(R* g, const R* h, const core::ParameterBlock<R>&, int first_constant, int64_t n_neurons,
                              const Tile&);

// The rows that a forward works in, at an address that is a multiple of 64: each as long as the largest tile.
struct RowsOfForward {
  static constexpr int64_t n_rows(int n_further) { return 4 + n_further; }
};

// The rows that a backward works in, at an address that is a multiple of 64: bytes for tiles of up to `count` neurons,
// of up to `n_steps` steps, as BackwardTile lays them out.
struct RowsOfBackward {
  static constexpr int64_t alignment = 64;
  static constexpr int64_t wide_bytes = 1024;  // backward_tile<R> numbers
  // Each is as long as the tile's neurons, rounded up to the alignment; the wide ones are as long as the largest tile.
  static constexpr int64_t n_wide(int n_further) { return 5 + n_further; }
  static constexpr int64_t n_rows(int n_further, int64_t n_steps) {
    const int64_t steps = n_steps < model::checkpoint_interval ? n_steps : model::checkpoint_interval;
    return (1 + n_further) * (steps + 2) + steps;
  }
};

// Of the models and surrogates of the lists or, in a text that was compiled at run time, of those in it.
struct NeuronKernels {
  // `rows` has room for the rows of the tile (RowsOfForward, RowsOfBackward), which nobody else uses meanwhile.
  void (*forward_f32)(int32_t model, const operations::ForwardArguments<float>&, const Tile&, float* rows);
  void (*forward_f64)(int32_t model, const operations::ForwardArguments<double>&, const Tile&, double* rows);
  // The surrogate's row is null for a model that never fires.
  void (*backward_f32)(int32_t model, SurrogateRow<float>, const operations::BackwardArguments<float>&, const Tile&,
                       float* rows);
  void (*backward_f64)(int32_t model, SurrogateRow<double>, const operations::BackwardArguments<double>&, const Tile&,
                       double* rows);
  SurrogateRow<float> (*surrogate_f32)(int32_t surrogate, bool per_neuron);
  SurrogateRow<double> (*surrogate_f64)(int32_t surrogate, bool per_neuron);

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
  // Null if there is no such surrogate.
  template <class R>
  SurrogateRow<R> surrogate_row(int32_t surrogate, bool per_neuron) const {
    if constexpr (sizeof(R) == sizeof(float))
      return surrogate_f32(surrogate, per_neuron);
    else
      return surrogate_f64(surrogate, per_neuron);
  }
};
SYNFIRE_LEVEL_TABLES(NeuronKernels, neuron_kernels)

}  // namespace synfire::host

#endif
