// Stages of maps: convolutions and pools. Oracles and other backends are in random_graphs_test.cpp; here are the means
// that are counts, recorded by hand, what texts show, files, and what is refused.
#include <cmath>
#include <functional>

#include "described_stages.hpp"
#include "network_file.hpp"

namespace synfire_test {
namespace {

constexpr int64_t n_steps = 3, batch = 2, height = 5, width = 6, channels = 3;

Network make_network(synfire_context context, int32_t dtype = SYNFIRE_DTYPE_F32) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = n_steps;
  desc.batch = batch;
  desc.dtype = dtype;
  desc.seed = 7;
  synfire_network made = nullptr;
  require_ok(synfire_network_create(context, &desc, &made));
  return Network(made);
}

StageValues map_of(const char* kind, int64_t of_height = height, int64_t of_width = width,
                   int64_t of_channels = channels) {
  return {text("kind", kind), number("height", static_cast<double>(of_height)),
          number("width", static_cast<double>(of_width)), number("channels", static_cast<double>(of_channels))};
}

void add(synfire_network network, const char* kind, const char* name, const StageValues& values = {},
         const StageInputs& inputs = {}) {
  require_ok(add_stage(network, kind, name, values, inputs));
}

template <class Handle, class Get>
Owned<Handle> part(Get get) {
  Handle handle = nullptr;
  require_ok(get(&handle));
  return Owned<Handle>(handle);
}
Synapse synapse_of(synfire_network network, const char* stage) {
  return part<synfire_synapse>([&](auto* out) { return synfire_network_get_synapse(network, stage, out); });
}
Buffer buffer_of(synfire_network network, const char* name) {
  return part<synfire_buffer>([&](auto* out) { return synfire_network_get_buffer(network, name, out); });
}
std::string text_of(const std::function<synfire_status(char*, uint64_t*)>& write) {
  uint64_t bytes = 0;
  require_ok(write(nullptr, &bytes));
  std::string text(bytes, '\0');
  require_ok(write(text.data(), &bytes));
  return text.c_str();
}
std::string summary_of(synfire_network network) {
  return text_of([&](char* text, uint64_t* bytes) { return synfire_network_write_summary(network, text, bytes); });
}

class SpatialStages : public testing::Test {
 protected:
  Context context = make_context(2);
};

// ---- means that are counts ------------------------------------------------------------------------------------------

// A pool of spikes, which a convolution, a dense synapse and a stage that takes numbers read.
void describe_readers(synfire_network network, const char* kind) {
  StageValues input = map_of("spikes");
  input.push_back(text("dtype", "u8"));
  add(network, "input", "input", input);
  add(network, "pool", "pool", {text("kind", kind), number("window", 2), number("stride_y", 1)});
  add(network, "conv2d", "conv", {number("output_channels", 4), number("kernel", 2), number("padding_x", 1)});
  add(network, "flatten", "x", {}, {reads("conv")});
  add(network, "readout", "conv-out", {text("reduction", "steps")}, {reads("x")});
  add(network, "synapse", "dense", {number("n_outputs", 5)}, {reads("pool")});
  add(network, "flatten", "y", {}, {reads("dense")});
  add(network, "readout", "dense-out", {text("reduction", "steps")}, {reads("y")});
  add(network, "readout", "pool-out", {text("reduction", "steps")}, {reads("pool")});
}

std::vector<uint8_t> draw_spikes(size_t count) {
  Random random(11);
  std::vector<uint8_t> spikes(count);
  for (uint8_t& one : spikes) one = static_cast<uint8_t>(random.whole(0, 2) == 0);
  return spikes;
}

constexpr int64_t pooled_height = 4, pooled_width = 3, n_pooled = pooled_height * pooled_width * channels;

// The sums of the pool, by hand, in u8.
Buffer sums_of(synfire_context context, synfire_buffer spikes) {
  Buffer sums = make_buffer(context, SYNFIRE_DTYPE_U8, n_steps * batch * n_pooled);
  synfire_pool_desc desc = SYNFIRE_POOL_DESC_INIT;
  desc.kind = SYNFIRE_POOL_SUM;
  desc.n_steps = n_steps;
  desc.batch = batch;
  desc.height = height;
  desc.width = width;
  desc.channels = channels;
  desc.kernel_height = desc.kernel_width = desc.stride_x = 2;
  desc.stride_y = 1;
  desc.source = spikes;
  desc.destination = sums;
  require_ok(synfire_pool(context, &desc, nullptr));
  return sums;
}

std::vector<float> product_of(synfire_context context, synfire_synapse synapse, synfire_buffer input,
                              int64_t width_of) {
  const auto count = static_cast<uint64_t>(n_steps * batch * width_of);
  const Buffer output = make_buffer(context, SYNFIRE_DTYPE_F32, count);
  synfire_synapse_forward_desc desc = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
  desc.n_steps = n_steps;
  desc.batch = batch;
  desc.input = input;
  desc.output = output;
  require_ok(synfire_synapse_forward(synapse, &desc, nullptr));
  return download<float>(output, count);
}

std::vector<float> read_array(synfire_synapse synapse, const char* name, size_t count) {
  std::vector<float> values(count);
  require_ok(synfire_synapse_read(synapse, name, values.data(), values.size() * sizeof(float)));
  return values;
}

TEST_F(SpatialStages, MeansAreSumsTimesTheFactorOfTheirReaders) {
  const std::vector<uint8_t> spikes = draw_spikes(n_steps * batch * height * width * channels);
  for (const bool mean : {false, true}) {
    const Network network = make_network(context);
    describe_readers(network, mean ? "mean" : "sum");
    require_ok(synfire_network_build(network));
    const Buffer input = buffer_of(network, "input.input");
    require_ok(synfire_buffer_upload(input, 0, spikes.data(), spikes.size()));
    replay(part<synfire_graph>(
        [&](auto* out) { return synfire_network_get_graph(network, SYNFIRE_NETWORK_GRAPH_INFERENCE, out); }));
    const auto output = [&](const char* name, int64_t n) {
      return download<float>(buffer_of(network, name), static_cast<size_t>(n_steps * batch * n));
    };
    const Buffer sums = sums_of(context, input);
    // The same weights, with the factor.
    synfire_conv2d_desc desc = SYNFIRE_CONV2D_DESC_INIT;
    desc.input_kind = SYNFIRE_INPUT_COUNTS;
    desc.height = pooled_height;
    desc.width = pooled_width;
    desc.channels = channels;
    desc.output_channels = 4;
    desc.kernel_height = desc.kernel_width = 2;
    desc.padding_x = 1;
    desc.bias = 1;
    desc.count_bound = 4;
    desc.count_scale = mean ? 0.25F : 1.0F;
    desc.seed = random_seed(7, "conv", "weights");
    const Synapse conv =
        part<synfire_synapse>([&](auto* out) { return synfire_synapse_create_conv2d(context, &desc, out); });
    EXPECT_TRUE(same_bits(read_array(conv, "weight", 4 * 4 * channels),
                          read_array(synapse_of(network, "conv"), "weight", 4 * 4 * channels)));
    EXPECT_TRUE(same_bits(output("conv-out.output", 3 * 4 * 4), product_of(context, conv, sums, 3 * 4 * 4)));
    // A dense synapse is a convolution of one place.
    desc.height = desc.width = desc.kernel_height = desc.kernel_width = 1;
    desc.padding_x = 0;
    desc.channels = n_pooled;
    desc.output_channels = 5;
    desc.seed = random_seed(7, "dense", "weights");
    const Synapse dense =
        part<synfire_synapse>([&](auto* out) { return synfire_synapse_create_conv2d(context, &desc, out); });
    EXPECT_TRUE(same_bits(output("dense-out.output", 5), product_of(context, dense, sums, 5)));
    const std::vector<uint8_t> counts = download<uint8_t>(sums, static_cast<size_t>(n_steps * batch * n_pooled));
    std::vector<float> numbers;
    for (const uint8_t count : counts) numbers.push_back(static_cast<float>(count) / (mean ? 4.0F : 1.0F));
    EXPECT_TRUE(same_bits(output("pool-out.output", n_pooled), numbers));
    EXPECT_FALSE(all_are(numbers, 0.0F));
  }
}

// In f64 means are values; gradients through both forms are the same but for rounding.
TEST_F(SpatialStages, GradientsThroughMeansAreThoseOfF64) {
  std::vector<std::vector<double>> gradients[2];
  for (const int32_t dtype : {SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F32}) {
    const Network network = make_network(context, dtype);
    add(network, "input", "input", map_of("values"));
    add(network, "conv2d", "first",
        {number("output_channels", 4), number("kernel", 3), number("padding", 1), number("gain", 3),
         number("seed", 1)});
    add(network, "neurons", "n", {text("model", "lif")});
    add(network, "pool", "mean", {text("kind", "mean"), number("window", 3), number("stride", 1)});
    add(network, "conv2d", "second", {number("output_channels", 2), number("kernel", 2), number("seed", 2)});
    add(network, "neurons", "v", {text("model", "li")});
    add(network, "readout", "out", {text("reduction", "mean")});
    add(network, "scale", "beside", {text("scope", "channel"), number("initial_weight", 0.5)}, {reads("mean")});
    add(network, "pool", "global", {text("kind", "mean")}, {reads("beside")});
    add(network, "synapse", "third", {number("n_outputs", 3), number("seed", 3)}, {reads("mean")});
    add(network, "neurons", "v3", {text("model", "li")});
    add(network, "readout", "out3", {text("reduction", "mean")});
    add(network, "flatten", "flat", {}, {reads("global")});
    add(network, "neurons", "v2", {text("model", "li")}, {reads("flat")});
    add(network, "readout", "out2", {text("reduction", "last")});
    for (const char* const readout : {"out", "out2", "out3"})
      add(network, "loss", (std::string("loss-") + readout).c_str(), {text("kind", "mean_squared_error")},
          {reads(readout)});
    add(network, "optimizer", "sgd", {text("kind", "sgd"), number("learning_rate", 0.1)});
    require_ok(synfire_network_build(network));
    // Both train from the same weights, which f32 holds.
    Random random(5);
    const auto numbers = [&](size_t count) {
      std::vector<double> list(count);
      for (double& one : list) one = static_cast<double>(static_cast<float>(random.uniform(-1, 1)));
      return list;
    };
    const struct {
      const char* stage;
      size_t count;
    } weights[] = {{"first", 4 * 9 * channels}, {"second", 2 * 4 * 4}, {"third", 3 * 3 * 4 * 4}};
    const auto buffer = [&](const std::vector<double>& list) {
      const std::vector<float> narrow(list.begin(), list.end());
      return dtype == SYNFIRE_DTYPE_F64
                 ? buffer_of_bytes(context, dtype, list.size(), list.data(), list.size() * sizeof(double))
                 : buffer_of_bytes(context, dtype, narrow.size(), narrow.data(), narrow.size() * sizeof(float));
    };
    for (const auto& one : weights) {
      const std::vector<double> list = numbers(one.count);
      const std::vector<float> narrow(list.begin(), list.end());
      if (dtype == SYNFIRE_DTYPE_F64)
        require_ok(synfire_synapse_write(synapse_of(network, one.stage), "weight", list.data(), list.size() * 8));
      else
        require_ok(synfire_synapse_write(synapse_of(network, one.stage), "weight", narrow.data(), narrow.size() * 4));
    }
    const Buffer inputs = buffer(numbers(batch * n_steps * height * width * channels)),
                 targets[] = {buffer(numbers(batch * 2 * 3 * 2)), buffer(numbers(batch * 4)),
                              buffer(numbers(batch * 3))};
    require_ok(set_arrays(
        network, SYNFIRE_DATA_TRAINING, batch,
        {array_of("input", SYNFIRE_ARRAY_INPUTS, inputs), array_of("loss-out", SYNFIRE_ARRAY_TARGETS, targets[0]),
         array_of("loss-out2", SYNFIRE_ARRAY_TARGETS, targets[1]),
         array_of("loss-out3", SYNFIRE_ARRAY_TARGETS, targets[2])}));
    trained(network, 1);
    for (const auto& one : weights) {
      std::vector<double> gradient(one.count);
      if (dtype == SYNFIRE_DTYPE_F64) {
        require_ok(synfire_synapse_read(synapse_of(network, one.stage), "weight_gradient", gradient.data(),
                                        gradient.size() * 8));
      } else {
        const std::vector<float> narrow = read_array(synapse_of(network, one.stage), "weight_gradient", one.count);
        gradient.assign(narrow.begin(), narrow.end());
      }
      gradients[dtype == SYNFIRE_DTYPE_F32 ? 1 : 0].push_back(std::move(gradient));
    }
  }
  for (size_t i = 0; i < gradients[0].size(); ++i) {
    double largest = 0;
    for (const double one : gradients[0][i]) largest = std::max(largest, std::fabs(one));
    EXPECT_GT(largest, 1e-3);
    for (size_t k = 0; k < gradients[0][i].size(); ++k)
      ASSERT_NEAR(gradients[1][i][k], gradients[0][i][k], 1e-5 * largest) << i << ", element " << k;
  }
}

// ---- texts and files ------------------------------------------------------------------------------------------------

void describe_all(synfire_network network) {
  add(network, "input", "input", map_of("spikes"));
  add(network, "conv2d", "conv",
      {number("output_channels", 6), number("kernel_height", 3), number("kernel_width", 1), number("padding_y", 1),
       number("stride", 2), number("groups", 3), number("bias", 0)});
  add(network, "neurons", "n", {text("model", "lif")});
  add(network, "pool", "average",
      {text("kind", "mean"), number("window_height", 3), number("window_width", 1), number("padding_y", 1),
       number("stride_y", 2)});
  add(network, "conv2d", "up",
      {number("output_channels", 2), number("kernel", 2), number("stride", 2), number("transposed", 1),
       number("output_padding_x", 1), number("dilation_y", 2)});
  add(network, "pool", "largest", {text("kind", "max"), number("window", 2)}, {reads("up")});
  add(network, "neurons", "v", {text("model", "li")});
  add(network, "conv2d", "again", {text("weights_of", "conv")}, {reads("input")});
  add(network, "neurons", "m", {text("model", "lif")});
  add(network, "pool", "global", {text("kind", "sum")}, {reads("m")});
  add(network, "readout", "counts", {text("reduction", "sum")}, {reads("global")});
  add(network, "readout", "out", {text("reduction", "mean")}, {reads("v", "v")});
  for (const char* const readout : {"out", "counts"})
    add(network, "loss", (std::string("loss-") + readout).c_str(), {text("kind", "cross_entropy")}, {reads(readout)});
  add(network, "optimizer", "sgd", {text("kind", "sgd")});
}

TEST_F(SpatialStages, AreShownWithTheirMaps) {
  const Network network = make_network(context);
  describe_all(network);
  const std::string summary = summary_of(network);
  for (const char* const line :
       {"input      [3, 2, 5, 6, 3]", "conv2d     [3, 2, 3, 3, 6]              18",
        "3x1, stride 2, padding 1x0, 3 groups", "pool       [3, 2, 2, 3, 6]",
        "mean of 3x1, stride 2x1, padding 1x0, counts to 3", "conv2d     [3, 2, 5, 7, 2]              50",
        "2x2, stride 2, dilation 2x1, output padding 0x1, transposed", "pool       [3, 2, 2, 3, 2]", "max of 2x2\n",
        "weights of conv", "sum of 3x3, counts to 9", "[3, 2, 6]"})
    EXPECT_NE(summary.find(line), std::string::npos) << line << "\n" << summary;
  const std::string dot =
      text_of([&](char* text, uint64_t* bytes) { return synfire_network_write_dot(network, text, bytes); });
  EXPECT_NE(dot.find("label=\"conv\\nconv2d: 3x1, stride 2, padding 1x0, 3 groups\\n[3, 2, 3, 3, 6]\""),
            std::string::npos)
      << dot;
}

TEST_F(SpatialStages, FilesHoldTheirNumbers) {
  const Network network = make_network(context);
  describe_all(network);
  require_ok(synfire_network_build(network));
  const File file = saved(network);
  const FileParts parts(file);
  for (const char* const words :
       {"version=2", "kernel_height=3 kernel_width=1 stride_y=2 stride_x=2 padding_y=1 padding_x=0", "groups=3",
        "transposed=1", "gradient_bits=32 input_gradient_bits=24",
        "window_height=3 window_width=1 stride_y=2 padding_y=1", "name=again width=54 inputs=0 weights_of=conv ",
        "\"conv.weights\":{\"dtype\":\"F32\",\"shape\":[6,3,1,1]"})
    EXPECT_NE(parts.header.find(words), std::string::npos) << words << "\n" << parts.header;
  EXPECT_TRUE(saved(created(context, file)) == file);
  const auto refused = [&](const char* before, const char* after, std::initializer_list<std::string_view> words) {
    const File other = FileParts(file).replace(before, after).whole();
    synfire_network made = nullptr;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, words,
                 synfire_network_create_from_memory(context, other.data(), other.size(), nullptr, &made));
  };
  refused("kernel_height=3", "kernel_height=9", WORDS("SYN-CONV-KERNEL", "\"conv\"", "9"));
  refused("groups=3", "groups=2", WORDS("SYN-CONV-GROUPS", "\"conv\""));
  refused("output_channels=6", "output_channels=12", WORDS("SYN-NETWORK-WIDTH", "\"conv\""));
  refused("transposed=1", "transposed=2", WORDS("SYN-NETWORK-FILE", "transposed"));
  refused("weights_of=conv", "weights_of=n", WORDS("SYN-NETWORK-VALUE", "\"n\""));
  refused("weights_of=conv", "weights_of=none", WORDS("SYN-NETWORK-STAGE", "none"));
  refused("window_height=3", "window_height=99", WORDS("SYN-POOL-WINDOW", "99"));
  // Another kernel with outputs as many.
  const File other =
      FileParts(file).replace("kernel_height=3 kernel_width=1", "kernel_height=2 kernel_width=1").whole();
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("weights"), load(network, other));
  const File strides =
      FileParts(file).replace("window_width=1 stride_y=2 padding_y=1", "window_width=1 padding_y=1 stride_y=2").whole();
  EXPECT_OK(load(network, strides));
}

