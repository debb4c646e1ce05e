// Changes of networks that are built: arrays from other files, frozen stages and factors, schedules, and several
// batches for a step; and all of it saved and loaded.
#include <bit>

#include "described_stages.hpp"
#include "network_file.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;
constexpr auto too_late = SYNFIRE_ERROR_WRONG_ORDER;

StagePlan small() {
  StagePlan plan;
  plan.n_steps = 3;
  plan.batch = 4;
  plan.sizes = {7, 5, 3};
  plan.n_rows = 10;
  return plan;
}

class NetworkTuning : public testing::Test {
 protected:
  const Context context = make_context(2);

  Network build(const StagePlan& plan, const std::vector<std::tuple<const char*, const char*, double>>& values = {}) {
    Network network = make_stages(context, plan);
    require_ok(synfire_network_set_value(network, "s0", "gain", 6));  // so that hidden neurons fire
    for (const auto& [stage, name, value] : values) require_ok(synfire_network_set_value(network, stage, name, value));
    require_ok(synfire_network_build(network));
    set_training(network, plan);
    return network;
  }
  void set_training(synfire_network network, const StagePlan& plan) const {
    set_data(network, SYNFIRE_DATA_TRAINING, plan.n_rows, make_data(context, plan, plan.n_rows, 3));
  }
};

template <class T>
std::vector<T> tensor(const File& file, const std::string& name, size_t count) {
  const FileParts parts(file);
  std::vector<T> values(count);
  std::memcpy(values.data(), parts.data.data() + parts.offset(name), count * sizeof(T));
  return values;
}
void set(synfire_network network, const char* stage, const char* name, double value) {
  EXPECT_OK(synfire_network_set_value(network, stage, name, value));
}
double value_of(synfire_network network, const char* stage, const char* name) {
  double value = 0;
  EXPECT_OK(synfire_network_get_value(network, stage, name, &value));
  return value;
}
double read_rate(synfire_network network) {
  synfire_optimizer handle = nullptr;
  EXPECT_OK(synfire_network_get_optimizer(network, "optimizer", &handle));
  const Optimizer optimizer(handle);
  double rate = 0;
  EXPECT_OK(synfire_optimizer_read(optimizer, -1, "learning_rate", &rate, sizeof rate));
  return rate;
}

// ---- arrays of other files ------------------------------------------------------------------------------------------

// A safetensors file of another tool.
class Tensors {
 public:
  template <class T>
  Tensors& add(const std::string& name, const std::string& dtype, const std::string& shape,
               const std::vector<T>& values) {
    const size_t begin = data_.size(), bytes = values.size() * sizeof(T);
    data_.resize(begin + bytes);
    std::memcpy(data_.data() + begin, values.data(), bytes);
    header_.append(header_.empty() ? "{\"" : ",\"").append(name).append("\":{\"dtype\":\"").append(dtype);
    header_.append("\",\"shape\":[").append(shape).append("],\"data_offsets\":[").append(std::to_string(begin));
    header_.append(",").append(std::to_string(data_.size())).append("]}");
    return *this;
  }
  File file() const {
    const std::string header = header_ + "}";
    const uint64_t length = header.size();
    File file(8 + header.size() + data_.size());
    std::memcpy(file.data(), &length, 8);
    std::memcpy(&file[8], header.data(), header.size());
    std::memcpy(&file[8 + header.size()], data_.data(), data_.size());
    return file;
  }

 private:
  std::string header_, data_;
};

using Sources = std::vector<synfire_array_source>;
synfire_array_source source(const char* theirs, const char* ours = nullptr, const char* layout = nullptr) {
  return {theirs, ours, layout, 7, 0};
}
synfire_status load_arrays(synfire_network network, const File& file, Sources& sources, int32_t leave_out = 0) {
  return synfire_network_load_arrays_from_memory(network, file.data(), file.size(), sources.data(), sources.size(),
                                                 leave_out);
}
synfire_status load_arrays(synfire_network network, const File& file, Sources&& sources, int32_t leave_out = 0) {
  return load_arrays(network, file, sources, leave_out);
}

