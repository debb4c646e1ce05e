#include "written_down.hpp"
#include "../twins/twin.hpp"

#include <base/context.hpp>
#include <graph/replay.hpp>
#include <neurons/parameters/set_parameters.hpp>
#include <neurons/state/state_rows.hpp>

#include <memory>

namespace synfire::cuda {

Launch latest;

namespace {

// ---- A device without memory ----------------------------------------------------------------------------------------

class NumberDevice final : public core::Device {
 public:
  explicit NumberDevice(std::map<const void*, uint64_t>& allocated) : allocated_(allocated) {}

  void describe(synfire_context_properties&) const override {}
  bool is_host() const noexcept override { return false; }
  void* allocate(int32_t memory, uint64_t bytes) override {
    // The host writes to this memory.
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
  core::ReplayBytes replay_bytes(const core::ReplayPlan&) const override { return {}; }

 private:
  std::map<const void*, uint64_t>& allocated_;
  uintptr_t next_ = uintptr_t{1} << 40;
  std::vector<std::unique_ptr<unsigned char[]>> pinned_;
};

// ---- Launches that are recorded -------------------------------------------------------------------------------------

cudaError_t write_down(const void* kernel, dim3 grid, dim3 block, void** parameters, size_t shared_bytes,
                       cudaStream_t) {
  latest.kernel = kernel;
  latest.n_blocks = uint64_t{grid.x} * grid.y * grid.z;
  latest.n_threads = uint64_t{block.x} * block.y * block.z;
  latest.shared_bytes = shared_bytes;
  latest.shared_percent = 0;
  latest.programmatic = false;
  const size_t bytes = static_cast<const Twin*>(kernel)->argument_bytes;
  if (bytes <= sizeof latest.arguments && bytes > 0) std::memcpy(latest.arguments, parameters[0], bytes);
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
  made->release();  // the initial reference
  return reference;
}

}  // namespace

void enqueue(const core::Operation& operation, const Launcher::Place& place) {
  Launcher launcher(h200, Launcher::Purpose::run, place);
  operation.kind().enqueue(operation.data(), launcher);
}

Planned::Planned(const Given& given)
    : given_(given), context_(taken(new core::Context(std::make_unique<NumberDevice>(allocated), 0))) {
  api().launch_kernel = &write_down;
  api().launch_kernel_with_attributes = &write_down_with_attributes;
  api().func_set_attribute = &accept_attribute;
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  desc.model = given.model;
  if (given.surrogate != 0) desc.surrogate = given.surrogate;
  desc.n_steps = given.n_steps;
  desc.batch = given.batch;
  desc.n_neurons = given.n_neurons;
  desc.dtype = given.dtype;
  desc.refractory_steps = given.refractory_steps;
  layer = taken(new core::Layer(*context_, core::LayerSpec(desc), operations::value_sender));
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

operations::Forward Planned::forward() const {
  operations::ForwardRequest request = {};
  request.tape = static_cast<core::TapeMode>(given_.tape);
  request.x = x.get();
  (spec().model->never_fires ? request.v_seq : request.spikes) =
      spec().model->never_fires ? grad_spike.get() : spikes.get();
  return operations::make_forward(*layer, request,
                                  request.tape == core::TapeMode::none ? nullptr : &layer->eager_tape());
}

operations::Backward Planned::backward() const {
  operations::BackwardRequest request = {};
  (spec().model->never_fires ? request.grad_v_seq : request.grad_spike_seq) = grad_spike.get();
  request.grad_x_seq = grad_x.get();
  const core::TapeShape shape = {x.get(), static_cast<core::TapeMode>(given_.tape), false};
  return *operations::make_backward(*layer, request, layer->eager_tape(), shape).front().as<operations::Backward>();
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
  desc.data = static_cast<char*>(owner->view().data) + first * core::bytes_of_dtype(dtype);
  return taken(new core::Buffer(*context_, desc));
}

}  // namespace synfire::cuda
