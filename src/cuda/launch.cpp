// Every operation's launch: the arguments of its kernels and their grids. What does not live here: how wide a pass is,
// and which instance takes it (plan.cpp).
#include "launch.hpp"

#include "spike_kernels.hpp"
#include "step_kernels.hpp"

#include <core/error.hpp>
#include <core/layer.hpp>
#include <core/native_operation.hpp>
#include <core/operation_arguments.hpp>

#include <synfire/model/reduction.hpp>

#include <algorithm>
#include <cstring>

namespace synfire::cuda {
namespace {

using namespace synfire::core;

const LayerSpec& spec_of(const Layer* layer) {
  return layer->spec();
}

// Where a kernel goes, and how.
struct Target {
  cudaStream_t stream;
  bool programmatic;       // behind a kernel of this library, which need not have ended
  int shared_percent = 0;  // Plan::shared_percent

  Target(cudaStream_t to, Enqueue how) : stream(to), programmatic(how == Enqueue::run_programmatic) {}
};

void launch(const void* kernel, uint32_t n_blocks, uint32_t n_threads, const void* arguments, uint32_t shared_bytes,
            const Target& to) {
  // Beyond this a kernel must ask first; only f64 layers with two variables or gradients of parameters do.
  constexpr uint32_t shared_bytes_unasked = 48 * 1024;
  if (shared_bytes > shared_bytes_unasked)
    check(api().func_set_attribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)),
          "cudaFuncSetAttribute");
  void* parameters[] = {const_cast<void*>(arguments)};
  if (!to.programmatic && to.shared_percent == 0)
    return check(
        api().launch_kernel(kernel, dim3(n_blocks, 1, 1), dim3(n_threads, 1, 1), parameters, shared_bytes, to.stream),
        "cudaLaunchKernel");
  cudaLaunchAttribute attributes[2] = {};
  unsigned int n_attributes = 0;
  if (to.programmatic) {
    cudaLaunchAttribute& attribute = attributes[n_attributes++];
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
  }
#if CUDART_VERSION >= 12050
  if (to.shared_percent > 0) {
    cudaLaunchAttribute& attribute = attributes[n_attributes++];
    attribute.id = cudaLaunchAttributePreferredSharedMemoryCarveout;
    attribute.val.sharedMemCarveout = static_cast<unsigned int>(to.shared_percent);
  }
#endif
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(n_blocks, 1, 1);
  config.blockDim = dim3(n_threads, 1, 1);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = to.stream;
  config.attrs = attributes;
  config.numAttrs = n_attributes;
  check(api().launch_kernel_with_attributes(&config, kernel, parameters), "cudaLaunchKernelExC");
}

void write_small(void* destination, const void* source, uint64_t bytes, const Target& to) {
  WriteSmallLaunch arguments = {static_cast<unsigned char*>(destination), static_cast<int32_t>(bytes), {}};
  std::memcpy(arguments.source, source, bytes);
  launch(write_small_kernel(), 1, threads_per_block, &arguments, 0, to);
}

// Calls f with a value of the type of arithmetic.
template <class F>
auto with_arithmetic(int32_t dtype, F f) {
  return dtype == SYNFIRE_DTYPE_F64 ? f(double{}) : f(float{});
}

class Enqueuer {
 public:
  Enqueuer(const GpuShape& gpu, Enqueue how, cudaStream_t stream, bool next_begins_early)
      : gpu_(gpu), warm_up_(how == Enqueue::warm_up), next_begins_early_(next_begins_early), to_(stream, how) {}

  void operator()(const ForwardOperation& op) const {
    const LayerSpec& spec = spec_of(op.layer);
    Plan plan = plan_forward(spec, op, gpu_);
    if (warm_up_) plan.lanes.count = 0;
    with_arithmetic(spec.dtype, [&](auto r) {
      const ForwardLaunch<decltype(r)> arguments = {arguments_of<decltype(r)>(spec, op.layer->block(), op), plan.lanes,
                                                    next_begins_early_};
      launch_pass(kernel_for(spec, op, plan), plan, &arguments);
    });
  }

