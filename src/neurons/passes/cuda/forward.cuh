// The FPTT kernel.
#ifndef SYNFIRE_NEURONS_PASSES_CUDA_FORWARD_CUH
#define SYNFIRE_NEURONS_PASSES_CUDA_FORWARD_CUH

#include "flight.cuh"
#include "packed_words.cuh"
#include "passes_kernels.cuh"
#include "writers.cuh"

namespace synfire::cuda {
namespace {

// Rows of input in flight per thread: loading ahead hides the memory's latency in a chain of T dependent steps. A
// thread with one neuron needs 32; in f64 they would take too many registers. Threads with several neurons need whole
// chunks of short sequences instead (docs/pages/tuning.md, "Measured constants").
template <class E, class O, ForwardOutputs Outputs>
inline constexpr int forward_ahead = O::at_once ? short_steps
                                     : O::width == 1 && !is_same<E, AnyStorage> && !is_double<E> &&
                                             (Outputs == ForwardOutputs::bits || Outputs == ForwardOutputs::dense ||
                                              Outputs == ForwardOutputs::potential)
                                         ? 32
                                         : 8;
// Blocks per multiprocessor: 16-bit storage is faster with more warps if a thread has several neurons, and slower if it
// has one. Two strided neurons in f32 need twice as many threads.
template <class E, class O>
inline constexpr int forward_blocks_at_least = is_double<E>                         ? 1
                                               : O::adjacent > 1 && sizeof(E) == 2  ? 7
                                               : O::width == 1                      ? 1
                                               : O::adjacent == 1 && sizeof(E) == 2 ? 5
                                               : O::adjacent == 1                   ? 8
                                                                                    : 1;

// The first loads of a thread, all at once: its state, its first rows, the constants that neurons share.
template <class Model, class E, class O, int Ahead>
struct ForwardStart {
  static constexpr int W = O::width;
  using R = Arithmetic<E>;
  static constexpr int n_further = n_further_states<Model>;
  static constexpr int n_constants = first_model_constant + Model::n_constants;

  Constants<R, n_constants, O, false> constants;
  Vector<R, W> v, w[n_further > 0 ? n_further : 1];
  Flight<Reader<E, O>, Ahead, O::at_once> rows;

  __device__ __forceinline__ ForwardStart(const operations::ForwardArguments<R>& a, int64_t element)
      : constants(*a.parameters),
        v(load_row_now<O>(a.v_in + element)),
        w{},
        rows(Reader<E, O>(a.x, 0, element, 1), a.extents.n_steps) {
#pragma unroll
    for (int k = 0; k < n_further; ++k)
      if (!is_ruled<Model> || a.w_in[k]) w[k] = load_row_now<O>(a.w_in[k] + element);
  }
};

// One thread's neurons, step by step.
template <class Model, class E, class O, bool PerNeuron, ForwardOutputs Outputs, int Ahead>
class ForwardThread {
 public:
  static constexpr int W = O::width;
  using R = Arithmetic<E>;
  using Start = ForwardStart<Model, E, O, Ahead>;
  using Row = typename Reader<E, O>::Row;
  static constexpr int n_further = n_further_states<Model>;
  static constexpr int rows_w = n_further > 0 ? n_further : 1;
  static constexpr bool any = Outputs == ForwardOutputs::any;
  static constexpr bool any_spikes = any && !never_fires<Model>;
  static constexpr bool packs = Outputs == ForwardOutputs::bits || any_spikes;
  static constexpr bool packs_time = Outputs == ForwardOutputs::time_bits || any_spikes;
  static_assert(checkpoint_interval % Ahead == 0);

