// Host and GPU give the same bits: random layers, shapes, parameters and inputs, forward and backward, eager and
// replayed, with every output compared byte for byte. Numbers are drawn from a fixed seed per test, so that failures
// are reproducible.
#include <synfire/synfire.h>

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <vector>

namespace {

void require(synfire_status status, const char* call) {
  if (status >= 0) return;
  char text[1024] = "";
  synfire_last_error(text, sizeof text, nullptr);
  FAIL() << call << ": " << synfire_status_name(status) << " " << text;
}
#define REQUIRE_OK(call) ASSERT_NO_FATAL_FAILURE(require((call), #call))

struct Case {
  synfire_layer_desc layer = SYNFIRE_LAYER_DESC_INIT;
  bool bits = false, per_neuron = false, replayed = false, pinned = false, explicit_v_init = false;
  bool gradient_v = false, special_values = false, parameter_gradients = false;
  uint32_t seed = 0;

  std::string text() const {
    return "model " + std::to_string(layer.model) + " T " + std::to_string(layer.n_steps) + " B " +
           std::to_string(layer.batch) + " N " + std::to_string(layer.n_neurons) + " dtype " +
           std::to_string(layer.dtype) + " reset " + std::to_string(layer.reset) + " detach " +
           std::to_string(layer.detach_reset) + " surrogate " + std::to_string(layer.surrogate) + " undecayed " +
           std::to_string(layer.undecayed_input) + " bits " + std::to_string(bits) + " per_neuron " +
           std::to_string(per_neuron) + " replayed " + std::to_string(replayed) + " pinned " + std::to_string(pinned) +
           " v_init " + std::to_string(explicit_v_init) + " grad_v " + std::to_string(gradient_v) + " special " +
           std::to_string(special_values) + " parameter_gradients " + std::to_string(parameter_gradients) + " seed " +
           std::to_string(seed);
  }
};

using Bytes = std::vector<unsigned char>;

struct Outputs {
  Bytes spikes, v_final, v_seq, h_seq, grad_x, grad_v_init, state;
  Bytes w_final, w_seq, grad_w_init, gradients;  // empty if the case does not have them
};

// Runs one case on one backend.
class Run {
 public:
  Run(const Case& c, int32_t backend) : c_(c), backend_(backend) {}
  ~Run() {
    synfire_graph_destroy(graph_);
    synfire_layer_destroy(layer_);
    for (synfire_buffer buffer : buffers_) synfire_buffer_destroy(buffer);
    synfire_context_destroy(context_);
    synfire_context_reclaim(nullptr, nullptr);
  }
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  void execute(Outputs& out) {
    synfire_context_desc cd = SYNFIRE_CONTEXT_DESC_INIT;
    cd.backend = backend_;
    REQUIRE_OK(synfire_context_create(&cd, &context_));
    REQUIRE_OK(synfire_layer_create(context_, &c_.layer, &layer_));
    set_parameters();
    if (HasFatalFailure()) return;

    const uint64_t row = static_cast<uint64_t>(batch() * c_.layer.n_neurons);
    const uint64_t sequence = static_cast<uint64_t>(c_.layer.n_steps) * row;
    const uint64_t words = static_cast<uint64_t>(c_.layer.n_steps * batch() * ((c_.layer.n_neurons + 31) / 32));
    std::mt19937 random(c_.seed);
    synfire_buffer x = nullptr, v_init = nullptr, grad_spike = nullptr, grad_v = nullptr, grad_v_final = nullptr;
    ASSERT_NO_FATAL_FAILURE(input(x, sequence, random, -0.5, 2.5, c_.special_values));
    if (c_.explicit_v_init) {
      ASSERT_NO_FATAL_FAILURE(input(v_init, row, random, -1, 1, false));
    }
    ASSERT_NO_FATAL_FAILURE(input(grad_spike, sequence, random, -1, 1, false));
    if (c_.gradient_v) {
      ASSERT_NO_FATAL_FAILURE(input(grad_v, sequence, random, -1, 1, false));
      ASSERT_NO_FATAL_FAILURE(input(grad_v_final, row, random, -1, 1, false));
    }
    synfire_buffer spikes = nullptr, v_final = nullptr, v_seq = nullptr, h_seq = nullptr, grad_x = nullptr,
                   grad_v_init = nullptr;
    ASSERT_NO_FATAL_FAILURE(output(spikes, c_.bits ? words : sequence, c_.bits));
    ASSERT_NO_FATAL_FAILURE(output(v_final, row, false));
    ASSERT_NO_FATAL_FAILURE(output(v_seq, sequence, false));
    ASSERT_NO_FATAL_FAILURE(output(h_seq, sequence, false));
    ASSERT_NO_FATAL_FAILURE(output(grad_x, sequence, false));
    ASSERT_NO_FATAL_FAILURE(output(grad_v_init, row, false));

    synfire_forward_desc fd = SYNFIRE_FORWARD_DESC_INIT;
    fd.x = x, fd.spikes = spikes, fd.v_init = v_init, fd.v_final = v_final, fd.v_seq = v_seq, fd.h_seq = h_seq;
    synfire_buffer w_init = nullptr, grad_w = nullptr, grad_w_final = nullptr, w_final = nullptr, w_seq = nullptr,
                   grad_w_init = nullptr;
    if (c_.layer.model == SYNFIRE_MODEL_IZHIKEVICH) {
      if (c_.explicit_v_init) {
        ASSERT_NO_FATAL_FAILURE(input(w_init, row, random, -1, 1, false));
      }
      ASSERT_NO_FATAL_FAILURE(output(w_final, row, false));
      ASSERT_NO_FATAL_FAILURE(output(w_seq, sequence, false));
      ASSERT_NO_FATAL_FAILURE(output(grad_w_init, row, false));
      if (c_.gradient_v) {
        ASSERT_NO_FATAL_FAILURE(input(grad_w, sequence, random, -1, 1, false));
        ASSERT_NO_FATAL_FAILURE(input(grad_w_final, row, random, -1, 1, false));
      }
      fd.w_init = w_init, fd.w_final = w_final, fd.w_seq = w_seq;
    }
    // Every parameter except the surrogate's, half of them as one value, half as one per neuron.
    std::vector<synfire_parameter_gradient> wanted;
    for (uint32_t i = 0; c_.parameter_gradients; ++i) {
      synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
      REQUIRE_OK(synfire_layer_get_parameter_info(layer_, i, &info));
      synfire_buffer gradient = nullptr;
      ASSERT_NO_FATAL_FAILURE(output(gradient, i % 2 == 0 ? 1 : static_cast<uint64_t>(c_.layer.n_neurons), false));
      wanted.push_back({info.name, gradient});
      if (std::string(info.name) == "v_reset") break;
    }
    synfire_backward_desc bd = SYNFIRE_BACKWARD_DESC_INIT;
    bd.grad_w_seq = grad_w, bd.grad_w_final = grad_w_final, bd.grad_w_init = grad_w_init;
    bd.parameter_gradients = wanted.data(), bd.n_parameter_gradients = wanted.size();
    bd.grad_spike_seq = grad_spike, bd.grad_v_seq = grad_v, bd.grad_v_final = grad_v_final;
    bd.grad_x_seq = grad_x, bd.grad_v_init = grad_v_init;
    constexpr int repeats = 2;  // the second run continues the state of the first
    if (c_.replayed) {
      REQUIRE_OK(synfire_graph_create(context_, nullptr, &graph_));
      REQUIRE_OK(synfire_graph_record_forward(graph_, layer_, &fd));
      REQUIRE_OK(synfire_graph_record_backward(graph_, layer_, &bd));
      REQUIRE_OK(synfire_graph_instantiate(graph_));
      for (int i = 0; i < repeats; ++i) {
        uint64_t ticket = 0;
        REQUIRE_OK(synfire_graph_launch(graph_, nullptr, &ticket));
        ASSERT_EQ(synfire_graph_wait(graph_, ticket, i % 3, int64_t{20} * 1000000000), SYNFIRE_OK);
      }
    } else {
      for (int i = 0; i < repeats; ++i) {
        REQUIRE_OK(synfire_layer_forward(layer_, &fd, nullptr));
        REQUIRE_OK(synfire_layer_backward(layer_, &bd, nullptr));
      }
      REQUIRE_OK(synfire_context_synchronize(context_));
    }
    for (const auto& [buffer, bytes] : {std::pair{spikes, &out.spikes},
                                        {v_final, &out.v_final},
                                        {v_seq, &out.v_seq},
                                        {h_seq, &out.h_seq},
                                        {grad_x, &out.grad_x},
                                        {grad_v_init, &out.grad_v_init},
                                        {w_final, &out.w_final},
                                        {w_seq, &out.w_seq},
                                        {grad_w_init, &out.grad_w_init}}) {
      if (!buffer) continue;
      uint64_t size = 0;
      REQUIRE_OK(synfire_buffer_get_data(buffer, nullptr, &size));
      bytes->resize(size);
      REQUIRE_OK(synfire_buffer_download(buffer, 0, bytes->data(), size));
    }
    for (const synfire_parameter_gradient& gradient : wanted) {
      uint64_t size = 0;
      REQUIRE_OK(synfire_buffer_get_data(gradient.gradient, nullptr, &size));
      const size_t at = out.gradients.size();
      out.gradients.resize(at + size);
      REQUIRE_OK(synfire_buffer_download(gradient.gradient, 0, out.gradients.data() + at, size));
    }
    out.state.resize(row * element());
    REQUIRE_OK(synfire_layer_read_state(layer_, "v", out.state.data(), out.state.size()));
  }

