#include "host_device.hpp"

#include "kernels.hpp"
#include "parallel.hpp"
#include "spike_rows.hpp"
#include "step_operations.hpp"

#include <core/error.hpp>
#include <core/float_environment.hpp>
#include <core/host_memory.hpp>
#include <core/layer.hpp>
#include <core/native_operation.hpp>
#include <core/operation_arguments.hpp>

#include <synfire/model/reduction.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>
#include <new>

namespace synfire::host {
namespace {

using namespace synfire::core;

// Neuron-steps of a forward below which the calling thread works alone. One processor with AVX-512 does this many in 63
// us, two in 41; on a busy machine a second thread may be scheduled milliseconds late.
constexpr int64_t parallel_threshold = 1 << 19;
// A backward step costs about four forward steps.
constexpr int64_t backward_weight = 4;

// Bytes of sequences from which a pass asks for its rows before it needs them. LIF, f32, T = 16, one thread, hot (the
// same arrays again and again), 32 MiB of cache, microseconds without and with asking: forward 4 MiB 119 and 133, 8 MiB
// 265 and 267; backward 12 MiB 509 and 570, 24 MiB 2186 and 1100. Cold (other arrays every time) asking gains at every
// size: forward 4 MiB 593 and 206, backward 3 MiB 364 and 172 (AMD EPYC, family 26, AVX-512). A single step is one
// contiguous row, which the processor finds by itself.
constexpr int64_t far_bytes = int64_t{4} << 20;
constexpr int64_t forward_sequences = 1, backward_sequences = 3;  // at least, packed spikes not counted

template <class R>
R* typed(const Array& array) {
  return static_cast<R*>(array.data);
}

// Calls f with a value of the layer's arithmetic type.
template <class F>
auto with_arithmetic(const Layer& layer, F f) {
  return layer.spec().dtype == SYNFIRE_DTYPE_F64 ? f(double{}) : f(float{});
}

// How the rows [B, N] of a layer are cut into tiles. Batch rows are cut one by one where a tile must not cross from one
// to the next: per-neuron constants, and packed words when N is not a multiple of 32. Otherwise [B, N] is one long row.
class Tiling {
 public:
  Tiling(const Extents& extents, bool keep_rows, int tile_size, int64_t bytes_per_element)
      : row_length_(keep_rows ? extents.n_neurons : extents.row()),
        tiles_per_row_((row_length_ + tile_size - 1) / tile_size),
        n_tiles_(tiles_per_row_ * (keep_rows ? extents.batch : 1)),
        words_per_row_((row_length_ + 31) / 32),
        end_(extents.row()),
        tile_size_(tile_size),
        far_(extents.n_steps > 1 && extents.n_steps * extents.row() * bytes_per_element > far_bytes) {}

  int64_t n_tiles() const { return n_tiles_; }
  Tile operator[](int64_t index) const {
    const int64_t row = index / tiles_per_row_;
    const int64_t neuron = index % tiles_per_row_ * tile_size_;
    const int64_t element = row * row_length_ + neuron, count = std::min<int64_t>(tile_size_, row_length_ - neuron);
    return {element,
            neuron,
            row * words_per_row_ + neuron / 32,
            static_cast<int>(count),
            static_cast<int>(std::min<int64_t>(tile_size_, end_ - element - count)),
            far_};
  }

 private:
  int64_t row_length_, tiles_per_row_, n_tiles_, words_per_row_, end_;
  int tile_size_;
  bool far_;
};

// Without the batch rows that are not active.
Extents active_of(const Extents& extents, int64_t active) {
  return {extents.n_steps, active / extents.n_neurons, extents.n_neurons};
}

// Neuron-steps.
int64_t work_of(const Extents& extents) {
  return extents.n_steps * extents.row();
}

class HostReplay;

class HostDevice final : public Device {
 public:
  HostDevice(int n_threads, const JobCallbacks& job_system)
      : kernels_(select_kernels()), threads_(n_threads, job_system) {}

  bool is_host() const noexcept override { return true; }

  void describe(synfire_context_properties& properties) const override {
    properties.backend = SYNFIRE_BACKEND_HOST;
    properties.device = -1;
    properties.n_threads = threads_.n_threads();
    std::snprintf(properties.name, sizeof properties.name, "host %s, %s", kernels_.level, threading_name());
  }

  void* allocate(int32_t /*memory*/, uint64_t bytes) override { return allocate_host(bytes); }
  void release(int32_t /*memory*/, void* data) noexcept override { release_host(data); }
  void require(int32_t /*memory*/, uint64_t bytes) override { require_host_memory(bytes, Paging::pageable); }
  void finish() noexcept override {}  // whoever computes has references of its own
  void check_borrowed(int32_t /*memory*/, const void* /*data*/) override {}

