// From layers of any extents to kernel launches: grids, widths, 64-bit arguments and limits. Runs without a GPU: device
// memory is a row of numbers that nobody reads, kernels are names, and a launch is written down.
// What does not live here: what kernels compute (bit_equality_test.cpp).
#include <core/buffer.hpp>
#include <core/error.hpp>
#include <core/spike_operations.hpp>
#include <cuda/launch.hpp>
#include <cuda/spike_kernels.hpp>
#include <cuda/step_kernels.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <tuple>
#include <vector>

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

template const void* forward_kernel<float>(int32_t, int, ForwardOutputs);
template const void* forward_kernel<double>(int32_t, int, ForwardOutputs);
template const void* forward_kernel<F16>(int32_t, int, ForwardOutputs);
template const void* forward_kernel<Bf16>(int32_t, int, ForwardOutputs);
template const void* forward_kernel<AnyStorage>(int32_t, int, ForwardOutputs);
template const void* backward_kernel<float>(int32_t, int32_t, int, BackwardInputs);
template const void* backward_kernel<double>(int32_t, int32_t, int, BackwardInputs);
template const void* backward_kernel<F16>(int32_t, int32_t, int, BackwardInputs);
template const void* backward_kernel<Bf16>(int32_t, int32_t, int, BackwardInputs);
template const void* backward_kernel<AnyStorage>(int32_t, int32_t, int, BackwardInputs);
template const void* reset_rows_kernel<float>();
template const void* reset_rows_kernel<double>();
template const void* fill_value_kernel<uint8_t>();
template const void* fill_value_kernel<uint16_t>();
template const void* fill_value_kernel<uint32_t>();
template const void* fill_value_kernel<uint64_t>();
template const void* set_parameters_kernel<float>();
template const void* set_parameters_kernel<double>();
template const void* update_parameter_kernel<float>();
template const void* update_parameter_kernel<double>();
template const void* reduce_batch_kernel<float>();
template const void* reduce_batch_kernel<double>();
template const void* reduce_total_kernel<float>();
template const void* reduce_total_kernel<double>();
template const void* fill_kernel<uint8_t>();
template const void* fill_kernel<uint16_t>();
template const void* fill_kernel<uint32_t>();
template const void* fill_kernel<uint64_t>();
template const void* count_spikes_kernel<uint32_t>(core::SpikeStorage);
template const void* count_spikes_kernel<uint64_t>(core::SpikeStorage);

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
  void check_borrowed(int32_t, const void*) override {}
  void upload(void*, const void*, uint64_t) override {}
  void download(void*, const void*, uint64_t) override {}
  void write_small(void*, const void*, uint64_t, synfire_stream) override {}
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

struct Launch {
  const void* kernel = nullptr;
  uint64_t n_blocks = 0, n_threads = 0, shared_bytes = 0;
  unsigned int shared_percent = 0;
  bool programmatic = false;
  alignas(16) unsigned char arguments[2048] = {};

  template <class T>
  T as() const {
    static_assert(sizeof(T) <= sizeof arguments);
    T value;
    std::memcpy(static_cast<void*>(&value), arguments, sizeof value);
    return value;
  }
};
Launch latest;

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

constexpr GpuShape h200 = {132, 9, true};

template <class T>
core::Ref<T> taken(T* made) {
  core::Ref<T> reference(made);
  made->release();  // the reference that it was born with
  return reference;
}

// ---- Layers of any extents ------------------------------------------------------------------------------------------

struct Given {
  int64_t n_steps, batch, n_neurons;
  int32_t dtype = SYNFIRE_DTYPE_F32;
  int32_t spikes = SYNFIRE_DTYPE_BITS;
  int32_t tape = SYNFIRE_TAPE_RECOMPUTE;
  int32_t model = SYNFIRE_MODEL_LIF;
  uint64_t misaligned = 0;  // elements by which x begins too late
  uint64_t padding = 0;     // elements between its rows
};

