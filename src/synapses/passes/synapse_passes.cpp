// Turns requests into checked operations.
#include "synapse_passes.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>
#include <graph/operands.hpp>
#include <operations/keep_inputs/keep_inputs.hpp>
#include <operations/reduce/reduce.hpp>
#include <operations/spikes/spike_views.hpp>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// ---- arguments ------------------------------------------------------------------------------------------------------

std::string text_of(int32_t dtype, const Extents& e) {
  return std::string(name_of_dtype(dtype)).append(" ").append(shape_text(e));
}

// Numbers [T, B, n] in the type of the synapse.
View numbers(const Synapse& synapse, const Buffer& buffer, const char* name, const Extents& e) {
  check_type(buffer, name, synapse.dtype());
  return stepped(buffer, name, {e.n_steps, e.batch, e.n_neurons}, text_of(synapse.dtype(), e));
}

View input_view(const Synapse& synapse, const Buffer& buffer, const char* name, const Extents& e) {
  if (synapse.reads_spikes()) return spike_view(buffer, name, e);
  if (synapse.reads_counts())
    check_type(buffer, name, SYNFIRE_DTYPE_U8);
  else
    check_type(buffer, name, number_dtypes_beside(synapse.dtype()));
  return stepped(buffer, name, {e.n_steps, e.batch, e.n_neurons}, text_of(buffer.dtype(), e));
}

// The number of the expanded mask among the transient arrays of a list; kinds take others from 1 on.
constexpr int32_t transient_mask = most_of_a_list;

// Bits of a row of the mask.
int64_t channels_of(const Buffer* mask, int64_t mask_channels, int64_t n_inputs) {
  if (!mask && mask_channels != 0)
    fail_argument("SYN-SYNAPSE-MASK-CHANNELS", "desc.mask_channels is %lld; it must be 0 without desc.input_mask",
                  static_cast<long long>(mask_channels));
  if (mask_channels == 0) return n_inputs;
  if (mask_channels < 0 || n_inputs % mask_channels != 0)
    fail_argument("SYN-SYNAPSE-MASK-CHANNELS",
                  "desc.mask_channels is %lld; it must divide the number of inputs, %lld (0 means all of them)",
                  static_cast<long long>(mask_channels), static_cast<long long>(n_inputs));
  return mask_channels;
}

// A mask of channels is expanded by an entry of the list, before those that read it.
Kept kept_views(const Synapse& synapse, const Buffer* mask, const Buffer* scale, int64_t mask_channels,
                const Extents& e, OperationList& operations) {
  if (!mask != !scale)
    fail_argument("SYN-SYNAPSE-DROPOUT", "desc.%s is null, but desc.%s is not; dropout needs both",
                  mask ? "input_scale" : "input_mask", mask ? "input_mask" : "input_scale");
  const int64_t n_channels = channels_of(mask, mask_channels, e.n_neurons);
  if (!mask) return {};
  if (!synapse.kind().takes_dropout)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-SYNAPSE-DROPOUT-KIND",
         "desc.input_mask is given; a synapse of the kind \"%s\" takes no dropout", synapse.kind().name);
  check_type(*mask, "desc.input_mask", SYNFIRE_DTYPE_BITS);
  check_type(*scale, "desc.input_scale", synapse.dtype());
  Kept kept = {spike_view(*mask, "desc.input_mask", {1, e.batch, n_channels}),
               stepped(*scale, "desc.input_scale", {1, 1}, std::string(name_of_dtype(synapse.dtype())).append(" [1]"))};
  if (n_channels != e.n_neurons) {
    const KeepInputs expand = expand_mask(transient_mask, e, kept.mask, n_channels);
    operations.push_back(expand);
    kept.mask = expand.kept;
  }
  return kept;
}

// Spikes of the steps before a pass, packed; nothing if none are given.
View history_view(const Synapse& synapse, const Buffer* history, const char* name, int64_t batch) {
  if (!history) return {};
  const int64_t n_steps = synapse.shape().history_steps;
  if (n_steps == 0)
    fail_argument("SYN-SYNAPSE-HISTORY", "%s is given; a synapse of the kind \"%s\" has no delays", name,
                  synapse.kind().name);
  check_type(*history, name, SYNFIRE_DTYPE_BITS);
  return spike_view(*history, name, {n_steps, batch, synapse.n_inputs()});
}

Extents input_extents(const Synapse& synapse, int64_t n_steps, int64_t batch) {
  return checked_extents({n_steps, batch, synapse.n_inputs()});
}

}  // namespace

View synapse_input(const Synapse& synapse, const Buffer& buffer, const char* name, int64_t n_steps, int64_t batch) {
  return input_view(synapse, buffer, name, input_extents(synapse, n_steps, batch));
}