// ---- masks, dropout, few bits ---------------------------------------------------------------------------------------

TEST_F(SpatialStages, ConvolutionsTakeMasksDropoutAndFewBits) {
  const auto described = [&](bool has_mask, double bits) {
    Network network = make_network(context);
    add(network, "input", "input", map_of("spikes"));
    add(network, "dropout", "drop", {number("probability", 0.5), number("by_channel", 1)});
    add(network, "conv2d", "conv", {number("output_channels", 4), number("kernel", 3), number("weight_bits", bits)});
    add(network, "neurons", "n", {text("model", "lif")});
    add(network, "pool", "mean", {text("kind", "mean"), number("window", 2)});
    add(network, "dropout", "drop2", {number("probability", 0.25)});
    add(network, "conv2d", "conv2", {number("output_channels", 3), number("gain", 3)});
    add(network, "flatten", "flat");
    add(network, "readout", "out", {text("reduction", "mean")});
    add(network, "loss", "loss", {text("kind", "cross_entropy")});
    add(network, "optimizer", "adam", {text("kind", "adam"), number("learning_rate", 0.1)});
    std::vector<uint8_t> mask(4 * 9 * channels, 1);
    for (size_t i = 0; i < mask.size(); i += 2) mask[i] = 0;
    if (has_mask) require_ok(synfire_network_set_mask(network, "conv", mask.data(), mask.size()));
    return network;
  };
  const Network network = described(true, 8);
  const uint8_t wrong[] = {1, 0, 2};
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-SYNAPSE-MASK", "[4, 3, 3, 3]", "108"),
               synfire_network_set_mask(network, "conv", wrong, 3));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-STAGE", "of kind pool"),
               synfire_network_set_mask(network, "mean", wrong, 3));
  require_ok(synfire_network_build(network));
  EXPECT_NE(summary_of(network).find("3x3, 8 bits, masked"), std::string::npos) << summary_of(network);
  const std::vector<uint8_t> spikes = draw_spikes(batch * n_steps * 3 * 4);  // words
  std::vector<uint32_t> words(batch * n_steps * 3), labels(batch, 1);
  std::memcpy(words.data(), spikes.data(), spikes.size());
  for (uint32_t& word : words) word *= 0x11111111U;
  for (size_t i = 2; i < words.size(); i += 3) words[i] &= 0x03FFFFFFU;  // 90 spikes
  const Buffer inputs = buffer_of_bytes(context, SYNFIRE_DTYPE_BITS, words.size(), words.data(), words.size() * 4),
               classes = buffer_of_bytes(context, SYNFIRE_DTYPE_U32, labels.size(), labels.data(), labels.size() * 4);
  const auto give = [&](synfire_network to) {
    require_ok(
        set_arrays(to, SYNFIRE_DATA_TRAINING, batch,
                   {array_of("input", SYNFIRE_ARRAY_INPUTS, inputs), array_of("loss", SYNFIRE_ARRAY_LABELS, classes)}));
  };
  const std::vector<float> before = read_array(synapse_of(network, "conv"), "weight", 4 * 9 * channels);
  give(network);
  trained(network, 3);
  const std::vector<float> after = read_array(synapse_of(network, "conv"), "weight", 4 * 9 * channels);
  for (size_t i = 0; i < after.size(); ++i) EXPECT_EQ(after[i] == 0, i % 2 == 0) << i;
  EXPECT_FALSE(same_bits(before, after));
  const File file = saved(network);
  const Network same = created(context, file);
  EXPECT_TRUE(saved(same) == file);
  give(same);
  trained(same, 2);
  trained(network, 2);
  EXPECT_TRUE(saved(same) == saved(network));
  for (const bool has_mask : {false, true}) {
    const Network other = described(has_mask, has_mask ? 16 : 8);
    require_ok(synfire_network_build(other));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT,
                 WORDS("SYN-NETWORK-OTHER", "\"conv\"", has_mask ? "weight_bits" : "mask"), load(other, file));
  }
}