class Planned {
 public:
  explicit Planned(const Given& given)
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
    spikes =
        buffer(given.spikes, given.spikes == SYNFIRE_DTYPE_BITS ? steps * static_cast<uint64_t>(given.batch) * words
                             : given.spikes == SYNFIRE_DTYPE_TIME_BITS ? (steps + 31) / 32 * row
                                                                       : steps * row);
  }
  ~Planned() {
    x = {}, grad_spike = {}, grad_x = {}, spikes = {};
    layer = {};
    context_ = {};
    core::drain();
  }

  core::ForwardOperation forward() const {
    core::ForwardRequest request = {};
    request.tape = static_cast<core::Tape>(given_.tape);
    request.x = x.get();
    request.spikes = spikes.get();
    return layer->forward(request);
  }
  core::BackwardOperation backward() const {
    core::BackwardRequest request = {};
    request.grad_spike_seq = grad_spike.get();
    request.grad_x_seq = grad_x.get();
    const core::TapeShape tape = {x.get(), static_cast<core::Tape>(given_.tape), false};
    return std::get<core::BackwardOperation>(layer->backward(request, tape).front());
  }
  const core::LayerSpec& spec() const { return layer->spec(); }

  core::Ref<core::Buffer> buffer(int32_t dtype, uint64_t n_elements, uint64_t first = 0, uint64_t pitch = 0) {
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

  std::map<const void*, uint64_t> allocated;
  core::Ref<core::Layer> layer;
  core::Ref<core::Buffer> x, spikes, grad_spike, grad_x;

 private:
  Given given_;
  core::Ref<core::Context> context_;
  std::vector<core::Ref<core::Buffer>> owners_;
};

// Blocks cover the lanes, and the last one is needed.
void expect_covered(const Plan& plan, int64_t lanes, int block_threads = threads_per_block) {
  EXPECT_EQ(plan.lanes.count, lanes);
  const int64_t per_block = int64_t{block_threads} * plan.width;
  EXPECT_EQ(int64_t{plan.n_blocks}, lanes / per_block + (lanes % per_block != 0 ? 1 : 0));
}

constexpr int64_t two31 = int64_t{1} << 31, two32 = int64_t{1} << 32;

const Given extents[] = {
    {64, 1, two31 / 64, SYNFIRE_DTYPE_F32},                                         // T·N = 2^31
    {65, 1, two31 / 64, SYNFIRE_DTYPE_F16},                                         // beyond
    {2047, 1, 1 << 21, SYNFIRE_DTYPE_F32},                                          // (T + 1)·N = 2^32
    {2048, 1, 1 << 21, SYNFIRE_DTYPE_BF16},                                         // T·N = 2^32
    {4099, 3, 1000003, SYNFIRE_DTYPE_F32},                                          // odd rows, more than 2^33 in all
    {2, 1, two31 - 1, SYNFIRE_DTYPE_F32},                                           // N just below 2^31
    {2, 1, two31, SYNFIRE_DTYPE_F16},       {3, 1, two31 + 13, SYNFIRE_DTYPE_F32},  // and beyond
    {2, 7, two31 + 13, SYNFIRE_DTYPE_BF16},                                         // padded lanes
    {1, 1, two32 * 8, SYNFIRE_DTYPE_F64},   {int64_t{1} << 33, 1, 5, SYNFIRE_DTYPE_F32},  // T beyond 2^32
};

// Blocks that are on a multiprocessor at once, by what shared memory lets in: 0 where nothing holds them back.
int blocks_at_once(const Plan& plan, int shared_percent, uint32_t shared_bytes) {
  if (plan.shared_percent == 0) return 0;
  EXPECT_EQ(plan.shared_percent, shared_percent);
  return static_cast<int>(shared_bytes / (plan.shared_bytes + 1024));  // CUDA has 1 KiB of each block
}

