// FPTT and BPTT kernels: one thread owns a few neighbouring neurons over all of T, the state stays in registers, rows of
// the input are loaded several steps ahead. The mathematics is that of model/, the same text the host compiles.
#include "kernels.hpp"

#include <synfire/model/models.hpp>

namespace synfire::cuda {
namespace {

using namespace synfire::model;

// ---- vectors of W neighbouring elements ------------------------------------------------------------------------------

template <class R, int W>
struct alignas(sizeof(R) * W) Vector {
  R e[W];
};

template <int W, class R>
__device__ __forceinline__ Vector<R, W> load(const R* at) {
  return *reinterpret_cast<const Vector<R, W>*>(at);
}
template <int W, class R>
__device__ __forceinline__ void store(R* at, const Vector<R, W>& value) {
  *reinterpret_cast<Vector<R, W>*>(at) = value;
}

// ---- which neurons a thread owns -------------------------------------------------------------------------------------

struct Position {
  bool active;
  int64_t element;  // in a row [B, N]
  int64_t neuron;   // in its batch row
  int64_t lane;
};

template <int W>
__device__ __forceinline__ Position position(const Lanes& lanes, const core::Extents& extents) {
  const int64_t lane = (static_cast<int64_t>(blockIdx.x) * threads_per_block + threadIdx.x) * W;
  if (lanes.padded_neurons == 0) return {lane < lanes.count, lane, lane % extents.n_neurons, lane};
  const int64_t row = lane / lanes.padded_neurons;
  const int64_t neuron = lane - row * lanes.padded_neurons;
  return {lane < lanes.count && neuron < extents.n_neurons, row * extents.n_neurons + neuron, neuron, lane};
}

// The constants of a thread's neurons: one set for all of them, or one each.
template <class R, int Count, int W, bool PerNeuron>
struct Constants {
  static constexpr int sets = PerNeuron ? W : 1;
  R values[sets][Count];

