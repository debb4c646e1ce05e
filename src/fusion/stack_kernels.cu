// A stack. Everything that does not depend on an earlier layer is requested at once: byte planes, grids, parameters and
// states. Then, layer by layer and 16 steps at a time, tensor cores make X, a warp 8 of its columns, and a thread walks
// through the steps of its neuron.
#include "stack_kernels.hpp"

#include <backends/cuda/cuda_storage.cuh>
#include <synapses/dense/fragments.hpp>
#include <synapses/dense/results.cuh>
#include <synapses/dense/tensor.cuh>

#include <synfire/model/update.hpp>

namespace synfire::cuda {
namespace {

using namespace synfire::model;
using core::ParameterBlock;
using operations::spread;

#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ >= 800

constexpr int n_warps = stack_threads / 32;

struct LinkMemory {
  const StackLinkLaunch& link;
  unsigned char* planes;
  int32_t *grid, *bias;
  float *v, *w;
  ParameterBlock<float>& parameters;  // without the slopes

  __device__ __forceinline__ LinkMemory(const StackLaunch& launch, int i, unsigned char* shared)
      : link(launch.links[i]),
        planes(shared + link.planes),
        grid(reinterpret_cast<int32_t*>(shared + link.neurons)),
        bias(grid + link.padded()),
        v(reinterpret_cast<float*>(bias + link.padded())),
        w(v + link.padded()),
        parameters(*reinterpret_cast<ParameterBlock<float>*>(shared + i * stack_parameter_bytes)) {}