  __device__ __forceinline__ ForwardThread(const ForwardLaunch<R>& launch, int64_t element, const Owned<O>& owned,
                                           const WordWriter<O, Ahead>& words, Start& start,
                                           const Constants<R, Start::n_constants, O, PerNeuron>& constants)
      : a_(launch.arguments),
        row_(launch.tiles.elements),
        element_(element),
        owned_(owned),
        constants_(constants),
        rows_(start.rows),
        words_(words),
        v_(start.v) {
#pragma unroll
    for (int k = 0; k < rows_w; ++k) w_[k] = start.w[k];
    if constexpr (packs_time) time_words_ = TimeWords<O>(a_.spike_time_bits, element);
    if constexpr (Outputs == ForwardOutputs::dense || any_spikes)
      if (a_.spikes) spikes_ = Writer<E, O>(a_.spikes, 0, element, 1);
    if constexpr (Outputs == ForwardOutputs::bytes || any_spikes)
      if (a_.spikes) bytes_ = ByteWriter<O>(a_.spikes, element);
    if constexpr (any_spikes) tape_spikes_ = TimeWords<O>(core::Words{a_.tape_spikes, row_}, element);
    if constexpr (any) {
      if (a_.h_seq) h_seq_ = Writer<E, O>(a_.h_seq, 0, element, 1);
      if (a_.tape_h) tape_h_ = Writer<E, O>(a_.tape_h, 0, element, 1);
#pragma unroll
      for (int k = 0; k < n_further; ++k)
        if (a_.w_seq[k]) w_seq_[k] = Writer<E, O>(a_.w_seq[k], 0, element, 1);
    }
    if constexpr (Outputs == ForwardOutputs::potential || any)
      if (a_.v_seq) v_seq_ = Writer<E, O>(a_.v_seq, 0, element, 1);
  }

  __device__ __forceinline__ void run() {
    checkpoint_ = a_.tape ? a_.tape + element_ : nullptr;
    rows_.template run<PerNeuron>([this](int64_t t) { checkpoint(t); },
                                  [this](const Row& x, int64_t, int u, auto, bool) { step(rows_.decoded(x), u); },
                                  [this](int n_steps) { finish_words(n_steps); });
    if constexpr (packs_time)
      if (time_words_) time_words_.finish(owned_);
    if constexpr (any_spikes)
      if (tape_spikes_) tape_spikes_.finish(owned_);
    if (a_.v_out) store<O>(a_.v_out + element_, v_, owned_);
    if (a_.v_final) store<O>(a_.v_final + element_, v_, owned_);
#pragma unroll
    for (int k = 0; k < n_further; ++k) {
      if (a_.w_out[k]) store<O>(a_.w_out[k] + element_, w_[k], owned_);
      if (a_.w_final[k]) store<O>(a_.w_final[k] + element_, w_[k], owned_);
    }
  }

 private:
  __device__ __forceinline__ void checkpoint(int64_t t) {
    if (!checkpoint_ || t % checkpoint_interval != 0) return;
    store<O>(checkpoint_, v_, owned_);
    checkpoint_ += row_;
#pragma unroll
    for (int k = 0; k < n_further; ++k) {
      if (is_ruled<Model> && k + 1 == stored_states<Model>(a_.rules)) break;
      store<O>(checkpoint_, w_[k], owned_);
      checkpoint_ += row_;
    }
  }
  __device__ __forceinline__ void finish_words(int n_steps) {
    if constexpr (packs)
      if (!any || a_.spike_bits) words_.write(n_steps);
    if constexpr (packs_time)
      if (time_words_) time_words_.finish_full(owned_);
    if constexpr (any_spikes)
      if (tape_spikes_) tape_spikes_.finish_full(owned_);
  }

