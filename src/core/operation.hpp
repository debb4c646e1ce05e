// The operation list: what a graph records and what an eager call runs. Both backends execute this one list.
// An operation holds addresses that were checked when it was made; whoever holds the list keeps the memory alive.
#ifndef SYNFIRE_CORE_OPERATION_HPP
#define SYNFIRE_CORE_OPERATION_HPP

#include "arguments.hpp"
#include "operand.hpp"

#include <synfire/synfire.h>

#include <array>
#include <string>
#include <variant>
#include <vector>

namespace synfire::core {

class Layer;

// Each kind has `operands(op, visit)`, which calls visit(OperandOf<Op>) for all memory that it touches: buffers, and the
// state, tape, parameters and sums of layers. The one place where that is said. Operands that are not given have no bytes.

enum class SpikeFormat : int32_t { none, dense, bits, time_bits };

struct ForwardOperation {
  Layer* layer;
  SpikeFormat spike_format;
  Array x;        // [T, B, N]
  Array spikes;   // [T, B, N], words [T, B, ceil(N/32)] or words [ceil(T/32), B, N]
  Array v_in;     // [B, N]
  Array v_out;    // [B, N], the layer's state when v_in is; else not given
  Array v_final;  // [B, N]
  Array v_seq;    // [T, B, N]
  Array h_seq;    // [T, B, N]
  Array w_in;     // [B, N], as V; models with two variables only
  Array w_out;    // [B, N]
  Array w_final;  // [B, N]
  Array w_seq;    // [T, B, N]
  Array tape;     // [ceil(T/checkpoint_interval), n_states, B, N]; not given for inference
  Array tape_h;   // [T, B, N] in tape modes that store H; x itself when H goes over it
  Array tape_spikes;  // words [ceil(T/32), B, N] beside an H of 16 bits
  Array parameters;   // of the layer

  template <class Op, class Visit>
  static void operands(Op& op, Visit visit) {
    const auto say = [&](const char* name, auto& array, Access access) { visit(OperandOf<Op>{name, array, access}); };
    say("desc.x", op.x, Access::read);
    if (op.v_out.data) {
      say("the layer's v", op.v_out, Access::update);
      say("the layer's w", op.w_out, Access::update);
    } else {
      say("desc.v_init", op.v_in, Access::read);
      say("desc.w_init", op.w_in, Access::read);
    }
    say("the layer's parameters", op.parameters, Access::read);
    say("desc.spikes", op.spikes, Access::write);
    say("desc.v_final", op.v_final, Access::write);
    say("desc.v_seq", op.v_seq, Access::write);
    say("desc.h_seq", op.h_seq, Access::write);
    say("desc.w_final", op.w_final, Access::write);
    say("desc.w_seq", op.w_seq, Access::write);
    say("the tape's V", op.tape, Access::write);
    say("the tape's spikes", op.tape_spikes, Access::write);
    const bool over_x = op.tape_h.data && op.tape_h.data == op.x.data;
    visit(OperandOf<Op>{over_x ? "desc.x" : "the tape's H", op.tape_h, Access::write, Transfer::staged, &op.x});
  }
};

struct BackwardOperation {
  Layer* layer;
  bool in_place;       // grad_x may be grad_spike
  Array x;             // what the taped forward read; not given when H is stored and X is not needed
  Array tape;
  Array tape_h;        // not given when H is recomputed
  Array tape_spikes;
  Array parameters;    // of the layer
  Array grad_spike;    // [T, B, N]
  Array grad_v_seq;    // [T, B, N]
  Array grad_v_final;  // [B, N]
  Array grad_x;        // [T, B, N]
  Array grad_v_init;   // [B, N]
  Array grad_w_seq;    // [T, B, N], as V; models with two variables only
  Array grad_w_final;  // [B, N]
  Array grad_w_init;   // [B, N]
  GradientRows gradients;
  Array gradient_partials;  // f64 [gradients.count, B, N]