// ---- normalisations -------------------------------------------------------------------------------------------------

constexpr int64_t n_elements = n_steps * batch * height * width * channels;

void describe_normalization(synfire_network network, double freeze) {
  add(network, "input", "input", map_of("values"));
  add(network, "normalization", "norm", {number("momentum", 0.25), number("threshold", 0.5), number("freeze", freeze)});
  add(network, "flatten", "flat");
  add(network, "readout", "out", {text("reduction", "steps")});
  add(network, "loss", "loss", {text("kind", "mean_squared_error"), number("per_step", 1)});
  add(network, "optimizer", "sgd", {text("kind", "sgd"), number("learning_rate", 0.5)});
  require_ok(synfire_network_build(network));
}
void give_rows(synfire_context context, synfire_network network, const std::vector<float>& rows) {
  const Buffer inputs = buffer_of_bytes(context, SYNFIRE_DTYPE_F32, rows.size(), rows.data(), rows.size() * 4);
  require_ok(
      set_arrays(network, SYNFIRE_DATA_TRAINING, batch,
                 {array_of("input", SYNFIRE_ARRAY_INPUTS, inputs), array_of("loss", SYNFIRE_ARRAY_TARGETS, inputs)}));
}

// The order of the rows in a batch has no effect on sums of integers.
TEST_F(SpatialStages, NormalizationsTakeStatisticsAndKeepThem) {
  Random random(17);
  std::vector<float> rows(n_elements);
  for (float& one : rows) one = static_cast<float>(random.uniform(-2, 3));
  const Network network = make_network(context), frozen = make_network(context);
  describe_normalization(network, 0);
  describe_normalization(frozen, 1);
  for (const synfire_network one : {network.get(), frozen.get()}) {
    give_rows(context, one, rows);
    trained(one, 1);
  }
  // By hand.
  const auto array = [&](float value) {
    const std::vector<float> values(channels, value);
    return buffer_of_bytes(context, SYNFIRE_DTYPE_F32, channels, values.data(), values.size() * 4);
  };
  const Buffer mean = array(0), variance = array(1), gamma = array(0.5F), beta = array(0),
               y = buffer_of_bytes(context, SYNFIRE_DTYPE_F32, rows.size(), rows.data(), rows.size() * 4),
               x = make_buffer(context, SYNFIRE_DTYPE_F32, rows.size());
  synfire_normalize_desc desc = SYNFIRE_NORMALIZE_DESC_INIT;
  desc.n_steps = n_steps;
  desc.batch = batch;
  desc.height = height;
  desc.width = width;
  desc.channels = channels;
  desc.momentum = 0.25;
  desc.source = y;
  desc.destination = x;
  desc.running_mean = mean;
  desc.running_variance = variance;
  desc.gamma = gamma;
  desc.beta = beta;
  require_ok(synfire_normalize(context, &desc, nullptr));
  const auto of = [&](synfire_network one, const char* name) {
    return read_array(synapse_of(one, "norm"), name, channels);
  };
  EXPECT_TRUE(same_bits(of(network, "running_mean"), download<float>(mean, channels)));
  EXPECT_TRUE(same_bits(of(network, "running_variance"), download<float>(variance, channels)));
  EXPECT_NE(of(network, "weight"), std::vector<float>(channels, 0.5F)) << "gamma learns";
  EXPECT_EQ(of(frozen, "running_mean"), std::vector<float>(channels, 0.0F));
  EXPECT_EQ(of(frozen, "running_variance"), std::vector<float>(channels, 1.0F));
  EXPECT_NE(of(frozen, "weight"), std::vector<float>(channels, 0.5F));
  // Inference takes the running ones, time-major.
  require_ok(synfire_buffer_upload(buffer_of(network, "input.input"), 0, rows.data(), rows.size() * 4));
  replay(part<synfire_graph>(
      [&](auto* out) { return synfire_network_get_graph(network, SYNFIRE_NETWORK_GRAPH_INFERENCE, out); }));
  const std::vector<float> now = of(network, "weight"), shift = of(network, "bias");
  require_ok(synfire_buffer_upload(gamma, 0, now.data(), now.size() * 4));
  require_ok(synfire_buffer_upload(beta, 0, shift.data(), shift.size() * 4));
  desc.mode = SYNFIRE_NORMALIZE_EVALUATION;
  require_ok(synfire_normalize(context, &desc, nullptr));
  EXPECT_TRUE(same_bits(download<float>(buffer_of(network, "out.output"), n_elements), download<float>(x, n_elements)));
  // A network whose statistics are frozen goes on from the file of one whose are not.
  const File file = saved(network);
  require_ok(load(frozen, file));
  EXPECT_TRUE(same_bits(of(frozen, "running_mean"), of(network, "running_mean")));
  trained(frozen, 1);
  EXPECT_TRUE(same_bits(of(frozen, "running_variance"), of(network, "running_variance")));
}

