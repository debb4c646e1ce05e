// Hashes the results of forward and backward through the C ABI, over models, resets, surrogates, input modes, dtypes
// and shapes. The inputs come from an integer generator, so that they are the same everywhere. For one shape the other
// spike formats and tapes run as well. Their hash must be the same; otherwise the line names the one that differs.
// Networks that were trained for some steps follow, one-to-one synapses, convolutions, normalisations, upsamplings and
// borders of maps, networks of maps, events of a camera, layers under rules that few have, recurrent layers, and
// networks that are watched.
//
//   synfire-bits [--backend host|cuda] [--threads N] [--compare FILE] [--model NAME --surrogate NAME]
//
// With SYNFIRE_TEST_SAMPLE=K in the environment (tests/sample.hpp), about one line of K.
//
// With the names of a model and a surrogate that were added to the library: the model with the common surrogates and
// the added one, and LIF with the added one.
#include <synfire/synfire.hpp>

#include "../capi/trained_network.hpp"
#include "../sample.hpp"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <initializer_list>
#include <iostream>
#include <limits>
#include <sstream>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

void require(synfire_status status, const char* call) {
  if (status >= 0) return;
  char text[1024] = "";
  synfire_last_error(text, sizeof text, nullptr);
  std::fprintf(stderr, "%s: %s %s\n", call, synfire_status_name(status), text);
  std::exit(2);
}
#define REQUIRE(call) require((call), #call)

class Generator {
 public:
  explicit Generator(uint64_t seed) : state_(seed * 2654435761u + 1) {}
  // Uniform in [low, high), exactly representable in f32.
  double operator()(double low, double high) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    const double unit = static_cast<double>(state_ >> 44) / 1048576.0;
    return static_cast<double>(static_cast<float>(low + (high - low) * unit));
  }

 private:
  uint64_t state_;
};

// FNV-1a over 32-bit words. All NaN are equal, because IEEE does not specify which one an operation returns.
class Hash {
 public:
  template <class Bits>
  void add(const std::vector<unsigned char>& bytes, Bits infinity) {
    for (size_t i = 0; i + sizeof(Bits) <= bytes.size(); i += sizeof(Bits)) {
      Bits bits = 0;
      std::memcpy(&bits, bytes.data() + i, sizeof bits);
      constexpr Bits magnitude = std::numeric_limits<Bits>::max() / 2;
      const bool nan = infinity != 0 && (bits & magnitude) > infinity;
      const uint64_t word = nan ? uint64_t{infinity} + 1 : uint64_t{bits};
      value_ = (value_ ^ (word & 0xFFFFFFFFu)) * 1099511628211u;
      if (sizeof(Bits) == 8) value_ = (value_ ^ (word >> 32)) * 1099511628211u;
    }
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 14695981039346656037u;
};

struct Shape {
  int64_t n_steps, batch, n_neurons;
};

// Sequences of an f16 or bf16 layer are stored in that type; state, parameters and their gradients are f32.
int32_t arithmetic_of(int32_t dtype) {
  return dtype == SYNFIRE_DTYPE_F64 ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32;
}

const char* name_of(int32_t dtype) {
  switch (dtype) {
    case SYNFIRE_DTYPE_F64:
      return "f64";
    case SYNFIRE_DTYPE_F16:
      return "f16";
    case SYNFIRE_DTYPE_BF16:
      return "bf16";
    default:
      return "f32";
  }
}

struct Variant {
  const char* name;
  int32_t spikes;  // SYNFIRE_DTYPE_BITS, _U8 or _TIME_BITS
  int32_t tape;
};

bool is_silent(int32_t model) {
  return model == SYNFIRE_MODEL_LI || model == SYNFIRE_MODEL_LI_EXACT || model == SYNFIRE_MODEL_CUBA_LI ||
         model == SYNFIRE_MODEL_CUBA_LI_EXACT || model == SYNFIRE_MODEL_INTEGRATOR;
}
bool has_w(int32_t model) {
  return model == SYNFIRE_MODEL_IZHIKEVICH || model == SYNFIRE_MODEL_CUBA_LIF || model == SYNFIRE_MODEL_CUBA_LI ||
         model == SYNFIRE_MODEL_CUBA_LIF_EXACT || model == SYNFIRE_MODEL_CUBA_LI_EXACT;
}

class Layer {
 public:
  Layer(synfire_context context, const synfire_layer_desc& desc, const Shape& shape, bool per_neuron)
      : context_(context),
        desc_(desc),
        shape_(shape),
        row_(static_cast<uint64_t>(shape.batch * shape.n_neurons)),
        sequence_(static_cast<uint64_t>(shape.n_steps) * row_),
        words_(static_cast<uint64_t>(shape.n_steps * shape.batch * ((shape.n_neurons + 31) / 32))) {
    REQUIRE(synfire_layer_create(context, &desc, &layer_));
    if (desc.history_steps > 0) {
      synfire_synapse_desc weights = SYNFIRE_SYNAPSE_DESC_INIT;
      weights.n_inputs = weights.n_outputs = shape.n_neurons;
      weights.dtype = arithmetic_of(desc.dtype), weights.gain = 4, weights.seed = 3, weights.no_self_connections = 1;
      REQUIRE(synfire_synapse_create(context, &weights, &recurrent_));
    }
    if (!per_neuron) return;
    Generator values(99);
    std::vector<double> thresholds;
    for (int64_t i = 0; i < shape.n_neurons; ++i) thresholds.push_back(values(0.5, 1.5));
    const char* const name = desc.model == SYNFIRE_MODEL_INTEGRATOR ? "gain"
                             : is_silent(desc.model)                ? "v_rest"
                                                                    : "v_threshold";
    REQUIRE(synfire_layer_set_parameter(layer_, name, thresholds.data(), thresholds.size()));
  }
  ~Layer() {
    for (const synfire_buffer buffer : buffers_) synfire_buffer_destroy(buffer);
    synfire_synapse_destroy(recurrent_);
    synfire_layer_destroy(layer_);
  }
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  uint64_t hash(uint64_t seed, const Variant& variant) {
    Generator values(seed);
    const int32_t stored = desc_.dtype, arithmetic = arithmetic_of(stored);
    const synfire_buffer x = input(sequence_, stored, values, -0.5, 2.5),
                         grad_spike = input(sequence_, stored, values, -1, 1),
                         grad_v = input(sequence_, stored, values, -1, 1),
                         grad_final = input(row_, arithmetic, values, -1, 1);
    const bool two_variables = has_w(desc_.model), fires = !is_silent(desc_.model);
    const int32_t of_x = recurrent_ ? arithmetic : stored;
    const synfire_buffer spikes = fires ? spike_buffer(variant.spikes) : nullptr, h = buffer(sequence_, stored),
                         v = buffer(sequence_, stored), grad_x = buffer(sequence_, of_x),
                         grad_v_init = buffer(row_, arithmetic);
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.tape = variant.tape;
    forward.x = x, forward.spikes = spikes, forward.h_seq = h, forward.v_seq = v;
    synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
    backward.grad_spike_seq = fires ? grad_spike : nullptr, backward.grad_v_seq = grad_v,
    backward.grad_v_final = grad_final;
    backward.grad_x_seq = grad_x, backward.grad_v_init = grad_v_init;
    std::vector<std::pair<synfire_buffer, int32_t>> outputs = {
        {h, stored}, {v, stored}, {grad_x, of_x}, {grad_v_init, arithmetic}};
    if (recurrent_) {
      const auto delay = static_cast<uint64_t>(desc_.history_steps);
      forward.recurrent_synapse = recurrent_, forward.recurrent_delay = desc_.history_steps;
      backward.grad_spikes_final = input(delay * row_, arithmetic, values, -1, 1);
      backward.grad_spikes_init = buffer(delay * row_, arithmetic);
      outputs.emplace_back(backward.grad_spikes_init, arithmetic);
    }
    if (two_variables) {
      forward.w_seq = buffer(sequence_, stored);
      backward.grad_w_seq = grad_v, backward.grad_w_final = grad_final;
      backward.grad_w_init = buffer(row_, arithmetic);
      outputs.insert(outputs.end(), {{forward.w_seq, stored}, {backward.grad_w_init, arithmetic}});
    }
    // The gradient of every parameter except the surrogate's.
    std::vector<synfire_parameter_gradient> gradients;
    for (uint32_t i = 0;; ++i) {
      synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
      if (!fires && synfire_layer_get_parameter_info(layer_, i, &info) != SYNFIRE_OK) break;
      if (fires) REQUIRE(synfire_layer_get_parameter_info(layer_, i, &info));
      gradients.push_back({info.name, buffer(i % 2 == 0 ? 1 : static_cast<uint64_t>(desc_.n_neurons), arithmetic)});
      outputs.emplace_back(gradients.back().gradient, arithmetic);
      if (std::string(info.name) == "v_reset") break;
    }
    backward.parameter_gradients = gradients.data(), backward.n_parameter_gradients = gradients.size();
    Hash hash;
    for (int pass = 0; pass < 2; ++pass) {  // the second continues the state of the first
      REQUIRE(synfire_layer_forward(layer_, &forward, nullptr));
      REQUIRE(synfire_layer_backward(layer_, &backward, nullptr));
      if (fires) hash.add<uint32_t>(neuron_packed(read(spikes), variant.spikes), 0);
      if (recurrent_) add_weight_gradients(hash);
      for (const auto& [output, dtype] : outputs) {
        switch (dtype) {
          case SYNFIRE_DTYPE_F64:
            hash.add<uint64_t>(read(output), 0x7FF0000000000000u);
            break;
          case SYNFIRE_DTYPE_F16:
            hash.add<uint16_t>(read(output), 0x7C00u);
            break;
          case SYNFIRE_DTYPE_BF16:
            hash.add<uint16_t>(read(output), 0x7F80u);
            break;
          default:
            hash.add<uint32_t>(read(output), 0x7F800000u);
            break;
        }
      }
    }
    return hash.value();
  }