int blocks_of_backward(const Given& given, const GpuShape& gpu = h200) {
  const Planned planned(given);
  return blocks_at_once(plan_backward(planned.spec(), planned.backward(), gpu), 65, 164 * 1024);
}
int blocks_of_forward(const Given& given, const GpuShape& gpu = h200) {
  const Planned planned(given);
  return blocks_at_once(plan_forward(planned.spec(), planned.forward(), gpu), 10, 32 * 1024);
}

TEST(LaunchPlan, FewerBlocksOfABackwardWhereThatFillsTheLastWave) {
  // 128 neurons a block; 10 blocks on each of 132 multiprocessors without this.
  EXPECT_EQ(blocks_of_backward({128, 1, 1 << 17}), 0) << "1024 blocks are one wave";
  EXPECT_EQ(blocks_of_backward({128, 1, 1 << 18}), 8) << "2048 blocks: 1.94 waves instead of 1.55";
  EXPECT_EQ(blocks_of_backward({32, 1, 1 << 19}), 8) << "3.88 instead of 3.10";
  EXPECT_EQ(blocks_of_backward({64, 1, 700032}), 9) << "4.60 instead of 4.14, and 5.18 would be less full";
  EXPECT_EQ(blocks_of_backward({64, 1, 1 << 20}), 9) << "6.90 instead of 6.21";
  EXPECT_EQ(blocks_of_backward({64, 1, 1 << 21}), 0) << "12.41 waves";
  EXPECT_EQ(blocks_of_backward({64, 1, 2640 * 128}), 0) << "two full ones";
  EXPECT_EQ(blocks_of_backward({64, 1, 2641 * 128}), 8) << "2.50 instead of 2.0008, of which the third is empty";
  EXPECT_EQ(blocks_of_backward({31, 1, 1 << 18}), 0) << "not measured to be faster";
  EXPECT_EQ(blocks_of_backward({128, 1, 1 << 18, SYNFIRE_DTYPE_F16}), 0);
  EXPECT_EQ(blocks_of_backward({128, 1, 1 << 18, SYNFIRE_DTYPE_F64}), 0);
  Given exponential = {128, 1, 1 << 18};
  exponential.model = SYNFIRE_MODEL_EIF;
  EXPECT_EQ(blocks_of_backward(exponential), 0) << "it waits for instructions";
}

TEST(LaunchPlan, FewerBlocksOfAForwardWhereThatFillsTheLastWave) {
  // 512 neurons a block; 5 blocks on each of 132 multiprocessors without this.
  EXPECT_EQ(blocks_of_forward({128, 1, 1 << 18}), 0) << "512 blocks are one wave";
  EXPECT_EQ(blocks_of_forward({128, 1, 1 << 19}), 4) << "1024 blocks: 1.94 waves instead of 1.55";
  EXPECT_EQ(blocks_of_forward({32, 1, 1 << 20}), 4) << "3.88 instead of 3.10";
  EXPECT_EQ(blocks_of_forward({31, 1, 1 << 20}), 0) << "few steps lose";
  EXPECT_EQ(blocks_of_forward({32, 1, 1 << 21}), 0) << "6.21 waves, and 7.76 are little fuller";
  EXPECT_EQ(blocks_of_forward({128, 1, 1 << 20, SYNFIRE_DTYPE_F16}), 0) << "not measured to be faster";
  Given second = {128, 1, 1 << 20};
  second.model = SYNFIRE_MODEL_IZHIKEVICH;
  EXPECT_EQ(blocks_of_forward(second), 0) << "its registers leave room for 4 as it is";
}

TEST(LaunchPlan, OtherGpusAndOlderDriversHaveAllBlocksThatFit) {
  const Given both = {128, 1, 1 << 20};
  ASSERT_EQ(blocks_of_backward(both), 9);
  ASSERT_EQ(blocks_of_forward(both), 4);
  for (const GpuShape& other : {GpuShape{132, 8, true}, GpuShape{132, 10, true}, GpuShape{132, 9, false}}) {
    EXPECT_EQ(blocks_of_backward(both, other), 0);
    EXPECT_EQ(blocks_of_forward(both, other), 0);
  }
}