TEST_F(NetworkTuning, ABodyComesFromANetworkWithAnotherHead) {
  StagePlan plan = small(), other = small();
  plan.train_tau = other.train_tau = true;
  other.sizes.back() = 4;
  const Network body = build(other), network = build(plan);
  trained(body, 5);
  trained(network, 2);
  const File theirs = saved(body), before = saved(network);
  Sources sources = {source("s0.weights"), source("s0.bias", "s0.bias", nullptr), source("n0.parameter.tau"),
                     source("s1.weights")};
  EXPECT_FAILS(refused, WORDS("SYN-FILE-SHAPE", "s1.weights", "[4, 5]", "[3, 5]"),
               load_arrays(network, theirs, sources));
  EXPECT_EQ(saved(network), before);
  EXPECT_EQ(sources[0].is_loaded, 7);
  EXPECT_OK(load_arrays(network, theirs, sources, 1));
  EXPECT_EQ(sources[0].is_loaded, 1);
  EXPECT_EQ(sources[2].is_loaded, 1);
  EXPECT_EQ(sources[3].is_loaded, 0);
  const File after = saved(network);
  EXPECT_TRUE(same_bits(tensor<float>(after, "s0.weights", 35), tensor<float>(theirs, "s0.weights", 35)));
  EXPECT_TRUE(same_bits(tensor<float>(after, "s0.bias", 5), tensor<float>(theirs, "s0.bias", 5)));
  EXPECT_TRUE(same_bits(tensor<double>(after, "n0.parameter.tau", 5), tensor<double>(theirs, "n0.parameter.tau", 5)));
  for (const char* const name : {"s1.weights", "optimizer.s0.weights.moment1"})
    EXPECT_TRUE(same_bits(tensor<float>(after, name, 15), tensor<float>(before, name, 15))) << name;
  // It computes with them: as a network whose synapse was written.
  const Network written = build(plan);
  EXPECT_OK(load(written, after));
  EXPECT_EQ(trained(network, 3).loss, trained(written, 3).loss);
  EXPECT_EQ(saved(network), saved(written));
}

TEST_F(NetworkTuning, EveryTypeBecomesTheNearestNumber) {
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64}) {
    StagePlan plan = small();
    plan.dtype = dtype;
    plan.input = SYNFIRE_NETWORK_INPUT_SPIKES;
    plan.input_dtype = SYNFIRE_DTYPE_BITS;
    const Network network = build(plan);
    // 1/3 in each; the smallest f16, a half way in f32, and a number that f32 rounds to 0.
    const std::vector<uint16_t> f16 = {0x3555, 0xB555, 0x0001, 0x83FF, 0x7BFF},
                                bf16 = {0x3EAB, 0xBEAB, 0, 0x8000, 0x4049};
    const std::vector<double> f64 = {1.0 / 3, 1 + 0x1p-24, 1 + 0x1.8p-23, -1e-50, 0x1p100};
    const std::vector<double> of_f16 = {0.333251953125, -0.333251953125, 0x1p-24, -1023 * 0x1p-24, 65504};
    const std::vector<double> of_bf16 = {0.333984375, -0.333984375, 0, -0.0, 3.140625};
    const std::pair<File, std::vector<double>> files[] = {
        {Tensors().add("b", "F16", "5", f16).file(), of_f16},
        {Tensors().add("b", "BF16", "5", bf16).file(), of_bf16},
        {Tensors().add("b", "F64", "5", f64).file(), f64},
        {Tensors().add("b", "F32", "5", std::vector<float>{1, -2, 3.5F, 0.1F, 1e30F}).file(),
         {1, -2, 3.5, static_cast<double>(0.1F), static_cast<double>(1e30F)}}};
    for (const auto& [file, expected] : files) {
      EXPECT_OK(load_arrays(network, file, {source("b", "s0.bias")}));
      if (dtype == SYNFIRE_DTYPE_F64)
        EXPECT_TRUE(same_bits(tensor<double>(saved(network), "s0.bias", 5), expected));
      else
        EXPECT_TRUE(same_bits(tensor<float>(saved(network), "s0.bias", 5),
                              std::vector<float>(expected.begin(), expected.end())));
    }
  }
}