 private:
  static bool HasFatalFailure() { return testing::Test::HasFatalFailure(); }
  int64_t batch() const { return c_.layer.batch == 0 ? 1 : c_.layer.batch; }
  uint64_t element() const { return c_.layer.dtype == SYNFIRE_DTYPE_F64 ? 8 : 4; }

  void set_parameters() {
    if (!c_.per_neuron) return;
    std::mt19937 random(c_.seed + 1);
    std::uniform_real_distribution<double> uniform(0.2, 1.0);
    std::vector<double> values(static_cast<size_t>(c_.layer.n_neurons));
    for (double& v : values) v = uniform(random);
    REQUIRE_OK(synfire_layer_set_parameter(layer_, "v_threshold", values.data(), values.size()));
    for (double& v : values) v = -0.1 * uniform(random);
    REQUIRE_OK(synfire_layer_set_parameter(layer_, "v_reset", values.data(), values.size()));
    if (c_.layer.model != SYNFIRE_MODEL_IF) {
      for (double& v : values) v = 1.0 + 10.0 * uniform(random);
      REQUIRE_OK(synfire_layer_set_parameter(layer_, "tau", values.data(), values.size()));
    }
  }

  void create(synfire_buffer& buffer, uint64_t n, bool bits) {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.memory = c_.pinned ? SYNFIRE_MEMORY_PINNED : SYNFIRE_MEMORY_DEVICE;
    desc.dtype = bits ? static_cast<int32_t>(SYNFIRE_DTYPE_BITS) : c_.layer.dtype;
    desc.n_elements = n;
    REQUIRE_OK(synfire_buffer_create(context_, &desc, &buffer));
    buffers_.push_back(buffer);
  }

