// A layer: a neuron model with a fixed shape, its parameters, its state and its tape. It turns requests (which buffers
// to read and write) into checked operations, for graphs and eager calls alike.
#ifndef SYNFIRE_CORE_LAYER_HPP
#define SYNFIRE_CORE_LAYER_HPP

#include "arguments.hpp"
#include "buffer.hpp"
#include "parameters.hpp"

#include <mutex>

namespace synfire::core {

// A layer descriptor with its defaults filled in and every field checked.
struct LayerSpec {
  const ModelRow* model;
  const SurrogateRow* surrogate;
  Extents extents;
  model::Rules rules;
  int32_t dtype;
  bool undecayed_input;

  explicit LayerSpec(const synfire_layer_desc& desc);

  uint64_t element_bytes() const { return bytes_of_dtype(dtype); }
  uint64_t row_bytes() const { return static_cast<uint64_t>(extents.row()) * element_bytes(); }
  uint64_t sequence_bytes() const { return static_cast<uint64_t>(extents.n_steps) * row_bytes(); }
  // Distance of two state variables in memory.
  uint64_t state_stride() const { return (row_bytes() + 255) / 256 * 256; }
  uint64_t state_bytes() const { return static_cast<uint64_t>(model->n_states) * state_stride(); }
  uint64_t packed_bytes() const {
    return static_cast<uint64_t>(extents.n_steps * extents.batch * extents.words_per_row()) * 4;
  }
  uint64_t tape_bytes() const;
  uint64_t block_bytes() const;       // the parameter block
  uint64_t per_neuron_bytes() const;  // the arrays behind it, once any parameter is per neuron
  uint64_t gradient_bytes() const;    // partial sums of gradients of parameters
  uint64_t slope_bytes() const;       // slopes of the constants, once both
};

// Buffers of a forward or backward; null means "not given".
struct ForwardRequest {
  bool taped;
  Buffer *x, *spikes, *v_init, *v_final, *v_seq, *h_seq, *w_init, *w_final, *w_seq;
};
struct GradientRequest {
  ParameterName parameter;
  Buffer* gradient;  // one element, or one per neuron
};
struct BackwardRequest {
  Buffer *grad_spike_seq, *grad_v_seq, *grad_v_final, *grad_x_seq, *grad_v_init, *grad_w_seq, *grad_w_final, *grad_w_init;
  std::vector<GradientRequest> gradients;
};

class Layer final : public Child {
 public:
  Layer(Context& context, const LayerSpec& spec);

  const LayerSpec& spec() const noexcept { return spec_; }
  const void* block() const noexcept { return block_; }
  // The state variables, each [B, N]: 0 is V, 1 is W (null in models with one variable).
  void* state(int variable) const noexcept;

  // ---- parameters
  const ParameterSet& parameters() const noexcept { return parameters_; }
  std::unique_lock<std::mutex> lock_parameters() const { return std::unique_lock(mutex_); }
  void set_parameter(ParameterName name, std::span<const double> values);
  uint64_t parameter_version() const noexcept { return version_.load(std::memory_order_acquire); }
  // Brings the device's parameter block up to date, in stream order; no work when nothing changed.
  void refresh(synfire_stream stream) {
    if (uploaded_version_.load(std::memory_order_relaxed) != parameter_version()) upload_block(stream);
  }

  // ---- operations
  ForwardOperation forward(const ForwardRequest& request);
  // Of the taped forward that read x: one backward, and the sums that gradients of parameters need.
  OperationList backward(const BackwardRequest& request, const Buffer& x);

  // ---- the tape: what the forward that ran last, eagerly or in a replay, left for a backward
  // `x` is what it read, null when it ran for inference. Lock-free while x stays the same from replay to replay.
  void set_tape(Buffer* x) {
    tape_version_.store(parameter_version(), std::memory_order_relaxed);
    if (tape_x_.load(std::memory_order_relaxed) != x) replace_tape_input(x);
  }
  // Throws STALE_TAPE unless the latest forward left a tape with the parameters of now; returns its input.
  Ref<Buffer> require_tape() const;
  // The same check for a replay that was recorded against a tape with input x: no lock, no reference.
  void require_tape_of(const Buffer* x) const;
  // The input of the latest taped forward, recorded or run; throws STALE_TAPE when there was none.
  Ref<Buffer> expected_input() const;

  // ---- state
  void read_state(const char* name, void* values, uint64_t bytes);
  void write_state(const char* name, const void* values, uint64_t bytes);

 private:
  ~Layer() override;
  void release_memory() noexcept;
  void upload_block(synfire_stream stream);
  template <class R>
  void fill_block(void* block) const;
  template <class R>
  void upload_per_neuron();
  template <class R>
  void upload_slopes();
  void upload_arrays();
  void prepare_gradients();
  void append_gradients(const BackwardRequest& request, OperationList& operations);
  void replace_tape_input(Buffer* x);
  void check_tape_parameters() const;
  void* find_state(const char* name, const void* values, uint64_t bytes) const;

  LayerSpec spec_;
  ParameterSet parameters_;
  mutable std::mutex mutex_;  // parameter values and the references of the tape; never taken by an unchanged replay
  std::atomic<uint64_t> version_{1};
  std::atomic<uint64_t> uploaded_version_{0};

  void* state_ = nullptr;
  void* block_ = nullptr;
  void* per_neuron_ = nullptr;  // null until a parameter becomes one number per neuron
  void* tape_ = nullptr;        // null until a forward is taped
  // Null until the gradient of a parameter is asked for:
  bool wants_gradients_ = false;
  double* gradient_partials_ = nullptr;  // f64 [slope rows + 2, B, N], then the sums of the chunks of each
  void* slopes_per_neuron_ = nullptr;    // [row, constant, N], only while constants are per neuron

  std::atomic<Buffer*> tape_x_{nullptr};
  std::atomic<uint64_t> tape_version_{0};
  Ref<Buffer> tape_reference_;  // keeps tape_x_ alive
  Ref<Buffer> latest_input_;    // of the taped forward made or run last
};

}  // namespace synfire::core

#endif