// A map, a convolution, one that is transposed in groups, a normalisation, and a synapse after a flatten.
Network make_maps(synfire_context context) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = 2;
  desc.batch = 3;
  synfire_network made = nullptr;
  require_ok(synfire_network_create(context, &desc, &made));
  Network network(made);
  const auto add = [&](const char* kind, const char* name, const StageValues& values) {
    require_ok(add_stage(network, kind, name, values));
  };
  add("input", "image", {text("kind", "spikes"), number("height", 5), number("width", 4), number("channels", 3)});
  add("conv2d", "conv", {number("output_channels", 4), number("kernel_height", 2), number("kernel_width", 3)});
  add("normalization", "norm", {});
  add("neurons", "first", {text("model", "lif")});
  add("conv2d", "up",
      {number("output_channels", 6), number("kernel_height", 3), number("kernel_width", 2), number("groups", 2),
       number("transposed", 1)});
  add("neurons", "second", {text("model", "lif")});
  add("flatten", "flat", {});
  add("dropout", "drop", {number("probability", 0.1)});
  add("synapse", "dense", {number("n_outputs", 3)});
  add("neurons", "last", {text("model", "li")});
  add("readout", "readout", {text("reduction", "mean")});
  require_ok(synfire_network_build(network));
  return network;
}

std::vector<float> numbered_from(size_t count, float first) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) values[i] = first + static_cast<float>(i);
  return values;
}

TEST_F(NetworkTuning, LayoutsOfPyTorch) {
  const Network network = make_maps(context);
  // conv: O 4, C 3, kernel 2 x 3; up: C 4, O 6, groups 2, kernel 3 x 2; dense: N 3, C 6, H 6, W 3.
  const std::vector<float> conv = numbered_from(4 * 3 * 2 * 3, 1), up = numbered_from(4 * 3 * 3 * 2, 1),
                           dense = numbered_from(3 * 6 * 6 * 3, 1);
  const File file = Tensors()
                        .add("conv.weight", "F32", "4,3,2,3", conv)
                        .add("up.weight", "F32", "4,3,3,2", up)
                        .add("fc.weight", "F32", "3,108", dense)
                        .add("bn.running_var", "F32", "4", numbered_from(4, 0.5F))
                        .file();
  EXPECT_OK(load_arrays(
      network, file,
      {source("conv.weight", "conv.weights", "oihw"), source("up.weight", "up.weights", "iohw"),
       source("fc.weight", "dense.weights", "chw-flatten"), source("bn.running_var", "norm.running_variance")}));
  const File now = saved(network);
  const std::vector<float> our_conv = tensor<float>(now, "conv.weights", conv.size()),
                           our_up = tensor<float>(now, "up.weights", up.size());
  std::vector<float> our_dense = tensor<float>(now, "dense.weights", dense.size());
  size_t at = 0;
  for (size_t o = 0; o < 4; ++o)
    for (size_t y = 0; y < 2; ++y)
      for (size_t x = 0; x < 3; ++x)
        for (size_t c = 0; c < 3; ++c) EXPECT_EQ(our_conv[at++], conv[((o * 3 + c) * 2 + y) * 3 + x]);
  at = 0;
  for (size_t o = 0; o < 6; ++o)
    for (size_t y = 0; y < 3; ++y)
      for (size_t x = 0; x < 2; ++x)
        for (size_t c = 0; c < 2; ++c)
          EXPECT_EQ(our_up[at++], up[(((o / 3 * 2 + c) * 3 + o % 3) * 3 + y) * 2 + x]) << o << y << x << c;
  at = 0;
  for (size_t n = 0; n < 3; ++n)
    for (size_t y = 0; y < 6; ++y)
      for (size_t x = 0; x < 3; ++x)
        for (size_t c = 0; c < 6; ++c) EXPECT_EQ(our_dense[at++], dense[((n * 6 + c) * 6 + y) * 3 + x]);
  EXPECT_TRUE(same_bits(tensor<float>(now, "norm.running_variance", 4), numbered_from(4, 0.5F)));
  // As the network has them.
  EXPECT_OK(load_arrays(network, file, {source("fc.weight", "dense.weights", "oi")}));
  our_dense = tensor<float>(saved(network), "dense.weights", dense.size());
  EXPECT_TRUE(same_bits(our_dense, dense));
  EXPECT_OK(load_arrays(network, now, {source("dense.weights"), source("up.weights")}));
  EXPECT_EQ(saved(network), now);
}

