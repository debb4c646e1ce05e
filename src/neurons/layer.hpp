// A layer: a neuron model with a fixed shape, its parameters, state and tape. Its operations are in the folders:
// passes, state, parameters, sum_gradient.
#ifndef SYNFIRE_NEURONS_LAYER_HPP
#define SYNFIRE_NEURONS_LAYER_HPP

#include "layer_spec.hpp"
#include "parameter_block.hpp"
#include "parameters.hpp"
#include "tape.hpp"
#include "value_staging.hpp"

#include <base/buffer.hpp>
#include <base/extents.hpp>
#include <base/mutex.hpp>
#include <base/replayed.hpp>

#include <memory>
#include <mutex>
#include <span>
#include <string>

namespace synfire::core {

struct ParameterValues {
  ParameterName name;
  std::span<const double> values;
};

class Layer;

// Sends parameter values that the host has set to the device. A layer knows no more of the operation that does it.
struct ValueSender {
  // Loads everything that sending needs, so that no capture has to.
  void (*load)(Layer& layer);
  void (*send)(Layer& layer, synfire_stream stream);
};

class Layer final : public Replayed {
 public:
  // `sender` outlives the layer.
  Layer(Context& context, const LayerSpec& spec, const ValueSender& sender);

  const LayerSpec& spec() const noexcept { return spec_; }
  std::string short_name() const override { return spec_.model->name; }
  std::string shape_text() const override { return spec_.shape_text(true, spec_.dtype); }
  const void* block() const noexcept { return block_; }
  // State variable 0 is V, 1 is W; each [B, N]. Null if the model does not have it.
  void* state(int variable) const noexcept;
  // Memory of the layer as an operand: a number of bytes, or a contiguous array of these lengths.
  View own(void* data, uint64_t bytes, int32_t dtype) noexcept {
    View view;
    view.data = data;
    view.bytes = data ? bytes : 0;
    view.dtype = dtype;
    view.owner = this;
    return view;
  }
  View own(void* data, std::initializer_list<int64_t> lengths, int32_t dtype) noexcept {
    View view = own(data, bytes_of_dtype(dtype), dtype).shaped(lengths);
    view.pitch = view.row();
    view.bytes *= static_cast<uint64_t>(view.shape[0] * view.pitch);
    return view;
  }
  View state_memory(int variable) noexcept {
    return own(state(variable), {spec_.extents.batch, spec_.extents.n_neurons}, spec_.arithmetic());
  }
  // The spikes of the last steps, packed: [D, n_rows, words]; absent if the layer keeps none.
  View history_memory(int64_t first_row, int64_t n_rows) noexcept;
  View history_memory() noexcept { return history_memory(0, spec_.extents.batch); }
  View parameter_memory() noexcept { return own(block_, spec_.parameter_bytes(), SYNFIRE_DTYPE_U8); }

  // ---- parameters
  const ParameterSet& parameters() const noexcept { return parameters_; }
  std::unique_lock<Mutex> lock_parameters() const { return std::unique_lock(mutex_); }
  // Sets all of them or none; they become visible together.
  void set_parameters(std::span<const ParameterValues> list);
  // Waits for replays that update the parameter.
  void get_parameter(ParameterName name, const char* known_as, std::span<double> values);
  size_t n_values(ParameterName name) const;
  // Grows with every change, by the host or by a replay.
  uint64_t parameter_version() const noexcept { return version() + updates_.load(std::memory_order_acquire); }
  // The parameter version of work enqueued from now on: that of the last refresh plus the updates launched so far.
  uint64_t computing_version() const noexcept { return uploaded_version() + updates_.load(std::memory_order_acquire); }

  // ---- updates of parameters inside replays
  // Counts an operation that updates the parameter. Called under lock_parameters().
  void add_update(uint32_t parameter) {
    begin_updates();
    ++updaters_[parameter];
  }
  // The operation's graph is gone, or did not record it.
  void drop_update(uint32_t parameter) noexcept;
  bool is_updated(uint32_t parameter) const {
    const auto lock = lock_parameters();
    return updaters_[parameter] > 0;
  }
  // A replay that updates these parameters (a bit for each) was launched, or added to a caller's capture.
  void note_updated(uint32_t parameters, bool captured) noexcept {
    on_device_.fetch_or(parameters, std::memory_order_relaxed);
    if (captured) captured_.fetch_or(parameters, std::memory_order_relaxed);
    updates_.fetch_add(1, std::memory_order_release);
  }
  // Sets how many batch rows, from the first on, passes compute. Takes effect like a parameter.
  void set_n_active(int64_t n_rows);
  bool has_neuron_constants() const noexcept { return parameters_.per_neuron(); }
  // Called under lock_parameters(), or while a replay is launched.
  ParameterTarget target() const noexcept;
  ParameterUpload upload() const;

  // ---- gradients of parameters
  // The slopes of the constants are stored from the first gradient on.
  void prepare_gradients();
  // For backwards that run now: f64 [n_gradients(), B, N], then the sums of the chunks of each.
  double* provide_gradient_sums();
  const int64_t* active() const noexcept;  // ParameterBlock::active, on the device

