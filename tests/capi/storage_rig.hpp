// A layer whose sequences may each have their own type, row pitch and alignment; and 16-bit numbers by definition
// (sign, exponent, fraction), independent of the library's conversions.
#ifndef SYNFIRE_TESTS_CAPI_STORAGE_RIG_HPP
#define SYNFIRE_TESTS_CAPI_STORAGE_RIG_HPP

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "support.hpp"

namespace synfire_test {

// ---- Numbers of 16 bits ---------------------------------------------------------------------------------------------

struct Format16 {
  int fraction_bits, largest_exponent;
  uint32_t infinity() const { return (uint32_t{1} << 15) - (uint32_t{1} << fraction_bits); }
};
inline Format16 format_of(int32_t dtype) {
  return dtype == SYNFIRE_DTYPE_F16 ? Format16{10, 15} : Format16{7, 127};
}

/// The magnitude of a code, by definition. Infinity counts as the successor of the largest number.
inline double magnitude16(const Format16& format, uint32_t code) {
  const auto exponent = static_cast<int>(code >> format.fraction_bits);
  const auto fraction = static_cast<double>(code & ((1u << format.fraction_bits) - 1)) / (1 << format.fraction_bits);
  return exponent == 0 ? std::ldexp(fraction, 1 - format.largest_exponent)
                       : std::ldexp(1 + fraction, exponent - format.largest_exponent);
}

inline double decode16(int32_t dtype, uint16_t stored) {
  const Format16 format = format_of(dtype);
  const uint32_t code = stored & 0x7FFFu;
  const double magnitude = code > format.infinity()    ? std::numeric_limits<double>::quiet_NaN()
                           : code == format.infinity() ? std::numeric_limits<double>::infinity()
                                                       : magnitude16(format, code);
  return (stored & 0x8000u) != 0 ? -magnitude : magnitude;
}

/// The nearest number of the type; for ties, the one with an even code. Found by bisection over the codes.
inline uint16_t encode16(int32_t dtype, double value) {
  const Format16 format = format_of(dtype);
  const auto sign = static_cast<uint16_t>(std::signbit(value) ? 0x8000u : 0u);
  if (std::isnan(value)) return static_cast<uint16_t>(format.infinity() + 1);
  const double magnitude = std::fabs(value);
  uint32_t below = 0, above = format.infinity() + 1;  // magnitude16(below) <= magnitude, infinity included
  while (above - below > 1) {
    const uint32_t middle = (below + above) / 2;
    (magnitude16(format, middle) <= magnitude ? below : above) = middle;
  }
  if (below < format.infinity()) {
    const double down = magnitude - magnitude16(format, below), up = magnitude16(format, below + 1) - magnitude;
    if (up < down || (up == down && below % 2 == 1)) ++below;
  }
  return static_cast<uint16_t>(sign | below);
}

inline bool is_narrow(int32_t dtype) {
  return dtype == SYNFIRE_DTYPE_F16 || dtype == SYNFIRE_DTYPE_BF16;
}
inline bool is_packed(int32_t dtype) {
  return dtype == SYNFIRE_DTYPE_BITS || dtype == SYNFIRE_DTYPE_TIME_BITS;
}
inline size_t element_bytes(int32_t dtype) {
  return dtype == SYNFIRE_DTYPE_F64 || dtype == SYNFIRE_DTYPE_U64 ? 8
         : dtype == SYNFIRE_DTYPE_U8                              ? 1
         : is_narrow(dtype)                                       ? 2
                                                                  : 4;
}
inline int32_t arithmetic_of(int32_t dtype) {
  return dtype == SYNFIRE_DTYPE_F64 ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32;
}

inline void store(unsigned char* to, int32_t dtype, double value) {
  const auto put = [to](auto element) { std::memcpy(to, &element, sizeof element); };
  if (dtype == SYNFIRE_DTYPE_F64)
    put(value);
  else if (dtype == SYNFIRE_DTYPE_U8)
    put(static_cast<uint8_t>(value));
  else if (dtype == SYNFIRE_DTYPE_U64)
    put(static_cast<uint64_t>(value));
  else if (is_packed(dtype) || dtype == SYNFIRE_DTYPE_U32)
    put(static_cast<uint32_t>(value));
  else if (is_narrow(dtype))
    put(encode16(dtype, value));
  else
    put(static_cast<float>(value));
}
inline double load(const unsigned char* from, int32_t dtype) {
  const auto get = [from](auto element) {
    std::memcpy(&element, from, sizeof element);
    return element;
  };
  if (dtype == SYNFIRE_DTYPE_F64) return get(double{});
  if (dtype == SYNFIRE_DTYPE_U8) return get(uint8_t{});
  if (dtype == SYNFIRE_DTYPE_U64) return static_cast<double>(get(uint64_t{}));
  if (is_packed(dtype) || dtype == SYNFIRE_DTYPE_U32) return get(uint32_t{});
  if (is_narrow(dtype)) return decode16(dtype, get(uint16_t{}));
  return static_cast<double>(get(float{}));
}

/// Each value as stored in the type.
inline std::vector<double> stored_as(int32_t dtype, std::vector<double> values) {
  unsigned char bytes[8];
  for (double& value : values) {
    store(bytes, dtype, value);
    value = load(bytes, dtype);
  }
  return values;
}

// ---- Arrays ---------------------------------------------------------------------------------------------------------

/// Placement of a sequence: elements before its first one, and elements between its rows.
struct Placement {
  size_t lead = 0, padding = 0;
};

/// Rows of elements inside memory of all ones, which is NaN in every type. Only elements may change.
class Rows {
 public:
  Rows(synfire_context context, int32_t dtype, size_t n_rows, size_t row, Placement placement = {})
      : dtype_(dtype), n_rows_(n_rows), row_(row), placement_(placement) {
    const size_t element = element_bytes(dtype), n_elements = n_rows * pitch();
    owner_ = make_buffer(context, SYNFIRE_DTYPE_U8, (placement.lead + n_elements) * element);
    void* data = nullptr;
    EXPECT_OK(synfire_buffer_get_data(owner_, &data, nullptr));
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.dtype = dtype;
    desc.n_elements = n_elements;
    desc.data = static_cast<char*>(data) + placement.lead * element;
    desc.row_pitch = placement.padding == 0 ? 0 : pitch();
    synfire_buffer handle = nullptr;
    EXPECT_OK(synfire_buffer_create(context, &desc, &handle));
    window_ = Buffer(handle);
    poison();
  }