  __device__ __forceinline__ Constants(const core::ParameterBlock<R>& block, const core::Extents& extents,
                                       const Position& at) {
#pragma unroll
    for (int w = 0; w < sets; ++w) {
      // A vector may run over the end of a batch row into the next one's first neuron.
      const int64_t neuron = at.neuron + w < extents.n_neurons ? at.neuron + w : (at.neuron + w) % extents.n_neurons;
#pragma unroll
      for (int k = 0; k < Count; ++k)
        values[w][k] = PerNeuron ? (at.active ? block.per_neuron[k * extents.n_neurons + neuron] : R(0)) : block.shared[k];
    }
  }
  __device__ __forceinline__ const R* operator[](int w) const { return values[PerNeuron ? w : 0]; }
};

// ---- forward ---------------------------------------------------------------------------------------------------------

// Rows of input in flight per thread: a chain of T dependent steps hides the memory's latency only by loading ahead.
template <int W>
inline constexpr int forward_ahead = W == 1 ? 16 : 8;

// The packed word of a group of 32/W lanes, complete in the group's first lane.
template <int W>
__device__ __forceinline__ u32 gather_bits(u32 own_bits) {
  if constexpr (W == 1) return __ballot_sync(0xFFFFFFFFu, own_bits);
  constexpr u32 group = 32 / W;
  u32 word = own_bits << ((threadIdx.x % group) * W);
#pragma unroll
  for (u32 distance = 1; distance < group; distance *= 2) word |= __shfl_xor_sync(0xFFFFFFFFu, word, distance);
  return word;
}

template <class Model, class R, int W, bool PerNeuron>
__device__ __forceinline__ void forward_through_time(const ForwardLaunch<R>& launch, const Position& at) {
  constexpr int ahead = forward_ahead<W>;
  const auto& a = launch.arguments;
  const Constants<R, first_model_constant + Model::n_constants, W, PerNeuron> constants(*a.parameters, a.extents, at);
  const int64_t n_steps = a.extents.n_steps;
  const int64_t row = a.extents.row();
  const Rules rules = a.rules;

  Vector<R, W> v = {};
  if (at.active) v = load<W>(a.v_in + at.element);

  const R* x_next = a.x + at.element;  // the row to load next
  Vector<R, W> x[ahead];
#pragma unroll
  for (int u = 0; u < ahead; ++u)
    if (at.active && u < n_steps) {
      x[u] = load<W>(x_next);
      x_next += row;
    }

  constexpr int lanes_per_word = 32 / W;
  const bool writes_word = threadIdx.x % lanes_per_word == 0 && at.lane < launch.lanes.count;
  uint32_t* word_at = a.spike_bits ? a.spike_bits + at.lane / 32 : nullptr;
  int64_t offset = at.element;

  for (int64_t t0 = 0; t0 < n_steps; t0 += ahead) {
    if (at.active && a.tape && t0 % checkpoint_interval == 0)
      store<W>(a.tape + t0 / checkpoint_interval * row + at.element, v);
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      const int64_t t = t0 + u;
      if (t < n_steps) {
        const Vector<R, W> now = x[u];
        if (at.active && t + ahead < n_steps) {
          x[u] = load<W>(x_next);
          x_next += row;
        }
        Vector<R, W> h, s;
        u32 bits = 0;
#pragma unroll
        for (int w = 0; w < W; ++w) {
          h.e[w] = charge<Model>(constants[w], v.e[w], now.e[w]);
          const bool spike = fires(constants[w], h.e[w]);
          bits |= static_cast<u32>(spike) << w;
          s.e[w] = spike ? R(1) : R(0);
          v.e[w] = reset(constants[w], rules, h.e[w], spike);
        }
        if (word_at) {
          const u32 word = gather_bits<W>(at.active ? bits : 0);
          if (writes_word) *word_at = word;
          word_at += launch.lanes.words_per_step;
        }
        if (at.active) {
          if (a.spikes) store<W>(a.spikes + offset, s);
          if (a.h_seq) store<W>(a.h_seq + offset, h);
          if (a.v_seq) store<W>(a.v_seq + offset, v);
        }
        offset += row;
      }
    }
  }
  if (!at.active) return;
  if (a.v_out) store<W>(a.v_out + at.element, v);
  if (a.v_final) store<W>(a.v_final + at.element, v);
}

template <class Model, class R, int W>
__global__ void __launch_bounds__(threads_per_block) forward(const __grid_constant__ ForwardLaunch<R> launch) {
  static_assert(checkpoint_interval % forward_ahead<W> == 0);
  if (launch.lanes.count == 0) return;
  const Position at = position<W>(launch.lanes, launch.arguments.extents);
  if (launch.arguments.parameters->per_neuron) forward_through_time<Model, R, W, true>(launch, at);
  else forward_through_time<Model, R, W, false>(launch, at);
}

// ---- backward --------------------------------------------------------------------------------------------------------

inline constexpr int backward_ahead = 8;

template <class Model, class Surrogate, class R, int W, bool PerNeuron>
__device__ __forceinline__ void backward_through_time(const BackwardLaunch<R>& launch, const Position& at,
                                                      Vector<R, W>* h_of_interval) {
  constexpr int ahead = backward_ahead;
  const auto& a = launch.arguments;
  const Constants<R, first_surrogate_constant<Model> + Surrogate::n_constants, W, PerNeuron> constants(
      *a.parameters, a.extents, at);
  const int64_t n_steps = a.extents.n_steps;
  const int64_t row = a.extents.row();
  const Rules rules = a.rules;
  h_of_interval += threadIdx.x;  // [step][thread]: neighbouring threads, neighbouring banks

  Vector<R, W> carried = {};
  if (a.grad_v_final) carried = load<W>(a.grad_v_final + at.element);

  for (int64_t interval = (n_steps - 1) / checkpoint_interval; interval >= 0; --interval) {
    const int64_t first = interval * checkpoint_interval;
    const int length = n_steps - first < checkpoint_interval ? static_cast<int>(n_steps - first) : checkpoint_interval;
    const Vector<R, W> v_start = load<W>(a.tape + interval * row + at.element);

    // Incoming spike gradients of the last steps, loaded while H is recomputed.
    Vector<R, W> grad_spike[ahead] = {};
    const R* grad_spike_next = a.grad_spike ? a.grad_spike + (first + length - 1) * row + at.element : nullptr;
    if (grad_spike_next) {
#pragma unroll
      for (int u = 0; u < ahead; ++u)
        if (u < length) {
          grad_spike[u] = load<W>(grad_spike_next);
          grad_spike_next -= row;
        }
    }

    {
      Vector<R, W> v = v_start, x[ahead];
      const R* x_next = a.x + first * row + at.element;
#pragma unroll
      for (int u = 0; u < ahead; ++u)
        if (u < length) {
          x[u] = load<W>(x_next);
          x_next += row;
        }
      for (int s0 = 0; s0 < length; s0 += ahead) {
#pragma unroll
        for (int u = 0; u < ahead; ++u) {
          const int s = s0 + u;
          if (s < length) {
            const Vector<R, W> now = x[u];
            if (s + ahead < length) {
              x[u] = load<W>(x_next);
              x_next += row;
            }
            Vector<R, W> h;
#pragma unroll
            for (int w = 0; w < W; ++w) {
              h.e[w] = charge<Model>(constants[w], v.e[w], now.e[w]);
              v.e[w] = reset(constants[w], rules, h.e[w], fires(constants[w], h.e[w]));
            }
            h_of_interval[s * threads_per_block] = h;
          }
        }
      }
    }

    int64_t offset = (first + length - 1) * row + at.element;
    Vector<R, W> h = h_of_interval[(length - 1) * threads_per_block];
    for (int s0 = length - 1; s0 >= 0; s0 -= ahead) {
#pragma unroll
      for (int u = 0; u < ahead; ++u) {
        const int s = s0 - u;
        if (s >= 0) {
          const Vector<R, W> grad_s = grad_spike[u];
          if (grad_spike_next && s - ahead >= 0) {
            grad_spike[u] = load<W>(grad_spike_next);
            grad_spike_next -= row;
          }
          Vector<R, W> grad_v = {};
          if (a.grad_v_seq) grad_v = load<W>(a.grad_v_seq + offset);
          const Vector<R, W> x = load<W>(a.x + offset);  // read by models whose slope depends on the input, else dropped
          Vector<R, W> h_before = {}, grad_x;
          if (s > 0) h_before = h_of_interval[(s - 1) * threads_per_block];
#pragma unroll
          for (int w = 0; w < W; ++w) {
            const R v_before =
                s > 0 ? reset(constants[w], rules, h_before.e[w], fires(constants[w], h_before.e[w])) : v_start.e[w];
            const StepGradient<R> g = backward_step<Model, Surrogate>(
                constants[w], rules, v_before, x.e[w], h.e[w], grad_s.e[w], grad_v.e[w] + carried.e[w]);
            grad_x.e[w] = g.x;
            carried.e[w] = g.v_before;
          }
          if (a.grad_x) store<W>(a.grad_x + offset, grad_x);
          h = h_before;
          offset -= row;
        }
      }
    }
  }
  if (a.grad_v_init) store<W>(a.grad_v_init + at.element, carried);
}

template <class Model, class Surrogate, class R, int W>
__global__ void __launch_bounds__(threads_per_block) backward(const __grid_constant__ BackwardLaunch<R> launch) {
  extern __shared__ __align__(16) unsigned char shared[];
  if (launch.lanes.count == 0) return;
  const Position at = position<W>(launch.lanes, launch.arguments.extents);
  if (!at.active) return;
  auto* h = reinterpret_cast<Vector<R, W>*>(shared);
  if (launch.arguments.parameters->per_neuron) backward_through_time<Model, Surrogate, R, W, true>(launch, at, h);
  else backward_through_time<Model, Surrogate, R, W, false>(launch, at, h);
}

// ---- small ones ------------------------------------------------------------------------------------------------------

template <class R>
__global__ void __launch_bounds__(threads_per_block) reset_state(const __grid_constant__ ResetStateLaunch<R> launch) {
  const auto& a = launch.arguments;
  const int64_t n = a.extents.n_neurons, row = a.extents.row();
  const int64_t stride = static_cast<int64_t>(gridDim.x) * threads_per_block;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * threads_per_block + threadIdx.x; i < row; i += stride) {
    const R v_reset = a.parameters->per_neuron ? a.parameters->per_neuron[constant_v_reset * n + i % n]
                                               : a.parameters->shared[constant_v_reset];
    a.v[i] = a.rules.soft_reset ? R(0) : v_reset;
  }
}

