// The FPTT kernel.
#ifndef SYNFIRE_CUDA_FORWARD_CUH
#define SYNFIRE_CUDA_FORWARD_CUH

#include "kernels.cuh"

namespace synfire::cuda {
namespace {

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
  static constexpr bool two_variables = Model::n_states == 2;
  static_assert(checkpoint_interval % ahead == 0);

  __device__ __forceinline__ ForwardThread(const ForwardLaunch<R>& launch, const Position& at)
      : a_(launch.arguments),
        at_(at),
        constants_(*a_.parameters, a_.extents, at),
        row_(a_.extents.row()),
        x_next_(a_.x + at.element),
        element_(at.element) {
    v_ = load<W>(a_.v_in + at.element);
    w_ = {};
    if constexpr (two_variables) w_ = load<W>(a_.w_in + at.element);
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
    if constexpr (two_variables) {
      if (a_.w_out) store<W>(a_.w_out + at_.element, w_);
      if (a_.w_final) store<W>(a_.w_final + at_.element, w_);
    }
  }

 private:
  __device__ __forceinline__ Vector<R, W> next_x() {
    const Vector<R, W> x = load<W>(x_next_);
    x_next_ += row_;
    return x;
  }

  __device__ __forceinline__ void checkpoint(int64_t t) const {
    if (!a_.tape || t % checkpoint_interval != 0 || !at_.writes) return;
    R* const place = a_.tape + t / checkpoint_interval * Model::n_states * row_ + at_.element;
    store<W>(place, v_);
    if constexpr (two_variables) store<W>(place + row_, w_);
  }

  __device__ __forceinline__ void step(const Vector<R, W>& x) {
    Vector<R, W> h, s;
    u32 bits = 0;
#pragma unroll
    for (int w = 0; w < W; ++w) {
      const State<R> before = {v_.e[w], w_.e[w]};
      h.e[w] = charge<Model>(constants_[w], before, x.e[w]);
      const bool spike = fires(constants_[w], h.e[w]);
      bits |= static_cast<u32>(spike) << w;
      s.e[w] = spike ? R(1) : R(0);
      const State<R> after = advance<Model>(constants_[w], a_.rules, before, h.e[w], spike);
      v_.e[w] = after.v;
      w_.e[w] = after.w;
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
        if constexpr (two_variables)
          if (a_.w_seq) store<W>(a_.w_seq + element_, w_);
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
  Vector<R, W> v_, w_;
};

template <class Model, class R, int W, ForwardOutputs Outputs>
__global__ void __launch_bounds__(threads_per_block) forward(const __grid_constant__ ForwardLaunch<R> launch) {
  if (launch.lanes.count == 0) return;
  const Position at = position<W>(launch.lanes, launch.arguments.extents);
  if (launch.arguments.parameters->per_neuron) ForwardThread<Model, R, W, true, Outputs>(launch, at).run();
  else ForwardThread<Model, R, W, false, Outputs>(launch, at).run();
}

}  // namespace

template <class R>
const void* forward_kernel(int32_t model, int width, ForwardOutputs outputs) {
  const void* found = nullptr;
  visit(Models{}, model, [&](auto entry) {
    using Model = typename decltype(entry)::dynamics;
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

}  // namespace synfire::cuda

#endif
