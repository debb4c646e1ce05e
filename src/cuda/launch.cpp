#include "launch.hpp"

#include <core/error.hpp>
#include <core/layer.hpp>

#include <synfire/model/reduction.hpp>

#include <algorithm>
#include <cstring>

namespace synfire::cuda {
namespace {

using namespace synfire::core;

template <class R>
R* typed(const Array& array) {
  return static_cast<R*>(array.data);
}

bool aligned(const void* data, uint64_t bytes) { return reinterpret_cast<uintptr_t>(data) % bytes == 0; }

uint32_t blocks_for(int64_t threads, const Extents& extents) {
  const int64_t blocks = (threads + threads_per_block - 1) / threads_per_block;
  if (blocks > 0x7FFFFFFF)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-LAUNCH-GRID", "batch %lld times n_neurons %lld needs %lld blocks; a grid has at most 2^31 - 1",
         static_cast<long long>(extents.batch), static_cast<long long>(extents.n_neurons),
         static_cast<long long>(blocks));
  return static_cast<uint32_t>(std::max<int64_t>(blocks, 1));
}

// Wide accesses pay when narrow ones would give every multiprocessor at least two blocks anyway; below that, more
// threads keep more loads in flight.
bool worth_widening(int64_t row, int width, const GpuShape& gpu) {
  return row / width >= int64_t{2} * gpu.n_multiprocessors * threads_per_block;
}

// Widths need every row of every array on a multiple of the access.
template <class... Arrays>
bool can_widen(int64_t row, int width, uint64_t element_bytes, const Arrays&... arrays) {
  const uint64_t access = static_cast<uint64_t>(width) * element_bytes;
  return row % width == 0 && (aligned(arrays.data, access) && ...);
}

const LayerSpec& spec_of(const Layer* layer) { return layer->spec(); }

template <class R>
const ParameterBlock<R>* block_of(const Layer* layer) {
  return static_cast<const ParameterBlock<R>*>(layer->block());
}

template <class R>
ForwardLaunch<R> forward_launch(const ForwardOperation& op, const Lanes& lanes) {
  const LayerSpec& spec = spec_of(op.layer);
  const bool bits = op.spike_format == SpikeFormat::bits;
  return {{block_of<R>(op.layer), spec.extents, spec.rules, typed<R>(op.x), bits ? nullptr : typed<R>(op.spikes),
           bits ? typed<uint32_t>(op.spikes) : nullptr, typed<R>(op.v_in), typed<R>(op.v_out), typed<R>(op.v_final),
           typed<R>(op.v_seq), typed<R>(op.h_seq), static_cast<R*>(op.tape), typed<R>(op.w_in), typed<R>(op.w_out),
           typed<R>(op.w_final), typed<R>(op.w_seq)},
          lanes};
}

template <class R>
BackwardLaunch<R> backward_launch(const BackwardOperation& op, const Lanes& lanes) {
  const LayerSpec& spec = spec_of(op.layer);
  return {{block_of<R>(op.layer), spec.extents, spec.rules, spec.surrogate->id, typed<R>(op.x),
           static_cast<const R*>(op.tape),
           typed<R>(op.grad_spike), typed<R>(op.grad_v_seq), typed<R>(op.grad_v_final), typed<R>(op.grad_x),
           typed<R>(op.grad_v_init), typed<R>(op.grad_w_seq), typed<R>(op.grad_w_final), typed<R>(op.grad_w_init),
           op.gradients, op.gradient_partials},
          lanes};
}

void launch(const void* kernel, uint32_t n_blocks, uint32_t n_threads, const void* arguments, uint32_t shared_bytes,
            cudaStream_t stream) {
  // Beyond this a kernel must ask first; only f64 layers with two variables or gradients of parameters do.
  constexpr uint32_t shared_bytes_unasked = 48 * 1024;
  if (shared_bytes > shared_bytes_unasked)
    check(api().func_set_attribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(shared_bytes)),
          "cudaFuncSetAttribute");
  void* parameters[] = {const_cast<void*>(arguments)};
  check(api().launch_kernel(kernel, dim3(n_blocks, 1, 1), dim3(n_threads, 1, 1), parameters, shared_bytes, stream),
        "cudaLaunchKernel");
}

// Calls f with a value of the layer's type.
template <class F>
auto with_type(int32_t dtype, F f) {
  return dtype == SYNFIRE_DTYPE_F64 ? f(double{}) : f(float{});
}

const void* kernel_for(const ForwardOperation& op, const Plan& plan) {
  const LayerSpec& spec = spec_of(op.layer);
  const bool spikes_only = !op.v_seq.data && !op.h_seq.data && !op.w_seq.data;
  const ForwardOutputs outputs = !spikes_only                             ? ForwardOutputs::any
                                 : op.spike_format == SpikeFormat::bits  ? ForwardOutputs::bits
                                 : op.spike_format == SpikeFormat::dense ? ForwardOutputs::dense
                                                                         : ForwardOutputs::any;
  return with_type(spec.dtype, [&](auto r) { return forward_kernel<decltype(r)>(spec.model->id, plan.width, outputs); });
}

