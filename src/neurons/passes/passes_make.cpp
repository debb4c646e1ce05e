// Turns requests for passes into checked operations: types and shapes, the needs of tapes, gradients of parameters.
#include "backward.hpp"
#include "forward.hpp"
#include "gradient_sums.hpp"
#include "recurrence.hpp"

#include <base/error.hpp>
#include <base/view_checks.hpp>
#include <graph/eager_calls.hpp>
#include <graph/operands.hpp>
#include <graph/transients.hpp>
#include <neurons/graph_tapes.hpp>
#include <operations/elementwise/fill.hpp>
#include <operations/reduce/reduce.hpp>
#include <synapses/passes/synapse_passes.hpp>
#include <synapses/synapse.hpp>

#include <cstdio>
#include <optional>

namespace synfire::operations {

using namespace synfire::core;

// ---- what they touch ------------------------------------------------------------------------------------------------

void Forward::operands(Forward& op, OperandVisitor visit) {
  const auto say = [&](const char* known_as, View& view, Access access) { visit({known_as, view, access}); };
  // W has names of its own; variables after it are entries of a list.
  const auto say_further = [&](const char* w, const char* list, View* views, Access access) {
    for (int k = 0; k < model::max_further_states; ++k) say(k == 0 ? w : list, views[k], access);
  };
  say("desc.x", op.x, Access::read);
  if (op.v_out.data) {
    say("the layer's v", op.v_out, Access::update);
    say_further("the layer's w", "the layer's further state", op.w_out, Access::update);
  } else {
    say("desc.v_init", op.v_in, Access::read);
    say_further("desc.w_init", "desc.state_init", op.w_in, Access::read);
  }
  say("the layer's parameters", op.parameters, Access::read);
  say("desc.spikes", op.spikes, Access::write);
  say("desc.v_final", op.v_final, Access::write);
  say("desc.v_seq", op.v_seq, Access::write);
  say("desc.h_seq", op.h_seq, Access::write);
  say_further("desc.w_final", "desc.state_final", op.w_final, Access::write);
  say_further("desc.w_seq", "desc.state_seq", op.w_seq, Access::write);
  say("the tape's V", op.tape, Access::write);
  say("the tape's spikes", op.tape_spikes, Access::write);
  const bool over_x = op.tape_h.data && op.tape_h.data == op.x.data;
  visit({over_x ? "desc.x" : "the tape's H", op.tape_h, Access::write, Transfer::staged, &op.x});
  say("the rows of a forward", op.host_rows, Access::scratch);
}

void Backward::operands(Backward& op, OperandVisitor visit) {
  const auto say = [&](const char* known_as, View& view, Access access) { visit({known_as, view, access}); };
  const auto say_further = [&](const char* w, const char* list, View* views, Access access) {
    for (int k = 0; k < model::max_further_states; ++k) say(k == 0 ? w : list, views[k], access);
  };
  say("the forward's x", op.x, Access::read);
  say("the tape's V", op.tape, Access::read);
  say("the tape's H", op.tape_h, Access::read);
  say("the tape's spikes", op.tape_spikes, Access::read);
  say("the layer's parameters", op.parameters, Access::read);
  say("desc.grad_spike_seq", op.grad_spike, Access::read);
  say("desc.grad_v_seq", op.grad_v_seq, Access::read);
  say("desc.grad_v_final", op.grad_v_final, Access::read);
  say_further("desc.grad_w_seq", "desc.grad_state_seq", op.grad_w_seq, Access::read);
  say_further("desc.grad_w_final", "desc.grad_state_final", op.grad_w_final, Access::read);
  visit({"desc.grad_x_seq", op.grad_x, Access::write, Transfer::staged, op.in_place ? &op.grad_spike : nullptr});
  say("desc.grad_v_init", op.grad_v_init, Access::write);
  say_further("desc.grad_w_init", "desc.grad_state_init", op.grad_w_init, Access::write);
  say("the layer's sums of gradients", op.gradient_partials, Access::write);
  say("the rows of a backward", op.host_rows, Access::scratch);
}

namespace {

std::string synapse_text(const Synapse* synapse) {
  return synapse ? std::string("synapse of ").append(std::to_string(synapse->n_inputs())).append(" inputs") : "";
}

}  // namespace

OperationLabel label(const Forward& op) {
  return {op.layer, synapse_text(op.synapse)};
}
OperationLabel label(const Backward& op) {
  return {op.layer, synapse_text(op.synapse)};
}

// ---- checks ---------------------------------------------------------------------------------------------------------

namespace {

class Checker {
 public:
  explicit Checker(const LayerSpec& spec) : spec_(spec) {}