  // A poisoned output. Elements that are not written differ, because the backends use different poison values.
  void output(synfire_buffer& buffer, uint64_t n, bool bits) {
    ASSERT_NO_FATAL_FAILURE(create(buffer, n, bits));
    REQUIRE_OK(synfire_buffer_fill(buffer, backend_ == SYNFIRE_BACKEND_HOST ? 77 : 78));
  }

  template <class R>
  Bytes random_values(uint64_t n, std::mt19937& random, double low, double high, bool special) {
    std::uniform_real_distribution<R> uniform(static_cast<R>(low), static_cast<R>(high));
    constexpr R odd[] = {R(0),
                         R(-0.0),
                         std::numeric_limits<R>::infinity(),
                         -std::numeric_limits<R>::infinity(),
                         std::numeric_limits<R>::quiet_NaN(),
                         std::numeric_limits<R>::denorm_min(),
                         std::numeric_limits<R>::max(),
                         R(1)};
    Bytes bytes(n * sizeof(R));
    for (uint64_t i = 0; i < n; ++i) {
      const R value = special && random() % 16 == 0 ? odd[random() % 8] : uniform(random);
      std::memcpy(bytes.data() + i * sizeof(R), &value, sizeof value);
    }
    return bytes;
  }

  void input(synfire_buffer& buffer, uint64_t n, std::mt19937& random, double low, double high, bool special) {
    ASSERT_NO_FATAL_FAILURE(create(buffer, n, false));
    const Bytes bytes = c_.layer.dtype == SYNFIRE_DTYPE_F64 ? random_values<double>(n, random, low, high, special)
                                                            : random_values<float>(n, random, low, high, special);
    REQUIRE_OK(synfire_buffer_upload(buffer, 0, bytes.data(), bytes.size()));
  }

