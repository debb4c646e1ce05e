// The last error's text: how it is cut, how long it stays, whose it is; names of statuses and the version.
#include <limits>
#include <thread>

#include "errors.hpp"

namespace synfire_test {
namespace {

TEST_F(Errors, TheTextIsCutToTheCallersBuffer) {
  EXPECT_LT(synfire_buffer_fill(nullptr, 0), 0);
  const std::string whole = last_error_text();
  ASSERT_GT(whole.size(), 10u);
  const uint64_t needed = whole.size() + 1;
  std::vector<char> buffer(needed + 8, '#');
  for (const uint64_t capacity : {uint64_t{1}, uint64_t{2}, uint64_t{10}, needed - 1, needed, needed + 8}) {
    buffer.assign(needed + 8, '#');
    int32_t cuda_error = 77;
    EXPECT_EQ(synfire_last_error(buffer.data(), capacity, &cuda_error), needed);
    EXPECT_EQ(cuda_error, 0);
    EXPECT_EQ(std::string(buffer.data()), whole.substr(0, capacity - 1));
    for (size_t i = capacity; i < buffer.size(); ++i) EXPECT_EQ(buffer[i], '#');
  }
  buffer.assign(needed + 8, '#');
  EXPECT_EQ(synfire_last_error(buffer.data(), 0, nullptr), needed);
  EXPECT_EQ(buffer[0], '#');
}

TEST_F(Errors, TheTextStaysUntilTheNextFailure) {
  EXPECT_LT(synfire_buffer_fill(nullptr, 0), 0);
  const std::string before = last_error_text();
  expect_usable();
  EXPECT_EQ(last_error_text(), before) << "a successful call touched the text";
  synfire_buffer_destroy(as<synfire_buffer>(uintptr_t{5}));
  synfire_layer_destroy(nullptr);
  graph.reset();
  rig.x.reset();
  EXPECT_EQ(last_error_text(), before) << "a destroy touched the text";
}

TEST_F(Errors, EveryThreadHasItsOwnText) {
  EXPECT_LT(synfire_buffer_fill(nullptr, 0), 0);
  const std::string before = last_error_text();
  std::string fresh = "?", other;
  std::thread([&] {
    fresh = last_error_text();
    EXPECT_LT(synfire_graph_poll(nullptr, 3), 0);
    other = last_error_text();
  }).join();
  EXPECT_EQ(fresh, "") << "a thread without an error has no text";
  EXPECT_NE(other, before);
  EXPECT_EQ(last_error_text(), before);
}

TEST(Version, AgreesWithTheHeader) {
  EXPECT_EQ(synfire_abi_version(), SYNFIRE_ABI_VERSION);
  EXPECT_NE(std::string_view(synfire_version_string()).find('.'), std::string_view::npos);
}

TEST(Version, EveryStatusHasItsName) {
#define EXPECT_NAME(status) EXPECT_STREQ(synfire_status_name(status), #status)
  EXPECT_NAME(SYNFIRE_OK);
  EXPECT_NAME(SYNFIRE_PENDING);
  EXPECT_NAME(SYNFIRE_HOST_FALLBACK);
  EXPECT_NAME(SYNFIRE_CAPTURED);
  EXPECT_NAME(SYNFIRE_ERROR_INVALID_ARGUMENT);
  EXPECT_NAME(SYNFIRE_ERROR_INVALID_HANDLE);
  EXPECT_NAME(SYNFIRE_ERROR_STRUCT_SIZE);
  EXPECT_NAME(SYNFIRE_ERROR_OUT_OF_MEMORY);
  EXPECT_NAME(SYNFIRE_ERROR_NO_DEVICE);
  EXPECT_NAME(SYNFIRE_ERROR_BUSY);
  EXPECT_NAME(SYNFIRE_ERROR_CAPTURING);
  EXPECT_NAME(SYNFIRE_ERROR_STALE_TAPE);
  EXPECT_NAME(SYNFIRE_ERROR_WRONG_ORDER);
  EXPECT_NAME(SYNFIRE_ERROR_DEVICE_LOST);
  EXPECT_NAME(SYNFIRE_ERROR_UNSUPPORTED);
  EXPECT_NAME(SYNFIRE_ERROR_CUDA);
  EXPECT_NAME(SYNFIRE_ERROR_CALLBACK);
  EXPECT_NAME(SYNFIRE_ERROR_INTERNAL);
#undef EXPECT_NAME
  for (const synfire_status unknown : {4, 100, -14, -98, -100, std::numeric_limits<int32_t>::min()})
    EXPECT_STREQ(synfire_status_name(unknown), "SYNFIRE_UNKNOWN_STATUS");
}

}  // namespace
}  // namespace synfire_test