TEST_F(NetworkTuning, ArraysThatDoNotFitAreRefused) {
  const Network network = make_maps(context);
  const File before = saved(network);
  const std::vector<float> conv = numbered_from(72, 1);
  std::vector<float> infinite(4, 1);
  infinite[2] = std::numeric_limits<float>::infinity();
  const File file = Tensors()
                        .add("conv.weight", "F32", "4,3,2,3", conv)
                        .add("conv.bias", "F32", "4", numbered_from(4, 1))
                        .add("indices", "I64", "4", std::vector<int64_t>{1, 2, 3, 4})
                        .add("infinite", "F32", "4", infinite)
                        .add("huge", "F64", "4", std::vector<double>{1, 1e300, 1, 1})
                        .add("negative", "F32", "4", std::vector<float>{1, 1, 1, -1})
                        .add("scalar", "F32", "", std::vector<float>{-1})
                        .file();
  const auto refuse = [&](std::initializer_list<std::string_view> words, Sources&& bad, int32_t leave_out = 0) {
    Sources sources = {source("conv.bias")};
    sources.insert(sources.end(), bad.begin(), bad.end());
    EXPECT_FAILS(refused, words, load_arrays(network, file, sources, leave_out));
    EXPECT_EQ(sources.front().is_loaded, 7);
  };
  refuse(WORDS("SYN-NETWORK-ARRAY", "conv.weigths", "did you mean \"conv.weights\"", "dense.bias"),
         {source("conv.weight", "conv.weigths")}, 1);
  refuse(WORDS("SYN-NETWORK-ARRAY", "first.state.v"), {source("conv.weight", "first.state.v")});
  refuse(WORDS("SYN-NETWORK-ARRAY", "conv.bias", "twice"), {source("scalar", "conv.bias")});
  refuse(WORDS("SYN-FILE-TENSOR", "conv.weigh", "did you mean \"conv.weight\"", "[4, 2, 3, 3]"),
         {source("conv.weigh", "conv.weights")});
  refuse(WORDS("SYN-FILE-SHAPE", "[4, 3, 2, 3]", "[4, 2, 3, 3]", "\"oihw\""), {source("conv.weight", "conv.weights")});
  refuse(WORDS("SYN-FILE-SHAPE", "[4]", "up.bias", "[6]"), {source("negative", "up.bias")});
  refuse(WORDS("SYN-FILE-SHAPE", "[4, 3, 2, 3]", "first.parameter.tau", "[], [4] or [32]"),
         {source("conv.weight", "first.parameter.tau")});
  refuse(WORDS("SYN-FILE-SHAPE", "[4]", "last.parameter.tau", "[] or [3]"), {source("negative", "last.parameter.tau")});
  refuse(WORDS("SYN-FILE-DTYPE", "indices", "I64", "BF16"), {source("indices", "norm.weight")}, 1);
  refuse(WORDS("SYN-NETWORK-LAYOUT", "oikl", "\"oihw\"", "or null"), {source("conv.weight", "conv.weights", "oikl")});
  refuse(WORDS("SYN-NETWORK-LAYOUT", "iohw", "\"oihw\""), {source("conv.weight", "conv.weights", "iohw")});
  refuse(WORDS("SYN-NETWORK-LAYOUT", "oi", "one order"), {source("negative", "norm.weight", "oi")});
  refuse(WORDS("SYN-NETWORK-LAYOUT", "oi", "one order"), {source("scalar", "first.parameter.tau", "oi")});
  refuse(WORDS("SYN-NETWORK-NUMBER", "element 2", "infinite", "finite"), {source("infinite", "norm.bias")});
  refuse(WORDS("SYN-NETWORK-NUMBER", "element 1", "huge", "in f32"), {source("huge", "norm.bias")});
  refuse(WORDS("SYN-NETWORK-NUMBER", "element 3", "at least 0"), {source("negative", "norm.running_variance")});
  refuse(WORDS("SYN-PARAMETER-RANGE", "tau"), {source("scalar", "first.parameter.tau")});

  Sources one = {source("conv.bias")};
  const auto load = [&](const void* data, uint64_t bytes, uint64_t n_sources, int32_t leave_out) {
    return synfire_network_load_arrays_from_memory(network, data, bytes, one.data(), n_sources, leave_out);
  };
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-LIST", "n_sources is 0"), load(file.data(), file.size(), 0, 0));
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-LIST", "65537"), load(file.data(), file.size(), 65537, 0));
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-FLAG", "leave_out is 2"), load(file.data(), file.size(), 1, 2));
  EXPECT_FAILS(refused, WORDS("SYN-ARGUMENT-NULL", "data"), load(nullptr, file.size(), 1, 0));
  EXPECT_FAILS(refused, WORDS("SYN-FILE-OFFSETS"), load(file.data(), file.size() - 1, 1, 0));
  EXPECT_FAILS(refused, WORDS("SYN-FILE-OPEN", "no_such_file"),
               synfire_network_load_arrays(network, "/no_such_file.safetensors", one.data(), 1, 0));
  one[0].reserved = 1;
  EXPECT_FAILS(refused, WORDS("sources[0].reserved"), load(file.data(), file.size(), 1, 0));
  one[0] = source(nullptr);
  EXPECT_FAILS(refused, WORDS("SYN-ARGUMENT-NULL", "sources[0].theirs"), load(file.data(), file.size(), 1, 0));
  EXPECT_EQ(saved(network), before);
  // Tensors that are left out change nothing.
  Sources missing = {source("no.such.tensor", "conv.bias"), source("scalar", "norm.bias")};
  EXPECT_OK(load_arrays(network, file, missing, 1));
  EXPECT_EQ(missing[0].is_loaded + missing[1].is_loaded, 0);
  EXPECT_EQ(saved(network), before);
  const Network unbuilt = make_stages(context, small());
  EXPECT_FAILS(too_late, WORDS("SYN-NETWORK-NOT-BUILT"), load_arrays(unbuilt, file, {source("conv.bias", "s0.bias")}));
}