  // [T, B, N] in the layer's dtype or, beside 16-bit ones, in f32.
  View sequence(Buffer* buffer, const char* name) const {
    if (!buffer) return {};
    const int32_t allowed[] = {spec_.dtype, spec_.arithmetic()};
    check_type(*buffer, name, {allowed, spec_.is_narrow() ? 2u : 1u});
    return stepped(*buffer, name, {spec_.extents.n_steps, spec_.extents.batch, spec_.extents.n_neurons},
                   spec_.shape_text(true, buffer->dtype()));
  }

  // Packed spikes, or numbers in the type of the arithmetic, of as many steps as a recurrent synapse has a delay.
  View few_spikes(Buffer* buffer, const char* name, int64_t n_steps) const {
    if (!buffer) return {};
    check_type(*buffer, name, SYNFIRE_DTYPE_BITS);
    const Extents e = {n_steps, spec_.extents.batch, spec_.extents.n_neurons};
    return stepped(*buffer, name, {n_steps, e.batch, e.words_per_row()}, packed_text(SYNFIRE_DTYPE_BITS, e));
  }
  View few_numbers(Buffer* buffer, const char* name, int64_t n_steps) const {
    if (!buffer) return {};
    check_type(*buffer, name, spec_.arithmetic());
    return array_view(*buffer, name, {n_steps, spec_.extents.batch, spec_.extents.n_neurons});
  }

  // [B, N] in the type of the arithmetic.
  View row(Buffer* buffer, const char* name) const {
    if (!buffer) return {};
    check_type(*buffer, name, spec_.arithmetic());
    return stepped(*buffer, name, {1, spec_.extents.batch, spec_.extents.n_neurons},
                   spec_.shape_text(false, spec_.arithmetic()));
  }

  View spikes(Buffer* buffer, SpikeFormat& format) const {
    const char* const name = "desc.spikes";
    const Extents& e = spec_.extents;
    format = SpikeFormat::none;
    if (!buffer) return {};
    switch (buffer->dtype()) {
      case SYNFIRE_DTYPE_BITS:
        format = SpikeFormat::bits;
        return stepped(*buffer, name, {e.n_steps, e.batch, e.words_per_row()}, packed_text(buffer->dtype(), e));
      case SYNFIRE_DTYPE_TIME_BITS:
        format = SpikeFormat::time_bits;
        return stepped(*buffer, name, {spec_.time_words(), e.batch, e.n_neurons}, packed_text(buffer->dtype(), e));
      case SYNFIRE_DTYPE_U8:
        format = SpikeFormat::dense;
        return stepped(*buffer, name, {spec_.extents.n_steps, spec_.extents.batch, spec_.extents.n_neurons},
                       spec_.shape_text(true, SYNFIRE_DTYPE_U8));
      default:
        format = SpikeFormat::dense;
        return sequence(buffer, name);
    }
  }

 private:
  const LayerSpec& spec_;
};

struct NamedBuffer {
  const Buffer* buffer;
  const char* name;
};

void check_second_variable(const LayerSpec& spec, std::initializer_list<NamedBuffer> buffers) {
  for (const NamedBuffer& given : buffers)
    if (given.buffer && spec.model->n_states < 2)
      fail_argument("SYN-LAYER-NO-W", "%s is given; model \"%s\" has no second variable W, null is needed", given.name,
                    spec.model->name);
}

// The buffers of further variables: W's from its own field, all of them from a list of names.
struct FurtherBuffers {
  Buffer* of[model::max_further_states] = {};
  std::string names[model::max_further_states];  // the caller's

