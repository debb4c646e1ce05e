// run_case.cpp - runs one golden case ten times (eager and graph; spikes dense, as bytes and packed both ways; tapes
// that recompute and that store H) and compares. With 16-bit storage it also compares with the same layer in f32.
//
// SPDX-License-Identifier: MIT
#include "run_case.hpp"

#include <synfire/synfire.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <stdexcept>
#include <type_traits>

#include "../names/names.hpp"
#include "bounds.hpp"

namespace synfire_golden {
namespace {

// A failed call of the library, with the library's own text.
struct CallFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// The names are known to the library, but their combination is not supported.
struct NotBuilt : std::runtime_error {
  using std::runtime_error::runtime_error;
};

std::string last_error_text() {
  std::string text(static_cast<std::size_t>(synfire_last_error(nullptr, 0, nullptr)), '\0');
  synfire_last_error(text.data(), text.size(), nullptr);
  text.resize(text.empty() ? 0 : text.size() - 1);
  return text;
}

void check(synfire_status status, const char* call) {
  if (status == SYNFIRE_OK) {
    return;
  }
  throw CallFailed(std::string(call) + " returned " + synfire_status_name(status) + ": " + last_error_text());
}

struct Destroy {
  void operator()(synfire_layer layer) const { synfire_layer_destroy(layer); }
  void operator()(synfire_buffer buffer) const { synfire_buffer_destroy(buffer); }
  void operator()(synfire_graph graph) const { synfire_graph_destroy(graph); }
};
template <typename Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy>;

// ---- 16-bit storage -------------------------------------------------------------------------------------------------

bool is_narrow(std::int32_t dtype) {
  return dtype == SYNFIRE_DTYPE_F16 || dtype == SYNFIRE_DTYPE_BF16;
}

// Each number as `dtype` stores it.
template <typename Element>
std::vector<float> through(const std::vector<float>& values) {
  std::vector<float> stored(values.size());
  std::transform(values.begin(), values.end(), stored.begin(), [](float v) { return static_cast<float>(Element(v)); });
  return stored;
}
std::vector<float> as_stored(const std::vector<float>& values, std::int32_t dtype) {
  return dtype == SYNFIRE_DTYPE_F16    ? through<synfire::f16>(values)
         : dtype == SYNFIRE_DTYPE_BF16 ? through<synfire::bf16>(values)
                                       : values;
}
std::vector<double> as_stored(const std::vector<double>& values, std::int32_t) {
  return values;
}

template <typename Element>
std::vector<std::uint16_t> encoded_as(const std::vector<float>& values) {
  std::vector<std::uint16_t> stored(values.size());
  std::transform(values.begin(), values.end(), stored.begin(), [](float v) { return Element(v).bits; });
  return stored;
}
std::vector<std::uint16_t> encoded(const std::vector<float>& values, std::int32_t dtype) {
  return dtype == SYNFIRE_DTYPE_F16 ? encoded_as<synfire::f16>(values) : encoded_as<synfire::bf16>(values);
}

float decoded(std::uint16_t bits, std::int32_t dtype) {
  if (dtype == SYNFIRE_DTYPE_F16) {
    synfire::f16 stored;
    stored.bits = bits;
    return static_cast<float>(stored);
  }
  synfire::bf16 stored;
  stored.bits = bits;
  return static_cast<float>(stored);
}

// ---- runs -----------------------------------------------------------------------------------------------------------

// The results of one run on the host. 16-bit elements are converted to f32.
template <typename Scalar>
struct Outputs {
  std::vector<Scalar> h_seq, v_seq, v_final, grad_x_seq, grad_v_init;
  std::vector<Scalar> w_seq, w_final, grad_w_init;  // models with a second variable
  std::vector<Scalar> grad_reciprocal_tau;          // plif: one number
  std::vector<std::uint32_t> spike_words;           // [T, ceil(N/32)]
};

enum class Mode { eager, graph };
enum class Spikes { dense, bits, bytes, time_bits };

template <typename Scalar>
class CaseRunner {
 public:
  // Sequences are first rounded to `inputs_as`, so that runs in two types can receive the same values.
  CaseRunner(synfire_context context, const Case& golden, const synfire_layer_desc& desc, std::int32_t inputs_as)
      : context_(context),
        golden_(golden),
        desc_(desc),
        inputs_as_(inputs_as),
        row_(static_cast<std::size_t>(golden.n_neurons)),
        sequence_(static_cast<std::size_t>(golden.n_steps) * row_),
        words_(static_cast<std::size_t>(golden.n_steps) * ((row_ + 31) / 32)) {}