TEST_F(NetworkTuning, AMaskKeepsItsZeros) {
  Network network = make_stages(context, small());
  std::vector<uint8_t> mask(35, 1);
  mask[3] = mask[34] = 0;
  require_ok(synfire_network_set_mask(network, "s0", mask.data(), mask.size()));
  require_ok(synfire_network_build(network));
  EXPECT_OK(load_arrays(network, Tensors().add("w", "F32", "5,7", std::vector<float>(35, 2)).file(),
                        {source("w", "s0.weights")}));
  const std::vector<float> weights = tensor<float>(saved(network), "s0.weights", 35);
  for (size_t i = 0; i < 35; ++i) EXPECT_EQ(weights[i], mask[i] == 0 ? 0.0F : 2.0F);
}

// ---- frozen stages and factors --------------------------------------------------------------------------------------

TEST_F(NetworkTuning, AFrozenStageStaysAsItIs) {
  StagePlan plan = small();
  plan.train_tau = true;
  plan.clip_norm = 0.1;
  const Network network = build(plan);
  trained(network, 2);
  for (const char* const stage : {"s0", "n0"}) {
    set(network, stage, "frozen", 1);
    EXPECT_EQ(value_of(network, stage, "frozen"), 1);
  }
  const File before = saved(network);
  trained(network, 3);
  const File after = saved(network);
  for (const char* const name : {"s0.weights", "optimizer.s0.weights.moment1", "optimizer.s0.weights.moment2"})
    EXPECT_TRUE(same_bits(tensor<float>(after, name, 35), tensor<float>(before, name, 35))) << name;
  for (const char* const name : {"s0.bias", "optimizer.s0.bias.moment1", "optimizer.n0.parameter.tau.moment2"})
    EXPECT_TRUE(same_bits(tensor<float>(after, name, 5), tensor<float>(before, name, 5))) << name;
  EXPECT_TRUE(same_bits(tensor<double>(after, "n0.parameter.tau", 5), tensor<double>(before, "n0.parameter.tau", 5)));
  EXPECT_FALSE(same_bits(tensor<float>(after, "s1.weights", 15), tensor<float>(before, "s1.weights", 15)));
  // The file has that they are frozen: into a network that is not, and into a new one.
  const Network other = build(plan), fresh = created(context, after);
  EXPECT_OK(load(other, after));
  set_training(fresh, plan);
  trained(network, 2);
  const File later = saved(network);
  for (const synfire_network one : {other.get(), fresh.get()}) {
    EXPECT_EQ(value_of(one, "s0", "frozen"), 1);
    trained(one, 2);
    EXPECT_EQ(saved(one), later);
  }
  // They go on from there, with their moments.
  for (const char* const stage : {"s0", "n0"}) set(network, stage, "frozen", 0);
  trained(network, 2);
  EXPECT_FALSE(same_bits(tensor<float>(saved(network), "s0.weights", 35), tensor<float>(after, "s0.weights", 35)));
  EXPECT_OK(load(other, saved(network)));
  EXPECT_EQ(value_of(other, "s0", "frozen"), 0);
  EXPECT_EQ(trained(other, 2).loss, trained(network, 2).loss);
  EXPECT_EQ(saved(other), saved(network));
}

