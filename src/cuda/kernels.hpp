// The kernels as the host code sees them: their arguments and their addresses. The .cu files define them.
#ifndef SYNFIRE_CUDA_KERNELS_HPP
#define SYNFIRE_CUDA_KERNELS_HPP

#include <core/arguments.hpp>

#include <synfire/synfire.h>

#include <cstdint>

namespace synfire::cuda {

// The most threads of a block; what is launched is these, unless a layer asks for fewer.
inline constexpr int threads_per_block = 128;
// Smaller blocks hand their shared memory on sooner: 205 us against 217 (H200, LIF, f32, N = 2,097,152, T = 32).
inline constexpr int backward_threads = 64;

// How a thread finds its neurons. Thread p owns `width` neighbouring elements of a row [B, N] from p·width on. Where
// packed words must not cross batch rows (N not a multiple of 32), lanes are counted over rows padded to whole words:
// lane p is neuron p mod padded of batch row p / padded. Zero lanes is a launch that touches no data (warm-up).
struct Lanes {
  int64_t count;           // lanes, a multiple of the width
  int64_t padded_neurons;  // lanes per batch row, or 0: lanes are elements
};

// What a forward writes: only spikes, in one format, or any combination, decided at run time. A choice between formats
// inside the loop over steps was measured to cost 70 % (H200, f32, T = 32): it keeps loads from being moved ahead.
enum class ForwardOutputs { bits, time_bits, dense, bytes, any };
// What a backward reads and writes: grad_spike_seq in and grad_x_seq out, or any combination.
// Or any combination and gradients of parameters.
enum class BackwardInputs { spikes, any, parameters };

// The surrogates whose backward from spikes has instances of its own; the others share one, which finds theirs at run
// time.
constexpr bool has_own_backward(int32_t surrogate) {
  return surrogate == SYNFIRE_SURROGATE_SIGMOID || surrogate == SYNFIRE_SURROGATE_ATAN;
}

// How an instance reads and writes sequences: each in one type, or, as AnyStorage, in what each says at run time (f32,
// f16 or bf16, all beside f32 arithmetic).
struct F16 {
  uint16_t bits;
};
struct Bf16 {
  uint16_t bits;
};
struct AnyStorage {
  uint32_t bits;
};

template <class E>
struct ArithmeticOf {
  using type = float;
};
template <>
struct ArithmeticOf<double> {
  using type = double;
};
template <class E>
using Arithmetic = typename ArithmeticOf<E>::type;
template <class E>
inline constexpr bool is_double = sizeof(Arithmetic<E>) == sizeof(double);

template <class R>
struct ForwardLaunch {
  core::ForwardArguments<R> arguments;
  Lanes lanes;
  bool next_begins_early = false;  // let_next_begin()
};

template <class R>
struct BackwardLaunch {
  core::BackwardArguments<R> arguments;
  Lanes lanes;
  bool next_begins_early = false;
};

// One block of threads_per_block lanes a chunk (chunks, total), or one thread a neuron (batch); see
// model/reduction.hpp.
template <class R>
struct ReduceLaunch {
  const double* input;
  R* output;
  int64_t batch;
  int64_t count;
  const int64_t* active;  // how many inputs count, the first ones; null: all
};

// E is an unsigned integer of the element's size.
template <class E>
struct FillLaunch {
  E* data;
  int64_t count;
  E value;
};

// Units of 16, 4 or 1 bytes, both sides aligned to them; one a thread.
// 1 MiB in 1.03 us, with 128 in 1.17; 256 MiB in 126.9, with 512 in 127.6 (H200).
inline constexpr int copy_threads = 256;
struct CopyLaunch {
  void* destination;
  const void* source;
  int64_t count;
};

inline constexpr int small_bytes = 1024;
struct WriteSmallLaunch {
  unsigned char* destination;
  int32_t bytes;
  alignas(8) unsigned char source[small_bytes];
};

// Counts replays: increments *count and publishes it to host memory after everything before it in the stream.
struct SignalLaunch {
  uint64_t* count;
  uint64_t* published;
};

// Addresses to launch; null when there is no such instance. Widths are elements per thread. E is float, double, F16 or
// Bf16 (outputs or inputs of known types only), or AnyStorage; f64 has no other storage, and double stands for both.
template <class E>
const void* forward_kernel(int32_t model, int width, ForwardOutputs outputs);
template <class E>
const void* backward_kernel(int32_t model, int32_t surrogate, int width, BackwardInputs inputs);
template <class R>
const void* reduce_batch_kernel();
const void* reduce_chunks_kernel();  // ReduceLaunch<double>
template <class R>
const void* reduce_total_kernel();
template <class E>
const void* fill_kernel();
const void* copy_kernel(int unit_bytes);
const void* write_small_kernel();
const void* signal_kernel();
const void* idle_kernel();  // no arguments, no work

// The widest instances. Forward: 16-byte accesses, 8-byte ones with 16-bit storage (eight neurons a thread are as fast
// on many neurons, and slower on few: 33 us against 25 in f16, N = 262,144, T = 128). Backward: two neurons a thread,
// where H of one checkpoint interval is in shared memory (four took 287 us instead of 209 in f32, 142 instead of 135 in
// f16: H200, LIF, N = 2,097,152, T = 32).
template <class E>
inline constexpr int forward_width = is_double<E> ? 2 : 4;
template <class E>
inline constexpr int backward_width = is_double<E> ? 1 : 2;

// Shared memory of a backward block: H of one interval (or of all steps, when fewer), for every element it owns, and W
// before each step where a derivative depends on it: that is one variable or two.
// One f64 per gradient of a parameter comes on top.
inline int64_t backward_shared_bytes(int64_t n_steps, int width, int n_variables, int n_gradients,
                                     int64_t arithmetic_bytes) {
  const int64_t steps = n_steps < model::checkpoint_interval ? n_steps : model::checkpoint_interval;
  return backward_threads *
         (steps * n_variables * width * arithmetic_bytes + n_gradients * static_cast<int64_t>(sizeof(double)));
}

}  // namespace synfire::cuda

#endif