  FurtherBuffers(const LayerSpec& spec, Buffer* w, const char* w_name, const std::vector<StateRequest>& list,
                 const char* list_name) {
    check_second_variable(spec, {{w, w_name}});
    of[0] = w;
    names[0] = w_name;
    for (size_t i = 0; i < list.size(); ++i) {
      const std::string entry = std::string(list_name).append("[").append(std::to_string(i)).append("]");
      const int variable = find_state(*spec.model, list[i].name, (entry + ".name").c_str());
      if (variable == 0)
        fail_argument("SYN-STATE-NAME", "%s.name is \"v\"; V has fields of its own, this list is for the others",
                      entry.c_str());
      if (of[variable - 1])
        fail_argument("SYN-STATE-TWICE", "%s.name is \"%.64s\"; %s gives the same variable", entry.c_str(),
                      list[i].name, names[variable - 1].c_str());
      of[variable - 1] = list[i].buffer;
      names[variable - 1] = entry + ".buffer";
    }
  }
};

void check_fires(const LayerSpec& spec, const Buffer* buffer, const char* name) {
  if (buffer && spec.model->never_fires)
    fail_argument("SYN-LAYER-NO-SPIKES", "%s is given; model \"%s\" never fires, null is needed", name,
                  spec.model->name);
}

}  // namespace

void check_tape_mode(const LayerSpec& spec, TapeMode mode) {
  if (mode == TapeMode::store_narrow && !spec.is_narrow())
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-TAPE-NARROW",
         "desc.tape is SYNFIRE_TAPE_STORE_NARROW; the layer's dtype is %s, only layers of 16 bits have it",
         name_of_dtype(spec.dtype));
}

namespace {

void check_tape_request(const Layer& layer, const ForwardRequest& request) {
  const LayerSpec& spec = layer.spec();
  check_tape_mode(spec, request.tape);
  if (!request.in_place) return;
  if (request.tape != TapeMode::store && request.tape != TapeMode::store_narrow)
    fail_argument("SYN-FORWARD-IN-PLACE", "desc.in_place is 1; desc.tape must be one that stores H");
  const int32_t stored = request.tape == TapeMode::store ? spec.arithmetic() : spec.dtype;
  const int32_t given = request.synapse ? spec.arithmetic() : request.x->dtype();
  if (given != stored)
    fail_argument("SYN-FORWARD-IN-PLACE", "desc.in_place is 1; %s holds %s, and H would be stored in %s",
                  request.synapse ? "X of the synapse" : "desc.x", name_of_dtype(given), name_of_dtype(stored));
  if (!request.synapse && !layer.context()->device().is_host() && request.x->view().memory != SYNFIRE_MEMORY_DEVICE)
    fail_argument("SYN-FORWARD-IN-PLACE",
                  "desc.in_place is 1; desc.x is a buffer of %s memory, device memory is needed",
                  name_of_memory(request.x->view().memory));
  if (spec.model->slope_reads_input)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-FORWARD-IN-PLACE",
         "desc.in_place is 1; the backward of model \"%s\" needs X beside H", spec.model->name);
}

void check_synapse_request(const Layer& layer, const ForwardRequest& request) {
  if (!request.synapse) {
    if (request.synapse_input || request.n_active)
      fail_argument("SYN-FORWARD-SYNAPSE", "%s is given and desc.synapse is null",
                    request.synapse_input ? "desc.synapse_input" : "desc.n_active");
    return;
  }
  if (request.x)
    fail_argument("SYN-FORWARD-SYNAPSE", "desc.x and desc.synapse are given; a forward reads X or makes it");
  if (!request.synapse_input)
    fail_argument("SYN-FORWARD-SYNAPSE", "desc.synapse is given and desc.synapse_input is null");
  const LayerSpec& spec = layer.spec();
  const Synapse& synapse = *request.synapse;
  if (synapse.shape().history_steps > 0)
    fail(
        SYNFIRE_ERROR_UNSUPPORTED, "SYN-FORWARD-DELAYED",
        "desc.synapse is of the kind \"%s\"; its product is an operation of its own, whose output the layer reads as X",
        synapse.kind().name);
  if (synapse.n_outputs() != spec.extents.n_neurons)
    fail_argument("SYN-SYNAPSE-CHAIN", "desc.synapse has %lld outputs; the layer has %lld neurons",
                  static_cast<long long>(synapse.n_outputs()), static_cast<long long>(spec.extents.n_neurons));
  if (synapse.dtype() != spec.arithmetic())
    fail_argument("SYN-SYNAPSE-CHAIN", "desc.synapse is of %s; %s is needed, the type of the layer's arithmetic",
                  name_of_dtype(synapse.dtype()), name_of_dtype(spec.arithmetic()));
}