const void* kernel_for(const BackwardOperation& op, const Plan& plan) {
  const LayerSpec& spec = spec_of(op.layer);
  const BackwardInputs inputs =
      op.gradients.count > 0 ? BackwardInputs::parameters
      : op.grad_spike.data && op.grad_x.data && !op.grad_v_seq.data && !op.grad_w_seq.data ? BackwardInputs::spikes : BackwardInputs::any;
  return with_type(spec.dtype, [&](auto r) {
    return backward_kernel<decltype(r)>(spec.model->id, spec.surrogate->id, plan.width, inputs);
  });
}

// Within the GPU our own kernel copies faster than a captured copy node does; across the bus the copy engine is best.
bool copies_by_kernel(const CopyOperation& op) {
  return op.source.memory == SYNFIRE_MEMORY_DEVICE && op.destination.memory == SYNFIRE_MEMORY_DEVICE &&
         op.source.bytes % 16 == 0 && aligned(op.source.data, 16) && aligned(op.destination.data, 16);
}

class Enqueuer {
 public:
  Enqueuer(const GpuShape& gpu, Enqueue how, cudaStream_t stream)
      : gpu_(gpu), warm_up_(how == Enqueue::warm_up), stream_(stream) {}

  void operator()(const ForwardOperation& op) const {
    Plan plan = plan_forward(op, gpu_);
    if (warm_up_) plan.lanes.count = 0;
    with_type(spec_of(op.layer).dtype, [&](auto r) {
      const auto arguments = forward_launch<decltype(r)>(op, plan.lanes);
      launch(kernel_for(op, plan), blocks(plan), threads_per_block, &arguments, 0, stream_);
    });
  }

  void operator()(const BackwardOperation& op) const {
    Plan plan = plan_backward(op, gpu_);
    if (warm_up_) plan.lanes.count = 0;
    with_type(spec_of(op.layer).dtype, [&](auto r) {
      const auto arguments = backward_launch<decltype(r)>(op, plan.lanes);
      launch(kernel_for(op, plan), blocks(plan), threads_per_block, &arguments, plan.shared_bytes, stream_);
    });
  }

  void operator()(const ReduceOperation& op) const {
    const auto* const in = static_cast<const double*>(op.input);
    const int64_t count = warm_up_ ? 0 : op.count;
    if (op.kind == ReduceKind::chunks) {
      const ReduceLaunch<double> arguments = {in, typed<double>(op.output), 1, count};
      const int64_t n_chunks = (count + model::reduction_chunk - 1) / model::reduction_chunk;
      return launch(reduce_chunks_kernel(), static_cast<uint32_t>(std::clamp<int64_t>(n_chunks, 1, 65535)),
                    threads_per_block, &arguments, 0, stream_);
    }
    with_type(op.dtype, [&](auto r) {
      using R = decltype(r);
      const ReduceLaunch<R> arguments = {in, typed<R>(op.output), op.batch, count};
      if (op.kind == ReduceKind::batch)
        launch(reduce_batch_kernel<R>(), strided_blocks(count), threads_per_block, &arguments, 0, stream_);
      else
        launch(reduce_total_kernel<R>(), 1, threads_per_block, &arguments, 0, stream_);
    });
  }

  void operator()(const CopyOperation& op) const {
    if (copies_by_kernel(op)) {
      CopyLaunch arguments = {op.destination.data, op.source.data, static_cast<int64_t>(op.source.bytes / 16)};
      if (warm_up_) arguments.count = 0;
      launch(copy_kernel(), strided_blocks(arguments.count), threads_per_block, &arguments, 0, stream_);
      return;
    }
    if (warm_up_) return;  // a copy node has no code to load
    check(api().memcpy_async(op.destination.data, op.source.data, op.source.bytes, cudaMemcpyDefault, stream_),
          "cudaMemcpyAsync");
  }

  void operator()(const FillOperation& op) const {
    switch (op.dtype) {
      case SYNFIRE_DTYPE_F64: return fill<double>(op);
      case SYNFIRE_DTYPE_BITS: return fill<uint32_t>(op);
      default: return fill<float>(op);
    }
  }

  void operator()(const ResetStateOperation& op) const {
    const LayerSpec& spec = spec_of(op.layer);
    with_type(spec.dtype, [&](auto r) {
      using R = decltype(r);
      ResetStateLaunch<R> arguments = {{block_of<R>(op.layer), spec.extents, spec.rules,
                                        static_cast<R*>(op.layer->state(0)), static_cast<R*>(op.layer->state(1))}};
      if (warm_up_) arguments.arguments.extents.batch = 0;
      launch(reset_state_kernel<R>(), strided_blocks(spec.extents.row()), threads_per_block, &arguments, 0, stream_);
    });
  }

