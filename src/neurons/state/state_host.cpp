#include "reset_state.hpp"
#include "snapshot.hpp"

#include <algorithm>
#include <cstring>

namespace synfire::operations {

using namespace synfire::core;

namespace {

template <class R>
void reset(const ResetState& op) {
  const LayerSpec& spec = op.layer->spec();
  const auto& block = *static_cast<const ParameterBlock<R>*>(op.parameters.data);
  const auto* const mask = static_cast<const unsigned char*>(op.mask.data);
  const int64_t n = spec.extents.n_neurons;
  for (int64_t row = op.first_row; row < op.first_row + op.n_rows; ++row) {
    if (mask && mask[row] == 0) continue;
    const int64_t first = (row - op.first_row) * n;
    R* const v = static_cast<R*>(op.v.data) + first;
    for (int64_t i = 0; i < n; ++i) {
      const R v_reset =
          block.per_neuron ? block.per_neuron[model::constant_v_reset * n + i] : block.shared[model::constant_v_reset];
      v[i] = spec.rules.soft_reset ? R(0) : v_reset;
    }
    for (const View& w : op.w)
      if (w.data) std::fill_n(static_cast<R*>(w.data) + first, n, R(0));
  }
}

}  // namespace

void run(const ResetState& op, host::Launcher&) {
  if (op.layer->spec().dtype == SYNFIRE_DTYPE_F64)
    reset<double>(op);
  else
    reset<float>(op);
}

void run(const WriteBytes& op, host::Launcher&) {
  std::memcpy(op.destination.data, op.bytes.data(), op.n_bytes);
}

void run(const GuardedCopy& op, host::Launcher&) {
  if (std::memcmp(op.guard.data, op.expected.data(), op.n_expected) != 0) return;
  const View& to = op.destination;
  if (!to.is_padded()) {
    std::memcpy(to.data, op.source.data, op.source.bytes);
    return;
  }
  const uint64_t element = bytes_of_dtype(to.dtype), bytes = static_cast<uint64_t>(to.row()) * element;
  for (int64_t step = 0; step < to.shape[0]; ++step)
    std::memcpy(static_cast<char*>(to.data) + static_cast<uint64_t>(step * to.pitch) * element,
                static_cast<const char*>(op.source.data) + static_cast<uint64_t>(step) * bytes, bytes);
}

}  // namespace synfire::operations
