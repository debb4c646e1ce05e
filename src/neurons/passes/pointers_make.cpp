#include "pointers.hpp"

#include "backward.hpp"
#include "forward.hpp"
#include "gradient_sums.hpp"

#include <base/error.hpp>
#include <graph/eager_calls.hpp>

#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

namespace synfire::operations {

using namespace synfire::core;

namespace {

constexpr uint64_t part_alignment = 256, memory_alignment = 16;

uint64_t rounded_up(uint64_t bytes) {
  return (bytes + part_alignment - 1) / part_alignment * part_alignment;
}

// ---- checks ---------------------------------------------------------------------------------------------------------

int64_t length_of(int64_t given, int64_t most, const char* name) {
  if (given < 0 || given > most)
    fail_argument("SYN-RUN-LENGTH", "%s is %lld; the layer has %lld, and 0 means as many", name,
                  static_cast<long long>(given), static_cast<long long>(most));
  return given == 0 ? most : given;
}

Extents extents_of(const LayerSpec& spec, int64_t n_steps, int64_t batch, const char* steps_name,
                   const char* batch_name) {
  return {length_of(n_steps, spec.extents.n_steps, steps_name), length_of(batch, spec.extents.batch, batch_name),
          spec.extents.n_neurons};
}

Extents extents_of(const LayerSpec& spec, const synfire_pointers_desc& desc) {
  return extents_of(spec, desc.n_steps, desc.batch, "desc.n_steps", "desc.batch");
}

void check_aligned(const void* memory, uint64_t alignment, const char* name) {
  if (reinterpret_cast<uintptr_t>(memory) % alignment != 0)
    fail_argument("SYN-RUN-ALIGNMENT", "%s is %p; it must be a multiple of %llu", name, memory,
                  static_cast<unsigned long long>(alignment));
}

void check_memory(const void* memory, uint64_t bytes, uint64_t needed, const char* name) {
  if (needed == 0) return;
  if (!memory) fail_argument("SYN-RUN-MEMORY", "desc.%s is null; this pass needs it", name);
  if (bytes < needed)
    fail_argument("SYN-RUN-MEMORY", "desc.%s has %llu bytes; %llu are needed (synfire_layer_get_run_memory())", name,
                  static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(needed));
  check_aligned(memory, memory_alignment, (std::string("desc.") + name).c_str());
}

// ---- arrays ---------------------------------------------------------------------------------------------------------

// The arrays of one pass: addresses of the caller's, with the shapes that they must have.
class Arrays {
 public:
  Arrays(const LayerSpec& spec, const Extents& extents) : spec_(spec), extents_(extents) {}

  View array(const void* data, int32_t dtype, std::initializer_list<int64_t> lengths, const char* name) const {
    if (!data) return {};
    check_aligned(data, bytes_of_dtype(dtype), name);
    View view;
    view.data = const_cast<void*>(data);
    view.dtype = dtype;
    view = view.shaped(lengths);
    view.pitch = view.row();
    view.bytes = static_cast<uint64_t>(view.shape[0] * view.pitch) * bytes_of_dtype(dtype);
    return view;
  }
  View sequence(const void* data, const char* name, int32_t dtype) const {
    return array(data, dtype, {extents_.n_steps, extents_.batch, extents_.n_neurons}, name);
  }
  View sequence(const void* data, const char* name) const { return sequence(data, name, spec_.dtype); }
  View row(const void* data, const char* name) const {
    return array(data, spec_.arithmetic(), {1, extents_.batch, extents_.n_neurons}, name);
  }
  // Part k of an array with one sequence, or one row, for each further variable.
  View sequence_of(const void* data, int k, const char* name) const {
    return part(sequence(checked(data, name), name), k);
  }
  View row_of(const void* data, int k, const char* name) const { return part(row(checked(data, name), name), k); }

