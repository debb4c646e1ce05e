// The FPTT kernel.
#ifndef SYNFIRE_CUDA_FORWARD_CUH
#define SYNFIRE_CUDA_FORWARD_CUH

#include "kernels.cuh"

namespace synfire::cuda {
namespace {

// Rows of input in flight per thread: a chain of T dependent steps hides the memory's latency only by loading ahead. A
// thread with one neuron has at most 50 cycles of work per step, and a load takes 900 (H200): with 16 rows in flight,
// 1,024 neurons took 56 cycles per step; with 32 they take no longer than the arithmetic. Short sequences need whole
// chunks instead.
inline constexpr int forward_ahead = 8;
inline constexpr int deep_ahead = 32;
// Blocks per multiprocessor: 16-bit storage is faster with more warps (42.1 us against 42.7: f16, N = 2,097,152, T =
// 32).
template <class E, int W>
inline constexpr int forward_blocks_at_least = W > 1 && sizeof(E) == 2 ? 8 : 1;

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

// Time-packed words of one thread's neurons: bit t mod 32, written every 32 steps.
template <int W>
class TimeWords {
 public:
  TimeWords() = default;
  __device__ __forceinline__ TimeWords(const core::Words& words, int64_t element)
      : next_(words ? words.data + element : nullptr), step_(words.pitch) {}

  __device__ __forceinline__ explicit operator bool() const { return next_ != nullptr; }
  __device__ __forceinline__ void put(u32 spikes, bool writes) {
#pragma unroll
    for (int w = 0; w < W; ++w) words_.e[w] |= (spikes >> w & 1u) != 0 ? bit_ : 0u;
    bit_ <<= 1;
  }
  // Called between chunks of steps, which never straddle a word.
  __device__ __forceinline__ void finish_full(bool writes) {
    if (bit_ == 0) flush(writes);
  }
  // The last word, full or not.
  __device__ __forceinline__ void finish(bool writes) {
    if (bit_ != 1u) flush(writes);
  }

 private:
  __device__ __forceinline__ void flush(bool writes) {
    if (writes) store_words<W>(next_, words_);
    next_ += step_;
    words_ = {};
    bit_ = 1u;
  }

  u32* next_ = nullptr;
  int64_t step_ = 0;
  Vector<u32, W> words_ = {};
  u32 bit_ = 1u;
};

// One thread's neurons, step by step.
template <class Model, class E, int W, bool PerNeuron, ForwardOutputs Outputs, int Ahead = forward_ahead>
class ForwardThread {
 public:
  using R = Arithmetic<E>;
  using Input = Reader<E, W>;
  static constexpr int ahead = Ahead;
  static constexpr int n_further = n_further_states<Model>;
  static constexpr int rows_w = n_further > 0 ? n_further : 1;
  static constexpr bool any = Outputs == ForwardOutputs::any;
  static constexpr bool any_spikes = any && !never_fires<Model>;
  static_assert(checkpoint_interval % ahead == 0);

  __device__ __forceinline__ ForwardThread(const ForwardLaunch<R>& launch, const Position& at)
      : a_(launch.arguments),
        at_(at),
        constants_(*a_.parameters, a_.extents, at),
        row_(a_.extents.row()),
        x_(a_.x, 0, at.element, 1) {
    v_ = load<W>(a_.v_in + at.element);
    w_[0] = {};
#pragma unroll
    for (int k = 0; k < n_further; ++k) w_[k] = load<W>(a_.w_in[k] + at.element);
    if constexpr (Outputs == ForwardOutputs::bits || any_spikes) {
      word_ = a_.spike_bits ? a_.spike_bits.data + at.lane / 32 : nullptr;
      writes_word_ = word_ && threadIdx.x % (32 / W) == 0 && at.writes;  // a word's first neuron exists if it does
      words_per_step_ = a_.spike_bits.pitch;
    }
    if constexpr (Outputs == ForwardOutputs::time_bits || any_spikes)
      time_words_ = TimeWords<W>(a_.spike_time_bits, at.element);
    if constexpr (Outputs == ForwardOutputs::dense || any_spikes)
      if (a_.spikes) spikes_ = Writer<E, W>(a_.spikes, 0, at.element, 1);
    if constexpr (Outputs == ForwardOutputs::bytes || any_spikes)
      if (a_.spikes) bytes_ = ByteWriter<W>(a_.spikes, at.element);
    if constexpr (any_spikes) tape_spikes_ = TimeWords<W>(core::Words{a_.tape_spikes, row_}, at.element);
    if constexpr (any) {
      if (a_.h_seq) h_seq_ = Writer<E, W>(a_.h_seq, 0, at.element, 1);
      if (a_.tape_h) tape_h_ = Writer<E, W>(a_.tape_h, 0, at.element, 1);
#pragma unroll
      for (int k = 0; k < n_further; ++k)
        if (a_.w_seq[k]) w_seq_[k] = Writer<E, W>(a_.w_seq[k], 0, at.element, 1);
    }
    if constexpr (Outputs == ForwardOutputs::potential || any)
      if (a_.v_seq) v_seq_ = Writer<E, W>(a_.v_seq, 0, at.element, 1);
  }

