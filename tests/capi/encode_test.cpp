// Rates encoded as spikes, against Philox4x32-10 written out here: every spike is predicted, in every format and for
// lengths of all kinds. Also the counter of replays: each continues where the previous one ended.
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>

#include "graph_support.hpp"
#include "storage_rig.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;
constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();

const int32_t every_format[] = {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64,  SYNFIRE_DTYPE_F16,      SYNFIRE_DTYPE_BF16,
                                SYNFIRE_DTYPE_U8,  SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS};
const int32_t every_rate_type[] = {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16};
const Placement placements[] = {{0, 0}, {1, 0}, {0, 3}, {1, 5}, {3, 32}};

// ---- The reference --------------------------------------------------------------------------------------------------

using Words = std::array<uint32_t, 4>;
using Key = std::array<uint32_t, 2>;

// As in the paper: ten rounds of two multiplications whose high and low words are swapped; the key advances by two
// Weyl sequences.
Words philox(Words x, Key key) {
  const auto high = [](uint64_t product) { return static_cast<uint32_t>(product >> 32); };
  const auto low = [](uint64_t product) { return static_cast<uint32_t>(product & 0xFFFFFFFFu); };
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * x[0], p1 = uint64_t{0xCD9E8D57u} * x[2];
    x = {high(p1) ^ x[1] ^ key[0], low(p1), high(p0) ^ x[3] ^ key[1], low(p0)};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return x;
}

struct Encoding {
  Shape shape;
  bool per_step = false;
  uint64_t seed = 0, offset = 0;
};

// [T, B, N] of 0 and 1, from rates [B, N] or [T, B, N]. No draw is below a threshold that is NaN.
std::vector<double> predicted(const Encoding& encoding, const std::vector<double>& rates) {
  const size_t row = encoding.shape.row();
  const auto n_neurons = static_cast<size_t>(encoding.shape.n_neurons);
  const auto word = [](uint64_t of) { return static_cast<uint32_t>(of & 0xFFFFFFFFu); };
  const Key key = {word(encoding.seed), word(encoding.seed >> 32)};
  std::vector<double> spikes(encoding.shape.sequence());
  for (size_t i = 0; i < spikes.size(); ++i) {
    const uint64_t step = encoding.offset + i / row, n = i % n_neurons;
    const Words drawn = philox({word(n / 4), word(i % row / n_neurons), word(step), word(step >> 32)}, key);
    spikes[i] = drawn[n % 4] < std::floor(rates[encoding.per_step ? i : i % row] * 0x1p32) ? 1 : 0;
  }
  return spikes;
}

// ---- The calls ------------------------------------------------------------------------------------------------------

synfire_encode_bernoulli_desc describe(const Encoding& encoding, synfire_buffer rates, synfire_buffer spikes) {
  synfire_encode_bernoulli_desc desc = SYNFIRE_ENCODE_BERNOULLI_DESC_INIT;
  desc.rates_per_step = encoding.per_step ? 1 : 0;
  desc.n_steps = encoding.shape.n_steps;
  desc.n_neurons = encoding.shape.n_neurons;
  desc.batch = encoding.shape.batch == 1 ? 0 : encoding.shape.batch;
  desc.rates = rates;
  desc.spikes = spikes;
  desc.seed = encoding.seed;
  desc.offset = encoding.offset;
  return desc;
}

Rows rows_for_spikes(synfire_context context, int32_t dtype, const Shape& shape, Placement placement = {}) {
  const auto n_steps = static_cast<size_t>(shape.n_steps), batch = static_cast<size_t>(shape.batch);
  if (dtype == SYNFIRE_DTYPE_BITS) return Rows(context, dtype, n_steps, batch * shape.words_per_row(), placement);
  return Rows(context, dtype, dtype == SYNFIRE_DTYPE_TIME_BITS ? (n_steps + 31) / 32 : n_steps, shape.row(), placement);
}

int32_t record(synfire_graph graph, const synfire_encode_bernoulli_desc& desc) {
  EXPECT_OK(synfire_graph_record_encode_bernoulli(graph, &desc));
  int32_t operation = -1;
  EXPECT_OK(synfire_graph_get_last_operation(graph, &operation));
  return operation;
}

class EncodeBernoulli : public testing::Test {
 protected:
  Rows rates_in(const Encoding& encoding, int32_t dtype, const std::vector<double>& rates, Placement placement = {}) {
    Rows rows(context, dtype, encoding.per_step ? static_cast<size_t>(encoding.shape.n_steps) : 1, encoding.shape.row(),
              placement);
    rows.put(rates);
    return rows;
  }
  // Eager, as 0 and 1.
  std::vector<double> encoded(const Encoding& encoding, synfire_buffer rates) {
    const Rows spikes = rows_for_spikes(context, SYNFIRE_DTYPE_U8, encoding.shape);
    const auto desc = describe(encoding, rates, spikes);
    EXPECT_OK(synfire_encode_bernoulli(context, &desc, nullptr));
    return spikes.get();
  }

  const Context context = make_context();
};