 private:
  void add_weight_gradients(Hash& hash) const {
    const bool is_wide = desc_.dtype == SYNFIRE_DTYPE_F64;
    std::vector<unsigned char> values(static_cast<size_t>(shape_.n_neurons * shape_.n_neurons) * (is_wide ? 8 : 4));
    REQUIRE(synfire_synapse_read(recurrent_, "weight_gradient", values.data(), values.size()));
    if (is_wide)
      hash.add<uint64_t>(values, 0x7FF0000000000000u);
    else
      hash.add<uint32_t>(values, 0x7F800000u);
  }
  synfire_buffer buffer(uint64_t n, int32_t dtype) {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.n_elements = n, desc.dtype = dtype;
    synfire_buffer made = nullptr;
    REQUIRE(synfire_buffer_create(context_, &desc, &made));
    buffers_.push_back(made);
    return made;
  }
  template <class R>
  void upload(synfire_buffer to, uint64_t n, Generator& values, double low, double high) {
    std::vector<R> drawn(n);
    for (R& value : drawn) value = R(static_cast<std::conditional_t<sizeof(R) == 8, double, float>>(values(low, high)));
    REQUIRE(synfire_buffer_upload(to, 0, drawn.data(), n * sizeof(R)));
  }
  synfire_buffer input(uint64_t n, int32_t dtype, Generator& values, double low, double high) {
    const synfire_buffer made = buffer(n, dtype);
    switch (dtype) {
      case SYNFIRE_DTYPE_F64:
        upload<double>(made, n, values, low, high);
        break;
      case SYNFIRE_DTYPE_F16:
        upload<synfire::f16>(made, n, values, low, high);
        break;
      case SYNFIRE_DTYPE_BF16:
        upload<synfire::bf16>(made, n, values, low, high);
        break;
      default:
        upload<float>(made, n, values, low, high);
        break;
    }
    return made;
  }
  synfire_buffer spike_buffer(int32_t format) {
    const auto time_words = static_cast<uint64_t>((shape_.n_steps + 31) / 32);
    const synfire_buffer made = buffer(format == SYNFIRE_DTYPE_BITS ? words_
                                       : format == SYNFIRE_DTYPE_U8 ? sequence_
                                                                    : time_words * row_,
                                       format);
    REQUIRE(synfire_buffer_fill(made, format == SYNFIRE_DTYPE_U8 ? 255 : 4294967295.0));
    return made;
  }
  // Spikes as neuron-packed words, from any format. A byte other than 0 and 1, or a bit beyond the last step, changes
  // the result.
  std::vector<unsigned char> neuron_packed(const std::vector<unsigned char>& bytes, int32_t format) const {
    if (format == SYNFIRE_DTYPE_BITS) return bytes;
    const auto n_neurons = static_cast<uint64_t>(shape_.n_neurons), per_row = (n_neurons + 31) / 32;
    std::vector<uint32_t> words(words_);
    const auto set = [&](uint64_t step, uint64_t column, uint32_t spike) {
      const uint64_t neuron = column % n_neurons;
      words[(step * row_ + column) / n_neurons * per_row + neuron / 32] |= spike << (neuron % 32);
    };
    if (format == SYNFIRE_DTYPE_U8) {
      for (uint64_t i = 0; i < sequence_; ++i) set(i / row_, i % row_, bytes[i]);
    } else {
      for (uint64_t i = 0; i < bytes.size() / 4; ++i) {
        uint32_t word = 0;
        std::memcpy(&word, &bytes[i * 4], sizeof word);
        for (uint64_t bit = 0; bit < 32; ++bit) {
          const uint64_t step = i / row_ * 32 + bit;
          const uint32_t spike = word >> bit & 1u;
          if (step * row_ < sequence_)
            set(step, i % row_, spike);
          else if (spike != 0)
            words[0] = ~words[0];
        }
      }
    }
    std::vector<unsigned char> packed(words.size() * sizeof(uint32_t));
    std::memcpy(packed.data(), words.data(), packed.size());
    return packed;
  }
  static std::vector<unsigned char> read(synfire_buffer from) {
    uint64_t bytes = 0;
    REQUIRE(synfire_buffer_get_data(from, nullptr, &bytes));
    std::vector<unsigned char> values(bytes);
    REQUIRE(synfire_buffer_download(from, 0, values.data(), bytes));
    return values;
  }

  synfire_context context_;
  synfire_layer_desc desc_;
  Shape shape_;
  uint64_t row_, sequence_, words_;
  synfire_layer layer_ = nullptr;
  synfire_synapse recurrent_ = nullptr;  // of a layer with a history
  std::vector<synfire_buffer> buffers_;
};

// The combinations that are hashed: models times surrogates, each id once.
struct Choice {
  std::vector<int32_t> models, surrogates;
  int32_t added_surrogate = 0;  // hashed with every model here
  bool half = false;            // soft resets and one number per neuron together, and the rest without both
};

Choice built_in() {
  Choice choice;
  for (int32_t model = SYNFIRE_MODEL_IF; model <= SYNFIRE_MODEL_IZHIKEVICH; ++model) choice.models.push_back(model);
  for (int32_t surrogate = SYNFIRE_SURROGATE_SIGMOID; surrogate <= SYNFIRE_SURROGATE_RECT; ++surrogate)
    choice.surrogates.push_back(surrogate);
  return choice;
}

// LI, which never fires, and so has no surrogate.
Choice without_spikes() {
  return {{SYNFIRE_MODEL_LI}, {SYNFIRE_SURROGATE_DEFAULT}};
}

// Models with a current, and models that are solved exactly: half of their lines.
Choice further() {
  Choice choice = {{SYNFIRE_MODEL_LIF_EXACT, SYNFIRE_MODEL_CUBA_LIF, SYNFIRE_MODEL_CUBA_LIF_EXACT},
                   {SYNFIRE_SURROGATE_SIGMOID}};
  choice.half = true;
  return choice;
}
Choice further_without_spikes() {
  Choice choice = {
      {SYNFIRE_MODEL_LI_EXACT, SYNFIRE_MODEL_CUBA_LI, SYNFIRE_MODEL_CUBA_LI_EXACT, SYNFIRE_MODEL_INTEGRATOR},
      {SYNFIRE_SURROGATE_DEFAULT}};
  choice.half = true;
  return choice;
}

Choice added(const std::string& model_name, const std::string& surrogate_name) {
  int32_t model = 0, surrogate = 0;
  REQUIRE(synfire_model_id(model_name.c_str(), &model));
  REQUIRE(synfire_surrogate_id(surrogate_name.c_str(), &surrogate));
  return {{SYNFIRE_MODEL_LIF, model}, {SYNFIRE_SURROGATE_SIGMOID, SYNFIRE_SURROGATE_ATAN, surrogate}, surrogate};
}

// Lines are counted over all of the output, so that those of a sample are found in the record.
std::string all_hashes(synfire_context context, const Choice& choice, synfire_test::Sample& sample) {
  // Odd rows, several checkpoint intervals, and, for one configuration of each model, enough work for several threads.
  const Shape shapes[] = {{1, 1, 1}, {37, 3, 77}, {100, 1, 64}, {9, 2, 32769}};
  constexpr int64_t large = 10000;
  constexpr size_t shape_of_variants = 1;
  constexpr Variant first = {"bits recompute", SYNFIRE_DTYPE_BITS, SYNFIRE_TAPE_RECOMPUTE};
  constexpr Variant variants[] = {{"u8 store", SYNFIRE_DTYPE_U8, SYNFIRE_TAPE_STORE},
                                  {"time-bits store", SYNFIRE_DTYPE_TIME_BITS, SYNFIRE_TAPE_STORE}};
  std::ostringstream out;
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16})
    for (const int32_t model : choice.models)
      for (const int32_t surrogate : choice.surrogates)
        for (const int32_t reset : {SYNFIRE_RESET_HARD, SYNFIRE_RESET_SOFT})
          for (const int32_t detach : {0, 1})
            for (const int32_t undecayed : {0, 1})
              for (const bool per_neuron : {false, true}) {
                const bool narrow = dtype == SYNFIRE_DTYPE_F16 || dtype == SYNFIRE_DTYPE_BF16;
                if (undecayed && narrow) continue;
                const bool has_input_decay = model == SYNFIRE_MODEL_LIF || model == SYNFIRE_MODEL_PLIF ||
                                             (model > SYNFIRE_MODEL_IZHIKEVICH && model != SYNFIRE_MODEL_INTEGRATOR);
                if (undecayed && !has_input_decay) continue;
                if (is_silent(model) && (reset || detach)) continue;
                if (choice.half && (detach || (!is_silent(model) && (reset != 0) != per_neuron))) continue;
                const bool plain = !reset && !detach && !undecayed && !per_neuron;
                // Every surrogate once with LIF; everything else with the two common surrogates.
                const bool common = surrogate <= SYNFIRE_SURROGATE_ATAN || surrogate == choice.added_surrogate;
                if (choice.added_surrogate != 0 && model == SYNFIRE_MODEL_LIF && surrogate != choice.added_surrogate)
                  continue;
                if (!common && (model != SYNFIRE_MODEL_LIF || !plain)) continue;
                if (!sample.next()) continue;
                out << name_of(dtype) << " model " << model << " surrogate " << surrogate << " reset " << reset
                    << " detach " << detach << " undecayed " << undecayed << " per_neuron " << per_neuron;
                std::string differing;
                for (const Shape& shape : shapes) {
                  if (shape.n_neurons > large && (!plain || surrogate > SYNFIRE_SURROGATE_SIGMOID)) continue;
                  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
                  desc.model = model, desc.n_steps = shape.n_steps, desc.n_neurons = shape.n_neurons;
                  desc.batch = shape.batch, desc.dtype = dtype, desc.reset = reset, desc.surrogate = surrogate;
                  desc.detach_reset = detach, desc.undecayed_input = undecayed;
                  char text[32];
                  const uint64_t hash = Layer(context, desc, shape, per_neuron).hash(7, first);
                  std::snprintf(text, sizeof text, " %016llx", static_cast<unsigned long long>(hash));
                  if (&shape == &shapes[shape_of_variants])
                    for (const Variant& variant : variants)
                      if (Layer(context, desc, shape, per_neuron).hash(7, variant) != hash)
                        differing += std::string(" ") + variant.name + " differs";
                  out << text;
                }
                out << differing << "\n";
              }
  return out.str();
}

