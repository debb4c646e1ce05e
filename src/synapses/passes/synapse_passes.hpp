// Turns requests for products of synapses, and their gradients, into operations of the kind (synapses/synapse.hpp).
#ifndef SYNFIRE_SYNAPSES_PASSES_SYNAPSE_PASSES_HPP
#define SYNFIRE_SYNAPSES_PASSES_SYNAPSE_PASSES_HPP

#include <base/buffer.hpp>
#include <graph/graph.hpp>
#include <synapses/synapse.hpp>

#include <iterator>

namespace synfire::operations {

struct SynapseForwardRequest {
  int64_t n_steps, batch;
  core::Buffer *input, *output, *n_active;  // n_active may be null
  core::Buffer *input_mask, *input_scale;   // may be null
  int64_t mask_channels = 0;                // 0 means K
  // A synapse with delays takes these; they may be null.
  core::Buffer *history = nullptr, *next_history = nullptr;
  bool round_delays = false;
};
core::OperationList synapse_forward(core::Synapse& synapse, const SynapseForwardRequest& request);
void record_synapse_forward(core::Graph& graph, core::Synapse& synapse, const SynapseForwardRequest& request);

struct SynapseBackwardRequest {
  int64_t n_steps, batch;
  core::Buffer *grad_output, *input, *grad_input, *n_active;  // all but the first may be null
  bool add_gradients, add_input_gradient;
  core::Buffer *input_mask, *input_scale;  // may be null
  int64_t mask_channels = 0;               // 0 means K
  core::Buffer* history = nullptr;         // of a synapse with delays; may be null
};
core::OperationList synapse_backward(core::Synapse& synapse, const SynapseBackwardRequest& request);
void record_synapse_backward(core::Graph& graph, core::Synapse& synapse, const SynapseBackwardRequest& request);

// ---- steps of a synapse with delays, in a cycle of a network --------------------------------------------------------

// The history of the next pass, from the packed inputs of all steps.
struct SynapseHistoryRequest {
  int64_t n_steps, batch;
  core::Buffer *inputs, *history, *next_history, *n_active;  // n_active may be null
};
core::OperationList synapse_history(core::Synapse& synapse, const SynapseHistoryRequest& request);
// Adds to grad_input, of all steps, what a step of grad_output gives, from the last one to the first. It reads neither
// the input nor the history.
core::OperationList synapse_backward_of_step(core::Synapse& synapse, const SynapseBackwardRequest& request,
                                             int64_t step);

// ---- checks, also for passes of layers ------------------------------------------------------------------------------

// Spikes in any format, counts in u8, or values that a synapse of this type reads: [T, B, K].
core::View synapse_input(const core::Synapse& synapse, const core::Buffer& buffer, const char* name, int64_t n_steps,
                         int64_t batch);
// [T, B, K] in the type of the synapse.
core::View synapse_input_gradient(const core::Synapse& synapse, const core::Buffer& buffer, const char* name,
                                  int64_t n_steps, int64_t batch);

// The entries of a pass, one after the other.
inline void append(core::OperationList& to, core::OperationList&& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

}  // namespace synfire::operations

#endif
