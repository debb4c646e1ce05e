// Shared by all files of this suite: the backend under test, owning handles, error checks, bit comparisons, random
// numbers, and a rig that runs a layer's forward and backward with poisoned outputs.
#ifndef SYNFIRE_TESTS_CAPI_SUPPORT_HPP
#define SYNFIRE_TESTS_CAPI_SUPPORT_HPP

#include <gtest/gtest.h>
#include <synfire/synfire.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <limits>
#include <optional>
#include <ostream>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "../sample.hpp"

namespace synfire_test {

/// Returns whether AddressSanitizer or ThreadSanitizer checks this process. The program itself need not be compiled for
/// it: the library of a sanitized build may be tested by the programs of another build.
bool is_sanitized();

// ---- Statuses and texts ---------------------------------------------------------------------------------------------

std::string last_error_text();

/// Sets this thread's last error to a text that no call under test produces.
void poison_last_error();

testing::AssertionResult is_ok(synfire_status status);

/// The call failed with `expected` and left a fresh text that begins with a rule id in brackets. The text contains
/// each of `words` as a whole word. A word may list alternatives: "n_steps|n_neurons". If a word is itself a rule id
/// ("SYN-BUFFER-SIZE"), the text must begin with it.
testing::AssertionResult fails_with(synfire_status status, synfire_status expected,
                                    std::initializer_list<std::string_view> words);

#define EXPECT_OK(...) EXPECT_TRUE(::synfire_test::is_ok(__VA_ARGS__))
#define ASSERT_OK(...) ASSERT_TRUE(::synfire_test::is_ok(__VA_ARGS__))
/// EXPECT_FAILS(SYNFIRE_ERROR_..., {"word", ...}, call)
#define EXPECT_FAILS(expected, words, ...) \
  EXPECT_TRUE((::synfire_test::poison_last_error(), ::synfire_test::fails_with((__VA_ARGS__), expected, words)))
/// Lists the words of EXPECT_FAILS without a comma, at which a macro would split its arguments.
#define WORDS(...) (std::initializer_list<std::string_view>{__VA_ARGS__})

// ---- Handles --------------------------------------------------------------------------------------------------------

inline void destroy(synfire_context handle) {
  synfire_context_destroy(handle);
}
inline void destroy(synfire_buffer handle) {
  synfire_buffer_destroy(handle);
}
inline void destroy(synfire_layer handle) {
  synfire_layer_destroy(handle);
}
inline void destroy(synfire_graph handle) {
  synfire_graph_destroy(handle);
}
inline void destroy(synfire_synapse handle) {
  synfire_synapse_destroy(handle);
}
inline void destroy(synfire_optimizer handle) {
  synfire_optimizer_destroy(handle);
}
inline void destroy(synfire_network handle) {
  synfire_network_destroy(handle);
}
inline void destroy(synfire_communicator handle) {
  synfire_communicator_destroy(handle);
}
inline void destroy(synfire_model handle) {
  synfire_model_destroy(handle);
}
inline void destroy(synfire_surrogate handle) {
  synfire_surrogate_destroy(handle);
}

/// A handle with one owner.
template <typename Handle>
class Owned {
 public:
  Owned() = default;
  explicit Owned(Handle handle) : handle_(handle) {}
  Owned(Owned&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
  Owned& operator=(Owned&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Owned() { destroy(handle_); }

  Handle get() const { return handle_; }
  operator Handle() const { return handle_; }
  void reset() { destroy(std::exchange(handle_, nullptr)); }
  Handle release() { return std::exchange(handle_, nullptr); }

 private:
  Handle handle_ = nullptr;
};
using Context = Owned<synfire_context>;
using Buffer = Owned<synfire_buffer>;
using Layer = Owned<synfire_layer>;
using Graph = Owned<synfire_graph>;
using Synapse = Owned<synfire_synapse>;
using Optimizer = Owned<synfire_optimizer>;
using Network = Owned<synfire_network>;
using Communicator = Owned<synfire_communicator>;
using Model = Owned<synfire_model>;
using Surrogate = Owned<synfire_surrogate>;

/// The value of SYNFIRE_TEST_BACKEND: "host" (also if unset) or "cuda".
int32_t backend();

// Sets an environment variable of this process, or removes it (null).
bool set_environment(const char* name, const char* value);
inline bool on_host() {
  return backend() == SYNFIRE_BACKEND_HOST;
}

/// A context of the backend under test. All make functions throw if the library refuses; the test then fails with its
/// text.
Context make_context(int32_t n_threads = 1);
Context make_context_on(int32_t backend, int32_t n_threads = 1);
/// Reclaims, of a context or of the whole process, and returns how many objects are still in use.
uint64_t still_queued(synfire_context context = nullptr);
Layer make_layer(synfire_context context, const synfire_layer_desc& desc);
Graph make_graph(synfire_context context);
/// Owned device memory.
Buffer make_buffer(synfire_context context, int32_t dtype, uint64_t n_elements);
/// Borrowed memory of `owner`, from byte `offset` on.
Buffer make_window(synfire_context context, synfire_buffer owner, int32_t dtype, uint64_t offset, uint64_t n_elements);

void set_parameter(synfire_layer layer, const char* name, const std::vector<double>& values);
/// Launches and waits for the replay.
void replay(synfire_graph graph);

// ---- Elements -------------------------------------------------------------------------------------------------------

template <typename Element>
inline constexpr int32_t dtype_of = std::is_same_v<Element, double>  ? SYNFIRE_DTYPE_F64
                                    : std::is_same_v<Element, float> ? SYNFIRE_DTYPE_F32
                                                                     : SYNFIRE_DTYPE_BITS;

template <typename Element>
void upload(synfire_buffer buffer, const std::vector<Element>& values, uint64_t offset = 0) {
  EXPECT_OK(synfire_buffer_upload(buffer, offset, values.data(), values.size() * sizeof(Element)));
}

template <typename Element>
Buffer make_buffer_of(synfire_context context, const std::vector<Element>& values) {
  Buffer buffer = make_buffer(context, dtype_of<Element>, values.size());
  upload(buffer, values);
  return buffer;
}

template <typename Element>
std::vector<Element> download(synfire_buffer buffer, size_t n_elements, uint64_t offset = 0) {
  std::vector<Element> values(n_elements);
  EXPECT_OK(synfire_buffer_download(buffer, offset, values.data(), n_elements * sizeof(Element)));
  return values;
}

template <typename Element>
std::vector<Element> read_state(synfire_layer layer, size_t n_elements) {
  std::vector<Element> values(n_elements);
  EXPECT_OK(synfire_layer_read_state(layer, "v", values.data(), n_elements * sizeof(Element)));
  return values;
}

template <typename Element>
auto bits_of(Element value) {
  if constexpr (std::is_same_v<Element, double>) {
    return std::bit_cast<uint64_t>(value);
  } else {
    return std::bit_cast<uint32_t>(value);
  }
}

std::string hexadecimal(uint64_t bits);

template <typename Element>
bool is_nan(Element value) {
  if constexpr (std::is_floating_point_v<Element>) return std::isnan(value);
  return false;
}

/// The same length and, element by element, the same bits. Any NaN equals any NaN.
template <typename Element>
testing::AssertionResult same_bits(const std::vector<Element>& a, const std::vector<Element>& b) {
  if (a.size() != b.size()) return testing::AssertionFailure() << a.size() << " elements against " << b.size();
  for (size_t i = 0; i < a.size(); ++i) {
    if (bits_of(a[i]) == bits_of(b[i]) || (is_nan(a[i]) && is_nan(b[i]))) continue;
    return testing::AssertionFailure() << "element " << i << " of " << a.size() << ": " << a[i] << " ("
                                       << hexadecimal(bits_of(a[i])) << ") against " << b[i] << " ("
                                       << hexadecimal(bits_of(b[i])) << ")";
  }
  return testing::AssertionSuccess();
}

/// Every element holds `value`, bit for bit (any NaN equals any NaN).
template <typename Element>
testing::AssertionResult all_are(const std::vector<Element>& values, Element value) {
  return same_bits(values, std::vector<Element>(values.size(), value));
}

template <typename Element>
std::vector<Element> slice(const std::vector<Element>& values, size_t first, size_t count) {
  const auto begin = values.begin() + static_cast<std::ptrdiff_t>(first);
  return std::vector<Element>(begin, begin + static_cast<std::ptrdiff_t>(count));
}

template <typename Element>
std::vector<Element> joined(std::vector<Element> a, const std::vector<Element>& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}

/// Reproducible numbers: unlike the standard distributions, the same on every machine.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15u + 1) {}

  uint64_t next() {  // SplitMix64 (Steele, Lea and Flood 2014)
    uint64_t z = (state_ += 0x9E3779B97F4A7C15u);
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
    return z ^ (z >> 31);
  }
  /// Uniform in [low, high).
  double uniform(double low, double high) { return low + (high - low) * (static_cast<double>(next() >> 11) * 0x1p-53); }
  /// An integer, uniform in [low, high).
  int64_t whole(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(next() % static_cast<uint64_t>(high - low + 1));
  }
  template <typename Element>
  std::vector<Element> values(size_t count, double low, double high) {
    std::vector<Element> result(count);
    for (Element& value : result) value = static_cast<Element>(uniform(low, high));
    return result;
  }

 private:
  uint64_t state_;
};

// ---- A layer with everything around it ------------------------------------------------------------------------------

struct Shape {
  int64_t n_steps = 1;
  int64_t batch = 1;
  int64_t n_neurons = 1;