View synapse_input_gradient(const Synapse& synapse, const Buffer& buffer, const char* name, int64_t n_steps,
                            int64_t batch) {
  return numbers(synapse, buffer, name, input_extents(synapse, n_steps, batch));
}

OperationList synapse_forward(Synapse& synapse, const SynapseForwardRequest& request) {
  const Extents e = input_extents(synapse, request.n_steps, request.batch);
  const Extents outputs = checked_extents({e.n_steps, e.batch, synapse.n_outputs()});
  SynapsePass pass = {{&synapse}, e.n_steps, e.batch};
  pass.input = input_view(synapse, *request.input, "desc.input", e);
  const View output = numbers(synapse, *request.output, "desc.output", outputs);
  OperationList operations;
  pass.kept = kept_views(synapse, request.input_mask, request.input_scale, request.mask_channels, e, operations);
  pass.n_active = n_active_view(request.n_active);
  pass.history = history_view(synapse, request.history, "desc.history", e.batch);
  pass.next_history = history_view(synapse, request.next_history, "desc.next_history", e.batch);
  pass.rounded = request.round_delays;
  append(operations, synapse.kind().product(pass, output));
  check_overlap(operations);
  return operations;
}

void record_synapse_forward(Graph& graph, Synapse& synapse, const SynapseForwardRequest& request) {
  graph.record([&](Recorder&) { return synapse_forward(synapse, request); });
}

OperationList synapse_backward(Synapse& synapse, const SynapseBackwardRequest& request) {
  if (!request.input && !request.grad_input)
    fail_argument("SYN-SYNAPSE-NOTHING",
                  "desc.input and desc.grad_input are null; input is needed for the gradients of weights and bias, "
                  "grad_input for that of the input");
  const bool reads_again = request.grad_input && synapse.kind().input_gradient_reads_input;
  if (reads_again && !request.input)
    fail_argument("SYN-SYNAPSE-INPUT",
                  "desc.input is null; a synapse of the kind \"%s\" needs the input for desc.grad_input",
                  synapse.kind().name);
  const bool of_arrays = request.input && !(reads_again && synapse.is_frozen());
  const Extents e = input_extents(synapse, request.n_steps, request.batch);
  synapse.kind().check_gradients(synapse, e.n_steps, e.batch, of_arrays, request.grad_input);
  const Extents outputs = checked_extents({e.n_steps, e.batch, synapse.n_outputs()});
  SynapsePass pass = {{&synapse}, e.n_steps, e.batch};
  const View grad_output = numbers(synapse, *request.grad_output, "desc.grad_output", outputs);
  pass.n_active = n_active_view(request.n_active);
  OperationList operations;
  pass.kept = kept_views(synapse, request.input_mask, request.input_scale, request.mask_channels, e, operations);
  if (request.input) pass.input = input_view(synapse, *request.input, "desc.input", e);
  pass.history = history_view(synapse, request.history, "desc.history", e.batch);
  if (of_arrays) {
    synapse.prepare_gradients();
    append(operations, synapse.kind().gradients(pass, grad_output, request.add_gradients));
  }
  if (request.grad_input) {
    const View grad_input = numbers(synapse, *request.grad_input, "desc.grad_input", e);
    append(operations, synapse.kind().input_gradient(pass, grad_output, grad_input, request.add_input_gradient));
  }
  check_overlap(operations);
  return operations;
}

OperationList synapse_history(Synapse& synapse, const SynapseHistoryRequest& request) {
  const Extents e = input_extents(synapse, request.n_steps, request.batch);
  SynapsePass pass = {{&synapse}, e.n_steps, e.batch};
  pass.input = input_view(synapse, *request.inputs, "desc.input", e);
  pass.n_active = n_active_view(request.n_active);
  pass.history = history_view(synapse, request.history, "desc.history", e.batch);
  pass.next_history = history_view(synapse, request.next_history, "desc.next_history", e.batch);
  return synapse.kind().keep_history(pass);
}

OperationList synapse_backward_of_step(Synapse& synapse, const SynapseBackwardRequest& request, int64_t step) {
  const Extents e = input_extents(synapse, request.n_steps, request.batch);
  synapse.kind().check_gradients(synapse, 1, e.batch, false, true);
  const Extents outputs = checked_extents({e.n_steps, e.batch, synapse.n_outputs()});
  SynapsePass pass = {{&synapse}, e.n_steps, e.batch};
  pass.n_active = n_active_view(request.n_active);
  const View grad_output = numbers(synapse, *request.grad_output, "desc.grad_output", outputs),
             grad_input = numbers(synapse, *request.grad_input, "desc.grad_input", e);
  return synapse.kind().input_gradient_of_step(pass, step, grad_output, grad_input);
}

void record_synapse_backward(Graph& graph, Synapse& synapse, const SynapseBackwardRequest& request) {
  graph.record([&](Recorder&) { return synapse_backward(synapse, request); });
}

}  // namespace synfire::operations