// A rate for each neuron: mostly between never and always, sometimes beyond.
std::vector<double> mixed_rates(size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<double> rates = random.values<double>(count, -0.1, 1.1);
  for (double& rate : rates)
    if (random.whole(0, 15) == 0) rate = random.whole(0, 1) == 0 ? 0x1p-32 * random.uniform(0, 4) : nan;
  return stored_as(SYNFIRE_DTYPE_F32, rates);
}

// ---- Spikes ---------------------------------------------------------------------------------------------------------

TEST(EncodePhilox, IsThatOfThePaper) {
  // The known answers that come with Random123, the authors' own implementation.
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (Words{0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8}));
  constexpr uint32_t ones = 0xFFFFFFFF;
  EXPECT_EQ(philox({ones, ones, ones, ones}, {ones, ones}), (Words{0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD}));
  EXPECT_EQ(philox({0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344}, {0xA4093822, 0x299F31D0}),
            (Words{0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1}));
}

TEST_F(EncodeBernoulli, EverySpikeIsThePredictedOneInEveryFormat) {
  Random random(1);
  uint64_t count = 0;
  for (const int64_t n_neurons : {1, 5, 31, 33, 257, 784})
    for (const int64_t batch : {1, 3})
      for (const int64_t n_steps : {1, 5, 31, 32, 33, 100}) {
        ++count;
        Encoding encoding{{n_steps, batch, n_neurons}, count % 2 == 0, random.next()};
        // At the beginning, across the end of the low word and of the high word, and at random places.
        const uint64_t offsets[] = {0, 0xFFFFFFFFu - 2, ~uint64_t{0} - 1, random.next()};
        encoding.offset = offsets[count % 4];
        const Shape& shape = encoding.shape;
        const std::vector<double> values = mixed_rates(encoding.per_step ? shape.sequence() : shape.row(), count);
        const Rows rates = rates_in(encoding, SYNFIRE_DTYPE_F32, values, placements[count % 5]);
        const std::vector<double> expected = predicted(encoding, values);
        SCOPED_TRACE(testing::Message() << shape << " per step " << encoding.per_step << " offset " << encoding.offset);
        const Rows bits = rows_for_spikes(context, SYNFIRE_DTYPE_BITS, shape);
        const auto desc = describe(encoding, rates, bits);
        ASSERT_OK(synfire_encode_bernoulli(context, &desc, nullptr));
        ASSERT_EQ(bits.words(), pack_bits(shape, expected));
        for (const int32_t format : every_format) {
          const Placement& placement = placements[(count + static_cast<uint64_t>(format)) % 5];
          SCOPED_TRACE(testing::Message()
                       << "dtype " << format << " lead " << placement.lead << " padding " << placement.padding);
          Rows spikes = rows_for_spikes(context, format, shape, placement);
          const Rows converted = rows_for_spikes(context, format, shape);
          synfire_convert_spikes_desc convert = SYNFIRE_CONVERT_SPIKES_DESC_INIT;
          convert.n_steps = n_steps;
          convert.n_neurons = n_neurons;
          convert.batch = batch;
          convert.source = bits;
          convert.destination = converted;
          ASSERT_OK(synfire_convert_spikes(context, &convert, nullptr));
          const auto into = describe(encoding, rates, spikes);
          ASSERT_OK(synfire_encode_bernoulli(context, &into, nullptr));
          ASSERT_TRUE(same_bits(spikes.get(), converted.get()));
          const Graph graph = make_graph(context);
          record(graph, into);
          ASSERT_OK(synfire_graph_instantiate(graph));
          spikes.poison();
          replay(graph);
          ASSERT_TRUE(same_bits(spikes.get(), converted.get())) << "in a graph";
        }
      }
}

// Enough draws for several threads on the host, and several tiles per block on a GPU.
TEST_F(EncodeBernoulli, AnyNumberOfThreadsGivesTheSame) {
  for (const Shape& shape : {Shape{33, 3, 2661}, Shape{2, 1001, 133}, Shape{8201, 1, 33}}) {
    const Encoding encoding{shape, false, 77, 5};
    const std::vector<double> values = mixed_rates(shape.row(), 3), expected = predicted(encoding, values);
    for (const int32_t n_threads : {1, 2, 4}) {
      SCOPED_TRACE(testing::Message() << shape << " on " << n_threads << " threads");
      const Context threads = make_context(n_threads);
      const Buffer rates = make_buffer_of(threads, std::vector<float>(values.begin(), values.end()));
      const Rows bits = rows_for_spikes(threads, SYNFIRE_DTYPE_BITS, shape);
      auto desc = describe(encoding, rates, bits);
      ASSERT_OK(synfire_encode_bernoulli(threads, &desc, nullptr));
      EXPECT_EQ(bits.words(), pack_bits(shape, expected));
      const Rows bytes = rows_for_spikes(threads, SYNFIRE_DTYPE_U8, shape);
      desc.spikes = bytes;
      ASSERT_OK(synfire_encode_bernoulli(threads, &desc, nullptr));
      EXPECT_TRUE(same_bits(bytes.get(), expected));
    }
  }
}