TEST(LaunchPlan, WavesAreFilledByAnAttributeOfTheLaunch) {
  if (!takes_shared_percent(CUDART_VERSION)) GTEST_SKIP() << "this CUDA has no such attribute";
  EXPECT_FALSE(takes_shared_percent(12040)) << "a driver that would refuse it";
  const Planned filled({64, 1, 1 << 20}), plain({64, 1, 1 << 21});
  for (const Enqueue how : {Enqueue::run, Enqueue::run_programmatic, Enqueue::warm_up}) {
    const bool programmatic = how == Enqueue::run_programmatic;
    enqueue(core::Operation(filled.backward()), h200, how, nullptr);
    EXPECT_EQ(latest.shared_percent, 65u);
    EXPECT_EQ(latest.shared_bytes, plan_backward(filled.spec(), filled.backward(), h200).shared_bytes);
    EXPECT_EQ(latest.programmatic, programmatic);
    enqueue(core::Operation(filled.forward()), h200, how, nullptr);
    EXPECT_EQ(latest.shared_percent, 10u);
    EXPECT_EQ(latest.shared_bytes, plan_forward(filled.spec(), filled.forward(), h200).shared_bytes);
    EXPECT_EQ(latest.programmatic, programmatic);
    enqueue(core::Operation(plain.backward()), h200, how, nullptr);
    EXPECT_EQ(latest.shared_percent, 0u);
    EXPECT_EQ(latest.programmatic, programmatic);
  }
}

TEST(LaunchPlan, WhichPassesBeginEarly) {
  // 132 multiprocessors hold 270,336 threads at most, and a thread owns four neurons.
  const Planned small({4, 1, 1 << 18, SYNFIRE_DTYPE_F32}), full({4, 1, 270336 * 4, SYNFIRE_DTYPE_F32});
  const Planned more({4, 1, 270336 * 4 + 512, SYNFIRE_DTYPE_F32});
  ASSERT_EQ(plan_forward(full.spec(), full.forward(), h200).n_blocks, 270336u / threads_per_block);
  const core::Operation forward = full.forward(), backward = full.backward();
  const core::Operation fill = core::FillOperation{full.grad_x->array(), SYNFIRE_DTYPE_F32, 0};
  for (const core::Operation* previous : {&forward, &backward}) {
    EXPECT_TRUE(begins_early(backward, *previous, h200));
    EXPECT_TRUE(begins_early(core::Operation(small.backward()), *previous, h200));
    EXPECT_FALSE(begins_early(core::Operation(small.forward()), *previous, h200));
    EXPECT_FALSE(begins_early(forward, *previous, h200));
    EXPECT_TRUE(begins_early(core::Operation(more.forward()), *previous, h200));
    EXPECT_FALSE(begins_early(fill, *previous, h200));
  }
  EXPECT_FALSE(begins_early(backward, fill, h200)) << "a fill lets nothing begin early";
  for (const bool early : {false, true}) {
    enqueue(forward, h200, Enqueue::run, nullptr, early);
    EXPECT_EQ(latest.as<ForwardLaunch<float>>().next_begins_early, early);
    enqueue(backward, h200, Enqueue::run, nullptr, early);
    EXPECT_EQ(latest.as<BackwardLaunch<float>>().next_begins_early, early);
  }
}

