// The specification of a layer, and the sizes derived from it.
#ifndef SYNFIRE_NEURONS_LAYER_SPEC_HPP
#define SYNFIRE_NEURONS_LAYER_SPEC_HPP

#include "loaded.hpp"
#include "parameter_block.hpp"
#include "parameters.hpp"

#include <base/dtype.hpp>
#include <base/extents.hpp>

#include <synfire/synfire.h>

#include <string>

namespace synfire::core {

// A layer descriptor with its defaults filled in and every field checked.
struct LayerSpec {
  const ModelRow* model;
  const SurrogateRow* surrogate;
  Extents extents;
  model::Rules rules;
  int32_t dtype;
  bool undecayed_input;
  int threads_per_block;  // of CUDA kernels, 0 for automatic
  int64_t history_steps;  // of spikes, in the state
  // Keep the two rows alive if they were loaded at run time.
  Ref<LoadedModel> loaded_model;
  Ref<LoadedSurrogate> loaded_surrogate;

  explicit LayerSpec(const synfire_layer_desc& desc);

  // The code with the kernels of a loaded model or surrogate; null if nothing was loaded.
  LoadedCode* loaded() const noexcept {
    return loaded_model ? static_cast<LoadedCode*>(loaded_model.get()) : loaded_surrogate.get();
  }
  void check_context(const Context& context) const;

  // True if its kernels are Ruled (model/ruled.hpp), which have a countdown where there is room, stored or not.
  bool is_ruled() const { return model->adapts_threshold || !rules.are_plain(); }
  int kernel_states() const {
    const bool adds_one = is_ruled() && !rules.count_down() && model->n_states < synfire::model::max_states;
    return model->n_states + (adds_one ? 1 : 0);
  }

  // The type of state, arithmetic, parameters and their gradients; `dtype` is that of stored sequences.
  int32_t arithmetic() const { return dtype == SYNFIRE_DTYPE_F64 ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32; }
  bool is_narrow() const { return bytes_of_dtype(dtype) == 2; }
  uint64_t element_bytes() const { return bytes_of_dtype(arithmetic()); }
  uint64_t row_bytes() const { return static_cast<uint64_t>(extents.row()) * element_bytes(); }
  uint64_t sequence_elements() const { return static_cast<uint64_t>(extents.n_steps * extents.row()); }
  // The distance between two state variables in memory.
  uint64_t state_stride() const { return (row_bytes() + 255) / 256 * 256; }
  // The packed spikes of its history follow them.
  uint64_t history_offset() const { return static_cast<uint64_t>(model->n_states) * state_stride(); }
  uint64_t history_row_bytes() const { return static_cast<uint64_t>(history_steps * extents.words_per_row()) * 4; }
  uint64_t history_bytes() const { return static_cast<uint64_t>(extents.batch) * history_row_bytes(); }
  uint64_t state_bytes() const { return history_offset() + (history_bytes() + 255) / 256 * 256; }
  int64_t time_words() const { return (extents.n_steps + 31) / 32; }  // time-packed words of one neuron
  uint64_t tape_bytes() const;                                        // checkpoints
  uint64_t stored_tape_bytes() const { return sequence_elements() * element_bytes(); }
  uint64_t narrow_tape_bytes() const { return is_narrow() ? sequence_elements() * 2 : 0; }
  uint64_t narrow_tape_spike_bytes() const {
    return is_narrow() && !model->linear ? static_cast<uint64_t>(time_words() * extents.row()) * 4 : 0;
  }
  // With a recurrent synapse, X of all steps, V before each, and packed spikes of all steps and of the history.
  int64_t recurrent_spike_steps() const { return history_steps + extents.n_steps; }
  uint64_t recurrent_checkpoint_bytes() const {
    return static_cast<uint64_t>(extents.n_steps * model->n_states) * row_bytes();
  }
  uint64_t recurrent_spike_bytes() const {
    return static_cast<uint64_t>(recurrent_spike_steps() * extents.batch * extents.words_per_row()) * 4;
  }
  uint64_t recurrent_tape_bytes() const {
    return history_steps == 0 ? 0 : recurrent_checkpoint_bytes() + recurrent_spike_bytes() + stored_tape_bytes();
  }
  uint64_t recurrent_narrow_spike_bytes() const {
    return is_narrow() && !model->linear ? sequence_elements() * sizeof(uint32_t) : 0;
  }
  uint64_t block_bytes() const;    // the parameter block
  uint64_t master_offset() const;  // of the ParameterMaster after the block, in the same allocation
  uint64_t parameter_bytes() const { return master_offset() + sizeof(ParameterMaster); }
  uint64_t per_neuron_bytes() const;  // constants, once any parameter is per neuron
  uint64_t value_bytes() const { return static_cast<uint64_t>(extents.n_neurons) * sizeof(double); }  // of one of them
  uint64_t gradient_bytes() const;  // partial sums of gradients of parameters
  uint64_t slope_bytes() const;     // slopes of the constants, once both
  std::string shape_text(bool sequence, int32_t element) const;
};

}  // namespace synfire::core

#endif