// Part of an encoding, along any length and from any first step, has the same spikes.
TEST_F(EncodeBernoulli, APartIsAPartOfTheWhole) {
  const Encoding whole{{40, 3, 70}, false, 9, 100};
  const Rows rates = rates_in(whole, SYNFIRE_DTYPE_F32, std::vector<double>(whole.shape.row(), 0.4));
  const std::vector<double> all = encoded(whole, rates);
  for (const Shape& shape : {Shape{7, 3, 70}, Shape{40, 2, 70}, Shape{40, 3, 13}, Shape{33, 1, 1}})
    for (const uint64_t first : {0u, 1u, 5u}) {
      Shape part = shape;
      part.n_steps = std::min<int64_t>(shape.n_steps, 40 - static_cast<int64_t>(first));
      const std::vector<double> got = encoded({part, false, 9, 100 + first}, rates);
      for (size_t i = 0; i < got.size(); ++i) {
        const size_t t = i / part.row() + first, b = i % part.row() / static_cast<size_t>(part.n_neurons),
                     n = i % static_cast<size_t>(part.n_neurons);
        ASSERT_EQ(got[i], all[(t * 3 + b) * 70 + n]) << part << " step " << t << " row " << b << " neuron " << n;
      }
    }
}

TEST_F(EncodeBernoulli, RatesOfEveryTypeAndShape) {
  const Shape shape{35, 3, 45};
  // Numbers that all three types represent.
  std::vector<double> values(shape.row());
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i % 130) / 128;
  std::vector<double> repeated;
  for (int64_t t = 0; t < shape.n_steps; ++t) repeated = joined(std::move(repeated), values);
  const Encoding once{shape, false, 4, 8}, each{shape, true, 4, 8};
  const std::vector<double> expected = predicted(once, values);
  for (const int32_t type : every_rate_type)
    for (const Placement& placement : placements) {
      EXPECT_TRUE(same_bits(encoded(once, rates_in(once, type, values, placement)), expected)) << "dtype " << type;
      EXPECT_TRUE(same_bits(encoded(each, rates_in(each, type, repeated, placement)), expected)) << "dtype " << type;
    }
  // And numbers of one type only, as that type stores them.
  for (const int32_t type : every_rate_type) {
    const std::vector<double> own = stored_as(type, Random(6).values<double>(shape.sequence(), 0, 1));
    EXPECT_TRUE(same_bits(encoded(each, rates_in(each, type, own)), predicted(each, own))) << "dtype " << type;
  }
}

TEST_F(EncodeBernoulli, NeverAndAlways) {
  for (const int32_t type : every_rate_type) {
    const double never[] = {0.0, -0.0, -1e-7, -1, -300, -infinity, nan}, always[] = {1, 1.5, 300, infinity};
    const std::vector<double> values = stored_as(
        type, joined(std::vector<double>(std::begin(never), std::end(never)), {std::begin(always), std::end(always)}));
    const Encoding encoding{{5000, 1, static_cast<int64_t>(values.size())}, false, 21};
    const std::vector<double> spikes = encoded(encoding, rates_in(encoding, type, values));
    for (size_t i = 0; i < spikes.size(); ++i)
      ASSERT_EQ(spikes[i], i % values.size() < std::size(never) ? 0 : 1)
          << "dtype " << type << " rate " << values[i % values.size()];
  }
  // A rate of 2^-33 is below the resolution and never spikes. The largest number below 1 may fail to spike.
  const Encoding encoding{{2000, 1, 64}, false, 22};
  std::vector<double> values(64, 0x1p-33);
  EXPECT_TRUE(all_are(encoded(encoding, rates_in(encoding, SYNFIRE_DTYPE_F32, values)), 0.0));
  values.assign(64, 1 - 0x1p-24);
  EXPECT_TRUE(same_bits(encoded(encoding, rates_in(encoding, SYNFIRE_DTYPE_F32, values)), predicted(encoding, values)));
}

// All within five standard deviations: the numbers of spikes, and how often neighbours in a row and in time spike
// together.
TEST_F(EncodeBernoulli, AsOftenAsTheRateSays) {
  const std::vector<double> probabilities = {0.001, 0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.999};
  constexpr size_t n_steps = 200, n_neurons = 1000;
  const size_t batch = probabilities.size();
  const Encoding encoding{{n_steps, static_cast<int64_t>(batch), n_neurons}, false, 20260101};
  std::vector<double> values;
  for (const double p : probabilities) values.insert(values.end(), n_neurons, p);
  const std::vector<double> spikes = encoded(encoding, rates_in(encoding, SYNFIRE_DTYPE_F32, values));
  const auto at = [&](size_t t, size_t b, size_t n) { return spikes[(t * batch + b) * n_neurons + n] != 0; };
  for (size_t b = 0; b < batch; ++b) {
    const double p = static_cast<float>(probabilities[b]);
    double count = 0, beside = 0, after = 0, squares = 0;
    for (size_t n = 0; n < n_neurons; ++n) {
      double train = 0;
      for (size_t t = 0; t < n_steps; ++t) {
        train += at(t, b, n) ? 1 : 0;
        // Pairs that have no draw in common.
        if (n % 2 == 0) beside += at(t, b, n) && at(t, b, n + 1) ? 1 : 0;
        if (t % 2 == 0) after += at(t, b, n) && at(t + 1, b, n) ? 1 : 0;
      }
      count += train;
      squares += (train - n_steps * p) * (train - n_steps * p);
    }
    const double draws = static_cast<double>(n_steps * n_neurons);
    const auto deviations = [](double of, double n, double q) {
      return std::fabs(of - n * q) / std::sqrt(n * q * (1 - q));
    };
    EXPECT_LT(deviations(count, draws, p), 5) << "rate " << p;
    EXPECT_LT(deviations(beside, draws / 2, p * p), 5) << "rate " << p << ", neighbours in the row";
    EXPECT_LT(deviations(after, draws / 2, p * p), 5) << "rate " << p << ", neighbours in time";
    // The neurons' counts follow a binomial distribution: mean and variance of the squared deviation.
    const double variance = n_steps * p * (1 - p),
                 fourth = variance * (1 + 3 * variance * (1 - 2.0 / n_steps)) - variance * variance;
    EXPECT_LT(std::fabs(squares - n_neurons * variance) / std::sqrt(n_neurons * fourth), 5) << "rate " << p;
  }
}

