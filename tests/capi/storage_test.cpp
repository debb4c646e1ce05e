// Storage types: 16-bit sequences are those of the f32 layer, rounded once; sequences of mixed types; every spike
// format.
#include "storage_rig.hpp"

namespace synfire_test {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity(), nan = std::numeric_limits<double>::quiet_NaN();

class Storage : public testing::TestWithParam<int32_t> {
 protected:
  const Context context = make_context();
  const int32_t dtype = GetParam();

  // The f32 layer on the same inputs, with rounded results.
  StorageOutputs expected(synfire_layer_desc desc, const StorageInputs& in, StorageChoice choice = {}) const {
    desc.dtype = SYNFIRE_DTYPE_F32;
    return rounded_to(StorageRig(context, desc, choice).run(in), dtype);
  }
};
INSTANTIATE_TEST_SUITE_P(Types, Storage, testing::Values(SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16),
                         [](const auto& given) { return given.param == SYNFIRE_DTYPE_F16 ? "F16" : "BF16"; });

// ---- 16-bit layers --------------------------------------------------------------------------------------------------

TEST_P(Storage, EveryModelAndSurrogateIsTheF32LayerRounded) {
  const Shape shape{35, 2, 19};
  uint64_t seed = 1;
  for (const synfire_layer_desc& desc : sample_of(every_model_and_surrogate(shape, dtype))) {
    const StorageInputs in = storage_inputs(shape, ++seed, dtype);
    EXPECT_TRUE(same_bits(StorageRig(context, desc).run(in), expected(desc, in))) << name_of(desc);
  }
}

TEST_P(Storage, InstancesForSpikesAloneAreToo) {
  const Shape shape{33, 1, 70};
  for (const synfire_layer_desc& desc : sample_of(every_model_and_surrogate(shape, dtype))) {
    const StorageInputs in = storage_inputs(shape, 3, dtype);
    StorageChoice choice;
    choice.only_spikes = true;
    const StorageOutputs wanted = expected(desc, in, choice);
    for (const int32_t spikes :
         std::initializer_list<int32_t>{dtype, SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_TIME_BITS}) {
      choice.types.spikes = spikes;
      EXPECT_TRUE(same_bits(StorageRig(context, desc, choice).run(in), wanted))
          << name_of(desc) << " spikes " << spikes;
    }
  }
}

TEST_P(Storage, PerNeuronParametersAndReplays) {
  const Shape shape{33, 3, 21};
  const StorageInputs in = storage_inputs(shape, 5, dtype);
  for (int32_t model = SYNFIRE_MODEL_IF; model <= SYNFIRE_MODEL_IZHIKEVICH; ++model) {
    synfire_layer_desc desc = describe(shape, dtype), wide = describe(shape, SYNFIRE_DTYPE_F32);
    desc.model = wide.model = model;
    StorageRig rig(context, desc), f32(context, wide);
    const std::vector<double> thresholds = Random(6).values<double>(21, 0.5, 1.5);
    for (const StorageRig* one : {&rig, &f32}) set_parameter(one->layer, "v_threshold", thresholds);
    const StorageOutputs wanted = rounded_to(f32.run(in), dtype);
    EXPECT_TRUE(same_bits(rig.run(in), wanted)) << "model " << model;
    EXPECT_TRUE(same_bits(rig.replayed(in), wanted)) << "model " << model;
  }
}

TEST_P(Storage, EnoughElementsForWideAccesses) {
  const Shape shape{2, 1, 272384};  // eight elements per thread for more than 132 multiprocessors
  const synfire_layer_desc desc = describe(shape, dtype);
  const StorageInputs in = storage_inputs(shape, 8, dtype);
  StorageChoice choice;
  choice.only_spikes = true;
  EXPECT_TRUE(same_bits(StorageRig(context, desc, choice).run(in), expected(desc, in, choice)));
  choice.types.spikes = SYNFIRE_DTYPE_BITS;
  EXPECT_TRUE(same_bits(StorageRig(context, desc, choice).run(in), expected(desc, in, choice)));
  choice = {};
  choice.parameter_gradients = false;
  EXPECT_TRUE(same_bits(StorageRig(context, desc, choice).run(in), expected(desc, in, choice)));
}

TEST_P(Storage, NumbersThatAreNoneAndNumbersAtTheEnds) {
  const Shape shape{4, 1, 40};
  const Format16 format = format_of(dtype);
  const double largest = magnitude16(format, format.infinity() - 1), smallest = magnitude16(format, 1),
               normal = magnitude16(format, 1u << format.fraction_bits);
  const double special[] = {nan, infinity, -infinity, largest, -largest, smallest, -smallest, normal, -normal, -0.0};
  for (int32_t model = SYNFIRE_MODEL_IF; model <= SYNFIRE_MODEL_IZHIKEVICH; ++model)
    for (const int32_t surrogate : {SYNFIRE_SURROGATE_SIGMOID, SYNFIRE_SURROGATE_ATAN, SYNFIRE_SURROGATE_ERF}) {
      synfire_layer_desc desc = describe(shape, dtype);
      desc.model = model;
      desc.surrogate = surrogate;
      StorageInputs in = storage_inputs(shape, 9, dtype);
      for (size_t i = 0; i < 40; ++i) {
        in.x[40 + i] = special[i % 10];  // in the middle of a sequence
        if (i >= 20) in.grad_spike_seq[80 + i] = special[(i / 2) % 10];
        if (i >= 30) in.grad_v_seq[i] = special[i % 10];
      }
      EXPECT_TRUE(same_bits(StorageRig(context, desc).run(in), expected(desc, in))) << name_of(desc);
    }
}

// ---- Conversions ----------------------------------------------------------------------------------------------------

// H = V + X with V = −0 is X itself, the sign of zero included.
StorageOutputs pass_through(synfire_context context, int32_t dtype, const Types& types, const std::vector<double>& x) {
  synfire_layer_desc desc = describe(Shape{1, 1, static_cast<int64_t>(x.size())}, dtype);
  desc.model = SYNFIRE_MODEL_IF;
  StorageChoice choice;
  choice.types = types;
  choice.parameter_gradients = false;
  StorageInputs in = storage_inputs({1, 1, desc.n_neurons}, 1, dtype);
  in.x = x;
  in.v_init.assign(x.size(), -0.0);
  StorageRig rig(context, desc, choice);
  rig.load(in);
  EXPECT_OK(rig.forward());
  return rig.outputs();
}

TEST_P(Storage, EveryEncodingIsRead) {
  std::vector<double> x;
  for (uint32_t code = 0; code < 65536; ++code) x.push_back(decode16(dtype, static_cast<uint16_t>(code)));
  EXPECT_TRUE(same_bits(pass_through(context, dtype, {.h_seq = SYNFIRE_DTYPE_F32}, x).h_seq, x));
  EXPECT_TRUE(same_bits(pass_through(context, dtype, {}, x).h_seq, x)) << "and written";
}

TEST_P(Storage, EveryNumberIsRoundedToTheNearest) {
  std::vector<double> x;
  Random random(11);
  const auto push = [&](float value) {
    if (value == value) x.push_back(static_cast<double>(value));
  };
  // Around every midpoint between neighbours, where the rule for ties applies, and random bits.
  const Format16 format = format_of(dtype);
  for (uint32_t code = 0; code < format.infinity(); ++code) {
    const double halfway = (magnitude16(format, code) + magnitude16(format, code + 1)) / 2;
    const auto at = static_cast<float>(halfway);
    for (const float value : {std::nextafter(at, 0.0f), at, std::nextafter(at, std::numeric_limits<float>::infinity())})
      push(random.next() % 2 == 0 ? value : -value);
  }
  for (int i = 0; i < 200000; ++i) push(std::bit_cast<float>(static_cast<uint32_t>(random.next())));
  for (const double value : {0.0, -0.0, infinity, -infinity, 3.4028234663852886e38, 1.401298464324817e-45, nan})
    x.push_back(value);
  EXPECT_TRUE(same_bits(pass_through(context, dtype, {.x = SYNFIRE_DTYPE_F32}, x).h_seq, stored_as(dtype, x)));
}

TEST_P(Storage, FillRoundsLikewise) {
  const Buffer buffer = make_buffer(context, dtype, 3);
  Random random(12);
  for (int i = 0; i < 300; ++i) {
    const double value = std::ldexp(random.uniform(-1, 1), static_cast<int>(random.whole(-30, 20)));
    EXPECT_OK(synfire_buffer_fill(buffer, value));
    EXPECT_EQ(download<uint16_t>(buffer, 3), std::vector<uint16_t>(3, encode16(dtype, value))) << value;
  }
}

// ---- Sequences of mixed types ---------------------------------------------------------------------------------------

TEST_P(Storage, AnySequenceMayBeF32) {
  const Shape shape{34, 2, 23};
  const StorageInputs in = storage_inputs(shape, 13, dtype);
  int32_t Types::*const all[] = {&Types::x,          &Types::spikes,     &Types::h_seq,
                                 &Types::v_seq,      &Types::w_seq,      &Types::grad_spike_seq,
                                 &Types::grad_v_seq, &Types::grad_w_seq, &Types::grad_x_seq};
  for (int32_t model = SYNFIRE_MODEL_IF; model <= SYNFIRE_MODEL_IZHIKEVICH; ++model) {
    synfire_layer_desc desc = describe(shape, dtype), wide = describe(shape, SYNFIRE_DTYPE_F32);
    desc.model = wide.model = model;
    const StorageOutputs exact = StorageRig(context, wide).run(in), rounded = rounded_to(exact, dtype);
    Random random(static_cast<uint64_t>(model));
    for (uint64_t which = 0; which < std::size(all) + 12; ++which) {
      const uint64_t chosen = which < std::size(all) ? uint64_t{1} << which : random.next();
      StorageChoice choice;
      for (size_t i = 0; i < std::size(all); ++i)
        if ((chosen >> i & 1) != 0) choice.types.*all[i] = SYNFIRE_DTYPE_F32;
      StorageOutputs wanted = rounded;
      const Types& types = choice.types;
      if (types.h_seq != as_the_layer) wanted.h_seq = exact.h_seq;
      if (types.v_seq != as_the_layer) wanted.v_seq = exact.v_seq;
      if (types.w_seq != as_the_layer) wanted.w_seq = exact.w_seq;
      if (types.grad_x_seq != as_the_layer) wanted.grad_x_seq = exact.grad_x_seq;
      StorageRig rig(context, desc, choice);
      EXPECT_TRUE(same_bits(rig.run(in), wanted)) << name_of(desc) << " which " << which;
      choice.parameter_gradients = false;
      wanted.gradients.clear();
      StorageRig without(context, desc, choice);
      EXPECT_TRUE(same_bits(without.run(in), wanted)) << name_of(desc) << " without gradients, which " << which;
    }
  }
}

class StorageTypes : public testing::Test {
 protected:
  const Context context = make_context();
};

TEST_F(StorageTypes, OtherCombinationsAreRefused) {
  const Shape shape{3, 2, 5};
  struct Wrong {
    int32_t layer;
    synfire_buffer synfire_forward_desc::*field;
    const char* name;
    int32_t given;
  };
  using F = synfire_forward_desc;
  constexpr int32_t f16 = SYNFIRE_DTYPE_F16, bf16 = SYNFIRE_DTYPE_BF16, f32 = SYNFIRE_DTYPE_F32,
                    f64 = SYNFIRE_DTYPE_F64, u8 = SYNFIRE_DTYPE_U8, bits = SYNFIRE_DTYPE_BITS,
                    time_bits = SYNFIRE_DTYPE_TIME_BITS;
  const Wrong forward_wrongs[] = {{f32, &F::x, "x", f16},
                                  {f32, &F::x, "x", f64},
                                  {f16, &F::x, "x", bf16},
                                  {bf16, &F::x, "x", f16},
                                  {f16, &F::x, "x", f64},
                                  {f64, &F::x, "x", f32},
                                  {f64, &F::x, "x", f16},
                                  {f16, &F::x, "x", u8},
                                  {f32, &F::x, "x", bits},
                                  {f32, &F::x, "x", time_bits},
                                  {f16, &F::v_seq, "v_seq", u8},
                                  {f16, &F::v_seq, "v_seq", bf16},
                                  {f32, &F::v_seq, "v_seq", f16},
                                  {f32, &F::h_seq, "h_seq", bits},
                                  {bf16, &F::h_seq, "h_seq", time_bits},
                                  {f16, &F::v_init, "v_init", f16},
                                  {bf16, &F::v_final, "v_final", bf16},
                                  {f64, &F::v_final, "v_final", f32},
                                  {f32, &F::v_init, "v_init", f64},
                                  {f16, &F::spikes, "spikes", bf16},
                                  {f32, &F::spikes, "spikes", f16},
                                  {f64, &F::spikes, "spikes", f32},
                                  {f16, &F::spikes, "spikes", f64}};
  for (const Wrong& wrong : forward_wrongs) {
    SCOPED_TRACE(std::string(wrong.name) + " " + std::to_string(wrong.given) + " in " + std::to_string(wrong.layer));
    const Layer layer = make_layer(context, describe(shape, wrong.layer));
    const Buffer x = make_buffer(context, wrong.layer, shape.sequence()),
                 given = make_buffer(context, wrong.given, shape.sequence());
    synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
    desc.x = x;
    desc.*wrong.field = given;
    const std::string name = std::string("desc.") + wrong.name;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS(name), synfire_layer_forward(layer, &desc, nullptr));
    EXPECT_EQ(last_error_text().rfind("[SYN-BUFFER-TYPE]", 0), 0u) << last_error_text();
  }
  struct WrongBackward {
    int32_t layer;
    synfire_buffer synfire_backward_desc::*field;
    const char* name;
    int32_t given;
  };
  using B = synfire_backward_desc;
  const WrongBackward backward_wrongs[] = {
      {f32, &B::grad_spike_seq, "grad_spike_seq", f16}, {f16, &B::grad_spike_seq, "grad_spike_seq", bf16},
      {f16, &B::grad_spike_seq, "grad_spike_seq", u8},  {bf16, &B::grad_spike_seq, "grad_spike_seq", bits},
      {f16, &B::grad_v_seq, "grad_v_seq", f64},         {f16, &B::grad_v_final, "grad_v_final", f16},
      {f32, &B::grad_x_seq, "grad_x_seq", bf16},        {f64, &B::grad_x_seq, "grad_x_seq", f32},
      {f16, &B::grad_v_init, "grad_v_init", f16}};
  for (const WrongBackward& wrong : backward_wrongs) {
    SCOPED_TRACE(std::string(wrong.name) + " " + std::to_string(wrong.given) + " in " + std::to_string(wrong.layer));
    const Layer layer = make_layer(context, describe(shape, wrong.layer));
    const Buffer x = make_buffer(context, wrong.layer, shape.sequence()),
                 grad_x = make_buffer(context, wrong.layer, shape.sequence()),
                 given = make_buffer(context, wrong.given, shape.sequence());
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x;
    EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
    synfire_backward_desc desc = SYNFIRE_BACKWARD_DESC_INIT;
    desc.grad_x_seq = grad_x;
    desc.*wrong.field = given;
    const std::string name = std::string("desc.") + wrong.name;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS(name), synfire_layer_backward(layer, &desc, nullptr));
    EXPECT_EQ(last_error_text().rfind("[SYN-BUFFER-TYPE]", 0), 0u) << last_error_text();
  }
  const Layer layer = make_layer(context, describe(shape, f16));
  const Buffer x = make_buffer(context, f16, shape.sequence()), narrow = make_buffer(context, f16, 1);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  EXPECT_OK(synfire_layer_forward(layer, &forward, nullptr));
  const synfire_parameter_gradient gradient = {"tau", narrow};
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  backward.parameter_gradients = &gradient;
  backward.n_parameter_gradients = 1;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("gradient"), synfire_layer_backward(layer, &backward, nullptr));
  EXPECT_EQ(last_error_text().rfind("[SYN-BUFFER-TYPE]", 0), 0u) << last_error_text();
}

