// The operation list: what a graph records and what an eager call runs. Both backends execute this one list.
// An operation holds addresses that were checked when it was made; whoever holds the list keeps the memory alive.
#ifndef SYNFIRE_CORE_OPERATION_HPP
#define SYNFIRE_CORE_OPERATION_HPP

#include "arguments.hpp"

#include <synfire/synfire.h>

#include <array>
#include <string>
#include <variant>
#include <vector>

namespace synfire::core {

class Layer;

// A stretch of memory of a known kind; null data means "not given".
struct Array {
  void* data = nullptr;
  uint64_t bytes = 0;
  int32_t memory = SYNFIRE_MEMORY_DEVICE;
  int32_t dtype = SYNFIRE_DTYPE_F32;
  int64_t pitch = 0;    // elements from one step to the next, for arrays that have steps
  bool padded = false;  // the pitch is more than a row: there is foreign memory between the rows
  int64_t row = 0;      // elements of one step, for arrays that have steps
};

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
  void* tape;     // [ceil(T/checkpoint_interval), n_states, B, N], or null for inference
  Array tape_h;   // [T, B, N] in tape modes that store H; x itself when H goes over it
  uint32_t* tape_spikes;  // words [ceil(T/32), B, N] beside an H of 16 bits
};

struct BackwardOperation {
  Layer* layer;
  Array x;             // what the taped forward read; not given when H is stored and X is not needed
  const void* tape;
  Array tape_h;        // not given when H is recomputed
  const uint32_t* tape_spikes;
  Array grad_spike;    // [T, B, N]
  Array grad_v_seq;    // [T, B, N]
  Array grad_v_final;  // [B, N]
  Array grad_x;        // [T, B, N]
  Array grad_v_init;   // [B, N]
  Array grad_w_seq;    // [T, B, N], as V; models with two variables only
  Array grad_w_final;  // [B, N]
  Array grad_w_init;   // [B, N]
  GradientRows gradients;
  double* gradient_partials;  // [gradients.count, B, N]
};

struct CopyOperation {
  Array source;
  Array destination;  // the same number of bytes
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
  const void* input;
  int64_t batch;  // B for batch, else 1
  int64_t count;  // N for batch, else n
  Array output;
  const int64_t* active = nullptr;  // in device memory: how many inputs count, the first ones; null: all
};

// Every element of an array becomes one value; dtype is one of SYNFIRE_DTYPE_*.
struct FillOperation {
  Array array;
  int32_t dtype;
  double value;
  const uint64_t* bits = nullptr;  // in device memory, instead of `value`: the bits of an element
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
};

// V = v_reset (hard) or 0 (soft), from the parameters on the device; W = 0: of batch rows first_row to first_row +
// n_rows, or of those among them whose byte in the mask [B] is not 0.
struct ResetStateOperation {
  Layer* layer;
  int64_t first_row;
  int64_t n_rows;
  Array mask = {};
};

// A few bytes that are part of the operation.
struct WriteBytesOperation {
  Array destination;
  std::array<unsigned char, 128> bytes;
  uint64_t n_bytes;
};

// A copy that happens only if `guard` holds what it shall.
struct GuardedCopyOperation {
  Array source;
  Array destination;  // the same number of bytes, a multiple of 4
  Array guard;
  std::array<unsigned char, 128> expected;
  uint64_t n_expected;
};

// Values that the host set reach the parameters on the device: those that changed since the last time.
struct SetParametersOperation {
  Layer* layer;
};

// One step of a parameter along its gradient, then the constants that follow.
struct UpdateParameterOperation {
  Layer* layer;
  uint32_t parameter;
  model::DescentStep step;
  Array gradient;  // [1] or [N], in the type of the arithmetic
  bool gradient_per_neuron;
  const double* rate;  // in device memory
};

// Spikes [T, B, N] from one format to another; the dtypes of the arrays say which.
struct ConvertSpikesOperation {
  Extents extents;
  Array source;
  Array destination;
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
};

using Operation =
    std::variant<ForwardOperation, BackwardOperation, ReduceOperation, CopyOperation, FillOperation,
                 ResetStateOperation, ConvertSpikesOperation, CountSpikesOperation, NativeOperation, ScaleAddOperation,
                 WriteBytesOperation, GuardedCopyOperation, SetParametersOperation, UpdateParameterOperation>;
using OperationList = std::vector<Operation>;

}  // namespace synfire::core

#endif
