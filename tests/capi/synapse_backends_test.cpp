// Synapses on the backend under test against one thread of the host backend, bit for bit: shapes that reach each kernel
// of a GPU, lengths drawn at random, formats, active rows, masks, gradients that are added and that are not finite.
#include <limits>

#include "graph_support.hpp"
#include "storage_rig.hpp"

namespace synfire_test {
namespace {

const int32_t formats[] = {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64,  SYNFIRE_DTYPE_F16,      SYNFIRE_DTYPE_BF16,
                           SYNFIRE_DTYPE_U8,  SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS};
const int32_t values_of_f32[] = {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16};

struct Case {
  int64_t n_steps, batch, n_inputs, n_outputs;
  int64_t active = -1;  // batch rows; -1: no buffer
  int32_t dtype = SYNFIRE_DTYPE_F32, kind = SYNFIRE_INPUT_SPIKES, input = SYNFIRE_DTYPE_BITS;
  int32_t gradient_bits = 24;
  bool masked = false, not_finite = false;
  Placement placement = {};
  bool dropped = false;  // some inputs, by dropout

  bool is_wide() const { return dtype == SYNFIRE_DTYPE_F64; }
  size_t rows() const { return static_cast<size_t>(n_steps * batch); }
  size_t inputs() const { return static_cast<size_t>(n_inputs); }
  size_t outputs() const { return static_cast<size_t>(n_outputs); }
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << "T " << c.n_steps << " B " << c.batch << " K " << c.n_inputs << " N " << c.n_outputs << " active "
             << c.active << " type " << c.dtype << " kind " << c.kind << " input " << c.input << " bits "
             << c.gradient_bits << " masked " << c.masked << " not finite " << c.not_finite << " lead "
             << c.placement.lead << " padding " << c.placement.padding << " dropped " << c.dropped;
}

// The results of a case: y, dL/dW, dL/db and dL/dx, the last three also after a second backward that adds.
using Results = std::vector<std::vector<double>>;

class SynapseOnBothBackends : public testing::Test {
 protected:
  void expect_same(const Case& c, uint64_t seed) {
    SCOPED_TRACE(testing::Message() << c << " seed " << seed);
    Results tested, expected;
    ASSERT_NO_FATAL_FAILURE(run(context_, c, seed, tested));
    ASSERT_NO_FATAL_FAILURE(run(host_, c, seed, expected));
    const char* const names[] = {
        "y",       "weights", "weight gradient", "bias gradient", "dx", "added weight gradient", "added bias gradient",
        "added dx"};
    ASSERT_EQ(tested.size(), expected.size());
    for (size_t i = 0; i < tested.size(); ++i) ASSERT_TRUE(same_bits(tested[i], expected[i])) << names[i];
  }

 private:
  static std::vector<double> read(synfire_synapse synapse, const char* name, const Case& c, size_t count) {
    std::vector<double> values(count);
    if (c.is_wide()) {
      EXPECT_OK(synfire_synapse_read(synapse, name, values.data(), count * sizeof(double)));
      return values;
    }
    std::vector<float> narrow(count);
    EXPECT_OK(synfire_synapse_read(synapse, name, narrow.data(), count * sizeof(float)));
    return {narrow.begin(), narrow.end()};
  }

  static Rows input_rows(synfire_context context, const Case& c, int32_t dtype, Placement placement) {
    const auto n_steps = static_cast<size_t>(c.n_steps), batch = static_cast<size_t>(c.batch);
    if (dtype == SYNFIRE_DTYPE_BITS) return Rows(context, dtype, n_steps, batch * ((c.inputs() + 31) / 32), placement);
    return Rows(context, dtype, dtype == SYNFIRE_DTYPE_TIME_BITS ? (n_steps + 31) / 32 : n_steps, batch * c.inputs(),
                placement);
  }

  static Rows make_input(synfire_context context, const Case& c, Random& random) {
    std::vector<double> values(c.rows() * c.inputs());
    if (c.kind == SYNFIRE_INPUT_VALUES) {
      for (double& value : values) value = random.uniform(-2, 2);
      Rows rows = input_rows(context, c, c.input, c.placement);
      rows.put(stored_as(c.input, values));
      return rows;
    }
    const double rate = random.uniform(0, 0.5);
    for (double& value : values) value = random.uniform(0, 1) < rate ? 1 : 0;
    Rows bytes = input_rows(context, c, SYNFIRE_DTYPE_U8, {});
    bytes.put(values);
    Rows rows = input_rows(context, c, c.input, c.placement);
    synfire_convert_spikes_desc desc = SYNFIRE_CONVERT_SPIKES_DESC_INIT;
    desc.n_steps = c.n_steps;
    desc.n_neurons = c.n_inputs;
    desc.batch = c.batch;
    desc.source = bytes;
    desc.destination = rows;
    EXPECT_OK(synfire_convert_spikes(context, &desc, nullptr));
    return rows;
  }