TEST_F(StorageTypes, LayersOfSpikeTypesAreRefused) {
  for (const int32_t dtype :
       std::initializer_list<int32_t>{SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_TIME_BITS, 7, -1}) {
    const synfire_layer_desc desc = describe({1, 1, 1}, dtype);
    synfire_layer layer = nullptr;
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("dtype"), synfire_layer_create(context, &desc, &layer));
    EXPECT_EQ(layer, nullptr);
  }
}

TEST_F(StorageTypes, StateOf16BitLayersIsF32) {
  const Shape shape{2, 1, 3};
  const Layer layer = make_layer(context, describe(shape, SYNFIRE_DTYPE_BF16));
  const std::vector<float> v = {0.1f, -0.3f, 0.7f};
  EXPECT_OK(synfire_layer_write_state(layer, "v", v.data(), 12));
  EXPECT_TRUE(same_bits(read_state<float>(layer, 3), v));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("bytes"), synfire_layer_write_state(layer, "v", v.data(), 6));
}

// ---- Spikes ---------------------------------------------------------------------------------------------------------

// Bit i of a row's bytes, lowest bits first, is neuron i. Written without words.
std::vector<uint8_t> packed_bytes(const std::vector<double>& row) {
  std::vector<uint8_t> bytes((row.size() + 31) / 32 * 4, 0);
  for (size_t i = 0; i < row.size(); ++i)
    if (row[i] != 0) bytes[i / 8] = static_cast<uint8_t>(bytes[i / 8] | 1u << (i % 8));
  return bytes;
}