  void operator()(const BackwardOperation& op) const {
    const LayerSpec& spec = spec_of(op.layer);
    Plan plan = plan_backward(spec, op, gpu_);
    if (warm_up_) plan.lanes.count = 0;
    with_arithmetic(spec.dtype, [&](auto r) {
      const BackwardLaunch<decltype(r)> arguments = {arguments_of<decltype(r)>(spec, op.layer->block(), op), plan.lanes,
                                                     next_begins_early_};
      launch_pass(kernel_for(spec, op, plan), plan, &arguments);
    });
  }

  void operator()(const ReduceOperation& op) const {
    const auto* const in = row_of<const double>(op.input);
    const int64_t count = warm_up_ ? 0 : op.count;
    if (op.kind == ReduceKind::chunks) {
      const ReduceLaunch<double> arguments = {in, row_of<double>(op.output), 1, count, op.active};
      const int64_t n_chunks = (count + model::reduction_chunk - 1) / model::reduction_chunk;
      return launch(reduce_chunks_kernel(), static_cast<uint32_t>(std::clamp<int64_t>(n_chunks, 1, 65535)),
                    threads_per_block, &arguments, 0, to_);
    }
    with_arithmetic(op.dtype, [&](auto r) {
      using R = decltype(r);
      const ReduceLaunch<R> arguments = {in, row_of<R>(op.output), op.batch, count, op.active};
      if (op.kind == ReduceKind::batch)
        launch(reduce_batch_kernel<R>(), strided_blocks(count), threads_per_block, &arguments, 0, to_);
      else
        launch(reduce_total_kernel<R>(), 1, threads_per_block, &arguments, 0, to_);
    });
  }

  void operator()(const CopyOperation& op) const {
    if (copies_by_kernel(op)) {
      const int unit = copy_unit(op);
      CopyLaunch arguments = {op.destination.data, op.source.data,
                              static_cast<int64_t>(op.source.bytes / static_cast<uint64_t>(unit))};
      if (warm_up_) arguments.count = 0;
      const int64_t n_blocks = (arguments.count + copy_threads - 1) / copy_threads;
      launch(copy_kernel(unit), static_cast<uint32_t>(std::max<int64_t>(n_blocks, 1)), copy_threads, &arguments, 0,
             to_);
      return;
    }
    if (warm_up_) return;  // a copy node has no code to load
    check(api().memcpy_async(op.destination.data, op.source.data, op.source.bytes, cudaMemcpyDefault, to_.stream),
          "cudaMemcpyAsync");
  }

