// The kernels of the passes as the host code sees them: their arguments and their addresses. The .cu files define them.
#ifndef SYNFIRE_OPERATIONS_NEURON_KERNELS_HPP
#define SYNFIRE_OPERATIONS_NEURON_KERNELS_HPP

#include "arguments.hpp"

#include <cuda/device_types.hpp>

#include <synfire/synfire.h>

namespace synfire::cuda {

// Smaller blocks release their shared memory sooner: 205 us against 217 (H200, LIF, f32, N = 2,097,152, T = 32).
inline constexpr int backward_threads = 64;

// Which of a warp's neurons each of its threads owns: `width` of them, side by side or a warp's width apart
// (tiles.cuh). `at_once`: of a sequence of at most short_steps, whose
// rows a thread loads all at once. `of_rows`: adjacent ones in tiles of their batch row (Tiles).
struct Ownership {
  int width;
  bool adjacent = false;
  bool at_once = false;
  bool of_rows = false;

  friend bool operator==(const Ownership&, const Ownership&) = default;
};

// How the warps of a pass share a row [B, N]: tile k is warp k's. By elements, it is the 32·width ones from 32·width·k
// on. Where batch rows end within a packed word, a tile consists of whole words instead. If that leaves few lanes
// without a neuron, each batch row has tiles of its own, of `width` words; else all words are dealt out, `words` to
// each tile, wherever batch rows end.
struct Tiles {
  int64_t elements;  // of a row
  int64_t count;
  int64_t of_batch_row = 0;  // tiles of their own; 0: none
  int32_t words = 0;         // at most 32; 0: not dealt out
  // Of the tiles below 2^31, tile k is in batch row 2k * multiplier / 2^(32 + shift). 0: all have the same row.
  int32_t shift = 0;
  uint32_t multiplier = 0;
};

// What a forward writes: only spikes, in one format, or any combination, decided at run time. A choice between formats
// inside the loop over steps costs 70 % (H200, f32, T = 32), because loads are not moved ahead of it. Models that never
// fire have only `potential`, V of every step or none, and `any`.
enum class ForwardOutputs { bits, time_bits, dense, bytes, any, potential };
// What a backward reads and writes: grad_spike_seq in and grad_x_seq out, or any combination.
// Or any combination and gradients of parameters. Models that never fire have `potential`, grad_v_seq and grad_x_seq in
// the layer's dtype, in place of `spikes`.
enum class BackwardInputs { spikes, any, parameters, potential };

// The surrogates with their own instances of the backward from spikes; the others share one, which selects the
// surrogate at run time.
constexpr bool has_own_backward(int32_t surrogate) {
  return surrogate == SYNFIRE_SURROGATE_SIGMOID || surrogate == SYNFIRE_SURROGATE_ATAN;
}

template <class R>
struct ForwardLaunch {
  operations::ForwardArguments<R> arguments;
  Tiles tiles;
  bool next_begins_early = false;  // let_next_begin()
};

template <class R>
struct BackwardLaunch {
  operations::BackwardArguments<R> arguments;
  Tiles tiles;
  bool next_begins_early = false;
};

// Addresses to launch; null if there is no such instance. E is float, double, F16 or
// Bf16 (outputs or inputs of known types only), or AnyStorage; f64 has no other storage, and double stands for both.
template <class E>
const void* forward_kernel(int32_t model, Ownership ownership, ForwardOutputs outputs);
template <class E>
const void* backward_kernel(int32_t model, int32_t surrogate, Ownership ownership, BackwardInputs inputs);

// The instances with several neurons per thread.
//
// Adjacent ones, for rows that are aligned: in a forward 16-byte accesses, 8-byte ones with 16-bit storage (eight
// neurons a thread are as fast on many neurons, and slower on few: 33 us against 25 in f16, N = 262,144, T = 128); in a
// backward two neurons, where H of one checkpoint interval is in shared memory (four took 287 us instead of 209 in f32,
// 142 instead of 135 in f16: H200, LIF, N = 2,097,152, T = 32). A pass of a model that never fires stores nothing
// between its steps. 1: there is none.
template <class E>
inline constexpr int forward_adjacent = is_double<E> ? 1 : 4;
template <>
inline constexpr int forward_adjacent<AnyStorage> = 1;
template <class E>
inline constexpr int backward_adjacent = is_double<E> ? 1 : 2;
template <>
inline constexpr int backward_adjacent<AnyStorage> = 1;
// Strided ones, for any rows. In f32 four took 44.3 us instead of 40.1 (H200, LIF, forward, T = 16, N = 2,097,152);
// with 16-bit storage fewer, larger blocks matter more.
template <class E>
inline constexpr int forward_strided = sizeof(E) == 2 ? 4 : 2;
template <class E>
inline constexpr int backward_strided = is_double<E> ? 1 : 2;

// Of a short sequence, a thread has few bytes to load, so it has more neurons, of which it loads all rows at once. H of
// so few steps takes little shared memory. Kernel code has a budget, so there are instances where the gain is largest:
// none for rare surrogates, whose code is the longest, and with 16-bit storage only for the sigmoid and aligned rows;
// of forward passes only with strided neurons and spikes as bits or dense (adjacent ones have enough).
inline constexpr int short_steps = 4;
template <class E>
inline constexpr int backward_short_adjacent = is_double<E> ? 1 : 4;
template <>
inline constexpr int backward_short_adjacent<AnyStorage> = 1;
template <class E>
inline constexpr int backward_short_strided = is_double<E>                 ? 2
                                              : sizeof(E) == sizeof(float) ? 4
                                                                           : 1;
template <class E>
constexpr bool has_short_backward(int32_t surrogate) {
  return sizeof(E) == 2 ? surrogate == SYNFIRE_SURROGATE_SIGMOID : has_own_backward(surrogate);
}
template <class E>
inline constexpr int forward_short_strided = backward_short_strided<E>;
constexpr bool has_short_forward(ForwardOutputs outputs) {
  return outputs == ForwardOutputs::bits || outputs == ForwardOutputs::dense || outputs == ForwardOutputs::potential;
}

// Threads of a backward block that stores this many variables per step: fewer where it would need more shared memory
// than a kernel has without asking.
constexpr int backward_block(int n_variables, int64_t arithmetic_bytes) {
  return n_variables * arithmetic_bytes > 16 ? 32 : backward_threads;
}

// A backward of one neuron per thread computes whole intervals if there are more steps than this (backward.cuh).
inline constexpr int deep_from = 16;

// Shared memory of a backward block: H of one interval (or of all steps, when fewer), for every element it owns, and
// the further variables before each step where a derivative depends on them. One f64 per gradient of a parameter comes
// on top.
inline int64_t backward_shared_bytes(int64_t n_steps, int width, int n_variables, int n_gradients,
                                     int64_t arithmetic_bytes) {
  const bool whole = n_steps >= model::checkpoint_interval || (width == 1 && n_steps > deep_from);
  const int64_t steps = whole ? model::checkpoint_interval : n_steps;
  return backward_block(n_variables, arithmetic_bytes) *
         (steps * n_variables * width * arithmetic_bytes + n_gradients * static_cast<int64_t>(sizeof(double)));
}

}  // namespace synfire::cuda

#endif