  __device__ __forceinline__ void run() {
    const int64_t n_steps = a_.extents.n_steps;
    typename Input::Row x[ahead];
#pragma unroll
    for (int u = 0; u < ahead; ++u)
      if (u < n_steps) x[u] = x_.take();

    int64_t t = 0;
    for (; t + 2 * ahead <= n_steps; t += ahead) chunk<Chunk::loading>(x, t);
    if (t + ahead == n_steps)
      chunk<Chunk::last>(x, t);
    else
      for (; t < n_steps; t += ahead) chunk<Chunk::partial>(x, t);
    if constexpr (Outputs == ForwardOutputs::time_bits || any_spikes)
      if (time_words_) time_words_.finish(at_.writes);
    if constexpr (any_spikes)
      if (tape_spikes_) tape_spikes_.finish(at_.writes);
    if (!at_.writes) return;
    if (a_.v_out) store<W>(a_.v_out + at_.element, v_);
    if (a_.v_final) store<W>(a_.v_final + at_.element, v_);
#pragma unroll
    for (int k = 0; k < n_further; ++k) {
      if (a_.w_out[k]) store<W>(a_.w_out[k] + at_.element, w_[k]);
      if (a_.w_final[k]) store<W>(a_.w_final[k] + at_.element, w_[k]);
    }
  }

 private:
  // The next `ahead` steps: with as many loads after them, with none, or with each step and load checked for existence.
  enum class Chunk { loading, last, partial };

  template <Chunk Kind>
  __device__ __forceinline__ void chunk(typename Input::Row (&x)[ahead], int64_t t) {
    checkpoint(t);
#pragma unroll
    for (int u = 0; u < ahead; ++u) {
      if (Kind == Chunk::partial && t + u >= a_.extents.n_steps) continue;
      const typename Input::Row now = x[u];
      if (Kind == Chunk::loading || (Kind == Chunk::partial && t + u + ahead < a_.extents.n_steps)) x[u] = x_.take();
      step(x_.decoded(now));
    }
    if constexpr (Outputs == ForwardOutputs::time_bits || any_spikes)
      if (time_words_) time_words_.finish_full(at_.writes);
    if constexpr (any_spikes)
      if (tape_spikes_) tape_spikes_.finish_full(at_.writes);
  }

  __device__ __forceinline__ void checkpoint(int64_t t) const {
    if (!a_.tape || t % checkpoint_interval != 0 || !at_.writes) return;
    R* const place = a_.tape + t / checkpoint_interval * Model::n_states * row_ + at_.element;
    store<W>(place, v_);
#pragma unroll
    for (int k = 0; k < n_further; ++k) store<W>(place + (k + 1) * row_, w_[k]);
  }

  __device__ __forceinline__ void step(const Vector<R, W>& x) {
    Vector<R, W> h;
    u32 bits = 0;
#pragma unroll
    for (int w = 0; w < W; ++w) {
      StateOf<Model, R> before = {v_.e[w], {}};
#pragma unroll
      for (int k = 0; k < n_further; ++k) before.w[k] = w_[k].e[w];
      h.e[w] = charge<Model>(constants_[w], before, x.e[w]);
      const bool spike = fires<Model>(constants_[w], h.e[w]);
      bits |= static_cast<u32>(spike) << w;
      const StateOf<Model, R> after = advance<Model>(constants_[w], a_.rules, before, x.e[w], h.e[w], spike);
      v_.e[w] = after.v;
#pragma unroll
      for (int k = 0; k < n_further; ++k) w_[k].e[w] = after.w[k];
    }
    if constexpr (Outputs == ForwardOutputs::bits) write_word(bits);
    if constexpr (Outputs == ForwardOutputs::time_bits) time_words_.put(bits, at_.writes);
    if constexpr (Outputs == ForwardOutputs::dense) spikes_.put(dense(bits), at_.writes);
    if constexpr (Outputs == ForwardOutputs::bytes) bytes_.put(bits, at_.writes);
    if constexpr (Outputs == ForwardOutputs::potential) v_seq_.put(v_, at_.writes && a_.v_seq);
    if constexpr (any_spikes) {
      if (a_.spike_bits) write_word(bits);
      if (time_words_) time_words_.put(bits, at_.writes);
      if (tape_spikes_) tape_spikes_.put(bits, at_.writes);
      if (a_.spikes && a_.spikes.dtype == SYNFIRE_DTYPE_U8)
        bytes_.put(bits, at_.writes);
      else if (a_.spikes)
        spikes_.put(dense(bits), at_.writes);
    }
    if constexpr (any) {
      if (a_.h_seq) h_seq_.put(h, at_.writes);
      if (a_.tape_h) tape_h_.put(never_fires<Model> || a_.tape_spikes ? kept_finite(h) : h, at_.writes);
      if (a_.v_seq) v_seq_.put(v_, at_.writes);
#pragma unroll
      for (int k = 0; k < n_further; ++k)
        if (a_.w_seq[k]) w_seq_[k].put(w_[k], at_.writes);
    }
  }

