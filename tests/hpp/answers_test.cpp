// How the wrapper translates results that a host context never returns: late replays, notes, errors with a CUDA
// number, a buffer on a GPU. No library is linked: this file defines the necessary functions of the C ABI, which
// return what the test sets.
#include <gtest/gtest.h>
#include <synfire/synfire.hpp>

#include <cmath>
#include <cstring>
#include <string>

namespace {

// The results of the next calls, and the arguments that they received.
struct Script {
  synfire_status status = SYNFIRE_OK;
  const char* text = "";
  std::int32_t cuda_error = 0;
  std::int32_t backend = SYNFIRE_BACKEND_CUDA;
  std::uint64_t ticket = 0;
  std::int32_t policy = -1;
  std::int64_t timeout_ns = -99;
  int n_destroyed = 0;
} script;

template <class Handle>
Handle handle_of(std::uintptr_t number) {
  return reinterpret_cast<Handle>(number);
}

}  // namespace

extern "C" {
std::uint64_t SYNFIRE_CALL synfire_last_error(char* text, std::uint64_t capacity, std::int32_t* cuda_error) noexcept {
  if (capacity > 0) {
    std::strncpy(text, script.text, capacity - 1);
    text[capacity - 1] = '\0';
  }
  if (cuda_error != nullptr) *cuda_error = script.cuda_error;
  return std::strlen(script.text) + 1;
}
const char* SYNFIRE_CALL synfire_status_name(synfire_status) noexcept {
  return "name";
}
synfire_status SYNFIRE_CALL synfire_context_create(const synfire_context_desc*, synfire_context* context) noexcept {
  *context = script.status < 0 ? nullptr : handle_of<synfire_context>(1);
  return script.status;
}
void SYNFIRE_CALL synfire_context_destroy(synfire_context context) noexcept {
  script.n_destroyed += context != nullptr;
}
synfire_status SYNFIRE_CALL synfire_context_get_properties(synfire_context,
                                                           synfire_context_properties* properties) noexcept {
  properties->backend = script.backend;
  return SYNFIRE_OK;
}
synfire_status SYNFIRE_CALL synfire_buffer_create(synfire_context, const synfire_buffer_desc*,
                                                  synfire_buffer* buffer) noexcept {
  *buffer = handle_of<synfire_buffer>(2);
  return SYNFIRE_OK;
}
void SYNFIRE_CALL synfire_buffer_destroy(synfire_buffer buffer) noexcept {
  script.n_destroyed += buffer != nullptr;
}
synfire_status SYNFIRE_CALL synfire_buffer_get_data(synfire_buffer, void** data, std::uint64_t* bytes) noexcept {
  *data = &script;
  *bytes = 8;
  return SYNFIRE_OK;
}
synfire_status SYNFIRE_CALL synfire_graph_create(synfire_context, const synfire_graph_desc*,
                                                 synfire_graph* graph) noexcept {
  *graph = handle_of<synfire_graph>(3);
  return SYNFIRE_OK;
}
void SYNFIRE_CALL synfire_graph_destroy(synfire_graph graph) noexcept {
  script.n_destroyed += graph != nullptr;
}
synfire_status SYNFIRE_CALL synfire_graph_launch(synfire_graph, synfire_stream, std::uint64_t* ticket) noexcept {
  if (script.status >= 0) *ticket = 41;
  return script.status;
}
synfire_status SYNFIRE_CALL synfire_graph_wait(synfire_graph, std::uint64_t ticket, std::int32_t policy,
                                               std::int64_t timeout_ns) noexcept {
  script.ticket = ticket;
  script.policy = policy;
  script.timeout_ns = timeout_ns;
  return script.status;
}
synfire_status SYNFIRE_CALL synfire_graph_poll(synfire_graph, std::uint64_t ticket) noexcept {
  script.ticket = ticket;
  return script.status;
}
}