// ---- what a synapse and its layer share -----------------------------------------------------------------------------

// Numbers of the transient arrays that the entries of a pass use.
constexpr int32_t transient_x = 1, transient_grad_x = 2, transient_sums = 3;

View transient_sequence(const LayerSpec& spec, int32_t number) {
  const Extents& e = spec.extents;
  return transient_array(number, spec.arithmetic(), {e.n_steps, e.batch, e.n_neurons});
}

// The operations of the layer's synapse, which reads this input, as a part of a pass.
SynapsePass pass_of(Layer& layer, const TapeShape& shape, const char* input_name) {
  constexpr uint64_t one = sizeof(int64_t);
  const Extents& e = layer.spec().extents;
  SynapsePass pass = {{shape.synapse}, e.n_steps, e.batch};
  pass.input = synapse_input(*shape.synapse, *shape.x, input_name, e.n_steps, e.batch);
  pass.n_active = n_active_view(shape.n_active);
  pass.layer_active = layer.own(const_cast<int64_t*>(layer.active()), one, SYNFIRE_DTYPE_U64);
  return pass;
}

TapeShape shape_of(const LayerSpec& spec, const ForwardRequest& request) {
  return {request.synapse ? request.synapse_input : request.x,
          mode_of(spec, request.tape),
          request.in_place,
          request.synapse,
          request.n_active,
          request.recurrent};
}

OperationList with_product(Layer& layer, const ForwardRequest& request, const Forward& pass) {
  OperationList operations =
      request.synapse->kind().product(pass_of(layer, shape_of(layer.spec(), request), "desc.synapse_input"), pass.x);
  operations.emplace_back(pass);
  return operations;
}

RecurrentForward recurrence_of(Layer& layer, const ForwardRequest& request, const View& spikes) {
  const Checker check(layer.spec());
  const int64_t delay = request.recurrent.delay;
  return {.recurrent = request.recurrent,
          .x = request.synapse ? View{} : check.sequence(request.x, "desc.x"),
          .spikes = spikes,
          .spikes_init = check.few_spikes(request.spikes_init, "desc.spikes_init", delay),
          .spikes_final = check.few_spikes(request.spikes_final, "desc.spikes_final", delay),
          .n_active = n_active_view(request.n_active)};
}

// Entries of all steps, as the caller sees them: what overlaps there overlaps in those of a step.
void check_overlap_of(Layer& layer, const ForwardRequest& request, Forward pass) {
  OperationList operations;
  if (request.recurrent.synapse) {
    const RecurrentForward recurrence = recurrence_of(layer, request, passing_spikes(layer.spec()));
    if (!request.synapse) pass.x = recurrence.x;
    add_touched(recurrence, operations);
  }
  if (request.synapse)
    append(operations, with_product(layer, request, pass));
  else
    operations.emplace_back(pass);
  check_overlap(operations);
}

// A pass with the products of its synapses.
OperationList with_products(Layer& layer, const ForwardRequest& request, const Forward& pass, Tape* tape) {
  if (!request.recurrent.synapse) return with_product(layer, request, pass);
  OperationList operations;
  if (request.synapse) {
    operations = with_product(layer, request, pass);
    operations.pop_back();
  }
  const RecurrentForward recurrence =
      recurrence_of(layer, request, tape ? tape->recurrent_spikes() : passing_spikes(layer.spec()));
  add_steps(layer, pass, recurrence, operations);
  return operations;
}