  void upload(void* destination, const void* source, uint64_t bytes) override {
    std::memcpy(destination, source, bytes);
  }
  void download(void* destination, const void* source, uint64_t bytes) override {
    // One value that a replay on another thread may update meanwhile is read whole.
    if (bytes == sizeof(uint64_t) && reinterpret_cast<uintptr_t>(source) % sizeof(uint64_t) == 0) {
      auto* const value = static_cast<uint64_t*>(const_cast<void*>(source));
      const uint64_t read = std::atomic_ref(*value).load(std::memory_order_relaxed);
      std::memcpy(destination, &read, sizeof read);
      return;
    }
    std::memcpy(destination, source, bytes);
  }
  void write_small(void* destination, const void* source, uint64_t bytes, synfire_stream) override {
    std::memcpy(destination, source, bytes);
  }

  void check_stream(synfire_stream stream) override {
    if (stream)
      fail_argument("SYN-STREAM-HOST", "stream is %p; a host context has no streams, null is needed",
                    static_cast<void*>(stream));
  }
  bool is_capturing(synfire_stream) override { return false; }
  void execute_captured(std::span<const Operation> operations, synfire_stream stream) override {
    execute(operations, stream);  // there is no stream to capture
  }
  // One entry of a replay's list.
  void execute_one(const Operation& operation, uint32_t slot) const {
    if (const auto* native = std::get_if<NativeOperation>(&operation))
      call_native(*native, nullptr, slot);
    else
      std::visit([this](const auto& op) { run(op); }, operation);
  }
  void load(std::span<const Operation>) override {}
  void execute(std::span<const Operation> operations, synfire_stream /*stream*/) override {
    // Where the system has refused threads, eager calls do not ask again each time.
    if (!asked_for_threads_.load(std::memory_order_relaxed) && wants_threads(operations) &&
        !asked_for_threads_.exchange(true, std::memory_order_relaxed))
      threads_.start();
    for (const Operation& operation : operations) std::visit([this](const auto& op) { run(op); }, operation);
  }
  void synchronize() override {}
  void check() override {}
  std::unique_ptr<Replay> instantiate(ReplayPlan plan) override;
  // Threads for what will be replayed: a launch creates none.
  void prepare(std::span<const Operation> operations) const {
    if (wants_threads(operations)) threads_.start();
  }

 private:
  template <class Op>
  static bool wants_threads(const Op&) {
    return false;
  }
  static bool wants_threads(const ForwardOperation& op) {
    return work_of(op.layer->spec().extents) >= parallel_threshold;
  }
  static bool wants_threads(const BackwardOperation& op) {
    return backward_weight * work_of(op.layer->spec().extents) >= parallel_threshold;
  }
  static bool wants_threads(const ScaleAddOperation& op) { return host::wants_threads(op); }
  static bool wants_threads(const ConvertSpikesOperation& op) { return host::wants_threads(op); }
  static bool wants_threads(const CountSpikesOperation& op) { return host::wants_threads(op); }
  static bool wants_threads(std::span<const Operation> operations) {
    return std::any_of(operations.begin(), operations.end(), [](const Operation& operation) {
      return std::visit([](const auto& op) { return wants_threads(op); }, operation);
    });
  }

  // Calls f(tile) for every tile, in parallel when there is enough work (in neuron-steps of a forward).
  template <class F>
  void for_each_tile(const Tiling& tiling, int64_t work, F f) const {
    const int64_t n_tiles = tiling.n_tiles();
    const int n_threads = threads_.n_threads();
    const bool alone = n_threads == 1 || work < parallel_threshold;
    // A few blocks per thread even out what other programs take from a processor.
    const int64_t n_blocks = alone ? 1 : std::min<int64_t>(n_tiles, int64_t{4} * n_threads);
    auto block = [&](int64_t index) {
      const FloatEnvironment ieee;
      const int64_t end = n_tiles * (index + 1) / n_blocks;
      for (int64_t tile = n_tiles * index / n_blocks; tile < end; ++tile) f(tiling[tile]);
    };
    threads_.for_each_block(n_blocks, block);
  }

  template <class R>
  void run_forward(const ForwardOperation& op) const {
    const LayerSpec& spec = op.layer->spec();
    const auto arguments = arguments_of<R>(spec, op.layer->block(), op);
    const bool rows = arguments.parameters->per_neuron || (arguments.spike_bits && spec.extents.n_neurons % 32 != 0);
    const Extents active = active_of(spec.extents, arguments.parameters->active);
    for_each_tile(Tiling(active, rows, forward_tile, forward_sequences * int64_t{sizeof(R)}), work_of(active),
                  [&](const Tile& tile) { kernels_.forward(spec.model->id, arguments, tile); });
  }
  template <class R>
  void run_backward(const BackwardOperation& op) const {
    const LayerSpec& spec = op.layer->spec();
    const auto arguments = arguments_of<R>(spec, op.layer->block(), op);
    const Extents active = active_of(spec.extents, arguments.parameters->active);
    for_each_tile(
        Tiling(active, arguments.parameters->per_neuron, backward_tile<R>, backward_sequences * int64_t{sizeof(R)}),
        backward_weight * work_of(active),
        [&](const Tile& tile) { kernels_.backward(spec.model->id, arguments, tile); });
  }