 private:
  uint32_t blocks(const Plan& plan) const { return warm_up_ ? 1 : plan.n_blocks; }

  // A grid that loops over any number of elements.
  uint32_t strided_blocks(int64_t count) const {
    const int64_t needed = (count + threads_per_block - 1) / threads_per_block;
    return static_cast<uint32_t>(std::clamp<int64_t>(needed, 1, int64_t{16} * gpu_.n_multiprocessors));
  }

  template <class E>
  void fill(const FillOperation& op) const {
    FillLaunch<E> arguments = {typed<E>(op.array), static_cast<int64_t>(op.array.bytes / sizeof(E)),
                               static_cast<E>(op.value)};
    if (warm_up_) arguments.count = 0;
    launch(fill_kernel<E>(), strided_blocks(arguments.count), threads_per_block, &arguments, 0, stream_);
  }

  const GpuShape& gpu_;
  bool warm_up_;
  cudaStream_t stream_;
};

}  // namespace

Plan plan_forward(const ForwardOperation& op, const GpuShape& gpu) {
  const LayerSpec& spec = spec_of(op.layer);
  const Extents& e = spec.extents;
  const int64_t row = e.row();
  const bool bits = op.spike_format == SpikeFormat::bits;
  Plan plan = {1, {row, 0, (row + 31) / 32}, 0, 0};
  // Packed words end with their batch row: lanes are counted over rows of whole words.
  if (bits && e.batch > 1 && e.n_neurons % 32 != 0) {
    const int64_t padded = e.words_per_row() * 32;
    plan.lanes = {e.batch * padded, padded, e.batch * e.words_per_row()};
    plan.n_blocks = blocks_for(plan.lanes.count, e);
    return plan;
  }
  const uint64_t element = spec.element_bytes();
  const int wide = static_cast<int>(16 / element);
  if (worth_widening(row, wide, gpu) &&
      can_widen(row, wide, element, op.x, bits ? Array{} : op.spikes, op.v_in, op.v_out, op.v_final, op.v_seq, op.h_seq,
                op.w_in, op.w_out, op.w_final, op.w_seq))
    plan.width = wide;
  plan.n_blocks = blocks_for(row / plan.width, e);
  return plan;
}

Plan plan_backward(const BackwardOperation& op, const GpuShape& gpu) {
  const LayerSpec& spec = spec_of(op.layer);
  const int64_t row = spec.extents.row();
  const uint64_t element = spec.element_bytes();
  Plan plan = {1, {row, 0, 0}, 0, 0};
  const int wide = static_cast<int>(8 / element);
  // Two variables need twice the shared memory: narrow threads keep a block's share small.
  if (wide > 1 && spec.model->n_states == 1 && op.gradients.count == 0 && worth_widening(row, wide, gpu) &&
      can_widen(row, wide, element, op.x, op.grad_spike, op.grad_v_seq, op.grad_v_final, op.grad_x, op.grad_v_init,
                op.grad_w_seq, op.grad_w_final, op.grad_w_init))
    plan.width = wide;
  plan.n_blocks = blocks_for(row / plan.width, spec.extents);
  plan.shared_bytes = static_cast<uint32_t>(
      with_type(spec.dtype, [&](auto r) { return backward_shared_bytes<decltype(r)>(spec.extents.n_steps, plan.width, spec.model->n_states,
                                                                    op.gradients.count); }));
  return plan;
}

void enqueue(const Operation& operation, const GpuShape& gpu, Enqueue how, cudaStream_t stream) {
  std::visit(Enqueuer(gpu, how, stream), operation);
}

void enqueue_write_small(void* destination, const void* source, uint64_t bytes, cudaStream_t stream) {
  WriteSmallLaunch arguments = {static_cast<unsigned char*>(destination), static_cast<int32_t>(bytes), {}};
  std::memcpy(arguments.source, source, bytes);
  launch(write_small_kernel(), 1, threads_per_block, &arguments, 0, stream);
}

void enqueue_signal(uint64_t* count, uint64_t* published, cudaStream_t stream) {
  const SignalLaunch arguments = {count, published};
  launch(signal_kernel(), 1, 1, &arguments, 0, stream);
}

const void* kernel_of(const Operation& operation, const GpuShape& gpu) {
  if (const auto* op = std::get_if<ForwardOperation>(&operation)) return kernel_for(*op, plan_forward(*op, gpu));
  if (const auto* op = std::get_if<BackwardOperation>(&operation)) return kernel_for(*op, plan_backward(*op, gpu));
  if (const auto* op = std::get_if<CopyOperation>(&operation)) return copies_by_kernel(*op) ? copy_kernel() : nullptr;
  return nullptr;
}

}  // namespace synfire::cuda