TEST_F(EncodeBernoulli, SeedsGiveOtherSpikes) {
  const Shape shape{50, 2, 60};
  const std::vector<double> values(shape.row(), 0.5);
  const Rows rates = rates_in({shape}, SYNFIRE_DTYPE_F32, values);
  const std::vector<double> first = encoded({shape, false, 1}, rates);
  for (const uint64_t seed : {uint64_t{0}, uint64_t{2}, uint64_t{1} << 32, ~uint64_t{0}}) {
    const std::vector<double> other = encoded({shape, false, seed}, rates);
    double both = 0;
    for (size_t i = 0; i < first.size(); ++i) both += first[i] != 0 && other[i] != 0 ? 1 : 0;
    EXPECT_NEAR(both, 1500, 5 * std::sqrt(6000 * 0.25 * 0.75)) << "seed " << seed;
    EXPECT_TRUE(same_bits(other, predicted({shape, false, seed}, values)));
  }
}

// ---- Replays --------------------------------------------------------------------------------------------------------

class EncodeReplays : public EncodeBernoulli {
 protected:
  std::vector<double> after(uint64_t n_steps, uint64_t seed = 0) const {
    return predicted({shape, false, seed != 0 ? seed : start.seed, start.offset + n_steps}, values);
  }
  void expect_next(synfire_graph graph, const std::vector<double>& expected, const char* what) {
    spikes.poison();
    replay(graph);
    EXPECT_TRUE(same_bits(spikes.get(), expected)) << what;
  }

  const Shape shape{7, 2, 45};
  const Encoding start{shape, false, 0xFEDCBA9876543210u, 0xFFFFFFFFu - 10};  // more bits than a double has
  const std::vector<double> values = stored_as(SYNFIRE_DTYPE_F32, Random(8).values<double>(shape.row(), 0.2, 0.8));
  const Rows rates = rates_in(start, SYNFIRE_DTYPE_F32, values);
  Rows spikes = rows_for_spikes(context, SYNFIRE_DTYPE_U8, shape);
};

TEST_F(EncodeReplays, GoOnWhereTheOneBeforeEnded) {
  const Shape three{21, 2, 45};
  const std::vector<double> expected = encoded({three, false, start.seed, start.offset}, rates);
  EXPECT_TRUE(same_bits(expected, predicted({three, false, start.seed, start.offset}, values)));
  for (const char* const by_itself : {"", "0"}) {
    const Graph graph = make_graph(context);
    record(graph, describe(start, rates, spikes));
    ASSERT_TRUE(set_environment("SYNFIRE_GRAPH", by_itself));
    ASSERT_OK(synfire_graph_instantiate(graph));
    ASSERT_TRUE(set_environment("SYNFIRE_GRAPH", nullptr));
    std::vector<double> got;
    for (int i = 0; i < 3; ++i) {
      replay(graph);
      got = joined(std::move(got), spikes.get());
    }
    EXPECT_TRUE(same_bits(got, expected)) << "SYNFIRE_GRAPH=" << by_itself;
  }
}

