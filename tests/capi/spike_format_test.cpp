// Conversion of spikes between all formats, and their counts, against a packbits and sums written out here.
#include <functional>
#include <limits>
#include <numeric>

#include "storage_rig.hpp"

namespace synfire_test {
namespace {

const int32_t every_format[] = {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64,  SYNFIRE_DTYPE_F16,      SYNFIRE_DTYPE_BF16,
                                SYNFIRE_DTYPE_U8,  SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS};
const Shape shapes[] = {{1, 1, 1},   {1, 3, 7},     {31, 1, 37},  {32, 2, 33}, {33, 3, 31}, {35, 2, 32},
                        {64, 1, 64}, {100, 2, 129}, {33, 1, 300}, {65, 40, 5}, {3, 2, 544}, {600, 1, 1}};
const Placement placements[] = {{0, 0}, {1, 0}, {0, 3}, {1, 5}, {3, 32}};

using Spikes = std::vector<uint8_t>;  // [T, B, N], 0 or 1

Spikes random_spikes(const Shape& shape, uint64_t seed) {
  Random random(seed);
  Spikes spikes(shape.sequence());
  for (uint8_t& spike : spikes) spike = random.whole(0, 2) == 0 ? 1 : 0;
  return spikes;
}

// Little-endian: bit i of byte k is flag 8k + i. Padded with zero bytes to whole words, which are read byte by byte.
std::vector<uint32_t> packbits(const std::vector<uint8_t>& flags) {
  std::vector<uint8_t> bytes((flags.size() + 31) / 32 * 4, 0);
  for (size_t i = 0; i < flags.size(); ++i)
    if (flags[i] != 0) bytes[i / 8] = static_cast<uint8_t>(bytes[i / 8] + (1 << (i % 8)));
  std::vector<uint32_t> words;
  for (size_t i = 0; i < bytes.size(); i += 4)
    words.push_back(bytes[i] + 256u * bytes[i + 1] + 65536u * bytes[i + 2] + 16777216u * bytes[i + 3]);
  return words;
}

size_t time_words(const Shape& shape) {
  return static_cast<size_t>((shape.n_steps + 31) / 32);
}
size_t rows_of(int32_t dtype, const Shape& shape) {
  return dtype == SYNFIRE_DTYPE_TIME_BITS ? time_words(shape) : static_cast<size_t>(shape.n_steps);
}
size_t row_of(int32_t dtype, const Shape& shape) {
  return dtype == SYNFIRE_DTYPE_BITS ? static_cast<size_t>(shape.batch) * shape.words_per_row() : shape.row();
}

// The elements of spikes in a format. Tail bits are set to `tail`.
std::vector<double> elements(int32_t dtype, const Shape& shape, const Spikes& spikes, uint8_t tail = 0) {
  const auto n_steps = static_cast<size_t>(shape.n_steps), n_neurons = static_cast<size_t>(shape.n_neurons);
  std::vector<double> result;
  if (dtype == SYNFIRE_DTYPE_BITS) {
    for (size_t row = 0; row < spikes.size(); row += n_neurons) {
      std::vector<uint8_t> flags = slice(spikes, row, n_neurons);
      flags.resize(shape.words_per_row() * 32, tail);
      for (const uint32_t word : packbits(flags)) result.push_back(word);
    }
  } else if (dtype == SYNFIRE_DTYPE_TIME_BITS) {
    result.resize(time_words(shape) * shape.row());
    for (size_t column = 0; column < shape.row(); ++column) {
      std::vector<uint8_t> train;
      for (size_t t = 0; t < n_steps; ++t) train.push_back(spikes[t * shape.row() + column]);
      train.resize(time_words(shape) * 32, tail);
      const std::vector<uint32_t> words = packbits(train);
      for (size_t w = 0; w < words.size(); ++w) result[w * shape.row() + column] = words[w];
    }
  } else {
    result.assign(spikes.begin(), spikes.end());
  }
  return result;
}

// The same with every value that may represent a spike or its absence.
std::vector<double> source_elements(int32_t dtype, const Shape& shape, const Spikes& spikes) {
  std::vector<double> values = elements(dtype, shape, spikes, 1);
  if (is_packed(dtype)) return values;
  const double smallest = dtype == SYNFIRE_DTYPE_F64   ? std::numeric_limits<double>::denorm_min()
                          : dtype == SYNFIRE_DTYPE_F16 ? 0x1p-24
                          : dtype == SYNFIRE_DTYPE_U8  ? 128
                                                       : 0x1p-133;  // f32, bf16
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  const bool bytes = dtype == SYNFIRE_DTYPE_U8;
  const double set[] = {1,        bytes ? 255 : -2.5,     bytes ? 2 : nan,
                        smallest, bytes ? 64 : -infinity, bytes ? 3 : -smallest};
  for (size_t i = 0; i < values.size(); ++i) values[i] = values[i] != 0 ? set[i % 6] : bytes || i % 2 == 0 ? 0.0 : -0.0;
  return values;
}

synfire_convert_spikes_desc conversion(const Shape& shape, synfire_buffer source, synfire_buffer destination) {
  synfire_convert_spikes_desc desc = SYNFIRE_CONVERT_SPIKES_DESC_INIT;
  desc.n_steps = shape.n_steps;
  desc.n_neurons = shape.n_neurons;
  desc.batch = shape.batch == 1 ? 0 : shape.batch;
  desc.source = source;
  desc.destination = destination;
  return desc;
}

synfire_count_spikes_desc counting(const Shape& shape, int32_t kind, synfire_buffer spikes, synfire_buffer counts) {
  synfire_count_spikes_desc desc = SYNFIRE_COUNT_SPIKES_DESC_INIT;
  desc.kind = kind;
  desc.n_steps = shape.n_steps;
  desc.n_neurons = shape.n_neurons;
  desc.batch = shape.batch == 1 ? 0 : shape.batch;
  desc.spikes = spikes;
  desc.counts = counts;
  return desc;
}

std::vector<double> counts_of(const Shape& shape, int32_t kind, const Spikes& spikes) {
  const size_t row = shape.row();
  std::vector<double> counts(kind == SYNFIRE_COUNT_PER_NEURON ? row
                             : kind == SYNFIRE_COUNT_PER_STEP ? static_cast<size_t>(shape.n_steps)
                                                              : 1);
  for (size_t i = 0; i < spikes.size(); ++i)
    counts[kind == SYNFIRE_COUNT_PER_NEURON ? i % row : kind == SYNFIRE_COUNT_PER_STEP ? i / row : 0] += spikes[i];
  return counts;
}

class SpikeFormats : public testing::Test {
 protected:
  const Context context = make_context();

