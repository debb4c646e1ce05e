// Numbers that are not finite, replaced by 0 and counted: every type, shape and alignment; in place and not; at once
// and in graphs, where each replay has its own count.
#include <algorithm>
#include <cmath>
#include <limits>

#include "graph_support.hpp"
#include "storage_rig.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;
constexpr double nan_of_double = std::numeric_limits<double>::quiet_NaN(),
                 infinity = std::numeric_limits<double>::infinity();
const int32_t every_type[] = {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16};
const Placement placements[] = {{0, 0}, {1, 0}, {0, 3}, {3, 5}, {2, 16}};

struct Case {
  int32_t dtype = SYNFIRE_DTYPE_F32;
  int64_t n_steps = 1, n_elements = 1, batch = 1;

  size_t row() const { return static_cast<size_t>(batch * n_elements); }
  size_t size() const { return static_cast<size_t>(n_steps) * row(); }
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << "dtype " << c.dtype << " [" << c.n_steps << ", " << c.batch << ", " << c.n_elements << "]";
}

synfire_replace_nonfinite_desc describe(const Case& c, synfire_buffer source, synfire_buffer count,
                                        synfire_buffer destination) {
  synfire_replace_nonfinite_desc desc = SYNFIRE_REPLACE_NONFINITE_DESC_INIT;
  desc.n_steps = c.n_steps == 1 ? 0 : c.n_steps;
  desc.n_elements = c.n_elements;
  desc.batch = c.batch == 1 ? 0 : c.batch;
  desc.source = source;
  desc.count = count;
  desc.destination = destination;
  return desc;
}

// Numbers of the type, among them the largest, the smallest and both zeros, with something not finite here and there.
std::vector<double> numbers_of(const Case& c, uint64_t seed) {
  Random random(seed);
  std::vector<double> values(c.size());
  const double special[] = {nan_of_double, infinity, -infinity, 0.0, -0.0, c.dtype == SYNFIRE_DTYPE_F16 ? 65504 : 1e30,
                            -0x1p-24};
  for (double& value : values) {
    const int64_t which = random.whole(0, 19);
    value = which < 7 ? special[which] : random.uniform(-3, 3);
  }
  return stored_as(c.dtype, values);
}

std::vector<double> replaced(std::vector<double> values) {
  for (double& value : values)
    if (!std::isfinite(value)) value = 0;
  return values;
}
uint64_t not_finite(const std::vector<double>& values) {
  return static_cast<uint64_t>(std::count_if(values.begin(), values.end(), [](double v) { return !std::isfinite(v); }));
}

class ReplaceNonfinite : public testing::Test {
 protected:
  Rows rows(const Case& c, Placement placement = {}) const {
    return Rows(context, c.dtype, static_cast<size_t>(c.n_steps), c.row(), placement);
  }
  static uint64_t value_of(synfire_buffer count) {
    uint64_t value = 0;
    EXPECT_OK(synfire_buffer_download(count, 0, &value, sizeof value));
    return value;
  }

  const Context context = make_context();
  const Buffer count = make_buffer(context, SYNFIRE_DTYPE_U64, 1);
};

TEST_F(ReplaceNonfinite, EveryTypeShapeAndAlignment) {
  uint64_t n = 0;
  for (const int32_t dtype : every_type)
    for (const int64_t n_steps : {1, 2, 33})
      for (const int64_t n_elements : {1, 3, 16, 129, 700})
        for (const int64_t batch : {1, 5}) {
          ++n;
          const Case c{dtype, n_steps, n_elements, batch};
          const Placement from = placements[n % 5], to = placements[n / 5 % 5];
          SCOPED_TRACE(testing::Message() << c << " lead " << from.lead << ", " << to.lead << " padding "
                                          << from.padding << ", " << to.padding);
          const std::vector<double> values = numbers_of(c, n);
          Rows source = rows(c, from), into = rows(c, to);
          source.put(values);
          const auto desc = describe(c, source, count, into);
          ASSERT_OK(synfire_replace_nonfinite(context, &desc, nullptr));
          ASSERT_TRUE(same_bits(into.get(), replaced(values)));
          ASSERT_TRUE(same_bits(source.get(), values));
          EXPECT_EQ(value_of(count), not_finite(values));
          // In place, in a graph.
          const auto in_place = describe(c, source, count, source);
          const Graph graph = make_graph(context);
          ASSERT_OK(synfire_graph_record_replace_nonfinite(graph, &in_place));
          ASSERT_OK(synfire_graph_instantiate(graph));
          ASSERT_TRUE(same_bits(source.get(), values)) << "recording computes nothing";
          replay(graph);
          ASSERT_TRUE(same_bits(source.get(), replaced(values)));
          EXPECT_EQ(value_of(count), not_finite(values));
          replay(graph);
          EXPECT_EQ(value_of(count), 0u) << "there is nothing left";
        }
}