// A strict threshold, a delayed reset, refractory steps, with models of one and two variables and ALIF; each with all
// tapes.
std::string ruled_hashes(synfire_context context, synfire_test::Sample& sample) {
  struct Rules {
    const char* name;
    int32_t reset, detach_reset, strict_threshold, refractory_steps, surrogate;
  };
  constexpr Rules all[] = {
      {"strict", SYNFIRE_RESET_SOFT, 0, 1, 0, SYNFIRE_SURROGATE_SIGMOID},
      {"delayed", SYNFIRE_RESET_SOFT_DELAYED, 0, 0, 0, SYNFIRE_SURROGATE_MULTI_GAUSSIAN},
      {"delayed and refractory", SYNFIRE_RESET_SOFT_DELAYED, 1, 1, 2, SYNFIRE_SURROGATE_ATAN},
      {"refractory", SYNFIRE_RESET_HARD, 0, 0, 3, SYNFIRE_SURROGATE_SIGMOID},
  };
  constexpr Variant variants[] = {{"bits recompute", SYNFIRE_DTYPE_BITS, SYNFIRE_TAPE_RECOMPUTE},
                                  {"u8 store", SYNFIRE_DTYPE_U8, SYNFIRE_TAPE_STORE},
                                  {"time-bits store", SYNFIRE_DTYPE_TIME_BITS, SYNFIRE_TAPE_STORE}};
  constexpr Shape shape = {37, 3, 77};
  std::ostringstream out;
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_BF16})
    for (const int32_t model :
         {SYNFIRE_MODEL_IF, SYNFIRE_MODEL_LIF, SYNFIRE_MODEL_EIF, SYNFIRE_MODEL_IZHIKEVICH, SYNFIRE_MODEL_ALIF})
      for (const Rules& rules : all)
        for (const bool per_neuron : {false, true}) {
          if (!sample.next()) continue;
          synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
          desc.model = model, desc.n_steps = shape.n_steps, desc.n_neurons = shape.n_neurons;
          desc.batch = shape.batch, desc.dtype = dtype, desc.surrogate = rules.surrogate, desc.reset = rules.reset;
          desc.detach_reset = rules.detach_reset, desc.strict_threshold = rules.strict_threshold;
          desc.refractory_steps = rules.refractory_steps;
          const uint64_t hash = Layer(context, desc, shape, per_neuron).hash(7, variants[0]);
          char text[32];
          std::snprintf(text, sizeof text, " %016llx", static_cast<unsigned long long>(hash));
          out << name_of(dtype) << " model " << model << " " << rules.name << " per_neuron " << per_neuron << text;
          for (const Variant& variant : variants)
            if (Layer(context, desc, shape, per_neuron).hash(7, variant) != hash)
              out << " " << variant.name << " differs";
          out << "\n";
        }
  return out.str();
}

// Layers that read their own spikes, with all tapes; the second pass begins with the spikes of the first.
std::string recurrent_hashes(synfire_context context, synfire_test::Sample& sample) {
  constexpr Variant variants[] = {{"bits recompute", SYNFIRE_DTYPE_BITS, SYNFIRE_TAPE_RECOMPUTE},
                                  {"u8 store", SYNFIRE_DTYPE_U8, SYNFIRE_TAPE_STORE},
                                  {"time-bits store", SYNFIRE_DTYPE_TIME_BITS, SYNFIRE_TAPE_STORE}};
  constexpr Shape shape = {37, 3, 77};
  std::ostringstream out;
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_BF16})
    for (const int32_t model : {SYNFIRE_MODEL_LIF, SYNFIRE_MODEL_CUBA_LIF, SYNFIRE_MODEL_ALIF})
      for (const int64_t delay : std::initializer_list<int64_t>{1, 40}) {
        if (!sample.next()) continue;
        synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
        desc.model = model, desc.n_steps = shape.n_steps, desc.n_neurons = shape.n_neurons;
        desc.batch = shape.batch, desc.dtype = dtype, desc.history_steps = delay;
        const uint64_t hash = Layer(context, desc, shape, false).hash(7, variants[0]);
        char text[32];
        std::snprintf(text, sizeof text, " %016llx", static_cast<unsigned long long>(hash));
        out << name_of(dtype) << " model " << model << " recurrent after " << delay << text;
        for (const Variant& variant : variants)
          if (Layer(context, desc, shape, false).hash(7, variant) != hash) out << " " << variant.name << " differs";
        out << "\n";
      }
  return out.str();
}

// A network after some replays of training.
std::string network_hash(synfire_context context, const synfire_test::NetworkPlan& plan, int n_replays) {
  synfire_test::TrainedNetwork network(context, plan, [](synfire_status status) { REQUIRE(status); });
  network.train(n_replays);
  const std::vector<float> results = network.results();
  std::vector<unsigned char> bytes(results.size() * sizeof results[0]);
  std::memcpy(bytes.data(), results.data(), bytes.size());
  Hash hash;
  hash.add<uint32_t>(bytes, 0x7F800000u);
  char text[32];
  std::snprintf(text, sizeof text, " %016llx", static_cast<unsigned long long>(hash.value()));
  std::ostringstream out;
  out << "network " << plan << text << "\n";
  return out.str();
}

std::string network_hashes(synfire_context context, synfire_test::Sample& sample) {
  std::ostringstream out;
  for (const int32_t optimizer :
       {SYNFIRE_OPTIMIZER_KIND_SGD, SYNFIRE_OPTIMIZER_KIND_ADAM, SYNFIRE_OPTIMIZER_KIND_ADAMW})
    for (const bool of_layers : {false, true}) {
      if (!sample.next()) continue;
      synfire_test::NetworkPlan plan;
      plan.sizes =
          optimizer == SYNFIRE_OPTIMIZER_KIND_SGD ? std::vector<int64_t>{65, 7} : std::vector<int64_t>{77, 130, 33, 5};
      plan.n_steps = 19;
      plan.batch = 7;
      plan.active = 6;
      plan.rate = 0.6;
      plan.optimizer = optimizer;
      plan.gradient_bits = of_layers ? 32 : 24;
      plan.synapses_of_layers = of_layers;
      plan.dropout = !of_layers;
      out << network_hash(context, plan, 10);
    }
  for (const int32_t schedule : {SYNFIRE_SCHEDULE_COSINE, SYNFIRE_SCHEDULE_STEP}) {
    if (!sample.next()) continue;
    synfire_test::NetworkPlan plan;
    plan.sizes = {65, 7};
    plan.n_steps = 5;
    plan.batch = plan.active = 3;
    plan.rate = 0.6;
    plan.schedule = schedule;
    plan.batches_per_step = schedule == SYNFIRE_SCHEDULE_COSINE ? 1 : 3;
    out << network_hash(context, plan, 30);
  }
  return out.str();
}

// The product and all gradients of a one-to-one synapse, then a step of Adam.
template <class R>
uint64_t one_to_one_hash(synfire_context context, int32_t kind, int32_t scope) {
  constexpr bool wide = sizeof(R) == 8;
  constexpr int32_t dtype = wide ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32;
  constexpr int64_t n_steps = 131, batch = 5, height = 3, width = 5, channels = 23;
  constexpr uint64_t n_elements = n_steps * batch * height * width * channels;
  synfire_one_to_one_desc desc = SYNFIRE_ONE_TO_ONE_DESC_INIT;
  desc.input_kind = kind, desc.scope = scope, desc.dtype = dtype, desc.bias = 1;
  desc.height = height, desc.width = width, desc.channels = channels;
  synfire_synapse synapse = nullptr;
  REQUIRE(synfire_synapse_create_one_to_one(context, &desc, &synapse));
  synfire_synapse_array_info info = SYNFIRE_SYNAPSE_ARRAY_INFO_INIT;
  REQUIRE(synfire_synapse_get_array_info(synapse, 0, &info));
  const auto n_entries = static_cast<size_t>(info.shape[0]);
  Generator values(41);
  const auto draw = [&](size_t count, double low, double high) {
    std::vector<R> drawn(count);
    for (R& value : drawn) value = static_cast<R>(values(low, high));
    return drawn;
  };
  for (const char* const name : {"weight", "bias"})
    REQUIRE(synfire_synapse_write(synapse, name, draw(n_entries, -2, 2).data(), n_entries * sizeof(R)));
  std::vector<R> x = draw(n_elements, -1, 1), grad = draw(n_elements, -1, 1);
  if (kind == SYNFIRE_INPUT_SPIKES)
    for (R& value : x) value = static_cast<R>(value > 0.5 ? 1 : 0);
  for (size_t i = 0; i < grad.size(); i += 7) grad[i] *= static_cast<R>(0x1p-20);
  synfire_buffer buffers[4] = {};
  synfire_buffer_desc bd = SYNFIRE_BUFFER_DESC_INIT;
  bd.n_elements = n_elements, bd.dtype = dtype;
  for (synfire_buffer& buffer : buffers) REQUIRE(synfire_buffer_create(context, &bd, &buffer));
  const auto [input, grad_output, output, grad_input] = buffers;
  REQUIRE(synfire_buffer_upload(input, 0, x.data(), n_elements * sizeof(R)));
  REQUIRE(synfire_buffer_upload(grad_output, 0, grad.data(), n_elements * sizeof(R)));
  synfire_synapse_forward_desc forward = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
  forward.n_steps = n_steps, forward.batch = batch, forward.input = input, forward.output = output;
  synfire_synapse_backward_desc backward = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
  backward.n_steps = n_steps, backward.batch = batch, backward.input = input, backward.grad_output = grad_output;
  backward.grad_input = grad_input;
  synfire_optimizer_desc od = SYNFIRE_OPTIMIZER_DESC_INIT;
  od.kind = SYNFIRE_OPTIMIZER_KIND_ADAM;
  synfire_optimizer optimizer = nullptr;
  REQUIRE(synfire_optimizer_create(context, &od, &optimizer));
  for (const char* const name : {"weight", "bias"})
    REQUIRE(synfire_optimizer_add_array(optimizer, synapse, name, 1, 0));
  REQUIRE(synfire_synapse_forward(synapse, &forward, nullptr));
  REQUIRE(synfire_synapse_backward(synapse, &backward, nullptr));
  const synfire_optimizer_step_desc step = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  REQUIRE(synfire_optimizer_step(optimizer, &step, nullptr));
  Hash hash;
  const auto add = [&](const std::vector<unsigned char>& bytes) {
    if constexpr (wide)
      hash.add<uint64_t>(bytes, 0x7FF0000000000000u);
    else
      hash.add<uint32_t>(bytes, 0x7F800000u);
  };
  std::vector<unsigned char> bytes(n_elements * sizeof(R));
  for (const synfire_buffer buffer : {output, grad_input}) {
    REQUIRE(synfire_buffer_download(buffer, 0, bytes.data(), bytes.size()));
    add(bytes);
  }
  bytes.resize(n_entries * sizeof(R));
  for (const char* const name : {"weight_gradient", "bias_gradient", "weight", "bias"}) {
    REQUIRE(synfire_synapse_read(synapse, name, bytes.data(), bytes.size()));
    add(bytes);
  }
  synfire_optimizer_destroy(optimizer);
  synfire_synapse_destroy(synapse);
  for (const synfire_buffer buffer : buffers) synfire_buffer_destroy(buffer);
  return hash.value();
}

