// The kernels of stacks, as the host code sees them.
#ifndef SYNFIRE_FUSION_STACK_KERNELS_HPP
#define SYNFIRE_FUSION_STACK_KERNELS_HPP

#include <neurons/passes/passes_arguments.hpp>
#include <operations/loss/loss_kernels.hpp>
#include <operations/reduce/counting.hpp>
#include <synapses/dense/dense_kernels.hpp>

#include <cstddef>

namespace synfire::cuda {

inline constexpr int stack_threads = 512;
inline constexpr int stack_steps = 16;              // at a time: the rows of a tensor core's product
inline constexpr int64_t most_stack_neurons = 256;  // a thread for each
inline constexpr int most_stack_links = 7;          // an argument of a kernel has 4 KiB

// The parameters of a layer that a pass reads: all but the slopes.
inline constexpr int stack_parameter_bytes = offsetof(core::ParameterBlock<float>, slopes);
static_assert(stack_parameter_bytes % 16 == 0);

struct StackLinkLaunch {
  SpikeProductLaunch product;
  operations::ForwardArguments<float> pass;
  int32_t model;
  bool follows;  // its input is what the link before writes
  bool keeps_x;  // X is memory that others read
  // Offsets in shared memory: the byte planes; grid, bias, V and W of padded() neurons each.
  int32_t planes, neurons;

  SYNFIRE_MODEL_FN int groups() const { return static_cast<int>((product.n_outputs + 7) / 8); }
  SYNFIRE_MODEL_FN int padded() const { return groups() * 8; }
  // Bytes of the planes of 64 outputs, which are together in memory, and of those of all.
  SYNFIRE_MODEL_FN int of_columns() const { return static_cast<int>(product.plane_words) * 3 * 2048; }
  SYNFIRE_MODEL_FN int plane_bytes() const { return (groups() + 7) / 8 * of_columns(); }
};

struct StackLaunch {
  int32_t n_links;
  // Offsets in shared memory: two buffers of words of spikes, and X of stack_steps steps. Parameters come first.
  int32_t words, words_bytes, x, x_pitch;
  StackLinkLaunch links[most_stack_links];
};
static_assert(sizeof(StackLaunch) <= 4096);
const void* stack_kernel();

struct ReadoutLaunch {
  core::Extents extents;
  operations::Counting counting;
  bool mean;
  const uint32_t* spikes;  // words [T, B, ceil(N / 32)]
  int64_t pitch;
  float* results;  // [B, N]
  LossLaunch loss;
  // The gradient of sums or means, spread over the steps; null `to`: none.
  operations::Counting spread_counting;
  bool spread_mean, add;
  const float* from;  // [B, N]
  float* to;          // [T, B, N]
  int64_t to_pitch;
};
const void* readout_kernel();

}  // namespace synfire::cuda

#endif