TEST_F(NetworkTuning, WhatWasBuiltFrozenStaysFrozen) {
  StagePlan plan = small();
  plan.freeze_first = true;
  const Network frozen = build(plan);
  const File before = saved(frozen);
  EXPECT_FAILS(too_late, WORDS("SYN-NETWORK-FROZEN", "s0", "no moments"),
               synfire_network_set_value(frozen, "s0", "frozen", 0));
  set(frozen, "s0", "frozen", 1);
  EXPECT_EQ(saved(frozen), before);
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-VALUE", "frozen", "at most 1"),
               synfire_network_set_value(frozen, "s0", "frozen", 2));
  // Its file is not that of a network with moments, nor the other way round, also if that is frozen now.
  plan.freeze_first = false;
  const Network free = build(plan);
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-OTHER", "s0", "frozen"), load(free, before));
  set(free, "s0", "frozen", 1);
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-OTHER", "s0", "frozen"), load(free, before));
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-OTHER", "s0", "frozen"), load(frozen, saved(free)));
  EXPECT_EQ(saved(frozen), before);
  const Network again = created(context, before);
  EXPECT_FAILS(too_late, WORDS("SYN-NETWORK-FROZEN"), synfire_network_set_value(again, "s0", "frozen", 0));
  // Without an optimiser it does not matter.
  const Network loop = created(context, before, 1, 1, true);
  EXPECT_OK(load(loop, saved(free)));
}

TEST_F(NetworkTuning, FactorsAreThoseOfANetworkThatWasBuiltWithThem) {
  const StagePlan plan = small();
  const std::vector<std::tuple<const char*, const char*, double>> values = {{"s0", "learning_rate_factor", 0.25},
                                                                            {"s0", "weight_decay_factor", 2},
                                                                            {"s0", "bias_learning_rate_factor", 3},
                                                                            {"s1", "bias_weight_decay_factor", 0.5}};
  const Network built = build(plan, values), changed = build(plan);
  for (const auto& [stage, name, value] : values) set(changed, stage, name, value);
  EXPECT_EQ(trained(built, 4).loss, trained(changed, 4).loss);
  EXPECT_EQ(saved(built), saved(changed));
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-VALUE", "learning_rate_facter", "did you mean \"learning_rate_factor\""),
               synfire_network_set_value(changed, "s0", "learning_rate_facter", 1));
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-VALUE", "from 0 on"),
               synfire_network_set_value(changed, "s0", "learning_rate_factor", -1));
  EXPECT_EQ(saved(built), saved(changed));
  // A file brings them along.
  const Network other = build(plan);
  EXPECT_OK(load(other, saved(built)));
  EXPECT_EQ(value_of(other, "s0", "bias_learning_rate_factor"), 3);
  EXPECT_EQ(trained(other, 3).loss, trained(built, 3).loss);
}