  Outputs<Scalar> run(Mode mode, Spikes spikes, std::int32_t tape = SYNFIRE_TAPE_RECOMPUTE) const {
    const Owned<synfire_layer> layer = make_layer();
    const Owned<synfire_buffer> x = input_sequence("x_seq"), v_init = input_row("v_init");
    const Owned<synfire_buffer> grad_spike_seq = input_sequence("grad_spike_seq"),
                                grad_v_seq = input_sequence("grad_v_seq");
    const Owned<synfire_buffer> h_seq = output_sequence(), v_seq = output_sequence(), v_final = output(row_);
    const Owned<synfire_buffer> grad_x_seq = output_sequence(), grad_v_init = output(row_);
    Owned<synfire_buffer> w_init, w_seq, w_final, grad_w_seq, grad_w_init;
    if (has_w()) {
      w_init = input_row("w_init");
      grad_w_seq = input_sequence("grad_w_seq");
      w_seq = output_sequence();
      w_final = output(row_);
      grad_w_init = output(row_);
    }
    Owned<synfire_buffer> grad_reciprocal_tau;
    if (has_grad_reciprocal_tau()) {
      grad_reciprocal_tau = output(1);
    }
    const synfire_parameter_gradient parameter_gradient = {"reciprocal_tau", grad_reciprocal_tau.get()};
    const Owned<synfire_buffer> spike_buffer = spikes_output(spikes);

    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.tape = tape;
    forward.x = x.get();
    forward.v_init = v_init.get();
    forward.spikes = spike_buffer.get();
    forward.v_final = v_final.get();
    forward.v_seq = v_seq.get();
    forward.h_seq = h_seq.get();
    forward.w_init = w_init.get();
    forward.w_seq = w_seq.get();
    forward.w_final = w_final.get();
    synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
    backward.grad_spike_seq = grad_spike_seq.get();
    backward.grad_v_seq = grad_v_seq.get();
    backward.grad_x_seq = grad_x_seq.get();
    backward.grad_v_init = grad_v_init.get();
    backward.grad_w_seq = grad_w_seq.get();
    backward.grad_w_init = grad_w_init.get();
    if (has_grad_reciprocal_tau()) {
      backward.parameter_gradients = &parameter_gradient;
      backward.n_parameter_gradients = 1;
    }

    if (mode == Mode::eager) {
      check(synfire_layer_forward(layer.get(), &forward, nullptr), "synfire_layer_forward");
      check(synfire_layer_backward(layer.get(), &backward, nullptr), "synfire_layer_backward");
    } else {
      replay(layer.get(), forward, backward);
    }

    Outputs<Scalar> result;
    result.h_seq = download_sequence(h_seq.get());
    result.v_seq = download_sequence(v_seq.get());
    result.v_final = download<Scalar>(v_final.get(), row_);
    result.grad_x_seq = download_sequence(grad_x_seq.get());
    result.grad_v_init = download<Scalar>(grad_v_init.get(), row_);
    if (has_w()) {
      result.w_seq = download_sequence(w_seq.get());
      result.w_final = download<Scalar>(w_final.get(), row_);
      result.grad_w_init = download<Scalar>(grad_w_init.get(), row_);
    }
    if (has_grad_reciprocal_tau()) {
      result.grad_reciprocal_tau = download<Scalar>(grad_reciprocal_tau.get(), 1);
    }
    switch (spikes) {
      case Spikes::dense:
        result.spike_words = pack(download_sequence(spike_buffer.get()));
        break;
      case Spikes::bits:
        result.spike_words = download<std::uint32_t>(spike_buffer.get(), words_);
        break;
      case Spikes::bytes:
        result.spike_words = pack(download<std::uint8_t>(spike_buffer.get(), sequence_));
        break;
      case Spikes::time_bits:
        result.spike_words = pack(unpacked(download<std::uint32_t>(spike_buffer.get(), time_words())));
        break;
    }
    return result;
  }