  // Once eager, and twice in a graph.
  template <typename Desc>
  void run_everywhere(const Desc& desc, synfire_status (*eager)(synfire_context, const Desc*, synfire_stream),
                      synfire_status (*record)(synfire_graph, const Desc*), Rows& output,
                      const std::vector<double>& expected) const {
    ASSERT_OK(eager(context, &desc, nullptr));
    EXPECT_TRUE(same_bits(output.get(), expected)) << "eager";
    const Graph graph = make_graph(context);
    ASSERT_OK(record(graph, &desc));
    ASSERT_OK(synfire_graph_instantiate(graph));
    output.poison();
    for (int i = 0; i < 2; ++i) {
      replay(graph);
      EXPECT_TRUE(same_bits(output.get(), expected)) << "replay " << i;
    }
  }
};

TEST_F(SpikeFormats, FromEveryFormatToEveryFormat) {
  uint64_t seed = 0;
  for (const Shape& shape : shapes)
    for (const int32_t from : every_format) {
      if (!sampled(seed++)) continue;
      const Spikes spikes = random_spikes(shape, seed);
      Rows source(context, from, rows_of(from, shape), row_of(from, shape), placements[seed % 5]);
      source.put(source_elements(from, shape, spikes));
      for (const int32_t to : every_format) {
        const Placement& placement = placements[(seed + static_cast<uint64_t>(to)) % 5];
        SCOPED_TRACE(testing::Message() << shape << " from dtype " << from << " to " << to << " lead " << placement.lead
                                        << " padding " << placement.padding);
        Rows destination(context, to, rows_of(to, shape), row_of(to, shape), placement);
        run_everywhere(conversion(shape, source, destination), synfire_convert_spikes,
                       synfire_graph_record_convert_spikes, destination, elements(to, shape, spikes));
      }
    }
}

// The bytes in memory equal packbits of the row, written out for one pattern.
TEST_F(SpikeFormats, TheBytesAreThoseOfPackbits) {
  const Shape shape{2, 1, 35};
  std::vector<float> dense(shape.sequence(), 0);
  for (const size_t neuron : {0u, 3u, 8u, 32u, 34u}) dense[neuron] = 1;
  const Buffer source = make_buffer_of(context, dense), words = make_buffer(context, SYNFIRE_DTYPE_BITS, shape.words());
  const auto desc = conversion(shape, source, words);
  ASSERT_OK(synfire_convert_spikes(context, &desc, nullptr));
  const std::vector<uint8_t> expected = {0x09, 0x01, 0, 0, 0x05, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(download<uint8_t>(words, expected.size()), expected);
}

TEST_F(SpikeFormats, Counts) {
  uint64_t seed = 1000;
  for (const Shape& shape : shapes)
    for (const int32_t format : every_format) {
      if (!sampled(seed++ - 1000)) continue;
      const Spikes spikes = random_spikes(shape, seed);
      Rows source(context, format, rows_of(format, shape), row_of(format, shape), placements[seed % 5]);
      source.put(source_elements(format, shape, spikes));
      for (const int32_t kind : {SYNFIRE_COUNT_PER_NEURON, SYNFIRE_COUNT_PER_STEP, SYNFIRE_COUNT_TOTAL})
        for (const int32_t type : {SYNFIRE_DTYPE_U32, SYNFIRE_DTYPE_U64}) {
          SCOPED_TRACE(testing::Message() << shape << " dtype " << format << " kind " << kind << " counts " << type);
          const std::vector<double> expected = counts_of(shape, kind, spikes);
          Rows counts(context, type, 1, expected.size(), {seed % 3, 0});
          run_everywhere(counting(shape, kind, source, counts), synfire_count_spikes, synfire_graph_record_count_spikes,
                         counts, expected);
        }
    }
}

// Enough spikes for several threads on the host, and several tiles per block on a GPU.
TEST_F(SpikeFormats, ManySpikesOnSeveralThreads) {
  const Context parallel = make_context(4);
  for (const Shape& shape :
       sample_of(std::vector<Shape>{Shape{53, 1, 40003}, Shape{3, 701, 1003}, Shape{65001, 1, 33}})) {
    SCOPED_TRACE(testing::Message() << shape);
    const Spikes spikes = random_spikes(shape, 5);
    const auto rows = [&](int32_t dtype) { return Rows(parallel, dtype, rows_of(dtype, shape), row_of(dtype, shape)); };
    Rows dense = rows(SYNFIRE_DTYPE_F16), bits = rows(SYNFIRE_DTYPE_BITS), by_time = rows(SYNFIRE_DTYPE_TIME_BITS),
         bytes = rows(SYNFIRE_DTYPE_U8);
    dense.put(elements(SYNFIRE_DTYPE_F16, shape, spikes));
    for (const auto& [from, to] : {std::pair{&dense, &bits}, {&bits, &by_time}, {&by_time, &bytes}}) {
      const auto desc = conversion(shape, *from, *to);
      ASSERT_OK(synfire_convert_spikes(parallel, &desc, nullptr));
      EXPECT_TRUE(same_bits(to->get(), elements(to->dtype(), shape, spikes)));
    }
    for (const int32_t kind : {SYNFIRE_COUNT_PER_NEURON, SYNFIRE_COUNT_PER_STEP, SYNFIRE_COUNT_TOTAL}) {
      const std::vector<double> expected = counts_of(shape, kind, spikes);
      for (Rows* const counted : {&dense, &bits, &by_time, &bytes}) {
        Rows counts(parallel, SYNFIRE_DTYPE_U32, 1, expected.size());
        const auto desc = counting(shape, kind, *counted, counts);
        ASSERT_OK(synfire_count_spikes(parallel, &desc, nullptr));
        EXPECT_TRUE(same_bits(counts.get(), expected)) << "dtype " << counted->dtype() << " kind " << kind;
      }
    }
  }
}

// Frames in pinned memory, large and small, through a graph and eager.
TEST_F(SpikeFormats, PinnedMemory) {
  for (const Shape& shape : {Shape{64, 1, 20000}, Shape{5, 2, 40}}) {
    const Spikes spikes = random_spikes(shape, 9);
    const auto make = [&](int32_t dtype, uint64_t n_elements) {
      synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
      desc.memory = SYNFIRE_MEMORY_PINNED;
      desc.dtype = dtype;
      desc.n_elements = n_elements;
      synfire_buffer handle = nullptr;
      EXPECT_OK(synfire_buffer_create(context, &desc, &handle));
      return Buffer(handle);
    };
    const Buffer dense = make(SYNFIRE_DTYPE_F32, shape.sequence()), bits = make(SYNFIRE_DTYPE_BITS, shape.words());
    const Buffer counts = make(SYNFIRE_DTYPE_U32, shape.row());
    upload(dense, std::vector<float>(spikes.begin(), spikes.end()));
    const auto desc = conversion(shape, dense, bits);
    const auto count = counting(shape, SYNFIRE_COUNT_PER_NEURON, bits, counts);
    const auto check = [&] {
      const std::vector<uint32_t> words = download<uint32_t>(bits, shape.words());
      EXPECT_TRUE(
          same_bits(std::vector<double>(words.begin(), words.end()), elements(SYNFIRE_DTYPE_BITS, shape, spikes)));
      const std::vector<uint32_t> held = download<uint32_t>(counts, shape.row());
      EXPECT_TRUE(
          same_bits(std::vector<double>(held.begin(), held.end()), counts_of(shape, SYNFIRE_COUNT_PER_NEURON, spikes)));
      EXPECT_OK(synfire_buffer_fill(bits, 7));
      EXPECT_OK(synfire_buffer_fill(counts, 7));
    };
    ASSERT_OK(synfire_convert_spikes(context, &desc, nullptr));
    ASSERT_OK(synfire_count_spikes(context, &count, nullptr));
    check();
    const Graph graph = make_graph(context);
    ASSERT_OK(synfire_graph_record_convert_spikes(graph, &desc));
    ASSERT_OK(synfire_graph_record_count_spikes(graph, &count));
    ASSERT_OK(synfire_graph_instantiate(graph));
    for (int i = 0; i < 2; ++i) {
      replay(graph);
      check();
    }
  }
}

// A layer's spikes as bytes, packed and counted in the same replay, equal the output of a layer that packs them
// itself.
TEST_F(SpikeFormats, BehindALayerInOneGraph) {
  const Shape shape{40, 2, 45};
  const synfire_layer_desc layer_desc = describe(shape, SYNFIRE_DTYPE_F32);
  const Inputs<float> in = random_inputs<float>(shape, 3);
  const Buffer x = make_buffer_of(context, in.x), bytes = make_buffer(context, SYNFIRE_DTYPE_U8, shape.sequence());
  const Buffer bits = make_buffer(context, SYNFIRE_DTYPE_BITS, shape.words()),
               own = make_buffer(context, SYNFIRE_DTYPE_BITS, shape.words());
  const Buffer by_time = make_buffer(context, SYNFIRE_DTYPE_TIME_BITS, time_words(shape) * shape.row());
  const Buffer own_by_time = make_buffer(context, SYNFIRE_DTYPE_TIME_BITS, time_words(shape) * shape.row());
  const Buffer total = make_buffer(context, SYNFIRE_DTYPE_U64, 1);
  const auto forward = [&](synfire_buffer spikes) {
    synfire_forward_desc desc = SYNFIRE_FORWARD_DESC_INIT;
    desc.x = x;
    desc.spikes = spikes;
    return desc;
  };
  for (const synfire_buffer spikes : {own.get(), own_by_time.get()}) {
    const Layer packing = make_layer(context, layer_desc);
    const auto desc = forward(spikes);
    ASSERT_OK(synfire_layer_forward(packing, &desc, nullptr));
  }
  const Layer layer = make_layer(context, layer_desc);
  const Graph graph = make_graph(context);
  const auto pass = forward(bytes);
  const auto pack = conversion(shape, bytes, bits), transpose = conversion(shape, bits, by_time);
  const auto count = counting(shape, SYNFIRE_COUNT_TOTAL, by_time, total);
  ASSERT_OK(synfire_graph_record_forward(graph, layer, &pass));
  ASSERT_OK(synfire_graph_record_convert_spikes(graph, &pack));
  ASSERT_OK(synfire_graph_record_convert_spikes(graph, &transpose));
  ASSERT_OK(synfire_graph_record_count_spikes(graph, &count));
  ASSERT_OK(synfire_graph_instantiate(graph));
  replay(graph);
  const std::vector<uint32_t> words = download<uint32_t>(own, shape.words());
  EXPECT_EQ(download<uint32_t>(bits, shape.words()), words);
  EXPECT_EQ(download<uint32_t>(by_time, time_words(shape) * shape.row()),
            download<uint32_t>(own_by_time, time_words(shape) * shape.row()));
  const uint64_t expected = std::accumulate(words.begin(), words.end(), uint64_t{0}, [](uint64_t sum, uint32_t word) {
    return sum + static_cast<uint64_t>(std::popcount(word));
  });
  EXPECT_GT(expected, 0u);
  EXPECT_EQ(download<uint64_t>(total, 1), std::vector<uint64_t>{expected});
}

// Both arrays are columns of one matrix [T, 2N] of f32.
TEST_F(SpikeFormats, ColumnsOfOneMatrix) {
  const Shape shape{20, 1, 18};
  const size_t n = shape.row(), pitch = 2 * n;
  const Spikes spikes = random_spikes(shape, 4);
  std::vector<float> image(20 * pitch, 7);
  for (size_t i = 0; i < spikes.size(); ++i) image[i / n * pitch + i % n] = spikes[i] != 0 ? 2.0f : 0.0f;
  const Buffer matrix = make_buffer_of(context, image);
  void* data = nullptr;
  ASSERT_OK(synfire_buffer_get_data(matrix, &data, nullptr));
  const auto column = [&](size_t index) {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.data = static_cast<char*>(data) + index * sizeof(float);
    desc.n_elements = image.size() - index;
    desc.row_pitch = pitch;
    synfire_buffer handle = nullptr;
    EXPECT_OK(synfire_buffer_create(context, &desc, &handle));
    return Buffer(handle);
  };
  const Buffer left = column(0), right = column(n), between = column(n - 1);
  const auto meeting = conversion(shape, left, between);
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("desc.destination", "desc.source"),
               synfire_convert_spikes(context, &meeting, nullptr));
  EXPECT_EQ(download<float>(matrix, image.size()), image);
  const auto beside = conversion(shape, left, right);
  ASSERT_OK(synfire_convert_spikes(context, &beside, nullptr));
  for (size_t i = 0; i < spikes.size(); ++i) image[i / n * pitch + n + i % n] = spikes[i];
  EXPECT_EQ(download<float>(matrix, image.size()), image);
}

// A conversion that writes the X of a forward makes its tape stale for a recomputing backward.
TEST_F(SpikeFormats, WritingXMakesItsTapeStale) {
  const Shape shape{4, 1, 8};
  Rig<float> rig(context, describe(shape, SYNFIRE_DTYPE_F32));
  rig.load(random_inputs<float>(shape, 1));
  const Buffer bits = make_buffer(context, SYNFIRE_DTYPE_BITS, shape.words());
  const auto desc = conversion(shape, bits, rig.x);
  const synfire_forward_desc forward = rig.forward_desc();
  const synfire_backward_desc backward = rig.backward_desc();
  ASSERT_OK(synfire_layer_forward(rig.layer, &forward, nullptr));
  ASSERT_OK(synfire_convert_spikes(context, &desc, nullptr));
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("x"), synfire_layer_backward(rig.layer, &backward, nullptr));
  const Graph graph = make_graph(context);
  ASSERT_OK(synfire_graph_record_forward(graph, rig.layer, &forward));
  ASSERT_OK(synfire_graph_record_convert_spikes(graph, &desc));
  EXPECT_FAILS(SYNFIRE_ERROR_STALE_TAPE, WORDS("x"), synfire_graph_record_backward(graph, rig.layer, &backward));
}

}  // namespace
}  // namespace synfire_test