  operator synfire_buffer() const { return window_; }
  int32_t dtype() const { return dtype_; }

  void poison() { write(std::vector<unsigned char>(bytes(), 0xFF)); }

  void put(const std::vector<double>& values) {
    ASSERT_EQ(values.size(), n_rows_ * row_);
    std::vector<unsigned char> image(bytes(), 0xFF);
    for (size_t i = 0; i < values.size(); ++i) store(&image[offset(i)], dtype_, values[i]);
    write(image);
  }

  /// Also checks that only elements were written.
  std::vector<double> get() const {
    std::vector<unsigned char> image = download<unsigned char>(owner_, bytes());
    std::vector<double> values(n_rows_ * row_);
    for (size_t i = 0; i < values.size(); ++i) {
      values[i] = load(&image[offset(i)], dtype_);
      std::memset(&image[offset(i)], 0xFF, element_bytes(dtype_));
    }
    EXPECT_EQ(image, std::vector<unsigned char>(bytes(), 0xFF)) << "written between the rows or outside of them";
    return values;
  }

  std::vector<uint32_t> words() const {
    std::vector<uint32_t> words;
    for (const double value : get()) words.push_back(static_cast<uint32_t>(value));
    return words;
  }

 private:
  size_t pitch() const { return row_ + placement_.padding; }
  size_t bytes() const { return (placement_.lead + n_rows_ * pitch()) * element_bytes(dtype_); }
  size_t offset(size_t i) const { return (placement_.lead + i / row_ * pitch() + i % row_) * element_bytes(dtype_); }
  void write(const std::vector<unsigned char>& image) {
    EXPECT_OK(synfire_buffer_upload(owner_, 0, image.data(), image.size()));
    EXPECT_OK(synfire_buffer_mark_written(window_));
  }