// The other kinds of stages that learn.
TEST_F(NetworkTuning, MapsAndScalesFreezeToo) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = 2;
  desc.batch = 2;
  synfire_network made = nullptr;
  require_ok(synfire_network_create(context, &desc, &made));
  const Network network(made);
  const auto add = [&](const char* kind, const char* name, const StageValues& values) {
    require_ok(add_stage(network, kind, name, values));
  };
  add("input", "image", {text("kind", "values"), number("height", 3), number("width", 3), number("channels", 2)});
  add("conv2d", "conv", {number("output_channels", 3), number("kernel", 3), number("padding", 1)});
  add("normalization", "norm", {});
  add("scale", "scale", {text("scope", "channel"), number("bias", 1)});
  add("neurons", "first", {text("model", "lif")});
  add("flatten", "flat", {});
  add("synapse", "dense", {number("n_outputs", 2)});
  add("neurons", "last", {text("model", "li")});
  add("readout", "readout", {text("reduction", "mean")});
  add("loss", "loss", {text("kind", "cross_entropy")});
  add("optimizer", "optimizer", {text("kind", "adam"), number("learning_rate", 0.05)});
  require_ok(synfire_network_build(network));
  const Buffer images = make_buffer_of(context, Random(5).values<float>(5 * 2 * 18, -1, 2));
  const std::vector<uint32_t> labels = {0, 1, 1, 0, 1};
  const Buffer classes = buffer_of_bytes(context, SYNFIRE_DTYPE_U32, 5, labels.data(), 20);
  require_ok(synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, 5, images, classes, nullptr, nullptr, nullptr));
  const std::pair<const char*, std::vector<std::pair<const char*, size_t>>> stages[] = {
      {"conv", {{"conv.weights", 54}, {"conv.bias", 3}}},
      {"norm", {{"norm.weight", 3}, {"norm.bias", 3}}},
      {"scale", {{"scale.weights", 3}, {"scale.bias", 3}}},
      {"dense", {{"dense.weights", 54}, {"dense.bias", 2}}}};
  trained(network, 2);
  for (const auto& [frozen, arrays] : stages) {
    SCOPED_TRACE(frozen);
    set(network, frozen, "frozen", 1);
    const File before = saved(network);
    trained(network, 2);
    const File after = saved(network);
    for (const auto& [stage, own] : stages)
      for (const auto& [name, count] : own) {
        const bool is_same = tensor<float>(before, name, count) == tensor<float>(after, name, count);
        EXPECT_EQ(is_same, std::string_view(stage) == frozen) << name;
      }
    set(network, frozen, "frozen", 0);
  }
}

// ---- schedules ------------------------------------------------------------------------------------------------------

TEST_F(NetworkTuning, AScheduleGoesOnInTheFile) {
  const StagePlan plan = small();
  const std::vector<std::tuple<const char*, const char*, double>> values = {
      {"optimizer", "schedule", SYNFIRE_SCHEDULE_COSINE},
      {"optimizer", "warmup_steps", 2},
      {"optimizer", "schedule_steps", 8},
      {"optimizer", "schedule_factor", 0.5}};
  const Network network = build(plan, values);
  trained(network, 1);
  EXPECT_EQ(read_rate(network), 0.01 * 0.5);
  trained(network, 2);
  EXPECT_EQ(read_rate(network), 0.01);
  trained(network, 2);
  const double fifth = read_rate(network);
  EXPECT_LT(fifth, 0.01);
  const File file = saved(network);
  const Network other = build(plan), fresh = created(context, file);
  EXPECT_OK(load(other, file));
  set_training(fresh, plan);
  trained(network, 4);
  for (const synfire_network one : {other.get(), fresh.get()}) {
    EXPECT_EQ(value_of(one, "optimizer", "schedule_steps"), 8);
    trained(one, 4);
    EXPECT_EQ(saved(one), saved(network));
  }
  // Beyond its end.
  const File before = saved(network);
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-SCHEDULE", "ends after 10 steps", "9 were taken", "schedule_steps"),
               synfire_network_train(network, 2, &result));
  EXPECT_EQ(saved(network), before);
  trained(network, 1);
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-SCHEDULE", "10 were taken"), synfire_network_train(network, 0, &result));
  set(network, "optimizer", "schedule_steps", 20);
  trained(network, 1);
  set(network, "optimizer", "schedule", SYNFIRE_SCHEDULE_CONSTANT);
  trained(network, 30);
  EXPECT_EQ(read_rate(network), 0.01);
}