namespace {

using namespace std::chrono_literals;
using synfire::Waited;

class Answers : public testing::Test {
 protected:
  Answers() { script = {}; }
  void fail(synfire_status status, const char* text, std::int32_t cuda_error) {
    script.status = status;
    script.text = text;
    script.cuda_error = cuda_error;
  }
};

TEST_F(Answers, ALateReplayIsNoError) {
  const synfire::Context context;
  synfire::Graph graph(context);
  EXPECT_EQ(graph.launch(), 41u);
  script.status = SYNFIRE_PENDING;
  EXPECT_EQ(graph.poll(5), Waited::pending);
  EXPECT_EQ(script.ticket, 5u);
  EXPECT_EQ(graph.wait(6, 1ms), Waited::pending);
  EXPECT_EQ(script.ticket, 6u);
  script.status = SYNFIRE_OK;
  EXPECT_EQ(graph.poll(5), Waited::done);
  EXPECT_EQ(graph.wait(6, 1ms), Waited::done);
}

TEST_F(Answers, TimeoutsAreNanoseconds) {
  const synfire::Context context;
  const synfire::Graph graph(context);
  const auto asked = [&](auto timeout) {
    script.timeout_ns = -99;
    EXPECT_EQ(graph.wait(1, timeout), Waited::done);
    return script.timeout_ns;
  };
  constexpr std::int64_t longest = INT64_MAX;
  EXPECT_EQ(asked(1ns), 1);
  EXPECT_EQ(asked(1ms), 1000000);
  EXPECT_EQ(asked(250us), 250000);
  EXPECT_EQ(asked(3s), 3000000000);
  EXPECT_EQ(asked(24h), 86400000000000);
  EXPECT_EQ(asked(1.5ms), 1500000);
  EXPECT_EQ(asked(0.25s), 250000000);
  EXPECT_EQ(asked(std::chrono::duration<int, std::ratio<1, 60>>(1)), 16666666);  // one frame
  EXPECT_EQ(asked(std::chrono::duration<std::int64_t, std::pico>(2500)), 2);
  EXPECT_EQ(asked(std::chrono::nanoseconds(8999999999999999)), 8999999999999999);
  // Nothing to wait for: polls once, and never waits for ever.
  EXPECT_EQ(asked(0ns), 0);
  EXPECT_EQ(asked(-1ns), 0);
  EXPECT_EQ(asked(-5h), 0);
  EXPECT_EQ(asked(std::chrono::nanoseconds::min()), 0);
  EXPECT_EQ(asked(std::chrono::hours::min()), 0);
  EXPECT_EQ(asked(std::chrono::duration<double>(-INFINITY)), 0);
  EXPECT_EQ(asked(std::chrono::duration<double>(NAN)), 0);
  // More than the type can represent: the longest wait that it can.
  EXPECT_EQ(asked(std::chrono::nanoseconds::max()), longest);
  EXPECT_EQ(asked(std::chrono::milliseconds::max()), longest);
  EXPECT_EQ(asked(std::chrono::hours::max()), longest);
  EXPECT_EQ(asked(std::chrono::duration<double>(INFINITY)), longest);
  EXPECT_EQ(asked(std::chrono::duration<float>(1e30F)), longest);
}

TEST_F(Answers, WithoutATimeoutAWaitIsForEver) {
  const synfire::Context context;
  const synfire::Graph graph(context);
  graph.wait(9);
  EXPECT_EQ(script.timeout_ns, -1);
  EXPECT_EQ(script.policy, SYNFIRE_WAIT_SPIN);
  graph.wait(9, synfire::WaitPolicy::block);
  EXPECT_EQ(script.policy, SYNFIRE_WAIT_BLOCK);
  EXPECT_EQ(graph.wait(9, 1ms, synfire::WaitPolicy::yield), Waited::done);
  EXPECT_EQ(script.policy, SYNFIRE_WAIT_YIELD);
  EXPECT_EQ(graph.wait(9, 1ms), Waited::done);
  EXPECT_EQ(script.policy, SYNFIRE_WAIT_SPIN);
}

TEST_F(Answers, AFallbackIsNoError) {
  script.status = SYNFIRE_HOST_FALLBACK;
  EXPECT_TRUE(synfire::Context());
  EXPECT_EQ(script.n_destroyed, 1);
}

TEST_F(Answers, ARefusedObjectIsNotDestroyed) {
  fail(SYNFIRE_ERROR_NO_DEVICE, "[SYN-CONTEXT-NO-DEVICE] none", 100);
  try {
    const synfire::Context context;
    FAIL() << "nothing was thrown";
  } catch (const synfire::error& error) {
    EXPECT_EQ(error.status(), SYNFIRE_ERROR_NO_DEVICE);
    EXPECT_EQ(error.cuda_error(), 100);
    EXPECT_EQ(error.rule(), "SYN-CONTEXT-NO-DEVICE");
    EXPECT_STREQ(error.what(), "[SYN-CONTEXT-NO-DEVICE] none");
    EXPECT_STREQ(error.status_name(), "name");
  }
  EXPECT_EQ(script.n_destroyed, 0);
}

TEST_F(Answers, AReplaysOwnErrorIsThrownByWhoeverWaits) {
  const synfire::Context context;
  synfire::Graph graph(context);
  fail(SYNFIRE_ERROR_DEVICE_LOST, "[SYN-DEVICE-LOST] gone", 700);
  const auto lost = [](auto call) {
    try {
      call();
    } catch (const synfire::error& error) {
      return error.status() == SYNFIRE_ERROR_DEVICE_LOST && error.cuda_error() == 700;
    }
    return false;
  };
  EXPECT_TRUE(lost([&] { graph.launch(); }));
  EXPECT_TRUE(lost([&] { graph.wait(1); }));
  EXPECT_TRUE(lost([&] { (void)graph.wait(1, 1ms); }));
  EXPECT_TRUE(lost([&] { (void)graph.poll(1); }));
}

TEST_F(Answers, LongTextsArriveWhole) {
  const std::string text = "[SYN-CUDA] " + std::string(5000, 'x');
  fail(SYNFIRE_ERROR_CUDA, text.c_str(), 1);
  try {
    synfire::check(script.status);
    FAIL() << "nothing was thrown";
  } catch (const synfire::error& error) {
    EXPECT_EQ(error.what(), text);
  }
}

TEST_F(Answers, MemoryOfAGpuHasNoView) {
  const synfire::Context context;
  synfire::Buffer device(context, synfire::buffer_desc<float>(2));
  EXPECT_FALSE(device.host_visible());
  try {
    device.data<float>();
    FAIL() << "nothing was thrown";
  } catch (const synfire::error& error) {
    EXPECT_EQ(error.rule(), "SYN-BUFFER-KIND");
    EXPECT_EQ(error.status(), SYNFIRE_ERROR_INVALID_ARGUMENT);
  }
  for (const std::int32_t memory : {SYNFIRE_MEMORY_PINNED, SYNFIRE_MEMORY_HOST}) {
    synfire::Buffer visible(context, synfire::buffer_desc<float>(2, memory));
    EXPECT_TRUE(visible.host_visible());
    EXPECT_EQ(visible.data<float>().size(), 2u);
  }
  script.backend = SYNFIRE_BACKEND_HOST;
  EXPECT_TRUE(synfire::Buffer(context, synfire::buffer_desc<float>(2)).host_visible());
  EXPECT_FALSE(synfire::Buffer(context, synfire::buffer_desc<float>(2, SYNFIRE_MEMORY_TRANSIENT)).host_visible());
}

}  // namespace