TEST_F(EncodeReplays, SeedAndOffsetAreSetBetweenThem) {
  const Graph graph = make_graph(context);
  const int32_t operation = record(graph, describe(start, rates, spikes));
  ASSERT_OK(synfire_graph_instantiate(graph));
  expect_next(graph, after(0), "the first");
  expect_next(graph, after(7), "the second");
  EXPECT_OK(synfire_graph_set_value(graph, operation, "seed", 99));
  expect_next(graph, after(14, 99), "another seed goes on in the count");
  EXPECT_OK(synfire_graph_set_value(graph, operation, "offset", 1000));
  const auto from = [&](uint64_t offset) { return predicted({shape, false, 99, offset}, values); };
  expect_next(graph, from(1000), "an offset");
  expect_next(graph, from(1007), "counted on from there");
  for (int i = 0; i < 2; ++i) {
    EXPECT_OK(synfire_graph_set_value(graph, operation, "offset", 1000));
    expect_next(graph, from(1000), "the same offset begins again");
    EXPECT_OK(synfire_graph_set_value(graph, operation, "seed", 99));
    expect_next(graph, from(1007), "the same seed does not");
  }
  EXPECT_OK(synfire_graph_set_value(graph, operation, "offset", 5));
  EXPECT_OK(synfire_graph_set_value(graph, operation, "offset", 1000));
  expect_next(graph, from(1000), "what was set last");
  EXPECT_OK(synfire_graph_set_value(graph, operation, "offset", 0x1p53));
  EXPECT_OK(synfire_graph_set_value(graph, operation, "seed", 0x1p53));
  expect_next(graph, predicted({shape, false, uint64_t{1} << 53, uint64_t{1} << 53}, values), "the largest");
  EXPECT_OK(synfire_graph_set_value(graph, operation, "offset", 0));
  EXPECT_OK(synfire_graph_set_value(graph, operation, "seed", 0));
  expect_next(graph, predicted({shape}, values), "the smallest");
}

TEST_F(EncodeReplays, ValuesSetBeforeTheFirst) {
  const Graph graph = make_graph(context);
  const int32_t operation = record(graph, describe(start, rates, spikes));
  EXPECT_OK(synfire_graph_set_value(graph, operation, "offset", 3));
  ASSERT_OK(synfire_graph_instantiate(graph));
  EXPECT_OK(synfire_graph_set_value(graph, operation, "seed", 4));
  expect_next(graph, predicted({shape, false, 4, 3}, values), "the first");
  expect_next(graph, predicted({shape, false, 4, 10}, values), "the second");
}

TEST_F(EncodeReplays, ADisabledOneDoesNotMoveOn) {
  const Graph graph = make_graph(context);
  const int32_t operation = record(graph, describe(start, rates, spikes));
  ASSERT_OK(synfire_graph_instantiate(graph));
  expect_next(graph, after(0), "the first");
  const std::vector<double> poison = [&] {
    spikes.poison();
    return spikes.get();
  }();
  EXPECT_OK(synfire_graph_set_enabled(graph, operation, 0));
  for (int i = 0; i < 3; ++i) expect_next(graph, poison, "disabled");
  EXPECT_OK(synfire_graph_set_enabled(graph, operation, 1));
  expect_next(graph, after(7), "where the first ended");
  EXPECT_OK(synfire_graph_set_enabled(graph, operation, 0));
  EXPECT_OK(synfire_graph_set_value(graph, operation, "offset", 50));
  expect_next(graph, poison, "disabled");
  EXPECT_OK(synfire_graph_set_enabled(graph, operation, 1));
  expect_next(graph, predicted({shape, false, start.seed, 50}, values), "set while it was disabled");
}

TEST_F(EncodeReplays, ValuesThatAreRefusedChangeNothing) {
  const Graph graph = make_graph(context);
  const int32_t operation = record(graph, describe(start, rates, spikes));
  ASSERT_OK(synfire_graph_instantiate(graph));
  expect_next(graph, after(0), "the first");
  for (const char* const name : {"seed", "offset"})
    for (const double bad : {-1.0, 0.5, 0x1p53 + 2, 1e300, -1e-300, nan, infinity, -infinity})
      EXPECT_FAILS(refused, WORDS("SYN-SCALAR-RANGE", name), synfire_graph_set_value(graph, operation, name, bad));
  for (const char* const name : {"", "value", "rate", "Seed"})
    EXPECT_FAILS(refused, WORDS("SYN-GRAPH-VALUE", "seed", "offset"),
                 synfire_graph_set_value(graph, operation, name, 1));
  expect_next(graph, after(7), "the second");
}

TEST_F(EncodeReplays, TwoInOneGraphCountApart) {
  const Encoding other{{3, 1, 70}, false, 5, 40};
  const Rows other_rates = rates_in(other, SYNFIRE_DTYPE_F16, std::vector<double>(70, 0.5));
  const Rows other_spikes = rows_for_spikes(context, SYNFIRE_DTYPE_BITS, other.shape);
  const Graph graph = make_graph(context);
  record(graph, describe(start, rates, spikes));
  const int32_t second = record(graph, describe(other, other_rates, other_spikes));
  ASSERT_OK(synfire_graph_instantiate(graph));
  const auto expect_other = [&](uint64_t offset) {
    EXPECT_EQ(other_spikes.words(),
              pack_bits(other.shape, predicted({other.shape, false, 5, offset}, std::vector<double>(70, 0.5))));
  };
  for (uint64_t i = 0; i < 4; ++i) {
    expect_next(graph, after(7 * i), "the first encoder");
    expect_other(40 + 3 * i);
  }
  EXPECT_OK(synfire_graph_set_value(graph, second, "offset", 0));
  for (uint64_t i = 0; i < 2; ++i) {
    expect_next(graph, after(28 + 7 * i), "the first encoder");
    expect_other(3 * i);
  }
}