  bool has_w() const { return golden_.arrays.count("w_init") != 0; }
  bool has_grad_reciprocal_tau() const { return golden_.arrays.count("grad_reciprocal_tau") != 0; }

  // The reference spikes as words, so that dense and packed runs are compared with the same array.
  std::vector<std::uint32_t> reference_words() const { return pack(golden_.arrays.at("spike_seq").values); }

 private:
  Owned<synfire_layer> make_layer() const {
    synfire_layer handle = nullptr;
    const synfire_status status = synfire_layer_create(context_, &desc_, &handle);
    if (status == SYNFIRE_ERROR_UNSUPPORTED) {
      throw NotBuilt(last_error_text());
    }
    check(status, "synfire_layer_create");
    Owned<synfire_layer> layer(handle);
    for (const auto* parameters : {&golden_.parameters, &golden_.surrogate_parameters}) {
      for (const auto& [name, value] : *parameters) {
        check(synfire_layer_set_parameter(handle, name.c_str(), &value, 1), "synfire_layer_set_parameter");
      }
    }
    return layer;
  }

  Owned<synfire_buffer> make_buffer(std::int32_t dtype, std::size_t n_elements) const {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.dtype = dtype;
    desc.n_elements = n_elements;
    synfire_buffer handle = nullptr;
    check(synfire_buffer_create(context_, &desc, &handle), "synfire_buffer_create");
    return Owned<synfire_buffer>(handle);
  }

  template <typename Element>
  Owned<synfire_buffer> uploaded(std::int32_t dtype, const std::vector<Element>& values) const {
    Owned<synfire_buffer> buffer = make_buffer(dtype, values.size());
    check(synfire_buffer_upload(buffer.get(), 0, values.data(), values.size() * sizeof(Element)),
          "synfire_buffer_upload");
    return buffer;
  }

  std::vector<Scalar> values_of(const char* name) const {
    const std::vector<double>& values = golden_.arrays.at(name).values;
    std::vector<Scalar> converted(values.size());
    std::transform(values.begin(), values.end(), converted.begin(), [](double v) { return static_cast<Scalar>(v); });
    return converted;
  }

  Owned<synfire_buffer> input_row(const char* name) const { return uploaded(arithmetic(), values_of(name)); }

  Owned<synfire_buffer> input_sequence(const char* name) const {
    const std::vector<Scalar> values = as_stored(values_of(name), inputs_as_);
    if constexpr (sizeof(Scalar) == sizeof(float)) {
      if (is_narrow(desc_.dtype)) return uploaded(desc_.dtype, encoded(values, desc_.dtype));
    }
    return uploaded(desc_.dtype, values);
  }

  // Outputs start as NaN (packed: all ones), so that an element that is never written is detected.
  Owned<synfire_buffer> filled(std::int32_t dtype, std::size_t n_elements, double value) const {
    Owned<synfire_buffer> buffer = make_buffer(dtype, n_elements);
    check(synfire_buffer_fill(buffer.get(), value), "synfire_buffer_fill");
    return buffer;
  }
  Owned<synfire_buffer> output(std::size_t n_elements) const {
    return filled(arithmetic(), n_elements, std::numeric_limits<double>::quiet_NaN());
  }
  Owned<synfire_buffer> output_sequence() const {
    return filled(desc_.dtype, sequence_, std::numeric_limits<double>::quiet_NaN());
  }
  Owned<synfire_buffer> spikes_output(Spikes spikes) const {
    switch (spikes) {
      case Spikes::bits:
        return filled(SYNFIRE_DTYPE_BITS, words_, 4294967295.0);
      case Spikes::bytes:
        return filled(SYNFIRE_DTYPE_U8, sequence_, 255.0);
      case Spikes::time_bits:
        return filled(SYNFIRE_DTYPE_TIME_BITS, time_words(), 4294967295.0);
      default:
        return output_sequence();
    }
  }