  void run(synfire_context context, const Case& c, uint64_t seed, Results& results) {
    Random random(seed);
    std::vector<uint8_t> mask;
    synfire_synapse_desc described = SYNFIRE_SYNAPSE_DESC_INIT;
    described.input_kind = c.kind;
    described.n_inputs = c.n_inputs;
    described.n_outputs = c.n_outputs;
    described.dtype = c.dtype;
    described.bias = 1;
    described.gradient_bits = c.gradient_bits;
    described.seed = seed;
    if (c.masked) {
      mask.resize(c.inputs() * c.outputs());
      for (uint8_t& connected : mask) connected = static_cast<uint8_t>(random.whole(0, 1));
      described.mask = mask.data();
      described.mask_length = mask.size();
    }
    synfire_synapse created = nullptr;
    ASSERT_OK(synfire_synapse_create(context, &described, &created));
    const Synapse synapse(created);

    Buffer active;
    if (c.active >= 0) {
      active = make_buffer(context, SYNFIRE_DTYPE_U32, 1);
      upload(active, std::vector<uint32_t>{static_cast<uint32_t>(c.active)});
    }
    const auto n_steps = static_cast<size_t>(c.n_steps), row = static_cast<size_t>(c.batch) * c.outputs();
    const Rows input = make_input(context, c, random);
    Buffer kept, scale;
    if (c.dropped) {
      const size_t words = static_cast<size_t>(c.batch) * ((c.inputs() + 31) / 32);
      std::vector<uint32_t> bits(words);
      for (uint32_t& word : bits) word = static_cast<uint32_t>(random.whole(0, 0xFFFFFFFF));
      kept = make_buffer(context, SYNFIRE_DTYPE_BITS, words);
      upload(kept, bits);
      scale = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
      upload(scale, std::vector<float>{1.0F / 0.7F});
    }
    const Rows output(context, c.dtype, n_steps, row, c.placement);
    Rows grad_output(context, c.dtype, n_steps, row, c.placement);
    std::vector<double> gradients(c.rows() * c.outputs());
    for (double& gradient : gradients) {
      gradient = random.uniform(-1, 1);
      const int64_t kind = random.whole(0, 15);
      if (kind < 4) gradient *= kind == 0 ? 0.0 : kind == 1 ? 1e-6 : kind == 2 ? 1e-30 : 1e-42;
    }
    if (c.not_finite)
      for (int i = 0; i < 3; ++i)
        gradients[static_cast<size_t>(random.whole(0, static_cast<int64_t>(gradients.size()) - 1))] =
            i == 0 ? std::numeric_limits<double>::quiet_NaN() : std::numeric_limits<double>::infinity();
    grad_output.put(stored_as(c.dtype, gradients));
    const Rows grad_input(context, c.dtype, n_steps, static_cast<size_t>(c.batch) * c.inputs(), c.placement);

    synfire_synapse_forward_desc forward = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
    forward.n_steps = c.n_steps;
    forward.batch = c.batch;
    forward.input = input;
    forward.output = output;
    forward.n_active = active;
    forward.input_mask = kept;
    forward.input_scale = scale;
    ASSERT_OK(synfire_synapse_forward(synapse, &forward, nullptr));
    results.push_back(output.get());
    results.push_back(read(synapse, "weight", c, c.inputs() * c.outputs()));
    synfire_synapse_backward_desc backward = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
    backward.n_steps = c.n_steps;
    backward.batch = c.batch;
    backward.grad_output = grad_output;
    backward.input = input;
    backward.grad_input = grad_input;
    backward.n_active = active;
    backward.input_mask = kept;
    backward.input_scale = scale;
    for (const int32_t add : {0, 1}) {
      backward.add_gradients = backward.add_input_gradient = add;
      ASSERT_OK(synfire_synapse_backward(synapse, &backward, nullptr));
      results.push_back(read(synapse, "weight_gradient", c, c.inputs() * c.outputs()));
      results.push_back(read(synapse, "bias_gradient", c, c.outputs()));
      results.push_back(grad_input.get());
    }
  }