// More values of both kinds than one write carries, in an order in which the values of encodings take every position.
TEST_F(EncodeReplays, ManyValuesInOneGraph) {
  constexpr size_t n_encoders = 50;
  const Graph graph = make_graph(context);
  const Buffer filled = make_buffer(context, SYNFIRE_DTYPE_F32, 100);
  std::vector<Rows> all;
  std::vector<int32_t> encoders, fills;
  for (size_t i = 0; i < n_encoders; ++i) {
    all.push_back(rows_for_spikes(context, SYNFIRE_DTYPE_U8, shape));
    encoders.push_back(record(graph, describe({shape, false, i, 100 * i}, rates, all.back())));
    for (size_t k = 0; k < i % 3; ++k) {
      synfire_fill_desc fill = SYNFIRE_FILL_DESC_INIT;
      fill.buffer = filled;
      fill.value = static_cast<double>(i);
      ASSERT_OK(synfire_graph_record_fill(graph, &fill));
      int32_t operation = 0;
      ASSERT_OK(synfire_graph_get_last_operation(graph, &operation));
      fills.push_back(operation);
    }
  }
  ASSERT_OK(synfire_graph_instantiate(graph));
  const auto expect_all = [&](const char* what, auto expected) {
    replay(graph);
    for (size_t i = 0; i < n_encoders; ++i) {
      const Encoding encoding = expected(i);
      ASSERT_TRUE(same_bits(all[i].get(), predicted(encoding, values))) << what << ", encoder " << i;
    }
  };
  expect_all("the first", [&](uint64_t i) { return Encoding{shape, false, i, 100 * i}; });
  expect_all("the second", [&](uint64_t i) { return Encoding{shape, false, i, 100 * i + 7}; });
  EXPECT_TRUE(all_are(download<float>(filled, 100), 49.0f));
  for (size_t i = 0; i < n_encoders; ++i) {
    if (i % 2 == 0) {
      EXPECT_OK(synfire_graph_set_value(graph, encoders[i], "offset", static_cast<double>(3 * i)));
    }
    if (i % 5 == 0) {
      EXPECT_OK(synfire_graph_set_value(graph, encoders[i], "seed", static_cast<double>(1000 + i)));
    }
  }
  for (const int32_t fill : fills) EXPECT_OK(synfire_graph_set_value(graph, fill, "value", fill));
  const auto set = [&](uint64_t replays) {
    return [&, replays](uint64_t i) {
      return Encoding{shape, false, i % 5 == 0 ? 1000 + i : i, (i % 2 == 0 ? 3 * i : 100 * i + 14) + 7 * replays};
    };
  };
  expect_all("after some were set", set(0));
  EXPECT_TRUE(all_are(download<float>(filled, 100), static_cast<float>(fills.back())));
  expect_all("the one after it", set(1));
}

TEST_F(EncodeReplays, SlotsHoldWhatTheirReplayDrew) {
  const Buffer frame = make_frame(context, shape.sequence());
  const Graph graph = make_slotted_graph(context, 3);
  record(graph, describe(start, rates, frame));
  ASSERT_OK(synfire_graph_instantiate(graph));
  for (uint64_t round = 0; round < 3; ++round) {
    uint64_t tickets[3];
    for (uint64_t& ticket : tickets) ticket = launch(graph);
    for (uint64_t i = 0; i < 3; ++i) {
      wait(graph, tickets[i]);
      const float* const drawn = slot_of(graph, tickets[i], frame);
      EXPECT_TRUE(same_bits(std::vector<double>(drawn, drawn + shape.sequence()), after(7 * (3 * round + i))))
          << "replay " << 3 * round + i;
    }
  }
}

// Rates that the host changes between replays, and another buffer for the spikes. Neither affects the counter.
TEST_F(EncodeReplays, OtherRatesAndOtherBuffers) {
  const Buffer pinned = make_frame(context, shape.row());
  const Rows other = rows_for_spikes(context, SYNFIRE_DTYPE_U8, shape);
  const Graph graph = make_graph(context);
  record(graph, describe(start, pinned, spikes));
  ASSERT_OK(synfire_graph_instantiate(graph));
  const auto expect_with = [&](float rate, uint64_t n_steps, const Rows& into) {
    std::fill_n(slot_of(graph, 0, pinned), shape.row(), rate);
    replay(graph);
    EXPECT_TRUE(same_bits(into.get(), predicted({shape, false, start.seed, start.offset + n_steps},
                                                std::vector<double>(shape.row(), rate))));
  };
  expect_with(0.5f, 0, spikes);
  expect_with(0.125f, 7, spikes);
  ASSERT_OK(synfire_graph_rebind(graph, spikes, other));
  expect_with(0.75f, 14, other);
  expect_with(1, 21, other);
}