  template <class Op, class Visit>
  static void operands(Op& op, Visit visit) {
    const auto say = [&](const char* name, auto& array, Access access) { visit(OperandOf<Op>{name, array, access}); };
    say("the forward's x", op.x, Access::read);
    say("the tape's V", op.tape, Access::read);
    say("the tape's H", op.tape_h, Access::read);
    say("the tape's spikes", op.tape_spikes, Access::read);
    say("the layer's parameters", op.parameters, Access::read);
    say("desc.grad_spike_seq", op.grad_spike, Access::read);
    say("desc.grad_v_seq", op.grad_v_seq, Access::read);
    say("desc.grad_v_final", op.grad_v_final, Access::read);
    say("desc.grad_w_seq", op.grad_w_seq, Access::read);
    say("desc.grad_w_final", op.grad_w_final, Access::read);
    visit(OperandOf<Op>{"desc.grad_x_seq", op.grad_x, Access::write, Transfer::staged,
                        op.in_place ? &op.grad_spike : nullptr});
    say("desc.grad_v_init", op.grad_v_init, Access::write);
    say("desc.grad_w_init", op.grad_w_init, Access::write);
    say("the layer's sums of gradients", op.gradient_partials, Access::write);
  }
};

struct CopyOperation {
  Array source;
  Array destination;  // the same number of bytes

  template <class Op, class Visit>
  static void operands(Op& op, Visit visit) {
    visit(OperandOf<Op>{"desc.source", op.source, Access::read, Transfer::direct});
    visit(OperandOf<Op>{"desc.destination", op.destination, Access::write, Transfer::direct});
  }
};

// A fixed-order sum (model/reduction.hpp) over what a backward left per neuron.
enum class ReduceKind : int32_t {
  batch,   // f64 [B, N] to [N], over the batch rows
  chunks,  // f64 [n] to f64 [ceil(n/reduction_chunk)]
  total,   // f64 [n] to [1]
};
struct ReduceOperation {
  ReduceKind kind;
  int32_t dtype;  // of the output (batch, total)
  Array input;
  int64_t batch;  // B for batch, else 1
  int64_t count;  // N for batch, else n
  Array output;
  int32_t gradient = -1;            // the number of the gradient that it is part of
  const int64_t* active = nullptr;  // in device memory: how many inputs count, the first ones; null: all

  template <class Op, class Visit>
  static void operands(Op& op, Visit visit) {
    visit(OperandOf<Op>{"the layer's sums of gradients", op.input, Access::read});
    visit(OperandOf<Op>{"desc.parameter_gradients[].gradient", op.output, Access::write, Transfer::staged, nullptr,
                        false, op.gradient});
  }
};

// Every element of an array becomes one value; dtype is one of SYNFIRE_DTYPE_*.
struct FillOperation {
  Array array;
  int32_t dtype;
  double value;
  const uint64_t* bits = nullptr;  // in device memory, instead of `value`: the bits of an element

  template <class Op, class Visit>
  static void operands(Op& op, Visit visit) {
    visit(OperandOf<Op>{"desc.buffer", op.array, Access::write, Transfer::direct});
  }
};

// destination = keep·destination + scale·source, element by element: fma(scale, source, keep·destination) in f32, in
// f64 when the arrays are f64. With a keep of 0 the destination is not read.
struct ScaleAddOperation {
  Array source;
  Array destination;
  double scale;
  double keep;
  const double* scale_value = nullptr;  // in device memory, instead of `scale`
  const double* keep_value = nullptr;

  template <class Op, class Visit>
  static void operands(Op& op, Visit visit) {
    visit(OperandOf<Op>{"desc.source", op.source, Access::read});
    visit(OperandOf<Op>{"desc.destination", op.destination, Access::update, Transfer::staged, &op.source});
  }
};

// V = v_reset (hard) or 0 (soft), from the parameters on the device; W = 0: of batch rows first_row to first_row +
// n_rows, or of those among them whose byte in the mask [B] is not 0.
struct ResetStateOperation {
  Layer* layer;
  int64_t first_row;
  int64_t n_rows;
  Array v, w;  // those rows of the state; no w in models with one variable
  Array parameters;
  Array mask = {};

  template <class Op, class Visit>
  static void operands(Op& op, Visit visit) {
    const Access access = op.mask.data ? Access::update : Access::write;  // rows that the mask leaves out stay
    visit(OperandOf<Op>{"desc.buffer", op.mask, Access::read});
    visit(OperandOf<Op>{"the layer's parameters", op.parameters, Access::read});
    visit(OperandOf<Op>{"the layer's v", op.v, access});
    visit(OperandOf<Op>{"the layer's w", op.w, access});
  }
};

// A few bytes that are part of the operation.
struct WriteBytesOperation {
  Array destination;
  std::array<unsigned char, 128> bytes;
  uint64_t n_bytes;

