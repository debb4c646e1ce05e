// The parts of support.hpp that are not templates.
#include "support.hpp"

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

#ifdef __linux__
#include <dlfcn.h>
#endif

namespace synfire_test {

bool is_sanitized() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  return true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  return true;
#endif
#endif
#ifdef __linux__
  static const bool loaded =
      dlsym(RTLD_DEFAULT, "__asan_init") != nullptr || dlsym(RTLD_DEFAULT, "__tsan_init") != nullptr;
  return loaded;
#else
  return false;
#endif
}

namespace {

bool is_identifier_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool contains_word(std::string_view text, std::string_view word) {
  for (size_t at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) {
    const size_t end = at + word.size();
    if ((at == 0 || !is_identifier_character(text[at - 1])) &&
        (end == text.size() || !is_identifier_character(text[end])))
      return true;
  }
  return false;
}

bool contains_any_word(std::string_view text, std::string_view alternatives) {
  while (true) {
    const size_t bar = alternatives.find('|');
    if (contains_word(text, alternatives.substr(0, bar))) return true;
    if (bar == std::string_view::npos) return false;
    alternatives.remove_prefix(bar + 1);
  }
}

// "[RULE-ID] " at the start, made of letters, digits and - _ .
bool begins_with_rule_id(std::string_view text) {
  const size_t end = text.find("] ");
  if (text.empty() || text.front() != '[' || end == std::string_view::npos || end < 2) return false;
  for (const char c : text.substr(1, end - 1))
    if (!is_identifier_character(c) && c != '-' && c != '.') return false;
  return true;
}

bool is_rule_id(std::string_view word) {
  return word.substr(0, 4) == "SYN-";
}

bool begins_with(std::string_view text, std::string_view rule) {
  return text.size() > rule.size() + 1 && text.substr(1, rule.size()) == rule && text[rule.size() + 1] == ']';
}

// A handle value that no other test uses, so that its text is recognised as old.
constexpr uintptr_t poison_handle = 0xBADC0DEBADC0DE;
thread_local std::string poison_text;

void require(synfire_status status) {
  if (status < 0) throw std::runtime_error(std::string(synfire_status_name(status)) + ": " + last_error_text());
}

}  // namespace

std::string last_error_text() {
  std::string text(synfire_last_error(nullptr, 0, nullptr), '\0');
  synfire_last_error(text.data(), text.size(), nullptr);
  if (!text.empty()) text.pop_back();
  return text;
}

std::string hexadecimal(uint64_t bits) {
  char text[19];
  std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(bits));
  return text;
}

void poison_last_error() {
  synfire_graph_poll(reinterpret_cast<synfire_graph>(poison_handle), 77);
  poison_text = last_error_text();
}

testing::AssertionResult is_ok(synfire_status status) {
  if (status == SYNFIRE_OK) return testing::AssertionSuccess();
  auto result = testing::AssertionFailure() << synfire_status_name(status);
  if (status < 0) result << ": " << last_error_text();
  return result;
}

testing::AssertionResult fails_with(synfire_status status, synfire_status expected,
                                    std::initializer_list<std::string_view> words) {
  if (status != expected)
    return testing::AssertionFailure() << "returned " << synfire_status_name(status) << " instead of "
                                       << synfire_status_name(expected) << "; last error: " << last_error_text();
  const std::string text = last_error_text();
  if (text == poison_text) return testing::AssertionFailure() << "left the text of an earlier error: " << text;
  if (!begins_with_rule_id(text)) return testing::AssertionFailure() << "no rule id in brackets at the start: " << text;
  for (const std::string_view word : words)
    if (is_rule_id(word) ? !begins_with(text, word) : !contains_any_word(text, word))
      return testing::AssertionFailure() << "does not name " << word << ": " << text;
  return testing::AssertionSuccess();
}

bool set_environment(const char* name, const char* value) {
#if defined(_WIN32)
  return _putenv_s(name, value ? value : "") == 0;
#else
  return (value ? setenv(name, value, 1) : unsetenv(name)) == 0;
#endif
}

int32_t backend() {
  const char* const name = std::getenv("SYNFIRE_TEST_BACKEND");
  if (name == nullptr || std::string_view(name) == "host") return SYNFIRE_BACKEND_HOST;
  if (std::string_view(name) == "cuda") return SYNFIRE_BACKEND_CUDA;
  throw std::runtime_error("SYNFIRE_TEST_BACKEND is \"" + std::string(name) + "\"; allowed are host and cuda");
}

Context make_context(int32_t n_threads) {
  return make_context_on(backend(), n_threads);
}

uint64_t still_queued(synfire_context context) {
  uint64_t count = ~uint64_t{0};
  EXPECT_OK(synfire_context_reclaim(context, &count));
  return count;
}

Context make_context_on(int32_t backend, int32_t n_threads) {
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  desc.backend = backend;
  desc.n_threads = n_threads;
  synfire_context handle = nullptr;
  require(synfire_context_create(&desc, &handle));
  return Context(handle);
}

Layer make_layer(synfire_context context, const synfire_layer_desc& desc) {
  synfire_layer handle = nullptr;
  require(synfire_layer_create(context, &desc, &handle));
  return Layer(handle);
}

Graph make_graph(synfire_context context) {
  synfire_graph handle = nullptr;
  require(synfire_graph_create(context, nullptr, &handle));
  return Graph(handle);
}

Buffer make_buffer(synfire_context context, int32_t dtype, uint64_t n_elements) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.dtype = dtype;
  desc.n_elements = n_elements;
  synfire_buffer handle = nullptr;
  require(synfire_buffer_create(context, &desc, &handle));
  return Buffer(handle);
}

Buffer make_window(synfire_context context, synfire_buffer owner, int32_t dtype, uint64_t offset, uint64_t n_elements) {
  void* data = nullptr;
  require(synfire_buffer_get_data(owner, &data, nullptr));
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.dtype = dtype;
  desc.n_elements = n_elements;
  desc.data = static_cast<char*>(data) + offset;
  synfire_buffer handle = nullptr;
  require(synfire_buffer_create(context, &desc, &handle));
  return Buffer(handle);
}

void set_parameter(synfire_layer layer, const char* name, const std::vector<double>& values) {
  require(synfire_layer_set_parameter(layer, name, values.data(), values.size()));
}

void replay(synfire_graph graph) {
  uint64_t ticket = 0;
  require(synfire_graph_launch(graph, nullptr, &ticket));
  require(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_YIELD, -1));
}

std::ostream& operator<<(std::ostream& out, const Shape& shape) {
  return out << "T = " << shape.n_steps << ", B = " << shape.batch << ", N = " << shape.n_neurons;
}

synfire_layer_desc describe(const Shape& shape, int32_t dtype) {
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  desc.n_steps = shape.n_steps;
  desc.n_neurons = shape.n_neurons;
  desc.batch = shape.batch;
  desc.dtype = dtype;
  return desc;
}

}  // namespace synfire_test