  void operator()(const FillOperation& op) const {
    if (op.bits) return with_element(op.dtype, [&](auto e) { fill_value<decltype(e)>(op); });
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

  void operator()(const ScaleAddOperation& op) const {
    const auto count = static_cast<int64_t>(op.source.bytes / bytes_of_dtype(op.source.dtype));
    const ScaleAddLaunch arguments = {op.source.data, op.destination.data, warm_up_ ? 0 : count, op.scale,
                                      op.keep,        op.scale_value,      op.keep_value};
    launch(scale_add_kernel(op.source.dtype, op.destination.dtype), strided_blocks(count), step_threads, &arguments, 0,
           to_);
  }

  void operator()(const ResetStateOperation& op) const {
    const LayerSpec& spec = spec_of(op.layer);
    const int64_t n = spec.extents.n_neurons;
    with_arithmetic(spec.dtype, [&](auto r) {
      using R = decltype(r);
      const auto* const mask = static_cast<const unsigned char*>(op.mask.data);
      const ResetRowsLaunch<R> arguments = {row_of<const ParameterBlock<R>>(op.parameters),
                                            mask ? mask + op.first_row : nullptr,
                                            warm_up_ ? 0 : op.n_rows,
                                            n,
                                            spec.rules.soft_reset,
                                            row_of<R>(op.v),
                                            row_of<R>(op.w)};
      launch(reset_rows_kernel<R>(), strided_blocks(op.n_rows * n), step_threads, &arguments, 0, to_);
    });
  }

  void operator()(const WriteBytesOperation& op) const {
    write_small(op.destination.data, op.bytes.data(), warm_up_ ? 0 : op.n_bytes, to_);
  }

  void operator()(const GuardedCopyOperation& op) const {
    const auto count = static_cast<int64_t>(op.source.bytes / sizeof(uint32_t));
    GuardedCopyLaunch arguments = {static_cast<uint32_t*>(op.destination.data),
                                   static_cast<const uint32_t*>(op.source.data),
                                   warm_up_ ? 0 : count,
                                   static_cast<const unsigned char*>(op.guard.data),
                                   static_cast<int32_t>(op.n_expected),
                                   {}};
    static_assert(sizeof arguments.expected == sizeof op.expected);
    std::memcpy(arguments.expected, op.expected.data(), sizeof arguments.expected);
    launch(guarded_copy_kernel(), strided_blocks(count), step_threads, &arguments, 0, to_);
  }

  void operator()(const SetParametersOperation& op) const {
    with_arithmetic(spec_of(op.layer).dtype, [&](auto r) {
      using R = decltype(r);
      SetParametersLaunch<R> arguments = {op.layer->set_arguments<R>(), 0};
      if (!warm_up_) arguments.count = arguments.arguments.per_neuron ? arguments.arguments.target.n_neurons : 1;
      launch(set_parameters_kernel<R>(), strided_blocks(arguments.count), step_threads, &arguments, 0, to_);
    });
  }

  void operator()(const UpdateParameterOperation& op) const {
    const LayerSpec& spec = spec_of(op.layer);
    // Should constants become per neuron later, the same grid goes through all of them.
    const int64_t count = op.layer->has_neuron_constants() ? spec.extents.n_neurons : 1;
    with_arithmetic(spec.dtype, [&](auto r) {
      using R = decltype(r);
      const UpdateParameterLaunch<R> arguments = {op.layer->update_arguments<R>(op), !warm_up_};
      launch(update_parameter_kernel<R>(), strided_blocks(count), step_threads, &arguments, 0, to_);
    });
  }

  void operator()(const ConvertSpikesOperation& op) const {
    const Extents& e = op.extents;
    const int64_t n_tiles = warm_up_ ? 0 : layers_of(e) * e.batch * tiles_per_row(e);
    const ConvertSpikesLaunch arguments = {e, n_tiles, spikes_of(op.source), spikes_of(op.destination)};
    launch(kernel_for(op), looping_blocks(n_tiles), spike_threads, &arguments, 0, to_);
  }

  void operator()(const CountSpikesOperation& op) const {
    (*this)(FillOperation{op.counts, op.counts.dtype, 0});
    const Extents& e = op.extents;
    const bool neurons = op.kind == CountKind::per_neuron;
    const int64_t length = neurons ? layers_of(e) : tiles_per_row(e);
    const int64_t lines = e.batch * (neurons ? tiles_per_row(e) : layers_of(e));
    // Long runs add seldom; short ones keep every multiprocessor busy.
    const int64_t run =
        std::clamp<int64_t>(lines * length / (int64_t{16} * gpu_.n_multiprocessors), 1, std::min<int64_t>(length, 64));
    const int64_t n_runs = warm_up_ ? 0 : lines * ((length + run - 1) / run);
    const CountSpikesLaunch arguments = {
        e, n_runs, run, spikes_of(op.spikes), op.counts.data, static_cast<int32_t>(op.kind)};
    launch(kernel_for(op), looping_blocks(n_runs), spike_threads, &arguments, 0, to_);
  }

  void operator()(const NativeOperation& op) const {
    if (!warm_up_) call_native(op, to_.stream, 0);
  }

 private:
  void launch_pass(const void* kernel, const Plan& plan, const void* arguments) const {
    Target to = to_;
    to.shared_percent = plan.shared_percent;
    launch(kernel, warm_up_ ? 1 : plan.n_blocks, plan.n_threads, arguments, plan.shared_bytes, to);
  }

  // A grid that loops over any number of elements.
  uint32_t strided_blocks(int64_t count) const {
    const int64_t needed = (count + threads_per_block - 1) / threads_per_block;
    return static_cast<uint32_t>(std::clamp<int64_t>(needed, 1, int64_t{16} * gpu_.n_multiprocessors));
  }

  // A grid whose blocks take one piece of work after the other.
  uint32_t looping_blocks(int64_t count) const {
    return static_cast<uint32_t>(std::clamp<int64_t>(count, 1, int64_t{16} * gpu_.n_multiprocessors));
  }

  template <class F>
  static void with_element(int32_t dtype, F f) {
    switch (bytes_of_dtype(dtype)) {
      case 1:
        return f(uint8_t{});
      case 2:
        return f(uint16_t{});
      case 4:
        return f(uint32_t{});
      default:
        return f(uint64_t{});
    }
  }

  template <class E>
  void fill_value(const FillOperation& op) const {
    const auto count = static_cast<int64_t>(op.array.bytes / sizeof(E));
    const FillValueLaunch<E> arguments = {row_of<E>(op.array), warm_up_ ? 0 : count, op.bits};
    launch(fill_value_kernel<E>(), strided_blocks(count), step_threads, &arguments, 0, to_);
  }

  template <class E>
  void fill(const FillOperation& op) const {
    FillLaunch<E> arguments = {row_of<E>(op.array), static_cast<int64_t>(op.array.bytes / sizeof(E)),
                               static_cast<E>(element_bits(op.dtype, op.value))};
    if (warm_up_) arguments.count = 0;
    launch(fill_kernel<E>(), strided_blocks(arguments.count), threads_per_block, &arguments, 0, to_);
  }

  const GpuShape& gpu_;
  bool warm_up_;
  bool next_begins_early_;
  Target to_;
};

}  // namespace

