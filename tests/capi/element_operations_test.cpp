// Fill and scale-and-add, eager and in graphs, and values of a graph that change between replays.
#include <algorithm>
#include <cmath>

#include "recording_support.hpp"

namespace synfire_test {
namespace {

class ElementOperations : public testing::Test {
 protected:
  const Context context_ = make_context();
};

// ---- scale-and-add --------------------------------------------------------------------------------------------------

// The definition in the header, written out.
template <typename R>
R expected(double scale, R source, double keep, R destination) {
  const R kept = static_cast<R>(keep) == 0 ? R(0) : static_cast<R>(keep) * destination;
  return std::fma(static_cast<R>(scale), source, kept);
}

template <typename R>
void check_scale_add(synfire_context context, int64_t count) {
  Random random(static_cast<uint64_t>(count));
  for (const auto& [scale, keep] : {std::pair{0.1, 1.0}, {1.0, 0.0}, {-3.7, 0.3}, {0.0, 0.5}, {1e-20, 1e20}}) {
    SCOPED_TRACE(testing::Message() << scale << ", " << keep);
    const auto n = static_cast<size_t>(count);
    const std::vector<R> source = random.values<R>(n, -2, 2), before = random.values<R>(n, -2, 2);
    std::vector<R> after(n);
    for (size_t i = 0; i < n; ++i) after[i] = expected<R>(scale, source[i], keep, before[i]);
    const Buffer from = make_buffer_of(context, source), to = make_buffer_of(context, before);
    const synfire_scale_add_desc desc = scale_add_desc(from, to, scale, keep);
    EXPECT_OK(synfire_scale_add(context, &desc, nullptr));
    EXPECT_TRUE(same_bits(download<R>(to, n), after));
    EXPECT_TRUE(same_bits(download<R>(from, n), source));

    upload(to, before);
    const Graph graph = make_graph(context);
    record_scale_add(graph, from, to, scale, keep);
    EXPECT_OK(synfire_graph_instantiate(graph));
    EXPECT_TRUE(same_bits(download<R>(to, n), before)) << "recording computes nothing";
    replay(graph);
    EXPECT_TRUE(same_bits(download<R>(to, n), after));
    replay(graph);
    for (size_t i = 0; i < n; ++i) after[i] = expected<R>(scale, source[i], keep, after[i]);
    EXPECT_TRUE(same_bits(download<R>(to, n), after));
  }
}

TEST_F(ElementOperations, ScaleAddIsOneFusedMultiplyAdd) {
  for (const int64_t count : {1, 37, 5000}) {
    check_scale_add<float>(context_, count);
    check_scale_add<double>(context_, count);
  }
}

TEST_F(ElementOperations, ScaleAddOfALargeBufferUsesEveryElement) {
  const size_t n = 600001;
  Random random(5);
  const std::vector<float> source = random.values<float>(n, -2, 2), before = random.values<float>(n, -2, 2);
  const Context context = make_context(3);
  const Buffer from = make_buffer_of(context, source), to = make_buffer_of(context, before);
  const synfire_scale_add_desc desc = scale_add_desc(from, to, 0.3, -1.5);
  EXPECT_OK(synfire_scale_add(context, &desc, nullptr));
  std::vector<float> after(n);
  for (size_t i = 0; i < n; ++i) after[i] = expected<float>(0.3, source[i], -1.5, before[i]);
  EXPECT_TRUE(same_bits(download<float>(to, n), after));
}

TEST_F(ElementOperations, ABufferMayBeAddedToItself) {
  const std::vector<float> before = {1, -2, 0.25f};
  const Buffer buffer = make_buffer_of(context_, before);
  const synfire_scale_add_desc desc = scale_add_desc(buffer, buffer, 0.5, 2);
  EXPECT_OK(synfire_scale_add(context_, &desc, nullptr));
  EXPECT_TRUE(same_bits(download<float>(buffer, 3), {2.5f, -5, 0.625f}));
}

TEST_F(ElementOperations, WithoutKeepingTheDestinationIsNotRead) {
  const Buffer from = make_buffer_of(context_, std::vector<float>{3, 5});
  const Buffer to = make_buffer_of(context_, std::vector<float>(2, std::numeric_limits<float>::quiet_NaN()));
  const synfire_scale_add_desc desc = scale_add_desc(from, to, 2, 0);
  EXPECT_OK(synfire_scale_add(context_, &desc, nullptr));
  EXPECT_TRUE(same_bits(download<float>(to, 2), {6, 10}));
}

// f16 and bf16 on either side: the result of f32 arithmetic, rounded once more.
TEST_F(ElementOperations, SixteenBitsAreRoundedOnce) {
  // 1.5 * 2049 + 0.5 = 3074. In f16, where numbers of this size are 2 apart, that is 3074; in bf16, where they are 16
  // apart, 3072. 1 + 2^-11 rounds to even.
  struct Case {
    int32_t dtype;
    uint16_t source, before, after;
    double scale, keep;
  };
  const std::vector<Case> cases = {
      {SYNFIRE_DTYPE_F16, 0x3C00, 0x3C00, 0x3C00, 0x1p-11, 1},  // 1 + 2^-11: a tie, to even
      {SYNFIRE_DTYPE_F16, 0x3C00, 0x3C01, 0x3C02, 0x1p-11, 1},  // (1 + 2^-10) + 2^-11: a tie, to even
      {SYNFIRE_DTYPE_F16, 0x7BFF, 0x7BFF, 0x7C00, 1, 1},        // 65504 + 65504 is infinite
      {SYNFIRE_DTYPE_F16, 0x0001, 0x0001, 0x0002, 1, 1},        // subnormal
      {SYNFIRE_DTYPE_F16, 0x4200, 0xC000, 0x3C00, 1, 1},        // 3 − 2
      {SYNFIRE_DTYPE_BF16, 0x3F80, 0x3F80, 0x3F80, 0x1p-8, 1},  // 1 + 2^-8: a tie, to even
      {SYNFIRE_DTYPE_BF16, 0x3F80, 0x3F81, 0x3F82, 0x1p-8, 1}, {SYNFIRE_DTYPE_BF16, 0x4040, 0xC000, 0x3F80, 1, 1}};
  for (const Case& c : cases) {
    SCOPED_TRACE(testing::Message() << c.dtype << " " << c.before);
    const Buffer from = make_buffer(context_, c.dtype, 1), to = make_buffer(context_, c.dtype, 1);
    EXPECT_OK(synfire_buffer_upload(from, 0, &c.source, 2));
    EXPECT_OK(synfire_buffer_upload(to, 0, &c.before, 2));
    const synfire_scale_add_desc desc = scale_add_desc(from, to, c.scale, c.keep);
    EXPECT_OK(synfire_scale_add(context_, &desc, nullptr));
    uint16_t after = 0;
    EXPECT_OK(synfire_buffer_download(to, 0, &after, 2));
    EXPECT_EQ(after, c.after);
  }
  // f16 into f32 and bf16.
  const uint16_t three_f16 = 0x4200;
  const Buffer from = make_buffer(context_, SYNFIRE_DTYPE_F16, 1),
               wide = make_buffer_of(context_, std::vector<float>{0.1f});
  const Buffer narrow = make_buffer(context_, SYNFIRE_DTYPE_BF16, 1);
  EXPECT_OK(synfire_buffer_upload(from, 0, &three_f16, 2));
  EXPECT_OK(synfire_buffer_fill(narrow, 1));
  const synfire_scale_add_desc widened = scale_add_desc(from, wide, 0.1, 1),
                               narrowed = scale_add_desc(from, narrow, 2, 1);
  EXPECT_OK(synfire_scale_add(context_, &widened, nullptr));
  EXPECT_OK(synfire_scale_add(context_, &narrowed, nullptr));
  EXPECT_TRUE(same_bits(download<float>(wide, 1), {expected<float>(0.1, 3, 1, 0.1f)}));
  uint16_t seven = 0;
  EXPECT_OK(synfire_buffer_download(narrow, 0, &seven, 2));
  EXPECT_EQ(seven, 0x40E0);
}

TEST_F(ElementOperations, PinnedBuffersOnEitherSide) {
  const Buffer from = make_frame(context_, 3), to = make_frame(context_, 3),
               copy = make_buffer(context_, SYNFIRE_DTYPE_F32, 3);
  std::copy_n(std::vector<float>{1, 2, 3}.data(), 3, data_of(from));
  std::copy_n(std::vector<float>{10, 20, 30}.data(), 3, data_of(to));
  const Graph graph = make_graph(context_);
  record_scale_add(graph, from, to, 1, 1);
  record_copy(graph, to, copy);
  record_scale_add(graph, to, to, 1, 0);
  EXPECT_OK(synfire_graph_instantiate(graph));
  replay(graph);
  EXPECT_TRUE(same_bits(std::vector<float>(data_of(to), data_of(to) + 3), {11, 22, 33}));
  EXPECT_TRUE(same_bits(download<float>(copy, 3), {11, 22, 33}));
  data_of(from)[0] = -1;
  replay(graph);
  EXPECT_TRUE(same_bits(std::vector<float>(data_of(to), data_of(to) + 3), {10, 24, 36}));
}

// ---- fill -----------------------------------------------------------------------------------------------------------

TEST_F(ElementOperations, FillOfEveryType) {
  struct Case {
    int32_t dtype;
    double first, second;
  };
  for (const Case& c :
       {Case{SYNFIRE_DTYPE_F32, 0.1, -7}, Case{SYNFIRE_DTYPE_F64, 0.1, 1e300}, Case{SYNFIRE_DTYPE_F16, 0.1, 9},
        Case{SYNFIRE_DTYPE_BF16, 0.1, 9}, Case{SYNFIRE_DTYPE_U8, 200, 3}, Case{SYNFIRE_DTYPE_U32, 4294967295.0, 1},
        Case{SYNFIRE_DTYPE_U64, 1e15, 1}, Case{SYNFIRE_DTYPE_BITS, 5, 0}}) {
    SCOPED_TRACE(c.dtype);
    constexpr size_t n = 1003;
    const Buffer filled = make_buffer(context_, c.dtype, n), reference = make_buffer(context_, c.dtype, n);
    uint64_t bytes = 0;
    EXPECT_OK(synfire_buffer_get_data(filled, nullptr, &bytes));
    const auto same = [&] {
      std::vector<uint8_t> a(bytes), b(bytes);
      EXPECT_OK(synfire_buffer_download(filled, 0, a.data(), bytes));
      EXPECT_OK(synfire_buffer_download(reference, 0, b.data(), bytes));
      return a == b;
    };
    const Graph graph = make_graph(context_);
    const int32_t operation = record_fill(graph, filled, c.first);
    EXPECT_OK(synfire_graph_instantiate(graph));
    EXPECT_OK(synfire_buffer_fill(reference, c.first));
    EXPECT_FALSE(same());
    replay(graph);
    EXPECT_TRUE(same());
    EXPECT_OK(synfire_graph_set_value(graph, operation, "value", c.second));
    EXPECT_TRUE(same()) << "the next launch brings it";
    EXPECT_OK(synfire_buffer_fill(reference, c.second));
    replay(graph);
    EXPECT_TRUE(same());
  }
}

// ---- values that change between replays -----------------------------------------------------------------------------

TEST_F(ElementOperations, ChangesBecomeVisibleTogetherAtOneReplay) {
  // 70 fills and a scale-and-add: more values than fit into one small write.
  constexpr size_t n_fills = 70;
  std::vector<Buffer> buffers;
  for (size_t i = 0; i < n_fills; ++i) buffers.push_back(make_frame(context_, 1));
  const Buffer sum = make_frame(context_, 1);
  const uint32_t n_slots = 4;
  const Graph graph = make_slotted_graph(context_, n_slots);
  std::vector<int32_t> fills;
  for (const Buffer& buffer : buffers) fills.push_back(record_fill(graph, buffer, 0));
  const int32_t add = record_scale_add(graph, buffers[0], sum, 1, 0);
  EXPECT_OK(synfire_graph_instantiate(graph));
  uint64_t tickets[n_slots];
  for (uint32_t k = 0; k < n_slots; ++k) {
    for (size_t i = 0; i < n_fills; ++i)
      EXPECT_OK(synfire_graph_set_value(graph, fills[i], "value", static_cast<double>(100 * k + i)));
    EXPECT_OK(synfire_graph_set_value(graph, add, "scale", k + 1));
    tickets[k] = launch(graph);  // not waited for yet
  }
  for (uint32_t k = 0; k < n_slots; ++k) {
    SCOPED_TRACE(k);
    wait(graph, tickets[k]);
    for (size_t i = 0; i < n_fills; ++i)
      EXPECT_EQ(*slot_of(graph, tickets[k], buffers[i]), static_cast<float>(100 * k + i)) << i;
    EXPECT_EQ(*slot_of(graph, tickets[k], sum), static_cast<float>(100 * k * (k + 1)));
  }
}

TEST_F(ElementOperations, WhatASetValueRefusesChangesNothing) {
  const Buffer bytes = make_buffer(context_, SYNFIRE_DTYPE_U8, 4), x = make_buffer_of(context_, std::vector<float>{1});
  const Buffer y = make_buffer_of(context_, std::vector<float>{1});
  const Graph graph = make_graph(context_);
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("record"), [&] {
    int32_t operation = 77;
    const synfire_status status = synfire_graph_get_last_operation(graph, &operation);
    EXPECT_EQ(operation, 77);
    return status;
  }());
  const int32_t fill = record_fill(graph, bytes, 3), add = record_scale_add(graph, x, y, 2, 1);
  record_copy(graph, x, y);
  EXPECT_EQ(fill, 0);
  EXPECT_EQ(add, 1);
  EXPECT_EQ(last_operation(graph), 2);
  EXPECT_OK(synfire_graph_set_value(graph, add, "keep", 4)) << "before instantiating, too";
  EXPECT_OK(synfire_graph_instantiate(graph));
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("value"), synfire_graph_set_value(graph, fill, "value", 256));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("value"), synfire_graph_set_value(graph, fill, "value", 0.5));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("value"), synfire_graph_set_value(graph, fill, "value", nan));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("scale"), synfire_graph_set_value(graph, add, "scale", nan));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("keep"), synfire_graph_set_value(graph, add, "keep", infinity));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name", "scale", "keep"),
               synfire_graph_set_value(graph, add, "value", 1));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("operation"), synfire_graph_set_value(graph, 2, "value", 1));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("operation"), synfire_graph_set_value(graph, 3, "value", 1));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("operation"), synfire_graph_set_value(graph, -1, "value", 1));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("name"), synfire_graph_set_value(graph, fill, nullptr, 1));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("graph"), synfire_graph_set_value(nullptr, fill, "value", 1));
  const Buffer z = make_buffer_of(context_, std::vector<float>{1});
  replay(graph);
  EXPECT_EQ(download<uint8_t>(bytes, 4), std::vector<uint8_t>(4, 3));
}