  const Case& c_;
  int32_t backend_;
  synfire_context context_ = nullptr;
  synfire_layer layer_ = nullptr;
  synfire_graph graph_ = nullptr;
  std::vector<synfire_buffer> buffers_;
};

// Any NaN equals any NaN; everything else is compared bit for bit.
template <class R>
uint64_t differences(const Bytes& a, const Bytes& b) {
  uint64_t count = 0;
  for (size_t i = 0; i + sizeof(R) <= a.size(); i += sizeof(R)) {
    if (std::memcmp(a.data() + i, b.data() + i, sizeof(R)) == 0) continue;
    R x, y;
    std::memcpy(&x, a.data() + i, sizeof x);
    std::memcpy(&y, b.data() + i, sizeof y);
    count += !(std::isnan(x) && std::isnan(y));
  }
  return count;
}

void expect_same(const Case& c) {
  SCOPED_TRACE(c.text());
  Outputs host, gpu;
  ASSERT_NO_FATAL_FAILURE(Run(c, SYNFIRE_BACKEND_HOST).execute(host));
  ASSERT_NO_FATAL_FAILURE(Run(c, SYNFIRE_BACKEND_CUDA).execute(gpu));
  const bool f64 = c.layer.dtype == SYNFIRE_DTYPE_F64;
  EXPECT_EQ(host.spikes, gpu.spikes) << "spikes";
  for (const auto& [name, a, b] : {std::tuple{"v_final", &host.v_final, &gpu.v_final},
                                   {"v_seq", &host.v_seq, &gpu.v_seq},
                                   {"h_seq", &host.h_seq, &gpu.h_seq},
                                   {"grad_x", &host.grad_x, &gpu.grad_x},
                                   {"grad_v_init", &host.grad_v_init, &gpu.grad_v_init},
                                   {"state", &host.state, &gpu.state},
                                   {"w_final", &host.w_final, &gpu.w_final},
                                   {"w_seq", &host.w_seq, &gpu.w_seq},
                                   {"grad_w_init", &host.grad_w_init, &gpu.grad_w_init},
                                   {"gradients", &host.gradients, &gpu.gradients}}) {
    ASSERT_EQ(a->size(), b->size());
    EXPECT_EQ(f64 ? differences<double>(*a, *b) : differences<float>(*a, *b), 0u) << name;
  }
}

Case random_case(uint32_t seed, int32_t dtype) {
  std::mt19937 random(seed);
  const auto pick = [&](auto... values) {
    const int64_t all[] = {static_cast<int64_t>(values)...};
    return all[random() % (sizeof all / sizeof *all)];
  };
  Case c;
  c.seed = seed;
  c.layer.dtype = dtype;
  c.layer.model = static_cast<int32_t>(1 + random() % 6);
  c.layer.surrogate = static_cast<int32_t>(1 + random() % 16);
  c.layer.reset = static_cast<int32_t>(pick(0, 1));
  c.layer.detach_reset = static_cast<int32_t>(pick(0, 1));
  const bool has_input_decay = c.layer.model == SYNFIRE_MODEL_LIF || c.layer.model == SYNFIRE_MODEL_PLIF;
  c.layer.undecayed_input = has_input_decay ? static_cast<int32_t>(pick(0, 1)) : 0;
  c.layer.n_steps = pick(1, 2, 7, 8, 9, 16, 31, 32, 33, 64, 65, 100);
  c.layer.batch = pick(0, 1, 2, 3, 17);
  c.layer.n_neurons = pick(1, 3, 31, 32, 33, 64, 127, 128, 257, 1000, 1024);
  c.bits = pick(0, 1), c.per_neuron = pick(0, 0, 1), c.replayed = pick(0, 1), c.pinned = pick(0, 1);
  c.explicit_v_init = pick(0, 1), c.gradient_v = pick(0, 1), c.special_values = pick(0, 0, 1);
  c.parameter_gradients = pick(0, 1);
  return c;
}

class BitEquality : public testing::TestWithParam<uint32_t> {};

TEST_P(BitEquality, RandomLayersF32) {
  for (uint32_t i = 0; i < 40; ++i)
    ASSERT_NO_FATAL_FAILURE(expect_same(random_case(GetParam() * 1000 + i, SYNFIRE_DTYPE_F32)));
}

TEST_P(BitEquality, RandomLayersF64) {
  for (uint32_t i = 0; i < 20; ++i)
    ASSERT_NO_FATAL_FAILURE(expect_same(random_case(GetParam() * 1000 + 500 + i, SYNFIRE_DTYPE_F64)));
}

INSTANTIATE_TEST_SUITE_P(Seeds, BitEquality, testing::Range(1u, 9u));

// Rows wide enough for the vectorised kernels, with and without a remainder for the scalar ones.
TEST(BitEqualityLarge, WideRows) {
  for (const int64_t n : {int64_t{262144}, int64_t{262145}, int64_t{524288 + 4}})
    for (const bool per_neuron : {false, true})
      for (const bool bits : {false, true}) {
        Case c;
        c.seed = static_cast<uint32_t>(n) + per_neuron;
        c.layer.n_steps = 9, c.layer.n_neurons = n;
        c.bits = bits, c.per_neuron = per_neuron, c.replayed = true, c.gradient_v = bits;
        ASSERT_NO_FATAL_FAILURE(expect_same(c));
      }
}

// Every model and surrogate at sizes that use the vectorised kernels.
TEST(BitEqualityLarge, EveryModelAndSurrogate) {
  for (int32_t model = 1; model <= 6; ++model)
    for (int32_t surrogate = 1; surrogate <= 16; ++surrogate) {
      if (model != SYNFIRE_MODEL_LIF && surrogate > 3) continue;
      Case c;
      c.seed = static_cast<uint32_t>(model * 100 + surrogate);
      c.layer.model = model, c.layer.surrogate = surrogate, c.layer.n_steps = 6, c.layer.n_neurons = 262144;
      c.bits = true;
      ASSERT_NO_FATAL_FAILURE(expect_same(c));
    }
}

// Vectors that extend over the end of a batch row, with parameters per neuron.
TEST(BitEqualityLarge, WideRowsOverBatch) {
  Case c;
  c.seed = 5;
  c.layer.n_steps = 5, c.layer.batch = 4, c.layer.n_neurons = 65537, c.per_neuron = true;
  ASSERT_NO_FATAL_FAILURE(expect_same(c));
  c.layer.dtype = SYNFIRE_DTYPE_F64;
  ASSERT_NO_FATAL_FAILURE(expect_same(c));
}

// Frames larger than those written to host memory directly.
TEST(BitEqualityLarge, PinnedFrames) {
  Case c;
  c.seed = 6;
  c.layer.n_steps = 40, c.layer.n_neurons = 4099, c.pinned = true, c.replayed = true, c.gradient_v = true;
  ASSERT_NO_FATAL_FAILURE(expect_same(c));
}

}  // namespace
