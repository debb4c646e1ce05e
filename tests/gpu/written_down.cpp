#include "written_down.hpp"

#include "../fault/kernel_instances.hpp"

#include <core/context.hpp>

#include <memory>

namespace synfire::cuda {

// ---- Kernels that are only names ------------------------------------------------------------------------------------

namespace {
const void* named(int direction, int storage, int width, int kind) {
  return reinterpret_cast<const void*>(
      static_cast<uintptr_t>(direction * 1000000 + storage * 10000 + width * 100 + kind + 1));
}
template <class E>
constexpr int storage_number = sizeof(E) == 8 ? 0 : 1;
template <>
constexpr int storage_number<F16> = 2;
template <>
constexpr int storage_number<Bf16> = 3;
template <>
constexpr int storage_number<AnyStorage> = 4;
}  // namespace

template <class E>
const void* forward_kernel(int32_t, int width, ForwardOutputs outputs) {
  return named(1, storage_number<E>, width, static_cast<int>(outputs));
}
template <class E>
const void* backward_kernel(int32_t, int32_t, int width, BackwardInputs inputs) {
  return named(2, storage_number<E>, width, static_cast<int>(inputs));
}
template <class R>
const void* reset_rows_kernel() {
  return named(3, storage_number<R>, 1, 0);
}
template <class R>
const void* reduce_batch_kernel() {
  return named(4, storage_number<R>, 1, 0);
}
template <class R>
const void* reduce_total_kernel() {
  return named(5, storage_number<R>, 1, 0);
}
template <class E>
const void* fill_kernel() {
  return named(6, 0, static_cast<int>(sizeof(E)), 0);
}
const void* reduce_chunks_kernel() {
  return named(7, 0, 1, 0);
}
const void* copy_kernel(int unit_bytes) {
  return named(8, 0, unit_bytes, 0);
}
const void* write_small_kernel() {
  return named(9, 0, 1, 0);
}
const void* signal_kernel() {
  return named(10, 0, 1, 0);
}
const void* idle_kernel() {
  return named(10, 0, 2, 0);
}
const void* convert_spikes_kernel(core::SpikeStorage from, core::SpikeStorage to) {
  return named(11, static_cast<int>(from), 1, static_cast<int>(to));
}
template <class C>
const void* count_spikes_kernel(core::SpikeStorage spikes) {
  return named(12, static_cast<int>(spikes), 1, static_cast<int>(sizeof(C)));
}

template <class E>
const void* fill_value_kernel() {
  return named(13, 0, static_cast<int>(sizeof(E)), 0);
}
const void* scale_add_kernel(int32_t source, int32_t destination) {
  return named(14, source, 1, destination);
}
const void* guarded_copy_kernel() {
  return named(15, 0, 1, 0);
}
template <class R>
const void* set_parameters_kernel() {
  return named(16, storage_number<R>, 1, 0);
}
template <class R>
const void* update_parameter_kernel() {
  return named(17, storage_number<R>, 1, 0);
}

SYNFIRE_TEST_KERNEL_INSTANCES

Launch latest;

namespace {

// ---- A device that is only numbers ----------------------------------------------------------------------------------

class NumberDevice final : public core::Device {
 public:
  explicit NumberDevice(std::map<const void*, uint64_t>& allocated) : allocated_(allocated) {}

  void describe(synfire_context_properties&) const override {}
  bool is_host() const noexcept override { return false; }
  void* allocate(int32_t memory, uint64_t bytes) override {
    // The host writes there.
    if (memory == SYNFIRE_MEMORY_PINNED) return pinned_.emplace_back(new unsigned char[bytes]()).get();
    void* const at = reinterpret_cast<void*>(next_);
    next_ += (bytes + 511) / 256 * 256;
    allocated_[at] = bytes;
    return at;
  }
  void release(int32_t, void*) noexcept override {}
  void require(int32_t, uint64_t) override {}
  void finish() noexcept override {}
  void check_borrowed(int32_t, const void*) override {}
  void upload(void*, const void*, uint64_t) override {}
  void download(void*, const void*, uint64_t) override {}
  void write_small(void*, const void*, uint64_t, synfire_stream) override {}
  void check_stream(synfire_stream) override {}
  bool is_capturing(synfire_stream) override { return false; }
  void load(std::span<const core::Operation>) override {}
  void execute(std::span<const core::Operation>, synfire_stream) override {}
  void execute_captured(std::span<const core::Operation>, synfire_stream) override {}
  void synchronize() override {}
  void check() override {}
  std::unique_ptr<core::Replay> instantiate(core::ReplayPlan) override { return nullptr; }

