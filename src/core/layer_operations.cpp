// How a layer turns requests into checked operations: types and shapes of the buffers, what a tape mode needs, and the
// sums behind gradients of parameters.
#include "array_checks.hpp"
#include "error.hpp"
#include "layer.hpp"
#include "operands.hpp"

#include <synfire/model/reduction.hpp>

#include <cstdio>

namespace synfire::core {

namespace {

class Checker {
 public:
  Checker(const LayerSpec& spec, bool host_device) : spec_(spec), host_device_(host_device) {}

  // [T, B, N] in the layer's dtype or, beside 16-bit ones, in f32.
  Array sequence(Buffer* buffer, const char* name) const {
    if (!buffer) return {};
    if (buffer->dtype() != spec_.dtype && buffer->dtype() != spec_.arithmetic()) fail_type(*buffer, name, true);
    return stepped(*buffer, name, spec_.extents.n_steps, spec_.extents.row(), spec_.shape_text(true, buffer->dtype()));
  }

  // [B, N] in the type of the arithmetic.
  Array row(Buffer* buffer, const char* name) const {
    if (!buffer) return {};
    if (buffer->dtype() != spec_.arithmetic()) fail_type(*buffer, name, false);
    return stepped(*buffer, name, 1, spec_.extents.row(), spec_.shape_text(false, spec_.arithmetic()));
  }

  Array spikes(Buffer* buffer, SpikeFormat& format) const {
    const char* const name = "desc.spikes";
    const Extents& e = spec_.extents;
    format = SpikeFormat::none;
    if (!buffer) return {};
    switch (buffer->dtype()) {
      case SYNFIRE_DTYPE_BITS:
        format = SpikeFormat::bits;
        return stepped(*buffer, name, e.n_steps, e.batch * e.words_per_row(),
                       words_text("bits", e.n_steps, e.batch, e.words_per_row()));
      case SYNFIRE_DTYPE_TIME_BITS:
        format = SpikeFormat::time_bits;
        return stepped(*buffer, name, spec_.time_words(), e.row(),
                       words_text("time-packed bits", spec_.time_words(), e.batch, e.n_neurons));
      case SYNFIRE_DTYPE_U8:
        format = SpikeFormat::dense;
        return stepped(*buffer, name, e.n_steps, e.row(), spec_.shape_text(true, SYNFIRE_DTYPE_U8));
      default:
        format = SpikeFormat::dense;
        return sequence(buffer, name);
    }
  }

 private:
  [[noreturn]] void fail_type(const Buffer& buffer, const char* name, bool sequence) const {
    const bool either = sequence && spec_.is_narrow();
    fail_argument("SYN-BUFFER-TYPE", "%s holds %s; %s%s is needed", name, name_of_dtype(buffer.dtype()),
                  spec_.shape_text(sequence, sequence ? spec_.dtype : spec_.arithmetic()).c_str(),
                  either ? ", or the same in f32," : "");
  }

  Array stepped(const Buffer& buffer, const char* name, int64_t steps, int64_t row, const std::string& shape) const {
    return core::stepped(buffer, name, steps, row, shape, host_device_);
  }

  const LayerSpec& spec_;
  bool host_device_;
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

}  // namespace

// The H that a tape mode keeps: memory of the layer's own, or X itself.
Array Layer::stored_h(Tape tape, bool in_place, const Array& x) {
  if (tape != Tape::store && tape != Tape::store_narrow) return {};
  if (in_place) return x;
  const int64_t row = spec_.extents.row();
  return tape == Tape::store_narrow ? own(narrow_h_, spec_.narrow_tape_bytes(), spec_.dtype, row)
                                    : own(stored_h_, spec_.stored_tape_bytes(), spec_.arithmetic(), row);
}

Array Layer::tape_spikes(Tape tape) noexcept {
  if (tape != Tape::store_narrow) return {};
  return own(narrow_spikes_, spec_.narrow_tape_spike_bytes(), SYNFIRE_DTYPE_TIME_BITS, spec_.extents.row());
}

// Refuses tape modes that this layer does not have, and an X that H cannot go over.
void Layer::check_tape_request(const ForwardRequest& request) const {
  if (request.tape == Tape::store_narrow && !spec_.is_narrow())
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-TAPE-NARROW",
         "desc.tape is SYNFIRE_TAPE_STORE_NARROW; the layer's dtype is %s, only f16 and bf16 layers have it",
         name_of_dtype(spec_.dtype));
  if (!request.in_place) return;
  if (request.tape != Tape::store && request.tape != Tape::store_narrow)
    fail_argument("SYN-FORWARD-IN-PLACE", "desc.in_place is 1; desc.tape must be one that stores H");
  const int32_t stored = request.tape == Tape::store ? spec_.arithmetic() : spec_.dtype;
  if (request.x->dtype() != stored)
    fail_argument("SYN-FORWARD-IN-PLACE", "desc.in_place is 1; desc.x holds %s, and H would be stored in %s",
                  name_of_dtype(request.x->dtype()), name_of_dtype(stored));
  if (!device().is_host() && request.x->array().memory != SYNFIRE_MEMORY_DEVICE)
    fail_argument("SYN-FORWARD-IN-PLACE",
                  "desc.in_place is 1; desc.x is a buffer of %s memory, device memory is needed",
                  name_of_memory(request.x->array().memory));
  if (spec_.model->slope_reads_input)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-FORWARD-IN-PLACE",
         "desc.in_place is 1; the backward of model \"%s\" needs X beside H", spec_.model->name);
}

