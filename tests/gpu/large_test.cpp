// Layers that are too large for other tests: sequences of more than 2^31 elements, which a 32-bit index cannot
// address, and passes of many waves, whose launches are planned accordingly. Neurons are independent, so windows of
// the large layer are compared, bit for bit, with a small layer on the host that has the same columns.
#include <synfire/synfire.h>

#include <gtest/gtest.h>

#include <cstring>
#include <random>
#include <vector>

namespace {

#define REQUIRE_OK(call)                                              \
  do {                                                                \
    const synfire_status answered = (call);                           \
    char text[1024] = "";                                             \
    if (answered < 0) synfire_last_error(text, sizeof text, nullptr); \
    ASSERT_GE(answered, 0) << #call << ": " << text;                  \
  } while (false)

constexpr uint64_t n_window = 64;

struct Shape {
  uint64_t n_steps, n_neurons;
  uint64_t elements() const { return n_steps * n_neurons; }
  uint64_t words_per_step() const { return (n_neurons + 31) / 32; }
};

// One layer with buffers for its sequences. All handles of a context are released with the process.
class Rig {
 public:
  void create(int32_t backend, const Shape& shape) {
    shape_ = shape;
    synfire_context_desc context = SYNFIRE_CONTEXT_DESC_INIT;
    context.backend = backend;
    REQUIRE_OK(synfire_context_create(&context, &context_));
    synfire_layer_desc layer = SYNFIRE_LAYER_DESC_INIT;
    layer.n_steps = static_cast<int64_t>(shape.n_steps);
    layer.n_neurons = static_cast<int64_t>(shape.n_neurons);
    REQUIRE_OK(synfire_layer_create(context_, &layer, &layer_));
    ASSERT_NO_FATAL_FAILURE(buffer(SYNFIRE_DTYPE_F32, shape.elements(), x));
    ASSERT_NO_FATAL_FAILURE(buffer(SYNFIRE_DTYPE_F32, shape.elements(), grad));
    ASSERT_NO_FATAL_FAILURE(buffer(SYNFIRE_DTYPE_BITS, shape.n_steps * shape.words_per_step(), spikes));
  }
  ~Rig() {
    for (synfire_buffer made : {x, grad, spikes}) synfire_buffer_destroy(made);
    synfire_layer_destroy(layer_);
    synfire_context_destroy(context_);
    synfire_context_reclaim(nullptr, nullptr);
  }
  Rig() = default;
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;

  // grad_x overwrites grad_spike, so that two large arrays suffice.
  void run() {
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x;
    forward.spikes = spikes;
    REQUIRE_OK(synfire_layer_forward(layer_, &forward, nullptr));
    synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
    backward.grad_spike_seq = backward.grad_x_seq = grad;
    backward.in_place = 1;
    REQUIRE_OK(synfire_layer_backward(layer_, &backward, nullptr));
    REQUIRE_OK(synfire_context_synchronize(context_));
  }

  synfire_buffer x = nullptr, grad = nullptr, spikes = nullptr;

 private:
  void buffer(int32_t dtype, uint64_t n_elements, synfire_buffer& made) {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.dtype = dtype;
    desc.n_elements = n_elements;
    REQUIRE_OK(synfire_buffer_create(context_, &desc, &made));
  }