  template <class Op, class Visit>
  static void operands(Op& op, Visit visit) {
    visit(OperandOf<Op>{"desc.buffer", op.destination, Access::write, Transfer::direct});
  }
};

// A copy that happens only if `guard` holds what it shall.
struct GuardedCopyOperation {
  Array source;
  Array destination;  // the same number of bytes, a multiple of 4
  Array guard;
  std::array<unsigned char, 128> expected;
  uint64_t n_expected;

  template <class Op, class Visit>
  static void operands(Op& op, Visit visit) {
    visit(OperandOf<Op>{"desc.buffer", op.source, Access::read, Transfer::direct});
    visit(OperandOf<Op>{"desc.buffer", op.guard, Access::read, Transfer::direct});
    visit(OperandOf<Op>{"the layer's state", op.destination, Access::update, Transfer::direct});
  }
};

// Values that the host set reach the parameters on the device: those that changed since the last time.
struct SetParametersOperation {
  Layer* layer;
  Array parameters;

  template <class Op, class Visit>
  static void operands(Op& op, Visit visit) {
    visit(OperandOf<Op>{"the layer's parameters", op.parameters, Access::update});
  }
};

// One step of a parameter along its gradient, then the constants that follow.
struct UpdateParameterOperation {
  Layer* layer;
  uint32_t parameter;
  model::DescentStep step;
  Array gradient;  // [1] or [N], in the type of the arithmetic
  bool gradient_per_neuron;
  const double* rate;  // in device memory
  Array parameters;    // of the layer

  template <class Op, class Visit>
  static void operands(Op& op, Visit visit) {
    visit(OperandOf<Op>{"desc.gradient", op.gradient, Access::read});
    visit(OperandOf<Op>{"the layer's parameters", op.parameters, Access::update});
  }
};

// Spikes [T, B, N] from one format to another; the dtypes of the arrays say which.
struct ConvertSpikesOperation {
  Extents extents;
  Array source;
  Array destination;

  template <class Op, class Visit>
  static void operands(Op& op, Visit visit) {
    visit(OperandOf<Op>{"desc.source", op.source, Access::read});
    visit(OperandOf<Op>{"desc.destination", op.destination, Access::write});
  }
};

enum class CountKind : int32_t {
  per_neuron = SYNFIRE_COUNT_PER_NEURON,
  per_step = SYNFIRE_COUNT_PER_STEP,
  total = SYNFIRE_COUNT_TOTAL
};
// The counts are written, whatever they held before.
struct CountSpikesOperation {
  CountKind kind;
  Extents extents;
  Array spikes;
  Array counts;  // u32 or u64: [B, N], [T] or [1]

  template <class Op, class Visit>
  static void operands(Op& op, Visit visit) {
    visit(OperandOf<Op>{"desc.spikes", op.spikes, Access::read});
    visit(OperandOf<Op>{"desc.counts", op.counts, Access::write, Transfer::accumulated});
  }
};

// The caller's own code. On CUDA its function is called when the graph is captured (or, without a capture, at each
// replay) and enqueues work; on the host it is called at each replay and does the work.
inline constexpr uint64_t most_native_buffers = 64;  // read, and as many written
struct NativeOperation {
  uint32_t number;  // of the operation in its graph, for error texts
  std::string name;
  synfire_native_callback callback;
  void* user;
  std::vector<Array> reads, writes;

  template <class Op, class Visit>
  static void operands(Op& op, Visit visit) {
    const auto say = [&](const char* known_as, auto& arrays, Access access) {
      int32_t index = 0;
      for (auto& array : arrays)
        visit(OperandOf<Op>{known_as, array, access, Transfer::direct, nullptr, true, index++});
    };
    say("desc.reads[]", op.reads, Access::read);
    say("desc.writes[]", op.writes, Access::write);
  }
};

using Operation =
    std::variant<ForwardOperation, BackwardOperation, ReduceOperation, CopyOperation, FillOperation,
                 ResetStateOperation, ConvertSpikesOperation, CountSpikesOperation, NativeOperation, ScaleAddOperation,
                 WriteBytesOperation, GuardedCopyOperation, SetParametersOperation, UpdateParameterOperation>;
using OperationList = std::vector<Operation>;

}  // namespace synfire::core

#endif