ForwardOperation Layer::forward(const ForwardRequest& request) {
  const Checker check(spec_, device().is_host());
  check_tape_request(request);
  ForwardOperation op = {};
  op.layer = this;
  op.x = check.sequence(request.x, "desc.x");
  op.spikes = check.spikes(request.spikes, op.spike_format);
  op.v_in = check.row(request.v_init, "desc.v_init");
  op.v_final = check.row(request.v_final, "desc.v_final");
  op.v_seq = check.sequence(request.v_seq, "desc.v_seq");
  op.h_seq = check.sequence(request.h_seq, "desc.h_seq");
  check_second_variable(
      spec_, {{request.w_init, "desc.w_init"}, {request.w_final, "desc.w_final"}, {request.w_seq, "desc.w_seq"}});
  op.w_in = check.row(request.w_init, "desc.w_init");
  op.w_final = check.row(request.w_final, "desc.w_final");
  op.w_seq = check.sequence(request.w_seq, "desc.w_seq");
  const bool two_variables = spec_.model->n_states == 2;
  if (two_variables && !op.v_in.data != !op.w_in.data)
    fail_argument("SYN-FORWARD-INIT",
                  "%s is given and %s is null; a forward begins from both or from the layer's state",
                  op.v_in.data ? "desc.v_init" : "desc.w_init", op.v_in.data ? "desc.w_init" : "desc.v_init");
  if (!op.v_in.data) {
    op.v_in = op.v_out = state_memory(0);
    if (two_variables) op.w_in = op.w_out = state_memory(1);
  }
  op.parameters = parameter_memory();
  // What cannot be is refused before the tape takes memory.
  if (request.in_place) op.tape_h = op.x;
  const Operation operation = op;
  check_overlap({&operation, 1});
  if (request.tape != Tape::none) {
    const auto lock = lock_parameters();
    allocate_tape(request.tape, request.in_place);
    op.tape = own(checkpoints_, spec_.tape_bytes(), spec_.arithmetic());
    op.tape_h = stored_h(request.tape, request.in_place, op.x);
    op.tape_spikes = tape_spikes(request.tape);
  }
  return op;
}

bool Layer::reads_input(const BackwardRequest& request, const TapeShape& tape) const {
  return tape.tape == Tape::recompute || spec_.model->slope_reads_input || !request.gradients.empty();
}

OperationList Layer::backward(const BackwardRequest& request, const TapeShape& tape) {
  const Checker check(spec_, device().is_host());
  if (tape.in_place && !request.gradients.empty())
    fail_argument(
        "SYN-GRADIENT-IN-PLACE",
        "desc.n_parameter_gradients is %zu; the forward wrote H over X (in_place), which gradients of parameters "
        "need",
        request.gradients.size());
  BackwardOperation op = {};
  op.layer = this;
  const Array x = check.sequence(tape.x, "the forward's x");
  if (reads_input(request, tape)) op.x = x;
  op.in_place = request.in_place;
  op.parameters = parameter_memory();
  op.tape = own(checkpoints_, spec_.tape_bytes(), spec_.arithmetic());
  op.tape_h = stored_h(tape.tape, tape.in_place, x);
  op.tape_spikes = tape_spikes(tape.tape);
  op.grad_spike = check.sequence(request.grad_spike_seq, "desc.grad_spike_seq");
  op.grad_v_seq = check.sequence(request.grad_v_seq, "desc.grad_v_seq");
  op.grad_v_final = check.row(request.grad_v_final, "desc.grad_v_final");
  op.grad_x = check.sequence(request.grad_x_seq, "desc.grad_x_seq");
  op.grad_v_init = check.row(request.grad_v_init, "desc.grad_v_init");
  check_second_variable(spec_, {{request.grad_w_seq, "desc.grad_w_seq"},
                                {request.grad_w_final, "desc.grad_w_final"},
                                {request.grad_w_init, "desc.grad_w_init"}});
  op.grad_w_seq = check.sequence(request.grad_w_seq, "desc.grad_w_seq");
  op.grad_w_final = check.row(request.grad_w_final, "desc.grad_w_final");
  op.grad_w_init = check.row(request.grad_w_init, "desc.grad_w_init");
  if (!op.grad_x.data && !op.grad_v_init.data && !op.grad_w_init.data && request.gradients.empty())
    fail_argument(
        "SYN-BACKWARD-OUTPUT",
        "desc.grad_x_seq, desc.grad_v_init and desc.grad_w_init are all null and desc.n_parameter_gradients is "
        "0; at least one output is needed");
  OperationList operations = {op};
  if (!request.gradients.empty()) append_gradients(request, operations);
  check_overlap(operations);
  return operations;
}