  __device__ __forceinline__ int words_in() const { return static_cast<int>(link.product.bits.length); }
  __device__ __forceinline__ int n_neurons() const { return static_cast<int>(link.product.n_outputs); }
  __device__ __forceinline__ int words_out() const { return (n_neurons() + 31) / 32; }
};

#ifdef __CUDA_ARCH__

// ---- copies to shared memory ----------------------------------------------------------------------------------------

// In the order of memory, so that no thread computes more than one address.
__device__ __forceinline__ void request_planes(const LinkMemory& m) {
  const int at = static_cast<int>(threadIdx.x) * 16, bytes = m.link.plane_bytes();
  const uint8_t* const from = m.link.product.planes;
#pragma unroll 4
  for (int i = at; i < bytes; i += stack_threads * 16) copy16(m.planes + i, from + i);
}

__device__ __forceinline__ void request_neurons(const LinkMemory& m, int64_t b) {
  const auto& pass = m.link.pass;
  const int n = static_cast<int>(threadIdx.x);
  const int64_t element = b * m.n_neurons() + n;
  if (n < m.link.padded()) {  // the grid and the bias are padded
    copy4(m.grid + n, m.link.product.grid + n, true);
    copy4(m.bias + n, m.link.product.bias + n, true);
  }
  if (n < m.n_neurons()) {
    copy4(m.v + n, pass.v_in + element, true);
    if (pass.w_in[0]) copy4(m.w + n, pass.w_in[0] + element, true);
  }
  const int part = stack_threads - 1 - n;  // by threads without a neuron
  if (part < stack_parameter_bytes / 4)
    copy4(reinterpret_cast<uint32_t*>(&m.parameters) + part, reinterpret_cast<const uint32_t*>(pass.parameters) + part,
          true);
}

__device__ __forceinline__ const uint32_t* input_word(const SpikeProductLaunch& product, int64_t b, int i) {
  const int words = static_cast<int>(product.bits.length);
  return product.bits.row({i / words, b}) + i % words;
}

// ---- X --------------------------------------------------------------------------------------------------------------

// Computes steps first to first + stack_steps - 1, as far as they exist.
__device__ __forceinline__ void multiply_spikes(const LinkMemory& m, const uint32_t* words, int64_t b, int first,
                                                bool counts, float* x, int x_pitch) {
  const int lane = static_cast<int>(threadIdx.x % 32), r = lane / 4, c = lane % 4;
  const int n_words = m.words_in(), groups = m.link.groups();
  const int left = static_cast<int>(m.link.product.rows.n_steps) - first;
  const uint32_t* const low_words = r < left ? words + (first + r) * n_words : nullptr;
  const uint32_t* const high_words = r + 8 < left ? words + (first + r + 8) * n_words : nullptr;
  for (int group = static_cast<int>(threadIdx.x / 32); group < groups; group += n_warps) {
    int32_t sums[3][4] = {};
    constexpr int plane_bytes = 8 * operations::right_bytes;
    const unsigned char* fragment = m.planes + group / 8 * m.link.of_columns() + group % 8 * operations::right_bytes;
#pragma unroll 4
    for (int word = 0; word < n_words; ++word) {
      const uint32_t low = low_words ? low_words[word] : 0, high = high_words ? high_words[word] : 0;
      const uint32_t spikes[4] = {spread(low, c, 0), spread(high, c, 0), spread(low, c, 1), spread(high, c, 1)};
      multiply<false, false>(sums[0], spikes, right_part(fragment));
      multiply<false, false>(sums[1], spikes, right_part(fragment + plane_bytes));
      multiply<false, true>(sums[2], spikes, right_part(fragment + 2 * plane_bytes));
      fragment += 3 * plane_bytes;
    }
    const int n = group * 8 + 2 * c;
    const float scales[2] = {power_of_two(m.grid[n]), power_of_two(m.grid[n + 1])};
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int t = r + 8 * half;
      float found[2];
#pragma unroll
      for (int q = 0; q < 2; ++q) {
        const int32_t planes[3] = {sums[0][2 * half + q], sums[1][2 * half + q], sums[2][2 * half + q]};
        found[q] = counts ? from_grid(sum_of_planes(planes) + m.bias[n + q], scales[q]) : 0.0f;
      }
      *reinterpret_cast<float2*>(x + t * x_pitch + n) = make_float2(found[0], found[1]);
      if (!m.link.keeps_x || t >= left) continue;
      float* const output = m.link.product.output.row({first + t, b}) + n;
      if (n < m.n_neurons()) output[0] = found[0];
      if (n + 1 < m.n_neurons()) output[1] = found[1];
    }
  }
}

// ---- neurons --------------------------------------------------------------------------------------------------------

template <class Model>
__device__ __forceinline__ void walk(const LinkMemory& m, int64_t b, int first, const float* x, int x_pitch,
                                     uint32_t* words) {
  constexpr int n_constants = first_model_constant + Model::n_constants;
  constexpr bool two_variables = Model::n_states == 2;
  const auto& pass = m.link.pass;
  const int n_neurons = m.n_neurons(), n_words = m.words_out();
  const bool exists = static_cast<int>(threadIdx.x) < n_neurons;
  const int n = exists ? static_cast<int>(threadIdx.x) : n_neurons - 1;
  const int64_t row = pass.extents.row(), element = b * n_neurons + n;
  float constants[n_constants];
#pragma unroll
  for (int k = 0; k < n_constants; ++k)
    constants[k] = m.parameters.per_neuron ? m.parameters.per_neuron[static_cast<int64_t>(k) * n_neurons + n]
                                           : m.parameters.shared[k];
  const Rules rules = pass.rules;
  State<float> state = {exists ? m.v[n] : 0.0f, {two_variables && exists ? m.w[n] : 0.0f}};
  if (pass.tape && first % checkpoint_interval == 0 && exists) {
    float* const place = pass.tape + first / checkpoint_interval * Model::n_states * row + element;
    place[0] = state.v;
    if constexpr (two_variables) place[row] = state.w[0];
  }
  const int64_t left = pass.extents.n_steps - first;
  const int n_steps = left < stack_steps ? static_cast<int>(left) : stack_steps;
  float* v_out = static_cast<float*>(pass.v_seq.data) + first * pass.v_seq.pitch + element;
  const int64_t v_pitch = pass.v_seq.pitch;
  const bool writes_v = pass.v_seq && exists;
  uint32_t word = 0;  // of the step that is this lane's number
#pragma unroll 4
  for (int u = 0; u < n_steps; ++u) {
    const float input = x[u * x_pitch + n];
    const float h = charge<Model>(constants, state, input);
    const bool spike = fires<Model>(constants, h);
    state = advance<Model>(constants, rules, state, input, h, spike);
    if constexpr (!never_fires<Model>) {
      const uint32_t bits = __ballot_sync(0xFFFFFFFFu, spike && exists);
      if (static_cast<int>(threadIdx.x % 32) == u) word = bits;
    }
    if (writes_v) *v_out = state.v;
    v_out += v_pitch;
  }
  if constexpr (!never_fires<Model>) {
    const int u = static_cast<int>(threadIdx.x % 32), in_row = static_cast<int>(threadIdx.x / 32);
    if (u < n_steps && pass.spike_bits) {
      words[(first + u) * n_words + in_row] = word;
      pass.spike_bits.data[(first + u) * pass.spike_bits.pitch + b * n_words + in_row] = word;
    }
  }
  if (!exists) return;
  m.v[n] = state.v;
  if constexpr (two_variables) m.w[n] = state.w[0];
  if (first + n_steps < pass.extents.n_steps) return;
  if (pass.v_out) pass.v_out[element] = state.v;
  if (pass.v_final) pass.v_final[element] = state.v;
  if constexpr (two_variables) {
    if (pass.w_out[0]) pass.w_out[0][element] = state.w[0];
    if (pass.w_final[0]) pass.w_final[0][element] = state.w[0];
  }
}

#endif
#endif

__global__ void __launch_bounds__(stack_threads) stack(const __grid_constant__ StackLaunch launch) {
  wait_for_previous();
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
  extern __shared__ __align__(16) unsigned char shared[];
  __shared__ bool row_counts[most_stack_links];
  const int64_t b = blockIdx.x;
  const auto thread = static_cast<int>(threadIdx.x);
  uint32_t* const buffers[2] = {reinterpret_cast<uint32_t*>(shared + launch.words),
                                reinterpret_cast<uint32_t*>(shared + launch.words + launch.words_bytes)};
  float* const x = reinterpret_cast<float*>(shared + launch.x);
  const auto n_steps = static_cast<int>(launch.links[0].product.rows.n_steps);

  for (int i = thread; i < n_steps * static_cast<int>(launch.links[0].product.bits.length); i += stack_threads)
    copy4(buffers[0] + i, input_word(launch.links[0].product, b, i), true);
  for (int i = 0; i < launch.n_links; ++i) request_neurons(LinkMemory(launch, i, shared), b);
  request_planes(LinkMemory(launch, 0, shared));
  commit_copies();
  for (int i = 1; i < launch.n_links; ++i) request_planes(LinkMemory(launch, i, shared));
  commit_copies();
  if (thread < launch.n_links) row_counts[thread] = b < launch.links[thread].product.rows.active();
  wait_copies<1>();
  __syncthreads();

  bool is_current = true;  // the link's words in shared memory
  for (int i = 0; i < launch.n_links; ++i) {
    const LinkMemory m(launch, i, shared);
    uint32_t *const in = buffers[i % 2], *const out = buffers[(i + 1) % 2];
    if (!is_current) {
      for (int k = thread; k < n_steps * m.words_in(); k += stack_threads) in[k] = *input_word(m.link.product, b, k);
    }
    if (i == 1) wait_copies<0>();
    if (i > 0) __syncthreads();
    const bool runs = b * m.n_neurons() < m.parameters.active, counts = row_counts[i];
    for (int first = 0; first < n_steps; first += stack_steps) {
      multiply_spikes(m, in, b, first, counts, x, launch.x_pitch);
      __syncthreads();
      if (runs && thread / 32 * 32 < m.n_neurons())
        visit_anywhere(Models{}, m.link.model, [&](auto entry) {
          using Model = typename decltype(entry)::type;
          if constexpr (Model::n_states <= 2 && is_same<Model, typename decltype(entry)::dynamics> &&
                        !AdaptsThreshold<Model>)
            walk<Model>(m, b, first, x, launch.x_pitch, out);
        });
      __syncthreads();
    }
    // A row that does not run keeps its spikes.
    is_current = i + 1 < launch.n_links && launch.links[i + 1].follows && runs;
  }
#endif
}

}  // namespace

const void* stack_kernel() {
  return address(stack);
}

}  // namespace synfire::cuda