  View spikes(void* data, int32_t dtype, SpikeFormat& format) const {
    const char* const name = "desc.spikes";
    format = SpikeFormat::none;
    if (!data) return {};
    const Extents& e = extents_;
    switch (dtype) {
      case 0:
        format = SpikeFormat::dense;
        return sequence(data, name);
      case SYNFIRE_DTYPE_U8:
        format = SpikeFormat::dense;
        return sequence(data, name, dtype);
      case SYNFIRE_DTYPE_BITS:
        format = SpikeFormat::bits;
        return array(data, dtype, {e.n_steps, e.batch, e.words_per_row()}, name);
      case SYNFIRE_DTYPE_TIME_BITS:
        format = SpikeFormat::time_bits;
        return array(data, dtype, {(e.n_steps + 31) / 32, e.batch, e.n_neurons}, name);
      default:
        fail_argument("SYN-RUN-DTYPE",
                      "desc.spike_dtype is %d; allowed are 0 (the layer's dtype), SYNFIRE_DTYPE_BITS (2), "
                      "SYNFIRE_DTYPE_U8 (5) and SYNFIRE_DTYPE_TIME_BITS (6)",
                      dtype);
    }
  }

 private:
  const void* checked(const void* data, const char* name) const {
    if (data && spec_.model->n_states < 2)
      fail_argument("SYN-LAYER-NO-W", "%s is given; model \"%s\" has no second variable W, null is needed", name,
                    spec_.model->name);
    return data;
  }
  static View part(View view, int k) {
    if (view.data) view.data = static_cast<char*>(view.data) + static_cast<uint64_t>(k) * view.bytes;
    return view;
  }

  const LayerSpec& spec_;
  const Extents extents_;
};

void check_fires(const LayerSpec& spec, const void* data, const char* name) {
  if (data && spec.model->never_fires)
    fail_argument("SYN-LAYER-NO-SPIKES", "%s is given; model \"%s\" never fires, null is needed", name,
                  spec.model->name);
}

// ---- the tape -------------------------------------------------------------------------------------------------------

// The parts of a tape one after another: checkpoints, stored H, and spikes beside an H of 16 bits.
struct TapeParts {
  View checkpoints, h, spikes;
  uint64_t bytes = 0;

  TapeParts(const LayerSpec& spec, const Extents& e, TapeMode mode, void* memory) {
    constexpr int64_t interval = model::checkpoint_interval;
    const int64_t n_words = (e.n_steps + 31) / 32;
    if (mode == TapeMode::none) return;
    add(checkpoints, spec.arithmetic(),
        {(e.n_steps + interval - 1) / interval, spec.model->n_states, e.batch, e.n_neurons}, memory);
    if (mode == TapeMode::store) add(h, spec.arithmetic(), {e.n_steps, e.batch, e.n_neurons}, memory);
    if (mode != TapeMode::store_narrow) return;
    add(h, spec.dtype, {e.n_steps, e.batch, e.n_neurons}, memory);
    if (!spec.model->linear) add(spikes, SYNFIRE_DTYPE_TIME_BITS, {n_words, e.batch, e.n_neurons}, memory);
  }

