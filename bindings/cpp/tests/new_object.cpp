// Uses the class and the member functions that follow from delay_line.h, with functions of the C ABI of its own: it
// runs without the library, and returns how many checks failed.
#include <synfire/synfire.hpp>

#include <cmath>
#include <cstdio>
#include <cstring>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

using synfire::DelayLine;

static_assert(!std::is_copy_constructible_v<DelayLine> && std::is_nothrow_move_constructible_v<DelayLine>);
static_assert(std::is_convertible_v<const DelayLine&, synfire_delay_line>);
static_assert(!std::is_convertible_v<DelayLine, synfire_delay_line>, "the handle would outlive the line");
static_assert(!std::is_convertible_v<synfire_delay_line, DelayLine>);
static_assert(synfire::delay_line_desc(3, SYNFIRE_WINDOW_EXPONENTIAL).n_taps == 3);
static_assert(std::is_same_v<decltype(&DelayLine::set_gain), void (DelayLine::*)(double)>);
static_assert(std::is_same_v<decltype(&DelayLine::query), synfire_delay_line_state (DelayLine::*)() const>);
static_assert(
    std::is_same_v<decltype(&DelayLine::join), void (DelayLine::*)(const DelayLine&, const char*, synfire_buffer)>);
static_assert(
    std::is_same_v<decltype(&DelayLine::delay), void (DelayLine::*)(const synfire_delay_desc&, synfire_stream)>,
    "without the name of the object");
static_assert(std::is_same_v<decltype(&DelayLine::delay_line_release), decltype(&DelayLine::delay)>,
              "release() is still Owner's");
static_assert(std::is_same_v<decltype(&DelayLine::describe), std::string (DelayLine::*)(const char*) const>);
static_assert(noexcept(std::declval<DelayLine&>().reset()), "reset() is still Owner's");
static_assert(std::is_same_v<decltype(&DelayLine::reset_delay_line), void (DelayLine::*)(synfire_stream)>);
static_assert(std::is_same_v<decltype(&synfire::Layer::mean), double (synfire::Layer::*)() const>);
static_assert(std::is_same_v<decltype(&synfire::Layer::state_size), std::size_t (synfire::Layer::*)() const noexcept>,
              "still written by hand");
static_assert(std::is_same_v<decltype(&synfire::Layer::get_state_size), std::int64_t (synfire::Layer::*)() const>);
static_assert(std::is_same_v<decltype(&synfire::Context::memory),
                             std::tuple<std::uint64_t, std::uint64_t> (synfire::Context::*)() const>);
static_assert(std::is_same_v<decltype(&synfire::Buffer::scale), void (synfire::Buffer::*)(double)>);
static_assert(std::is_same_v<decltype(&synfire::Graph::record_delay),
                             void (synfire::Graph::*)(const DelayLine&, const synfire_delay_desc&)>);

namespace {

int failures = 0;
void expect(bool good, const char* what) {
  if (good) return;
  std::printf("failed: %s\n", what);
  ++failures;
}

// The arguments that the functions below saw last, and their results.
std::string log;
double gain = 1;
std::vector<double> taps;
synfire_native_desc node = {};

template <class Handle>
Handle handle(std::uintptr_t number) {
  return reinterpret_cast<Handle>(number);
}

synfire_status done(const std::string& text) {
  log += text + ";";
  return SYNFIRE_OK;
}

}  // namespace

