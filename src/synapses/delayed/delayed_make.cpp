// The object and the kind: its memory and initial arrays, and the operations that a pass asks for.
#include "delayed.hpp"

#include <base/error.hpp>
#include <base/host_memory.hpp>
#include <graph/operands.hpp>
#include <graph/transients.hpp>
#include <operations/encode/philox.hpp>
#include <synapses/dense/initial_weights.hpp>
#include <synapses/passes/synapse_passes.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

namespace synfire::operations {

using namespace synfire::core;

// ---- the object -----------------------------------------------------------------------------------------------------

namespace {

SynapseShape delayed_shape_of(const DelayedSpec& spec) {
  SynapseShape shape = {{},
                        {},
                        spec.dtype(),
                        spec.weights.frozen,
                        spec.weights.gradient_bits,
                        spec.weights.weight_bits,
                        spec.weights.masked};
  shape.input.channels = spec.n_inputs();
  shape.input.elements = Elements::spikes;
  shape.output.channels = spec.n_outputs();
  shape.history_steps = spec.max_delay;
  return shape;
}

// Delays have a block of counters of their own, beside those of weights and biases.
constexpr uint32_t of_delays = 2;

// Uniform from 0 to M: any number, or whole ones.
double drawn_delay(const DelayedSpec& spec, int64_t index) {
  const auto number = static_cast<uint64_t>(index);
  const Words4 drawn =
      philox({{static_cast<uint32_t>(number), static_cast<uint32_t>(number >> 32), of_delays, 0}}, spec.weights.seed);
  const uint64_t word = drawn.word[0] | static_cast<uint64_t>(drawn.word[1]) << 32;
  const double fraction = (static_cast<double>(word >> 12) + 0.5) * 0x1p-52;  // between 0 and 1, both exclusive
  const auto most = static_cast<double>(spec.max_delay);
  return spec.learns ? fraction * most : static_cast<double>(static_cast<int64_t>(fraction * (most + 1)));
}

template <class R>
void upload_start(DelayedSynapse& synapse, const double* delays) {
  const DelayedSpec& spec = synapse.spec();
  Device& device = synapse.context()->device();
  require_host_memory(spec.weights.weight_bytes(), Paging::pageable);
  device.upload(synapse.weights().data, initial_weights<R>(spec.weights).data(), spec.weights.weight_bytes());
  if (spec.weights.has_bias)
    device.upload(synapse.bias().data, initial_biases<R>(spec.weights).data(), spec.weights.bias_bytes());
  std::vector<R> numbers(static_cast<size_t>(spec.n_delays()));
  for (int64_t i = 0; i < spec.n_delays(); ++i)
    numbers[static_cast<size_t>(i)] = static_cast<R>(delays ? delays[i] : drawn_delay(spec, i));
  device.upload(synapse.delays().data, numbers.data(), spec.delay_bytes());
  const auto width = static_cast<R>(spec.width);
  if (spec.learns) device.upload(synapse.width().data, &width, sizeof width);
}

}  // namespace

DelayedSynapse::DelayedSynapse(Context& context, const DelayedSpec& spec, const uint8_t* mask)
    : Synapse(context, delayed_kind, delayed_shape_of(spec), 4), spec_(spec) {
  device().require(SYNFIRE_MEMORY_DEVICE, spec_.array_bytes());
  const int64_t n_outputs = spec_.n_outputs(), n_inputs = spec_.n_inputs();
  add_array("weight", "weights", true, {n_outputs, n_inputs});
  if (spec_.delays_of == DelaysOf::connections)
    add_array("delay", "delays", spec_.learns, {n_outputs, n_inputs});
  else
    add_array("delay", "delays", false, {spec_.n_delays()});
  if (spec_.weights.has_bias) add_array("bias", "bias", true, {n_outputs});
  if (spec_.learns) add_array("width", "width", false, {1});
  mask_ = allocate(spec_.weights.mask_bytes());
  if (mask) upload_mask(mask);
  whole_ = Ref<DenseSynapse>::adopt(new DenseSynapse(context, spec_.planes, nullptr));
  if (spec_.learns) spread_ = Ref<DenseSynapse>::adopt(new DenseSynapse(context, spec_.planes, nullptr));
}

// A bit for each connection, words [N, ceil(K/32)].
void DelayedSynapse::upload_mask(const uint8_t* mask) {
  const int64_t n_inputs = spec_.n_inputs(), per_row = spec_.weights.mask_words();
  std::vector<uint32_t> words(static_cast<size_t>(spec_.n_outputs() * per_row));
  for (int64_t i = 0; i < spec_.weights.n_weights(); ++i) {
    if (mask[i] > 1)
      fail_argument("SYN-SYNAPSE-MASK", "desc.mask[%lld] is %u; allowed are 0 and 1", static_cast<long long>(i),
                    static_cast<unsigned>(mask[i]));
    const int64_t n = i / n_inputs, k = i % n_inputs;
    words[static_cast<size_t>(n * per_row + k / 32)] |= static_cast<uint32_t>(mask[i]) << k % 32;
  }
  device().upload(mask_, words.data(), spec_.weights.mask_bytes());
}

void DelayedSynapse::own_planes(OperationList& operations) noexcept {
  for (Operation& operation : operations)
    for_each_operand(operation, [&](const Operand<View>& operand) {
      Object*& owner = operand.view.owner;
      if (owner && (owner == whole_.get() || owner == spread_.get())) owner = this;
    });
}

void DelayedSynapse::initialize(const double* delays) {
  if (dtype() == SYNFIRE_DTYPE_F64)
    upload_start<double>(*this, delays);
  else
    upload_start<float>(*this, delays);
  derive();
}

void DelayedSynapse::check_values(const SynapseArray& array, const void* values) const {
  const uint64_t element = bytes_of_dtype(array.dtype);
  const auto each = [&](auto check) {
    for (int64_t i = 0; i < array.count(); ++i) {
      const char* const at = static_cast<const char*>(values) + static_cast<uint64_t>(i) * element;
      double wide = 0;
      float number = 0;
      if (array.dtype == SYNFIRE_DTYPE_F64)
        std::memcpy(&wide, at, sizeof wide);
      else
        std::memcpy(&number, at, sizeof number);
      check(i, array.dtype == SYNFIRE_DTYPE_F64 ? wide : static_cast<double>(number));
    }
  };
  if (array.name == std::string_view("delay"))
    each([&](int64_t i, double delay) { check_delay(spec_, "values", i, delay); });
  if (array.name == std::string_view("width")) each([&](int64_t, double width) { check_width("values[0]", width); });
}

DelayedSynapse* make_delayed(Context& context, const synfire_delayed_desc& desc) {
  const DelayedSpec spec(desc);
  Ref<DelayedSynapse> synapse = Ref<DelayedSynapse>::adopt(new DelayedSynapse(context, spec, desc.mask));
  synapse->initialize(desc.delays);
  synapse->retain();
  return synapse.get();
}

// ---- operations -----------------------------------------------------------------------------------------------------

namespace {

// Numbers of the transient arrays that the entries of a pass use.
constexpr int32_t transient_packed = 1, transient_delayed = 2, transient_planes = 3, transient_bias = 4,
                  transient_input_gradient = 5, transient_outputs = 6;

// Gradients of delayed inputs are made for a few steps at a time.
constexpr int64_t most_gradient_bytes = int64_t{128} << 20;

DelayedSynapse& delayed_of(const SynapsePass& pass) {
  return static_cast<DelayedSynapse&>(*pass.use.synapse);
}

Extents extents_of(const SynapsePass& pass) {
  return {pass.n_steps, pass.batch, pass.use.synapse->n_inputs()};
}

DelayedInputs delayed_inputs(DelayedSynapse& synapse, const SynapsePass& pass) {
  const Extents e = extents_of(pass);
  const DelayedSpec& spec = synapse.spec();
  DelayedInputs op = {&synapse, e, pass.input, {}, pass.history, synapse.delays_of(DelaysOf::inputs), {}};
  if (pass.input.dtype != SYNFIRE_DTYPE_BITS)
    op.packed = transient_array(transient_packed, SYNFIRE_DTYPE_BITS, {e.n_steps, e.batch, e.words_per_row()});
  op.delayed = transient_array(transient_delayed, SYNFIRE_DTYPE_BITS,
                               {spec.steps_before() + e.n_steps, e.batch, spec.n_taps() * spec.words()});
  return op;
}

// With delays of outputs: [M + T, B, N] of the product, or a few steps of its gradient.
View transient_steps(const DelayedSynapse& synapse, int64_t n_steps, int64_t batch) {
  return transient_array(transient_outputs, synapse.dtype(), {n_steps, batch, synapse.n_outputs()});
}
DelayedOutputs outputs_back(DelayedSynapse& synapse, int64_t first, int64_t n_steps, const SynapsePass& pass,
                            const View& grad_output) {
  return {&synapse,    {n_steps, pass.batch, synapse.n_outputs()},   true, first, pass.n_steps, synapse.delays(),
          grad_output, transient_steps(synapse, n_steps, pass.batch)};
}

// The pass of the dense synapse that reads the inputs of all delays.
SynapsePass plane_pass(DenseSynapse& planes, const SynapsePass& pass, const DelayedInputs& inputs) {
  SynapsePass of_planes = {{&planes}, inputs.delayed.shape[0], pass.batch};
  of_planes.input = inputs.delayed;
  of_planes.n_active = pass.n_active;
  return of_planes;
}

int64_t row_operations(const Synapse& synapse) {
  const DelayedSpec& spec = static_cast<const DelayedSynapse&>(synapse).spec();
  return spec.weights.n_weights() * spec.n_taps();
}

void check_gradients(const Synapse& synapse, int64_t n_steps, int64_t batch, bool of_arrays, bool of_input) {
  auto& delayed = const_cast<DelayedSynapse&>(static_cast<const DelayedSynapse&>(synapse));
  dense_kind.check_gradients(delayed.spread(), delayed.spec().steps_before() + n_steps, batch, of_arrays, of_input);
}

OperationList keep_history(const SynapsePass& pass) {
  return {
      DelayedHistory{&delayed_of(pass), extents_of(pass), pass.input, pass.history, pass.next_history, pass.n_active}};
}

OperationList product(const SynapsePass& pass, const View& output) {
  DelayedSynapse& synapse = delayed_of(pass);
  const DelayedInputs inputs = delayed_inputs(synapse, pass);
  OperationList operations = {inputs};
  DenseSynapse& planes = pass.rounded ? synapse.whole() : synapse.spread();
  const SynapsePass of_planes = plane_pass(planes, pass, inputs);
  if (synapse.spec().delays_of == DelaysOf::outputs) {
    const View early = transient_steps(synapse, of_planes.n_steps, pass.batch);
    append(operations, dense_kind.product(of_planes, early));
    operations.push_back(DelayedOutputs{&synapse,
                                        {pass.n_steps, pass.batch, synapse.n_outputs()},
                                        false,
                                        0,
                                        of_planes.n_steps,
                                        synapse.delays(),
                                        early,
                                        output});
  } else {
    append(operations, dense_kind.product(of_planes, output));
  }
  if (pass.next_history) {
    SynapsePass of_words = pass;
    of_words.input = inputs.words();
    append(operations, keep_history(of_words));
  }
  synapse.own_planes(operations);
  return operations;
}

OperationList gradients(const SynapsePass& pass, const View& grad_output, bool add) {
  DelayedSynapse& synapse = delayed_of(pass);
  const DelayedSpec& spec = synapse.spec();
  const DelayedInputs inputs = delayed_inputs(synapse, pass);
  OperationList operations = {inputs};
  const SynapsePass of_product = plane_pass(synapse.spread(), pass, inputs);
  View of_outputs = grad_output;
  if (spec.delays_of == DelaysOf::outputs) {
    const DelayedOutputs back = outputs_back(synapse, -spec.max_delay, of_product.n_steps, pass, grad_output);
    of_outputs = back.to;
    operations.push_back(back);
  }
  OperationList dense = dense_kind.gradients(of_product, of_outputs, false);
  auto& plane_gradient = *static_cast<DenseWeightGradient*>(dense.front().data());
  plane_gradient.weight_gradient =
      transient_array(transient_planes, spec.dtype(), {spec.n_outputs(), spec.planes.n_inputs});
  if (spec.weights.has_bias)
    plane_gradient.bias_gradient = transient_array(transient_bias, spec.dtype(), {spec.n_outputs()});
  const DelayedGradient op = {&synapse,
                              plane_gradient.weight_gradient,
                              spec.weights.has_bias ? plane_gradient.bias_gradient : View{},
                              synapse.weights(),
                              synapse.delays_of(DelaysOf::connections),
                              synapse.width(),
                              synapse.mask(),
                              synapse.weight_gradient(),
                              synapse.delay_gradient(),
                              synapse.bias_gradient(),
                              add};
  append(operations, std::move(dense));
  operations.push_back(op);
  synapse.own_planes(operations);
  return operations;
}

// A few steps of a sequence.
View steps_of(const View& sequence, int64_t first, int64_t count) {
  const uint64_t element = bytes_of_dtype(sequence.dtype);
  View steps = sequence;
  steps.data = static_cast<char*>(sequence.data) + static_cast<uint64_t>(first * sequence.pitch) * element;
  steps.shape[0] = count;
  if (count < sequence.shape[0]) steps.rank = 0;  // the whole may be rebound to an array of the same shape
  steps.bytes = static_cast<uint64_t>((count - 1) * sequence.pitch + sequence.row()) * element;
  return steps;
}

// Adds the operations for these steps of the pass.
void add_input_gradient(OperationList& operations, const SynapsePass& pass, int64_t first, int64_t count,
                        const View& grad_output, const View& grad_input, bool add) {
  DelayedSynapse& synapse = delayed_of(pass);
  const DelayedSpec& spec = synapse.spec();
  const View of_delayed =
      transient_array(transient_input_gradient, spec.dtype(), {count, pass.batch, spec.planes.n_inputs});
  SynapsePass of_planes = {{&synapse.spread()}, count, pass.batch};
  of_planes.n_active = pass.n_active;
  View of_outputs = steps_of(grad_output, first, count);
  if (spec.delays_of == DelaysOf::outputs) {
    const DelayedOutputs back = outputs_back(synapse, first, count, pass, grad_output);
    of_outputs = back.to;
    operations.push_back(back);
  }
  append(operations, dense_kind.input_gradient(of_planes, of_outputs, of_delayed, false));
  operations.push_back(DelayedInputGradient{&synapse, extents_of(pass), first, count,
                                            synapse.delays_of(DelaysOf::inputs), of_delayed, grad_input, pass.n_active,
                                            add});
}

OperationList input_gradient(const SynapsePass& pass, const View& grad_output, const View& grad_input, bool add) {
  DelayedSynapse& synapse = delayed_of(pass);
  const DelayedSpec& spec = synapse.spec();
  const int64_t of_step = pass.batch * spec.planes.n_inputs * static_cast<int64_t>(spec.weights.element_bytes());
  const int64_t at_once = std::clamp<int64_t>(most_gradient_bytes / of_step, 1, pass.n_steps);
  View to = grad_input;
  to.passed_on = true;  // from each of its writers to the next one
  OperationList operations;
  for (int64_t first = 0; first < pass.n_steps; first += at_once)
    add_input_gradient(operations, pass, first, std::min(at_once, pass.n_steps - first), grad_output, to, add);
  synapse.own_planes(operations);
  return operations;
}

OperationList input_gradient_of_step(const SynapsePass& pass, int64_t step, const View& grad_output,
                                     const View& grad_input) {
  OperationList operations;
  add_input_gradient(operations, pass, step, 1, grad_output, grad_input, true);
  delayed_of(pass).own_planes(operations);
  return operations;
}

OperationList derive(Synapse& derived) {
  auto& synapse = static_cast<DelayedSynapse&>(derived);
  const bool has_bias = synapse.spec().weights.has_bias;
  PrepareDelayed op = {};
  op.synapse = &synapse;
  op.weights = synapse.weights();
  op.delays = synapse.delays_of(DelaysOf::connections);
  op.bias = synapse.bias();
  op.width = synapse.width();
  op.mask = synapse.mask();
  op.whole = synapse.whole().weights();
  if (has_bias) op.whole_bias = synapse.whole().bias();
  OperationList operations;
  if (synapse.has_spread()) {
    op.spread = synapse.spread().weights();
    if (has_bias) op.spread_bias = synapse.spread().bias();
    operations = {op, make_prepare(synapse.whole()), make_prepare(synapse.spread())};
  } else {
    operations = {op, make_prepare(synapse.whole())};
  }
  synapse.own_planes(operations);
  return operations;
}

std::optional<Rounding> rounding(Synapse& synapse, int64_t first, int64_t count) {
  return rounding_of_rows(static_cast<DelayedSynapse&>(synapse).spread(), first, count);
}

constexpr const char* array_names[] = {"weight", "delay", "bias", "width"};

std::string label_text(const Extents& e, const DelayedSynapse& synapse) {
  char text[144];
  std::snprintf(text, sizeof text, "[%lld, %lld, %lld], delays to %lld", static_cast<long long>(e.n_steps),
                static_cast<long long>(e.batch), static_cast<long long>(e.n_neurons),
                static_cast<long long>(synapse.spec().max_delay));
  return text;
}
std::string label_text(const DelayedSynapse& synapse) {
  return shape_text(synapse.arrays()[1]);
}

}  // namespace

const SynapseKind delayed_kind = {"delayed",       array_names, true,      false,          row_operations,
                                  check_gradients, product,     gradients, input_gradient, derive,
                                  rounding,        nullptr,     false,     keep_history,   input_gradient_of_step};

OperationLabel label(const DelayedInputs& op) {
  return {nullptr, label_text(op.extents, *op.synapse)};
}
OperationLabel label(const DelayedHistory& op) {
  return {nullptr, label_text(op.extents, *op.synapse)};
}
OperationLabel label(const DelayedOutputs& op) {
  return {nullptr, label_text(op.extents, *op.synapse)};
}
OperationLabel label(const PrepareDelayed& op) {
  return {nullptr, label_text(*op.synapse)};
}
OperationLabel label(const DelayedGradient& op) {
  return {nullptr, label_text(*op.synapse)};
}
OperationLabel label(const DelayedInputGradient& op) {
  return {nullptr, label_text(op.extents, *op.synapse)};
}

}  // namespace synfire::operations
