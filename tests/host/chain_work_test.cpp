// The work to build, save and load a network grows with its length, and not with its square: this counts the
// allocations, the bytes that they have, the bytes that are copied, and the comparisons of texts, which depend on no
// clock. Searches through lists of numbers are not counted; NetworkChains (tests/capi) measures their time.
#include <synfire/synfire.h>

#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace {

struct Work {
  const char* what;
  unsigned long long count;
};
enum Kind { allocations, bytes_allocated, bytes_copied, comparisons, n_kinds };
Work work[n_kinds] = {{"allocations", 0}, {"bytes allocated", 0}, {"bytes copied", 0}, {"comparisons of texts", 0}};

void allocate(size_t size) {
  ++work[allocations].count;
  work[bytes_allocated].count += size;
}

}  // namespace

// Exported, so that the library's calls reach them.
#pragma GCC visibility push(default)
extern "C" {

// The C library's own allocator by its private names. NOLINTBEGIN(clang-diagnostic-reserved-identifier)
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
// NOLINTEND(clang-diagnostic-reserved-identifier)

void* malloc(size_t size) {
  allocate(size);
  return __libc_malloc(size);
}
void* calloc(size_t count, size_t size) {
  allocate(count * size);
  return __libc_calloc(count, size);
}
void* realloc(void* memory, size_t size) {
  allocate(size);
  return __libc_realloc(memory, size);
}
void* aligned_alloc(size_t alignment, size_t size) {
  allocate(size);
  return __libc_memalign(alignment, size);
}

// Compiled without the optimisation that makes calls of themselves of such loops.
void* memcpy(void* __restrict to, const void* __restrict from, size_t size) {
  work[bytes_copied].count += size;
  for (size_t i = 0; i < size; ++i) static_cast<char*>(to)[i] = static_cast<const char*>(from)[i];
  return to;
}
void* memmove(void* to, const void* from, size_t size) {
  work[bytes_copied].count += size;
  auto* const t = static_cast<char*>(to);
  const auto* const f = static_cast<const char*>(from);
  if (t < f)
    for (size_t i = 0; i < size; ++i) t[i] = f[i];
  else
    for (size_t i = size; i-- > 0;) t[i] = f[i];
  return to;
}
int memcmp(const void* a, const void* b, size_t size) {
  ++work[comparisons].count;
  const auto *const x = static_cast<const unsigned char*>(a), *const y = static_cast<const unsigned char*>(b);
  for (size_t i = 0; i < size; ++i)
    if (x[i] != y[i]) return x[i] < y[i] ? -1 : 1;
  return 0;
}
int bcmp(const void* a, const void* b, size_t size) {
  return memcmp(a, b, size);
}
int strcmp(const char* a, const char* b) {
  ++work[comparisons].count;
  for (; *a != 0 && *a == *b; ++a) ++b;
  return static_cast<unsigned char>(*a) - static_cast<unsigned char>(*b);
}

}  // extern "C"
#pragma GCC visibility pop

namespace {

void require(synfire_status status, const char* what) {
  if (status >= 0) return;
  char text[512];
  synfire_last_error(text, sizeof text, nullptr);
  std::fprintf(stderr, "%s: %s\n", what, text);
  std::exit(2);
}

// An input, n pairs of a synapse and neurons, and what training needs: made, built, given data, saved, loaded into
// itself and made again of the file.
void build_and_load(synfire_context context, int n_pairs) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = 1;
  synfire_network network = nullptr, again = nullptr;
  require(synfire_network_create(context, &desc, &network), "create");
  require(synfire_network_add_input(network, "input", SYNFIRE_NETWORK_INPUT_RATES, 1), "input");
  for (int i = 0; i < n_pairs; ++i) {
    char synapse[32], neurons[32];
    std::snprintf(synapse, sizeof synapse, "s%06d", i);
    std::snprintf(neurons, sizeof neurons, "n%06d", i);
    require(synfire_network_add_synapse(network, synapse, 1), "synapse");
    require(synfire_network_set_value(network, synapse, "gain", 2), "value");
    require(synfire_network_add_neurons(network, neurons, SYNFIRE_MODEL_LIF), "neurons");
    require(synfire_network_train_parameter(network, neurons, "tau", 0, 1, 0, 1, 100), "parameter");
  }
  require(synfire_network_add_readout(network, "readout", SYNFIRE_READOUT_MEAN, 1), "readout");
  require(synfire_network_add_loss(network, "loss", SYNFIRE_LOSS_CROSS_ENTROPY), "loss");
  require(synfire_network_add_optimizer(network, "optimizer", SYNFIRE_OPTIMIZER_KIND_ADAM, 0.01), "optimizer");
  require(synfire_network_build(network), "build");
  synfire_buffer inputs = nullptr, labels = nullptr;
  synfire_buffer_desc rows = SYNFIRE_BUFFER_DESC_INIT;
  rows.dtype = SYNFIRE_DTYPE_F32;
  rows.n_elements = 3;
  require(synfire_buffer_create(context, &rows, &inputs), "inputs");
  rows.dtype = SYNFIRE_DTYPE_U32;
  require(synfire_buffer_create(context, &rows, &labels), "labels");
  require(synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, 3, inputs, labels, nullptr, nullptr, nullptr),
          "data");
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  require(synfire_network_train(network, 1, &result), "train");
  uint64_t bytes = 0;
  synfire_network_save_to_memory(network, nullptr, &bytes);
  std::vector<char> file(bytes);
  require(synfire_network_save_to_memory(network, file.data(), &bytes), "save");
  require(synfire_network_load_from_memory(network, file.data(), bytes), "load");
  require(synfire_network_create_from_memory(context, file.data(), bytes, nullptr, &again), "create from a file");
  synfire_network_destroy(again);
  synfire_network_destroy(network);
  synfire_buffer_destroy(inputs);
  synfire_buffer_destroy(labels);
  require(synfire_context_reclaim(context, nullptr), "reclaim");
}

}  // namespace

int main() {
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  desc.backend = SYNFIRE_BACKEND_HOST;
  desc.n_threads = 1;
  synfire_context context = nullptr;
  require(synfire_context_create(&desc, &context), "context");
  constexpr int shorter = 50, times = 16;
  build_and_load(context, shorter);  // what is made only once
  unsigned long long of_shorter[n_kinds], of_longer[n_kinds];
  const auto count = [&](int n_pairs, unsigned long long* counts) {
    for (Work& each : work) each.count = 0;
    build_and_load(context, n_pairs);
    for (int i = 0; i < n_kinds; ++i) counts[i] = work[i].count;
  };
  count(shorter, of_shorter);
  count(times * shorter, of_longer);
  synfire_context_destroy(context);
  int n_failures = 0;
  for (int i = 0; i < n_kinds; ++i) {
    const double ratio = static_cast<double>(of_longer[i]) / static_cast<double>(of_shorter[i]);
    const bool fits = ratio < 2 * times;  // a search in a tree takes a little more; the square would be 256
    std::printf("%s: %llu for %d pairs, %llu for %d: %.1f times as many%s\n", work[i].what, of_shorter[i], shorter,
                of_longer[i], times * shorter, ratio, fits ? "" : ", which is too many");
    n_failures += fits ? 0 : 1;
  }
  return n_failures;
}