  template <typename Element>
  static std::vector<Element> download(synfire_buffer buffer, std::size_t n_elements) {
    std::vector<Element> values(n_elements);
    check(synfire_buffer_download(buffer, 0, values.data(), n_elements * sizeof(Element)), "synfire_buffer_download");
    return values;
  }

  std::vector<Scalar> download_sequence(synfire_buffer buffer) const {
    if constexpr (sizeof(Scalar) == sizeof(float)) {
      if (is_narrow(desc_.dtype)) {
        const std::vector<std::uint16_t> stored = download<std::uint16_t>(buffer, sequence_);
        std::vector<float> values(stored.size());
        std::transform(stored.begin(), stored.end(), values.begin(),
                       [this](std::uint16_t bits) { return decoded(bits, desc_.dtype); });
        return values;
      }
    }
    return download<Scalar>(buffer, sequence_);
  }

  // Words [ceil(T/32), N] to dense spikes [T, N]; bits beyond the last step must be zero.
  std::vector<std::uint8_t> unpacked(const std::vector<std::uint32_t>& words) const {
    std::vector<std::uint8_t> dense(sequence_);
    for (std::size_t i = 0; i < words.size() * 32; ++i) {
      const std::size_t word = i / 32, bit = i % 32, step = word / row_ * 32 + bit;
      const bool spike = (words[word] >> bit & 1U) != 0;
      if (step * row_ < sequence_) {
        dense[step * row_ + word % row_] = spike ? 1 : 0;
      } else if (spike) {
        throw CallFailed("time-packed spikes have a tail bit set");
      }
    }
    return dense;
  }

  std::int32_t arithmetic() const { return desc_.dtype == SYNFIRE_DTYPE_F64 ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32; }
  std::size_t time_words() const { return (static_cast<std::size_t>(golden_.n_steps) + 31) / 32 * row_; }

  void replay(synfire_layer layer, const synfire_forward_desc& forward, const synfire_backward_desc& backward) const {
    synfire_graph handle = nullptr;
    check(synfire_graph_create(context_, nullptr, &handle), "synfire_graph_create");
    const Owned<synfire_graph> graph(handle);
    check(synfire_graph_record_forward(handle, layer, &forward), "synfire_graph_record_forward");
    check(synfire_graph_record_backward(handle, layer, &backward), "synfire_graph_record_backward");
    check(synfire_graph_instantiate(handle), "synfire_graph_instantiate");
    std::uint64_t ticket = 0;
    check(synfire_graph_launch(handle, nullptr, &ticket), "synfire_graph_launch");
    check(synfire_graph_wait(handle, ticket, SYNFIRE_WAIT_YIELD, -1), "synfire_graph_wait");
  }

  // Dense spikes [T, N] to words [T, ceil(N/32)]; any value but 0 and 1 is an error.
  template <typename Element>
  std::vector<std::uint32_t> pack(const std::vector<Element>& dense) const {
    std::vector<std::uint32_t> words(words_, 0);
    const std::size_t words_per_step = (row_ + 31) / 32;
    for (std::size_t i = 0; i < dense.size(); ++i) {
      if (dense[i] == Element{1}) {
        words[i / row_ * words_per_step + i % row_ / 32] |= std::uint32_t{1} << (i % row_ % 32);
      } else if (!(dense[i] == Element{0})) {
        throw CallFailed("dense spikes hold a value that is neither 0 nor 1");
      }
    }
    return words;
  }

  synfire_context context_;
  const Case& golden_;
  const synfire_layer_desc& desc_;
  std::int32_t inputs_as_;
  std::size_t row_, sequence_, words_;
};

template <typename Scalar>
double relative_error(const std::vector<Scalar>& out, const double* reference) {
  double largest = 0, error = 0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(out[i]) - reference[i]);
    largest = std::max(largest, std::fabs(reference[i]));
    error = difference <= error ? error : difference;  // keeps a NaN difference, which fails every bound
    if (std::isnan(difference)) {
      return difference;
    }
  }
  return largest == 0 ? error : error / largest;
}