TEST_F(NetworkTuning, AScheduleNeedsItsSteps) {
  const StagePlan plan = small();
  // In any order, until the network is built.
  Network unbuilt = make_stages(context, plan);
  set(unbuilt, "optimizer", "schedule", SYNFIRE_SCHEDULE_STEP);
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-SCHEDULE", "optimizer", "step", "schedule_steps"),
               synfire_network_build(unbuilt));
  set(unbuilt, "optimizer", "schedule_steps", 3);
  EXPECT_OK(synfire_network_build(unbuilt));
  const auto refuse = [&](const char* name, double value, const char* word) {
    const File before = saved(unbuilt);
    EXPECT_FAILS(refused, WORDS(word), synfire_network_set_value(unbuilt, "optimizer", name, value));
    EXPECT_EQ(saved(unbuilt), before);
  };
  refuse("schedule_steps", 0, "SYN-NETWORK-SCHEDULE");
  refuse("schedule_steps", 1.5, "an integer");
  refuse("schedule", 3, "at most 2");
  refuse("schedule_factor", 1.25, "at most 1");
  refuse("warmup_steps", -1, "from 0 on");
  refuse("shedule", 1, "did you mean \"schedule\"");
  EXPECT_FAILS(too_late, WORDS("SYN-NETWORK-BUILT", "batches_per_step"),
               synfire_network_set_value(unbuilt, "optimizer", "batches_per_step", 2));
  FileParts parts(saved(unbuilt));
  parts.replace(" schedule_steps=3", "");
  const File bad = parts.whole();
  synfire_network made = nullptr;
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-SCHEDULE"),
               synfire_network_create_from_memory(context, bad.data(), bad.size(), nullptr, &made));
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-SCHEDULE"), load(unbuilt, bad));
  // A network without a schedule has a file that version 0.2 reads.
  const std::string words = FileParts(saved(build(plan))).header;
  for (const char* const word : {"schedule", "warmup", "batches_per_step", "frozen_now", "accumulated"})
    EXPECT_EQ(words.find(word), std::string::npos) << word;
  const Network described = make_stages(context, plan, false);
  EXPECT_OK(add_stage(described, "loss", "loss", {text("kind", "cross_entropy")}));
  EXPECT_OK(add_stage(described, "optimizer", "optimizer",
                      {text("kind", "adam"), text("schedule", "cosine"), number("schedule_steps", 9)}));
  EXPECT_EQ(value_of(described, "optimizer", "schedule"), SYNFIRE_SCHEDULE_COSINE);
}

// ---- several batches for a step -------------------------------------------------------------------------------------

TEST_F(NetworkTuning, StepsOfSeveralBatchesGoOnInTheFile) {
  StagePlan plan = small();
  plan.train_tau = true;
  const auto with = [&](double n) {
    return build(plan, {{"optimizer", "batches_per_step", n},
                        {"optimizer", "schedule", SYNFIRE_SCHEDULE_COSINE},
                        {"optimizer", "schedule_steps", 5}});
  };
  const Network network = with(2);
  const File at_first = saved(network);
  trained(network, 1);  // nothing but the mean
  EXPECT_TRUE(same_bits(tensor<float>(saved(network), "s0.weights", 35), tensor<float>(at_first, "s0.weights", 35)));
  const File file = saved(network);
  EXPECT_EQ(tensor<uint64_t>(file, "optimizer.accumulated_batches", 1)[0], 1u);
  EXPECT_FALSE(all_are(tensor<float>(file, "optimizer.s1.weights.accumulated", 15), 0.0F));
  const Network other = with(2), fresh = created(context, file);
  EXPECT_OK(load(other, file));
  EXPECT_EQ(saved(other), file);
  set_training(fresh, plan);
  const synfire_network_result expected = trained(network, 6);
  EXPECT_EQ(expected.n_batches, 6u);
  EXPECT_EQ(expected.n_skipped, 0u);
  for (const synfire_network one : {other.get(), fresh.get()}) {
    EXPECT_EQ(trained(one, 6).loss, expected.loss);
    EXPECT_EQ(saved(one), saved(network));
  }
  EXPECT_EQ(tensor<uint64_t>(saved(network), "optimizer.step_count", 1)[0], 3u);
  // Two of five steps are left: with one batch that waits, up to four more.
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-SCHEDULE", "3 were taken"), synfire_network_train(network, 5, &result));
  trained(network, 4);
  EXPECT_EQ(tensor<uint64_t>(saved(network), "optimizer.step_count", 1)[0], 5u);

  const Network three = with(3);
  const File before = saved(three);
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-OTHER", "batches_per_step"), load(three, file));
  EXPECT_EQ(saved(three), before);
  FileParts parts(file);
  const File bad = parts.poke("optimizer.accumulated_batches", 0, uint64_t{2}).whole();
  EXPECT_FAILS(refused, WORDS("SYN-NETWORK-NUMBER", "accumulated_batches", "at most 1"), load(other, bad));
  // A mean that is not finite is one of a batch: its step will be left out.
  FileParts nan(file);
  EXPECT_OK(load(other, nan.poke("optimizer.s0.bias.accumulated", 0, std::numeric_limits<float>::quiet_NaN()).whole()));
  EXPECT_EQ(trained(other, 1).n_skipped, 1u);
}

}  // namespace
}  // namespace synfire_test
