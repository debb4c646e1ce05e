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
template <class E, class O>
inline constexpr int forward_blocks_at_least = O::adjacent > 1 && sizeof(E) == 2 ? 8 : 1;

// One thread's neurons, step by step.
template <class Model, class E, class O, bool PerNeuron, ForwardOutputs Outputs, int Ahead = forward_ahead>
class ForwardThread {
 public:
  static constexpr int W = O::width;
  using R = Arithmetic<E>;
  using Input = Reader<E, O>;
  static constexpr bool two_variables = Model::n_states == 2;
  static constexpr bool any = Outputs == ForwardOutputs::any;
  static constexpr bool any_spikes = any && !never_fires<Model>;
  static constexpr bool packs = Outputs == ForwardOutputs::bits || any_spikes;
  static constexpr bool packs_time = Outputs == ForwardOutputs::time_bits || any_spikes;
  static_assert(checkpoint_interval % Ahead == 0);

  __device__ __forceinline__ ForwardThread(const ForwardLaunch<R>& launch, const Place<O>& at,
                                           const WordWriter<O>& words)
      : a_(launch.arguments),
        at_(at),
        constants_(*a_.parameters, a_.extents, at.element),
        row_(a_.extents.row()),
        x_(a_.x, 0, at.element, 1),
        words_(words) {
    v_ = load<O>(a_.v_in + at.element);
    w_ = {};
    if constexpr (two_variables) w_ = load<O>(a_.w_in + at.element);
    if constexpr (packs_time) time_words_ = TimeWords<O>(a_.spike_time_bits, at.element);
    if constexpr (Outputs == ForwardOutputs::dense || any_spikes)
      if (a_.spikes) spikes_ = Writer<E, O>(a_.spikes, 0, at.element, 1);
    if constexpr (Outputs == ForwardOutputs::bytes || any_spikes)
      if (a_.spikes) bytes_ = ByteWriter<O>(a_.spikes, at.element);
    if constexpr (any_spikes) tape_spikes_ = TimeWords<O>(core::Words{a_.tape_spikes, row_}, at.element);
    if constexpr (any) {
      if (a_.h_seq) h_seq_ = Writer<E, O>(a_.h_seq, 0, at.element, 1);
      if (a_.tape_h) tape_h_ = Writer<E, O>(a_.tape_h, 0, at.element, 1);
      if (a_.w_seq) w_seq_ = Writer<E, O>(a_.w_seq, 0, at.element, 1);
    }
    if constexpr (Outputs == ForwardOutputs::potential || any)
      if (a_.v_seq) v_seq_ = Writer<E, O>(a_.v_seq, 0, at.element, 1);
  }

  __device__ __forceinline__ void run() {
    Flight<Input, Ahead> rows(x_, a_.extents.n_steps);
    rows.run([this](int64_t t) { checkpoint(t); },
             [this](const typename Input::Row& x, int64_t, int, auto) { step(x_.decoded(x)); },
             [this] { finish_full_words(); });
    if constexpr (packs_time)
      if (time_words_) time_words_.finish(at_.owned);
    if constexpr (any_spikes)
      if (tape_spikes_) tape_spikes_.finish(at_.owned);
    if (a_.v_out) store<O>(a_.v_out + at_.element, v_, at_.owned);
    if (a_.v_final) store<O>(a_.v_final + at_.element, v_, at_.owned);
    if constexpr (two_variables) {
      if (a_.w_out) store<O>(a_.w_out + at_.element, w_, at_.owned);
      if (a_.w_final) store<O>(a_.w_final + at_.element, w_, at_.owned);
    }
  }

 private:
  __device__ __forceinline__ void checkpoint(int64_t t) const {
    if (!a_.tape || t % checkpoint_interval != 0) return;
    R* const place = a_.tape + t / checkpoint_interval * Model::n_states * row_ + at_.element;
    store<O>(place, v_, at_.owned);
    if constexpr (two_variables) store<O>(place + row_, w_, at_.owned);
  }
  __device__ __forceinline__ void finish_full_words() {
    if constexpr (packs_time)
      if (time_words_) time_words_.finish_full(at_.owned);
    if constexpr (any_spikes)
      if (tape_spikes_) tape_spikes_.finish_full(at_.owned);
  }