extern "C" {

synfire_status synfire_delay_line_create(synfire_context context, const synfire_delay_line_desc* desc,
                                         synfire_delay_line* line) noexcept {
  if (desc->n_taps < 1) return SYNFIRE_ERROR_INVALID_ARGUMENT;
  *line = handle<synfire_delay_line>(30);
  return done(context == handle<synfire_context>(10) && desc->struct_size == sizeof *desc ? "create" : "?");
}
void synfire_delay_line_destroy(synfire_delay_line line) noexcept {
  if (line != nullptr) done("destroy");
}
synfire_status synfire_delay_line_set_gain(synfire_delay_line line, double value) noexcept {
  if (line == nullptr) return SYNFIRE_ERROR_INVALID_HANDLE;
  gain = value;
  return done("set_gain");
}
synfire_status synfire_delay_line_reset(synfire_delay_line, synfire_stream) noexcept {
  return done("reset");
}
synfire_status synfire_delay_line_set_taps(synfire_delay_line, const double* values, std::uint32_t count,
                                           const char* const* names, std::uint64_t n_names, std::int32_t window,
                                           std::int32_t add) noexcept {
  taps.assign(values, values + count);
  std::string text = "set_taps";
  for (std::uint64_t name = 0; name < n_names; ++name) text += std::string(" ") + names[name];
  return done(text + (names == nullptr ? " null " : " ") + std::to_string(window) + " " + std::to_string(add));
}
synfire_status synfire_delay_line_get_taps(synfire_delay_line, double* values, std::uint64_t count) noexcept {
  for (std::uint64_t tap = 0; tap < count; ++tap) values[tap] = taps.at(tap);
  return SYNFIRE_OK;
}
synfire_status synfire_delay_line_query(synfire_delay_line, synfire_delay_line_state* state) noexcept {
  if (state->struct_size != sizeof *state) return SYNFIRE_ERROR_STRUCT_SIZE;
  state->position = 2;
  state->gain = gain;
  return SYNFIRE_OK;
}
synfire_status synfire_delay_line_get_strongest(synfire_delay_line, std::int64_t n_neurons, double* weights,
                                                std::uint32_t count, std::int64_t* tap, std::int32_t* alone) noexcept {
  for (std::uint32_t entry = 0; entry < count; ++entry) weights[entry] = static_cast<double>(n_neurons);
  *tap = 7;
  *alone = 1;
  return SYNFIRE_OK;
}
// A text as the C ABI gives it: its size first, with the terminating null, then as much as fits, which must be all.
synfire_status give(const std::string& given, char* text, std::uint64_t capacity, std::uint64_t* length) {
  *length = given.size() + 1;
  if (text == nullptr) return capacity == 0 ? SYNFIRE_OK : SYNFIRE_ERROR_INVALID_ARGUMENT;
  if (capacity < *length) return SYNFIRE_ERROR_INVALID_ARGUMENT;
  std::memcpy(text, given.c_str(), given.size() + 1);
  return SYNFIRE_OK;
}
synfire_status synfire_delay_line_describe(synfire_delay_line line, const char* name, char* text,
                                           std::uint64_t capacity, std::uint64_t* length) noexcept {
  if (line == nullptr) return SYNFIRE_ERROR_INVALID_HANDLE;
  return give(*name == '\0' ? "" : std::string("tap ") + name, text, capacity, length);
}
synfire_status synfire_graph_write_names(synfire_graph, char* text, std::uint64_t capacity, std::uint64_t* length,
                                         std::int32_t* n_named) noexcept {
  *n_named = 2;
  return give("fill, delay", text, capacity, length);
}
synfire_status synfire_delay_line_join(synfire_delay_line, synfire_delay_line other, synfire_buffer weights,
                                       const char* name) noexcept {
  return done(std::string("join ") + (other != nullptr ? "line " : "") + (weights != nullptr ? "weights " : "") + name);
}
synfire_status synfire_delay_line_delay(synfire_delay_line line, const synfire_delay_desc* desc,
                                        synfire_stream) noexcept {
  return done(desc->struct_size != sizeof *desc ? "?"
              : desc->sum != nullptr            ? "sum"
              : desc->first == line             ? "delay"
                                                : "?");
}
synfire_status synfire_graph_record_delay(synfire_graph graph, synfire_delay_line line,
                                          const synfire_delay_desc* desc) noexcept {
  return done(graph != nullptr && line == handle<synfire_delay_line>(30) && desc->struct_size == sizeof *desc ? "record"
                                                                                                              : "?");
}
synfire_status synfire_delay_line_release(synfire_delay_line, const synfire_delay_desc*, synfire_stream) noexcept {
  return done("release");
}
synfire_status synfire_layer_get_mean(synfire_layer, double* mean) noexcept {
  *mean = 0.25;
  return SYNFIRE_OK;
}
synfire_status synfire_layer_follow(synfire_layer, synfire_delay_line line) noexcept {
  return done(line == handle<synfire_delay_line>(30) ? "follow" : "?");
}
synfire_status synfire_graph_record_native(synfire_graph, const synfire_native_desc* desc) noexcept {
  node = *desc;
  return SYNFIRE_OK;
}
synfire_status synfire_graph_rehearse(synfire_graph, std::int64_t n_steps, std::uint64_t* replays) noexcept {
  *replays = static_cast<std::uint64_t>(n_steps);
  return node.callback(node.user, nullptr);
}
synfire_status synfire_context_get_memory(synfire_context, std::uint64_t* free, std::uint64_t* total) noexcept {
  *free = 1;
  *total = 2;
  return SYNFIRE_OK;
}

std::uint64_t synfire_last_error(char* text, std::uint64_t capacity, std::int32_t* cuda_error) noexcept {
  static const char told[] = "[SYN-TEST] refused";
  if (text != nullptr) std::memcpy(text, told, capacity < sizeof told ? capacity : sizeof told);
  if (cuda_error != nullptr) *cuda_error = 0;
  return sizeof told;
}
synfire_status synfire_context_get_properties(synfire_context, synfire_context_properties*) noexcept {
  return SYNFIRE_ERROR_INTERNAL;
}
void synfire_context_destroy(synfire_context) noexcept {}
void synfire_buffer_destroy(synfire_buffer) noexcept {}
void synfire_layer_destroy(synfire_layer) noexcept {}
void synfire_graph_destroy(synfire_graph) noexcept {}

}  // extern "C"

