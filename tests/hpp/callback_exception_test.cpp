// Exceptions from native nodes that were recorded through the wrapper. The library is linked as shipped, with its own
// C++ runtime. Each test throws before any call of the library has failed in its process, so that the library's own
// unwinder has never run. ctest runs each test in its own process; otherwise only the first one has this property.
#include "support.hpp"

#include <cstring>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

namespace synfire_test {
namespace {

using synfire::Buffer;
using synfire::Context;
using synfire::Graph;

// An action of a node before it adds 1 to its buffer; null means none.
using Deed = std::function<void()>;

synfire_status SYNFIRE_CALL call_deed(void* user, const synfire_native_call* call) {
  const auto& deed = *static_cast<const Deed*>(user);
  if (deed) deed();
  static_cast<float*>(call->writes[0].data)[0] += 1;
  return SYNFIRE_OK;
}

// A graph of one native node on the host.
struct Step {
  explicit Step(Deed what = {}) : deed(std::make_unique<Deed>(std::move(what))) {
    const synfire_buffer written = out;
    synfire_native_desc native = SYNFIRE_NATIVE_DESC_INIT;
    native.callback = call_deed;
    native.user = deed.get();
    native.name = "deed";
    native.writes = &written;
    native.n_writes = 1;
    graph.record_native(native);
    graph.instantiate();
  }
  float sum() const { return out.download<float>()[0]; }
  // Replays without throwing; the buffer advances by one.
  void expect_usable() {
    Deed kept;
    deed->swap(kept);
    const float before = sum();
    EXPECT_NO_THROW(graph.wait(graph.launch()));
    EXPECT_EQ(sum(), before + 1);
    deed->swap(kept);
  }