TEST_F(StorageTypes, SpikesAreTheSameInEveryFormat) {
  Sample cases;
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16})
    for (const int64_t n_steps : {1, 31, 32, 33, 64, 100})
      for (const int64_t batch : {1, 3})
        for (const int64_t n_neurons : {1, 31, 32, 33, 65, 129}) {
          if (!cases.next()) continue;
          const Shape shape{n_steps, batch, n_neurons};
          SCOPED_TRACE(testing::Message() << shape << " dtype " << dtype);
          const StorageInputs in = storage_inputs(shape, static_cast<uint64_t>(n_steps + batch + n_neurons), dtype);
          StorageChoice choice;
          choice.only_spikes = true;
          const auto run = [&](int32_t format, std::unique_ptr<Rows>* raw) {
            choice.types.spikes = format;
            StorageRig rig(context, describe(shape, dtype), choice);
            rig.load(in);
            EXPECT_OK(rig.forward());
            const std::vector<double> dense = rig.dense_spikes();
            *raw = std::move(rig.spikes);
            return dense;
          };
          std::unique_ptr<Rows> raw;
          const std::vector<double> dense = run(dtype, &raw);
          for (const double spike : dense) ASSERT_TRUE(spike == 0 || spike == 1);
          EXPECT_TRUE(same_bits(run(SYNFIRE_DTYPE_U8, &raw), dense));
          EXPECT_TRUE(same_bits(run(SYNFIRE_DTYPE_TIME_BITS, &raw), dense));
          if (is_narrow(dtype)) {
            EXPECT_TRUE(same_bits(run(SYNFIRE_DTYPE_F32, &raw), dense));
          }
          EXPECT_TRUE(same_bits(run(SYNFIRE_DTYPE_BITS, &raw), dense));
          std::vector<uint8_t> bytes, wanted;
          for (const uint32_t word : raw->words())
            for (int shift = 0; shift < 32; shift += 8) bytes.push_back(static_cast<uint8_t>(word >> shift));
          for (size_t row = 0; row < dense.size(); row += static_cast<size_t>(n_neurons)) {
            const std::vector<uint8_t> one = packed_bytes(slice(dense, row, static_cast<size_t>(n_neurons)));
            wanted.insert(wanted.end(), one.begin(), one.end());
          }
          EXPECT_EQ(bytes, wanted);
        }
}

TEST_F(StorageTypes, RandomSpikesAreNeitherAllNorNone) {
  const Shape shape{100, 3, 129};
  StorageChoice choice;
  choice.only_spikes = true;
  StorageRig rig(context, describe(shape, SYNFIRE_DTYPE_F32), choice);
  rig.load(storage_inputs(shape, 1, SYNFIRE_DTYPE_F32));
  EXPECT_OK(rig.forward());
  double count = 0;
  for (const double spike : rig.dense_spikes()) count += spike;
  EXPECT_GT(count, 0.05 * static_cast<double>(shape.sequence()));
  EXPECT_LT(count, 0.95 * static_cast<double>(shape.sequence()));
}

}  // namespace
}  // namespace synfire_test
