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

// Threads without neurons of their own read those of the last thread that has some and write nothing: they take part in
// warp votes, and no load needs a condition.
struct Position {
  bool writes;
  int64_t element;  // first own element in a row [B, N]
  int64_t lane;     // first own lane, which says where packed bits go
};

template <int W>
__device__ __forceinline__ Position position(const Lanes& lanes, const core::Extents& extents) {
  const int64_t lane = (static_cast<int64_t>(blockIdx.x) * threads_per_block + threadIdx.x) * W;
  if (lanes.padded_neurons == 0) {
    const bool inside = lane < lanes.count;
    return {inside, inside ? lane : lanes.count - W, lane};
  }
  const int64_t row = lane / lanes.padded_neurons;
  const int64_t neuron = lane - row * lanes.padded_neurons;
  const bool inside = lane < lanes.count && neuron < extents.n_neurons;
  return {inside, inside ? row * extents.n_neurons + neuron : 0, lane};
}

// The constants of a thread's neurons: one set for all of them, or one each.
template <class R, int Count, int W, bool PerNeuron>
struct Constants {
  static constexpr int sets = PerNeuron ? W : 1;
  R values[sets][Count];

  __device__ __forceinline__ Constants(const core::ParameterBlock<R>& block, const core::Extents& extents,
                                       const Position& at) {
#pragma unroll
    for (int w = 0; w < sets; ++w)
#pragma unroll
      for (int k = 0; k < Count; ++k)
        // A vector may run over the end of a batch row into the first neurons of the next one.
        values[w][k] = PerNeuron ? block.per_neuron[k * extents.n_neurons + (at.element + w) % extents.n_neurons]
                                 : block.shared[k];
  }
  __device__ __forceinline__ const R* operator[](int w) const { return values[PerNeuron ? w : 0]; }
};

// ---- forward ---------------------------------------------------------------------------------------------------------

// Rows of input in flight per thread: a chain of T dependent steps hides the memory's latency only by loading ahead.
template <int W>
inline constexpr int forward_ahead = W == 1 ? 16 : 8;

// The packed word of a group of 32/W lanes, complete in every lane of the group.
template <int W>
__device__ __forceinline__ u32 gather_bits(u32 own_bits) {
  if constexpr (W == 1) {
    return __ballot_sync(0xFFFFFFFFu, own_bits);
  } else {
    constexpr u32 group = 32 / W;
    u32 word = own_bits << ((threadIdx.x % group) * W);
#pragma unroll
    for (u32 distance = 1; distance < group; distance *= 2) word |= __shfl_xor_sync(0xFFFFFFFFu, word, distance);
    return word;
  }
}

// One thread's neurons, step by step.
template <class Model, class R, int W, bool PerNeuron, ForwardOutputs Outputs>
class ForwardThread {
 public:
  static constexpr int ahead = forward_ahead<W>;
  static_assert(checkpoint_interval % ahead == 0);

  __device__ __forceinline__ ForwardThread(const ForwardLaunch<R>& launch, const Position& at)
      : a_(launch.arguments),
        at_(at),
        constants_(*a_.parameters, a_.extents, at),
        row_(a_.extents.row()),
        x_next_(a_.x + at.element),
        element_(at.element) {
    v_ = load<W>(a_.v_in + at.element);
    if constexpr (Outputs != ForwardOutputs::dense) {
      word_ = a_.spike_bits ? a_.spike_bits + at.lane / 32 : nullptr;
      writes_word_ = word_ && threadIdx.x % (32 / W) == 0 && at.lane < launch.lanes.count;
      words_per_step_ = launch.lanes.words_per_step;
    }
  }

  __device__ __forceinline__ void run() {
    const int64_t n_steps = a_.extents.n_steps;
    Vector<R, W> x[ahead];
#pragma unroll
    for (int u = 0; u < ahead; ++u)
      if (u < n_steps) x[u] = next_x();

    int64_t t = 0;
    for (; t + 2 * ahead <= n_steps; t += ahead) {
      checkpoint(t);
#pragma unroll
      for (int u = 0; u < ahead; ++u) {
        const Vector<R, W> now = x[u];
        x[u] = next_x();
        step(now);
      }
    }
    for (; t < n_steps; t += ahead) {
      checkpoint(t);
#pragma unroll
      for (int u = 0; u < ahead; ++u)
        if (t + u < n_steps) {
          const Vector<R, W> now = x[u];
          if (t + u + ahead < n_steps) x[u] = next_x();
          step(now);
        }
    }
    if (!at_.writes) return;
    if (a_.v_out) store<W>(a_.v_out + at_.element, v_);
    if (a_.v_final) store<W>(a_.v_final + at_.element, v_);
  }