 private:
  void add(View& part, int32_t dtype, std::initializer_list<int64_t> lengths, void* memory) {
    part.dtype = dtype;
    part = part.shaped(lengths);
    part.pitch = part.row();
    part.bytes = static_cast<uint64_t>(part.shape[0] * part.pitch) * bytes_of_dtype(dtype);
    if (memory) part.data = static_cast<char*>(memory) + bytes;
    bytes += rounded_up(part.bytes);
  }
};

// The numbers of a synfire_tape_stamp.
enum StampWord { stamp_layer, stamp_parameters, stamp_steps, stamp_batch, stamp_mode, stamp_x, stamp_tape };

synfire_tape_stamp stamp_of(uint64_t identity, uint64_t parameters, const Extents& extents, TapeMode mode,
                            const synfire_pointers_desc& desc) {
  synfire_tape_stamp stamp = {};
  stamp.words[stamp_layer] = identity;
  stamp.words[stamp_parameters] = parameters;
  stamp.words[stamp_steps] = static_cast<uint64_t>(extents.n_steps);
  stamp.words[stamp_batch] = static_cast<uint64_t>(extents.batch);
  stamp.words[stamp_mode] = static_cast<uint64_t>(mode);
  stamp.words[stamp_x] = reinterpret_cast<uintptr_t>(desc.x);
  stamp.words[stamp_tape] = reinterpret_cast<uintptr_t>(desc.tape_memory);
  return stamp;
}

void check_stamp(const synfire_tape_stamp& given, const synfire_tape_stamp& now) {
  static constexpr const char* changed[] = {"layer", nullptr, "n_steps", "batch", "tape", "x", "tape_memory"};
  if (given.words[stamp_layer] == 0) fail_no_tape();
  for (const StampWord word : {stamp_layer, stamp_steps, stamp_batch, stamp_mode, stamp_x, stamp_tape})
    if (given.words[word] != now.words[word])
      fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-STAMP",
           "desc.stamp was left by a forward with another %s than this backward has", changed[word]);
  if (given.words[stamp_parameters] != now.words[stamp_parameters])
    fail(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-PARAMETERS",
         "a parameter of the layer changed after the forward that left the tape; run a forward first");
}

void check_stamp_given(const synfire_pointers_desc& desc) {
  if (!desc.stamp) fail_argument("SYN-RUN-STAMP", "desc.stamp is null; a forward with a tape writes it");
}

void check_x(const synfire_pointers_desc& desc) {
  if (!desc.x) fail_argument("SYN-RUN-X", "desc.x is null; every pass over addresses needs it");
}

TapeMode checked_mode(const LayerSpec& spec, TapeMode wanted) {
  check_tape_mode(spec, wanted);
  return mode_of(spec, wanted);
}

// ---- passes ---------------------------------------------------------------------------------------------------------

Forward make_forward(Layer& layer, const synfire_pointers_desc& desc, const Extents& extents, const TapeParts& tape) {
  const LayerSpec& spec = layer.spec();
  const Arrays arrays(spec, extents);
  Forward op = {};
  op.layer = &layer;
  op.extents = extents;
  op.x = arrays.sequence(desc.x, "desc.x");
  check_fires(spec, desc.spikes, "desc.spikes");
  op.spikes = arrays.spikes(desc.spikes, desc.spike_dtype, op.spike_format);
  op.v_in = arrays.row(desc.v_init, "desc.v_init");
  op.v_final = arrays.row(desc.v_final, "desc.v_final");
  op.v_seq = arrays.sequence(desc.v_seq, "desc.v_seq");
  op.h_seq = arrays.sequence(desc.h_seq, "desc.h_seq");
  const int n_further = spec.model->n_states - 1;
  for (int k = 0; k < std::max(n_further, 1); ++k) {
    op.w_in[k] = arrays.row_of(desc.w_init, k, "desc.w_init");
    op.w_final[k] = arrays.row_of(desc.w_final, k, "desc.w_final");
    op.w_seq[k] = arrays.sequence_of(desc.w_seq, k, "desc.w_seq");
  }
  if (n_further > 0 && !desc.v_init != !desc.w_init)
    fail_argument("SYN-FORWARD-INIT", "%s is given and %s is null; a forward begins from %s or from the layer's state",
                  desc.v_init ? "desc.v_init" : "desc.w_init", desc.v_init ? "desc.w_init" : "desc.v_init",
                  n_further == 1 ? "both" : "all variables");
  if (!desc.v_init) {
    op.v_in = op.v_out = layer.state_memory(0);
    for (int k = 0; k < n_further; ++k) op.w_in[k] = op.w_out[k] = layer.state_memory(k + 1);
  }
  op.parameters = layer.parameter_memory();
  op.host_rows = forward_rows_of(layer.context()->device(), spec);
  op.tape = tape.checkpoints;
  op.tape_h = tape.h;
  op.tape_spikes = tape.spikes;
  return op;
}

Backward make_backward(Layer& layer, const synfire_pointers_desc& desc, const Extents& extents, const TapeParts& tape,
                       TapeMode mode) {
  const LayerSpec& spec = layer.spec();
  const Arrays arrays(spec, extents);
  const bool with_gradients = desc.n_gradient_pointers > 0;
  Backward op = {};
  op.layer = &layer;
  op.extents = extents;
  TapeShape shape;
  shape.mode = mode;
  if (layer.reads_x(shape, with_gradients)) op.x = arrays.sequence(desc.x, "desc.x");
  op.in_place = desc.grad_x_seq && desc.grad_x_seq == desc.grad_spike_seq;
  op.parameters = layer.parameter_memory();
  if (!spec.model->linear || with_gradients) {
    op.tape = tape.checkpoints;
    op.tape_h = tape.h;
    op.tape_spikes = tape.spikes;
    op.host_rows = backward_rows_of(layer.context()->device(), spec);
  }
  check_fires(spec, desc.grad_spike_seq, "desc.grad_spike_seq");
  op.grad_spike = arrays.sequence(desc.grad_spike_seq, "desc.grad_spike_seq");
  op.grad_v_seq = arrays.sequence(desc.grad_v_seq, "desc.grad_v_seq");
  op.grad_v_final = arrays.row(desc.grad_v_final, "desc.grad_v_final");
  op.grad_x = arrays.sequence(desc.grad_x_seq, "desc.grad_x_seq");
  op.grad_v_init = arrays.row(desc.grad_v_init, "desc.grad_v_init");
  for (int k = 0; k < std::max(spec.model->n_states - 1, 1); ++k) {
    op.grad_w_seq[k] = arrays.sequence_of(desc.grad_w_seq, k, "desc.grad_w_seq");
    op.grad_w_final[k] = arrays.row_of(desc.grad_w_final, k, "desc.grad_w_final");
    op.grad_w_init[k] = arrays.row_of(desc.grad_w_init, k, "desc.grad_w_init");
  }
  if (!op.grad_x.data && !op.grad_v_init.data && !op.grad_w_init[0].data && !with_gradients)
    fail_argument("SYN-BACKWARD-OUTPUT",
                  "desc.grad_x_seq, desc.grad_v_init and desc.grad_w_init are all null and desc.n_gradient_pointers is "
                  "0; at least one output is needed");
  return op;
}

std::vector<GradientSum> gradients_of(const Layer& layer, const synfire_pointers_desc& desc) {
  const LayerSpec& spec = layer.spec();
  const uint64_t count = desc.n_gradient_pointers;
  check_gradient_count(spec, count, "desc.n_gradient_pointers");
  if (count > 0 && !desc.gradient_pointers)
    fail_argument("SYN-RUN-GRADIENT", "desc.gradient_pointers is null and desc.n_gradient_pointers is %llu",
                  static_cast<unsigned long long>(count));
  const Arrays arrays(spec, spec.extents);
  std::vector<GradientSum> sums;
  for (uint64_t i = 0; i < count; ++i) {
    const synfire_gradient_pointer& given = desc.gradient_pointers[i];
    const std::string entry = std::string("desc.gradient_pointers[").append(std::to_string(i)).append("]");
    if (!given.name || !given.gradient)
      fail_argument("SYN-RUN-GRADIENT", "%s.%s is null", entry.c_str(), given.name ? "gradient" : "name");
    const ParameterName name = layer.parameters().find(given.name, (entry + ".name").c_str());
    const int32_t row = layer.parameters().gradient_row(name, (entry + ".name").c_str());
    check_gradient_length(spec, given.length, (entry + ".gradient").c_str());
    sums.push_back({row, arrays.array(given.gradient, spec.arithmetic(), {static_cast<int64_t>(given.length)},
                                      (entry + ".gradient").c_str())});
  }
  return sums;
}

uint64_t bytes_of_sums(const Extents& extents, uint64_t n_gradients) {
  return rounded_up(static_cast<uint64_t>(n_gradient_sums(extents, n_gradients)) * sizeof(double));
}

uint64_t scratch_bytes_of(const LayerSpec& spec, const Extents& extents, uint64_t n_gradients) {
  return bytes_of_sums(extents, n_gradients) + n_gradients * gradient_scratch_bytes(spec, extents);
}

}  // namespace