TEST_F(SpatialStages, NormalizationsNeedTheirStatistics) {
  const Network network = make_network(context);
  describe_normalization(network, 0);
  const File file = saved(network);
  const auto refused = [&](const File& other, std::initializer_list<std::string_view> words) {
    synfire_network made = nullptr;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, words,
                 synfire_network_create_from_memory(context, other.data(), other.size(), nullptr, &made));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, words, load(network, other));
    EXPECT_TRUE(saved(network) == file);
  };
  for (const char* const name : {"\"norm.running_mean\"", "\"norm.running_variance\""}) {
    std::string renamed = name;
    renamed[1] = 'x';
    refused(FileParts(file).replace(name, renamed).whole(),
            WORDS("SYN-NETWORK-FILE", "running statistics", "\"norm\""));
  }
  refused(FileParts(file).poke("norm.running_variance", 1, -1.0F).whole(),
          WORDS("SYN-NETWORK-NUMBER", "norm.running_variance", "at least 0"));
  refused(FileParts(file).poke("norm.running_mean", 1, std::numeric_limits<float>::infinity()).whole(),
          WORDS("SYN-NETWORK-NUMBER", "norm.running_mean"));
  // Its synapse is for its arrays alone.
  const Buffer buffer = make_buffer(context, SYNFIRE_DTYPE_F32, n_elements);
  synfire_synapse_forward_desc forward = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
  forward.n_steps = n_steps;
  forward.batch = batch;
  forward.input = buffer;
  forward.output = buffer;
  const Synapse synapse = synapse_of(network, "norm");
  EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-SYNAPSE-NORMALIZATION"),
               synfire_synapse_forward(synapse, &forward, nullptr));
  synfire_synapse_info info = SYNFIRE_SYNAPSE_INFO_INIT;
  require_ok(synfire_synapse_get_info(synapse, &info));
  EXPECT_STREQ(info.kind, "normalization");
  EXPECT_EQ(info.n_arrays, 4U);
}