bool has_products(const ForwardRequest& request) {
  return request.synapse || request.recurrent.synapse;
}

}  // namespace

Forward make_forward(Layer& layer, const ForwardRequest& request, Tape* tape) {
  const LayerSpec& spec = layer.spec();
  const Checker check(spec);
  check_synapse_request(layer, request);
  check_recurrence(spec, request);
  check_tape_request(layer, request);
  Forward op = {};
  op.layer = &layer;
  op.extents = spec.extents;
  op.synapse = request.synapse;
  op.x = has_products(request) ? transient_sequence(spec, transient_x) : check.sequence(request.x, "desc.x");
  check_fires(spec, request.spikes, "desc.spikes");
  op.spikes = check.spikes(request.spikes, op.spike_format);
  op.v_in = check.row(request.v_init, "desc.v_init");
  op.v_final = check.row(request.v_final, "desc.v_final");
  op.v_seq = check.sequence(request.v_seq, "desc.v_seq");
  op.h_seq = check.sequence(request.h_seq, "desc.h_seq");
  const FurtherBuffers w_init(spec, request.w_init, "desc.w_init", request.state_init, "desc.state_init");
  const FurtherBuffers w_final(spec, request.w_final, "desc.w_final", request.state_final, "desc.state_final");
  const FurtherBuffers w_seq(spec, request.w_seq, "desc.w_seq", request.state_seq, "desc.state_seq");
  const int n_further = spec.model->n_states - 1;
  for (int k = 0; k < n_further; ++k) {
    op.w_in[k] = check.row(w_init.of[k], w_init.names[k].c_str());
    op.w_final[k] = check.row(w_final.of[k], w_final.names[k].c_str());
    op.w_seq[k] = check.sequence(w_seq.of[k], w_seq.names[k].c_str());
    if (!op.v_in.data == !op.w_in[k].data) continue;
    const std::string own =
        k == 0
            ? "desc.w_init"
            : std::string("\"").append(spec.model->states[static_cast<size_t>(k) + 1]).append("\" of desc.state_init");
    fail_argument("SYN-FORWARD-INIT", "%s is given and %s is null; a forward begins from %s or from the layer's state",
                  op.v_in.data ? "desc.v_init" : own.c_str(), op.v_in.data ? own.c_str() : "desc.v_init",
                  n_further == 1 ? "both" : "all variables");
  }
  if (!op.v_in.data) {
    op.v_in = op.v_out = layer.state_memory(0);
    for (int k = 0; k < n_further; ++k) op.w_in[k] = op.w_out[k] = layer.state_memory(k + 1);
  }
  op.parameters = layer.parameter_memory();
  op.host_rows = forward_rows_of(layer.context()->device(), spec);
  // Invalid requests are refused before the tape allocates memory.
  if (request.in_place) op.tape_h = op.x;
  if (has_products(request)) {
    check_overlap_of(layer, request, op);
  } else {
    const Operation operation = op;
    check_overlap({&operation, 1});
  }
  op.tape_h = {};
  if (tape) {
    const auto lock = layer.lock_parameters();
    const TapeShape shape = shape_of(spec, request);
    tape->provide(shape, layer.keeps_x(shape));
    op.tape = tape->checkpoints(shape);
    op.tape_h = tape->stored_h(shape, op.x);
    op.tape_spikes = tape->spikes(shape);
    if (layer.keeps_x(shape)) op.x = tape->kept_x();
    if (request.synapse && request.in_place) op.x = op.tape_h;
  }
  return op;
}

// ---- gradients of parameters ----------------------------------------------------------------------------------------