  // H for a tape in 16 bits.
  __device__ __forceinline__ Vector<R, W> kept_finite(Vector<R, W> h) const {
    if constexpr (sizeof(R) == 4) {
      if (never_fires<Model> && a_.tape_h.dtype == SYNFIRE_DTYPE_F32) return h;
      const float largest = a_.tape_h.dtype == SYNFIRE_DTYPE_F16 ? largest_f16 : largest_bf16;
#pragma unroll
      for (int w = 0; w < W; ++w) h.e[w] = within(largest, h.e[w]);
    }
    return h;
  }

  __device__ __forceinline__ static Vector<R, W> dense(u32 bits) {
    Vector<R, W> spikes;
#pragma unroll
    for (int w = 0; w < W; ++w) spikes.e[w] = (bits >> w & 1u) != 0 ? R(1) : R(0);
    return spikes;
  }

  __device__ __forceinline__ void write_word(u32 bits) {
    const u32 word = gather_bits<W>(at_.writes ? bits : 0);
    if (writes_word_) *word_ = word;
    word_ += words_per_step_;
  }

  const operations::ForwardArguments<R>& a_;
  const Position at_;
  const Constants<R, first_model_constant + Model::n_constants, W, PerNeuron> constants_;
  const int64_t row_;
  Input x_;
  uint32_t* word_ = nullptr;
  int64_t words_per_step_ = 0;
  bool writes_word_ = false;
  TimeWords<W> time_words_, tape_spikes_;
  ByteWriter<W> bytes_;
  Writer<E, W> spikes_, h_seq_, tape_h_, v_seq_, w_seq_[rows_w];
  Vector<R, W> v_, w_[rows_w];
};

template <class Model, class E, int W, ForwardOutputs Outputs>
__global__ void __launch_bounds__(threads_per_block, forward_blocks_at_least<E, W>)
    forward(const __grid_constant__ ForwardLaunch<Arithmetic<E>> launch) {
  wait_for_previous();
  if (launch.next_begins_early) let_next_begin();
  if (launch.lanes.count == 0) return;  // never so; the compiler arranges the loop better (measurements.md)
  Position at = position<W>(launch.lanes, launch.arguments.extents, blockIdx.x);
  // Both at once: every thread waits for them before its first row.
  const int64_t active = launch.arguments.parameters->active;
  const bool per_neuron = launch.arguments.parameters->per_neuron;
  // Inactive rows consist of whole words, but a warp may have active and inactive ones.
  at.writes = at.writes && at.element < active;
  if (!__any_sync(0xFFFFFFFFu, at.writes)) return;
  if (per_neuron) {
    ForwardThread<Model, E, W, true, Outputs>(launch, at).run();
    return;
  }
  if constexpr (W == 1 && is_same<E, float> &&
                (Outputs == ForwardOutputs::bits || Outputs == ForwardOutputs::dense ||
                 Outputs == ForwardOutputs::potential)) {
    if (launch.arguments.extents.n_steps >= deep_ahead) {
      ForwardThread<Model, E, W, false, Outputs, deep_ahead>(launch, at).run();
      return;
    }
  }
  ForwardThread<Model, E, W, false, Outputs>(launch, at).run();
}

}  // namespace

template <class E>
const void* forward_kernel(int32_t model, int width, ForwardOutputs outputs) {
  constexpr bool any_type = is_same<E, AnyStorage> || is_same<E, double>;
  constexpr bool one_type = !is_same<E, AnyStorage>;
  const void* found = nullptr;
  visit(Models{}, model, [&](auto entry) {
    using Model = typename decltype(entry)::dynamics;
    const auto with_width = [&](auto w) {
      constexpr int W = decltype(w)::value;
      if constexpr (one_type && never_fires<Model>) {
        if (outputs == ForwardOutputs::potential) found = address(forward<Model, E, W, ForwardOutputs::potential>);
      } else if constexpr (one_type) {
        if (outputs == ForwardOutputs::bits) found = address(forward<Model, E, W, ForwardOutputs::bits>);
        if (outputs == ForwardOutputs::time_bits) found = address(forward<Model, E, W, ForwardOutputs::time_bits>);
        if (outputs == ForwardOutputs::dense) found = address(forward<Model, E, W, ForwardOutputs::dense>);
        if (outputs == ForwardOutputs::bytes) found = address(forward<Model, E, W, ForwardOutputs::bytes>);
      }
      if constexpr (any_type)
        if (outputs == ForwardOutputs::any) found = address(forward<Model, E, W, ForwardOutputs::any>);
    };
    if (width == 1)
      with_width(Width<1>{});
    else if (width == forward_width<E>)
      with_width(Width<forward_width<E>>{});
  });
  return found;
}

}  // namespace synfire::cuda

#endif