  size_t row() const { return static_cast<size_t>(batch * n_neurons); }
  size_t sequence() const { return static_cast<size_t>(n_steps) * row(); }
  size_t words_per_row() const { return static_cast<size_t>((n_neurons + 31) / 32); }
  size_t words() const { return static_cast<size_t>(n_steps * batch) * words_per_row(); }
};
std::ostream& operator<<(std::ostream& out, const Shape& shape);

/// A layer description with a shape and a type; everything else is default.
synfire_layer_desc describe(const Shape& shape, int32_t dtype);

/// Dense spikes [T, B, N] of zeros and ones to words [T, B, ceil(N/32)].
template <typename Scalar>
std::vector<uint32_t> pack_bits(const Shape& shape, const std::vector<Scalar>& dense) {
  std::vector<uint32_t> words(shape.words(), 0);
  const auto n_neurons = static_cast<size_t>(shape.n_neurons);
  for (size_t row = 0; row < dense.size() / n_neurons; ++row)
    for (size_t neuron = 0; neuron < n_neurons; ++neuron)
      if (dense[row * n_neurons + neuron] != Scalar(0))
        words[row * shape.words_per_row() + neuron / 32] |= uint32_t{1} << (neuron % 32);
  return words;
}

template <typename Scalar>
struct Inputs {
  std::vector<Scalar> x, v_init, grad_spike_seq, grad_v_seq, grad_v_final;
};

/// Inputs that make default neurons spike now and then.
template <typename Scalar>
Inputs<Scalar> random_inputs(const Shape& shape, uint64_t seed) {
  Random random(seed);
  Inputs<Scalar> inputs;
  inputs.x = random.values<Scalar>(shape.sequence(), -0.5, 2.0);
  inputs.v_init = random.values<Scalar>(shape.row(), -0.5, 0.9);
  inputs.grad_spike_seq = random.values<Scalar>(shape.sequence(), -1, 1);
  inputs.grad_v_seq = random.values<Scalar>(shape.sequence(), -1, 1);
  inputs.grad_v_final = random.values<Scalar>(shape.row(), -1, 1);
  return inputs;
}

template <typename Scalar>
struct ForwardOutputs {
  std::vector<Scalar> spikes, v_final, v_seq, h_seq;
  std::vector<uint32_t> spike_bits;
};

template <typename Scalar>
struct BackwardOutputs {
  std::vector<Scalar> grad_x_seq, grad_v_init;
};

template <typename Scalar>
testing::AssertionResult same_bits(const ForwardOutputs<Scalar>& a, const ForwardOutputs<Scalar>& b) {
  if (auto result = same_bits(a.spikes, b.spikes); !result) return result << " (spikes)";
  if (auto result = same_bits(a.spike_bits, b.spike_bits); !result) return result << " (spike bits)";
  if (auto result = same_bits(a.v_seq, b.v_seq); !result) return result << " (v_seq)";
  if (auto result = same_bits(a.h_seq, b.h_seq); !result) return result << " (h_seq)";
  if (auto result = same_bits(a.v_final, b.v_final); !result) return result << " (v_final)";
  return testing::AssertionSuccess();
}

template <typename Scalar>
testing::AssertionResult same_bits(const BackwardOutputs<Scalar>& a, const BackwardOutputs<Scalar>& b) {
  if (auto result = same_bits(a.grad_x_seq, b.grad_x_seq); !result) return result << " (grad_x_seq)";
  if (auto result = same_bits(a.grad_v_init, b.grad_v_init); !result) return result << " (grad_v_init)";
  return testing::AssertionSuccess();
}

enum class Spikes { none, dense, bits };

/// The optional buffers that a pass gets.
struct ForwardChoice {
  Spikes spikes = Spikes::dense;
  bool v_init = true, v_final = true, v_seq = true, h_seq = true;
  int32_t tape = SYNFIRE_TAPE_RECOMPUTE;
};
struct BackwardChoice {
  bool grad_spike_seq = true, grad_v_seq = true, grad_v_final = true, grad_x_seq = true, grad_v_init = true;
};

/// One layer and a buffer for each array of its passes. Outputs are poisoned before every run: whatever a pass does
/// not write stays NaN (bits: all ones).
template <typename Scalar>
class Rig {
 public:
  Rig(synfire_context context, const synfire_layer_desc& desc)
      : shape{desc.n_steps, desc.batch == 0 ? 1 : desc.batch, desc.n_neurons}, layer(make_layer(context, desc)) {
    const auto make = [&](size_t count) { return make_buffer(context, dtype_of<Scalar>, count); };
    x = make(shape.sequence());
    v_init = make(shape.row());
    spikes = make(shape.sequence());
    spike_bits = make_buffer(context, SYNFIRE_DTYPE_BITS, shape.words());
    v_final = make(shape.row());
    v_seq = make(shape.sequence());
    h_seq = make(shape.sequence());
    grad_spike_seq = make(shape.sequence());
    grad_v_seq = make(shape.sequence());
    grad_v_final = make(shape.row());
    grad_x_seq = make(shape.sequence());
    grad_v_init = make(shape.row());
  }