TEST(LaunchPlan, ExtentsBeyond32Bits) {
  for (const Given& given : extents) {
    SCOPED_TRACE(testing::Message() << given.n_steps << " x " << given.batch << " x " << given.n_neurons << " dtype "
                                    << given.dtype);
    Planned planned(given);
    const int64_t row = given.batch * given.n_neurons;
    const core::ForwardOperation forward = planned.forward();
    const Plan plan = plan_forward(planned.spec(), forward, h200);
    const bool padded = given.batch > 1 && given.n_neurons % 32 != 0;
    const int64_t lanes = padded ? given.batch * ((given.n_neurons + 31) / 32 * 32) : row;
    expect_covered(plan, lanes);
    EXPECT_EQ(plan.lanes.padded_neurons, padded ? (given.n_neurons + 31) / 32 * 32 : 0);
    const core::BackwardOperation backward = planned.backward();
    const Plan backward_plan = plan_backward(planned.spec(), backward, h200);
    expect_covered(backward_plan, row, backward_threads);
    enqueue(core::Operation(backward), h200, Enqueue::run, nullptr);
    EXPECT_EQ(latest.n_blocks, backward_plan.n_blocks);
    EXPECT_EQ(latest.n_threads, static_cast<uint64_t>(backward_threads));
    EXPECT_EQ(latest.shared_bytes, backward_plan.shared_bytes);
    EXPECT_EQ(latest.kernel, kernel_of(core::Operation(backward), h200));

    // The tape is as large as T and N say, in 64 bits.
    const uint64_t element = given.dtype == SYNFIRE_DTYPE_F64 ? 8 : 4;
    EXPECT_EQ(planned.allocated.at(forward.tape),
              static_cast<uint64_t>((given.n_steps + 31) / 32) * static_cast<uint64_t>(row) * element);
    EXPECT_EQ(forward.x.bytes,
              static_cast<uint64_t>(given.n_steps) * static_cast<uint64_t>(row) * core::bytes_of_dtype(given.dtype));

    enqueue(core::Operation(forward), h200, Enqueue::run, nullptr);
    EXPECT_EQ(latest.n_blocks, plan.n_blocks);
    EXPECT_EQ(latest.n_threads, static_cast<uint64_t>(threads_per_block));
    EXPECT_EQ(latest.kernel, kernel_of(core::Operation(forward), h200));
    if (given.dtype == SYNFIRE_DTYPE_F64) continue;
    const auto arguments = latest.as<ForwardLaunch<float>>();
    EXPECT_EQ(arguments.lanes.count, lanes);
    EXPECT_EQ(arguments.arguments.extents.n_steps, given.n_steps);
    EXPECT_EQ(arguments.arguments.extents.row(), row);
    EXPECT_EQ(arguments.arguments.x.pitch, row);
    EXPECT_EQ(arguments.arguments.x.data, planned.x->array().data);
    EXPECT_EQ(arguments.arguments.spike_bits.pitch, given.batch * ((given.n_neurons + 31) / 32));
    EXPECT_EQ(arguments.arguments.tape, forward.tape);
    enqueue(core::Operation(forward), h200, Enqueue::warm_up, nullptr);
    EXPECT_EQ(latest.as<ForwardLaunch<float>>().lanes.count, 0) << "a warm-up touches no data";
    EXPECT_EQ(latest.n_blocks, 1u);
  }
}

TEST(LaunchPlan, AGridHasALargestSize) {
  // 2^31 − 1 blocks of at most 128 threads; rows of one element a thread.
  for (const int64_t n_neurons : {(int64_t{1} << 38) - 127, int64_t{1} << 40}) {
    Given given = {1, 1, n_neurons, SYNFIRE_DTYPE_F32};
    given.misaligned = 1;
    Planned planned(given);
    const core::ForwardOperation forward = planned.forward();
    for (const bool backward : {false, true}) {
      try {
        if (backward)
          plan_backward(planned.spec(), planned.backward(), h200);
        else
          plan_forward(planned.spec(), forward, h200);
        ADD_FAILURE() << "planned";
      } catch (const core::Failure& failure) {
        EXPECT_EQ(failure.status, SYNFIRE_ERROR_UNSUPPORTED);
        EXPECT_STREQ(failure.rule, "SYN-LAUNCH-GRID");
        EXPECT_NE(failure.text.find(std::to_string(n_neurons)), std::string::npos) << failure.text;
      }
    }
  }
  Given largest = {1, 1, (int64_t{1} << 38) - 128, SYNFIRE_DTYPE_F32};
  largest.misaligned = 1;
  Planned planned(largest);
  EXPECT_EQ(plan_forward(planned.spec(), planned.forward(), h200).n_blocks, 0x7FFFFFFFu);
}