// The activities and all gradients of a population code, then a step of Adam.
template <class R>
uint64_t population_hash(synfire_context context) {
  constexpr bool wide = sizeof(R) == 8;
  constexpr int32_t dtype = wide ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32;
  constexpr int64_t n_steps = 11, batch = 37, n_inputs = 29, n_cells = 10;
  constexpr size_t n_outputs = n_inputs * n_cells, n_rows = n_steps * batch;
  synfire_population_desc desc = SYNFIRE_POPULATION_DESC_INIT;
  desc.dtype = dtype, desc.channels = n_inputs, desc.n_cells = n_cells;
  synfire_synapse synapse = nullptr;
  REQUIRE(synfire_synapse_create_population(context, &desc, &synapse));
  Generator values(83);
  const auto draw = [&](size_t count, double low, double high) {
    std::vector<R> drawn(count);
    for (R& value : drawn) value = static_cast<R>(values(low, high));
    return drawn;
  };
  REQUIRE(synfire_synapse_write(synapse, "sigma", draw(n_outputs, 0.1, 2).data(), n_outputs * sizeof(R)));
  const size_t lengths[] = {n_rows * n_inputs, n_rows * n_outputs, n_rows * n_outputs, n_rows * n_inputs};
  synfire_buffer buffers[4] = {};
  for (size_t i = 0; i < 4; ++i) {
    synfire_buffer_desc bd = SYNFIRE_BUFFER_DESC_INIT;
    bd.n_elements = lengths[i], bd.dtype = dtype;
    REQUIRE(synfire_buffer_create(context, &bd, &buffers[i]));
    if (i >= 2) continue;
    std::vector<R> numbers = draw(lengths[i], i == 0 ? -4 : -1, i == 0 ? 4 : 1);
    for (size_t k = 0; i == 1 && k < numbers.size(); k += 7) numbers[k] *= static_cast<R>(0x1p-20);
    REQUIRE(synfire_buffer_upload(buffers[i], 0, numbers.data(), numbers.size() * sizeof(R)));
  }
  const auto [input, grad_output, output, grad_input] = buffers;
  synfire_synapse_forward_desc forward = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
  forward.n_steps = n_steps, forward.batch = batch, forward.input = input, forward.output = output;
  synfire_synapse_backward_desc backward = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
  backward.n_steps = n_steps, backward.batch = batch, backward.input = input, backward.grad_output = grad_output;
  backward.grad_input = grad_input;
  synfire_optimizer_desc od = SYNFIRE_OPTIMIZER_DESC_INIT;
  od.kind = SYNFIRE_OPTIMIZER_KIND_ADAM;
  synfire_optimizer optimizer = nullptr;
  REQUIRE(synfire_optimizer_create(context, &od, &optimizer));
  for (const char* const name : {"mu", "sigma"}) REQUIRE(synfire_optimizer_add_array(optimizer, synapse, name, 1, 0));
  REQUIRE(synfire_synapse_forward(synapse, &forward, nullptr));
  REQUIRE(synfire_synapse_backward(synapse, &backward, nullptr));
  const synfire_optimizer_step_desc step = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  REQUIRE(synfire_optimizer_step(optimizer, &step, nullptr));
  Hash hash;
  const auto add = [&](const std::vector<unsigned char>& bytes) {
    if constexpr (wide)
      hash.add<uint64_t>(bytes, 0x7FF0000000000000u);
    else
      hash.add<uint32_t>(bytes, 0x7F800000u);
  };
  std::vector<unsigned char> bytes;
  for (size_t i = 2; i < 4; ++i) {
    bytes.resize(lengths[i] * sizeof(R));
    REQUIRE(synfire_buffer_download(buffers[i], 0, bytes.data(), bytes.size()));
    add(bytes);
  }
  bytes.resize(n_outputs * sizeof(R));
  for (const char* const name : {"mu_gradient", "sigma_gradient", "mu", "sigma"}) {
    REQUIRE(synfire_synapse_read(synapse, name, bytes.data(), bytes.size()));
    add(bytes);
  }
  synfire_optimizer_destroy(optimizer);
  synfire_synapse_destroy(synapse);
  for (const synfire_buffer buffer : buffers) synfire_buffer_destroy(buffer);
  return hash.value();
}

std::string population_hashes(synfire_context context, synfire_test::Sample& sample) {
  std::ostringstream out;
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64}) {
    if (!sample.next()) continue;
    const uint64_t hash =
        dtype == SYNFIRE_DTYPE_F64 ? population_hash<double>(context) : population_hash<float>(context);
    char text[32];
    std::snprintf(text, sizeof text, " %016llx", static_cast<unsigned long long>(hash));
    out << "population " << name_of(dtype) << text << "\n";
  }
  return out.str();
}

// Products and all gradients of delays, of connections, fixed and learnt, and of inputs and outputs, with the spikes of
// earlier steps; then a step of Adam, and the product with rounded delays.
template <class R>
uint64_t delayed_hash(synfire_context context, int32_t delays_of, bool learns) {
  constexpr bool wide = sizeof(R) == 8;
  constexpr int32_t dtype = wide ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32;
  constexpr int64_t n_steps = 17, batch = 5, n_inputs = 45, n_outputs = 33, max_delay = 21, n_words = 2;
  constexpr size_t n_connections = n_inputs * n_outputs;
  synfire_delayed_desc desc = SYNFIRE_DELAYED_DESC_INIT;
  desc.dtype = dtype, desc.n_inputs = n_inputs, desc.n_outputs = n_outputs, desc.max_delay = max_delay;
  desc.bias = 1, desc.delays_of = delays_of, desc.learn_delays = learns ? 1 : 0, desc.width = learns ? 2.5 : 0;
  synfire_synapse synapse = nullptr;
  REQUIRE(synfire_synapse_create_delayed(context, &desc, &synapse));
  Generator values(89);
  // Spikes, the history, dL/dy; y, dL/dx, the next history.
  const size_t lengths[] = {n_steps * batch * n_words,   max_delay * batch * n_words, n_steps * batch * n_outputs,
                            n_steps * batch * n_outputs, n_steps * batch * n_inputs,  max_delay * batch * n_words};
  synfire_buffer buffers[6] = {};
  for (size_t i = 0; i < 6; ++i) {
    const bool has_words = i < 2 || i == 5;
    synfire_buffer_desc bd = SYNFIRE_BUFFER_DESC_INIT;
    bd.n_elements = lengths[i], bd.dtype = has_words ? SYNFIRE_DTYPE_BITS : dtype;
    REQUIRE(synfire_buffer_create(context, &bd, &buffers[i]));
    if (i < 2) {
      std::vector<uint32_t> words(lengths[i]);
      for (size_t k = 0; k < words.size(); ++k) {
        for (int bit = 0; bit < 32; ++bit) words[k] |= values(0, 1) < 0.2 ? uint32_t{1} << bit : 0;
        if (k % n_words == 1) words[k] &= (uint32_t{1} << (n_inputs - 32)) - 1;
      }
      REQUIRE(synfire_buffer_upload(buffers[i], 0, words.data(), words.size() * sizeof(uint32_t)));
    } else if (i == 2) {
      std::vector<R> numbers(lengths[i]);
      for (R& value : numbers) value = static_cast<R>(values(-1, 1));
      for (size_t k = 0; k < numbers.size(); k += 7) numbers[k] *= static_cast<R>(0x1p-20);
      REQUIRE(synfire_buffer_upload(buffers[i], 0, numbers.data(), numbers.size() * sizeof(R)));
    }
  }
  synfire_synapse_forward_desc forward = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
  forward.n_steps = n_steps, forward.batch = batch, forward.input = buffers[0], forward.output = buffers[3];
  forward.history = buffers[1], forward.next_history = buffers[5];
  synfire_synapse_backward_desc backward = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
  backward.n_steps = n_steps, backward.batch = batch, backward.input = buffers[0], backward.grad_output = buffers[2];
  backward.grad_input = buffers[4], backward.history = buffers[1];
  synfire_optimizer_desc od = SYNFIRE_OPTIMIZER_DESC_INIT;
  od.kind = SYNFIRE_OPTIMIZER_KIND_ADAM;
  synfire_optimizer optimizer = nullptr;
  REQUIRE(synfire_optimizer_create(context, &od, &optimizer));
  Hash hash;
  const auto add = [&](const std::vector<unsigned char>& bytes) {
    if constexpr (wide)
      hash.add<uint64_t>(bytes, 0x7FF0000000000000u);
    else
      hash.add<uint32_t>(bytes, 0x7F800000u);
  };
  const auto add_buffer = [&](size_t i) {
    std::vector<unsigned char> bytes(lengths[i] * (i == 5 ? sizeof(uint32_t) : sizeof(R)));
    REQUIRE(synfire_buffer_download(buffers[i], 0, bytes.data(), bytes.size()));
    if (i == 5) return hash.add<uint32_t>(bytes, 0);
    add(bytes);
  };
  REQUIRE(synfire_synapse_forward(synapse, &forward, nullptr));
  REQUIRE(synfire_synapse_backward(synapse, &backward, nullptr));
  for (const size_t i : {size_t{3}, size_t{4}, size_t{5}}) add_buffer(i);
  std::vector<const char*> names = {"weight", "bias"};
  if (learns) names.push_back("delay");
  for (const char* const name : names) REQUIRE(synfire_optimizer_add_array(optimizer, synapse, name, 1, 0));
  const synfire_optimizer_step_desc step = SYNFIRE_OPTIMIZER_STEP_DESC_INIT;
  REQUIRE(synfire_optimizer_step(optimizer, &step, nullptr));
  forward.round_delays = 1;
  REQUIRE(synfire_synapse_forward(synapse, &forward, nullptr));
  add_buffer(3);
  for (const char* const name : names) {
    const bool is_bias = std::string(name) == "bias";
    std::vector<unsigned char> bytes((is_bias ? n_outputs : n_connections) * sizeof(R));
    for (const std::string& of : {std::string(name).append("_gradient"), std::string(name)}) {
      REQUIRE(synfire_synapse_read(synapse, of.c_str(), bytes.data(), bytes.size()));
      add(bytes);
    }
  }
  synfire_optimizer_destroy(optimizer);
  synfire_synapse_destroy(synapse);
  for (const synfire_buffer buffer : buffers) synfire_buffer_destroy(buffer);
  return hash.value();
}

std::string delayed_hashes(synfire_context context, synfire_test::Sample& sample) {
  struct Delays {
    const char* name;
    int32_t of;
    bool learns;
  };
  static constexpr Delays all[] = {{"fixed", SYNFIRE_DELAYS_OF_CONNECTIONS, false},
                                   {"learnt", SYNFIRE_DELAYS_OF_CONNECTIONS, true},
                                   {"of inputs", SYNFIRE_DELAYS_OF_INPUTS, false},
                                   {"of outputs", SYNFIRE_DELAYS_OF_OUTPUTS, false}};
  std::ostringstream out;
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64})
    for (const Delays& delays : all) {
      if (!sample.next()) continue;
      const uint64_t hash = dtype == SYNFIRE_DTYPE_F64 ? delayed_hash<double>(context, delays.of, delays.learns)
                                                       : delayed_hash<float>(context, delays.of, delays.learns);
      char text[32];
      std::snprintf(text, sizeof text, " %016llx", static_cast<unsigned long long>(hash));
      out << "delayed " << name_of(dtype) << " " << delays.name << text << "\n";
    }
  return out.str();
}