  Shape shape_ = {};
  synfire_context context_ = nullptr;
  synfire_layer layer_ = nullptr;
};

// Row t of an array is a pattern, read from its element 7t.
std::vector<float> pattern(uint64_t length, float low, float high, unsigned seed) {
  std::mt19937 random(seed);
  std::vector<float> values(length);
  for (float& value : values)
    value = low + (high - low) * static_cast<float>(random() >> 8) / static_cast<float>(1 << 24);
  return values;
}

void upload(synfire_buffer buffer, const Shape& shape, const float* values) {
  for (uint64_t t = 0; t < shape.n_steps; ++t)
    REQUIRE_OK(synfire_buffer_upload(buffer, t * shape.n_neurons * sizeof(float), values + 7 * t,
                                     shape.n_neurons * sizeof(float)));
}

class Large : public testing::TestWithParam<Shape> {};

TEST_P(Large, WindowsEqualASmallLayer) {
  const Shape shape = GetParam();
  synfire_context probe = nullptr;
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  desc.backend = SYNFIRE_BACKEND_CUDA;
  REQUIRE_OK(synfire_context_create(&desc, &probe));
  synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
  REQUIRE_OK(synfire_context_get_properties(probe, &properties));
  synfire_context_destroy(probe);
  if (properties.memory_bytes < shape.elements() * 2 * sizeof(float) * 5 / 4)
    GTEST_SKIP() << "the GPU has " << properties.memory_bytes << " bytes";

  const std::vector<float> x = pattern(shape.n_neurons + 7 * shape.n_steps, -0.5f, 2.5f, 1);
  const std::vector<float> grad = pattern(shape.n_neurons + 7 * shape.n_steps, -1.0f, 1.0f, 2);
  Rig large;
  ASSERT_NO_FATAL_FAILURE(large.create(SYNFIRE_BACKEND_CUDA, shape));
  ASSERT_NO_FATAL_FAILURE(upload(large.x, shape, x.data()));
  ASSERT_NO_FATAL_FAILURE(upload(large.grad, shape, grad.data()));
  ASSERT_NO_FATAL_FAILURE(large.run());

  // Both ends, the middle, and where the last rows pass 2^31 elements.
  const uint64_t last_row = (shape.n_steps - 1) * shape.n_neurons, limit = uint64_t{1} << 31;
  const uint64_t passing = last_row < limit && limit < shape.elements() ? (limit - last_row) / 32 * 32 : 0;
  const uint64_t end = (shape.n_neurons - n_window) / 32 * 32;
  for (uint64_t first : {uint64_t{0}, passing, shape.n_neurons / 2 / 32 * 32, end}) {
    if (first > end) first = end;
    const Shape window = {shape.n_steps, n_window};
    Rig small;
    ASSERT_NO_FATAL_FAILURE(small.create(SYNFIRE_BACKEND_HOST, window));
    ASSERT_NO_FATAL_FAILURE(upload(small.x, window, x.data() + first));
    ASSERT_NO_FATAL_FAILURE(upload(small.grad, window, grad.data() + first));
    ASSERT_NO_FATAL_FAILURE(small.run());
    for (uint64_t t = 0; t < shape.n_steps; ++t) {
      std::vector<uint32_t> wanted(n_window), got(n_window);
      REQUIRE_OK(synfire_buffer_download(small.grad, t * n_window * 4, wanted.data(), n_window * 4));
      REQUIRE_OK(synfire_buffer_download(large.grad, (t * shape.n_neurons + first) * 4, got.data(), n_window * 4));
      ASSERT_EQ(got, wanted) << "gradient of step " << t << ", neurons from " << first;
      REQUIRE_OK(synfire_buffer_download(small.spikes, t * 8, wanted.data(), 8));
      REQUIRE_OK(synfire_buffer_download(large.spikes, (t * shape.words_per_step() + first / 32) * 4, got.data(), 8));
      ASSERT_EQ(0, std::memcmp(got.data(), wanted.data(), 8)) << "spikes of step " << t << ", neurons from " << first;
    }
  }
}

// More than 2^31 elements in rows of odd length (one neuron per thread) and of a multiple of 32 (several per thread).
// Also T·N below 2^31 with (T+1)·N above it.
INSTANTIATE_TEST_SUITE_P(Shapes, Large, testing::Values(Shape{33, 67108867}, Shape{40, 54525952}, Shape{33, 65000000}));
// On compute capability 9 a multiprocessor runs fewer blocks at once than fit (LaunchPlan.FewerBlocks*): 8, 8 and 9 of
// the backward, and 4 of the forward for the second and the third shape, over three, two and one intervals of the
// tape; and 2 and 4 of the backward where each thread has one neuron (LaunchPlan.FewBlocks*).
INSTANTIATE_TEST_SUITE_P(SpreadEvenly, Large, testing::Values(Shape{70, 16385}, Shape{33, 33792}));
INSTANTIATE_TEST_SUITE_P(FilledWaves, Large, testing::Values(Shape{65, 262144}, Shape{33, 524288}, Shape{32, 1048576}));

}  // namespace