// ---- gradients of parameters ----------------------------------------------------------------------------------------

namespace {

int64_t chunks_of(int64_t count) { return (count + model::reduction_chunk - 1) / model::reduction_chunk; }

}  // namespace

// From the first gradient on, the slopes of the constants are kept beside the constants.
void Layer::prepare_gradients() {
  const auto lock = lock_parameters();
  if (wants_gradients_) return;
  if (!gradient_partials_)
    gradient_partials_ = static_cast<double*>(device().allocate(SYNFIRE_MEMORY_DEVICE, spec_.gradient_bytes()));
  wants_gradients_ = true;
  try {
    if (parameters_.per_neuron()) provide_slopes();
  } catch (...) {
    wants_gradients_ = false;
    throw;
  }
  rewrite_block();  // the block must name the slopes
}

void Layer::append_gradients(const BackwardRequest& request, OperationList& operations) {
  const size_t most = static_cast<size_t>(n_slope_rows(*spec_.model)) + 2;
  if (request.gradients.size() > most)
    fail_argument("SYN-GRADIENT-COUNT", "desc.n_parameter_gradients is %zu; this layer has %zu gradients to ask for",
                  request.gradients.size(), most);
  const auto n_neurons = static_cast<uint64_t>(spec_.extents.n_neurons);
  GradientRows rows = {};
  for (size_t i = 0; i < request.gradients.size(); ++i) {
    char name[64];
    std::snprintf(name, sizeof name, "desc.parameter_gradients[%zu].name", i);
    rows.rows[rows.count++] = parameters_.gradient_row(request.gradients[i].parameter, name);
    const Buffer& gradient = *request.gradients[i].gradient;
    std::snprintf(name, sizeof name, "desc.parameter_gradients[%zu].gradient", i);
    if (gradient.dtype() != spec_.arithmetic())
      fail_argument("SYN-BUFFER-TYPE", "%s holds %s; %s is needed", name, name_of_dtype(gradient.dtype()),
                    name_of_dtype(spec_.arithmetic()));
    const uint64_t held = gradient.array().bytes / spec_.element_bytes();
    if (held != 1 && held != n_neurons)
      fail_argument("SYN-GRADIENT-LENGTH",
                    "%s holds %llu elements; allowed are 1 (the sum over all neurons) and %llu (one per neuron)", name,
                    static_cast<unsigned long long>(held), static_cast<unsigned long long>(n_neurons));
    check_memory(gradient, name, device().is_host());
  }
  prepare_gradients();

  auto& backward = std::get<BackwardOperation>(operations.front());
  backward.gradients = rows;
  const int64_t row = spec_.extents.row(), n_chunks = chunks_of(row);
  const auto sums_at = [&](double* data, int64_t count) {
    return own(data, static_cast<uint64_t>(count) * sizeof(double), SYNFIRE_DTYPE_F64);
  };
  backward.gradient_partials = sums_at(gradient_partials_, row * rows.count);
  double* const chunk_sums = gradient_partials_ + row * static_cast<int64_t>(most);
  for (size_t i = 0; i < request.gradients.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    const Array partial = sums_at(gradient_partials_ + row * index, row);
    const auto number = static_cast<int32_t>(i);
    const Array out = request.gradients[i].gradient->array();
    if (out.bytes == spec_.element_bytes() && n_neurons != 1) {
      const Array sums = sums_at(chunk_sums + n_chunks * index, n_chunks);
      operations.emplace_back(
          ReduceOperation{ReduceKind::chunks, spec_.arithmetic(), partial, 1, row, sums, number, active()});
      operations.emplace_back(ReduceOperation{ReduceKind::total, spec_.arithmetic(), sums, 1, n_chunks, out, number});
    } else {
      operations.emplace_back(ReduceOperation{ReduceKind::batch, spec_.arithmetic(), partial, spec_.extents.batch,
                                              spec_.extents.n_neurons, out, number, active()});
    }
  }
}

}  // namespace synfire::core