 private:
  __device__ __forceinline__ Vector<R, W> next_x() {
    const Vector<R, W> x = load<W>(x_next_);
    x_next_ += row_;
    return x;
  }

  __device__ __forceinline__ void checkpoint(int64_t t) const {
    if (a_.tape && t % checkpoint_interval == 0 && at_.writes)
      store<W>(a_.tape + t / checkpoint_interval * row_ + at_.element, v_);
  }

  __device__ __forceinline__ void step(const Vector<R, W>& x) {
    Vector<R, W> h, s;
    u32 bits = 0;
#pragma unroll
    for (int w = 0; w < W; ++w) {
      h.e[w] = charge<Model>(constants_[w], v_.e[w], x.e[w]);
      const bool spike = fires(constants_[w], h.e[w]);
      bits |= static_cast<u32>(spike) << w;
      s.e[w] = spike ? R(1) : R(0);
      v_.e[w] = reset(constants_[w], a_.rules, h.e[w], spike);
    }
    if constexpr (Outputs == ForwardOutputs::bits) write_word(bits);
    if constexpr (Outputs == ForwardOutputs::dense) {
      if (at_.writes) store<W>(a_.spikes + element_, s);
    }
    if constexpr (Outputs == ForwardOutputs::any) {
      if (a_.spike_bits) write_word(bits);
      if (at_.writes) {
        if (a_.spikes) store<W>(a_.spikes + element_, s);
        if (a_.h_seq) store<W>(a_.h_seq + element_, h);
        if (a_.v_seq) store<W>(a_.v_seq + element_, v_);
      }
    }
    element_ += row_;
  }

  __device__ __forceinline__ void write_word(u32 bits) {
    const u32 word = gather_bits<W>(at_.writes ? bits : 0);
    if (writes_word_) *word_ = word;
    word_ += words_per_step_;
  }

  const core::ForwardArguments<R>& a_;
  const Position at_;
  const Constants<R, first_model_constant + Model::n_constants, W, PerNeuron> constants_;
  const int64_t row_;
  const R* x_next_;
  int64_t element_;  // of the step to write
  uint32_t* word_ = nullptr;
  int64_t words_per_step_ = 0;
  bool writes_word_ = false;
  Vector<R, W> v_;
};

template <class Model, class R, int W, ForwardOutputs Outputs>
__global__ void __launch_bounds__(threads_per_block) forward(const __grid_constant__ ForwardLaunch<R> launch) {
  if (launch.lanes.count == 0) return;
  const Position at = position<W>(launch.lanes, launch.arguments.extents);
  if (launch.arguments.parameters->per_neuron) ForwardThread<Model, R, W, true, Outputs>(launch, at).run();
  else ForwardThread<Model, R, W, false, Outputs>(launch, at).run();
}

// ---- backward --------------------------------------------------------------------------------------------------------

inline constexpr int backward_ahead = 8;

// One thread's neurons, backward through time: interval by interval, H is recomputed from the checkpoint into shared
// memory and then walked in reverse.
template <class Model, class Surrogate, class R, int W, bool PerNeuron, BackwardInputs Inputs>
class BackwardThread {
 public:
  static constexpr int ahead = backward_ahead;

  __device__ __forceinline__ BackwardThread(const BackwardLaunch<R>& launch, const Position& at, Vector<R, W>* shared)
      : a_(launch.arguments),
        element_(at.element),
        constants_(*a_.parameters, a_.extents, at),
        row_(a_.extents.row()),
        h_(shared + threadIdx.x) {
    carried_ = {};
    if (a_.grad_v_final) carried_ = load<W>(a_.grad_v_final + at.element);
  }