  void load(const Inputs<Scalar>& inputs) {
    upload(x, inputs.x);
    upload(v_init, inputs.v_init);
    upload(grad_spike_seq, inputs.grad_spike_seq);
    upload(grad_v_seq, inputs.grad_v_seq);
    upload(grad_v_final, inputs.grad_v_final);
  }

  void poison() {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    for (synfire_buffer output :
         {spikes.get(), v_final.get(), v_seq.get(), h_seq.get(), grad_x_seq.get(), grad_v_init.get()})
      EXPECT_OK(synfire_buffer_fill(output, nan));
    EXPECT_OK(synfire_buffer_fill(spike_bits, 4294967295.0));
  }

  synfire_forward_desc forward_desc(const ForwardChoice& choice = {}) const {
    synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
    desc.tape = choice.tape;
    desc.x = x;
    desc.v_init = choice.v_init ? v_init.get() : nullptr;
    desc.spikes = choice.spikes == Spikes::dense  ? spikes.get()
                  : choice.spikes == Spikes::bits ? spike_bits.get()
                                                  : nullptr;
    desc.v_final = choice.v_final ? v_final.get() : nullptr;
    desc.v_seq = choice.v_seq ? v_seq.get() : nullptr;
    desc.h_seq = choice.h_seq ? h_seq.get() : nullptr;
    return desc;
  }