  int32_t dtype_;
  size_t n_rows_, row_;
  Placement placement_;
  Buffer owner_, window_;
};

// ---- The layer ------------------------------------------------------------------------------------------------------

/// Types of sequences. A dtype of 0 means "as the layer"; others are SYNFIRE_DTYPE_*.
inline constexpr int32_t as_the_layer = -1;
struct Types {
  int32_t x = as_the_layer, spikes = as_the_layer, h_seq = as_the_layer, v_seq = as_the_layer, w_seq = as_the_layer,
          grad_spike_seq = as_the_layer, grad_v_seq = as_the_layer, grad_w_seq = as_the_layer,
          grad_x_seq = as_the_layer;
};

struct StorageInputs {
  std::vector<double> x, v_init, w_init, grad_spike_seq, grad_v_seq, grad_v_final, grad_w_seq, grad_w_final;
};

/// Inputs that make default neurons spike now and then. Sequences are exactly representable in `dtype`.
inline StorageInputs storage_inputs(const Shape& shape, uint64_t seed, int32_t dtype) {
  Random random(seed);
  const auto sequence = [&](double low, double high) {
    return stored_as(dtype, random.values<double>(shape.sequence(), low, high));
  };
  const auto row = [&](double low, double high) {
    return stored_as(arithmetic_of(dtype), random.values<double>(shape.row(), low, high));
  };
  StorageInputs in;
  in.x = sequence(-0.5, 2.0);
  in.v_init = row(-0.5, 0.9);
  in.w_init = row(-0.2, 0.2);
  in.grad_spike_seq = sequence(-1, 1);
  in.grad_v_seq = sequence(-1, 1);
  in.grad_w_seq = sequence(-1, 1);
  in.grad_v_final = row(-1, 1);
  in.grad_w_final = row(-1, 1);
  return in;
}

struct StorageOutputs {
  std::vector<double> spikes, h_seq, v_seq, w_seq, v_final, w_final, grad_x_seq, grad_v_init, grad_w_init;
  std::vector<std::vector<double>> gradients;  // of parameters
};

inline testing::AssertionResult same_bits(const StorageOutputs& a, const StorageOutputs& b) {
  using Array = std::vector<double> StorageOutputs::*;
  const std::pair<const char*, Array> arrays[] = {
      {"spikes", &StorageOutputs::spikes},
      {"h_seq", &StorageOutputs::h_seq},
      {"v_seq", &StorageOutputs::v_seq},
      {"w_seq", &StorageOutputs::w_seq},
      {"v_final", &StorageOutputs::v_final},
      {"w_final", &StorageOutputs::w_final},
      {"grad_x_seq", &StorageOutputs::grad_x_seq},
      {"grad_v_init", &StorageOutputs::grad_v_init},
      {"grad_w_init", &StorageOutputs::grad_w_init},
  };
  for (const auto& [name, array] : arrays)
    if (auto result = same_bits(a.*array, b.*array); !result) return result << " (" << name << ")";
  if (a.gradients.size() != b.gradients.size()) return testing::AssertionFailure() << "other gradients were requested";
  for (size_t i = 0; i < a.gradients.size(); ++i)
    if (auto result = same_bits(a.gradients[i], b.gradients[i]); !result) return result << " (gradient " << i << ")";
  return testing::AssertionSuccess();
}

/// The outputs of a layer whose sequences have these types.
inline StorageOutputs rounded_to(StorageOutputs outputs, int32_t dtype) {
  for (std::vector<double>* sequence : {&outputs.h_seq, &outputs.v_seq, &outputs.w_seq, &outputs.grad_x_seq})
    *sequence = stored_as(dtype, std::move(*sequence));
  return outputs;
}

struct StorageChoice {
  Types types = {};
  Placement placement = {};
  int32_t tape = SYNFIRE_TAPE_RECOMPUTE;
  bool in_place_h = false, in_place_gradient = false;
  bool parameter_gradients = true;
  bool only_spikes = false;  // spikes out, grad_spike_seq in, grad_x_seq out: selects specialised kernels
};

class StorageRig {
 public:
  StorageRig(synfire_context context, const synfire_layer_desc& desc, const StorageChoice& choice = {})
      : shape{desc.n_steps, desc.batch == 0 ? 1 : desc.batch, desc.n_neurons},
        choice_(choice),
        two_variables_(desc.model == SYNFIRE_MODEL_IZHIKEVICH && !choice.only_spikes),
        context_(context),
        layer(make_layer(context, desc)) {
    const auto sequence = [&](int32_t dtype) {
      return std::make_unique<Rows>(context, dtype == as_the_layer ? desc.dtype : dtype,
                                    static_cast<size_t>(shape.n_steps), shape.row(), choice.placement);
    };
    const auto row = [&] { return std::make_unique<Rows>(context, arithmetic_of(desc.dtype), 1, shape.row()); };
    const Types& types = choice.types;
    x = sequence(types.x);
    if (types.spikes == SYNFIRE_DTYPE_BITS)
      spikes = std::make_unique<Rows>(context, types.spikes, static_cast<size_t>(shape.n_steps),
                                      static_cast<size_t>(shape.batch) * shape.words_per_row(), choice.placement);
    else if (types.spikes == SYNFIRE_DTYPE_TIME_BITS)
      spikes = std::make_unique<Rows>(context, types.spikes, static_cast<size_t>((shape.n_steps + 31) / 32),
                                      shape.row(), choice.placement);
    else
      spikes = sequence(types.spikes);
    grad_spike_seq = sequence(types.grad_spike_seq);
    if (!choice.in_place_gradient) grad_x_seq = sequence(types.grad_x_seq);
    if (choice.only_spikes) return;
    h_seq = sequence(types.h_seq);
    v_seq = sequence(types.v_seq);
    grad_v_seq = sequence(types.grad_v_seq);
    for (auto* one : {&v_init, &v_final, &grad_v_final, &grad_v_init}) *one = row();
    if (two_variables_) {
      w_seq = sequence(types.w_seq);
      grad_w_seq = sequence(types.grad_w_seq);
      for (auto* one : {&w_init, &w_final, &grad_w_final, &grad_w_init}) *one = row();
    }
    if (choice.parameter_gradients) ask_for_gradients(desc);
  }