  __device__ __forceinline__ void run() {
    const int64_t n_steps = a_.extents.n_steps;
    for (int64_t interval = (n_steps - 1) / checkpoint_interval; interval >= 0; --interval) {
      const int64_t first = interval * checkpoint_interval;
      const int length = n_steps - first < checkpoint_interval ? static_cast<int>(n_steps - first) : checkpoint_interval;
      v_start_ = load<W>(a_.tape + interval * row_ + element_);
      offset_ = (first + length - 1) * row_ + element_;
      grad_spike_next_ = a_.grad_spike + offset_;

      // Incoming gradients of the last steps, on their way while H is recomputed.
      Vector<R, W> grad_spike[ahead];
#pragma unroll
      for (int u = 0; u < ahead; ++u) grad_spike[u] = u < length ? next_grad_spike() : Vector<R, W>{};

      recompute(a_.x + first * row_ + element_, length);

      h_now_ = h_[(length - 1) * threads_per_block];
      int s = length - 1;
      for (; s + 1 >= 2 * ahead; s -= ahead) {
#pragma unroll
        for (int u = 0; u < ahead; ++u) {
          const Vector<R, W> now = grad_spike[u];
          grad_spike[u] = next_grad_spike();
          step(now, s - u);
        }
      }
      for (; s >= 0; s -= ahead) {
#pragma unroll
        for (int u = 0; u < ahead; ++u)
          if (s - u >= 0) {
            const Vector<R, W> now = grad_spike[u];
            if (s - u - ahead >= 0) grad_spike[u] = next_grad_spike();
            step(now, s - u);
          }
      }
    }
    if (a_.grad_v_init) store<W>(a_.grad_v_init + element_, carried_);
  }

 private:
  __device__ __forceinline__ Vector<R, W> next_grad_spike() {
    if (Inputs == BackwardInputs::any && !a_.grad_spike) return {};
    const Vector<R, W> grad = load<W>(grad_spike_next_);
    grad_spike_next_ -= row_;
    return grad;
  }

  // H of the interval's steps into shared memory, [step][thread]: neighbouring threads use neighbouring banks.
  __device__ __forceinline__ void recompute(const R* x_next, int length) {
    const auto next_x = [&] {
      const Vector<R, W> x = load<W>(x_next);
      x_next += row_;
      return x;
    };
    Vector<R, W> v = v_start_, x[ahead];
    const auto step = [&](const Vector<R, W>& now, int s) {
      Vector<R, W> h;
#pragma unroll
      for (int w = 0; w < W; ++w) {
        h.e[w] = charge<Model>(constants_[w], v.e[w], now.e[w]);
        v.e[w] = reset(constants_[w], a_.rules, h.e[w], fires(constants_[w], h.e[w]));
      }
      h_[s * threads_per_block] = h;
    };
#pragma unroll
    for (int u = 0; u < ahead; ++u)
      if (u < length) x[u] = next_x();
    int s = 0;
    for (; s + 2 * ahead <= length; s += ahead) {
#pragma unroll
      for (int u = 0; u < ahead; ++u) {
        const Vector<R, W> now = x[u];
        x[u] = next_x();
        step(now, s + u);
      }
    }
    for (; s < length; s += ahead) {
#pragma unroll
      for (int u = 0; u < ahead; ++u)
        if (s + u < length) {
          const Vector<R, W> now = x[u];
          if (s + u + ahead < length) x[u] = next_x();
          step(now, s + u);
        }
    }
  }

  __device__ __forceinline__ void step(const Vector<R, W>& grad_spike, int s) {
    Vector<R, W> grad_v = {};
    if (Inputs == BackwardInputs::any && a_.grad_v_seq) grad_v = load<W>(a_.grad_v_seq + offset_);
    const Vector<R, W> x = load<W>(a_.x + offset_);  // read by models whose slope depends on the input, else dropped
    Vector<R, W> h_before = {}, grad_x;
    if (s > 0) h_before = h_[(s - 1) * threads_per_block];
#pragma unroll
    for (int w = 0; w < W; ++w) {
      const R v_before =
          s > 0 ? reset(constants_[w], a_.rules, h_before.e[w], fires(constants_[w], h_before.e[w])) : v_start_.e[w];
      const StepGradient<R> g = backward_step<Model, Surrogate>(constants_[w], a_.rules, v_before, x.e[w], h_now_.e[w],
                                                                grad_spike.e[w], grad_v.e[w] + carried_.e[w]);
      grad_x.e[w] = g.x;
      carried_.e[w] = g.v_before;
    }
    if (Inputs == BackwardInputs::spikes || a_.grad_x) store<W>(a_.grad_x + offset_, grad_x);
    h_now_ = h_before;
    offset_ -= row_;
  }

  const core::BackwardArguments<R>& a_;
  const int64_t element_;
  const Constants<R, first_surrogate_constant<Model> + Surrogate::n_constants, W, PerNeuron> constants_;
  const int64_t row_;
  Vector<R, W>* const h_;
  Vector<R, W> carried_, v_start_, h_now_;
  int64_t offset_;  // of the step to differentiate
  const R* grad_spike_next_;
};