  std::unique_ptr<Deed> deed;
  Context context{synfire::context_desc(SYNFIRE_BACKEND_HOST, 1)};
  Buffer out{context, synfire::buffer_desc<float>(1)};
  Graph graph{context};
};

// This thread has no exception in flight.
void expect_nothing_in_flight() {
  EXPECT_EQ(std::uncaught_exceptions(), 0);
  EXPECT_EQ(std::current_exception(), nullptr);
}

struct Own : std::exception {
  explicit Own(int value) : number(value) {}
  const char* what() const noexcept override { return "own"; }
  int number;
};

TEST(CallbackExceptions, ComeOutOfTheLaunchAgainAndAgain) {
  Step step([] { throw std::runtime_error("no such thing"); });
  for (int round = 0; round < 5; ++round) {
    SCOPED_TRACE(round);
    try {
      step.graph.launch();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const std::runtime_error& error) {
      EXPECT_STREQ(error.what(), "no such thing");
      EXPECT_EQ(dynamic_cast<const synfire::error*>(&error), nullptr);
    }
    expect_nothing_in_flight();
    step.expect_usable();
  }
}

TEST(CallbackExceptions, OfAnyTypeComeOutAsTheyAre) {
  Step step;
  const auto launch_throwing = [&](auto value) {
    *step.deed = [value] { throw value; };
    try {
      step.graph.launch();
      ADD_FAILURE() << "nothing was thrown";
    } catch (const decltype(value)& caught) {
      return caught;
    }
    return value;
  };
  EXPECT_EQ(launch_throwing(Own(7)).number, 7);
  EXPECT_EQ(launch_throwing(42), 42);
  // By value: with clang, a rethrown pointer is not caught by reference.
  *step.deed = [] { throw static_cast<const char*>("text"); };  // NOLINT(misc-throw-by-value-catch-by-reference)
  try {
    step.graph.launch();
    ADD_FAILURE() << "nothing was thrown";
  } catch (const char* caught) {
    EXPECT_STREQ(caught, "text");
  }
  launch_throwing(std::bad_alloc());
  launch_throwing(nullptr);
  const std::string lengthy(1 << 20, 'x'), broken("\xFF\xFE\x1B[31m \xC3");
  EXPECT_EQ(launch_throwing(std::runtime_error(lengthy)).what(), lengthy);
  EXPECT_EQ(launch_throwing(std::runtime_error(broken)).what(), broken);
  // An error of the library's own, with its text.
  *step.deed = [] { synfire::Layer(Context(synfire::context_desc(SYNFIRE_BACKEND_HOST, 1)), synfire_layer_desc{}); };
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-LAYER-STEPS", "n_steps", [&] { step.graph.launch(); }));
  expect_nothing_in_flight();
  step.expect_usable();
}

TEST(CallbackExceptions, AreAnsweredCallbackByTheCAbi) {
  Step step([] { throw Own(1); });
  uint64_t ticket = 77;
  EXPECT_EQ(synfire_graph_launch(step.graph, nullptr, &ticket), SYNFIRE_ERROR_CALLBACK);
  EXPECT_EQ(ticket, 77u);
  char text[256];
  synfire_last_error(text, sizeof text, nullptr);
  EXPECT_NE(std::strstr(text, "SYN-GRAPH-NATIVE"), nullptr) << text;
  EXPECT_NE(std::strstr(text, "deed"), nullptr) << text;
  expect_nothing_in_flight();
  step.expect_usable();
}

// An exception that a callback threw inside a call of the C ABI was not reported, and does not appear in a later call.
TEST(CallbackExceptions, OfAnotherCallDoNotComeOut) {
  Step first([] { throw Own(1); });
  EXPECT_EQ(synfire_graph_launch(first.graph, nullptr, nullptr), SYNFIRE_ERROR_CALLBACK);
  Graph graph(first.context);
  synfire_native_desc native = SYNFIRE_NATIVE_DESC_INIT;
  native.callback = [](void*, const synfire_native_call*) -> synfire_status { return -5; };
  graph.record_native(native);
  graph.instantiate();
  EXPECT_TRUE(throws(SYNFIRE_ERROR_CALLBACK, "SYN-GRAPH-NATIVE", "-5", [&] { graph.launch(); }));
  // Nor if the node was not recorded through the wrapper.
  EXPECT_EQ(synfire_graph_launch(first.graph, nullptr, nullptr), SYNFIRE_ERROR_CALLBACK);
  Graph raw(first.context);
  ASSERT_EQ(synfire_graph_record_native(raw, &native), SYNFIRE_OK);
  raw.instantiate();
  EXPECT_TRUE(throws(SYNFIRE_ERROR_CALLBACK, "SYN-GRAPH-NATIVE", "-5", [&] { raw.launch(); }));
  expect_nothing_in_flight();
  first.expect_usable();
}

// Launches while the program has an exception in flight.
TEST(CallbackExceptions, AreCaughtInADestructorThatUnwindingRuns) {
  Step step([] { throw Own(2); });
  int caught = 0;
  struct Launcher {
    Step& step;
    int& caught;
    ~Launcher() {
      EXPECT_EQ(std::uncaught_exceptions(), 1);
      try {
        step.graph.launch();
      } catch (const Own& own) {
        caught = own.number;
      }
      EXPECT_EQ(std::uncaught_exceptions(), 1);
      step.expect_usable();
    }
  };
  try {
    const Launcher launcher{step, caught};
    throw std::logic_error("in flight");
  } catch (const std::logic_error& error) {
    EXPECT_STREQ(error.what(), "in flight");
    EXPECT_THROW(step.graph.launch(), Own);
  }
  EXPECT_EQ(caught, 2);
  expect_nothing_in_flight();
}

TEST(CallbackExceptions, PassThroughLaunchesWithinCallbacks) {
  Step inner([] { throw Own(3); });
  Step outer([&] { inner.graph.launch(); });
  EXPECT_THROW(outer.graph.launch(), Own);
  int caught = 0;
  *outer.deed = [&] {
    try {
      inner.graph.launch();
    } catch (const Own& own) {
      caught = own.number;
    }
  };
  EXPECT_NO_THROW(outer.graph.launch());
  EXPECT_EQ(caught, 3);
  *outer.deed = [&] {
    EXPECT_THROW(inner.graph.launch(), Own);
    throw std::logic_error("the outer one's");
  };
  EXPECT_THROW(outer.graph.launch(), std::logic_error);
  expect_nothing_in_flight();
  inner.expect_usable();
  outer.expect_usable();
}

TEST(CallbackExceptions, OnAThreadOfItsOwn) {
  Step step([] { throw Own(4); });
  for (int round = 0; round < 3; ++round)
    std::thread([&] {
      EXPECT_THROW(step.graph.launch(), Own);
      expect_nothing_in_flight();
    }).join();
  step.expect_usable();
}

// The wrapper's data for a node moves with the handle.
TEST(CallbackExceptions, OfAGraphThatMoved) {
  Step step([] { throw Own(5); });
  Graph moved = std::move(step.graph);
  EXPECT_THROW(moved.launch(), Own);
  Step other;
  other.graph = std::move(moved);
  EXPECT_THROW(other.graph.launch(), Own);
  step.graph = std::move(other.graph);
  step.expect_usable();
  EXPECT_THROW(other.graph.launch(), synfire::error) << "moved from";
  step.graph.reset();
  EXPECT_FALSE(step.graph);
}

#if !defined(__SANITIZE_ADDRESS__)
TEST(CallbackExceptions, OfAGraphThatWasGivenAway) {
  Step step([] { throw Own(6); });
  const synfire_graph given = step.graph.release();
  EXPECT_FALSE(step.graph);
  EXPECT_EQ(synfire_graph_launch(given, nullptr, nullptr), SYNFIRE_ERROR_CALLBACK);
  *step.deed = {};
  EXPECT_EQ(synfire_graph_launch(given, nullptr, nullptr), SYNFIRE_OK);
  synfire_graph_destroy(given);
}
#endif

TEST(CallbackExceptions, ANodeThatIsRefusedLeavesNothing) {
  Step step;
  Graph graph(step.context);
  const synfire_native_desc none = SYNFIRE_NATIVE_DESC_INIT;
  EXPECT_TRUE(
      throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-ARGUMENT-NULL", "callback", [&] { graph.record_native(none); }));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_WRONG_ORDER, "SYN-GRAPH-INSTANTIATED", "instantiated", [&] {
    synfire_native_desc native = SYNFIRE_NATIVE_DESC_INIT;
    native.callback = call_deed;
    step.graph.record_native(native);
  }));
  step.expect_usable();
}

}  // namespace
}  // namespace synfire_test
