// A data set of more than 2^31 elements in device memory, of which the GPU finds the first that is not allowed.
#include <synfire/synfire.h>

#include <gtest/gtest.h>

#include <string>

namespace {

#define REQUIRE_OK(call)                                              \
  do {                                                                \
    const synfire_status answered = (call);                           \
    char text[1024] = "";                                             \
    if (answered < 0) synfire_last_error(text, sizeof text, nullptr); \
    ASSERT_GE(answered, 0) << #call << ": " << text;                  \
  } while (false)

constexpr int64_t width = 4099, n_rows = 524289;  // 2,149,060,611 bytes
constexpr uint64_t n_elements = static_cast<uint64_t>(width * n_rows);
static_assert(n_elements > uint64_t{1} << 31);

class LargeData : public testing::Test {
 protected:
  void SetUp() override {
    synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
    desc.backend = SYNFIRE_BACKEND_CUDA;
    REQUIRE_OK(synfire_context_create(&desc, &context));
    synfire_network_desc network_desc = SYNFIRE_NETWORK_DESC_INIT;
    network_desc.n_steps = 1;
    network_desc.batch = 64;
    REQUIRE_OK(synfire_network_create(context, &network_desc, &network));
    REQUIRE_OK(synfire_network_add_input(network, "in", SYNFIRE_NETWORK_INPUT_SPIKES, width));
    REQUIRE_OK(synfire_network_set_value(network, "in", "dtype", SYNFIRE_DTYPE_U8));
    REQUIRE_OK(synfire_network_add_synapse(network, "synapse", 5));
    REQUIRE_OK(synfire_network_add_neurons(network, "neurons", SYNFIRE_MODEL_LI));
    REQUIRE_OK(synfire_network_add_readout(network, "readout", SYNFIRE_READOUT_MEAN, 0));
    REQUIRE_OK(synfire_network_add_loss(network, "loss", SYNFIRE_LOSS_CROSS_ENTROPY));
    REQUIRE_OK(synfire_network_build(network));
    synfire_buffer_desc buffer = SYNFIRE_BUFFER_DESC_INIT;
    buffer.dtype = SYNFIRE_DTYPE_U8;
    buffer.n_elements = n_elements;
    REQUIRE_OK(synfire_buffer_create(context, &buffer, &inputs));
    buffer.dtype = SYNFIRE_DTYPE_U32;
    buffer.n_elements = n_rows;
    REQUIRE_OK(synfire_buffer_create(context, &buffer, &labels));
  }
  void TearDown() override {
    synfire_buffer_destroy(inputs);
    synfire_buffer_destroy(labels);
    synfire_network_destroy(network);
    synfire_context_destroy(context);
    synfire_context_reclaim(nullptr, nullptr);
  }
  void put(uint64_t at, unsigned char value) { REQUIRE_OK(synfire_buffer_upload(inputs, at, &value, 1)); }
  // Returns the library's error, "" if it takes the data.
  std::string answer() {
    if (synfire_network_set_data(network, SYNFIRE_DATA_EVALUATION, n_rows, inputs, labels, nullptr, nullptr, nullptr) >=
        0)
      return "";
    char text[1024] = "";
    synfire_last_error(text, sizeof text, nullptr);
    return text;
  }

  synfire_context context = nullptr;
  synfire_network network = nullptr;
  synfire_buffer inputs = nullptr, labels = nullptr;
};

TEST_F(LargeData, TheFirstElementIsFound) {
  // Each before all that were written until then.
  for (const uint64_t at : {n_elements - 1, (uint64_t{1} << 31) + 7, uint64_t{1} << 31, (uint64_t{1} << 31) - 1,
                            (uint64_t{1} << 28) + 1, uint64_t{3}}) {
    ASSERT_NO_FATAL_FAILURE(put(at, 2));
    const std::string place =
        "has 2 in row " + std::to_string(at / width) + ", element " + std::to_string(at % width) + ";";
    const std::string text = answer();
    EXPECT_NE(text.find(place), std::string::npos) << text << " instead of " << place;
    EXPECT_EQ(text.find("[SYN-NETWORK-SPIKE]"), 0u) << text;
  }
}

TEST_F(LargeData, AllAreTaken) {
  ASSERT_NO_FATAL_FAILURE(put(n_elements - 1, 1));
  EXPECT_EQ(answer(), "");
  ASSERT_NO_FATAL_FAILURE(put(n_elements - 1, 255));
  EXPECT_NE(answer().find("has 255 in row 524288, element 4098;"), std::string::npos);
}

}  // namespace