void enqueue(const Operation& operation, const GpuShape& gpu, Enqueue how, cudaStream_t stream,
             bool next_begins_early) {
  std::visit(Enqueuer(gpu, how, stream, next_begins_early), operation);
}

// Of native nodes only the callback knows.
int nodes_of(const Operation& operation) {
  return std::holds_alternative<CountSpikesOperation>(operation) ? 2 : 1;  // counts are cleared first
}

void enqueue_write_small(void* destination, const void* source, uint64_t bytes, cudaStream_t stream) {
  write_small(destination, source, bytes, {stream, Enqueue::run});
}

void enqueue_signal(uint64_t* count, uint64_t* published, Enqueue how, cudaStream_t stream) {
  const SignalLaunch arguments = {count, published};
  launch(signal_kernel(), 1, 1, &arguments, 0, {stream, how});
}

bool kernels_wait(int compute_major, int driver_version) {
  // Captures keep programmatic launches since CUDA 12.3.
  if (compute_major < 9 || driver_version < 12030 || CUDART_VERSION < 12030) return false;
  // A device may run code compiled for an older one, which does not wait.
  cudaFuncAttributes attributes = {};
  check(api().func_get_attributes(&attributes, signal_kernel()), "cudaFuncGetAttributes");
  return attributes.ptxVersion >= 90 && attributes.binaryVersion >= 90;
}

// The attribute came with CUDA 12.5; drivers of before refuse it.
bool takes_shared_percent(int driver_version) {
  return driver_version >= 12050 && CUDART_VERSION >= 12050;
}

cudaKernelNodeParams idle_node() {
  static void* no_arguments[1] = {nullptr};
  cudaKernelNodeParams params = {};
  params.func = const_cast<void*>(idle_kernel());
  params.gridDim = dim3(1, 1, 1);
  params.blockDim = dim3(1, 1, 1);
  params.kernelParams = no_arguments;
  return params;
}

}  // namespace synfire::cuda
