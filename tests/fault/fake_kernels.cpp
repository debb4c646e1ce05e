// The kernels behind the fake CUDA runtime: the addresses that src/cuda asks for, and host code that computes what the
// GPU's kernels do, from the same arguments. Forward and backward are the host backend's kernels.
#include "fake_cuda.hpp"
#include "kernel_instances.hpp"

#include <core/buffer.hpp>
#include <core/float_environment.hpp>
#include <core/update_parameters.hpp>
#include <host/kernels.hpp>

#include <synfire/synfire.h>
#include <synfire/model/reduction.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>

namespace synfire::cuda {

using synfire_test::fake::Kernel;

namespace {

template <class Launch, class Body>
Kernel kernel(Body body) {
  return {sizeof(Launch), [body](const void* arguments) {
            const core::FloatEnvironment ieee;  // a GPU knows nothing of the caller's
            body(*static_cast<const Launch*>(arguments));
          }};
}

// One kernel for each model.
template <class Make>
const void* by_model(std::map<int32_t, Kernel>& made, int32_t model, Make make) {
  auto found = made.find(model);
  if (found == made.end()) found = made.emplace(model, make()).first;
  return &found->second;
}

// Tiles as the host backend cuts them: batch rows one by one, which is right for every layer.
template <class Arguments, class Body>
void for_each_tile(const Arguments& arguments, int tile, Body body) {
  const core::Extents& e = arguments.extents;
  const int64_t words = (e.n_neurons + 31) / 32;
  for (int64_t row = 0; row < arguments.parameters->active / e.n_neurons; ++row)
    for (int64_t neuron = 0; neuron < e.n_neurons; neuron += tile)
      body(host::Tile{row * e.n_neurons + neuron, neuron, row * words + neuron / 32,
                      static_cast<int>(std::min<int64_t>(tile, e.n_neurons - neuron)), 0, false});
}

double lane_sum(const double* values, int64_t count) {
  double lanes[model::reduction_lanes] = {};
  for (int64_t i = 0; i < count; ++i) lanes[i % model::reduction_lanes] += values[i];
  for (int half = model::reduction_lanes / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

// ---- 16-bit numbers, one at a time ----------------------------------------------------------------------------------

float decoded(float stored) {
  return stored;
}
double decoded(double stored) {
  return stored;
}
float decoded(Bf16 stored) {
  return model::from_bits(static_cast<uint32_t>(stored.bits) << 16);
}
float decoded(F16 stored) {
  const float magnitude =
      (stored.bits & 0x7C00) == 0x7C00 ? ((stored.bits & 0x3FF) != 0 ? std::numeric_limits<float>::quiet_NaN()
                                                                     : std::numeric_limits<float>::infinity())
      : (stored.bits & 0x7C00) == 0
          ? std::ldexp(static_cast<float>(stored.bits & 0x3FF), -24)
          : std::ldexp(static_cast<float>((stored.bits & 0x3FF) | 0x400), (stored.bits >> 10 & 31) - 25);
  return (stored.bits & 0x8000) != 0 ? -magnitude : magnitude;
}
void encode(float& to, float value) {
  to = value;
}
void encode(double& to, double value) {
  to = value;
}
void encode(F16& to, float value) {
  to.bits = static_cast<uint16_t>(core::element_bits(SYNFIRE_DTYPE_F16, static_cast<double>(value)));
}
void encode(Bf16& to, float value) {
  to.bits = static_cast<uint16_t>(core::element_bits(SYNFIRE_DTYPE_BF16, static_cast<double>(value)));
}

// Spikes of any format, one at a time.
struct Spikes {
  core::SpikeArray array;
  core::SpikeStorage storage;
  core::Extents extents;

  int64_t dense(int64_t t, int64_t b, int64_t n) const { return t * array.pitch + b * extents.n_neurons + n; }
  uint32_t* word(int64_t t, int64_t b, int64_t n) const {
    auto* const words = static_cast<uint32_t*>(array.data);
    if (storage == core::SpikeStorage::bits) return words + t * array.pitch + b * extents.words_per_row() + n / 32;
    return words + t / 32 * array.pitch + b * extents.n_neurons + n;
  }
  int bit(int64_t t, int64_t n) const { return static_cast<int>((storage == core::SpikeStorage::bits ? n : t) % 32); }
  size_t bytes() const { return size_t{1} << static_cast<int>(storage); }

  bool get(int64_t t, int64_t b, int64_t n) const {
    if (storage >= core::SpikeStorage::bits) return (*word(t, b, n) >> bit(t, n) & 1) != 0;
    uint64_t value = 0;
    std::memcpy(&value, static_cast<const char*>(array.data) + static_cast<uint64_t>(dense(t, b, n)) * bytes(),
                bytes());
    return (value & array.magnitude) != 0;
  }
  void set(int64_t t, int64_t b, int64_t n, bool spike) const {
    if (storage >= core::SpikeStorage::bits) {
      uint32_t& w = *word(t, b, n);
      if (bit(t, n) == 0) w = 0;  // neurons and steps are gone through in order: the first bit clears its word
      w |= static_cast<uint32_t>(spike) << bit(t, n);
      return;
    }
    const uint64_t value = spike ? array.one : 0;
    std::memcpy(static_cast<char*>(array.data) + static_cast<uint64_t>(dense(t, b, n)) * bytes(), &value, bytes());
  }
};

template <class Body>
void for_each_spike(const core::Extents& e, Body body) {
  for (int64_t t = 0; t < e.n_steps; ++t)
    for (int64_t b = 0; b < e.batch; ++b)
      for (int64_t n = 0; n < e.n_neurons; ++n) body(t, b, n);
}

}  // namespace

template <class E>
const void* forward_kernel(int32_t model, int, ForwardOutputs) {
  using R = Arithmetic<E>;
  static std::map<int32_t, Kernel> made;
  return by_model(made, model, [model] {
    return kernel<ForwardLaunch<R>>([model](const ForwardLaunch<R>& launch) {
      if (launch.lanes.count == 0) return;
      synfire_test::fake::note_pass(launch.next_begins_early);
      for_each_tile(launch.arguments, host::forward_tile,
                    [&](const host::Tile& tile) { host::select_kernels().forward(model, launch.arguments, tile); });
    });
  });
}
template <class E>
const void* backward_kernel(int32_t model, int32_t, int, BackwardInputs) {
  using R = Arithmetic<E>;
  static std::map<int32_t, Kernel> made;
  return by_model(made, model, [model] {
    return kernel<BackwardLaunch<R>>([model](const BackwardLaunch<R>& launch) {
      if (launch.lanes.count == 0) return;
      synfire_test::fake::note_pass(launch.next_begins_early);
      for_each_tile(launch.arguments, host::backward_tile<R>,
                    [&](const host::Tile& tile) { host::select_kernels().backward(model, launch.arguments, tile); });
    });
  });
}
template <class R>
const void* reduce_batch_kernel() {
  static const Kernel made = kernel<ReduceLaunch<R>>([](const ReduceLaunch<R>& launch) {
    for (int64_t n = 0; n < launch.count; ++n) {
      double sum = 0;
      for (int64_t b = 0; b < (launch.active ? *launch.active / launch.count : launch.batch); ++b)
        sum += launch.input[b * launch.count + n];
      launch.output[n] = static_cast<R>(sum);
    }
  });
  return &made;
}
template <class R>
const void* reduce_total_kernel() {
  static const Kernel made = kernel<ReduceLaunch<R>>([](const ReduceLaunch<R>& launch) {
    if (launch.count > 0) *launch.output = static_cast<R>(lane_sum(launch.input, launch.count));
  });
  return &made;
}
const void* reduce_chunks_kernel() {
  static const Kernel made = kernel<ReduceLaunch<double>>([](const ReduceLaunch<double>& launch) {
    for (int64_t first = 0, chunk = 0; first < launch.count; first += model::reduction_chunk, ++chunk)
      launch.output[chunk] = lane_sum(
          launch.input + first,
          std::clamp<int64_t>((launch.active ? *launch.active : launch.count) - first, 0, model::reduction_chunk));
  });
  return &made;
}
template <class E>
const void* fill_kernel() {
  static const Kernel made =
      kernel<FillLaunch<E>>([](const FillLaunch<E>& launch) { std::fill_n(launch.data, launch.count, launch.value); });
  return &made;
}
const void* copy_kernel(int unit_bytes) {
  static std::map<int32_t, Kernel> made;
  return by_model(made, unit_bytes, [=] {
    return kernel<CopyLaunch>([=](const CopyLaunch& launch) {
      std::memcpy(launch.destination, launch.source,
                  static_cast<size_t>(launch.count) * static_cast<size_t>(unit_bytes));
    });
  });
}
const void* write_small_kernel() {
  static const Kernel made = kernel<WriteSmallLaunch>([](const WriteSmallLaunch& launch) {
    std::memcpy(launch.destination, launch.source, static_cast<size_t>(launch.bytes));
  });
  return &made;
}
const void* signal_kernel() {
  static const Kernel made = kernel<SignalLaunch>([](const SignalLaunch& launch) {
    if (!launch.count) return;
    *static_cast<volatile uint64_t*>(launch.published) = ++*launch.count;
  });
  return &made;
}
const void* idle_kernel() {
  static const Kernel made = {0, [](const void*) {}};
  return &made;
}
const void* convert_spikes_kernel(core::SpikeStorage from, core::SpikeStorage to) {
  static std::map<int32_t, Kernel> made;
  return by_model(made, static_cast<int32_t>(from) * 100 + static_cast<int32_t>(to), [=] {
    return kernel<ConvertSpikesLaunch>([=](const ConvertSpikesLaunch& launch) {
      if (launch.n_tiles == 0) return;
      const Spikes source = {launch.source, from, launch.extents},
                   destination = {launch.destination, to, launch.extents};
      for_each_spike(launch.extents,
                     [&](int64_t t, int64_t b, int64_t n) { destination.set(t, b, n, source.get(t, b, n)); });
    });
  });
}
template <class C>
const void* count_spikes_kernel(core::SpikeStorage storage) {
  static std::map<int32_t, Kernel> made;
  return by_model(made, static_cast<int32_t>(storage), [=] {
    return kernel<CountSpikesLaunch>([=](const CountSpikesLaunch& launch) {
      if (launch.n_runs == 0) return;
      const Spikes spikes = {launch.spikes, storage, launch.extents};
      auto* const counts = static_cast<C*>(launch.counts);
      for_each_spike(launch.extents, [&](int64_t t, int64_t b, int64_t n) {
        const int64_t at = launch.kind == SYNFIRE_COUNT_PER_NEURON ? b * launch.extents.n_neurons + n
                           : launch.kind == SYNFIRE_COUNT_PER_STEP ? t
                                                                   : 0;
        counts[at] += spikes.get(t, b, n) ? 1 : 0;
      });
    });
  });
}

// ---- between the passes of a step -----------------------------------------------------------------------------------

template <class E>
const void* fill_value_kernel() {
  static const Kernel made = kernel<FillValueLaunch<E>>([](const FillValueLaunch<E>& launch) {
    if (launch.count > 0) std::fill_n(launch.data, launch.count, static_cast<E>(*launch.bits));
  });
  return &made;
}
template <class From, class To>
const void* scale_add_of() {
  static const Kernel made = kernel<ScaleAddLaunch>([](const ScaleAddLaunch& launch) {
    using R = Arithmetic<To>;
    if (launch.count == 0) return;
    const R scale = static_cast<R>(launch.scale_value ? *launch.scale_value : launch.scale);
    const R keep = static_cast<R>(launch.keep_value ? *launch.keep_value : launch.keep);
    const auto* const source = static_cast<const From*>(launch.source);
    auto* const destination = static_cast<To*>(launch.destination);
    for (int64_t i = 0; i < launch.count; ++i) {
      const R kept = keep == R(0) ? R(0) : keep * static_cast<R>(decoded(destination[i]));
      encode(destination[i], std::fma(scale, static_cast<R>(decoded(source[i])), kept));
    }
  });
  return &made;
}
template <class From>
const void* scale_add_from(int32_t destination) {
  switch (destination) {
    case SYNFIRE_DTYPE_F16:
      return scale_add_of<From, F16>();
    case SYNFIRE_DTYPE_BF16:
      return scale_add_of<From, Bf16>();
    default:
      return scale_add_of<From, float>();
  }
}
const void* scale_add_kernel(int32_t source, int32_t destination) {
  switch (source) {
    case SYNFIRE_DTYPE_F64:
      return scale_add_of<double, double>();
    case SYNFIRE_DTYPE_F16:
      return scale_add_from<F16>(destination);
    case SYNFIRE_DTYPE_BF16:
      return scale_add_from<Bf16>(destination);
    default:
      return scale_add_from<float>(destination);
  }
}
template <class R>
const void* reset_rows_kernel() {
  static const Kernel made = kernel<ResetRowsLaunch<R>>([](const ResetRowsLaunch<R>& launch) {
    const int64_t n = launch.n_neurons;
    for (int64_t i = 0; i < launch.n_rows * n; ++i) {
      if (launch.mask && launch.mask[i / n] == 0) continue;
      const auto& p = *launch.parameters;
      launch.v[i] = launch.soft_reset ? R(0)
                    : p.per_neuron    ? p.per_neuron[model::constant_v_reset * n + i % n]
                                      : p.shared[model::constant_v_reset];
      if (launch.w) launch.w[i] = R(0);
    }
  });
  return &made;
}
const void* guarded_copy_kernel() {
  static const Kernel made = kernel<GuardedCopyLaunch>([](const GuardedCopyLaunch& launch) {
    if (launch.count > 0 && std::memcmp(launch.guard, launch.expected, static_cast<size_t>(launch.n_expected)) == 0)
      std::memcpy(launch.destination, launch.source, static_cast<size_t>(launch.count) * 4);
  });
  return &made;
}
template <class R>
const void* set_parameters_kernel() {
  static const Kernel made = kernel<SetParametersLaunch<R>>([](const SetParametersLaunch<R>& launch) {
    const auto& a = launch.arguments;
    for (int64_t i = 0; i < launch.count; ++i) core::set_parameters_of(a, i);
    if (launch.count > 0 && a.read_number) std::atomic_ref(*a.read_number).store(a.number, std::memory_order_release);
  });
  return &made;
}
template <class R>
const void* update_parameter_kernel() {
  static const Kernel made = kernel<UpdateParameterLaunch<R>>([](const UpdateParameterLaunch<R>& launch) {
    if (!launch.runs) return;
    const auto& a = launch.arguments;
    core::ParameterMaster& master = *a.target.master;
    double next = 0;
    for (int64_t i = 0; i < (a.block->per_neuron ? a.target.n_neurons : 1); ++i) next = core::update_parameter_of(a, i);
    if (!master.rows[a.parameter]) master.shared[a.parameter] = next;
  });
  return &made;
}

SYNFIRE_TEST_KERNEL_INSTANCES

}  // namespace synfire::cuda
