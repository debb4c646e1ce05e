// Hashes everything that forward and backward compute, over models, resets, surrogates, input modes, dtypes and shapes,
// through the C ABI. The inputs come from an integer generator, so that they are the same everywhere.
//
//   synfire-bits [--backend host|cuda] [--threads N] [--compare FILE]
#include <synfire/synfire.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>
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
  // In [low, high), exactly representable in f32.
  double operator()(double low, double high) {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    const double unit = static_cast<double>(state_ >> 44) / 1048576.0;
    return static_cast<double>(static_cast<float>(low + (high - low) * unit));
  }

 private:
  uint64_t state_;
};

// FNV-1a over 32-bit words. Any NaN counts as any other: which one an operation makes is not IEEE's to say.
class Hash {
 public:
  template <class Bits>
  void add(const std::vector<unsigned char>& bytes, Bits infinity) {
    for (size_t i = 0; i + sizeof(Bits) <= bytes.size(); i += sizeof(Bits)) {
      Bits bits = 0;
      std::memcpy(&bits, bytes.data() + i, sizeof bits);
      const bool nan = infinity != 0 && (bits & (~Bits(0) >> 1)) > infinity;
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

class Layer {
 public:
  Layer(synfire_context context, const synfire_layer_desc& desc, const Shape& shape, bool per_neuron)
      : context_(context), desc_(desc), row_(static_cast<uint64_t>(shape.batch * shape.n_neurons)),
        sequence_(static_cast<uint64_t>(shape.n_steps) * row_),
        words_(static_cast<uint64_t>(shape.n_steps * shape.batch * ((shape.n_neurons + 31) / 32))) {
    REQUIRE(synfire_layer_create(context, &desc, &layer_));
    if (!per_neuron) return;
    Generator values(99);
    std::vector<double> thresholds;
    for (int64_t i = 0; i < shape.n_neurons; ++i) thresholds.push_back(values(0.5, 1.5));
    REQUIRE(synfire_layer_set_parameter(layer_, "v_threshold", thresholds.data(), thresholds.size()));
  }
  ~Layer() {
    for (const synfire_buffer buffer : buffers_) synfire_buffer_destroy(buffer);
    synfire_layer_destroy(layer_);
  }
  Layer(const Layer&) = delete;
  Layer& operator=(const Layer&) = delete;

  uint64_t hash(uint64_t seed) {
    Generator values(seed);
    const synfire_buffer x = input(sequence_, values, -0.5, 2.5), grad_spike = input(sequence_, values, -1, 1),
                         grad_v = input(sequence_, values, -1, 1), grad_final = input(row_, values, -1, 1);
    const bool two_variables = desc_.model == SYNFIRE_MODEL_IZHIKEVICH;
    const synfire_buffer bits = buffer(words_, SYNFIRE_DTYPE_BITS), h = buffer(sequence_, desc_.dtype),
                         v = buffer(sequence_, desc_.dtype), grad_x = buffer(sequence_, desc_.dtype),
                         grad_v_init = buffer(row_, desc_.dtype);
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x, forward.spikes = bits, forward.h_seq = h, forward.v_seq = v;
    synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
    backward.grad_spike_seq = grad_spike, backward.grad_v_seq = grad_v, backward.grad_v_final = grad_final;
    backward.grad_x_seq = grad_x, backward.grad_v_init = grad_v_init;
    std::vector<synfire_buffer> outputs = {h, v, grad_x, grad_v_init};
    if (two_variables) {
      forward.w_seq = buffer(sequence_, desc_.dtype);
      backward.grad_w_seq = grad_v, backward.grad_w_final = grad_final;
      backward.grad_w_init = buffer(row_, desc_.dtype);
      outputs.insert(outputs.end(), {forward.w_seq, backward.grad_w_init});
    }
    // The gradient of every parameter but the surrogate's.
    std::vector<synfire_parameter_gradient> gradients;
    for (uint32_t i = 0;; ++i) {
      synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
      REQUIRE(synfire_layer_get_parameter_info(layer_, i, &info));
      gradients.push_back({info.name, buffer(i % 2 == 0 ? 1 : static_cast<uint64_t>(desc_.n_neurons), desc_.dtype)});
      outputs.push_back(gradients.back().gradient);
      if (std::string(info.name) == "v_reset") break;
    }
    backward.parameter_gradients = gradients.data(), backward.n_parameter_gradients = gradients.size();
    Hash hash;
    for (int pass = 0; pass < 2; ++pass) {  // the second continues the state of the first
      REQUIRE(synfire_layer_forward(layer_, &forward, nullptr));
      REQUIRE(synfire_layer_backward(layer_, &backward, nullptr));
      hash.add<uint32_t>(read(bits), 0);
      for (const synfire_buffer output : outputs) {
        if (desc_.dtype == SYNFIRE_DTYPE_F64) hash.add<uint64_t>(read(output), 0x7FF0000000000000u);
        else hash.add<uint32_t>(read(output), 0x7F800000u);
      }
    }
    return hash.value();
  }

 private:
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
    for (R& value : drawn) value = static_cast<R>(values(low, high));
    REQUIRE(synfire_buffer_upload(to, 0, drawn.data(), n * sizeof(R)));
  }
  synfire_buffer input(uint64_t n, Generator& values, double low, double high) {
    const synfire_buffer made = buffer(n, desc_.dtype);
    if (desc_.dtype == SYNFIRE_DTYPE_F64) upload<double>(made, n, values, low, high);
    else upload<float>(made, n, values, low, high);
    return made;
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
  uint64_t row_, sequence_, words_;
  synfire_layer layer_ = nullptr;
  std::vector<synfire_buffer> buffers_;
};

std::string all_hashes(synfire_context context) {
  // Odd rows, several checkpoint intervals, and, for one configuration of each model, enough to be worth several threads.
  const Shape shapes[] = {{1, 1, 1}, {37, 3, 77}, {100, 1, 64}, {9, 2, 32769}};
  constexpr int64_t large = 10000;
  std::ostringstream out;
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64})
    for (int32_t model = SYNFIRE_MODEL_IF; model <= SYNFIRE_MODEL_IZHIKEVICH; ++model)
      for (int32_t surrogate = SYNFIRE_SURROGATE_SIGMOID; surrogate <= 16; ++surrogate)
        for (const int32_t reset : {SYNFIRE_RESET_HARD, SYNFIRE_RESET_SOFT})
          for (const int32_t detach : {0, 1})
            for (const int32_t undecayed : {0, 1})
              for (const bool per_neuron : {false, true}) {
                if (undecayed && model != SYNFIRE_MODEL_LIF && model != SYNFIRE_MODEL_PLIF) continue;
                const bool plain = !reset && !detach && !undecayed && !per_neuron;
                // Every surrogate once with LIF; everything else with the two common ones.
                if (surrogate > SYNFIRE_SURROGATE_ATAN && (model != SYNFIRE_MODEL_LIF || !plain)) continue;
                out << (dtype == SYNFIRE_DTYPE_F32 ? "f32" : "f64") << " model " << model << " surrogate " << surrogate
                    << " reset " << reset << " detach " << detach << " undecayed " << undecayed << " per_neuron "
                    << per_neuron;
                for (const Shape& shape : shapes) {
                  if (shape.n_neurons > large && (!plain || surrogate != SYNFIRE_SURROGATE_SIGMOID)) continue;
                  synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
                  desc.model = model, desc.n_steps = shape.n_steps, desc.n_neurons = shape.n_neurons;
                  desc.batch = shape.batch, desc.dtype = dtype, desc.reset = reset, desc.surrogate = surrogate;
                  desc.detach_reset = detach, desc.undecayed_input = undecayed;
                  char text[32];
                  std::snprintf(text, sizeof text, " %016llx",
                                static_cast<unsigned long long>(Layer(context, desc, shape, per_neuron).hash(7)));
                  out << text;
                }
                out << "\n";
              }
  return out.str();
}

}  // namespace