 private:
  std::map<const void*, uint64_t>& allocated_;
  uintptr_t next_ = uintptr_t{1} << 40;
  std::vector<std::unique_ptr<unsigned char[]>> pinned_;
};

// ---- Launches that are written down ---------------------------------------------------------------------------------

cudaError_t write_down(const void* kernel, dim3 grid, dim3 block, void** parameters, size_t shared_bytes,
                       cudaStream_t) {
  latest.kernel = kernel;
  latest.n_blocks = uint64_t{grid.x} * grid.y * grid.z;
  latest.n_threads = uint64_t{block.x} * block.y * block.z;
  latest.shared_bytes = shared_bytes;
  latest.shared_percent = 0;
  latest.programmatic = false;
  const auto direction = reinterpret_cast<uintptr_t>(kernel) / 1000000;
  if (direction == 6 || direction == 8 || direction > 10) {
    const size_t bytes = direction == 6    ? sizeof(FillLaunch<uint8_t>)
                         : direction == 8  ? sizeof(CopyLaunch)
                         : direction == 11 ? sizeof(ConvertSpikesLaunch)
                                           : sizeof(CountSpikesLaunch);
    std::memcpy(latest.arguments, parameters[0], bytes);
    return cudaSuccess;
  }
  // Of the others those of passes are looked at, which have the same size in both arithmetics.
  static_assert(sizeof(ForwardLaunch<float>) == sizeof(ForwardLaunch<double>));
  static_assert(sizeof(BackwardLaunch<float>) == sizeof(BackwardLaunch<double>));
  if (direction == 1) std::memcpy(latest.arguments, parameters[0], sizeof(ForwardLaunch<float>));
  if (direction == 2) std::memcpy(latest.arguments, parameters[0], sizeof(BackwardLaunch<float>));
  return cudaSuccess;
}
cudaError_t write_down_with_attributes(const cudaLaunchConfig_t* config, const void* kernel, void** parameters) {
  write_down(kernel, config->gridDim, config->blockDim, parameters, config->dynamicSmemBytes, config->stream);
  for (unsigned int i = 0; i < config->numAttrs; ++i) {
    const cudaLaunchAttribute& attribute = config->attrs[i];
    if (attribute.id == cudaLaunchAttributeProgrammaticStreamSerialization)
      latest.programmatic = attribute.val.programmaticStreamSerializationAllowed != 0;
#if CUDART_VERSION >= 12050
    if (attribute.id == cudaLaunchAttributePreferredSharedMemoryCarveout)
      latest.shared_percent = attribute.val.sharedMemCarveout;
#endif
  }
  return cudaSuccess;
}
cudaError_t accept_attribute(const void*, cudaFuncAttribute, int) {
  return cudaSuccess;
}

// ---- Layers of any extents ------------------------------------------------------------------------------------------

template <class T>
core::Ref<T> taken(T* made) {
  core::Ref<T> reference(made);
  made->release();  // the reference that it was born with
  return reference;
}

}  // namespace

Planned::Planned(const Given& given)
    : given_(given), context_(taken(new core::Context(std::make_unique<NumberDevice>(allocated), 0))) {
  api().launch_kernel = &write_down;
  api().launch_kernel_with_attributes = &write_down_with_attributes;
  api().func_set_attribute = &accept_attribute;
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  desc.model = given.model;
  desc.n_steps = given.n_steps;
  desc.batch = given.batch;
  desc.n_neurons = given.n_neurons;
  desc.dtype = given.dtype;
  layer = taken(new core::Layer(*context_, core::LayerSpec(desc)));
  const auto row = static_cast<uint64_t>(given.batch * given.n_neurons), steps = static_cast<uint64_t>(given.n_steps);
  x = buffer(given.dtype, steps * (row + given.padding), given.misaligned,
             given.padding == 0 ? 0 : row + given.padding);
  grad_spike = buffer(given.dtype, steps * row);
  grad_x = buffer(given.dtype, steps * row);
  const auto words = static_cast<uint64_t>((given.n_neurons + 31) / 32);
  spikes = buffer(given.spikes, given.spikes == SYNFIRE_DTYPE_BITS ? steps * static_cast<uint64_t>(given.batch) * words
                                : given.spikes == SYNFIRE_DTYPE_TIME_BITS ? (steps + 31) / 32 * row
                                                                          : steps * row);
}

Planned::~Planned() {
  x = {}, grad_spike = {}, grad_x = {}, spikes = {};
  layer = {};
  context_ = {};
  core::drain();
}

core::ForwardOperation Planned::forward() const {
  core::ForwardRequest request = {};
  request.tape = static_cast<core::Tape>(given_.tape);
  request.x = x.get();
  request.spikes = spikes.get();
  return layer->forward(request);
}

core::BackwardOperation Planned::backward() const {
  core::BackwardRequest request = {};
  request.grad_spike_seq = grad_spike.get();
  request.grad_x_seq = grad_x.get();
  const core::TapeShape tape = {x.get(), static_cast<core::Tape>(given_.tape), false};
  return std::get<core::BackwardOperation>(layer->backward(request, tape).front());
}

core::Ref<core::Buffer> Planned::buffer(int32_t dtype, uint64_t n_elements, uint64_t first, uint64_t pitch) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.dtype = dtype;
  desc.n_elements = n_elements + first;
  core::Ref<core::Buffer> owner = taken(new core::Buffer(*context_, desc));
  if (first == 0 && pitch == 0) return owner;
  owners_.push_back(owner);
  desc.n_elements = n_elements;
  desc.row_pitch = pitch;
  desc.data = static_cast<char*>(owner->array().data) + first * core::bytes_of_dtype(dtype);
  return taken(new core::Buffer(*context_, desc));
}

}  // namespace synfire::cuda
