// FPTT: a layer's neurons over all steps of X.
#ifndef SYNFIRE_NEURONS_PASSES_FORWARD_HPP
#define SYNFIRE_NEURONS_PASSES_FORWARD_HPP

#include <base/extents.hpp>
#include <graph/graph.hpp>
#include <neurons/layer.hpp>
#include <operations/kind.hpp>

#include <synapses/synapse.hpp>
#include <vector>

namespace synfire::operations {

using core::Extents;

enum class SpikeFormat : int32_t { none, dense, bits, time_bits };

struct Forward {
  core::Layer* layer;
  Extents extents;  // of this pass: at most those of the layer
  SpikeFormat spike_format;
  View x;        // [T, B, N]
  View spikes;   // [T, B, N], words [T, B, ceil(N/32)] or words [ceil(T/32), B, N]
  View v_in;     // [B, N]
  View v_out;    // [B, N], the layer's state when v_in is; else not given
  View v_final;  // [B, N]
  View v_seq;    // [T, B, N]
  View h_seq;    // [T, B, N]
  // As V, for each further variable of the model, W first.
  View w_in[model::max_further_states];
  View w_out[model::max_further_states];
  View w_final[model::max_further_states];
  View w_seq[model::max_further_states];
  View tape;                     // [ceil(T/checkpoint_interval), n_states, B, N]; not given for inference
  View tape_h;                   // [T, B, N] in tape modes that store H; x itself when H goes over it
  View tape_spikes;              // words [ceil(T/32), B, N] beside an H of 16 bits
  View parameters;               // of the layer
  View host_rows;                // scratch, on the host: rows of the tiles that threads work on
  const core::Synapse* synapse;  // that makes X before, or null

  static constexpr const char* name = "forward";
  static void operands(Forward& op, OperandVisitor visit);
};
OperationLabel label(const Forward& op);
bool wants_threads(const Forward& op);
void run(const Forward& op, host::Launcher& launcher);
cuda::Hints hints(const Forward& op, const cuda::GpuShape& gpu);
void enqueue(const Forward& op, cuda::Launcher& launcher);

View forward_rows_of(const core::Device& device, const core::LayerSpec& spec);

struct StateRequest {
  const char* name;
  core::Buffer* buffer;
};
// Null means "not given".
struct ForwardRequest {
  core::TapeMode tape;
  bool in_place;
  core::Buffer *x, *spikes, *v_init, *v_final, *v_seq, *h_seq, *w_init, *w_final, *w_seq;
  std::vector<StateRequest> state_init, state_final, state_seq;  // of further variables, by name
  core::Synapse* synapse;                                        // in place of x
  core::Buffer *synapse_input, *n_active;
  core::Recurrence recurrent = {};
  core::Buffer *spikes_init = nullptr, *spikes_final = nullptr;  // with a recurrent synapse
};
// If a further variable follows X, H alone does not give the state again: all tapes are recomputed.
inline core::TapeMode mode_of(const core::LayerSpec& spec, core::TapeMode wanted) {
  return spec.model->follows_input && wanted != core::TapeMode::none ? core::TapeMode::recompute : wanted;
}
// Throws UNSUPPORTED for a tape that the layer does not have.
void check_tape_mode(const core::LayerSpec& spec, core::TapeMode mode);
// A checked forward of all steps that leaves this tape, or none, without the products of its synapses.
Forward make_forward(core::Layer& layer, const ForwardRequest& request, core::Tape* tape);
// Both throw INVALID_ARGUMENT, UNSUPPORTED or OUT_OF_MEMORY. run_forward() returns true if the caller captured it.
bool run_forward(core::Layer& layer, const ForwardRequest& request, synfire_stream stream);
void record_forward(core::Graph& graph, core::Layer& layer, const ForwardRequest& request);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(Forward);

#endif