int main(int argc, char** argv) {
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  desc.backend = SYNFIRE_BACKEND_HOST;
  std::string compare;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (i + 1 == argc) {
      std::cerr << "usage: synfire-bits [--backend host|cuda] [--threads N] [--compare FILE]\n";
      return 2;
    }
    const std::string value = argv[++i];
    if (option == "--threads") desc.n_threads = std::atoi(value.c_str());
    else if (option == "--backend") desc.backend = value == "cuda" ? SYNFIRE_BACKEND_CUDA : SYNFIRE_BACKEND_HOST;
    else if (option == "--compare") compare = value;
  }
  synfire_context context = nullptr;
  REQUIRE(synfire_context_create(&desc, &context));
  const std::string hashes = all_hashes(context);
  synfire_context_destroy(context);
  REQUIRE(synfire_context_reclaim(nullptr, nullptr));
  if (compare.empty()) {
    std::cout << hashes;
    return 0;
  }
  std::ifstream file(compare);
  std::ostringstream wanted;
  wanted << file.rdbuf();
  std::istringstream got_lines(hashes), wanted_lines(wanted.str());
  std::string got, expected;
  int differences = 0, lines = 0;
  while (std::getline(got_lines, got)) {
    if (!std::getline(wanted_lines, expected)) expected.clear();
    ++lines;
    if (got == expected) continue;
    ++differences;
    std::cout << "got    " << got << "\nwanted " << expected << "\n";
  }
  if (std::getline(wanted_lines, expected)) ++differences, std::cout << "missing " << expected << "\n";
  std::cout << lines << " configurations, " << differences << " with other bits\n";
  return differences == 0 && lines > 0 ? 0 : 1;
}