// A refused call leaves no value under the index of the next operation.
TEST_F(ElementOperations, ARefusedRecordLeavesNoValues) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Layer layer = make_layer(context_, describe(Shape{1, 1, 4}, SYNFIRE_DTYPE_F32));
  const Buffer x = make_buffer_of(context_, std::vector<float>{1}), y = make_buffer_of(context_, std::vector<float>{1}),
               bytes = make_buffer(context_, SYNFIRE_DTYPE_U8, 4), unfit = make_buffer(context_, SYNFIRE_DTYPE_F32, 3);
  const Graph graph = make_graph(context_);
  const auto refuse_one_of_each = [&] {
    synfire_fill_desc fill = SYNFIRE_FILL_DESC_INIT;
    fill.buffer = bytes;
    fill.value = 0.5;
    const synfire_scale_add_desc no_scale = scale_add_desc(x, y, nan, 1), no_keep = scale_add_desc(x, y, 1, nan);
    synfire_update_parameter_desc bounded = update_desc("tau", x, 1);
    bounded.bounds = SYNFIRE_BOUND_UPPER;
    bounded.upper = -1;
    const synfire_update_parameter_desc unfit_gradient = update_desc("tau", unfit, 1),
                                        no_rate = update_desc("tau", x, nan), surrogate = update_desc("alpha", x, 1);
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-BUFFER-FILL"), synfire_graph_record_fill(graph, &fill));
    for (const auto* desc : {&no_scale, &no_keep})
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-SCALAR-RANGE"),
                   synfire_graph_record_scale_add(graph, desc));
    for (const auto& [rule, desc] :
         {std::pair{"SYN-UPDATE-LENGTH", &unfit_gradient}, std::pair{"SYN-SCALAR-RANGE", &no_rate},
          std::pair{"SYN-UPDATE-BOUNDS", static_cast<const synfire_update_parameter_desc*>(&bounded)},
          std::pair{"SYN-GRADIENT-SURROGATE", &surrogate}})
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS(rule),
                   synfire_graph_record_update_parameter(graph, layer, desc));
  };
  const auto has_only = [&](int32_t operation, std::initializer_list<std::string_view> own) {
    for (const char* name : {"value", "scale", "keep", "learning_rate"}) {
      if (std::find(own.begin(), own.end(), name) != own.end()) {
        EXPECT_OK(synfire_graph_set_value(graph, operation, name, 2)) << name;
        continue;
      }
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-GRAPH-VALUE"),
                   synfire_graph_set_value(graph, operation, name, 2));
      EXPECT_EQ(last_error_text().find(std::string("\"") + name + "\" and"), std::string::npos) << last_error_text();
    }
  };
  refuse_one_of_each();
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-GRAPH-EMPTY"), synfire_graph_instantiate(graph));
  has_only(record_fill(graph, bytes, 1), {"value"});
  refuse_one_of_each();
  has_only(record_scale_add(graph, x, y, 1, 1), {"scale", "keep"});
  refuse_one_of_each();
  synfire_copy_desc copy = SYNFIRE_COPY_DESC_INIT;
  copy.source = x;
  copy.destination = unfit;
  EXPECT_OK(synfire_graph_record_copy(graph, &copy));
  has_only(last_operation(graph), {});
  refuse_one_of_each();
  has_only(record_update(graph, layer, "tau", y, 0), {"learning_rate"});
  refuse_one_of_each();
  EXPECT_OK(synfire_graph_set_value(graph, 3, "learning_rate", -0.5));
  EXPECT_OK(synfire_graph_instantiate(graph));
  replay(graph);
  EXPECT_EQ(download<uint8_t>(bytes, 4), std::vector<uint8_t>(4, 2));
  EXPECT_EQ(download<float>(y, 1)[0], 4) << "2 times 1 and 2 times 1";
  EXPECT_EQ(get_parameter(layer, "tau")[0], 4) << "2, and half of 4";
}