template <class E>
__global__ void __launch_bounds__(threads_per_block) fill(const __grid_constant__ FillLaunch<E> launch) {
  const int64_t stride = static_cast<int64_t>(gridDim.x) * threads_per_block;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * threads_per_block + threadIdx.x; i < launch.count; i += stride)
    launch.data[i] = launch.value;
}

__global__ void __launch_bounds__(threads_per_block) write_small(const __grid_constant__ WriteSmallLaunch launch) {
  for (int i = static_cast<int>(threadIdx.x); i < launch.bytes; i += threads_per_block)
    launch.destination[i] = launch.source[i];
}

__global__ void signal(const __grid_constant__ SignalLaunch launch) {
  if (!launch.count) return;
  const uint64_t count = *launch.count + 1;
  *launch.count = count;
  // Results that kernels before this one wrote to mapped host memory are visible before the count is.
  __threadfence_system();
  *static_cast<volatile uint64_t*>(launch.published) = count;
}

template <class Kernel>
const void* address(Kernel* kernel) {
  return reinterpret_cast<const void*>(kernel);
}

}  // namespace

// ---- instances -------------------------------------------------------------------------------------------------------

template <class R>
const void* forward_kernel(int32_t model, int width) {
  const void* found = nullptr;
  visit(Models{}, model, [&](auto entry) {
    using Model = typename decltype(entry)::type;
    if (width == forward_width<R>) found = address(forward<Model, R, forward_width<R>>);
    else if (width == 1) found = address(forward<Model, R, 1>);
  });
  return found;
}