namespace {

// f64 [sums]: of a graph, or of the layer for backwards that run now, which must not allocate.
View gradient_sums(Layer& layer, int64_t n_sums, When when) {
  if (when == When::recorded) return transient_array(transient_sums, SYNFIRE_DTYPE_F64, {n_sums});
  return layer.own(layer.provide_gradient_sums(), static_cast<uint64_t>(n_sums) * sizeof(double), SYNFIRE_DTYPE_F64);
}

// The gradients of parameters that a backward sums up.
std::vector<GradientSum> gradient_sums_of(const Layer& layer, const BackwardRequest& request) {
  const LayerSpec& spec = layer.spec();
  check_gradient_count(spec, request.gradients.size(), "desc.n_parameter_gradients");
  std::vector<GradientSum> sums;
  for (size_t i = 0; i < request.gradients.size(); ++i) {
    char name[64];
    std::snprintf(name, sizeof name, "desc.parameter_gradients[%zu].name", i);
    const int32_t row = layer.parameters().gradient_row(request.gradients[i].parameter, name);
    const Buffer& gradient = *request.gradients[i].gradient;
    std::snprintf(name, sizeof name, "desc.parameter_gradients[%zu].gradient", i);
    check_type(gradient, name, spec.arithmetic());
    const uint64_t held = gradient.view().bytes / spec.element_bytes();
    check_gradient_length(spec, held, name);
    const int64_t lengths[] = {static_cast<int64_t>(held)};
    check_shape(gradient, name, lengths,
                std::string(name_of_dtype(gradient.dtype())).append(" ").append(lengths_text(lengths)));
    check_memory(gradient, name);
    sums.push_back({row, gradient.view()});
  }
  return sums;
}

void check_synapse_request(const BackwardRequest& request, const TapeShape& shape) {
  if (shape.synapse) return;
  const bool has_gradients = shape.recurrent.synapse;  // of weights
  const char* const given = request.grad_synapse_input       ? "desc.grad_synapse_input"
                            : request.add_input_gradient     ? "desc.add_input_gradient"
                            : has_gradients                  ? nullptr
                            : request.add_synapse_gradients  ? "desc.add_synapse_gradients"
                            : request.skip_synapse_gradients ? "desc.skip_synapse_gradients"
                                                             : nullptr;
  if (given)
    fail_argument("SYN-BACKWARD-SYNAPSE", "%s is given; the forward to which this backward belongs had no synapse",
                  given);
}

// dL/dX: the caller's, or shared by the backward and the operations of the synapse, which read it in f32 or f64.
View grad_x_of(const Checker& check, const LayerSpec& spec, const BackwardRequest& request, const TapeShape& shape,
               bool is_read) {
  if (!request.grad_x_seq) return is_read ? transient_sequence(spec, transient_grad_x) : View{};
  View view = check.sequence(request.grad_x_seq, "desc.grad_x_seq");
  if (!shape.synapse && !shape.recurrent.synapse) return view;
  check_type(*request.grad_x_seq, "desc.grad_x_seq", spec.arithmetic());  // which the synapse reads
  view.passed_on = true;
  return view;
}

// The steps of a backward and the gradients of both synapses, of which those of the first one are given.
OperationList unrolled(Layer& layer, const Backward& pass, const BackwardRequest& request, const TapeShape& shape,
                       const RecurrentBackward& recurrence, OperationList&& of_synapse) {
  Synapse& synapse = *shape.recurrent.synapse;
  const bool trains = layer.trains_recurrent(shape, request.use());
  synapse.kind().check_gradients(synapse, pass.extents.n_steps, pass.extents.batch, trains, true);
  // Entries of all steps, as the caller sees them: what overlaps there overlaps in those of a step.
  OperationList touched = of_synapse;
  touched.emplace_back(pass);
  for (const GradientSum& sum : recurrence.sums) touched.emplace_back(Fill{sum.out, 0});
  add_touched(recurrence, touched);
  check_overlap(touched);
  OperationList operations;
  add_steps(layer, pass, recurrence, operations);
  append(operations, std::move(of_synapse));
  if (!trains) return operations;
  synapse.prepare_gradients();
  const bool add = request.add_synapse_gradients || shape.synapse == &synapse;
  add_recurrent_gradients(layer, recurrence, pass.grad_x, add, operations);
  return operations;
}

}  // namespace