// ---- Widths ---------------------------------------------------------------------------------------------------------

int forward_width_of(const Given& given) {
  Planned planned(given);
  return plan_forward(planned.spec(), planned.forward(), h200).width;
}
int backward_width_of(const Given& given) {
  Planned planned(given);
  (void)planned.forward();
  return plan_backward(planned.spec(), planned.backward(), h200).width;
}

TEST(LaunchPlan, WidthsFollowTheStorageType) {
  constexpr int64_t many = 1 << 22, few = 4096;
  const std::tuple<int32_t, int, int> types[] = {{SYNFIRE_DTYPE_F32, forward_width<float>, backward_width<float>},
                                                 {SYNFIRE_DTYPE_F64, forward_width<double>, backward_width<double>},
                                                 {SYNFIRE_DTYPE_F16, forward_width<F16>, backward_width<F16>},
                                                 {SYNFIRE_DTYPE_BF16, forward_width<Bf16>, backward_width<Bf16>}};
  for (const auto& [dtype, forward, backward] : types)
    for (const int32_t spikes : {SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_TIME_BITS}) {
      SCOPED_TRACE(testing::Message() << "dtype " << dtype << " spikes " << spikes);
      EXPECT_EQ(forward_width_of({4, 1, many, dtype, spikes}), forward);
      EXPECT_EQ(backward_width_of({4, 1, many, dtype, spikes}), backward);
      EXPECT_EQ(forward_width_of({4, 1, few, dtype, spikes}), 1) << "few neurons: more threads, not wider ones";
      EXPECT_EQ(forward_width_of({4, 1, many + 1, dtype, spikes}), 1) << "rows that are no multiple";
      EXPECT_EQ(backward_width_of({4, 1, many + 1, dtype, spikes}), 1);
      Given late = {4, 1, many, dtype, spikes};
      late.misaligned = 1;
      EXPECT_EQ(forward_width_of(late), 1) << "x begins one element late";
      EXPECT_EQ(backward_width_of(late), 1);
      Given spaced = {4, 1, many, dtype, spikes};
      spaced.padding = 1;
      EXPECT_EQ(forward_width_of(spaced), 1) << "only its first row is aligned";
      EXPECT_EQ(backward_width_of(spaced), 1);
      spaced.padding = 64;
      EXPECT_EQ(forward_width_of(spaced), forward) << "every row is aligned";
    }
}

TEST(LaunchPlan, SharedMemoryFitsAnyLayer) {
  constexpr uint32_t most = 227 * 1024;  // of compute capability 9.0; 99 KiB is the least of those built for
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16})
    for (int32_t model = SYNFIRE_MODEL_IF; model <= SYNFIRE_MODEL_IZHIKEVICH; ++model)
      for (const int64_t n_steps : {1, 31, 32, 33, 100000}) {
        Given given = {n_steps, 1, 1 << 20, dtype};
        given.model = model;
        Planned planned(given);
        (void)planned.forward();
        core::BackwardOperation op = planned.backward();
        const Plan plain = plan_backward(planned.spec(), op, h200);
        EXPECT_LE(plain.shared_bytes, most);
        EXPECT_GT(plain.shared_bytes, 0u);
        op.gradients.count = model::max_gradients;
        const Plan with_gradients = plan_backward(planned.spec(), op, h200);
        EXPECT_LE(with_gradients.shared_bytes, most);
        expect_covered(with_gradients, 1 << 20, backward_threads);
      }
}