  synfire_backward_desc backward_desc(const BackwardChoice& choice = {}) const {
    synfire_backward_desc desc = SYNFIRE_BACKWARD_DESC_INIT;
    desc.grad_spike_seq = choice.grad_spike_seq ? grad_spike_seq.get() : nullptr;
    desc.grad_v_seq = choice.grad_v_seq ? grad_v_seq.get() : nullptr;
    desc.grad_v_final = choice.grad_v_final ? grad_v_final.get() : nullptr;
    desc.grad_x_seq = choice.grad_x_seq ? grad_x_seq.get() : nullptr;
    desc.grad_v_init = choice.grad_v_init ? grad_v_init.get() : nullptr;
    return desc;
  }

  synfire_status run_forward(const ForwardChoice& choice = {}) {
    const synfire_forward_desc desc = forward_desc(choice);
    return synfire_layer_forward(layer, &desc, nullptr);
  }

  synfire_status run_backward(const BackwardChoice& choice = {}) {
    const synfire_backward_desc desc = backward_desc(choice);
    return synfire_layer_backward(layer, &desc, nullptr);
  }

  /// Poisons, runs and reads back every output. Those that were not requested stay poisoned.
  ForwardOutputs<Scalar> forward(const ForwardChoice& choice = {}) {
    poison();
    EXPECT_OK(run_forward(choice));
    return forward_outputs();
  }
  BackwardOutputs<Scalar> backward(const BackwardChoice& choice = {}) {
    poison();
    EXPECT_OK(run_backward(choice));
    return backward_outputs();
  }

  ForwardOutputs<Scalar> forward_outputs() const {
    return {download<Scalar>(spikes, shape.sequence()), download<Scalar>(v_final, shape.row()),
            download<Scalar>(v_seq, shape.sequence()), download<Scalar>(h_seq, shape.sequence()),
            download<uint32_t>(spike_bits, shape.words())};
  }
  BackwardOutputs<Scalar> backward_outputs() const {
    return {download<Scalar>(grad_x_seq, shape.sequence()), download<Scalar>(grad_v_init, shape.row())};
  }

  /// True if no output has been written since the last poison().
  testing::AssertionResult untouched() const {
    const Scalar nan = std::numeric_limits<Scalar>::quiet_NaN();
    const ForwardOutputs<Scalar> forward = forward_outputs();
    const BackwardOutputs<Scalar> backward = backward_outputs();
    for (const std::vector<Scalar>* output : {&forward.spikes, &forward.v_final, &forward.v_seq, &forward.h_seq,
                                              &backward.grad_x_seq, &backward.grad_v_init})
      if (auto result = all_are(*output, nan); !result) return result;
    return all_are(forward.spike_bits, 0xFFFFFFFFu);
  }

  Shape shape;
  Layer layer;
  Buffer x, v_init, spikes, spike_bits, v_final, v_seq, h_seq;
  Buffer grad_spike_seq, grad_v_seq, grad_v_final, grad_x_seq, grad_v_init;
};

}  // namespace synfire_test

#endif