// Every bit pattern of 16 bits, and the borders of the others.
TEST_F(ReplaceNonfinite, ByTheExponent) {
  for (const int32_t dtype : {SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16}) {
    const uint32_t exponent = format_of(dtype).infinity();
    std::vector<uint16_t> all(65536), expected(65536);
    for (uint32_t i = 0; i < 65536; ++i) {
      all[i] = static_cast<uint16_t>(i);
      expected[i] = static_cast<uint16_t>((i & exponent) == exponent ? 0 : i);
    }
    const Buffer buffer = make_buffer(context, dtype, all.size());
    ASSERT_OK(synfire_buffer_upload(buffer, 0, all.data(), all.size() * 2));
    const auto desc = describe({dtype, 1, 65536, 1}, buffer, count, buffer);
    ASSERT_OK(synfire_replace_nonfinite(context, &desc, nullptr));
    EXPECT_EQ(download<uint16_t>(buffer, all.size()), expected);
    EXPECT_EQ(value_of(count), dtype == SYNFIRE_DTYPE_F16 ? 2048u : 256u);
  }
  const std::vector<uint32_t> bits = {0x7F7FFFFF, 0xFF7FFFFF, 0x7F800000, 0xFF800000, 0x7F800001,
                                      0xFFFFFFFF, 0x80000000, 0x00000001, 0x007FFFFF};
  const Buffer buffer = make_buffer(context, SYNFIRE_DTYPE_F32, bits.size());
  upload(buffer, bits);
  const auto desc = describe({SYNFIRE_DTYPE_F32, 1, 9, 1}, buffer, count, buffer);
  ASSERT_OK(synfire_replace_nonfinite(context, &desc, nullptr));
  EXPECT_EQ(download<uint32_t>(buffer, bits.size()),
            (std::vector<uint32_t>{0x7F7FFFFF, 0xFF7FFFFF, 0, 0, 0, 0, 0x80000000, 0x00000001, 0x007FFFFF}));
  EXPECT_EQ(value_of(count), 4u);
}

