// The kernels of the passes as the host code sees them: their arguments and their addresses.
#ifndef SYNFIRE_NEURONS_PASSES_CUDA_PASSES_KERNELS_HPP
#define SYNFIRE_NEURONS_PASSES_CUDA_PASSES_KERNELS_HPP

#include <backends/cuda/device_types.hpp>
#include <neurons/passes/passes_arguments.hpp>

#include <synfire/synfire.h>

namespace synfire::cuda {

// Smaller blocks release their shared memory sooner.
inline constexpr int backward_threads = 64;

// How a thread's neurons lie in its warp: a warp's width apart, or side by side (tiles.cuh). `at_once`: for sequences
// of at most short_steps, whose rows are loaded all at once. `of_rows`: in tiles of their batch row (Tiles).
enum class OwnershipKind { strided, adjacent, strided_at_once, adjacent_at_once, adjacent_of_rows };
struct Ownership {
  int width = 1;  // neurons of a thread
  OwnershipKind kind = OwnershipKind::strided;

  friend bool operator==(const Ownership&, const Ownership&) = default;
};

// How the warps of a pass share a row [B, N]: tile k is warp k's. By elements, tile k has the 32·width ones from
// 32·width·k on. If batch rows end within a packed word, a tile consists of whole words instead. If that leaves few
// lanes without a neuron, each batch row has tiles of its own, of `width` words; else all words are dealt out, `words`
// to each tile, wherever batch rows end.
struct Tiles {
  int64_t elements;  // of a row
  int64_t count;
  int64_t of_batch_row = 0;  // tiles of their own; 0: none
  int32_t words = 0;         // at most 32; 0: not dealt out
  // Tile k below 2^31 is in batch row 2k * multiplier / 2^(32 + shift). 0: all have the same row.
  int32_t shift = 0;
  uint32_t multiplier = 0;
};

// A forward's outputs: only spikes, in one format, or any combination, decided at run time, which is slower because
// loads are not moved ahead of a choice. Models that never fire have `potential`, V of every step or none, and `any`.
enum class ForwardOutputs { bits, time_bits, dense, bytes, any, potential };
// A backward's sequences: grad_spike_seq in and grad_x_seq out; any combination, without or with gradients of
// parameters. Models that never fire have `potential`, grad_v_seq and grad_x_seq in the layer's dtype, but no `spikes`.
enum class BackwardInputs { spikes, any, parameters, potential };

// The instances of a model; kernel code has a budget (tests/gpu/code_size.cmake).
// `all`: for LIF, IF, PLIF and LIF solved exactly, which share kernels, models that never fire, whose kernels are
// short, and loaded ones, each of which is compiled when it is needed. `few`: for any other model. In f32: packed or
// dense spikes forward, the sigmoid backward; in 16 bits: packed spikes and dL/dX with storage known at run time. The
// instances for any combination compute all else with one neuron per thread, backward with gradients of parameters, of
// which there may be none.
enum class Instances { all, few };
constexpr Instances instances_of(int32_t model, bool never_fires) {
  return never_fires || model == SYNFIRE_MODEL_IF || model == SYNFIRE_MODEL_LIF || model == SYNFIRE_MODEL_PLIF ||
                 model == SYNFIRE_MODEL_LIF_EXACT
             ? Instances::all
             : Instances::few;
}

// How the sequences of a pass are stored: all in f32, f64, f16 or bf16, or in types that are known at run time (f32 and
// 16 bits, with arithmetic in f32).
enum class Storage { f32, f64, f16, bf16, any };
inline constexpr Storage layer_storages[] = {Storage::f32, Storage::f64, Storage::f16, Storage::bf16};

// A forward and a backward with these outputs and inputs in the layer's own storage.
struct ForwardInstance {
  Storage storage;
  ForwardOutputs outputs;
};
constexpr ForwardInstance instance_for(Instances instances, Storage storage, ForwardOutputs wanted) {
  if (instances == Instances::few) {
    const bool packed = wanted == ForwardOutputs::bits, dense = wanted == ForwardOutputs::dense;
    if (storage == Storage::f64 || !(packed || (dense && storage == Storage::f32))) wanted = ForwardOutputs::any;
    if (storage != Storage::f64 && storage != Storage::f32) storage = Storage::any;
  }
  return {wanted == ForwardOutputs::any && storage != Storage::f64 ? Storage::any : storage, wanted};
}
struct BackwardInstance {
  Storage storage;
  BackwardInputs inputs;
};
constexpr BackwardInstance instance_for(Instances instances, Storage storage, BackwardInputs wanted) {
  if (instances == Instances::few) {
    if (storage == Storage::f64 || wanted != BackwardInputs::spikes) wanted = BackwardInputs::parameters;
    if (storage != Storage::f64 && storage != Storage::f32) storage = Storage::any;
  }
  const bool any = wanted == BackwardInputs::any || wanted == BackwardInputs::parameters;
  return {any && storage != Storage::f64 ? Storage::any : storage, wanted};
}

// The surrogates with their own instances of the backward from spikes; the others share one, which selects at run time.
inline constexpr int32_t any_surrogate = -1;
constexpr bool has_own_backward(Instances instances, int32_t surrogate) {
  return surrogate == SYNFIRE_SURROGATE_SIGMOID || (surrogate == SYNFIRE_SURROGATE_ATAN && instances == Instances::all);
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

// Addresses to launch; null if there is no such instance. E is float, double, F16 or Bf16 (outputs or inputs of known
// types only), or AnyStorage; double stands for both in f64.
template <class E>
const void* forward_kernel(int32_t model, Ownership ownership, ForwardOutputs outputs);
template <class E>
const void* backward_kernel(int32_t model, int32_t surrogate, Ownership ownership, BackwardInputs inputs);
// For layers with rules that few layers have (model/ruled.hpp), which have kernels of their own so that no other
// layer's take their instructions: one neuron per thread, all outputs and inputs decided at run time. E is double or
// AnyStorage.
template <class E>
const void* ruled_forward_kernel(int32_t model);
template <class E>
const void* ruled_backward_kernel(int32_t model);
// For a list of models with few instances (model/list.hpp). Each has a file of kernels; added models share one.
template <class Entries>
struct FewInstances {
  static const void* forward(int32_t model, Storage storage, const Ownership& ownership, ForwardOutputs outputs);
  static const void* backward(int32_t model, Storage storage, int32_t surrogate, const Ownership& ownership,
                              BackwardInputs inputs);
};

template <class E>
inline constexpr bool is_float = false;
template <>
inline constexpr bool is_float<float> = true;

// How many neurons a thread has in the instances with several. 1: there is no such instance.
struct Widths {
  int strided = 1, adjacent = 1, strided_at_once = 1, adjacent_at_once = 1;
  bool adjacent_of_rows = false;
};

// The longest sequence whose rows a thread loads at once, for more neurons: its H takes little shared memory.
inline constexpr int short_steps = 4;

// Adjacent neurons are for aligned rows: 16-byte accesses, 8-byte ones with 16-bit storage, where more neurons are
// slower if there are few. Strided ones are for any rows. Kernel code has a budget: adjacent neurons have no instance
// that loads rows at once, nor have spikes as bytes or time-packed (docs/pages/tuning.md, "Measured constants").
template <class E>
constexpr Widths forward_widths(Instances instances, ForwardOutputs outputs) {
  if (instances == Instances::few) return {is_float<E> && outputs == ForwardOutputs::bits ? 2 : 1};
  if (outputs == ForwardOutputs::any) return {2};
  const bool at_once =
      outputs == ForwardOutputs::bits || outputs == ForwardOutputs::dense || outputs == ForwardOutputs::potential;
  const bool of_rows = outputs == ForwardOutputs::bits;
  if (is_double<E>) return {2, 1, at_once ? 2 : 1};
  if (sizeof(E) == 2) return {4, 4, 1, 1, of_rows};
  return {2, 4, at_once ? 4 : 1, 1, of_rows};
}

// Two neurons if the H of one checkpoint interval is in shared memory. Rare surrogates, whose code is the longest, have
// no instances that load rows at once.
template <class E>
constexpr Widths backward_widths(Instances instances, int32_t surrogate) {
  if (instances == Instances::few) return {is_float<E> && has_own_backward(instances, surrogate) ? 2 : 1};
  const bool at_once = sizeof(E) == 2 ? surrogate == SYNFIRE_SURROGATE_SIGMOID : has_own_backward(instances, surrogate);
  if (is_double<E>) return {1, 1, at_once ? 2 : 1};
  return {2, 2, at_once ? 4 : 1, at_once ? 4 : 1};
}

template <class E>
constexpr Widths linear_backward_widths() {
  const Widths widths = forward_widths<E>(Instances::all, ForwardOutputs::potential);
  return {widths.strided, widths.adjacent};
}

// Threads of a backward block that stores this many variables per step, in the shared memory that needs no opting in.
constexpr int backward_block(int n_variables, int64_t arithmetic_bytes) {
  return n_variables * arithmetic_bytes > 16 ? 32 : backward_threads;
}

// A backward with one neuron per thread computes whole intervals from more steps than this on (backward_thread.cuh).
inline constexpr int deep_from = 16;

// Shared memory of a backward block: H of one interval (or of all steps, if fewer), for every element it owns, and the
// further variables before each step if a derivative depends on them; and one f64 per gradient of a parameter.
inline int64_t backward_shared_bytes(int64_t n_steps, int width, int n_variables, int n_gradients,
                                     int64_t arithmetic_bytes) {
  const bool whole = n_steps >= model::checkpoint_interval || (width == 1 && n_steps > deep_from);
  const int64_t steps = whole ? model::checkpoint_interval : n_steps;
  return backward_block(n_variables, arithmetic_bytes) *
         (steps * n_variables * width * arithmetic_bytes + n_gradients * static_cast<int64_t>(sizeof(double)));
}

}  // namespace synfire::cuda

#endif