  __device__ __forceinline__ void step(const Vector<R, W>& x) {
    Vector<R, W> h;
    u32 bits = 0;
#pragma unroll
    for (int w = 0; w < W; ++w) {
      const State<R> before = {v_.e[w], w_.e[w]};
      h.e[w] = charge<Model>(constants_[w], before, x.e[w]);
      const bool spike = fires<Model>(constants_[w], h.e[w]);
      bits |= static_cast<u32>(spike) << w;
      const State<R> after = advance<Model>(constants_[w], a_.rules, before, h.e[w], spike);
      v_.e[w] = after.v;
      w_.e[w] = after.w;
    }
    if constexpr (Outputs == ForwardOutputs::bits) words_.put(bits);
    if constexpr (Outputs == ForwardOutputs::time_bits) time_words_.put(bits);
    if constexpr (Outputs == ForwardOutputs::dense) spikes_.put(dense(bits), at_.owned);
    if constexpr (Outputs == ForwardOutputs::bytes) bytes_.put(bits, at_.owned);
    if constexpr (Outputs == ForwardOutputs::potential)
      if (a_.v_seq) v_seq_.put(v_, at_.owned);
    if constexpr (any_spikes) {
      if (a_.spike_bits) words_.put(bits);
      if (time_words_) time_words_.put(bits);
      if (tape_spikes_) tape_spikes_.put(bits);
      if (a_.spikes && a_.spikes.dtype == SYNFIRE_DTYPE_U8)
        bytes_.put(bits, at_.owned);
      else if (a_.spikes)
        spikes_.put(dense(bits), at_.owned);
    }
    if constexpr (any) {
      if (a_.h_seq) h_seq_.put(h, at_.owned);
      if (a_.tape_h) tape_h_.put(never_fires<Model> || a_.tape_spikes ? kept_finite(h) : h, at_.owned);
      if (a_.v_seq) v_seq_.put(v_, at_.owned);
      if constexpr (two_variables)
        if (a_.w_seq) w_seq_.put(w_, at_.owned);
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

  const operations::ForwardArguments<R>& a_;
  const Place<O> at_;
  const Constants<R, first_model_constant + Model::n_constants, O, PerNeuron> constants_;
  const int64_t row_;
  Input x_;
  WordWriter<O> words_;
  TimeWords<O> time_words_, tape_spikes_;
  ByteWriter<O> bytes_;
  Writer<E, O> spikes_, h_seq_, tape_h_, v_seq_, w_seq_;
  Vector<R, W> v_, w_;
};

// More rows ahead where few neurons leave room for them and the sequence is long enough to need them.
template <class E, class O, ForwardOutputs Outputs>
inline constexpr bool runs_deep =
    O::width == 1 && is_same<E, float> &&
    (Outputs == ForwardOutputs::bits || Outputs == ForwardOutputs::dense || Outputs == ForwardOutputs::potential);

template <class Model, class E, class O, ForwardOutputs Outputs>
__global__ void __launch_bounds__(threads_per_block, forward_blocks_at_least<E, O>)
    forward(const __grid_constant__ ForwardLaunch<Arithmetic<E>> launch) {
  wait_for_previous();
  if (launch.next_begins_early) let_next_begin();
  if (launch.tiles.count == 0) return;  // never so; the compiler arranges the loop better (measurements.md)
  const operations::ForwardArguments<Arithmetic<E>>& a = launch.arguments;
  // Both at once: every thread waits for them before its first row.
  const int64_t active = a.parameters->active;
  const bool per_neuron = a.parameters->per_neuron;
  const int64_t row = a.extents.row(), tile = tile_of(blockIdx.x);
  Range range = range_of<O>(tile, row);
  WordWriter<O> words;
  if constexpr ((Outputs == ForwardOutputs::bits || Outputs == ForwardOutputs::any) && !never_fires<Model>) {
    const OwnWord word = own_word<O>(launch.tiles, a.extents, tile);
    range = range_of_words<O>(launch.tiles, a.extents, tile, word);
    words = WordWriter<O>(a.spike_bits, word, window_of<O>(range, row), active);
  }
  const Place<O> at = place_in<O>(range, row, active);
  if (!__any_sync(0xFFFFFFFFu, at.owned.any())) return;
  if (per_neuron) {
    ForwardThread<Model, E, O, true, Outputs>(launch, at, words).run();
    return;
  }
  if constexpr (runs_deep<E, O, Outputs>) {
    if (a.extents.n_steps > forward_ahead) {
      ForwardThread<Model, E, O, false, Outputs, deep_ahead>(launch, at, words).run();
      return;
    }
  }
  ForwardThread<Model, E, O, false, Outputs>(launch, at, words).run();
}

}  // namespace

template <class E>
const void* forward_kernel(int32_t model, Ownership ownership, ForwardOutputs outputs) {
  constexpr bool any_type = is_same<E, AnyStorage> || is_same<E, double>;
  constexpr bool one_type = !is_same<E, AnyStorage>;
  const void* found = nullptr;
  visit(CompiledModels{}, model, [&](auto entry) {
    using Model = typename decltype(entry)::dynamics;
    visit_ownership<E, forward_width<E>>(ownership, [&](auto o) {
      using O = decltype(o);
      if constexpr (one_type && never_fires<Model>) {
        if (outputs == ForwardOutputs::potential) found = address(forward<Model, E, O, ForwardOutputs::potential>);
      } else if constexpr (one_type) {
        if (outputs == ForwardOutputs::bits) found = address(forward<Model, E, O, ForwardOutputs::bits>);
#ifndef W21_PROTO
        if (outputs == ForwardOutputs::time_bits) found = address(forward<Model, E, O, ForwardOutputs::time_bits>);
        if (outputs == ForwardOutputs::dense) found = address(forward<Model, E, O, ForwardOutputs::dense>);
        if (outputs == ForwardOutputs::bytes) found = address(forward<Model, E, O, ForwardOutputs::bytes>);
#endif
      }
      if constexpr (any_type)
        if (outputs == ForwardOutputs::any) found = address(forward<Model, E, O, ForwardOutputs::any>);
    });
  });
  return found;
}

}  // namespace synfire::cuda

#endif