TEST(LaunchPlan, TapesThatStoreHAreAsLargeAsTold) {
  for (const int32_t tape : {SYNFIRE_TAPE_STORE, SYNFIRE_TAPE_STORE_NARROW}) {
    Given given = {2049, 1, 1 << 21, SYNFIRE_DTYPE_F16};  // more than 2^32 elements
    given.tape = tape;
    Planned planned(given);
    const core::ForwardOperation forward = planned.forward();
    const uint64_t elements = uint64_t{2049} << 21;
    EXPECT_EQ(planned.allocated.at(forward.tape_h.data), elements * (tape == SYNFIRE_TAPE_STORE ? 4 : 2));
    EXPECT_EQ(forward.tape_h.pitch, int64_t{1} << 21);
    if (tape == SYNFIRE_TAPE_STORE_NARROW) {
      EXPECT_EQ(planned.allocated.at(forward.tape_spikes), (uint64_t{65} << 21) * 4);
    }
    expect_covered(plan_forward(planned.spec(), forward, h200), int64_t{1} << 21);
    const core::BackwardOperation backward = planned.backward();
    EXPECT_EQ(backward.x.data, nullptr) << "X is not read beside a stored H";
    expect_covered(plan_backward(planned.spec(), backward, h200), int64_t{1} << 21, backward_threads);
  }
}

// ---- Spikes of any extents ------------------------------------------------------------------------------------------

// By which way a copy goes, and how wide a kernel's accesses are.
TEST(LaunchPlan, CopiesGoByKernelOrByTheCopyEngine) {
  const Planned planned({1, 1, 1});
  static uint64_t engine = 0;
  api().memcpy_async = [](void*, const void*, size_t bytes, cudaMemcpyKind, cudaStream_t) {
    engine = bytes;
    return cudaSuccess;
  };
  constexpr int32_t device = SYNFIRE_MEMORY_DEVICE, pinned = SYNFIRE_MEMORY_PINNED;
  constexpr uint64_t mib = uint64_t{1} << 20, from = 4096, to = uint64_t{1} << 40;
  const struct {
    int32_t source, destination;
    uint64_t bytes, skew;
    int unit;  // 0: the copy engine
  } cases[] = {
      {device, device, 64 * mib, 0, 16},    {device, device, 64 * mib, 4, 0},
      {device, device, 64 * mib + 8, 0, 0}, {device, device, mib, 4, 4},
      {device, device, 13, 0, 1},           {pinned, device, 16, 0, 16},
      {pinned, device, mib, 0, 16},         {pinned, device, mib + 16, 0, 0},
      {device, pinned, mib, 0, 16},         {device, pinned, 2 * mib, 0, 0},
      {device, pinned, 1000, 2, 1},         {device, pinned, 1000, 4, 4},
      {pinned, pinned, 4096, 0, 16},        {SYNFIRE_MEMORY_HOST, device, 64, 0, 0},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(testing::Message() << c.source << " to " << c.destination << ", " << c.bytes << " bytes from "
                                    << c.skew);
    const core::CopyOperation copy = {{reinterpret_cast<void*>(from + c.skew), c.bytes, c.source},
                                      {reinterpret_cast<void*>(to), c.bytes, c.destination}};
    engine = 0;
    latest = {};
    enqueue(copy, h200, Enqueue::run, nullptr);
    EXPECT_EQ(engine, c.unit == 0 ? c.bytes : 0);
    if (c.unit == 0) {
      EXPECT_EQ(latest.kernel, nullptr);
      EXPECT_EQ(kernel_of(copy, h200), nullptr);
      continue;
    }
    EXPECT_EQ(latest.kernel, copy_kernel(c.unit));
    EXPECT_EQ(kernel_of(copy, h200), latest.kernel);
    const auto launch = latest.as<CopyLaunch>();
    EXPECT_EQ(launch.count * c.unit, static_cast<int64_t>(c.bytes));
    EXPECT_GE(latest.n_blocks * latest.n_threads, static_cast<uint64_t>(launch.count));
    enqueue(copy, h200, Enqueue::warm_up, nullptr);
    EXPECT_EQ(latest.as<CopyLaunch>().count, 0);
  }
}

