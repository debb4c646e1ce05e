// BPTT: the gradients of a forward, with surrogates in place of the spike's derivative.
#ifndef SYNFIRE_NEURONS_PASSES_BACKWARD_HPP
#define SYNFIRE_NEURONS_PASSES_BACKWARD_HPP

#include "forward.hpp"
#include "passes_arguments.hpp"

#include <graph/graph.hpp>
#include <neurons/layer.hpp>
#include <operations/kind.hpp>

#include <optional>
#include <synapses/synapse.hpp>
#include <vector>

namespace synfire::operations {

struct Backward {
  core::Layer* layer;
  Extents extents;  // of this pass: at most those of the layer
  bool in_place;    // grad_x may be grad_spike
  View x;           // what the taped forward read; not given when H is stored and X is not needed
  View tape;
  View tape_h;  // not given if H is recomputed
  View tape_spikes;
  View parameters;    // of the layer
  View grad_spike;    // [T, B, N]
  View grad_v_seq;    // [T, B, N]
  View grad_v_final;  // [B, N]
  View grad_x;        // [T, B, N]
  View grad_v_init;   // [B, N]
  // As V, for each further variable of the model, W first.
  View grad_w_seq[model::max_further_states];
  View grad_w_final[model::max_further_states];
  View grad_w_init[model::max_further_states];
  GradientRows gradients;
  View gradient_partials;        // f64 [gradients.count, B, N]
  View host_rows;                // scratch, on the host: rows of the tiles that threads work on
  const core::Synapse* synapse;  // that made X, or null

  static constexpr const char* name = "backward";
  static void operands(Backward& op, OperandVisitor visit);
};
OperationLabel label(const Backward& op);
bool wants_threads(const Backward& op);
void run(const Backward& op, host::Launcher& launcher);
cuda::Hints hints(const Backward& op, const cuda::GpuShape& gpu);
void enqueue(const Backward& op, cuda::Launcher& launcher);

View backward_rows_of(const core::Device& device, const core::LayerSpec& spec);

struct GradientRequest {
  core::ParameterName parameter;
  core::Buffer* gradient;  // one element, or one per neuron
};
// Null means "not given".
struct BackwardRequest {
  core::Buffer *grad_spike_seq, *grad_v_seq, *grad_v_final, *grad_x_seq, *grad_v_init, *grad_w_seq, *grad_w_final,
      *grad_w_init;
  std::vector<StateRequest> grad_state_seq, grad_state_final, grad_state_init;  // of further variables, by name
  std::vector<GradientRequest> gradients;
  bool in_place;
  bool add_gradients;               // to what their buffers hold
  std::optional<uint32_t> forward;  // the forward's operation number in the graph; if not given, the newest
  core::Tape* tape = nullptr;       // of the forward, in place of its number, also if that is in another graph
  core::Buffer* grad_synapse_input;
  bool add_synapse_gradients, add_input_gradient, skip_synapse_gradients;
  core::Buffer *grad_spikes_final = nullptr, *grad_spikes_init = nullptr;  // with a recurrent synapse

  core::TapeUse use() const { return {!gradients.empty(), !skip_synapse_gradients}; }
};
enum class When { now, recorded };
// A checked backward of the forward that left this tape, with gradients of parameters and the synapse's operations.
core::OperationList make_backward(core::Layer& layer, const BackwardRequest& request, core::Tape& tape,
                                  const core::TapeShape& shape, When when = When::now);
// Runs a backward of the last forward; returns true if captured. Throws INVALID_ARGUMENT, STALE_TAPE, OUT_OF_MEMORY.
bool run_backward(core::Layer& layer, const BackwardRequest& request, synfire_stream stream);
void record_backward(core::Graph& graph, core::Layer& layer, const BackwardRequest& request);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(Backward);

#endif
