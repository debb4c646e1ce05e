// The host kernels, compiled once per instruction level from kernels.cpp and chosen at run time. All levels give the
// same bits. A kernel works on one tile: a stretch of neighbouring neurons over all steps.
#ifndef SYNFIRE_HOST_KERNELS_HPP
#define SYNFIRE_HOST_KERNELS_HPP

#include <core/arguments.hpp>

namespace synfire::host {

// Neurons of a tile at most; a multiple of 32, so that tiles share no packed word. A tile's state, and in backward the
// H of one checkpoint interval, stay in the first-level cache.
inline constexpr int forward_tile = 512;
inline constexpr int backward_tile = 128;
// Rows asked for before they are needed, in backward. Two threads need it: LIF, f32, N = 1,048,576, T = 16 took 18.6 ms
// without, 11.9 with 4 and 10.3 with 8 (one thread: 21 ms with and without; Xeon, AVX-512).
inline constexpr int prefetch_ahead = 8;
inline constexpr int max_tile = forward_tile > backward_tile ? forward_tile : backward_tile;

struct Tile {
  int64_t element;       // first element within a row [B, N]
  int64_t neuron;        // first neuron within its batch row: indexes per-neuron constants
  int64_t word;          // first packed word within a step
  int count;             // neurons
};

struct Kernels {
  const char* level;
  void (*forward_f32)(int32_t model, const core::ForwardArguments<float>&, const Tile&);
  void (*forward_f64)(int32_t model, const core::ForwardArguments<double>&, const Tile&);
  void (*backward_f32)(int32_t model, const core::BackwardArguments<float>&, const Tile&);
  void (*backward_f64)(int32_t model, const core::BackwardArguments<double>&, const Tile&);

  void forward(int32_t m, const core::ForwardArguments<float>& a, const Tile& t) const { forward_f32(m, a, t); }
  void forward(int32_t m, const core::ForwardArguments<double>& a, const Tile& t) const { forward_f64(m, a, t); }
  void backward(int32_t m, const core::BackwardArguments<float>& a, const Tile& t) const { backward_f32(m, a, t); }
  void backward(int32_t m, const core::BackwardArguments<double>& a, const Tile& t) const { backward_f64(m, a, t); }
};

namespace baseline { extern const Kernels kernels; }
#if SYNFIRE_HOST_X86_LEVELS
namespace avx2 { extern const Kernels kernels; }
namespace avx512 { extern const Kernels kernels; }
#endif

// The best level this processor has, or the one that SYNFIRE_HOST_LEVEL names (baseline, avx2, avx512) if it has it.
const Kernels& select_kernels() noexcept;

}  // namespace synfire::host

#endif