template <class Model, class Surrogate, class R, int W, BackwardInputs Inputs>
__global__ void __launch_bounds__(threads_per_block) backward(const __grid_constant__ BackwardLaunch<R> launch) {
  extern __shared__ __align__(16) unsigned char shared[];
  if (launch.lanes.count == 0) return;
  const Position at = position<W>(launch.lanes, launch.arguments.extents);
  if (!at.writes) return;
  auto* h = reinterpret_cast<Vector<R, W>*>(shared);
  if (launch.arguments.parameters->per_neuron)
    BackwardThread<Model, Surrogate, R, W, true, Inputs>(launch, at, h).run();
  else
    BackwardThread<Model, Surrogate, R, W, false, Inputs>(launch, at, h).run();
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

// 16 bytes at a time, several on their way: a captured copy node runs at two thirds of this on an H200.
__global__ void __launch_bounds__(threads_per_block) copy(const __grid_constant__ CopyLaunch launch) {
  constexpr int ahead = 4;
  using Chunk = Vector<u32, 4>;
  const auto* source = static_cast<const Chunk*>(launch.source);
  auto* destination = static_cast<Chunk*>(launch.destination);
  const int64_t stride = static_cast<int64_t>(gridDim.x) * threads_per_block;
  int64_t i = static_cast<int64_t>(blockIdx.x) * threads_per_block + threadIdx.x;
  for (; i + (ahead - 1) * stride < launch.count; i += ahead * stride) {
    Chunk chunks[ahead];
#pragma unroll
    for (int u = 0; u < ahead; ++u) chunks[u] = source[i + u * stride];
#pragma unroll
    for (int u = 0; u < ahead; ++u) destination[i + u * stride] = chunks[u];
  }
  for (; i < launch.count; i += stride) destination[i] = source[i];
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

template <int W>
struct Width {
  static constexpr int value = W;
};

template <class Kernel>
const void* address(Kernel* kernel) {
  return reinterpret_cast<const void*>(kernel);
}

}  // namespace

// ---- instances -------------------------------------------------------------------------------------------------------

template <class R>
const void* forward_kernel(int32_t model, int width, ForwardOutputs outputs) {
  const void* found = nullptr;
  visit(Models{}, model, [&](auto entry) {
    using Model = typename decltype(entry)::type;
    const auto with_width = [&](auto w) {
      constexpr int W = decltype(w)::value;
      switch (outputs) {
        case ForwardOutputs::bits: found = address(forward<Model, R, W, ForwardOutputs::bits>); break;
        case ForwardOutputs::dense: found = address(forward<Model, R, W, ForwardOutputs::dense>); break;
        case ForwardOutputs::any: found = address(forward<Model, R, W, ForwardOutputs::any>); break;
      }
    };
    if (width == 1) with_width(Width<1>{});
    else if (width == forward_width<R>) with_width(Width<forward_width<R>>{});
  });
  return found;
}

template <class R>
const void* backward_kernel(int32_t model, int32_t surrogate, int width, BackwardInputs inputs) {
  const void* found = nullptr;
  visit(Models{}, model, [&](auto model_entry) {
    visit(Surrogates{}, surrogate, [&](auto surrogate_entry) {
      using Model = typename decltype(model_entry)::type;
      using Surrogate = typename decltype(surrogate_entry)::type;
      const auto with_width = [&](auto w) {
        constexpr int W = decltype(w)::value;
        found = inputs == BackwardInputs::spikes ? address(backward<Model, Surrogate, R, W, BackwardInputs::spikes>)
                                                 : address(backward<Model, Surrogate, R, W, BackwardInputs::any>);
      };
      if (width == 1) with_width(Width<1>{});
      else if (width == backward_width<R>) with_width(Width<backward_width<R>>{});
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
const void* copy_kernel() { return address(copy); }
const void* write_small_kernel() { return address(write_small); }
const void* signal_kernel() { return address(signal); }

template const void* forward_kernel<float>(int32_t, int, ForwardOutputs);
template const void* forward_kernel<double>(int32_t, int, ForwardOutputs);
template const void* backward_kernel<float>(int32_t, int32_t, int, BackwardInputs);
template const void* backward_kernel<double>(int32_t, int32_t, int, BackwardInputs);
template const void* reset_state_kernel<float>();
template const void* reset_state_kernel<double>();
template const void* fill_kernel<float>();
template const void* fill_kernel<double>();
template const void* fill_kernel<uint32_t>();

}  // namespace synfire::cuda
