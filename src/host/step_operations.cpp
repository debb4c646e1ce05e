#include "step_operations.hpp"

#include "storage.hpp"

#include <core/float_environment.hpp>
#include <core/update_parameters.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace synfire::host {
namespace {

using namespace synfire::core;
namespace generic = SYNFIRE_MODEL_LEVEL;

// Elements below which the calling thread works alone; a processor does about a billion a second.
constexpr int64_t parallel_threshold = 1 << 18;

template <class F>
auto with_arithmetic(const Layer& layer, F f) {
  return layer.spec().dtype == SYNFIRE_DTYPE_F64 ? f(double{}) : f(float{});
}

// ---- scale-and-add --------------------------------------------------------------------------------------------------

double load(double stored) {
  return stored;
}
float load(float stored) {
  return stored;
}
float load(generic::F16 stored) {
  return generic::decode(stored);
}
float load(generic::Bf16 stored) {
  return generic::decode(stored);
}

void store(double& to, double value) {
  to = value;
}
void store(float& to, float value) {
  to = value;
}
void store(generic::F16& to, float value) {
  to = generic::encode<generic::F16>(value);
}
void store(generic::Bf16& to, float value) {
  to = generic::encode<generic::Bf16>(value);
}

template <class From, class To>
void scale_add_range(const ScaleAddOperation& op, int64_t first, int64_t end) {
  using R = decltype(load(To{}));
  const auto* const source = static_cast<const From*>(op.source.data);
  auto* const destination = static_cast<To*>(op.destination.data);
  const R scale = static_cast<R>(op.scale_value ? *op.scale_value : op.scale);
  const R keep = static_cast<R>(op.keep_value ? *op.keep_value : op.keep);
  for (int64_t i = first; i < end; ++i) {
    const R kept = keep == R(0) ? R(0) : keep * load(destination[i]);
    store(destination[i], model::fma(scale, load(source[i]), kept));
  }
}

template <class From>
void scale_add_from(const ScaleAddOperation& op, int64_t first, int64_t end) {
  if constexpr (sizeof(From) == 8) {
    scale_add_range<double, double>(op, first, end);
  } else {
    switch (op.destination.dtype) {
      case SYNFIRE_DTYPE_F16:
        return scale_add_range<From, generic::F16>(op, first, end);
      case SYNFIRE_DTYPE_BF16:
        return scale_add_range<From, generic::Bf16>(op, first, end);
      default:
        return scale_add_range<From, float>(op, first, end);
    }
  }
}

int64_t element_count(const ScaleAddOperation& op) {
  return static_cast<int64_t>(op.source.bytes / bytes_of_dtype(op.source.dtype));
}

}  // namespace

bool wants_threads(const ScaleAddOperation& op) {
  return element_count(op) >= parallel_threshold;
}

void scale_add(const ScaleAddOperation& op, const Parallel& threads) {
  const int64_t count = element_count(op), n_blocks = wants_threads(op) ? threads.n_threads() : 1;
  auto block = [&](int64_t index) {
    const FloatEnvironment ieee;
    const int64_t first = count / n_blocks * index, end = index + 1 == n_blocks ? count : first + count / n_blocks;
    switch (op.source.dtype) {
      case SYNFIRE_DTYPE_F64:
        return scale_add_from<double>(op, first, end);
      case SYNFIRE_DTYPE_F16:
        return scale_add_from<generic::F16>(op, first, end);
      case SYNFIRE_DTYPE_BF16:
        return scale_add_from<generic::Bf16>(op, first, end);
      default:
        return scale_add_from<float>(op, first, end);
    }
  };
  threads.for_each_block(n_blocks, block);
}

// ---- state ----------------------------------------------------------------------------------------------------------

void reset_state(const ResetStateOperation& op) {
  with_arithmetic(*op.layer, [&](auto r) {
    using R = decltype(r);
    const LayerSpec& spec = op.layer->spec();
    const auto& block = *static_cast<const ParameterBlock<R>*>(op.parameters.data);
    const auto* const mask = static_cast<const unsigned char*>(op.mask.data);
    const int64_t n = spec.extents.n_neurons;
    for (int64_t row = op.first_row; row < op.first_row + op.n_rows; ++row) {
      if (mask && mask[row] == 0) continue;
      const int64_t first = (row - op.first_row) * n;
      R* const v = static_cast<R*>(op.v.data) + first;
      for (int64_t i = 0; i < n; ++i) {
        const R v_reset = block.per_neuron ? block.per_neuron[model::constant_v_reset * n + i]
                                           : block.shared[model::constant_v_reset];
        v[i] = spec.rules.soft_reset ? R(0) : v_reset;
      }
      if (op.w.data) std::fill_n(static_cast<R*>(op.w.data) + first, n, R(0));
    }
  });
}

void guarded_copy(const GuardedCopyOperation& op) {
  if (std::memcmp(op.guard.data, op.expected.data(), op.n_expected) == 0)
    std::memcpy(op.destination.data, op.source.data, op.source.bytes);
}

// ---- parameters -----------------------------------------------------------------------------------------------------

void set_parameters(const SetParametersOperation& op) {
  with_arithmetic(*op.layer, [&](auto r) {
    const auto arguments = op.layer->set_arguments<decltype(r)>();
    for (int64_t i = 0; i < (arguments.per_neuron ? arguments.target.n_neurons : 1); ++i)
      set_parameters_of(arguments, i);
    if (arguments.read_number)
      std::atomic_ref(*arguments.read_number).store(arguments.number, std::memory_order_release);
  });
}

void update_parameter(const UpdateParameterOperation& op) {
  with_arithmetic(*op.layer, [&](auto r) {
    const auto arguments = op.layer->update_arguments<decltype(r)>(op);
    double next = 0;
    for (int64_t i = 0; i < (arguments.block->per_neuron ? arguments.target.n_neurons : 1); ++i)
      next = update_parameter_of(arguments, i);
    ParameterMaster& master = *arguments.target.master;
    // Another thread may read it meanwhile: the value of before or of now.
    if (!master.rows[op.parameter])
      std::atomic_ref(master.shared[op.parameter]).store(next, std::memory_order_relaxed);
  });
}

}  // namespace synfire::host