  void run(const ForwardOperation& op) const {
    with_arithmetic(*op.layer, [&](auto r) { run_forward<decltype(r)>(op); });
  }
  void run(const BackwardOperation& op) const {
    with_arithmetic(*op.layer, [&](auto r) { run_backward<decltype(r)>(op); });
  }
  void run(const ReduceOperation& op) const {
    if (op.dtype == SYNFIRE_DTYPE_F64)
      reduce<double>(op);
    else
      reduce<float>(op);
  }
  template <class R>
  static void reduce(const ReduceOperation& op) {
    const auto* const in = typed<const double>(op.input);
    const int64_t active = op.active ? *op.active : op.batch * op.count;
    switch (op.kind) {
      case ReduceKind::batch:
        for (int64_t n = 0; n < op.count; ++n) {
          double sum = 0;
          for (int64_t b = 0; b < active / op.count; ++b) sum += in[b * op.count + n];
          typed<R>(op.output)[n] = static_cast<R>(sum);
        }
        return;
      case ReduceKind::chunks:
        for (int64_t first = 0, chunk = 0; first < op.count; first += model::reduction_chunk, ++chunk)
          typed<double>(op.output)[chunk] =
              lane_sum(in + first, std::clamp<int64_t>(active - first, 0, model::reduction_chunk));
        return;
      case ReduceKind::total:
        *typed<R>(op.output) = static_cast<R>(lane_sum(in, op.count));
        return;
    }
  }
  // The sum of model/reduction.hpp: running sums in lanes, joined by a binary tree.
  static double lane_sum(const double* values, int64_t count) {
    double lanes[model::reduction_lanes] = {};
    for (int64_t i = 0; i < count; ++i) lanes[i % model::reduction_lanes] += values[i];
    for (int half = model::reduction_lanes / 2; half > 0; half /= 2)
      for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
    return lanes[0];
  }
  void run(const NativeOperation& op) const { call_native(op, nullptr, 0); }
  void run(const CopyOperation& op) const { std::memcpy(op.destination.data, op.source.data, op.source.bytes); }
  void run(const FillOperation& op) const {
    switch (bytes_of_dtype(op.dtype)) {
      case 1:
        return fill<uint8_t>(op);
      case 2:
        return fill<uint16_t>(op);
      case 4:
        return fill<uint32_t>(op);
      default:
        return fill<uint64_t>(op);
    }
  }
  void run(const ResetStateOperation& op) const { reset_state(op); }
  void run(const ScaleAddOperation& op) const { scale_add(op, threads_); }
  void run(const WriteBytesOperation& op) const { std::memcpy(op.destination.data, op.bytes.data(), op.n_bytes); }
  void run(const GuardedCopyOperation& op) const { guarded_copy(op); }
  void run(const SetParametersOperation& op) const { set_parameters(op); }
  void run(const UpdateParameterOperation& op) const { update_parameter(op); }
  void run(const ConvertSpikesOperation& op) const { convert_spikes(op, threads_); }
  void run(const CountSpikesOperation& op) const { count_spikes(op, threads_); }
  template <class E>
  static void fill(const FillOperation& op) {
    std::fill_n(static_cast<E*>(op.array.data), op.array.bytes / sizeof(E),
                static_cast<E>(op.bits ? *op.bits : element_bits(op.dtype, op.value)));
  }

  const Kernels& kernels_;
  const Parallel threads_;
  std::atomic<bool> asked_for_threads_{false};
};

// A replay runs the list again, on the launching thread.
class HostReplay final : public Replay {
 public:
  HostReplay(HostDevice& device, ReplayPlan plan) : device_(device), plan_(std::move(plan)) {
    device_.prepare(plan_.slots.front());
  }

  bool is_capturing(synfire_stream) override { return false; }
  void launch(synfire_stream stream, uint32_t slot) override {
    launch_captured(stream, slot);
    finished_.fetch_add(1, std::memory_order_release);
  }
  void launch_captured(synfire_stream, uint32_t slot) override {
    const OperationList& operations = plan_.slots[slot];
    for (size_t i = 0; i < operations.size(); ++i) {
      const uint32_t owner = plan_.owners[i];
      if (!plan_.enabled[owner]) continue;
      if (plan_.observer) plan_.observer->before(owner);
      device_.execute_one(operations[i], slot);
    }
  }
  void set_enabled(uint32_t operation, bool enabled) override { plan_.enabled[operation] = enabled ? 1 : 0; }
  void rebuild(ReplayPlan plan) override { plan_ = std::move(plan); }
  uint64_t finished() const noexcept override { return finished_.load(std::memory_order_acquire); }
  void check() override {}

 private:
  HostDevice& device_;
  ReplayPlan plan_;
  std::atomic<uint64_t> finished_{0};
};

std::unique_ptr<Replay> HostDevice::instantiate(ReplayPlan plan) {
  return std::make_unique<HostReplay>(*this, std::move(plan));
}

}  // namespace

std::unique_ptr<core::Device> make_device(int n_threads, const JobCallbacks& job_system) {
  return std::make_unique<HostDevice>(n_threads, job_system);
}

}  // namespace synfire::host
