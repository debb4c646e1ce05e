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

bool aligned(const void* data, uint64_t bytes) {
  return reinterpret_cast<uintptr_t>(data) % bytes == 0;
}

uint32_t blocks_for(int64_t threads, int block_threads, const Extents& extents) {
  const int64_t blocks = (threads + block_threads - 1) / block_threads;
  if (blocks > 0x7FFFFFFF)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-LAUNCH-GRID",
         "batch %lld times n_neurons %lld needs %lld blocks; a grid has at most 2^31 - 1",
         static_cast<long long>(extents.batch), static_cast<long long>(extents.n_neurons),
         static_cast<long long>(blocks));
  return static_cast<uint32_t>(std::max<int64_t>(blocks, 1));
}

// Wide accesses pay when narrow ones would give every multiprocessor at least two blocks anyway; below that, more
// threads keep more loads in flight.
bool worth_widening(int64_t row, int width, const GpuShape& gpu) {
  return row / width >= int64_t{2} * gpu.n_multiprocessors * threads_per_block;
}

// Widths need every row of every array on a multiple of the access, each at its own element size.
bool can_widen(const Array& array, int width) {
  const uint64_t access = static_cast<uint64_t>(width) * bytes_of_dtype(array.dtype);
  return !array.data ||
         (aligned(array.data, std::min<uint64_t>(access, 16)) &&
          (array.pitch * static_cast<int64_t>(bytes_of_dtype(array.dtype))) % static_cast<int64_t>(access) == 0);
}
// A thread's neurons are of one batch row, so that all of them are active or none is.
template <class... Arrays>
bool can_widen(const Extents& extents, int width, const Arrays&... arrays) {
  return extents.n_neurons % width == 0 && (can_widen(arrays, width) && ...);
}

// Sequences of one type take the instances for that type.
template <class... Arrays>
bool all_of_type(int32_t dtype, const Arrays&... arrays) {
  return ((!arrays.data || arrays.dtype == dtype) && ...);
}

const LayerSpec& spec_of(const Layer* layer) {
  return layer->spec();
}

template <class R>
const ParameterBlock<R>* block_of(const Layer* layer) {
  return static_cast<const ParameterBlock<R>*>(layer->block());
}