// The layer's input in a replay: encoded as X in f32, in front of the forward.
TEST_F(EncodeReplays, InFrontOfALayer) {
  const synfire_layer_desc desc = synfire_test::describe(shape, SYNFIRE_DTYPE_F32);
  const Buffer x = make_buffer(context, SYNFIRE_DTYPE_F32, shape.sequence());
  const Buffer once = make_buffer(context, SYNFIRE_DTYPE_F32, shape.sequence()),
               replayed = make_buffer(context, SYNFIRE_DTYPE_F32, shape.sequence());
  const Layer eager = make_layer(context, desc), recorded = make_layer(context, desc);
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.spikes = replayed;
  const Graph graph = make_graph(context);
  record(graph, describe(start, rates, x));
  ASSERT_OK(synfire_graph_record_forward(graph, recorded, &forward));
  ASSERT_OK(synfire_graph_instantiate(graph));
  for (uint64_t i = 0; i < 3; ++i) {
    replay(graph);
    const std::vector<double> drawn = after(7 * i);
    EXPECT_EQ(download<float>(x, shape.sequence()), std::vector<float>(drawn.begin(), drawn.end()));
    synfire_forward_desc same = forward;
    same.spikes = once;
    ASSERT_OK(synfire_layer_forward(eager, &same, nullptr));
    EXPECT_EQ(download<float>(once, shape.sequence()), download<float>(replayed, shape.sequence()));
  }
}

// ---- What is refused ------------------------------------------------------------------------------------------------

class EncodeErrors : public EncodeReplays {
 protected:
  template <typename Change>
  void expect_bad(synfire_status status, std::initializer_list<std::string_view> words, Change change) {
    auto desc = describe(start, rates, spikes);
    change(desc);
    EXPECT_FAILS(status, words, synfire_encode_bernoulli(context, &desc, nullptr));
    EXPECT_FAILS(status, words, synfire_graph_record_encode_bernoulli(graph, &desc));
  }
  void TearDown() override {
    for (const double element : spikes.get()) ASSERT_EQ(element, 255) << "a refused call wrote";
    record(graph, describe(start, rates, spikes));
    ASSERT_OK(synfire_graph_instantiate(graph));
    expect_next(graph, after(0), "the graph, after all");
  }

  const Graph graph = make_graph(context);
};