TEST_F(ElementOperations, BadInput) {
  const Buffer f32 = make_buffer(context_, SYNFIRE_DTYPE_F32, 4), other = make_buffer(context_, SYNFIRE_DTYPE_F32, 4);
  const Buffer f64 = make_buffer(context_, SYNFIRE_DTYPE_F64, 4), bits = make_buffer(context_, SYNFIRE_DTYPE_BITS, 4);
  const Buffer shorter = make_buffer(context_, SYNFIRE_DTYPE_F32, 3),
               part = make_window(context_, f32, SYNFIRE_DTYPE_F32, 4, 3);
  const Buffer begin = make_window(context_, f32, SYNFIRE_DTYPE_F32, 0, 3);
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const Graph graph = make_graph(context_);
  const auto refuses = [&](std::initializer_list<std::string_view> words, const synfire_scale_add_desc& desc) {
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, words, synfire_scale_add(context_, &desc, nullptr));
    EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, words, synfire_graph_record_scale_add(graph, &desc));
  };
  refuses({"source", "destination"}, scale_add_desc(f32, f64, 1, 1));
  refuses({"source", "destination"}, scale_add_desc(f64, f32, 1, 1));
  refuses({"source"}, scale_add_desc(bits, f32, 1, 1));
  refuses({"destination"}, scale_add_desc(f32, bits, 1, 1));
  refuses({"source", "destination"}, scale_add_desc(shorter, f32, 1, 1));
  refuses({"source", "destination"}, scale_add_desc(begin, part, 1, 1));
  refuses({"scale"}, scale_add_desc(f32, other, nan, 1));
  refuses({"keep"}, scale_add_desc(f32, other, 1, nan));
  const synfire_scale_add_desc without = scale_add_desc(nullptr, f32, 1, 1);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("source"), synfire_scale_add(context_, &without, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("desc"), synfire_scale_add(context_, nullptr, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("desc"), synfire_graph_record_fill(graph, nullptr));
  synfire_fill_desc fill = SYNFIRE_FILL_DESC_INIT;
  fill.buffer = bits;
  fill.value = -1;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("value"), synfire_graph_record_fill(graph, &fill));
  fill.reserved = 1;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("reserved"), synfire_graph_record_fill(graph, &fill));
  const Context elsewhere = make_context();
  fill = SYNFIRE_FILL_DESC_INIT;
  const Buffer foreign = make_buffer(elsewhere, SYNFIRE_DTYPE_F32, 4);
  fill.buffer = foreign;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("buffer"), synfire_graph_record_fill(graph, &fill));
  // Refused calls recorded nothing, and recording continues.
  EXPECT_EQ(record_fill(graph, f32, 2), 0);
  EXPECT_OK(synfire_graph_instantiate(graph));
  fill.buffer = f32;
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_record_fill(graph, &fill));
  const synfire_scale_add_desc late = scale_add_desc(f32, other, 1, 1);
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_record_scale_add(graph, &late));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("graph"), synfire_graph_instantiate(graph));
  replay(graph);
  EXPECT_TRUE(all_are(download<float>(f32, 4), 2.0f));
}

// Writes by the graph's operations between a forward and its backward make the tape stale, as a copy does.
TEST_F(ElementOperations, WritesAreSeenByTapes) {
  const Shape shape{3, 1, 4};
  Rig<float> rig(context_, describe(shape, SYNFIRE_DTYPE_F32));
  rig.load(random_inputs<float>(shape, 3));
  const Graph graph = make_graph(context_);
  const synfire_forward_desc forward = rig.forward_desc();
  const synfire_backward_desc backward = rig.backward_desc();
  EXPECT_OK(synfire_graph_record_forward(graph, rig.layer, &forward));
  record_fill(graph, rig.x, 0);
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("x"), synfire_graph_record_backward(graph, rig.layer, &backward));
}

}  // namespace
}  // namespace synfire_test