  __device__ __forceinline__ void step(const Vector<R, W>& x, int u) {
    Vector<R, W> h;
    u32 bits = 0;
#pragma unroll
    for (int w = 0; w < W; ++w) {
      StateOf<Model, R> before = {v_.e[w], {}};
#pragma unroll
      for (int k = 0; k < n_further; ++k) before.w[k] = w_[k].e[w];
      h.e[w] = charge<Model>(constants_[w], a_.rules, before, x.e[w]);
      const bool spike = fires<Model>(constants_[w], a_.rules, before, h.e[w]);
      bits |= static_cast<u32>(spike) << w;
      if constexpr (packs) words_.note(u, w, spike);
      const StateOf<Model, R> after = advance<Model>(constants_[w], a_.rules, before, x.e[w], h.e[w], spike);
      v_.e[w] = after.v;
#pragma unroll
      for (int k = 0; k < n_further; ++k) w_[k].e[w] = after.w[k];
    }
    if constexpr (Outputs == ForwardOutputs::time_bits) time_words_.put(bits);
    if constexpr (Outputs == ForwardOutputs::dense) spikes_.put(dense(bits), owned_);
    if constexpr (Outputs == ForwardOutputs::bytes) bytes_.put(bits, owned_);
    if constexpr (Outputs == ForwardOutputs::potential)
      if (a_.v_seq) v_seq_.put(v_, owned_);
    if constexpr (any_spikes) {
      if (time_words_) time_words_.put(bits);
      if (tape_spikes_) tape_spikes_.put(bits);
      if (a_.spikes && a_.spikes.dtype == SYNFIRE_DTYPE_U8)
        bytes_.put(bits, owned_);
      else if (a_.spikes)
        spikes_.put(dense(bits), owned_);
    }
    if constexpr (any) {
      if (a_.h_seq) h_seq_.put(h, owned_);
      if (a_.tape_h) tape_h_.put(never_fires<Model> || a_.tape_spikes ? kept_finite(h) : h, owned_);
      if (a_.v_seq) v_seq_.put(v_, owned_);
#pragma unroll
      for (int k = 0; k < n_further; ++k)
        if (a_.w_seq[k]) w_seq_[k].put(w_[k], owned_);
    }
  }

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
  const int64_t row_;
  const int64_t element_;
  const Owned<O> owned_;
  const Constants<R, Start::n_constants, O, PerNeuron> constants_;
  Flight<Reader<E, O>, Ahead, O::at_once> rows_;
  WordWriter<O, Ahead> words_;
  R* checkpoint_ = nullptr;
  TimeWords<O> time_words_, tape_spikes_;
  ByteWriter<O> bytes_;
  Writer<E, O> spikes_, h_seq_, tape_h_, v_seq_, w_seq_[rows_w];
  Vector<R, W> v_, w_[rows_w];
};

template <class Model, class E, class O, ForwardOutputs Outputs>
__global__ void __launch_bounds__(threads_per_block, forward_blocks_at_least<E, O>)
    forward(const __grid_constant__ ForwardLaunch<Arithmetic<E>> launch) {
  wait_for_previous();
  if (launch.next_begins_early) let_next_begin();
  using R = Arithmetic<E>;
  constexpr int ahead = forward_ahead<E, O, Outputs>;
  const operations::ForwardArguments<R>& a = launch.arguments;
  const int64_t row = launch.tiles.elements, tile = tile_of(blockIdx.x);
  if (tile >= launch.tiles.count) return;
  constexpr bool packs = (Outputs == ForwardOutputs::bits || Outputs == ForwardOutputs::any) && !never_fires<Model>;
  OwnWord word = {};
  if constexpr (packs) word = own_word<O>(launch.tiles, a.extents, tile);
  const Range range = packs ? range_of_words<O>(launch.tiles, a.extents, tile, word) : range_of<O>(tile, row);
  const int64_t window = window_of<O>(range, row), element = element_in<O>(window, row);

  const Switches<R> switches(*a.parameters);
  ForwardStart<Model, E, O, ahead> start(a, element);
  const Owned<O> owned = owned_in<O>(range, window, switches.active);
  WordWriter<O, ahead> words;
  if constexpr (packs) words = WordWriter<O, ahead>(a.spike_bits, word, window, switches.active, launch.tiles);
  if (!__any_sync(0xFFFFFFFFu, owned.any())) return;
  if (switches.per_neuron) {
    const Constants<R, first_model_constant + Model::n_constants, O, true> own(*a.parameters, a.extents.n_neurons,
                                                                               element);
    ForwardThread<Model, E, O, true, Outputs, ahead>(launch, element, owned, words, start, own).run();
    return;
  }
  ForwardThread<Model, E, O, false, Outputs, ahead>(launch, element, owned, words, start, start.constants).run();
}

}  // namespace
}  // namespace synfire::cuda

#endif