OperationList make_backward(Layer& layer, const BackwardRequest& request, Tape& tape, const TapeShape& shape,
                            When when) {
  const LayerSpec& spec = layer.spec();
  const Checker check(spec);
  check_synapse_request(request, shape);
  check_recurrence(request, shape);
  if (shape.in_place && !shape.synapse && !request.gradients.empty())
    fail_argument(
        "SYN-GRADIENT-IN-PLACE",
        "desc.n_parameter_gradients is %zu; the forward wrote H over X (in_place), which gradients of parameters "
        "need",
        request.gradients.size());
  Backward op = {};
  op.layer = &layer;
  op.extents = spec.extents;
  op.synapse = shape.synapse;
  const TapeUse use = request.use();
  const bool trains = layer.trains_synapse(shape, use), repeats = layer.repeats_product(shape, use);
  const bool is_recurrent = shape.recurrent.synapse, trains_recurrent = layer.trains_recurrent(shape, use);
  const View x = layer.keeps_x(shape) ? tape.kept_x()
                 : shape.synapse      ? transient_sequence(spec, transient_x)
                                      : check.sequence(shape.x, "the forward's x");
  if (layer.reads_x(shape, use.parameter_gradients)) op.x = x;
  op.in_place = request.in_place;
  op.parameters = layer.parameter_memory();
  if (!spec.model->linear || !request.gradients.empty()) {
    op.tape = tape.checkpoints(shape);
    op.tape_h = tape.stored_h(shape, x);
    op.tape_spikes = tape.spikes(shape);
    op.host_rows = backward_rows_of(layer.context()->device(), spec);
  }
  check_fires(spec, request.grad_spike_seq, "desc.grad_spike_seq");
  op.grad_spike = check.sequence(request.grad_spike_seq, "desc.grad_spike_seq");
  op.grad_v_seq = check.sequence(request.grad_v_seq, "desc.grad_v_seq");
  op.grad_v_final = check.row(request.grad_v_final, "desc.grad_v_final");
  op.grad_x = grad_x_of(check, spec, request, shape, trains || is_recurrent || request.grad_synapse_input);
  op.grad_v_init = check.row(request.grad_v_init, "desc.grad_v_init");
  const FurtherBuffers w_seq(spec, request.grad_w_seq, "desc.grad_w_seq", request.grad_state_seq,
                             "desc.grad_state_seq");
  const FurtherBuffers w_final(spec, request.grad_w_final, "desc.grad_w_final", request.grad_state_final,
                               "desc.grad_state_final");
  const FurtherBuffers w_init(spec, request.grad_w_init, "desc.grad_w_init", request.grad_state_init,
                              "desc.grad_state_init");
  const bool of_input = request.grad_synapse_input;
  const bool has_grad_x = is_recurrent
                              ? request.grad_x_seq || trains || trains_recurrent || of_input || request.grad_spikes_init
                              : op.grad_x.bytes > 0;
  bool has_output = has_grad_x || op.grad_v_init.data || !request.gradients.empty();
  for (int k = 0; k < spec.model->n_states - 1; ++k) {
    op.grad_w_seq[k] = check.sequence(w_seq.of[k], w_seq.names[k].c_str());
    op.grad_w_final[k] = check.row(w_final.of[k], w_final.names[k].c_str());
    op.grad_w_init[k] = check.row(w_init.of[k], w_init.names[k].c_str());
    has_output = has_output || op.grad_w_init[k].data;
  }
  if (!has_output)
    fail_argument(
        "SYN-BACKWARD-OUTPUT",
        "desc.grad_x_seq, desc.grad_v_init and desc.grad_w_init are all null, desc.n_parameter_gradients is 0 and "
        "there are no gradients of a synapse to compute; at least one output is needed");
  OperationList operations;
  const std::vector<GradientSum> sums = gradient_sums_of(layer, request);
  const int64_t n_sums = n_gradient_sums(op.extents, sums.size());
  const auto scratch = [&] { return gradient_sums(layer, n_sums, when); };
  std::optional<SynapsePass> pass;
  if (repeats || trains || of_input) pass = pass_of(layer, shape, "the forward's synapse_input");
  if (repeats) append(operations, shape.synapse->kind().product(*pass, op.x));
  if (!is_recurrent && sums.empty()) operations.emplace_back(op);
  if (!is_recurrent && !sums.empty())
    add_gradient_sums(layer, op, sums, request.add_gradients, scratch, nullptr, operations);
  if (trains || of_input)
    shape.synapse->kind().check_gradients(*shape.synapse, pass->n_steps, pass->batch, trains, of_input);
  if (trains) {
    shape.synapse->prepare_gradients();
    append(operations, shape.synapse->kind().gradients(*pass, op.grad_x, request.add_synapse_gradients));
  }
  if (of_input) {
    const View grad_input = synapse_input_gradient(*shape.synapse, *request.grad_synapse_input,
                                                   "desc.grad_synapse_input", pass->n_steps, pass->batch);
    append(operations, shape.synapse->kind().input_gradient(*pass, op.grad_x, grad_input, request.add_input_gradient));
  }
  if (!is_recurrent) {
    check_overlap(operations);
    return operations;
  }
  return unrolled(
      layer, op, request, shape,
      {.recurrent = shape.recurrent,
       .spikes = tape.recurrent_spikes(),
       .grad_spikes_final =
           check.few_numbers(request.grad_spikes_final, "desc.grad_spikes_final", shape.recurrent.delay),
       .grad_spikes_init = check.few_numbers(request.grad_spikes_init, "desc.grad_spikes_init", shape.recurrent.delay),
       .n_active = n_active_view(shape.n_active),
       .sums = sums,
       .add_gradients = request.add_gradients,
       .scratch = scratch},
      std::move(operations));
}

