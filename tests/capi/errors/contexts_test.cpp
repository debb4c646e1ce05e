// Contexts that are refused, and the reason that automatic selection reports when it falls back to the host.
#include <limits>

#include "errors.hpp"

namespace synfire_test {
namespace {

synfire_status create_context(const synfire_context_desc& desc) {
  synfire_context handle = some_handle<synfire_context>();
  const synfire_status status = synfire_context_create(&desc, &handle);
  EXPECT_EQ(status < 0, handle == nullptr);
  synfire_context_destroy(handle);
  return status;
}

bool gpu_answers() {
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  desc.backend = SYNFIRE_BACKEND_CUDA;
  return create_context(desc) == SYNFIRE_OK;
}

TEST(ContextErrors, UnknownBackend) {
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  for (const int32_t bad : {-1, 3, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()}) {
    desc.backend = bad;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("backend"), create_context(desc));
  }
}

TEST(ContextErrors, Threads) {
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  desc.backend = SYNFIRE_BACKEND_HOST;
  for (const int32_t bad : {-1, 1025, std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()}) {
    desc.n_threads = bad;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("n_threads"), create_context(desc));
  }
  desc.n_threads = 1024;
  EXPECT_OK(create_context(desc));
}

TEST(ContextErrors, TheHostHasOneDevice) {
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  desc.backend = SYNFIRE_BACKEND_HOST;
  for (const int32_t bad : {-1, 1, std::numeric_limits<int32_t>::max()}) {
    desc.device = bad;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("device"), create_context(desc));
  }
}

TEST(ContextErrors, ADeviceThatDoesNotExist) {
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  desc.backend = SYNFIRE_BACKEND_CUDA;
  desc.device = 4096;
  EXPECT_FAILS(SYNFIRE_ERROR_NO_DEVICE, WORDS(gpu_answers() ? "device" : "backend"), create_context(desc));
  desc.device = -1;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("device"), create_context(desc));
}

TEST(ContextErrors, CudaWithoutAGpu) {
  if (gpu_answers()) GTEST_SKIP() << "this machine has a GPU";
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  desc.backend = SYNFIRE_BACKEND_CUDA;
  EXPECT_FAILS(SYNFIRE_ERROR_NO_DEVICE, WORDS("backend"), create_context(desc));
}

TEST(ContextErrors, AutomaticSelectionSaysWhyItEndedOnTheHost) {
  synfire_context handle = nullptr;
  const synfire_status status = synfire_context_create(nullptr, &handle);
  const Context context(handle);
  synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
  ASSERT_OK(synfire_context_get_properties(context, &properties));
  EXPECT_STRNE(properties.name, "");
  if (gpu_answers()) {
    EXPECT_EQ(status, SYNFIRE_OK);
    EXPECT_EQ(properties.backend, SYNFIRE_BACKEND_CUDA);
    EXPECT_EQ(properties.device, 0);
    EXPECT_EQ(properties.fallback_reason, SYNFIRE_FALLBACK_NONE);
    EXPECT_EQ(properties.n_threads, 0);
    EXPECT_GT(properties.n_multiprocessors, 0);
    EXPECT_GT(properties.memory_bytes, 0u);
  } else {
    EXPECT_EQ(status, SYNFIRE_HOST_FALLBACK);
    EXPECT_EQ(properties.backend, SYNFIRE_BACKEND_HOST);
    EXPECT_EQ(properties.device, -1);
    EXPECT_NE(properties.fallback_reason, SYNFIRE_FALLBACK_NONE);
    EXPECT_GE(properties.n_threads, 1);
    EXPECT_EQ(properties.n_multiprocessors, 0);
    EXPECT_EQ(properties.compute_major, 0);
    EXPECT_EQ(properties.memory_bytes, 0u);
    EXPECT_NE(std::string_view(properties.name).find("host"), std::string_view::npos);
  }
  EXPECT_OK(synfire_context_synchronize(context));
}

TEST(ContextErrors, AChosenHostIsNoFallback) {
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  desc.backend = SYNFIRE_BACKEND_HOST;
  desc.n_threads = 3;
  synfire_context handle = nullptr;
  ASSERT_OK(synfire_context_create(&desc, &handle));
  const Context context(handle);
  synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
  ASSERT_OK(synfire_context_get_properties(context, &properties));
  EXPECT_EQ(properties.fallback_reason, SYNFIRE_FALLBACK_NONE);
  EXPECT_EQ(properties.struct_size, sizeof properties);
  EXPECT_TRUE(properties.n_threads == 3 || properties.n_threads == 1) << "3, or 1 in a build without threads";
}

}  // namespace
}  // namespace synfire_test