// The largest |out - ref| over u|ref| + s + 1e-5 max|ref|: at most 1 for a correct result that was rounded once to 16
// bits.
double narrow_error(const std::vector<float>& out, const std::vector<double>& reference, std::int32_t dtype) {
  const double u = dtype == SYNFIRE_DTYPE_F16 ? 0x1p-11 : 0x1p-8, s = dtype == SYNFIRE_DTYPE_F16 ? 0x1p-25 : 0;
  double largest = 0, error = 0;
  for (const double value : reference) largest = std::max(largest, std::fabs(value));
  for (std::size_t i = 0; i < out.size(); ++i) {
    const double difference = std::fabs(static_cast<double>(out[i]) - reference[i]);
    if (std::isnan(difference)) {
      return difference;
    }
    const double allowed = u * std::fabs(reference[i]) + s + 1e-5 * largest;
    if (difference != 0) {
      error = std::max(error, difference / allowed);
    }
  }
  return error;
}

template <typename Element>
bool same_bits(const std::vector<Element>& a, const std::vector<Element>& b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(Element)) == 0);
}

template <typename Scalar>
void require_same(const Outputs<Scalar>& eager, const Outputs<Scalar>& other, const std::string& other_name,
                  CaseResult& result) {
  const auto require = [&](bool same, const char* array) {
    if (!same) {
      result.notes.push_back(std::string(array) + " of the " + other_name + " run differs from the eager dense run");
    }
  };
  require(eager.spike_words == other.spike_words, "spikes");
  require(same_bits(eager.h_seq, other.h_seq), "h_seq");
  require(same_bits(eager.v_seq, other.v_seq), "v_seq");
  require(same_bits(eager.v_final, other.v_final), "v_final");
  require(same_bits(eager.grad_x_seq, other.grad_x_seq), "grad_x_seq");
  require(same_bits(eager.grad_v_init, other.grad_v_init), "grad_v_init");
  require(same_bits(eager.w_seq, other.w_seq), "w_seq");
  require(same_bits(eager.w_final, other.w_final), "w_final");
  require(same_bits(eager.grad_w_init, other.grad_w_init), "grad_w_init");
  require(same_bits(eager.grad_reciprocal_tau, other.grad_reciprocal_tau), "grad_reciprocal_tau");
}

// The same case in f32, with sequences rounded to the 16-bit type: the exact result that a 16-bit layer must have.
Outputs<float> rounded_f32_run(synfire_context context, const Case& golden, const synfire_layer_desc& desc) {
  synfire_layer_desc wide = desc;
  wide.dtype = SYNFIRE_DTYPE_F32;
  Outputs<float> outputs = CaseRunner<float>(context, golden, wide, desc.dtype).run(Mode::eager, Spikes::dense);
  for (std::vector<float>* sequence : {&outputs.h_seq, &outputs.v_seq, &outputs.w_seq, &outputs.grad_x_seq}) {
    *sequence = as_stored(*sequence, desc.dtype);
  }
  return outputs;
}

