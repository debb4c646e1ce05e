// The text of the last error: how it is truncated, how long it remains valid, which thread it belongs to. Names of
// statuses, and the version.
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

// ---- A caller's bytes in a text -------------------------------------------------------------------------------------

// Well-formed UTF-8 without control characters, by the table of the Unicode standard (3.9, D92).
testing::AssertionResult is_clean(const std::string& text) {
  const auto byte = [&](size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto between = [](unsigned value, unsigned low, unsigned high) { return value >= low && value <= high; };
  for (size_t i = 0; i < text.size();) {
    const unsigned a = byte(i), b = byte(i + 1);
    size_t length = 0;
    if (between(a, 0x20, 0x7E)) length = 1;
    if (a == 0xC2 && between(b, 0xA0, 0xBF)) length = 2;  // smaller values of b are control characters
    if (between(a, 0xC3, 0xDF) && between(b, 0x80, 0xBF)) length = 2;
    if (between(a, 0xE0, 0xEF) && between(b, a == 0xE0 ? 0xA0 : 0x80, a == 0xED ? 0x9F : 0xBF)) length = 3;
    if (between(a, 0xF0, 0xF4) && between(b, a == 0xF0 ? 0x90 : 0x80, a == 0xF4 ? 0x8F : 0xBF)) length = 4;
    for (size_t k = 2; k < length; ++k)
      if (!between(byte(i + k), 0x80, 0xBF)) length = 0;
    if (length == 0) return testing::AssertionFailure() << "byte " << i << " of \"" << text << "\"";
    i += length;
  }
  return testing::AssertionSuccess();
}

const char* const dirty_names[] = {"\x1b[31mred\x1b[0m",
                                   "\a\b\t\r\n\x7f",
                                   "\xff\xfe",
                                   "\xc0\xaf",
                                   "\xed\xa0\x80",
                                   "\xf5\x80\x80\x80",
                                   "\xf0\x80\x80\xaf",
                                   ("\xc2\x9b"
                                    "31m"),
                                   "\xe2\x82",
                                   "\xe2\x82\xac euro",
                                   "\xf0\x9f\x8e\xb5 note",
                                   "\xf4\x90\x80\x80"};

TEST_F(Errors, TheTextIsCleanWhateverNamesItQuotes) {
  double value = 1;
  for (const char* const name : dirty_names) {
    EXPECT_LT(synfire_layer_set_parameter(rig.layer, name, &value, 1), 0);
    EXPECT_TRUE(is_clean(last_error_text()));
    EXPECT_LT(synfire_layer_read_state(rig.layer, name, &value, sizeof value), 0);
    EXPECT_TRUE(is_clean(last_error_text()));
    int32_t id = 0;
    EXPECT_LT(synfire_model_id(name, &id), 0);
    EXPECT_TRUE(is_clean(last_error_text()));
    EXPECT_LT(synfire_surrogate_id(name, &id), 0);
    EXPECT_TRUE(is_clean(last_error_text()));
    EXPECT_LT(synfire_graph_set_value(graph, 0, name, 1), 0);
    EXPECT_TRUE(is_clean(last_error_text()));
  }
  EXPECT_LT(synfire_layer_set_parameter(rig.layer, "\xe2\x82\xac\x1b", &value, 1), 0);
  EXPECT_NE(last_error_text().find("\"\xe2\x82\xac\\x1b\""), std::string::npos) << last_error_text();
  expect_usable();
}

TEST_F(Errors, AMisspeltNameIsAnsweredWithTheOneItIsClosestTo) {
  double value = 1;
  int32_t id = 0;
  const auto set = [&](const char* name) { return synfire_layer_set_parameter(rig.layer, name, &value, 1); };
  const auto meant = [](synfire_status status, const char* name) {
    const std::string text = last_error_text();
    if (status != SYNFIRE_ERROR_INVALID_ARGUMENT) return testing::AssertionFailure() << "returned " << status;
    if (!name && text.find("did you mean") == std::string::npos) return testing::AssertionSuccess();
    if (name && text.find(std::string("(did you mean \"").append(name).append("\"?)")) != std::string::npos)
      return testing::AssertionSuccess();
    return testing::AssertionFailure() << text;
  };
  for (const char* const name : {"taus", "Tau", "TAU", "tua", "ta", "tau_"}) EXPECT_TRUE(meant(set(name), "tau"));
  for (const char* const name : {"v_treshold", "vthreshold", "v-threshold", "V_Threshold", "v_threshhold"})
    EXPECT_TRUE(meant(set(name), "v_threshold"));
  EXPECT_TRUE(meant(set("vreset"), "v_reset"));
  EXPECT_TRUE(meant(set("aplha"), "alpha"));
  for (const char* const name : {"", "x", "theta_rh", "nonsense", "tau tau tau"})
    EXPECT_TRUE(meant(set(name), nullptr));
  EXPECT_TRUE(meant(set(std::string(100'000, 't').c_str()), nullptr));
  EXPECT_TRUE(meant(synfire_model_id("LIF", &id), "lif"));
  EXPECT_TRUE(meant(synfire_model_id("izhikevitch", &id), "izhikevich"));
  EXPECT_TRUE(meant(synfire_model_id("perceptron", &id), nullptr));
  EXPECT_TRUE(meant(synfire_surrogate_id("sigmod", &id), "sigmoid"));
  EXPECT_TRUE(meant(synfire_surrogate_id("superspike", &id), "super_spike"));
  EXPECT_TRUE(meant(synfire_surrogate_id("triangle", &id), nullptr));
  EXPECT_TRUE(meant(synfire_graph_set_value(graph, 0, "learningrate", 1), nullptr)) << "it has no values";
}

TEST_F(Errors, TheTextIsCleanWhereALongNameIsCut) {
  double value = 1;
  std::string name;
  for (int i = 0; i < 700; ++i) name.append("\xe2\x82\xac");
  for (size_t first = 0; first < 3; ++first) {
    const std::string shifted = std::string(first, 'a').append(name);
    EXPECT_LT(synfire_layer_set_parameter(rig.layer, shifted.c_str(), &value, 1), 0);
    EXPECT_TRUE(is_clean(last_error_text()));
    const std::string whole = last_error_text();
    std::vector<char> cut(whole.size() + 1);
    for (size_t capacity = 1; capacity <= whole.size(); ++capacity) {
      synfire_last_error(cut.data(), capacity, nullptr);
      const std::string part = cut.data();
      EXPECT_TRUE(is_clean(part));
      EXPECT_EQ(whole.compare(0, part.size(), part), 0);
      EXPECT_LT(capacity - 1 - part.size(), 4u);
      if (HasFailure()) return;
    }
  }
}

TEST_F(Errors, TheTextIsCleanWhateverADamagedSnapshotNames) {
  uint64_t bytes = 0;
  EXPECT_OK(synfire_layer_snapshot(rig.layer, nullptr, nullptr, &bytes));
  std::vector<char> snapshot(bytes);
  EXPECT_OK(synfire_layer_snapshot(rig.layer, nullptr, snapshot.data(), &bytes));
  const size_t name = std::string_view(snapshot.data(), snapshot.size()).find("lif");
  ASSERT_NE(name, std::string_view::npos);
  for (size_t at = 0; at < name; ++at)  // any byte of the header, such as the layout's hash
    for (const char* const dirty : dirty_names) {
      std::vector<char> damaged = snapshot;
      damaged[at] = static_cast<char>(damaged[at] ^ 0x55);
      for (size_t i = 0; i < 40; ++i) damaged[name + i] = dirty[i % std::strlen(dirty)];
      EXPECT_LT(synfire_layer_restore(rig.layer, nullptr, damaged.data(), bytes), 0);
      EXPECT_TRUE(is_clean(last_error_text()));
      if (HasFailure()) return;
    }
  expect_usable();
}

TEST_F(Errors, TheTextAndThePictureAreCleanWhateverANodeIsCalled) {
  for (const char* const name : dirty_names) {
    const Graph own = make_graph(context);
    synfire_native_desc desc = SYNFIRE_NATIVE_DESC_INIT;
    desc.callback = [](void*, const synfire_native_call*) -> synfire_status { return -1; };
    desc.name = name;
    EXPECT_OK(synfire_graph_record_native(own, &desc));
    uint64_t bytes = 0;
    EXPECT_OK(synfire_graph_write_dot(own, nullptr, &bytes));
    std::string picture(bytes, '\0');
    EXPECT_OK(synfire_graph_write_dot(own, picture.data(), &bytes));
    picture.pop_back();
    std::erase(picture, '\n');
    EXPECT_TRUE(is_clean(picture));
    synfire_status status = synfire_graph_instantiate(own);  // on a GPU this calls the callback
    if (status >= 0) status = synfire_graph_launch(own, nullptr, nullptr);
    EXPECT_EQ(status, SYNFIRE_ERROR_CALLBACK);
    EXPECT_TRUE(is_clean(last_error_text()));
  }
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
  EXPECT_NAME(SYNFIRE_ERROR_PEER_LOST);
  EXPECT_NAME(SYNFIRE_ERROR_INTERNAL);
#undef EXPECT_NAME
  for (const synfire_status unknown : {4, 100, -15, -98, -100, std::numeric_limits<int32_t>::min()})
    EXPECT_STREQ(synfire_status_name(unknown), "SYNFIRE_UNKNOWN_STATUS");
}

}  // namespace
}  // namespace synfire_test
