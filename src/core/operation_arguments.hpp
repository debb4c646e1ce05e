// From an operation to what a kernel receives; the same on both backends.
#ifndef SYNFIRE_CORE_OPERATION_ARGUMENTS_HPP
#define SYNFIRE_CORE_OPERATION_ARGUMENTS_HPP

#include "layer.hpp"
#include "spike_arrays.hpp"

namespace synfire::core {

inline Sequence sequence_of(const Array& array) { return {array.data, array.pitch, array.dtype}; }

inline Words words_of(const Array& array, bool wanted) {
  if (!wanted) return {nullptr, 0};
  return {static_cast<uint32_t*>(array.data), array.pitch};
}

inline SpikeStorage storage_of(int32_t dtype) {
  switch (dtype) {
    case SYNFIRE_DTYPE_BITS: return SpikeStorage::bits;
    case SYNFIRE_DTYPE_TIME_BITS: return SpikeStorage::time_bits;
    case SYNFIRE_DTYPE_F64: return SpikeStorage::bytes8;
    case SYNFIRE_DTYPE_F16:
    case SYNFIRE_DTYPE_BF16: return SpikeStorage::bytes2;
    case SYNFIRE_DTYPE_U8: return SpikeStorage::bytes1;
    default: return SpikeStorage::bytes4;
  }
}

inline SpikeArray spikes_of(const Array& array) {
  // u8 is the one dense type without a sign.
  const uint64_t magnitude =
      array.dtype == SYNFIRE_DTYPE_U8 ? 0xFF : ~uint64_t{0} >> (65 - 8 * bytes_of_dtype(array.dtype));
  return {array.data, array.pitch, magnitude, is_packed(array.dtype) ? 0 : element_bits(array.dtype, 1)};
}

template <class R>
R* row_of(const Array& array) {
  return static_cast<R*>(array.data);
}

template <class R>
ForwardArguments<R> arguments_of(const LayerSpec& spec, const void* block, const ForwardOperation& op) {
  return {.parameters = static_cast<const ParameterBlock<R>*>(block),
          .extents = spec.extents,
          .rules = spec.rules,
          .x = sequence_of(op.x),
          .spikes = op.spike_format == SpikeFormat::dense ? sequence_of(op.spikes) : Sequence{},
          .spike_bits = words_of(op.spikes, op.spike_format == SpikeFormat::bits),
          .spike_time_bits = words_of(op.spikes, op.spike_format == SpikeFormat::time_bits),
          .v_in = row_of<R>(op.v_in),
          .v_out = row_of<R>(op.v_out),
          .v_final = row_of<R>(op.v_final),
          .v_seq = sequence_of(op.v_seq),
          .h_seq = sequence_of(op.h_seq),
          .tape = row_of<R>(op.tape),
          .tape_h = sequence_of(op.tape_h),
          .tape_spikes = row_of<uint32_t>(op.tape_spikes),
          .w_in = row_of<R>(op.w_in),
          .w_out = row_of<R>(op.w_out),
          .w_final = row_of<R>(op.w_final),
          .w_seq = sequence_of(op.w_seq)};
}

template <class R>
BackwardArguments<R> arguments_of(const LayerSpec& spec, const void* block, const BackwardOperation& op) {
  return {.parameters = static_cast<const ParameterBlock<R>*>(block),
          .extents = spec.extents,
          .rules = spec.rules,
          .surrogate = spec.surrogate->id,
          .x = sequence_of(op.x),
          .tape = row_of<R>(op.tape),
          .tape_h = sequence_of(op.tape_h),
          .tape_spikes = row_of<uint32_t>(op.tape_spikes),
          .grad_spike = sequence_of(op.grad_spike),
          .grad_v_seq = sequence_of(op.grad_v_seq),
          .grad_v_final = row_of<R>(op.grad_v_final),
          .grad_x = sequence_of(op.grad_x),
          .grad_v_init = row_of<R>(op.grad_v_init),
          .grad_w_seq = sequence_of(op.grad_w_seq),
          .grad_w_final = row_of<R>(op.grad_w_final),
          .grad_w_init = row_of<R>(op.grad_w_init),
          .gradients = op.gradients,
          .gradient_partials = row_of<double>(op.gradient_partials)};
}

}  // namespace synfire::core

#endif
