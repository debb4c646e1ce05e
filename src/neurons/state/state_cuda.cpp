#include "reset_state.hpp"
#include "snapshot.hpp"
#include "state_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>

#include <cstring>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

namespace {

template <class R>
void reset(const ResetState& op, Launcher& launcher) {
  const LayerSpec& spec = op.layer->spec();
  const int64_t n = spec.extents.n_neurons;
  const auto* const mask = static_cast<const unsigned char*>(op.mask.data);
  launcher.launch(reset_rows_kernel<R>(), launcher.over_elements(op.n_rows * n),
                  ResetRowsLaunch<R>{
                      static_cast<const ParameterBlock<R>*>(op.parameters.data),
                      mask ? mask + op.first_row : nullptr,
                      op.n_rows,
                      n,
                      spec.rules.soft_reset,
                      static_cast<R*>(op.v.data),
                      {static_cast<R*>(op.w[0].data), static_cast<R*>(op.w[1].data), static_cast<R*>(op.w[2].data)}});
}

}  // namespace

Hints hints(const ResetState&, const GpuShape&) {
  return {};
}
Hints hints(const WriteBytes&, const GpuShape&) {
  return {};
}
Hints hints(const GuardedCopy&, const GpuShape&) {
  return {};
}

void enqueue(const ResetState& op, Launcher& launcher) {
  if (op.layer->spec().dtype == SYNFIRE_DTYPE_F64)
    reset<double>(op, launcher);
  else
    reset<float>(op, launcher);
}

void enqueue(const WriteBytes& op, Launcher& launcher) {
  launcher.write_small(op.destination.data, op.bytes.data(), op.n_bytes);
}

void enqueue(const GuardedCopy& op, Launcher& launcher) {
  const auto count = static_cast<int64_t>(op.source.bytes / sizeof(uint32_t));
  const View& to = op.destination;
  const auto element_words = static_cast<int64_t>(bytes_of_dtype(to.dtype) / sizeof(uint32_t));
  GuardedCopyLaunch arguments = {.destination = static_cast<uint32_t*>(to.data),
                                 .source = static_cast<const uint32_t*>(op.source.data),
                                 .count = count,
                                 .step_words = to.is_padded() ? to.row() * element_words : count,
                                 .pitch = to.pitch * element_words,
                                 .guard = static_cast<const unsigned char*>(op.guard.data),
                                 .n_expected = static_cast<int32_t>(op.n_expected),
                                 .expected = {}};
  static_assert(sizeof arguments.expected == sizeof op.expected);
  std::memcpy(arguments.expected, op.expected.data(), sizeof arguments.expected);
  launcher.launch(guarded_copy_kernel(), launcher.over_elements(count), arguments);
}

}  // namespace synfire::operations
