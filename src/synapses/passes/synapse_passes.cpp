// Turns requests into checked operations.
#include "synapse_passes.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>
#include <graph/operands.hpp>
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
View numbers(const Synapse& synapse, const Buffer& buffer, const char* name, const Extents& e, bool on_host) {
  if (buffer.dtype() != synapse.dtype())
    fail_argument("SYN-BUFFER-TYPE", "%s holds %s; %s is needed", name, name_of_dtype(buffer.dtype()),
                  name_of_dtype(synapse.dtype()));
  return stepped(buffer, name, {e.n_steps, e.batch, e.n_neurons}, text_of(synapse.dtype(), e), on_host);
}

View input_view(const Synapse& synapse, const Buffer& buffer, const char* name, const Extents& e, bool on_host) {
  if (synapse.reads_spikes()) return spike_view(buffer, name, e, on_host);
  const int32_t dtype = buffer.dtype();
  const bool fits = synapse.dtype() == SYNFIRE_DTYPE_F64
                        ? dtype == SYNFIRE_DTYPE_F64
                        : dtype == SYNFIRE_DTYPE_F32 || dtype == SYNFIRE_DTYPE_F16 || dtype == SYNFIRE_DTYPE_BF16;
  if (!fits)
    fail_argument("SYN-BUFFER-TYPE", "%s holds %s; %s is needed", name, name_of_dtype(dtype),
                  synapse.dtype() == SYNFIRE_DTYPE_F64 ? "f64" : "f32, f16 or bf16");
  return stepped(buffer, name, {e.n_steps, e.batch, e.n_neurons}, text_of(dtype, e), on_host);
}

Kept kept_views(const Synapse& synapse, const Buffer* mask, const Buffer* scale, const Extents& e, bool on_host) {
  if (!mask != !scale)
    fail_argument("SYN-SYNAPSE-DROPOUT", "desc.%s is null, but desc.%s is not; dropout needs both",
                  mask ? "input_scale" : "input_mask", mask ? "input_mask" : "input_scale");
  if (!mask) return {};
  if (!synapse.kind().takes_dropout)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-SYNAPSE-DROPOUT-KIND",
         "desc.input_mask is given; a synapse of the kind \"%s\" takes no dropout", synapse.kind().name);
  if (mask->dtype() != SYNFIRE_DTYPE_BITS)
    fail_argument("SYN-BUFFER-TYPE", "desc.input_mask holds %s; bits are needed", name_of_dtype(mask->dtype()));
  if (scale->dtype() != synapse.dtype())
    fail_argument("SYN-BUFFER-TYPE", "desc.input_scale holds %s; %s is needed", name_of_dtype(scale->dtype()),
                  name_of_dtype(synapse.dtype()));
  return {
      spike_view(*mask, "desc.input_mask", {1, e.batch, e.n_neurons}, on_host),
      stepped(*scale, "desc.input_scale", {1, 1}, std::string(name_of_dtype(synapse.dtype())).append(" [1]"), on_host)};
}

Extents input_extents(const Synapse& synapse, int64_t n_steps, int64_t batch) {
  return checked_extents({n_steps, batch, synapse.n_inputs()});
}

}  // namespace

View synapse_input(const Synapse& synapse, const Buffer& buffer, const char* name, int64_t n_steps, int64_t batch,
                   bool on_host) {
  return input_view(synapse, buffer, name, input_extents(synapse, n_steps, batch), on_host);
}

View synapse_input_gradient(const Synapse& synapse, const Buffer& buffer, const char* name, int64_t n_steps,
                            int64_t batch, bool on_host) {
  return numbers(synapse, buffer, name, input_extents(synapse, n_steps, batch), on_host);
}

OperationList synapse_forward(Synapse& synapse, const SynapseForwardRequest& request, bool on_host) {
  const Extents e = input_extents(synapse, request.n_steps, request.batch);
  const Extents outputs = checked_extents({e.n_steps, e.batch, synapse.n_outputs()});
  SynapsePass pass = {{&synapse}, e.n_steps, e.batch, on_host};
  pass.input = input_view(synapse, *request.input, "desc.input", e, on_host);
  const View output = numbers(synapse, *request.output, "desc.output", outputs, on_host);
  pass.kept = kept_views(synapse, request.input_mask, request.input_scale, e, on_host);
  pass.n_active = n_active_view(request.n_active, on_host);
  OperationList operations = synapse.kind().product(pass, output);
  check_overlap(operations);
  return operations;
}

void record_synapse_forward(Graph& graph, Synapse& synapse, const SynapseForwardRequest& request) {
  graph.record([&](Recorder& recorder) { return synapse_forward(synapse, request, recorder.on_host()); });
}

OperationList synapse_backward(Synapse& synapse, const SynapseBackwardRequest& request, bool on_host) {
  if (!request.input && !request.grad_input)
    fail_argument("SYN-SYNAPSE-NOTHING",
                  "desc.input and desc.grad_input are null; input is needed for the gradients of weights and bias, "
                  "grad_input for that of the input");
  const Extents e = input_extents(synapse, request.n_steps, request.batch);
  synapse.kind().check_gradients(synapse, e.n_steps, e.batch, request.input, request.grad_input);
  const Extents outputs = checked_extents({e.n_steps, e.batch, synapse.n_outputs()});
  SynapsePass pass = {{&synapse}, e.n_steps, e.batch, on_host};
  const View grad_output = numbers(synapse, *request.grad_output, "desc.grad_output", outputs, on_host);
  pass.n_active = n_active_view(request.n_active, on_host);
  pass.kept = kept_views(synapse, request.input_mask, request.input_scale, e, on_host);
  OperationList operations;
  if (request.input) {
    pass.input = input_view(synapse, *request.input, "desc.input", e, on_host);
    synapse.prepare_gradients();
    append(operations, synapse.kind().gradients(pass, grad_output, request.add_gradients));
  }
  if (request.grad_input) {
    const View grad_input = numbers(synapse, *request.grad_input, "desc.grad_input", e, on_host);
    append(operations, synapse.kind().input_gradient(pass, grad_output, grad_input, request.add_input_gradient));
  }
  check_overlap(operations);
  return operations;
}

void record_synapse_backward(Graph& graph, Synapse& synapse, const SynapseBackwardRequest& request) {
  graph.record([&](Recorder& recorder) { return synapse_backward(synapse, request, recorder.on_host()); });
}

}  // namespace synfire::operations
