// synfire_buffer_get_desc() and synfire_layer_get_desc(): what an object was created with, from its handle alone.
#include "support.hpp"

namespace synfire_test {
namespace {

synfire_buffer_desc described(synfire_buffer buffer) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  EXPECT_OK(synfire_buffer_get_desc(buffer, &desc));
  return desc;
}

class Describe : public testing::Test {
 protected:
  Context context = make_context();

  Buffer create(const synfire_buffer_desc& desc) const {
    synfire_buffer buffer = nullptr;
    EXPECT_OK(synfire_buffer_create(context, &desc, &buffer));
    return Buffer(buffer);
  }
  bool reaches(int32_t memory) const { return memory != SYNFIRE_MEMORY_DEVICE || backend() == SYNFIRE_BACKEND_HOST; }
};

TEST_F(Describe, ABufferSaysTypeShapeAndKindAndHasATwin) {
  for (const int32_t memory : {SYNFIRE_MEMORY_DEVICE, SYNFIRE_MEMORY_PINNED, SYNFIRE_MEMORY_HOST}) {
    synfire_buffer_desc given = SYNFIRE_BUFFER_DESC_INIT;
    given.memory = memory;
    given.dtype = SYNFIRE_DTYPE_F64;
    given.row_pitch = 11;
    given.shape[0] = 4;
    given.shape[1] = 3;
    given.shape[2] = 2;
    const Buffer buffer = create(given);
    synfire_buffer_desc got = described(buffer);
    EXPECT_EQ(got.struct_size, sizeof got);
    EXPECT_EQ(got.memory, memory);
    EXPECT_EQ(got.dtype, SYNFIRE_DTYPE_F64);
    EXPECT_EQ(got.n_elements, 3 * 11 + 6u);
    EXPECT_EQ(got.row_pitch, 11u);
    for (int i = 0; i < 4; ++i) EXPECT_EQ(got.shape[i], given.shape[i]) << i;
    void* data = nullptr;
    EXPECT_OK(synfire_buffer_get_data(buffer, &data, nullptr));
    EXPECT_EQ(got.data, reaches(memory) ? data : nullptr);
    got.data = nullptr;
    const Buffer twin = create(got);
    const synfire_buffer_desc again = described(twin);
    EXPECT_EQ(again.n_elements, got.n_elements);
    EXPECT_EQ(again.row_pitch, got.row_pitch);
    EXPECT_EQ(again.shape[2], got.shape[2]);
  }
}

TEST_F(Describe, ABufferWithoutAShapeAndABorrowedOne) {
  synfire_buffer_desc given = SYNFIRE_BUFFER_DESC_INIT;
  given.n_elements = 7;
  const Buffer plain = create(given);
  EXPECT_EQ(described(plain).n_elements, 7u);
  EXPECT_EQ(described(plain).shape[0], 0u);
  // Until the release is reported, which is after this test has ended.
  static float memory[7];
  static uint32_t released;
  given.memory = SYNFIRE_MEMORY_HOST;
  given.data = memory;
  given.release_flag = &released;
  const Buffer borrowed = create(given);
  const synfire_buffer_desc got = described(borrowed);
  EXPECT_EQ(got.data, memory);
  EXPECT_EQ(got.release_flag, nullptr);  // a twin must not report the release of this one's memory
  EXPECT_EQ(got.release, nullptr);
}

TEST_F(Describe, ALayerSaysWhatItIsWithDefaultsFilledIn) {
  synfire_layer_desc given = SYNFIRE_LAYER_DESC_INIT;
  given.model = SYNFIRE_MODEL_IZHIKEVICH;
  given.n_steps = 5;
  given.n_neurons = 37;
  given.dtype = SYNFIRE_DTYPE_F16;
  given.reset = SYNFIRE_RESET_HARD;
  given.surrogate = SYNFIRE_SURROGATE_ATAN;
  given.detach_reset = 1;
  given.threads_per_block = 64;
  const Layer layer = make_layer(context, given);
  synfire_layer_desc got = SYNFIRE_LAYER_DESC_INIT;
  ASSERT_OK(synfire_layer_get_desc(layer, &got));
  given.batch = 1;
  EXPECT_EQ(std::memcmp(&got, &given, sizeof got), 0);

  synfire_layer_desc lif = SYNFIRE_LAYER_DESC_INIT;
  lif.n_steps = lif.n_neurons = 3;
  lif.batch = 2;
  lif.reset = SYNFIRE_RESET_SOFT;
  lif.undecayed_input = 1;
  ASSERT_OK(synfire_layer_get_desc(make_layer(context, lif), &got));
  lif.model = SYNFIRE_MODEL_LIF;
  lif.surrogate = SYNFIRE_SURROGATE_SIGMOID;
  EXPECT_EQ(std::memcmp(&got, &lif, sizeof got), 0);

  synfire_layer_desc li = SYNFIRE_LAYER_DESC_INIT;
  li.model = SYNFIRE_MODEL_LI;
  li.n_steps = li.n_neurons = li.batch = 3;
  ASSERT_OK(synfire_layer_get_desc(make_layer(context, li), &got));
  EXPECT_EQ(std::memcmp(&got, &li, sizeof got), 0);
  const Layer twin = make_layer(context, got);
  EXPECT_TRUE(twin);
}

}  // namespace
}  // namespace synfire_test