  void load(const StorageInputs& in) {
    EXPECT_OK(synfire_layer_reset_state(layer, nullptr));
    const auto put = [](const std::unique_ptr<Rows>& to, const std::vector<double>& values) {
      if (to) to->put(values);
    };
    put(x, in.x);
    put(v_init, in.v_init);
    put(w_init, in.w_init);
    put(grad_spike_seq, in.grad_spike_seq);
    put(grad_v_seq, in.grad_v_seq);
    put(grad_v_final, in.grad_v_final);
    put(grad_w_seq, in.grad_w_seq);
    put(grad_w_final, in.grad_w_final);
  }

  synfire_forward_desc forward_desc() const {
    synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
    desc.tape = choice_.tape;
    desc.in_place = choice_.in_place_h ? 1 : 0;
    desc.x = handle(x);
    desc.spikes = handle(spikes);
    desc.v_init = handle(v_init);
    desc.v_final = handle(v_final);
    desc.v_seq = handle(v_seq);
    desc.h_seq = handle(h_seq);
    desc.w_init = handle(w_init);
    desc.w_final = handle(w_final);
    desc.w_seq = handle(w_seq);
    return desc;
  }
  synfire_backward_desc backward_desc() const {
    synfire_backward_desc desc = SYNFIRE_BACKWARD_DESC_INIT;
    desc.in_place = choice_.in_place_gradient ? 1 : 0;
    desc.grad_spike_seq = handle(grad_spike_seq);
    desc.grad_v_seq = handle(grad_v_seq);
    desc.grad_v_final = handle(grad_v_final);
    desc.grad_x_seq = choice_.in_place_gradient ? handle(grad_spike_seq) : handle(grad_x_seq);
    desc.grad_v_init = handle(grad_v_init);
    desc.grad_w_seq = handle(grad_w_seq);
    desc.grad_w_final = handle(grad_w_final);
    desc.grad_w_init = handle(grad_w_init);
    desc.parameter_gradients = asked_.empty() ? nullptr : asked_.data();
    desc.n_parameter_gradients = asked_.size();
    return desc;
  }

  synfire_status forward() const {
    const synfire_forward_desc desc = forward_desc();
    return synfire_layer_forward(layer, &desc, nullptr);
  }
  synfire_status backward() const {
    const synfire_backward_desc desc = backward_desc();
    return synfire_layer_backward(layer, &desc, nullptr);
  }

  /// Both passes, with `meanwhile` in between.
  template <typename F>
  StorageOutputs run(const StorageInputs& in, F meanwhile) {
    load(in);
    EXPECT_OK(forward());
    meanwhile();
    EXPECT_OK(backward());
    return outputs();
  }
  StorageOutputs run(const StorageInputs& in) {
    return run(in, [] {});
  }
  /// The same as a graph.
  StorageOutputs replayed(const StorageInputs& in) {
    load(in);
    const Graph graph = make_graph(context_);
    const synfire_forward_desc f = forward_desc();
    const synfire_backward_desc b = backward_desc();
    EXPECT_OK(synfire_graph_record_forward(graph, layer, &f));
    EXPECT_OK(synfire_graph_record_backward(graph, layer, &b));
    EXPECT_OK(synfire_graph_instantiate(graph));
    replay(graph);
    return outputs();
  }