TEST(LaunchPlan, ConversionsAndCountsCoverEverySpike) {
  constexpr int64_t tile_neurons = 32 * words_per_tile, most_blocks = 16 * 132;
  for (const Given& given : {Given{1, 1, 1}, Given{33, 3, 257}, Given{4099, 3, 1000003}, Given{3, 1, two31 + 13},
                             Given{two32, 1, 40}, Given{2, two31 + 1, 5}}) {
    SCOPED_TRACE(testing::Message() << given.n_steps << " x " << given.batch << " x " << given.n_neurons);
    Planned planned({1, 1, 1});
    const core::Extents e = {given.n_steps, given.batch, given.n_neurons};
    const int64_t layers = (e.n_steps + 31) / 32;
    const auto dense = planned.buffer(SYNFIRE_DTYPE_U8, static_cast<uint64_t>(e.n_steps * e.row()));
    const auto bits =
        planned.buffer(SYNFIRE_DTYPE_BITS, static_cast<uint64_t>(e.n_steps * e.batch * e.words_per_row()));
    const auto by_time = planned.buffer(SYNFIRE_DTYPE_TIME_BITS, static_cast<uint64_t>(layers * e.row()));
    for (const auto& [source, destination, rows] : {std::tuple{dense, bits, true}, {by_time, dense, false}}) {
      enqueue(core::convert_spikes({e, source.get(), destination.get()}, false), h200, Enqueue::run, nullptr);
      const auto launch = latest.as<ConvertSpikesLaunch>();
      const bool long_row = !rows || e.n_neurons % 32 == 0;
      const int64_t batch = long_row ? 1 : e.batch, neurons = long_row ? e.row() : e.n_neurons;
      EXPECT_EQ(launch.extents.batch, batch);
      EXPECT_EQ(launch.extents.n_neurons, neurons);
      EXPECT_EQ(launch.n_tiles, layers * batch * ((neurons + tile_neurons - 1) / tile_neurons));
      EXPECT_EQ(latest.n_threads, uint64_t{spike_threads});
      EXPECT_EQ(latest.n_blocks, static_cast<uint64_t>(std::min(launch.n_tiles, most_blocks)));
      enqueue(core::convert_spikes({e, source.get(), destination.get()}, false), h200, Enqueue::warm_up, nullptr);
      EXPECT_EQ(latest.as<ConvertSpikesLaunch>().n_tiles, 0);
    }
    for (const auto kind : {core::CountKind::per_neuron, core::CountKind::per_step, core::CountKind::total}) {
      const int64_t counted = kind == core::CountKind::per_neuron ? e.row()
                              : kind == core::CountKind::per_step ? e.n_steps
                                                                  : 1;
      const auto counts = planned.buffer(SYNFIRE_DTYPE_U64, static_cast<uint64_t>(counted));
      const core::Operation op = core::count_spikes({kind, e, bits.get(), counts.get()}, false);
      EXPECT_EQ(nodes_of(op), 2);
      enqueue(op, h200, Enqueue::run, nullptr);
      const auto launch = latest.as<CountSpikesLaunch>();
      const int64_t tiles = tiles_per_row(launch.extents);
      const int64_t length = kind == core::CountKind::per_neuron ? layers : tiles;
      const int64_t lines = launch.extents.batch * (kind == core::CountKind::per_neuron ? tiles : layers);
      ASSERT_GE(launch.run, 1);
      EXPECT_EQ(launch.n_runs % lines, 0);
      EXPECT_GE(launch.n_runs / lines * launch.run, length);
      EXPECT_LT((launch.n_runs / lines - 1) * launch.run, length) << "the last run is needed";
      EXPECT_EQ(latest.n_blocks, static_cast<uint64_t>(std::min(launch.n_runs, most_blocks)));
    }
  }
}

}  // namespace
}  // namespace synfire::cuda