// ---- calls ----------------------------------------------------------------------------------------------------------

RunMemory run_memory(const Layer& layer, TapeMode tape, int64_t n_steps, int64_t batch, uint64_t n_gradients) {
  const LayerSpec& spec = layer.spec();
  const Extents extents = extents_of(spec, n_steps, batch, "n_steps", "batch");
  check_gradient_count(spec, n_gradients, "n_gradients");
  return {TapeParts(spec, extents, checked_mode(spec, tape), nullptr).bytes,
          scratch_bytes_of(spec, extents, n_gradients)};
}

bool run_forward(Layer& layer, uint64_t identity, const synfire_pointers_desc& desc, synfire_stream stream) {
  const EagerCall call(*layer.context(), stream);
  const LayerSpec& spec = layer.spec();
  const TapeMode mode = checked_mode(spec, static_cast<TapeMode>(desc.tape));
  const Extents extents = extents_of(spec, desc);
  check_x(desc);
  const TapeParts tape(spec, extents, mode, desc.tape_memory);
  check_memory(desc.tape_memory, desc.tape_bytes, tape.bytes, "tape_memory");
  const bool leaves_tape = mode != TapeMode::none;
  if (leaves_tape) check_stamp_given(desc);
  const Operation operation = make_forward(layer, desc, extents, tape);
  const bool captured = call.run({&operation, 1}, [&] {
    if (leaves_tape) *desc.stamp = {};
  });
  if (leaves_tape) *desc.stamp = stamp_of(identity, layer.computing_version(), extents, mode, desc);
  return captured;
}