std::string one_to_one_hashes(synfire_context context, synfire_test::Sample& sample) {
  std::ostringstream out;
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64})
    for (const int32_t kind : {SYNFIRE_INPUT_SPIKES, SYNFIRE_INPUT_VALUES})
      for (const int32_t scope : {SYNFIRE_SCOPE_NEURON, SYNFIRE_SCOPE_CHANNEL, SYNFIRE_SCOPE_LAYER}) {
        if (!sample.next()) continue;
        const uint64_t hash = dtype == SYNFIRE_DTYPE_F64 ? one_to_one_hash<double>(context, kind, scope)
                                                         : one_to_one_hash<float>(context, kind, scope);
        char text[32];
        std::snprintf(text, sizeof text, " %016llx", static_cast<unsigned long long>(hash));
        out << "one-to-one " << name_of(dtype) << " input " << kind << " scope " << scope << text << "\n";
      }
  return out.str();
}

// Events in any order and on both sides of a small sensor, in two batch rows, whose times wrap.
uint64_t events_hash(synfire_context context, int32_t split, int32_t dtype) {
  constexpr int64_t n_steps = 7, batch = 2, capacity = 5000, height = 20, width = 33;
  synfire_bin_events_desc desc = SYNFIRE_BIN_EVENTS_DESC_INIT;
  desc.split = split, desc.n_steps = n_steps, desc.batch = batch, desc.capacity = capacity;
  desc.sensor_height = height, desc.sensor_width = width, desc.downsample_x = 2, desc.crop_range_y = 3;
  desc.flip_x = 0.5, desc.seed = 11, desc.keep = SYNFIRE_EVENTS_KEEP_NEWEST;
  desc.bilinear = split == SYNFIRE_EVENTS_BY_TIME && dtype == SYNFIRE_DTYPE_F32;
  desc.sort = split == SYNFIRE_EVENTS_BY_COUNT, desc.count_bound = dtype == SYNFIRE_DTYPE_U8 ? 3 : 0;
  constexpr uint64_t n = (height - 3) * (width / 2 + 1) * 2;
  std::vector<uint64_t> events;
  Generator values(47);
  const auto draw = [&](double below) { return static_cast<uint64_t>(values(0, below)); };
  for (int64_t i = 0; i < batch * capacity; ++i) {
    const uint64_t time = (0xFFFFFF00u + draw(8000)) & 0xFFFFFFFFu;
    events.push_back(time | draw(width + 1) << 32 | draw(height + 1) << 46 | draw(2) << 60);
  }
  const std::vector<uint32_t> counts = {capacity + 77, 4321}, window = {0xFFFFFF00u, 1000, 0xFFFFFF80u, 900};
  synfire_buffer buffers[5] = {};
  const auto make = [&](synfire_buffer& buffer, uint64_t n_elements, int32_t type, const void* data, size_t bytes) {
    synfire_buffer_desc bd = SYNFIRE_BUFFER_DESC_INIT;
    bd.n_elements = n_elements, bd.dtype = type;
    REQUIRE(synfire_buffer_create(context, &bd, &buffer));
    if (bytes > 0) REQUIRE(synfire_buffer_upload(buffer, 0, data, bytes));
  };
  const uint64_t n_results = n_steps * batch * (dtype == SYNFIRE_DTYPE_BITS ? (n + 31) / 32 : n);
  make(buffers[0], events.size(), SYNFIRE_DTYPE_U64, events.data(), events.size() * sizeof events[0]);
  make(buffers[1], batch, SYNFIRE_DTYPE_U32, counts.data(), counts.size() * sizeof counts[0]);
  make(buffers[2], 2 * batch, SYNFIRE_DTYPE_U32, window.data(), window.size() * sizeof window[0]);
  make(buffers[3], n_results, dtype, nullptr, 0);
  make(buffers[4], 5 * batch, SYNFIRE_DTYPE_U32, nullptr, 0);
  desc.events = buffers[0], desc.event_counts = buffers[1], desc.window = buffers[2];
  desc.destination = buffers[3], desc.faults = buffers[4];
  synfire_graph graph = nullptr;
  REQUIRE(synfire_graph_create(context, nullptr, &graph));
  REQUIRE(synfire_graph_record_bin_events(graph, &desc));
  REQUIRE(synfire_graph_instantiate(graph));
  Hash hash;
  const auto add = [&](synfire_buffer buffer, uint64_t bytes) {
    std::vector<unsigned char> image((bytes + 3) / 4 * 4);
    REQUIRE(synfire_buffer_download(buffer, 0, image.data(), bytes));
    hash.add<uint32_t>(image, 0u);
  };
  for (int i = 0; i < 2; ++i) {  // another augmentation
    REQUIRE(synfire_graph_launch(graph, nullptr, nullptr));
    add(buffers[3], n_results * (dtype == SYNFIRE_DTYPE_U8 ? 1 : 4));
    add(buffers[4], 5 * batch * 4);
  }
  synfire_graph_destroy(graph);
  for (const synfire_buffer buffer : buffers) synfire_buffer_destroy(buffer);
  return hash.value();
}

std::string events_hashes(synfire_context context, synfire_test::Sample& sample) {
  std::ostringstream out;
  for (const int32_t split : {SYNFIRE_EVENTS_BY_TIME, SYNFIRE_EVENTS_BY_COUNT})
    for (const int32_t dtype : {SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_F32}) {
      if (!sample.next()) continue;
      char text[32];
      std::snprintf(text, sizeof text, " %016llx", static_cast<unsigned long long>(events_hash(context, split, dtype)));
      out << "events split " << split << " dtype " << dtype << text << "\n";
    }
  return out.str();
}

// The product and all gradients of a convolution over small integers of a generator: values that have the same bits in
// every type. One of few bits also has a mask, and drops channels.
template <class R>
uint64_t conv2d_hash(synfire_context context, synfire_conv2d_desc desc) {
  constexpr bool wide = sizeof(R) == 8;
  constexpr int64_t n_steps = 7, batch = 3;
  desc.dtype = wide ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32, desc.bias = 1, desc.seed = 17;
  const bool few_bits = desc.weight_bits != 0;
  const int64_t of_group = desc.channels / std::max<int64_t>(desc.groups, 1);
  const int64_t n_weights = desc.output_channels * desc.kernel_height * desc.kernel_width * of_group;
  std::vector<uint8_t> mask(static_cast<size_t>(few_bits ? n_weights : 0));
  for (size_t i = 0; i < mask.size(); ++i) mask[i] = i % 5 == 0 ? 0 : 1;
  if (few_bits) desc.mask = mask.data(), desc.mask_length = mask.size();
  synfire_synapse synapse = nullptr;
  REQUIRE(synfire_synapse_create_conv2d(context, &desc, &synapse));
  synfire_synapse_info info = SYNFIRE_SYNAPSE_INFO_INIT;
  REQUIRE(synfire_synapse_get_info(synapse, &info));
  const auto n_inputs =
      static_cast<uint64_t>(n_steps * batch * info.input_height * info.input_width * info.input_channels);
  const auto n_outputs =
      static_cast<uint64_t>(n_steps * batch * info.output_height * info.output_width * info.output_channels);
  Generator values(43);
  std::vector<R> x(n_inputs), grad(n_outputs);
  for (R& value : x) value = static_cast<R>(values(-1, 1));
  for (size_t i = 0; i < grad.size(); ++i) grad[i] = static_cast<R>(values(-1, 1) * (i % 7 == 0 ? 0x1p-20 : 1.0));
  std::vector<uint8_t> counts(n_inputs);
  if (desc.input_kind != SYNFIRE_INPUT_VALUES)
    for (size_t i = 0; i < x.size(); ++i) {
      counts[i] = static_cast<uint8_t>(x[i] > R(0.5) ? static_cast<int>(x[i] * 200) : 0);
      x[i] = static_cast<R>(x[i] > R(0.5) ? 1 : 0);
    }
  const bool as_counts = desc.input_kind == SYNFIRE_INPUT_COUNTS;
  const auto make = [&](uint64_t n_elements, int32_t dtype) {
    synfire_buffer_desc bd = SYNFIRE_BUFFER_DESC_INIT;
    bd.n_elements = n_elements, bd.dtype = dtype;
    synfire_buffer buffer = nullptr;
    REQUIRE(synfire_buffer_create(context, &bd, &buffer));
    return buffer;
  };
  const synfire_buffer input = make(n_inputs, as_counts ? SYNFIRE_DTYPE_U8 : desc.dtype),
                       grad_output = make(n_outputs, desc.dtype), output = make(n_outputs, desc.dtype),
                       grad_input = make(n_inputs, desc.dtype);
  if (as_counts)
    REQUIRE(synfire_buffer_upload(input, 0, counts.data(), n_inputs));
  else
    REQUIRE(synfire_buffer_upload(input, 0, x.data(), n_inputs * sizeof(R)));
  REQUIRE(synfire_buffer_upload(grad_output, 0, grad.data(), n_outputs * sizeof(R)));
  synfire_synapse_forward_desc forward = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
  forward.n_steps = n_steps, forward.batch = batch, forward.input = input, forward.output = output;
  synfire_synapse_backward_desc backward = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
  backward.n_steps = n_steps, backward.batch = batch, backward.input = input, backward.grad_output = grad_output;
  backward.grad_input = grad_input;
  std::vector<synfire_buffer> of_dropout;
  if (few_bits) {
    std::vector<uint32_t> kept(static_cast<size_t>(batch * ((desc.channels + 31) / 32)));
    for (size_t i = 0; i < kept.size(); ++i) kept[i] = 0xB6DB6DB6u >> i;
    const float scale = 1.5f;
    of_dropout = {make(kept.size(), SYNFIRE_DTYPE_BITS), make(1, SYNFIRE_DTYPE_F32)};
    REQUIRE(synfire_buffer_upload(of_dropout[0], 0, kept.data(), kept.size() * sizeof(uint32_t)));
    REQUIRE(synfire_buffer_upload(of_dropout[1], 0, &scale, sizeof scale));
    forward.input_mask = backward.input_mask = of_dropout[0];
    forward.input_scale = backward.input_scale = of_dropout[1];
    forward.mask_channels = backward.mask_channels = desc.channels;
  }
  REQUIRE(synfire_synapse_forward(synapse, &forward, nullptr));
  REQUIRE(synfire_synapse_backward(synapse, &backward, nullptr));
  Hash hash;
  const auto add = [&](const std::vector<unsigned char>& bytes) {
    if constexpr (wide)
      hash.add<uint64_t>(bytes, 0x7FF0000000000000u);
    else
      hash.add<uint32_t>(bytes, 0x7F800000u);
  };
  for (const auto& [buffer, count] : {std::pair(output, n_outputs), std::pair(grad_input, n_inputs)}) {
    std::vector<unsigned char> bytes(count * sizeof(R));
    REQUIRE(synfire_buffer_download(buffer, 0, bytes.data(), bytes.size()));
    add(bytes);
  }
  for (uint32_t i = 0; i < info.n_arrays; ++i) {
    synfire_synapse_array_info array = SYNFIRE_SYNAPSE_ARRAY_INFO_INIT;
    REQUIRE(synfire_synapse_get_array_info(synapse, i, &array));
    uint64_t count = 1;
    for (uint32_t d = 0; d < array.n_dimensions; ++d) count *= static_cast<uint64_t>(array.shape[d]);
    std::vector<unsigned char> bytes(count * sizeof(R));
    REQUIRE(synfire_synapse_read(synapse, (std::string(array.name) + "_gradient").c_str(), bytes.data(), bytes.size()));
    add(bytes);
  }
  synfire_synapse_destroy(synapse);
  for (const synfire_buffer buffer : {input, grad_output, output, grad_input}) synfire_buffer_destroy(buffer);
  for (const synfire_buffer buffer : of_dropout) synfire_buffer_destroy(buffer);
  return hash.value();
}