template <typename Scalar>
CaseResult run_as(synfire_context context, const Case& golden, const synfire_layer_desc& desc) {
  const CaseRunner<Scalar> runner(context, golden, desc, desc.dtype);
  const Outputs<Scalar> eager = runner.run(Mode::eager, Spikes::dense);
  const bool narrow = is_narrow(desc.dtype);
  CaseResult result;

  const std::vector<std::uint32_t> reference_words = runner.reference_words();
  double wrong_spikes = 0;
  for (std::size_t i = 0; i < reference_words.size(); ++i) {
    wrong_spikes += std::popcount(reference_words[i] ^ eager.spike_words[i]);
  }
  const Bounds bounds = bounds_for(golden.model, desc.dtype);
  const auto compare = [&](const char* name, const std::vector<Scalar>& out, double bound) {
    result.errors.push_back({name, relative_error(out, golden.arrays.at(name).values.data()), bound});
  };
  const auto compare_sequence = [&](const char* name, const std::vector<Scalar>& out, double bound) {
    if constexpr (sizeof(Scalar) == sizeof(float)) {
      if (narrow) {
        result.errors.push_back({name, narrow_error(out, golden.arrays.at(name).values, desc.dtype), 1});
        return;
      }
    }
    compare(name, out, bound);
  };
  result.errors.push_back({"spike_seq", wrong_spikes, 0});
  compare_sequence("h_seq", eager.h_seq, bounds.potential);
  compare_sequence("v_seq", eager.v_seq, bounds.potential);
  compare_sequence("grad_x_seq", eager.grad_x_seq, bounds.gradient);
  compare("grad_v_init", eager.grad_v_init, bounds.gradient);
  if (runner.has_w()) {
    compare_sequence("w_seq", eager.w_seq, bounds.potential);
    compare("grad_w_init", eager.grad_w_init, bounds.gradient);
  }
  if (runner.has_grad_reciprocal_tau()) {
    compare("grad_reciprocal_tau", eager.grad_reciprocal_tau, bounds.gradient);
  }
  const std::vector<Scalar> last_row(eager.v_seq.end() - golden.n_neurons, eager.v_seq.end());
  if (!same_bits(as_stored(eager.v_final, desc.dtype), last_row)) {
    result.notes.emplace_back("v_final differs from the last step of v_seq");
  }

  constexpr std::pair<Spikes, const char*> formats[] = {
      {Spikes::dense, "dense"}, {Spikes::bits, "bits"}, {Spikes::bytes, "u8"}, {Spikes::time_bits, "time-bits"}};
  for (const auto& [mode, mode_name] : {std::pair{Mode::eager, "eager "}, std::pair{Mode::graph, "graph "}}) {
    for (const auto& [spikes, format_name] : formats) {
      if (mode == Mode::eager && spikes == Spikes::dense) continue;
      require_same(eager, runner.run(mode, spikes), std::string(mode_name) + format_name, result);
    }
    require_same(eager, runner.run(mode, Spikes::dense, SYNFIRE_TAPE_STORE), std::string(mode_name) + "stored H",
                 result);
  }
  if constexpr (sizeof(Scalar) == sizeof(float)) {
    if (narrow) {
      require_same(rounded_f32_run(context, golden, desc), eager, "16-bit", result);
    }
  }

  const bool within = std::all_of(result.errors.begin(), result.errors.end(),
                                  [](const ArrayError& array) { return array.error <= array.bound; });
  result.verdict = within && result.notes.empty() ? Verdict::passed : Verdict::failed;
  return result;
}

CaseResult skipped(const std::string& reason) {
  return {Verdict::skipped, {}, {reason}};
}

}  // namespace

CaseResult run_case(synfire_context context, std::int32_t dtype, const Case& golden) {
  const std::optional<std::int32_t> model = synfire_tools::find_id(synfire_tools::models, golden.model);
  if (!model) {
    return skipped("model '" + golden.model + "' is not supported yet");
  }
  const std::optional<std::int32_t> surrogate = synfire_tools::find_id(synfire_tools::surrogates, golden.surrogate);
  if (!surrogate) {
    return skipped("surrogate '" + golden.surrogate + "' is not supported yet");
  }
  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
  desc.model = *model;
  desc.surrogate = *surrogate;
  desc.n_steps = golden.n_steps;
  desc.n_neurons = golden.n_neurons;
  desc.dtype = dtype;
  desc.reset = golden.soft_reset ? SYNFIRE_RESET_SOFT : SYNFIRE_RESET_HARD;
  desc.detach_reset = golden.detach_reset ? 1 : 0;
  CaseResult failed;
  for (const auto& [name, value] : golden.switches) {
    if (name == "decay_input") {
      desc.undecayed_input = value ? 0 : 1;
    } else {
      failed.notes.push_back("the switch '" + name + "' has no counterpart in synfire_layer_desc");
      return failed;
    }
  }
  try {
    return dtype == SYNFIRE_DTYPE_F64 ? run_as<double>(context, golden, desc) : run_as<float>(context, golden, desc);
  } catch (const NotBuilt& error) {
    return skipped(error.what());
  } catch (const CallFailed& error) {
    failed.notes.emplace_back(error.what());
    return failed;
  }
}

}  // namespace synfire_golden