namespace {

std::string taken() {
  return std::exchange(log, std::string());
}

template <class Call>
synfire_status status_of(Call call) {
  try {
    call();
  } catch (const synfire::error& refused) {
    return refused.rule() == "SYN-TEST" ? refused.status() : SYNFIRE_OK;
  }
  return SYNFIRE_OK;
}

void test_life(const synfire::Context& context) {
  {
    DelayLine line(context, synfire::delay_line_desc(4, SYNFIRE_WINDOW_FLAT));
    DelayLine other = std::move(line);
    expect(!line && other && taken() == "create;", "a line that moves");
    expect(status_of([&] { line.set_gain(2); }) == SYNFIRE_ERROR_INVALID_HANDLE, "a line that was moved from");
    other.reset();
    expect(taken() == "destroy;" && !other, "a line that is reset");
    const DelayLine adopted(handle<synfire_delay_line>(30));
  }
  expect(taken() == "destroy;", "a line that goes out of scope");
  synfire_delay_line_desc bad = {};
  expect(status_of([&] { DelayLine(context, bad); }) == SYNFIRE_ERROR_INVALID_ARGUMENT && taken().empty(),
         "a refused line throws and destroys nothing");
}

void test_methods(const synfire::Context& context) {
  DelayLine line(context, synfire::delay_line_desc(4, SYNFIRE_WINDOW_FLAT));
  line.set_gain(3);
  line.reset_delay_line();
  line.set_taps({1, 2, 3}, SYNFIRE_WINDOW_EXPONENTIAL, true);
  expect(taken() == "create;set_gain;reset;set_taps null 1 1;", "numbers, flags and lists go in");
  line.set_taps({1, 2, 3}, SYNFIRE_WINDOW_FLAT, false, {"a", "b"});
  expect(taken() == "set_taps a b 0 0;", "a list that may be left out");
  expect(line.taps(2) == std::vector<double>{1, 2}, "a list comes out");
  const synfire_delay_line_state state = line.query();
  expect(state.position == 2 && std::abs(state.gain - 3) < 1e-9, "a structure comes out");
  const auto [weights, tap, alone] = line.strongest(synfire::neurons{5}, 2);
  expect(weights == std::vector<double>{5, 5} && tap == 7 && alone, "several results come out");
  static_assert(std::is_same_v<decltype(line.strongest(synfire::neurons{5}, 2)),
                               std::tuple<std::vector<double>, std::int64_t, bool>>);
  expect(line.describe("first") == "tap first" && line.describe("").empty(), "a text comes out");
  expect(status_of([] { static_cast<void>(DelayLine().describe("first")); }) == SYNFIRE_ERROR_INVALID_HANDLE,
         "a text of no line");
  const auto [names, n_named] = synfire::Graph(handle<synfire_graph>(40)).write_names();
  expect(names == "fill, delay" && n_named == 2, "a text and a number come out");
  const DelayLine other(context, synfire::delay_line_desc(1, SYNFIRE_WINDOW_FLAT));
  line.join(other, "a");
  const synfire::Buffer buffer(context, handle<synfire_buffer>(20),
                               synfire::buffer_desc<float>(1, SYNFIRE_MEMORY_HOST));
  line.join(other, "b", buffer);
  expect(taken() == "create;join line a;join line weights b;", "objects and texts go in");
  const auto [free, total] = context.memory();
  expect(free == 1 && total == 2, "a member of Context");
}

void test_operations(const synfire::Context& context) {
  DelayLine line(context, synfire::delay_line_desc(4, SYNFIRE_WINDOW_FLAT));
  synfire::Graph graph(handle<synfire_graph>(40));
  synfire::Layer layer(handle<synfire_layer>(50), {});
  taken();
  line.delay(synfire::delay_desc(nullptr, nullptr, line));
  line.delay(synfire::delay_desc_with_sum(nullptr, handle<synfire_buffer>(20)));
  line.delay_line_release(synfire::delay_desc(nullptr, nullptr));
  graph.record_delay(line, synfire::delay_desc(nullptr, nullptr));
  layer.follow(line);
  expect(taken() == "delay;sum;release;record;follow;", "an operation of a line");
  expect(std::abs(layer.mean() - 0.25) < 1e-9, "a result of a layer");

  synfire_native_desc throws = {};
  throws.callback = [](void*, const synfire_native_call*) -> synfire_status { throw std::out_of_range("thrown"); };
  graph.record_native(throws);
  bool caught = false;
  try {
    graph.rehearse(synfire::steps{2});
  } catch (const std::out_of_range&) {
    caught = true;
  }
  expect(caught, "what a native node throws comes out of a member of Graph");
  throws.callback = [](void*, const synfire_native_call*) -> synfire_status { return SYNFIRE_OK; };
  graph.record_native(throws);
  expect(graph.rehearse(synfire::steps{2}) == 2, "a result of a graph");
}

}  // namespace

int main() {
  const synfire::Context context(handle<synfire_context>(10));
  test_life(context);
  test_methods(context);
  test_operations(context);
  return failures;
}