std::string conv2d_hashes(synfire_context context, synfire_test::Sample& sample) {
  synfire_conv2d_desc plain = SYNFIRE_CONV2D_DESC_INIT;
  plain.channels = 37, plain.output_channels = 41, plain.height = 9, plain.width = 11;
  plain.kernel_height = 3, plain.kernel_width = 5, plain.padding_y = 1, plain.padding_x = 2, plain.stride_x = 2;
  synfire_conv2d_desc apart = plain;
  apart.output_channels = apart.groups = 37, apart.dilation_y = 2;
  synfire_conv2d_desc transposed = plain;
  transposed.transposed = 1, transposed.output_padding_x = 1, transposed.input_gradient_bits = 32;
  const std::pair<const char*, synfire_conv2d_desc> shapes[] = {
      {"plain", plain}, {"depthwise", apart}, {"transposed", transposed}};
  std::ostringstream out;
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64})
    for (const int32_t kind : {SYNFIRE_INPUT_SPIKES, SYNFIRE_INPUT_VALUES, SYNFIRE_INPUT_COUNTS})
      for (const auto& [name, shape] : shapes) {
        if (!sample.next()) continue;
        synfire_conv2d_desc desc = shape;
        desc.input_kind = kind;
        if (kind == SYNFIRE_INPUT_COUNTS) desc.count_bound = 150, desc.count_scale = 0.1f;
        const uint64_t hash =
            dtype == SYNFIRE_DTYPE_F64 ? conv2d_hash<double>(context, desc) : conv2d_hash<float>(context, desc);
        char text[32];
        std::snprintf(text, sizeof text, " %016llx", static_cast<unsigned long long>(hash));
        out << "convolution " << name << " " << name_of(dtype) << " input " << kind << text << "\n";
      }
  for (const int32_t bits : {16, 8})
    for (const int32_t kind : {SYNFIRE_INPUT_SPIKES, SYNFIRE_INPUT_VALUES, SYNFIRE_INPUT_COUNTS})
      for (const auto& [name, shape] : shapes) {
        if (!sample.next()) continue;
        synfire_conv2d_desc desc = shape;
        desc.input_kind = kind;
        desc.weight_bits = bits;
        char text[32];
        std::snprintf(text, sizeof text, " %016llx",
                      static_cast<unsigned long long>(conv2d_hash<float>(context, desc)));
        out << "convolution " << name << " of " << bits << " bits input " << kind << text << "\n";
      }
  return out.str();
}

// Arrays of one type, and a hash of what operations write into them.
template <class R>
class Arrays {
 public:
  static constexpr bool wide = sizeof(R) == 8;
  static constexpr int32_t dtype = wide ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32;

  explicit Arrays(synfire_context context) : context_(context) {}
  ~Arrays() {
    for (const synfire_buffer buffer : buffers_) synfire_buffer_destroy(buffer);
  }
  Arrays(const Arrays&) = delete;
  Arrays& operator=(const Arrays&) = delete;

  synfire_buffer make(uint64_t n_elements, int32_t of = dtype) {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.n_elements = n_elements, desc.dtype = of;
    REQUIRE(synfire_buffer_create(context_, &desc, &buffers_.emplace_back(nullptr)));
    return buffers_.back();
  }
  synfire_buffer drawn(uint64_t n_elements, Generator& values, double low, double high) {
    std::vector<R> elements(n_elements);
    for (R& element : elements) element = static_cast<R>(values(low, high));
    const synfire_buffer buffer = make(n_elements);
    REQUIRE(synfire_buffer_upload(buffer, 0, elements.data(), n_elements * sizeof(R)));
    return buffer;
  }
  synfire_buffer written(uint64_t n_elements) {
    written_.emplace_back(make(n_elements), n_elements);
    return written_.back().first;
  }
  uint64_t hash(std::initializer_list<std::pair<synfire_buffer, uint64_t>> further = {}) {
    Hash found;
    written_.insert(written_.end(), further);
    for (const auto& [buffer, n_elements] : written_) {
      std::vector<unsigned char> bytes(n_elements * sizeof(R));
      REQUIRE(synfire_buffer_download(buffer, 0, bytes.data(), bytes.size()));
      if constexpr (wide)
        found.add<uint64_t>(bytes, 0x7FF0000000000000u);
      else
        found.add<uint32_t>(bytes, 0x7F800000u);
    }
    return found.value();
  }

 private:
  synfire_context context_;
  std::vector<synfire_buffer> buffers_;
  std::vector<std::pair<synfire_buffer, uint64_t>> written_;
};

// A normalisation of maps and its gradients.
template <class R>
uint64_t normalize_hash(synfire_context context, int32_t mode) {
  constexpr int64_t n_steps = 5, batch = 4, height = 9, width = 11, channels = 45;
  constexpr uint64_t n_elements = n_steps * batch * height * width * channels;
  Arrays<R> arrays(context);
  Generator values(47);
  const std::pair mean(arrays.drawn(channels, values, -1, 1), channels),
      variance(arrays.drawn(channels, values, 0.5, 2), channels);
  synfire_normalize_desc forward = SYNFIRE_NORMALIZE_DESC_INIT;
  forward.mode = mode, forward.n_steps = n_steps, forward.batch = batch;
  forward.height = height, forward.width = width, forward.channels = channels;
  forward.source = arrays.drawn(n_elements, values, -3, 5), forward.destination = arrays.written(n_elements);
  forward.gamma = arrays.drawn(channels, values, -2, 2), forward.beta = arrays.drawn(channels, values, -1, 1);
  forward.running_mean = mean.first, forward.running_variance = variance.first;
  forward.saved = arrays.make(uint64_t{4} * channels, SYNFIRE_DTYPE_U64);
  forward.n_active = arrays.make(1, SYNFIRE_DTYPE_U32);
  REQUIRE(synfire_buffer_fill(forward.n_active, 3));
  synfire_normalize_backward_desc backward = SYNFIRE_NORMALIZE_BACKWARD_DESC_INIT;
  backward.mode = mode, backward.n_steps = n_steps, backward.batch = batch;
  backward.height = height, backward.width = width, backward.channels = channels;
  backward.grad_destination = arrays.drawn(n_elements, values, -1, 1), backward.source = forward.source;
  backward.saved = forward.saved, backward.gamma = forward.gamma, backward.n_active = forward.n_active;
  backward.grad_source = arrays.written(n_elements);
  backward.grad_gamma = arrays.written(channels), backward.grad_beta = arrays.written(channels);
  REQUIRE(synfire_normalize(context, &forward, nullptr));
  REQUIRE(synfire_normalize_backward(context, &backward, nullptr));
  return arrays.hash({mean, variance});
}

// An upsampling and a border, and their gradients.
template <class R>
uint64_t resize_hash(synfire_context context) {
  constexpr int64_t n_steps = 3, batch = 2, height = 5, width = 7, channels = 13;
  constexpr uint64_t images = n_steps * batch, n_inputs = images * height * width * channels;
  Arrays<R> arrays(context);
  Generator values(53);
  synfire_upsample_desc up = SYNFIRE_UPSAMPLE_DESC_INIT;
  up.n_steps = n_steps, up.batch = batch, up.height = height, up.width = width, up.channels = channels;
  up.scale_y = 2, up.scale_x = 3;
  up.source = arrays.drawn(n_inputs, values, -1, 1), up.destination = arrays.written(n_inputs * 6);
  REQUIRE(synfire_upsample(context, &up, nullptr));
  synfire_upsample_backward_desc back = SYNFIRE_UPSAMPLE_BACKWARD_DESC_INIT;
  back.n_steps = n_steps, back.batch = batch, back.height = height, back.width = width, back.channels = channels;
  back.scale_y = 2, back.scale_x = 3;
  back.grad_destination = arrays.drawn(n_inputs * 6, values, -1, 1), back.grad_source = arrays.written(n_inputs);
  REQUIRE(synfire_upsample_backward(context, &back, nullptr));
  constexpr uint64_t n_padded = images * (height + 3 - 1) * (width + 2) * channels;
  synfire_pad_desc pad = SYNFIRE_PAD_DESC_INIT;
  pad.n_steps = n_steps, pad.batch = batch, pad.height = height, pad.width = width, pad.channels = channels;
  pad.left = 2, pad.top = 3, pad.bottom = -1;
  pad.source = up.source, pad.destination = arrays.written(n_padded);
  REQUIRE(synfire_pad(context, &pad, nullptr));
  synfire_pad_backward_desc unpad = SYNFIRE_PAD_BACKWARD_DESC_INIT;
  unpad.n_steps = n_steps, unpad.batch = batch, unpad.height = height, unpad.width = width, unpad.channels = channels;
  unpad.left = 2, unpad.top = 3, unpad.bottom = -1;
  unpad.grad_destination = pad.destination, unpad.grad_source = arrays.written(n_inputs);
  REQUIRE(synfire_pad_backward(context, &unpad, nullptr));
  return arrays.hash();
}