template <class R>
const void* backward_kernel(int32_t model, int32_t surrogate, int width) {
  const void* found = nullptr;
  visit(Models{}, model, [&](auto model_entry) {
    visit(Surrogates{}, surrogate, [&](auto surrogate_entry) {
      using Model = typename decltype(model_entry)::type;
      using Surrogate = typename decltype(surrogate_entry)::type;
      if (width == backward_width<R>) found = address(backward<Model, Surrogate, R, backward_width<R>>);
      else if (width == 1) found = address(backward<Model, Surrogate, R, 1>);
    });
  });
  return found;
}

template <class R>
const void* reset_state_kernel() {
  return address(reset_state<R>);
}
template <class E>
const void* fill_kernel() {
  return address(fill<E>);
}
const void* write_small_kernel() { return address(write_small); }
const void* signal_kernel() { return address(signal); }

template const void* forward_kernel<float>(int32_t, int);
template const void* forward_kernel<double>(int32_t, int);
template const void* backward_kernel<float>(int32_t, int32_t, int);
template const void* backward_kernel<double>(int32_t, int32_t, int);
template const void* reset_state_kernel<float>();
template const void* reset_state_kernel<double>();
template const void* fill_kernel<float>();
template const void* fill_kernel<double>();
template const void* fill_kernel<uint32_t>();

}  // namespace synfire::cuda