// Where a kernel goes.
struct Target {
  cudaStream_t stream;
  bool programmatic;  // behind a kernel of this library, which need not have ended

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
  if (!to.programmatic)
    return check(
        api().launch_kernel(kernel, dim3(n_blocks, 1, 1), dim3(n_threads, 1, 1), parameters, shared_bytes, to.stream),
        "cudaLaunchKernel");
  cudaLaunchAttribute attribute = {};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config = {};
  config.gridDim = dim3(n_blocks, 1, 1);
  config.blockDim = dim3(n_threads, 1, 1);
  config.dynamicSmemBytes = shared_bytes;
  config.stream = to.stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
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

// Calls f with a value of the storage type of an instance.
template <class F>
auto with_storage(const LayerSpec& spec, bool any, F f) {
  if (spec.dtype == SYNFIRE_DTYPE_F64) return f(double{});
  if (any) return f(AnyStorage{});
  if (spec.dtype == SYNFIRE_DTYPE_F16) return f(F16{});
  if (spec.dtype == SYNFIRE_DTYPE_BF16) return f(Bf16{});
  return f(float{});
}

ForwardOutputs outputs_of(const LayerSpec& spec, const ForwardOperation& op) {
  if (op.v_seq.data || op.h_seq.data || op.w_seq.data || op.tape_h.data || !all_of_type(spec.dtype, op.x))
    return ForwardOutputs::any;
  switch (op.spike_format) {
    case SpikeFormat::bits:
      return ForwardOutputs::bits;
    case SpikeFormat::time_bits:
      return ForwardOutputs::time_bits;
    case SpikeFormat::dense:
      if (op.spikes.dtype == SYNFIRE_DTYPE_U8) return ForwardOutputs::bytes;
      return op.spikes.dtype == spec.dtype ? ForwardOutputs::dense : ForwardOutputs::any;
    case SpikeFormat::none:
      break;
  }
  return ForwardOutputs::any;
}

BackwardInputs inputs_of(const LayerSpec& spec, const BackwardOperation& op) {
  if (op.gradients.count > 0) return BackwardInputs::parameters;
  if (op.grad_spike.data && op.grad_x.data && !op.grad_v_seq.data && !op.grad_w_seq.data &&
      all_of_type(spec.dtype, op.x, op.grad_spike, op.grad_x))
    return BackwardInputs::spikes;
  return BackwardInputs::any;
}

const void* kernel_for(const LayerSpec& spec, const ForwardOperation& op, const Plan& plan) {
  const ForwardOutputs outputs = outputs_of(spec, op);
  return with_storage(spec, outputs == ForwardOutputs::any,
                      [&](auto e) { return forward_kernel<decltype(e)>(spec.model->id, plan.width, outputs); });
}

const void* kernel_for(const LayerSpec& spec, const BackwardOperation& op, const Plan& plan) {
  const BackwardInputs inputs = inputs_of(spec, op);
  return with_storage(spec, inputs != BackwardInputs::spikes, [&](auto e) {
    return backward_kernel<decltype(e)>(spec.model->id, spec.surrogate->id, plan.width, inputs);
  });
}

const void* kernel_for(const ConvertSpikesOperation& op) {
  return convert_spikes_kernel(storage_of(op.source.dtype), storage_of(op.destination.dtype));
}

const void* kernel_for(const CountSpikesOperation& op) {
  const SpikeStorage spikes = storage_of(op.spikes.dtype);
  return op.counts.dtype == SYNFIRE_DTYPE_U64 ? count_spikes_kernel<uint64_t>(spikes)
                                              : count_spikes_kernel<uint32_t>(spikes);
}

// Bytes of one access of a copy by a kernel: the most that both addresses and the size are multiples of.
int copy_unit(const CopyOperation& op) {
  for (const int unit : {16, 4})
    if (op.source.bytes % static_cast<uint64_t>(unit) == 0 && aligned(op.source.data, static_cast<uint64_t>(unit)) &&
        aligned(op.destination.data, static_cast<uint64_t>(unit)))
      return unit;
  return 1;
}

// Within the GPU our own kernel copies faster than a captured copy node does, when its accesses are wide. Up to this
// size it does so with narrow ones and across the bus too, by what the copy engine takes to start: 9.8 us from launch
// to done instead of 16.4 with 32 KiB in, 29.8 instead of 34 with 1 MiB, the same with 2 MiB (H200,
// docs/performance.md, "Frames in and out"; out of the GPU only writing in place was measured).
constexpr uint64_t kernel_copy_bytes = uint64_t{1} << 20;

bool copies_by_kernel(const CopyOperation& op) {
  const auto of_the_gpu = [](const Array& array) { return array.memory == SYNFIRE_MEMORY_DEVICE; };
  const auto in_reach = [&](const Array& array) { return of_the_gpu(array) || array.memory == SYNFIRE_MEMORY_PINNED; };
  if (of_the_gpu(op.source) && of_the_gpu(op.destination) && copy_unit(op) == 16)
    return op.source.bytes / 16 < uint64_t{0x7FFFFFFF} * copy_threads;
  return in_reach(op.source) && in_reach(op.destination) && op.source.bytes <= kernel_copy_bytes;
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
      launch(kernel_for(spec, op, plan), blocks(plan), plan.n_threads, &arguments, 0, to_);
    });
  }

  void operator()(const BackwardOperation& op) const {
    const LayerSpec& spec = spec_of(op.layer);
    Plan plan = plan_backward(spec, op, gpu_);
    if (warm_up_) plan.lanes.count = 0;
    with_arithmetic(spec.dtype, [&](auto r) {
      const BackwardLaunch<decltype(r)> arguments = {arguments_of<decltype(r)>(spec, op.layer->block(), op), plan.lanes,
                                                     next_begins_early_};
      launch(kernel_for(spec, op, plan), blocks(plan), plan.n_threads, &arguments, plan.shared_bytes, to_);
    });
  }

  void operator()(const ReduceOperation& op) const {
    const auto* const in = static_cast<const double*>(op.input);
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
      const auto first = [&](int variable) {
        R* const state = static_cast<R*>(op.layer->state(variable));
        return state ? state + op.first_row * n : nullptr;
      };
      const auto* const mask = static_cast<const unsigned char*>(op.mask.data);
      const ResetRowsLaunch<R> arguments = {block_of<R>(op.layer),
                                            mask ? mask + op.first_row : nullptr,
                                            warm_up_ ? 0 : op.n_rows,
                                            n,
                                            spec.rules.soft_reset,
                                            first(0),
                                            first(1)};
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

  void operator()(const SetParametersOperation& op) const { set_parameters(op.layer, warm_up_); }

  void operator()(const UpdateParameterOperation& op) const {
    const LayerSpec& spec = spec_of(op.layer);
    if (warm_up_) set_parameters(op.layer, true);  // what the host sets comes just before a replay
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
  uint32_t blocks(const Plan& plan) const { return warm_up_ ? 1 : plan.n_blocks; }

  // A grid that loops over any number of elements.
  uint32_t strided_blocks(int64_t count) const {
    const int64_t needed = (count + threads_per_block - 1) / threads_per_block;
    return static_cast<uint32_t>(std::clamp<int64_t>(needed, 1, int64_t{16} * gpu_.n_multiprocessors));
  }

  // A grid whose blocks take one piece of work after the other.
  uint32_t looping_blocks(int64_t count) const {
    return static_cast<uint32_t>(std::clamp<int64_t>(count, 1, int64_t{16} * gpu_.n_multiprocessors));
  }

  void set_parameters(const Layer* layer, bool warm_up) const {
    with_arithmetic(spec_of(layer).dtype, [&](auto r) {
      using R = decltype(r);
      SetParametersLaunch<R> arguments = {layer->set_arguments<R>(), 0};
      if (!warm_up) arguments.count = arguments.arguments.per_neuron ? arguments.arguments.target.n_neurons : 1;
      launch(set_parameters_kernel<R>(), strided_blocks(arguments.count), step_threads, &arguments, 0, to_);
    });
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

Plan plan_forward(const LayerSpec& spec, const ForwardOperation& op, const GpuShape& gpu) {
  const Extents& e = spec.extents;
  const int64_t row = e.row();
  const bool bits = op.spike_format == SpikeFormat::bits;
  const int threads = spec.threads_per_block > 0 ? spec.threads_per_block : threads_per_block;
  Plan plan = {1, {row, 0}, 0, static_cast<uint32_t>(threads), 0};
  // Packed words end with their batch row: lanes are counted over rows of whole words.
  if (bits && e.batch > 1 && e.n_neurons % 32 != 0) {
    const int64_t padded = e.words_per_row() * 32;
    plan.lanes = {e.batch * padded, padded};
    plan.n_blocks = blocks_for(plan.lanes.count, threads, e);
    return plan;
  }
  const bool any = outputs_of(spec, op) == ForwardOutputs::any;
  const int wide = with_storage(spec, any, [](auto s) { return forward_width<decltype(s)>; });
  const Array time_words = {op.tape_spikes, 0, SYNFIRE_MEMORY_DEVICE, SYNFIRE_DTYPE_TIME_BITS, row, false};
  if (worth_widening(row, wide, gpu) &&
      can_widen(e, wide, op.x, bits ? Array{} : op.spikes, op.v_in, op.v_out, op.v_final, op.v_seq, op.h_seq, op.tape_h,
                op.w_in, op.w_out, op.w_final, op.w_seq, time_words))
    plan.width = wide;
  plan.n_blocks = blocks_for(row / plan.width, threads, e);
  return plan;
}

Plan plan_backward(const LayerSpec& spec, const BackwardOperation& op, const GpuShape& gpu) {
  const int64_t row = spec.extents.row();
  const int threads =
      spec.threads_per_block > 0 ? std::min(spec.threads_per_block, backward_threads) : backward_threads;
  Plan plan = {1, {row, 0}, 0, static_cast<uint32_t>(threads), 0};
  const int wide = with_storage(spec, false, [](auto s) { return backward_width<decltype(s)>; });
  const int variables = spec.model->slope_reads_w || op.gradients.count > 0 ? spec.model->n_states : 1;
  if (wide > 1 && variables == 1 && inputs_of(spec, op) == BackwardInputs::spikes && worth_widening(row, wide, gpu) &&
      can_widen(spec.extents, wide, op.x, op.tape_h, op.grad_spike, op.grad_v_final, op.grad_x, op.grad_v_init))
    plan.width = wide;
  plan.n_blocks = blocks_for(row / plan.width, threads, spec.extents);
  plan.shared_bytes = static_cast<uint32_t>(backward_shared_bytes(
      spec.extents.n_steps, plan.width, variables, op.gradients.count, static_cast<int64_t>(spec.element_bytes())));
  return plan;
}

// More threads than this no multiprocessor holds (CUDA C++ Programming Guide, "Compute Capabilities").
constexpr uint64_t most_resident_threads = 2048;

bool begins_early(const Operation& operation, const Operation& previous, const GpuShape& gpu) {
  if (!std::holds_alternative<ForwardOperation>(previous) && !std::holds_alternative<BackwardOperation>(previous))
    return false;
  if (std::holds_alternative<BackwardOperation>(operation)) return true;
  const auto* const forward = std::get_if<ForwardOperation>(&operation);
  if (!forward) return false;
  const Plan plan = plan_forward(spec_of(forward->layer), *forward, gpu);
  return uint64_t{plan.n_blocks} * plan.n_threads >
         most_resident_threads * static_cast<uint64_t>(gpu.n_multiprocessors);
}

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

cudaKernelNodeParams idle_node() {
  static void* no_arguments[1] = {nullptr};
  cudaKernelNodeParams params = {};
  params.func = const_cast<void*>(idle_kernel());
  params.gridDim = dim3(1, 1, 1);
  params.blockDim = dim3(1, 1, 1);
  params.kernelParams = no_arguments;
  return params;
}

const void* kernel_of(const Operation& operation, const GpuShape& gpu) {
  if (const auto* op = std::get_if<ForwardOperation>(&operation)) {
    const LayerSpec& spec = spec_of(op->layer);
    return kernel_for(spec, *op, plan_forward(spec, *op, gpu));
  }
  if (const auto* op = std::get_if<BackwardOperation>(&operation)) {
    const LayerSpec& spec = spec_of(op->layer);
    return kernel_for(spec, *op, plan_backward(spec, *op, gpu));
  }
  if (const auto* op = std::get_if<CopyOperation>(&operation))
    return copies_by_kernel(*op) ? copy_kernel(copy_unit(*op)) : nullptr;
  if (const auto* op = std::get_if<ConvertSpikesOperation>(&operation)) return kernel_for(*op);
  if (const auto* op = std::get_if<CountSpikesOperation>(&operation)) return kernel_for(*op);
  return nullptr;
}

}  // namespace synfire::cuda