  // ---- tapes
  // Forwards that have run, eagerly or in replays, inference included.
  uint32_t n_forwards() const noexcept { return n_forwards_.load(std::memory_order_relaxed); }
  // The last forward left this tape, or none. Lock-free as long as the tape is the same.
  void leave_tape(Tape* tape) {
    n_forwards_.store(n_forwards() + 1, std::memory_order_relaxed);
    if (left_now_.load(std::memory_order_relaxed) != tape ||
        (tape && latest_now_.load(std::memory_order_relaxed) != tape)) [[unlikely]]
      replace_tape(tape);
  }
  // A forward that leaves this tape was recorded or run: backwards recorded from now on belong to it.
  void expect_tape(Tape& tape) noexcept;
  // The tape of the last forward, and the latest one, recorded or run. Both throw STALE_TAPE if there is none.
  Ref<Tape> left_tape() const;
  Ref<Tape> latest_tape() const;
  // The tape of eager forwards, each of which overwrites it.
  Tape& eager_tape();
  // True if a backward of this tape reads X again.
  bool reads_x(const TapeShape& tape, bool with_gradients) const noexcept {
    return with_gradients ||
           (!spec_.model->linear && (tape.mode == TapeMode::recompute || spec_.model->slope_reads_input));
  }
  // The tape keeps X of a synapse if every backward reads it, and that of a recurrent synapse always.
  bool keeps_x(const TapeShape& tape) const noexcept {
    return tape.x && (tape.recurrent.synapse || (tape.synapse && reads_x(tape, false)));
  }
  // True if a backward computes X of a synapse again.
  bool repeats_product(const TapeShape& tape, const TapeUse& use) const noexcept {
    return tape.synapse && reads_x(tape, use.parameter_gradients) && !keeps_x(tape);
  }
  bool trains_synapse(const TapeShape& tape, const TapeUse& use) const noexcept {
    return tape.synapse && use.synapse_gradients && !tape.synapse->is_frozen();
  }
  bool trains_recurrent(const TapeShape& tape, const TapeUse& use) const noexcept {
    return tape.recurrent.synapse && use.synapse_gradients && !tape.recurrent.synapse->is_frozen();
  }
  // True if a backward reads the forward's input again: X, or the input of the synapse.
  bool reads_input(const TapeShape& tape, const TapeUse& use) const noexcept {
    if (tape.synapse) return trains_synapse(tape, use) || repeats_product(tape, use);
    if (tape.recurrent.synapse) return false;
    return reads_x(tape, use.parameter_gradients) || tape.in_place;
  }

  // ---- state
  void read_state(const char* name, void* values, uint64_t bytes);
  void write_state(const char* name, const void* values, uint64_t bytes);

 private:
  ~Layer() override;
  void release_memory() noexcept;
  void upload_changes(synfire_stream stream) override;
  template <class R>
  void fill_block(void* bytes) const;
  void check_list(std::span<const ParameterValues> list) const;
  double largest_constant() const;
  void begin_updates();
  void prepare_values(uint32_t index, size_t count);
  void provide_slopes();
  uint32_t staged() const noexcept;
  void replace_tape(Tape* tape);
  void* find_state(const char* name, const void* values, uint64_t bytes) const;

  // Members that every launch reads or writes follow those of Replayed in one cache line.
  std::atomic<uint64_t> updates_{0};        // replays launched that update a parameter
  std::atomic<Tape*> left_now_{nullptr};    // left_ and latest_, to look at without a lock
  std::atomic<Tape*> latest_now_{nullptr};  // compared, never read
  std::atomic<uint32_t> n_forwards_{0};

  LayerSpec spec_;
  const ValueSender& sender_;
  ParameterSet parameters_;
  mutable Mutex mutex_;                 // parameter values and references to tapes; never taken by an unchanged replay
  std::atomic<uint32_t> on_device_{0};  // parameters whose values on the device are newer than those here
  std::atomic<uint32_t> captured_{0};   // parameters that graphs of the caller's own update, at any time

  // Used once a parameter has a value per neuron or a replay updates one: the values on the device, after the block,
  // and those that the host has set since the last launch.
  ParameterMaster* master_ = nullptr;
  uint32_t updaters_[model::max_parameters] = {};  // recorded updates of each parameter, in live graphs
  uint32_t changed_ = 0;                           // set by the host since the last refresh
  double* rows_[model::max_parameters] = {};       // [N] on the device, of parameters that are per neuron
  std::unique_ptr<ValueStaging> staging_;          // of values per neuron

  int64_t n_active_;
  void* state_ = nullptr;
  void* block_ = nullptr;
  void* per_neuron_ = nullptr;  // null until a parameter becomes one number per neuron
  // Null until the gradient of a parameter is asked for:
  bool wants_gradients_ = false;
  double* gradient_sums_ = nullptr;    // provide_gradient_sums()
  void* slopes_per_neuron_ = nullptr;  // [row, constant, N], only while constants are per neuron

  Ref<Tape> eager_;  // null until the first eager forward
  Ref<Tape> left_;   // by the forward that ran last
  // The tape of the last taped forward, recorded or run. Weak: a recorded forward's tape is useless without its graph.
  WeakRef<Tape> latest_;
};

inline TapeStamp Tape::stamp(const Layer& layer, const TapeShape& shape) const noexcept {
  return {layer.computing_version(), version_of_input(shape.x, shape.n_active),
          version_of_weights(shape.synapse, shape.recurrent.synapse), n_left_.load(std::memory_order_relaxed),
          layer.n_forwards()};
}

}  // namespace synfire::core

#endif