  const Context context_ = make_context(3), host_ = make_context_on(SYNFIRE_BACKEND_HOST);
};

// Products that fill tiles, and that leave one row or column over.
TEST_F(SynapseOnBothBackends, AtTheEdgesOfTiles) {
  uint64_t seed = 0;
  for (const int64_t rows : {1, 16, 17, 64, 65, 129})
    for (const int64_t n : {1, 16, 17, 32, 33, 65})
      for (const int64_t k : {1, 32, 65}) {
        if (!sampled(seed++)) continue;
        Case c = {rows, 1, k, n};
        if (seed % 3 == 0) c = {1, rows, k, n};
        c.gradient_bits = seed % 2 == 0 ? 24 : 32;
        expect_same(c, seed);
        c.kind = SYNFIRE_INPUT_VALUES;
        c.dtype = seed % 2 == 0 ? SYNFIRE_DTYPE_F32 : SYNFIRE_DTYPE_F64;
        c.input = c.dtype;
        expect_same(c, seed);
      }
}

TEST_F(SynapseOnBothBackends, AtRandom) {
  for (uint64_t seed = 1000; seed < 1150; ++seed) {
    if (!sampled(seed - 1000)) continue;
    Random random(seed);
    Case c = {random.whole(1, 70), random.whole(1, 6), random.whole(1, 150), random.whole(1, 150)};
    if (random.whole(0, 2) == 0) c.active = random.whole(0, c.batch + 1);
    c.kind = random.whole(0, 2) == 0 ? SYNFIRE_INPUT_VALUES : SYNFIRE_INPUT_SPIKES;
    c.dtype = random.whole(0, 3) == 0 ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32;
    c.input = c.kind == SYNFIRE_INPUT_SPIKES ? formats[random.whole(0, 6)]
              : c.is_wide()                  ? SYNFIRE_DTYPE_F64
                                             : values_of_f32[random.whole(0, 2)];
    c.gradient_bits = random.whole(0, 1) == 0 ? 24 : 32;
    c.masked = random.whole(0, 2) == 0;
    c.not_finite = random.whole(0, 3) == 0;
    c.placement = {static_cast<size_t>(random.whole(0, 3)), static_cast<size_t>(random.whole(0, 5))};
    expect_same(c, seed);
  }
}

// More rows than one launch processes, in every format, with gaps between the steps and without.
TEST_F(SynapseOnBothBackends, ManyRowsInEveryFormat) {
  uint64_t seed = 500;
  Sample sample;
  for (const int32_t format : formats)
    for (const Placement& placement : {Placement{0, 0}, Placement{1, 3}})
      for (const int32_t bits : {24, 32}) {
        Case c = {70, 5, 67, 37};
        c.input = format;
        c.placement = placement;
        c.gradient_bits = bits;
        c.masked = ++seed % 2 == 0;
        c.not_finite = seed % 4 == 1;
        if (!sample.next()) continue;
        expect_same(c, seed);
        c.active = 3;
        expect_same(c, seed);
      }
}

// Enough tiles for the large ones, rows in several pieces, and several blocks of the fixed order.
TEST_F(SynapseOnBothBackends, LargeProducts) {
  const Case small[] = {{44, 6, 35, 90}, {5, 3, 770, 41}, {50, 5, 90, 40, 4}};  // sanitizers are much slower
  const Case large[] = {{44, 66, 35, 390}, {5, 14, 770, 1410}, {50, 43, 90, 40, 40}};
  uint64_t seed = 2000;
  Sample sample;
  for (const int32_t kind : {SYNFIRE_INPUT_SPIKES, SYNFIRE_INPUT_VALUES})
    for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64})
      for (Case c : is_sanitized() ? small : large) {
        c.kind = kind;
        c.dtype = dtype;
        c.input = kind == SYNFIRE_INPUT_VALUES ? dtype : SYNFIRE_DTYPE_TIME_BITS;
        ++seed;
        if (sample.next()) expect_same(c, seed);
      }
}

// Enough rows and outputs for warpgroups, whose last tiles are not full.
TEST_F(SynapseOnBothBackends, ProductsForWarpgroups) {
  const int64_t batch = is_sanitized() ? 5 : 67;  // sanitizers are much slower
  uint64_t seed = 3000;
  for (Case c : {Case{64, batch, 97, 65}, Case{65, batch, 64, 130}, Case{63, batch, 33, 191}}) {
    expect_same(c, ++seed);
    c.active = batch - 3;
    expect_same(c, ++seed);
    c.dropped = true;
    expect_same(c, ++seed);
    c.placement = {1, 3};
    c.active = -1;
    c.not_finite = true;
    expect_same(c, ++seed);
  }
}

// As many inputs, and as many outputs, as fit in shared memory, and one more.
TEST_F(SynapseOnBothBackends, AsMuchAsFitsForWarpgroups) {
  uint64_t seed = 3012;
  if (!is_sanitized()) {
    expect_same({66, 128, 1024, 33}, ++seed);
    expect_same({66, 128, 1025, 33}, ++seed);
  }
  expect_same({3, 43, 33, 928}, ++seed);
  expect_same({3, 43, 33, 929}, ++seed);
}

// All of their kernels, for tools that slow them down.
TEST_F(SynapseOnBothBackends, OnceByWarpgroups) {
  Case c = {64, 67, 97, 65};
  c.dropped = true;
  expect_same(c, 1);
}

// More inputs than 16 bits of a plane's sum, and more outputs than a tensor core can add.
TEST_F(SynapseOnBothBackends, LongSums) {
  expect_same({3, 2, 70001, 3}, 1);
  expect_same({33, 2, 37, 8230}, 2);
  expect_same({4099, 3, 9, 7}, 3);
}

}  // namespace
}  // namespace synfire_test