TEST_F(ReplaceNonfinite, AnyNumberOfThreadsGivesTheSame) {
  const Case c{SYNFIRE_DTYPE_F32, 7, 60'001, 2};
  const std::vector<double> values = numbers_of(c, 5);
  for (const int32_t n_threads : {1, 2, 4}) {
    const Context threads = make_context(n_threads);
    Rows source(threads, c.dtype, 7, c.row(), {1, 3});
    source.put(values);
    const Buffer counted = make_buffer(threads, SYNFIRE_DTYPE_U64, 1);
    const auto desc = describe(c, source, counted, source);
    ASSERT_OK(synfire_replace_nonfinite(threads, &desc, nullptr));
    EXPECT_TRUE(same_bits(source.get(), replaced(values))) << n_threads << " threads";
    EXPECT_EQ(value_of(counted), not_finite(values));
  }
}

// Small and large arrays, which a GPU counts differently.
TEST_F(ReplaceNonfinite, CountsAreAddedOnRequest) {
  for (const int64_t n_elements : {5, 100'003}) {
    const Case c{SYNFIRE_DTYPE_F32, 1, n_elements, 1};
    const std::vector<double> values = numbers_of(c, 9);
    Rows source = rows(c), into = rows(c);
    source.put(values);
    auto desc = describe(c, source, count, into);
    const Graph graph = make_graph(context);
    desc.accumulate = 1;
    ASSERT_OK(synfire_graph_record_replace_nonfinite(graph, &desc));
    ASSERT_OK(synfire_graph_instantiate(graph));
    upload(count, std::vector<uint32_t>{0xFFFFFFFF, 6});
    const uint64_t before = (uint64_t{6} << 32) + 0xFFFFFFFF;
    for (uint64_t i = 1; i < 4; ++i) {
      replay(graph);
      EXPECT_EQ(value_of(count), before + i * not_finite(values));
    }
    desc.accumulate = 0;
    ASSERT_OK(synfire_replace_nonfinite(context, &desc, nullptr));
    EXPECT_EQ(value_of(count), not_finite(values));
  }
}

// A loop: frames in pinned memory, and a count for each replay in its slot.
TEST_F(ReplaceNonfinite, EachReplayHasItsCount) {
  for (const uint32_t n_slots : {1u, 3u})
    for (const bool in_place : {false, true}) {
      const Buffer frame = make_frame(context, 3),
                   counted = make_frame(context, 1, SYNFIRE_MEMORY_PINNED, SYNFIRE_DTYPE_U64),
                   into = make_buffer(context, SYNFIRE_DTYPE_F32, 3);
      const Graph graph = make_slotted_graph(context, n_slots);
      const auto desc = describe({SYNFIRE_DTYPE_F32, 1, 3, 1}, frame, counted, in_place ? frame : into);
      ASSERT_OK(synfire_graph_record_replace_nonfinite(graph, &desc));
      ASSERT_OK(synfire_graph_instantiate(graph));
      for (uint64_t i = 0; i < 6; ++i) {
        float* const next = slot_of(graph, 0, frame);
        for (uint64_t k = 0; k < 3; ++k)
          next[k] = k < i % 4 ? std::numeric_limits<float>::quiet_NaN() : static_cast<float>(i + k);
        const uint64_t ticket = launch(graph);
        wait(graph, ticket);
        void* data = nullptr;
        ASSERT_OK(synfire_graph_get_slot(graph, ticket, counted, &data, nullptr));
        EXPECT_EQ(*static_cast<const uint64_t*>(data), i % 4);
        const float* const written = slot_of(graph, ticket, frame);
        const std::vector<float> got = in_place ? std::vector<float>(written, written + 3) : download<float>(into, 3);
        for (uint64_t k = 0; k < 3; ++k) EXPECT_EQ(got[k], k < i % 4 ? 0 : static_cast<float>(i + k));
      }
    }
}

// The operation's purpose: a broken frame does not silence a neuron.
TEST_F(ReplaceNonfinite, ANeuronGoesOnAfterABrokenFrame) {
  synfire_layer_desc of_layer = SYNFIRE_LAYER_DESC_INIT;
  of_layer.n_steps = 1;
  of_layer.n_neurons = 2;
  for (const bool replaces : {false, true}) {
    const Layer layer = make_layer(context, of_layer);
    const Buffer frame = make_buffer_of<float>(context, {5, 5}), x = make_buffer_of<float>(context, {0, 0}),
                 spikes = make_buffer(context, SYNFIRE_DTYPE_F32, 2);
    const Graph graph = make_graph(context);
    const auto desc = describe({SYNFIRE_DTYPE_F32, 1, 2, 1}, frame, count, x);
    if (replaces) {
      ASSERT_OK(synfire_graph_record_replace_nonfinite(graph, &desc));
    }
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = replaces ? x : frame;
    forward.spikes = spikes;
    ASSERT_OK(synfire_graph_record_forward(graph, layer, &forward));
    ASSERT_OK(synfire_graph_instantiate(graph));
    replay(graph);
    EXPECT_TRUE(same_bits(download<float>(spikes, 2), {1, 1}));
    upload(frame, std::vector<float>{std::numeric_limits<float>::quiet_NaN(), 5});
    replay(graph);
    EXPECT_TRUE(same_bits(download<float>(spikes, 2), {0, 1}));
    upload(frame, std::vector<float>{5, 5});
    replay(graph);
    EXPECT_TRUE(same_bits(download<float>(spikes, 2), {replaces ? 1.0F : 0.0F, 1}));
  }
}

TEST_F(ReplaceNonfinite, ErrorsNameWhatIsWrong) {
  const Case c{SYNFIRE_DTYPE_F32, 2, 3, 2};
  Rows source = rows(c), into = rows(c);
  const std::vector<double> values = numbers_of(c, 1), poison = into.get();
  source.put(values);
  const Graph graph = make_graph(context);
  const auto expect_bad = [&](synfire_status status, std::initializer_list<std::string_view> words, auto change) {
    auto desc = describe(c, source, count, into);
    change(desc);
    EXPECT_FAILS(status, words, synfire_replace_nonfinite(context, &desc, nullptr));
    EXPECT_FAILS(status, words, synfire_graph_record_replace_nonfinite(graph, &desc));
  };
  for (const int64_t bad : {int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    expect_bad(refused, WORDS("SYN-REPLACE-SHAPE", "n_steps"), [&](auto& desc) { desc.n_steps = bad; });
    expect_bad(refused, WORDS("SYN-REPLACE-SHAPE", "n_elements"), [&](auto& desc) { desc.n_elements = bad; });
    expect_bad(refused, WORDS("SYN-REPLACE-SHAPE", "batch"), [&](auto& desc) { desc.batch = bad; });
  }
  expect_bad(refused, WORDS("SYN-REPLACE-SHAPE", "n_elements"), [](auto& desc) { desc.n_elements = 0; });
  expect_bad(SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS("SYN-REPLACE-OVERFLOW"),
             [](auto& desc) { desc.n_elements = int64_t{1} << 60; });
  expect_bad(SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS("SYN-REPLACE-OVERFLOW"),
             [](auto& desc) { desc.n_steps = desc.batch = int64_t{1} << 40; });
  for (const int32_t flag : {-1, 2})
    expect_bad(refused, WORDS("SYN-REPLACE-FLAG", "accumulate"), [&](auto& desc) { desc.accumulate = flag; });
  const Buffer words = make_buffer(context, SYNFIRE_DTYPE_U32, 100),
               bits = make_buffer(context, SYNFIRE_DTYPE_BITS, 100),
               half = make_buffer(context, SYNFIRE_DTYPE_F16, 100), small = make_buffer(context, SYNFIRE_DTYPE_F32, 11);
  for (const synfire_buffer wrong : {words.get(), bits.get()})
    expect_bad(refused, WORDS("SYN-BUFFER-TYPE", "desc.source"), [&](auto& desc) { desc.source = wrong; });
  expect_bad(refused, WORDS("SYN-BUFFER-TYPE", "desc.count"), [&](auto& desc) { desc.count = words; });
  expect_bad(refused, WORDS("SYN-REPLACE-TYPE", "f32", "f16"), [&](auto& desc) { desc.destination = half; });
  expect_bad(refused, WORDS("SYN-BUFFER-SIZE", "desc.source"), [&](auto& desc) { desc.source = small; });
  expect_bad(refused, WORDS("SYN-BUFFER-SIZE", "desc.destination"), [&](auto& desc) { desc.destination = small; });
  // A part of the source.
  void* data = nullptr;
  const Buffer large = make_buffer(context, SYNFIRE_DTYPE_F32, 13);
  EXPECT_OK(synfire_buffer_get_data(large, &data, nullptr));
  synfire_buffer_desc shifted = SYNFIRE_BUFFER_DESC_INIT;
  shifted.n_elements = 12;
  shifted.data = static_cast<float*>(data) + 1;
  synfire_buffer made = nullptr;
  ASSERT_OK(synfire_buffer_create(context, &shifted, &made));
  const Buffer window(made);
  expect_bad(refused, WORDS("SYN-BUFFER-OVERLAP"), [&](auto& desc) {
    desc.source = large;
    desc.destination = window;
  });
  const auto bad_handle = SYNFIRE_ERROR_INVALID_HANDLE;
  expect_bad(bad_handle, WORDS("SYN-HANDLE-NULL", "desc.source"), [](auto& desc) { desc.source = nullptr; });
  expect_bad(bad_handle, WORDS("SYN-HANDLE-NULL", "desc.count"), [](auto& desc) { desc.count = nullptr; });
  expect_bad(bad_handle, WORDS("SYN-HANDLE-NULL", "desc.destination"), [](auto& desc) { desc.destination = nullptr; });
  expect_bad(SYNFIRE_ERROR_STRUCT_SIZE, WORDS("SYN-STRUCT-SMALL"), [](auto& desc) { desc.struct_size = 55; });
  EXPECT_FAILS(refused, WORDS("desc"), synfire_replace_nonfinite(context, nullptr, nullptr));
  EXPECT_FAILS(refused, WORDS("desc"), synfire_graph_record_replace_nonfinite(graph, nullptr));
  EXPECT_TRUE(same_bits(into.get(), poison)) << "a refused call wrote";
  // A refused call leaves the graph as it was.
  const auto desc = describe(c, source, count, into);
  ASSERT_OK(synfire_graph_record_replace_nonfinite(graph, &desc));
  ASSERT_OK(synfire_graph_instantiate(graph));
  replay(graph);
  EXPECT_TRUE(same_bits(into.get(), replaced(values)));
}

}  // namespace
}  // namespace synfire_test