TEST_F(EncodeErrors, Shapes) {
  for (const int64_t bad : {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    expect_bad(refused, {"SYN-SPIKES-SHAPE", "n_steps"}, [&](auto& desc) { desc.n_steps = bad; });
    expect_bad(refused, {"SYN-SPIKES-SHAPE", "n_neurons"}, [&](auto& desc) { desc.n_neurons = bad; });
    if (bad < 0) expect_bad(refused, {"SYN-SPIKES-SHAPE", "batch"}, [&](auto& desc) { desc.batch = bad; });
  }
  expect_bad(SYNFIRE_ERROR_OUT_OF_MEMORY, {"SYN-SPIKES-OVERFLOW", "n_steps"},
             [&](auto& desc) { desc.n_steps = int64_t{1} << 60; });
  const int64_t neurons = int64_t{1} << 34, rows = int64_t{1} << 32;
  expect_bad(SYNFIRE_ERROR_UNSUPPORTED, {"SYN-ENCODE-SHAPE", "n_neurons"},
             [&](auto& desc) { desc.n_neurons = neurons + 1; });
  expect_bad(SYNFIRE_ERROR_UNSUPPORTED, {"SYN-ENCODE-SHAPE", "batch"}, [&](auto& desc) { desc.batch = rows + 1; });
  // Such sizes are allowed if the memory suffices.
  expect_bad(refused, {"SYN-BUFFER-SIZE", "desc.rates"}, [&](auto& desc) { desc.n_neurons = neurons; });
  expect_bad(refused, {"SYN-BUFFER-SIZE", "desc.rates"}, [&](auto& desc) { desc.batch = rows; });
}

TEST_F(EncodeErrors, RatesPerStep) {
  for (const int32_t bad : {-1, 2, 255, std::numeric_limits<int32_t>::min()})
    expect_bad(refused, {"SYN-ENCODE-RATES", "rates_per_step"}, [&](auto& desc) { desc.rates_per_step = bad; });
  expect_bad(refused, {"SYN-BUFFER-SIZE", "desc.rates"}, [](auto& desc) { desc.rates_per_step = 1; });
}

TEST_F(EncodeErrors, Types) {
  for (const int32_t type : {SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS,
                             SYNFIRE_DTYPE_U32, SYNFIRE_DTYPE_U64}) {
    const Buffer wrong = make_buffer(context, type, shape.sequence());
    expect_bad(refused, {"SYN-BUFFER-TYPE", "desc.rates"}, [&](auto& desc) { desc.rates = wrong; });
  }
  for (const int32_t type : {SYNFIRE_DTYPE_U32, SYNFIRE_DTYPE_U64}) {
    const Buffer wrong = make_buffer(context, type, shape.sequence());
    expect_bad(refused, {"SYN-BUFFER-TYPE", "desc.spikes"}, [&](auto& desc) { desc.spikes = wrong; });
  }
}

TEST_F(EncodeErrors, SizesAndPitches) {
  for (const int32_t type : every_rate_type) {
    const Buffer small = make_buffer(context, type, shape.row() - 1);
    expect_bad(refused, {"SYN-BUFFER-SIZE", "desc.rates"}, [&](auto& desc) { desc.rates = small; });
    const Buffer short_by_one = make_buffer(context, type, shape.sequence() - 1);
    expect_bad(refused, {"SYN-BUFFER-SIZE", "desc.rates"}, [&](auto& desc) {
      desc.rates = short_by_one;
      desc.rates_per_step = 1;
    });
  }
  for (const int32_t type : every_format) {
    const size_t n_elements = type == SYNFIRE_DTYPE_BITS        ? shape.words()
                              : type == SYNFIRE_DTYPE_TIME_BITS ? shape.row()
                                                                : shape.sequence();
    const Buffer small = make_buffer(context, type, n_elements - 1);
    expect_bad(refused, {"SYN-BUFFER-SIZE", "desc.spikes"}, [&](auto& desc) { desc.spikes = small; });
  }
  synfire_buffer_desc narrow = SYNFIRE_BUFFER_DESC_INIT;
  narrow.n_elements = 10 * shape.sequence();
  narrow.row_pitch = shape.row() - 1;
  synfire_buffer handle = nullptr;
  ASSERT_OK(synfire_buffer_create(context, &narrow, &handle));
  const Buffer overlapping(handle);
  expect_bad(refused, {"SYN-BUFFER-PITCH", "desc.spikes"}, [&](auto& desc) { desc.spikes = overlapping; });
  expect_bad(refused, {"SYN-BUFFER-PITCH", "desc.rates"}, [&](auto& desc) {
    desc.rates = overlapping;
    desc.rates_per_step = 1;
  });
}

TEST_F(EncodeErrors, Overlaps) {
  const Buffer large = make_buffer(context, SYNFIRE_DTYPE_F32, 2 * shape.sequence());
  const Buffer before = make_window(context, large, SYNFIRE_DTYPE_F32, 0, shape.row());
  const Buffer last_of_it = make_window(context, large, SYNFIRE_DTYPE_BITS, (shape.row() - 1) * 4, shape.words());
  expect_bad(refused, {"SYN-BUFFER-OVERLAP", "desc.spikes"}, [&](auto& desc) { desc.rates = desc.spikes = large; });
  expect_bad(refused, {"SYN-BUFFER-OVERLAP", "desc.rates"}, [&](auto& desc) {
    desc.rates = before;
    desc.spikes = last_of_it;
  });
}

TEST_F(EncodeErrors, HandlesDescriptorsAndStreams) {
  const auto bad_handle = SYNFIRE_ERROR_INVALID_HANDLE;
  Buffer gone = make_buffer(context, SYNFIRE_DTYPE_F32, shape.sequence());
  const synfire_buffer stale = gone;
  gone.reset();
  const Context elsewhere = make_context();
  const Buffer foreign = make_buffer(elsewhere, SYNFIRE_DTYPE_F32, shape.sequence());
  const auto field = [&](std::string_view rule, synfire_buffer bad) {
    expect_bad(bad_handle, {rule, "desc.rates"}, [&](auto& desc) { desc.rates = bad; });
    expect_bad(bad_handle, {rule, "desc.spikes"}, [&](auto& desc) { desc.spikes = bad; });
  };
  field("SYN-HANDLE-NULL", nullptr);
  field("SYN-HANDLE-STALE", stale);
  field("SYN-HANDLE-FOREIGN", foreign);
  const auto good = describe(start, rates, spikes);
  EXPECT_FAILS(bad_handle, WORDS("context"), synfire_encode_bernoulli(nullptr, &good, nullptr));
  EXPECT_FAILS(bad_handle, WORDS("graph"), synfire_graph_record_encode_bernoulli(nullptr, &good));
  EXPECT_FAILS(refused, WORDS("desc"), synfire_encode_bernoulli(context, nullptr, nullptr));
  EXPECT_FAILS(refused, WORDS("desc"), synfire_graph_record_encode_bernoulli(graph, nullptr));
  for (const uint32_t size : {0u, 1u, static_cast<uint32_t>(sizeof good - 1)})
    expect_bad(SYNFIRE_ERROR_STRUCT_SIZE, {"SYN-STRUCT-SMALL"}, [&](auto& desc) { desc.struct_size = size; });
  expect_bad(SYNFIRE_ERROR_STRUCT_SIZE, {"SYN-STRUCT-SIZE"}, [&](auto& desc) { desc.struct_size = 4097; });
  if (on_host()) {
    const auto stream = reinterpret_cast<synfire_stream>(uintptr_t{1});
    EXPECT_FAILS(refused, WORDS("stream"), synfire_encode_bernoulli(context, &good, stream));
  } else {
    const Buffer pageable = make_frame(context, shape.sequence(), SYNFIRE_MEMORY_HOST);
    expect_bad(refused, {"SYN-BUFFER-KIND", "desc.rates"}, [&](auto& desc) { desc.rates = pageable; });
    expect_bad(refused, {"SYN-BUFFER-KIND", "desc.spikes"}, [&](auto& desc) { desc.spikes = pageable; });
  }
  const Graph done = make_graph(context);
  const Rows into = rows_for_spikes(context, SYNFIRE_DTYPE_U8, shape);
  record(done, describe(start, rates, into));
  ASSERT_OK(synfire_graph_instantiate(done));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-GRAPH-INSTANTIATED"),
               synfire_graph_record_encode_bernoulli(done, &good));
}

}  // namespace
}  // namespace synfire_test