// ---- refused --------------------------------------------------------------------------------------------------------

TEST_F(SpatialStages, WhatDoesNotFitIsRefusedAndNothingChanges) {
  const Network network = make_network(context);
  add(network, "input", "input", map_of("spikes"));
  add(network, "conv2d", "conv", {number("output_channels", 4), number("kernel", 3)});
  add(network, "neurons", "n", {text("model", "lif")});
  add(network, "pool", "mean", {text("kind", "mean"), number("window", 2)});
  add(network, "conv2d", "after-mean", {number("output_channels", 4)});
  add(network, "neurons", "n2", {text("model", "lif")});
  add(network, "pool", "sum", {text("kind", "sum"), number("window", 2)}, {reads("n")});
  const std::string before = summary_of(network);
  const auto refused = [&](synfire_status status, std::initializer_list<std::string_view> words, const char* kind,
                           const StageValues& values, const StageInputs& inputs) {
    EXPECT_FAILS(status, words, add_stage(network, kind, "wrong", values, inputs));
    EXPECT_EQ(summary_of(network), before);
  };
  constexpr auto invalid = SYNFIRE_ERROR_INVALID_ARGUMENT;
  const StageInputs of_input = {reads("input")};
  const auto conv = [](StageValues values) {
    values.push_back(number("output_channels", 4));
    return values;
  };
  refused(invalid, WORDS("SYN-CONV-KERNEL", "wrong", "8", "padded map has a height of 7"), "conv2d",
          conv({number("kernel", 8), number("padding", 1)}), of_input);
  refused(invalid, WORDS("SYN-CONV-KERNEL", "wrong", "width of 6"), "conv2d", conv({number("kernel_width", 7)}),
          of_input);
  refused(invalid, WORDS("SYN-CONV-GROUPS", "wrong", "2"), "conv2d", conv({number("groups", 2)}), of_input);
  refused(invalid, WORDS("SYN-CONV-STRIDE", "wrong", "-1"), "conv2d", conv({number("stride_x", -1)}), of_input);
  refused(invalid, WORDS("SYN-CONV-PADDING", "wrong"), "conv2d", conv({number("output_padding", 1)}), of_input);
  refused(invalid, WORDS("SYN-NETWORK-FLAG", "transposed"), "conv2d", conv({number("transposed", 2)}), of_input);
  refused(invalid, WORDS("SYN-NETWORK-VALUE", "output_channels"), "conv2d", {number("kernel", 2)}, of_input);
  refused(invalid, WORDS("SYN-SYNAPSE-GRADIENT-BITS", "wrong"), "conv2d", conv({number("gradient_bits", 16)}),
          of_input);
  refused(invalid, WORDS("SYN-CONV-INPUT-GRADIENT-BITS", "wrong"), "conv2d", conv({number("input_gradient_bits", 8)}),
          of_input);
  refused(invalid, WORDS("SYN-NETWORK-VALUE", "kernal", "\"kernel\""), "conv2d", conv({number("kernal", 3)}), of_input);
  // Shared weights.
  refused(invalid, WORDS("SYN-NETWORK-VALUE", "kernel", "\"conv\""), "conv2d",
          {text("weights_of", "conv"), number("kernel", 3)}, of_input);
  refused(invalid,
          WORDS("SYN-NETWORK-SHAPE", "\"wrong\"", "4 channels of stage \"n\"", "\"conv\"", "3 of stage \"input\""),
          "conv2d", {text("weights_of", "conv")}, {reads("n")});
  refused(invalid, WORDS("SYN-NETWORK-VALUE", "kind neurons"), "conv2d", {text("weights_of", "n")}, of_input);
  refused(invalid, WORDS("SYN-NETWORK-SHAPE", "counts of 1 each", "0.25", "\"after-mean\""), "conv2d",
          {text("weights_of", "after-mean")}, {reads("sum")});
  refused(invalid, WORDS("SYN-NETWORK-SHAPE", "spikes", "numbers"), "conv2d", {text("weights_of", "after-mean")},
          {reads("n2")});
  // Pools.
  refused(invalid, WORDS("SYN-POOL-WINDOW", "wrong", "9"), "pool", {text("kind", "max"), number("window", 9)},
          of_input);
  refused(invalid, WORDS("SYN-POOL-PADDING", "wrong"), "pool",
          {text("kind", "max"), number("window", 2), number("padding", 2)}, of_input);
  refused(invalid, WORDS("SYN-NETWORK-VALUE", "max, sum, mean"), "pool", {text("kind", "median")}, of_input);
  refused(invalid, WORDS("SYN-NETWORK-KIND", "SYNFIRE_POOL_MAX"), "pool", {number("kind", 3)}, of_input);
  refused(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-NETWORK-CHAIN", "pool"), "pool", {text("kind", "max")},
          {reads("input"), reads("n")});
  // Others.
  refused(invalid, WORDS("SYN-UPSAMPLE-SCALE", "wrong", "-1"), "upsample", {number("scale_x", -1)}, of_input);
  refused(invalid, WORDS("SYN-PAD-BORDER", "wrong", "-6"), "pad", {number("left", -6)}, of_input);
  refused(invalid, WORDS("SYN-NETWORK-VALUE", "wrong", "threshold", "affine"), "normalization",
          {number("affine", 0), number("threshold", 2)}, of_input);
  refused(invalid, WORDS("SYN-NETWORK-VALUE", "wrong", "momentum"), "normalization", {number("momentum", 0)}, of_input);
  // Shapes that do not fit, both named.
  refused(invalid, WORDS("SYN-NETWORK-SHAPE", "5x6x3", "\"input\"", "3x4x4", "\"n\""), "sum", {},
          {reads("input"), reads("n")});
  add(network, "conv2d", "wrong", conv({number("kernel", 3)}), of_input);
}

TEST_F(SpatialStages, SumsThatF32DoesNotHoldAreRefused) {
  constexpr int64_t side = 4096;
  const Network network = make_network(context), wide = make_network(context, SYNFIRE_DTYPE_F64);
  for (const synfire_network one : {network.get(), wide.get()})
    add(one, "input", "input", map_of("spikes", side, side, 1));
  const std::string before = summary_of(network);
  for (const char* const kind : {"sum", "mean"}) {
    EXPECT_FAILS(SYNFIRE_ERROR_UNSUPPORTED, WORDS("SYN-POOL-BOUND", "\"pool\"", "4096", "2^24"),
                 add_stage(network, "pool", "pool", {text("kind", kind)}, {reads("input")}));
    EXPECT_EQ(summary_of(network), before);
  }
  EXPECT_OK(add_stage(network, "pool", "max", {text("kind", "max")}, {reads("input")}));
  EXPECT_OK(add_stage(network, "pool", "half", {text("kind", "sum"), number("window_height", 4095)}, {reads("input")}));
  EXPECT_OK(add_stage(wide, "pool", "pool", {text("kind", "mean")}, {reads("input")}));
}

}  // namespace
}  // namespace synfire_test