bool run_backward(Layer& layer, uint64_t identity, const synfire_pointers_desc& desc, synfire_stream stream) {
  const EagerCall call(*layer.context(), stream);
  const LayerSpec& spec = layer.spec();
  const TapeMode mode = checked_mode(spec, static_cast<TapeMode>(desc.tape));
  const Extents extents = extents_of(spec, desc);
  check_x(desc);
  check_stamp_given(desc);
  if (mode == TapeMode::none) fail_no_tape();
  check_stamp(*desc.stamp, stamp_of(identity, layer.parameter_version(), extents, mode, desc));
  const TapeParts tape(spec, extents, mode, desc.tape_memory);
  check_memory(desc.tape_memory, desc.tape_bytes, tape.bytes, "tape_memory");
  const Backward pass = make_backward(layer, desc, extents, tape, mode);
  const std::vector<GradientSum> gradients = gradients_of(layer, desc);
  if (gradients.empty()) {
    const Operation operation = pass;
    return call.run({&operation, 1});
  }
  const uint64_t needed = scratch_bytes_of(spec, extents, gradients.size());
  check_memory(desc.scratch, desc.scratch_bytes, needed, "scratch");
  OperationList operations;
  const auto sums = [&] {
    View view;
    view.data = desc.scratch;
    view.dtype = SYNFIRE_DTYPE_F64;
    view.bytes = static_cast<uint64_t>(n_gradient_sums(extents, gradients.size())) * sizeof(double);
    return view;
  };
  void* const row_sums = static_cast<char*>(desc.scratch) + bytes_of_sums(extents, gradients.size());
  add_gradient_sums(layer, pass, gradients, desc.add_parameter_gradients == 1, sums, row_sums, operations);
  return call.run(operations);
}

}  // namespace synfire::operations