std::string map_hashes(synfire_context context, synfire_test::Sample& sample) {
  std::ostringstream out;
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64}) {
    const bool wide = dtype == SYNFIRE_DTYPE_F64;
    char text[32];
    for (const int32_t mode : {SYNFIRE_NORMALIZE_TRAINING, SYNFIRE_NORMALIZE_EVALUATION}) {
      if (!sample.next()) continue;
      const uint64_t hash = wide ? normalize_hash<double>(context, mode) : normalize_hash<float>(context, mode);
      std::snprintf(text, sizeof text, " %016llx", static_cast<unsigned long long>(hash));
      out << "normalization " << name_of(dtype) << " mode " << mode << text << "\n";
    }
    if (!sample.next()) continue;
    const uint64_t hash = wide ? resize_hash<double>(context) : resize_hash<float>(context);
    std::snprintf(text, sizeof text, " %016llx", static_cast<unsigned long long>(hash));
    out << "upsampling and border " << name_of(dtype) << text << "\n";
  }
  return out.str();
}

// ---- networks of maps -----------------------------------------------------------------------------------------------

class MapNetwork {
 public:
  using Values = std::initializer_list<synfire_stage_value>;
  struct Input {
    Input(const char* name, int64_t steps = 0) : stage(name), delay(steps) {}
    const char* stage;
    int64_t delay;
  };

  explicit MapNetwork(synfire_context context) : context_(context) {
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.n_steps = 5, desc.batch = 3, desc.seed = 61;
    REQUIRE(synfire_network_create(context, &desc, &network_));
  }
  MapNetwork(const MapNetwork&) = delete;
  MapNetwork& operator=(const MapNetwork&) = delete;
  ~MapNetwork() {
    synfire_network_destroy(network_);
    synfire_buffer_destroy(rows_);
    synfire_buffer_destroy(labels_);
  }

  void add(const char* kind, const char* name, Values values = {}, std::initializer_list<Input> reads = {}) {
    std::vector<synfire_stage_input> inputs;
    for (const Input& input : reads) inputs.push_back({input.stage, nullptr, input.delay});
    const std::vector<synfire_stage_value> given(values);
    synfire_stage_desc desc = SYNFIRE_STAGE_DESC_INIT;
    desc.kind = kind, desc.name = name;
    desc.inputs = inputs.data(), desc.n_inputs = inputs.size();
    desc.values = given.data(), desc.n_values = given.size();
    REQUIRE(synfire_network_add_stage(network_, &desc));
    for (const char* const learns : {"conv2d", "normalization", "synapse"})
      if (std::string_view(kind) == learns) learning_.emplace_back(name);
  }
  // After ten steps of training: what has learnt, and the running statistics.
  uint64_t hash(const std::vector<unsigned char>& rows, int32_t dtype, uint32_t n_classes) {
    constexpr uint64_t n_rows = 7;
    add("loss", "loss", {{"kind", "cross_entropy", 0}});
    add("optimizer", "adam", {{"kind", "adam", 0}, {"learning_rate", nullptr, 0.01}});
    REQUIRE(synfire_network_build(network_));
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.dtype = dtype, desc.n_elements = rows.size() / (dtype == SYNFIRE_DTYPE_U8 ? 1 : 4);
    REQUIRE(synfire_buffer_create(context_, &desc, &rows_));
    REQUIRE(synfire_buffer_upload(rows_, 0, rows.data(), rows.size()));
    std::vector<uint32_t> classes;
    for (uint32_t i = 0; i < n_rows; ++i) classes.push_back(i % n_classes);
    desc.dtype = SYNFIRE_DTYPE_U32, desc.n_elements = n_rows;
    REQUIRE(synfire_buffer_create(context_, &desc, &labels_));
    REQUIRE(synfire_buffer_upload(labels_, 0, classes.data(), classes.size() * 4));
    REQUIRE(
        synfire_network_set_data(network_, SYNFIRE_DATA_TRAINING, n_rows, rows_, labels_, nullptr, nullptr, nullptr));
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    REQUIRE(synfire_network_train(network_, 10, &result));
    Hash found;
    for (const std::string& stage : learning_) {
      synfire_synapse synapse = nullptr;
      REQUIRE(synfire_network_get_synapse(network_, stage.c_str(), &synapse));
      synfire_synapse_info info = SYNFIRE_SYNAPSE_INFO_INIT;
      REQUIRE(synfire_synapse_get_info(synapse, &info));
      for (uint32_t i = 0; i < info.n_arrays; ++i) {
        synfire_synapse_array_info array = SYNFIRE_SYNAPSE_ARRAY_INFO_INIT;
        REQUIRE(synfire_synapse_get_array_info(synapse, i, &array));
        uint64_t bytes = 4;
        for (uint32_t d = 0; d < array.n_dimensions; ++d) bytes *= static_cast<uint64_t>(array.shape[d]);
        std::vector<unsigned char> values(bytes);
        REQUIRE(synfire_synapse_read(synapse, array.name, values.data(), bytes));
        found.add<uint32_t>(values, 0x7F800000u);
      }
      synfire_synapse_destroy(synapse);
    }
    return found.value();
  }

 private:
  synfire_context context_;
  synfire_network network_ = nullptr;
  synfire_buffer rows_ = nullptr, labels_ = nullptr;
  std::vector<std::string> learning_;
};

// Spikes; means that are counts; a kernel for each channel; one kernel on two maps; a transposed convolution.
uint64_t hash_of_events(synfire_context context) {
  MapNetwork network(context);
  network.add("input", "events",
              {{"kind", "spikes", 0}, {"height", nullptr, 9}, {"width", nullptr, 7}, {"channels", nullptr, 3}});
  network.add("conv2d", "conv", {{"output_channels", nullptr, 6}, {"kernel", nullptr, 3}, {"padding", nullptr, 1}});
  network.add("normalization", "norm");
  network.add("neurons", "lif", {{"model", "lif", 0}});
  network.add("conv2d", "each", {{"output_channels", nullptr, 6}, {"kernel", nullptr, 3}, {"groups", nullptr, 6}});
  network.add("neurons", "lif2", {{"model", "lif", 0}});
  network.add("pool", "mean", {{"kind", "mean", 0}, {"window", nullptr, 2}, {"stride", nullptr, 1}}, {"lif"});
  network.add("conv2d", "narrow", {{"output_channels", nullptr, 3}, {"gain", nullptr, 3}});
  network.add("neurons", "lif3", {{"model", "lif", 0}});
  network.add("conv2d", "again", {{"weights_of", "conv", 0}});
  network.add("neurons", "lif4", {{"model", "lif", 0}});
  network.add(
      "conv2d", "up",
      {{"output_channels", nullptr, 6}, {"kernel", nullptr, 2}, {"dilation", nullptr, 2}, {"transposed", nullptr, 1}},
      {"lif2"});
  network.add("neurons", "lif5", {{"model", "lif", 0}});
  network.add("pool", "part", {{"kind", "max", 0}, {"window", nullptr, 2}, {"stride", nullptr, 1}});
  network.add("sum", "both", {}, {"part", "lif4"});
  network.add("pool", "global", {{"kind", "mean", 0}});
  network.add("flatten", "flat");
  network.add("readout", "scores", {{"reduction", "mean", 0}});
  Generator values(59);
  std::vector<unsigned char> bits(size_t{7} * 5 * 6 * 4);  // [R, T, words]
  for (unsigned char& byte : bits) byte = static_cast<unsigned char>(values(0, 256));
  for (size_t row = 0; row < 35; ++row) bits[row * 24 + 23] &= 0x1F;  // 189 spikes
  return network.hash(bits, SYNFIRE_DTYPE_BITS, 6);
}

// A still image of bytes; a maximum before the neurons; an upsampling and a border; sums of sums.
uint64_t hash_of_images(synfire_context context) {
  MapNetwork network(context);
  network.add("input", "image",
              {{"kind", "counts", 0},
               {"bound", nullptr, 255},
               {"height", nullptr, 8},
               {"width", nullptr, 8},
               {"channels", nullptr, 2},
               {"n_steps", nullptr, 1}});
  network.add(
      "conv2d", "conv",
      {{"output_channels", nullptr, 5}, {"kernel", nullptr, 3}, {"stride", nullptr, 2}, {"padding", nullptr, 1}});
  network.add("pool", "largest", {{"kind", "max", 0}, {"window", nullptr, 2}, {"stride", nullptr, 1}});
  network.add("normalization", "norm", {{"threshold", nullptr, 0.75}});
  network.add("neurons", "lif", {{"model", "lif", 0}});
  network.add("upsample", "large");
  network.add("pad", "border", {{"padding", nullptr, 1}, {"top", nullptr, -1}});
  network.add("conv2d", "second",
              {{"output_channels", nullptr, 4}, {"kernel", nullptr, 2}, {"input_gradient_bits", nullptr, 16}});
  network.add("normalization", "norm2", {{"affine", nullptr, 0}});
  network.add("neurons", "lif2", {{"model", "lif", 0}});
  network.add("pool", "sum", {{"kind", "sum", 0}, {"window", nullptr, 2}});
  network.add("pool", "all", {{"kind", "sum", 0}});
  network.add("flatten", "flat");
  network.add("scale", "scores-scale", {{"scope", "layer", 0}, {"initial_weight", nullptr, 0.1}});
  network.add("readout", "scores", {{"reduction", "mean", 0}});
  Generator values(67);
  std::vector<unsigned char> bytes(size_t{7} * 8 * 8 * 2);
  for (unsigned char& byte : bytes) byte = static_cast<unsigned char>(values(0, 256));
  return network.hash(bytes, SYNFIRE_DTYPE_U8, 4);
}

// A map that remembers, then a ring of two layers, of which one reads its own spikes too; and a line of delays.
uint64_t hash_of_cycles(synfire_context context) {
  MapNetwork network(context);
  network.add("input", "events",
              {{"kind", "spikes", 0}, {"height", nullptr, 9}, {"width", nullptr, 7}, {"channels", nullptr, 3}});
  network.add("conv2d", "conv", {{"output_channels", nullptr, 4}, {"kernel", nullptr, 3}, {"padding", nullptr, 1}});
  network.add("conv2d", "back", {{"output_channels", nullptr, 4}, {"kernel", nullptr, 3}, {"padding", nullptr, 1}},
              {{"map", 2}});
  network.add("sum", "x", {}, {"conv", "back"});
  network.add("neurons", "map", {{"model", "lif", 0}});
  network.add("concatenate", "moments", {}, {"map", {"map", 1}, {"map", 3}});
  network.add("flatten", "flat");
  network.add("synapse", "in", {{"n_outputs", nullptr, 35}, {"gain", nullptr, 3}});
  network.add("synapse", "ring", {{"n_outputs", nullptr, 35}, {"gain", nullptr, 3}}, {{"second", 1}});
  network.add("scale", "self", {{"initial_weight", nullptr, -0.5}}, {{"first", 1}});
  network.add("sum", "y", {}, {"in", "self", "ring"});
  network.add("neurons", "first", {{"model", "izhikevich", 0}, {"reset", "soft", 0}});
  network.add("synapse", "on", {{"n_outputs", nullptr, 33}, {"gain", nullptr, 3}});
  network.add("neurons", "second", {{"model", "if", 0}});
  network.add("synapse", "out", {{"n_outputs", nullptr, 6}});
  network.add("neurons", "potentials", {{"model", "li", 0}});
  network.add("readout", "scores", {{"reduction", "mean", 0}});
  Generator values(71);
  std::vector<unsigned char> bits(size_t{7} * 5 * 6 * 4);  // [R, T, words]
  for (unsigned char& byte : bits) byte = static_cast<unsigned char>(values(0, 256));
  for (size_t row = 0; row < 35; ++row) bits[row * 24 + 23] &= 0x1F;  // 189 spikes
  return network.hash(bits, SYNFIRE_DTYPE_BITS, 6);
}