  StorageOutputs outputs() const {
    const auto get = [](const std::unique_ptr<Rows>& from) { return from ? from->get() : std::vector<double>{}; };
    StorageOutputs out;
    out.spikes = dense_spikes();
    out.h_seq = get(h_seq);
    out.v_seq = get(v_seq);
    out.w_seq = get(w_seq);
    out.v_final = get(v_final);
    out.w_final = get(w_final);
    out.grad_x_seq = choice_.in_place_gradient ? get(grad_spike_seq) : get(grad_x_seq);
    out.grad_v_init = get(grad_v_init);
    out.grad_w_init = get(grad_w_init);
    for (const auto& gradient : gradients_) out.gradients.push_back(gradient->get());
    return out;
  }

  /// Spikes [T, B, N] as 0 and 1, from any format. Tail bits must be zero.
  std::vector<double> dense_spikes() const {
    if (!is_packed(spikes->dtype())) return spikes->get();
    const std::vector<uint32_t> words = spikes->words();
    const bool by_time = spikes->dtype() == SYNFIRE_DTYPE_TIME_BITS;
    const auto n_neurons = static_cast<size_t>(shape.n_neurons);
    std::vector<double> dense(shape.sequence(), 0);
    uint64_t set = 0, used = 0;
    for (size_t i = 0; i < dense.size(); ++i) {
      const size_t t = i / shape.row(), column = i % shape.row(), neuron = column % n_neurons;
      const size_t word = by_time ? t / 32 * shape.row() + column : i / n_neurons * shape.words_per_row() + neuron / 32;
      dense[i] = words[word] >> (by_time ? t % 32 : neuron % 32) & 1u;
      used += dense[i] != 0 ? 1u : 0u;
    }
    for (const uint32_t word : words) set += static_cast<uint64_t>(std::popcount(word));
    EXPECT_EQ(set, used) << "tail bits are set";
    return dense;
  }

  Shape shape;

 private:
  static synfire_buffer handle(const std::unique_ptr<Rows>& rows) {
    return rows ? static_cast<synfire_buffer>(*rows) : nullptr;
  }

  // Every parameter except the surrogate's, alternating between a sum over all neurons and a value per neuron.
  void ask_for_gradients(const synfire_layer_desc& desc) {
    for (uint32_t i = 0;; ++i) {
      synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
      ASSERT_OK(synfire_layer_get_parameter_info(layer, i, &info));
      gradients_.push_back(std::make_unique<Rows>(context_, arithmetic_of(desc.dtype), 1,
                                                  i % 2 == 0 ? 1 : static_cast<size_t>(desc.n_neurons)));
      asked_.push_back({info.name, *gradients_.back()});
      if (std::string_view(info.name) == "v_reset") return;
    }
  }

  StorageChoice choice_;
  bool two_variables_;
  synfire_context context_;
  std::vector<std::unique_ptr<Rows>> gradients_;
  std::vector<synfire_parameter_gradient> asked_;

 public:
  Layer layer;
  std::unique_ptr<Rows> x, spikes, h_seq, v_seq, w_seq, v_init, w_init, v_final, w_final;
  std::unique_ptr<Rows> grad_spike_seq, grad_v_seq, grad_w_seq, grad_v_final, grad_w_final, grad_x_seq, grad_v_init,
      grad_w_init;
};

/// Descriptions of layers: combinations of model, surrogate, reset and detachment.
inline std::vector<synfire_layer_desc> every_model_and_surrogate(const Shape& shape, int32_t dtype) {
  std::vector<synfire_layer_desc> all;
  for (int32_t model = SYNFIRE_MODEL_IF; model <= SYNFIRE_MODEL_IZHIKEVICH; ++model)
    for (int32_t surrogate = SYNFIRE_SURROGATE_SIGMOID; surrogate <= SYNFIRE_SURROGATE_RECT; ++surrogate)
      for (const int32_t rules : {0, 1, 2, 3}) {
        // The two common surrogates with all four rules. Of the others, every model gets one, and every reset gets
        // four.
        if (surrogate > SYNFIRE_SURROGATE_ATAN && rules != (model + surrogate) % 4) continue;
        synfire_layer_desc desc = describe(shape, dtype);
        desc.model = model;
        desc.surrogate = surrogate;
        desc.reset = (rules & 1) != 0 ? SYNFIRE_RESET_SOFT : SYNFIRE_RESET_HARD;
        desc.detach_reset = (rules & 2) != 0 ? 1 : 0;
        all.push_back(desc);
      }
  return all;
}
inline std::string name_of(const synfire_layer_desc& desc) {
  return std::string("model ") + std::to_string(desc.model) + " surrogate " + std::to_string(desc.surrogate) +
         " reset " + std::to_string(desc.reset) + " detach " + std::to_string(desc.detach_reset) + " dtype " +
         std::to_string(desc.dtype);
}

}  // namespace synfire_test

#endif