namespace {

TapeShape tape_left_by(const LayerSpec& spec, const ForwardRequest& request) {
  return request.tape == TapeMode::none ? TapeShape{} : shape_of(spec, request);
}

}  // namespace

// ---- calls ----------------------------------------------------------------------------------------------------------

bool run_forward(Layer& layer, const ForwardRequest& request, synfire_stream stream) {
  const EagerCall call(*layer.context(), stream);
  const TapeShape left = tape_left_by(layer.spec(), request);
  Tape* const tape = left.x ? &layer.eager_tape() : nullptr;
  const Forward pass = make_forward(layer, request, tape);
  const auto spoil = [&] {
    if (tape) tape->spoil();
    layer.leave_tape(nullptr);
  };
  // No list without a synapse: an eager forward must not allocate then.
  bool captured = false;
  if (has_products(request)) {
    captured = call.run(with_products(layer, request, pass, tape), spoil);
  } else {
    const Operation operation = pass;
    captured = call.run({&operation, 1}, spoil);
  }
  if (tape) {
    tape->leave(left, tape->stamp(layer, left));
    layer.expect_tape(*tape);
  }
  layer.leave_tape(tape);
  return captured;
}

void record_forward(Graph& graph, Layer& layer, const ForwardRequest& request) {
  graph.record([&](Recorder& recorder) {
    Tape* const tape = GraphTapes::of(recorder).leaves(recorder, layer, tape_left_by(layer.spec(), request));
    const Forward pass = make_forward(layer, request, tape);
    return has_products(request) ? with_products(layer, request, pass, tape) : OperationList{pass};
  });
}

bool run_backward(Layer& layer, const BackwardRequest& request, synfire_stream stream) {
  const EagerCall call(*layer.context(), stream);
  if (request.forward)
    fail_argument("SYN-BACKWARD-FORWARD",
                  "desc.forward names operation %u of a graph; a backward that runs now uses the forward that ran last",
                  *request.forward);
  const Ref<Tape> tape = layer.left_tape();
  const auto [shape, input] = tape->left();
  if (!shape.x) fail_no_tape();
  tape->check(layer, layer.reads_input(shape, request.use()));
  return call.run(make_backward(layer, request, *tape, shape, When::now));
}

void record_backward(Graph& graph, Layer& layer, const BackwardRequest& request) {
  graph.record([&](Recorder& recorder) {
    Tape& tape = GraphTapes::of(recorder).reads(recorder, layer, request.forward, request.use(), request.tape);
    return make_backward(layer, request, tape, tape.expected().first, When::recorded);
  });
}

}  // namespace synfire::operations