std::string map_network_hashes(synfire_context context, synfire_test::Sample& sample) {
  std::ostringstream out;
  constexpr std::pair<const char*, uint64_t (*)(synfire_context)> networks[] = {
      {"events", hash_of_events}, {"images", hash_of_images}, {"cycles", hash_of_cycles}};
  for (const auto& network : networks) {
    if (!sample.next()) continue;
    char text[32];
    std::snprintf(text, sizeof text, " %016llx", static_cast<unsigned long long>(network.second(context)));
    out << "network of maps, " << network.first << text << "\n";
  }
  return out.str();
}

// ---- networks that are watched --------------------------------------------------------------------------------------

// Arrays that training leaves behind on demand, monitors, and a readout that goes on over five frames.
uint64_t hash_of_watched(synfire_context context, int32_t reduction, int32_t of_spikes) {
  constexpr int64_t n_inputs = 35, n_hidden = 47, n_outputs = 5, batch = 3, n_steps = 7, n_rows = 10;
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = n_steps, desc.batch = batch, desc.seed = 73;
  synfire_network network = nullptr;
  REQUIRE(synfire_network_create(context, &desc, &network));
  REQUIRE(synfire_network_add_input(network, "in", SYNFIRE_NETWORK_INPUT_VALUES, n_inputs));
  REQUIRE(synfire_network_add_synapse(network, "first", n_hidden));
  REQUIRE(synfire_network_set_value(network, "first", "gain", 3));
  REQUIRE(synfire_network_add_neurons(network, "hidden", SYNFIRE_MODEL_LIF));
  REQUIRE(synfire_network_add_synapse(network, "second", n_outputs));
  REQUIRE(synfire_network_set_value(network, "second", "gain", 3));
  REQUIRE(synfire_network_add_neurons(network, "last", SYNFIRE_MODEL_LIF));
  REQUIRE(synfire_network_add_readout(network, "scores", reduction, of_spikes));
  REQUIRE(synfire_network_set_value(network, "scores", "continues", 1));
  REQUIRE(synfire_network_add_loss(network, "loss", SYNFIRE_LOSS_CROSS_ENTROPY));
  REQUIRE(synfire_network_add_optimizer(network, "adam", SYNFIRE_OPTIMIZER_KIND_ADAM, 0.01));
  constexpr std::pair<const char*, int64_t> arrays[] = {{"hidden.v", n_steps * batch * n_hidden},
                                                        {"hidden.counts", batch * n_hidden},
                                                        {"second.grad_output", n_steps * batch * n_outputs}};
  for (const auto& array : arrays) REQUIRE(synfire_network_keep(network, array.first));
  REQUIRE(synfire_network_keep(network, "hidden.monitor first.monitor"));
  REQUIRE(synfire_network_build(network));
  Generator values(79);
  std::vector<float> rows(n_rows * n_steps * n_inputs);
  for (float& value : rows) value = static_cast<float>(values(0, 256)) / 64.0F - 1.5F;
  std::vector<uint32_t> classes(n_rows);
  for (uint32_t i = 0; i < n_rows; ++i) classes[i] = i % n_outputs;
  synfire_buffer inputs = nullptr, labels = nullptr;
  synfire_buffer_desc of_buffer = SYNFIRE_BUFFER_DESC_INIT;
  of_buffer.dtype = SYNFIRE_DTYPE_F32, of_buffer.n_elements = rows.size();
  REQUIRE(synfire_buffer_create(context, &of_buffer, &inputs));
  REQUIRE(synfire_buffer_upload(inputs, 0, rows.data(), rows.size() * sizeof(float)));
  of_buffer.dtype = SYNFIRE_DTYPE_U32, of_buffer.n_elements = n_rows;
  REQUIRE(synfire_buffer_create(context, &of_buffer, &labels));
  REQUIRE(synfire_buffer_upload(labels, 0, classes.data(), classes.size() * sizeof(uint32_t)));
  REQUIRE(synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, n_rows, inputs, labels, nullptr, nullptr, nullptr));
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  REQUIRE(synfire_network_train(network, 5, &result));
  Hash found;
  const auto add = [&](const char* name, int64_t count) {
    synfire_buffer buffer = nullptr;
    std::vector<unsigned char> bytes(static_cast<size_t>(count) * sizeof(float));
    REQUIRE(synfire_network_get_buffer(network, name, &buffer));
    REQUIRE(synfire_buffer_download(buffer, 0, bytes.data(), bytes.size()));
    synfire_buffer_destroy(buffer);
    found.add<uint32_t>(bytes, 0x7F800000u);
  };
  for (const auto& array : arrays) add(array.first, array.second);
  for (const char* const stage : {"hidden", "first"}) {
    synfire_network_monitor monitor = SYNFIRE_NETWORK_MONITOR_INIT;
    REQUIRE(synfire_network_get_monitor(network, stage, 0, &monitor));
    const double numbers[] = {static_cast<double>(monitor.n_replays), monitor.rate, monitor.silent, monitor.weight_norm,
                              monitor.gradient_norm};
    std::vector<unsigned char> bytes(sizeof numbers);
    std::memcpy(bytes.data(), numbers, sizeof numbers);
    found.add<uint64_t>(bytes, 0x7FF0000000000000u);
  }
  synfire_graph graph = nullptr;
  synfire_buffer input = nullptr;
  REQUIRE(synfire_network_get_graph(network, SYNFIRE_NETWORK_GRAPH_INFERENCE, &graph));
  REQUIRE(synfire_network_get_buffer(network, "input", &input));
  for (size_t frame = 0; frame < 5; ++frame) {
    constexpr size_t count = n_steps * batch * n_inputs;
    uint64_t ticket = 0;
    REQUIRE(synfire_buffer_upload(input, 0, &rows[frame * 37], count * sizeof(float)));
    REQUIRE(synfire_graph_launch(graph, nullptr, &ticket));
    REQUIRE(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_YIELD, -1));
    add("output", batch * n_outputs);
  }
  synfire_buffer_destroy(input);
  synfire_graph_destroy(graph);
  synfire_buffer_destroy(inputs);
  synfire_buffer_destroy(labels);
  synfire_network_destroy(network);
  return found.value();
}

std::string watched_hashes(synfire_context context, synfire_test::Sample& sample) {
  std::ostringstream out;
  for (const int32_t reduction : {SYNFIRE_READOUT_SUM, SYNFIRE_READOUT_MEAN, SYNFIRE_READOUT_MAX})
    for (const int32_t of_spikes : {0, 1}) {
      if (!sample.next()) continue;
      char text[32];
      std::snprintf(text, sizeof text, " %016llx",
                    static_cast<unsigned long long>(hash_of_watched(context, reduction, of_spikes)));
      out << "watched network, reduction " << reduction << " of_spikes " << of_spikes << text << "\n";
    }
  return out.str();
}

}  // namespace

int main(int argc, char** argv) {
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  desc.backend = SYNFIRE_BACKEND_HOST;
  std::string compare, model, surrogate;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (i + 1 == argc) {
      std::cerr << "usage: synfire-bits [--backend host|cuda] [--threads N] [--compare FILE] [--model NAME --surrogate "
                   "NAME]\n";
      return 2;
    }
    const std::string value = argv[++i];
    if (option == "--threads")
      desc.n_threads = std::atoi(value.c_str());
    else if (option == "--backend")
      desc.backend = value == "cuda" ? SYNFIRE_BACKEND_CUDA : SYNFIRE_BACKEND_HOST;
    else if (option == "--compare")
      compare = value;
    else if (option == "--model")
      model = value;
    else if (option == "--surrogate")
      surrogate = value;
  }
  synfire_context context = nullptr;
  REQUIRE(synfire_context_create(&desc, &context));
  const Choice choice = model.empty() && surrogate.empty() ? built_in() : added(model, surrogate);
  synfire_test::Sample sample;
  std::string hashes = all_hashes(context, choice, sample);
  if (model.empty() && surrogate.empty()) {
    hashes += all_hashes(context, without_spikes(), sample);
    hashes += network_hashes(context, sample);
    hashes += one_to_one_hashes(context, sample);
    hashes += conv2d_hashes(context, sample);
    hashes += map_hashes(context, sample);
    hashes += events_hashes(context, sample);
    hashes += map_network_hashes(context, sample);
    hashes += population_hashes(context, sample);
    hashes += all_hashes(context, further(), sample);
    hashes += all_hashes(context, further_without_spikes(), sample);
    hashes += ruled_hashes(context, sample);
    hashes += watched_hashes(context, sample);
    hashes += recurrent_hashes(context, sample);
    hashes += delayed_hashes(context, sample);
  }
  synfire_context_destroy(context);
  REQUIRE(synfire_context_reclaim(nullptr, nullptr));
  if (compare.empty()) {
    std::cout << hashes;
    return 0;
  }
  std::ifstream file(compare);
  std::vector<std::string> wanted;
  synfire_test::Sample of_record;
  for (std::string line; std::getline(file, line);)
    if (of_record.next()) wanted.push_back(line);
  std::istringstream got_lines(hashes);
  std::string got;
  size_t differences = 0, lines = 0;
  for (; std::getline(got_lines, got); ++lines) {
    const std::string expected = lines < wanted.size() ? wanted[lines] : "";
    if (got == expected) continue;
    ++differences;
    std::cout << "got    " << got << "\nwanted " << expected << "\n";
  }
  for (size_t line = lines; line < wanted.size(); ++line) {
    ++differences;
    std::cout << "missing " << wanted[line] << "\n";
  }
  std::cout << lines << " configurations, " << differences << " with other bits\n";
  return differences == 0 && lines > 0 ? 0 : 1;
}
