// Combinations (sums, AND, IAND, concatenations), means over groups, and their gradients: against the definitions in
// the header, written out here with integers, f32 and f64; in every format, at odd sizes, alignments and pitches.
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <string>

#include "../sample.hpp"
#include "storage_rig.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;
constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();

const int32_t numbers[] = {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16};
const int32_t formats[] = {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64,  SYNFIRE_DTYPE_F16,      SYNFIRE_DTYPE_BF16,
                           SYNFIRE_DTYPE_U8,  SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS};

using Values = std::vector<double>;

// An array [T, B, N] in any format. What is not an element is all ones, tail bits of sources included.
class Array {
 public:
  Array(synfire_context context, int32_t dtype, const Shape& shape, Placement placement = {})
      : shape_(shape), rows_(context, dtype, n_rows(dtype, shape), row(dtype, shape), placement) {}

  synfire_buffer buffer() const { return rows_; }
  int32_t dtype() const { return rows_.dtype(); }

  // Elements, or spikes where the format is packed.
  void put(const Values& values) {
    if (!is_packed(dtype())) return rows_.put(values);
    Values words(n_rows(dtype(), shape_) * row(dtype(), shape_), 0xFFFFFFFF);
    for (size_t i = 0; i < values.size(); ++i) {
      const auto [word, bit] = place(i);
      if (values[i] == 0) words[word] = static_cast<double>(static_cast<uint32_t>(words[word]) & ~(uint32_t{1} << bit));
    }
    rows_.put(words);
  }
  // Tail bits must be zero.
  Values get() const {
    const Values stored = rows_.get();
    if (!is_packed(dtype())) return stored;
    Values values(shape_.sequence());
    size_t set = 0, used = 0;
    for (size_t i = 0; i < values.size(); ++i) {
      const auto [word, bit] = place(i);
      values[i] = static_cast<uint32_t>(stored[word]) >> bit & 1u;
      used += values[i] != 0 ? 1u : 0u;
    }
    for (const double word : stored) set += static_cast<size_t>(std::popcount(static_cast<uint32_t>(word)));
    EXPECT_EQ(set, used) << "tail bits are set";
    return values;
  }

 private:
  static size_t n_rows(int32_t dtype, const Shape& shape) {
    return static_cast<size_t>(dtype == SYNFIRE_DTYPE_TIME_BITS ? (shape.n_steps + 31) / 32 : shape.n_steps);
  }
  static size_t row(int32_t dtype, const Shape& shape) {
    return dtype == SYNFIRE_DTYPE_BITS ? static_cast<size_t>(shape.batch) * shape.words_per_row() : shape.row();
  }
  std::pair<size_t, size_t> place(size_t i) const {
    const size_t t = i / shape_.row(), column = i % shape_.row(), n = column % static_cast<size_t>(shape_.n_neurons);
    if (dtype() == SYNFIRE_DTYPE_TIME_BITS) return {t / 32 * shape_.row() + column, t % 32};
    return {i / static_cast<size_t>(shape_.n_neurons) * shape_.words_per_row() + n / 32, n % 32};
  }

  Shape shape_;
  Rows rows_;
};

// A source: how it is stored, the numbers that it stands for, and its bound if it holds counts.
struct Source {
  int32_t dtype = SYNFIRE_DTYPE_F32;
  int32_t bound = 0;
  int64_t channels = 0;
  Placement placement = {};
};

Values random_spikes(Random& random, size_t count) {
  Values values(count);
  for (double& value : values) value = random.next() % 3 == 0 ? 1 : 0;
  return values;
}
Values random_counts(Random& random, size_t count, int32_t bound) {
  Values values(count);
  for (double& value : values) value = static_cast<double>(random.next() % static_cast<uint64_t>(bound + 1));
  return values;
}

bool holds_numbers(int32_t dtype) {
  return !is_packed(dtype) && dtype != SYNFIRE_DTYPE_U8;
}

// A combination with the buffers that it needs.
struct Case {
  int32_t kind;
  Shape shape;  // of the destination
  std::vector<Source> sources;
  int32_t destination = SYNFIRE_DTYPE_F32;
  Placement placement = {};

  Shape shape_of(const Source& source) const {
    if (kind != SYNFIRE_COMBINE_CONCATENATE) return shape;
    int64_t all = 0;
    for (const Source& one : sources) all += one.channels;
    return {shape.n_steps, shape.batch, shape.n_neurons / all * source.channels};
  }
};

class Combined {
 public:
  Combined(synfire_context context, const Case& c)
      : case_(c), destination_(context, c.destination, c.shape, c.placement) {
    for (const Source& source : c.sources) {
      arrays_.emplace_back(context, source.dtype, c.shape_of(source), source.placement);
      buffers_.push_back(arrays_.back().buffer());
      bounds_.push_back(source.bound);
      if (c.kind == SYNFIRE_COMBINE_CONCATENATE) channels_.push_back(source.channels);
    }
  }

  synfire_combine_desc desc() const {
    synfire_combine_desc desc = SYNFIRE_COMBINE_DESC_INIT;
    desc.kind = case_.kind;
    desc.n_steps = case_.shape.n_steps;
    desc.batch = case_.shape.batch;
    desc.n_neurons = case_.shape.n_neurons;
    desc.sources = buffers_.data();
    desc.n_sources = buffers_.size();
    desc.channels = channels_.empty() ? nullptr : channels_.data();
    desc.n_channels = channels_.size();
    desc.bounds = bounds_.data();
    desc.n_bounds = bounds_.size();
    desc.destination = destination_.buffer();
    return desc;
  }
  Array& source(size_t k) { return arrays_[k]; }
  Values get() const { return destination_.get(); }

 private:
  Case case_;
  std::vector<Array> arrays_;
  std::vector<synfire_buffer> buffers_;
  std::vector<int64_t> channels_;
  std::vector<int32_t> bounds_;
  Array destination_;
};

// ---- the definitions ------------------------------------------------------------------------------------------------

// A sum from left to right.
template <typename R>
Values sum_of(const std::vector<Values>& sources) {
  Values sums;
  for (size_t i = 0; i < sources[0].size(); ++i) {
    R sum = static_cast<R>(sources[0][i]);
    for (size_t k = 1; k < sources.size(); ++k) sum = sum + static_cast<R>(sources[k][i]);
    sums.push_back(static_cast<double>(sum));
  }
  return sums;
}

Values joined_channels(const Case& c, const std::vector<Values>& sources) {
  Values joined;
  std::vector<size_t> next(sources.size(), 0);
  while (joined.size() < c.shape.sequence())
    for (size_t k = 0; k < sources.size(); ++k)
      for (int64_t i = 0; i < c.sources[k].channels; ++i) joined.push_back(sources[k][next[k]++]);
  return joined;
}

Values expected(const Case& c, const std::vector<Values>& sources) {
  Values values;
  switch (c.kind) {
    case SYNFIRE_COMBINE_SUM:
      values = c.destination == SYNFIRE_DTYPE_F64 ? sum_of<double>(sources) : sum_of<float>(sources);
      break;
    case SYNFIRE_COMBINE_CONCATENATE:
      values = joined_channels(c, sources);
      break;
    default:
      for (size_t i = 0; i < sources[0].size(); ++i)
        values.push_back(c.kind == SYNFIRE_COMBINE_AND ? sources[0][i] * sources[1][i]
                                                       : sources[0][i] * (1 - sources[1][i]));
  }
  return is_packed(c.destination) ? values : stored_as(c.destination, values);
}

// Values of a source as it is read: numbers where the destination has numbers and no AND makes them spikes.
Values random_values(Random& random, const Case& c, const Source& source) {
  const size_t count = c.shape_of(source).sequence();
  const bool spikes_only = c.kind == SYNFIRE_COMBINE_AND || c.kind == SYNFIRE_COMBINE_IAND;
  if (source.bound > 0) return random_counts(random, count, source.bound);
  if (!spikes_only && holds_numbers(source.dtype) && holds_numbers(c.destination))
    return stored_as(source.dtype, random.values<double>(count, -3, 3));
  return random_spikes(random, count);
}

class CombineTest : public testing::Test {
 protected:
  // At once, and as a graph that reads new sources in its second replay.
  void expect_combined(const Case& c, uint64_t seed = 1) {
    if (!sample_.next()) return;
    SCOPED_TRACE(testing::Message() << "kind " << c.kind << ", [" << c.shape.n_steps << ", " << c.shape.batch << ", "
                                    << c.shape.n_neurons << "], to type " << c.destination << ", from types " << [&] {
                                         std::string text;
                                         for (const Source& source : c.sources)
                                           text +=
                                               std::to_string(source.dtype) + "/" + std::to_string(source.bound) + " ";
                                         return text;
                                       }());
    Random random(seed);
    Combined arrays(context, c);
    const synfire_combine_desc desc = arrays.desc();
    const auto put = [&] {
      std::vector<Values> sources;
      for (size_t k = 0; k < c.sources.size(); ++k) {
        sources.push_back(random_values(random, c, c.sources[k]));
        arrays.source(k).put(sources.back());
      }
      return expected(c, sources);
    };
    const Values first = put();
    ASSERT_OK(synfire_combine(context, &desc, nullptr));
    EXPECT_TRUE(same_bits(arrays.get(), first));
    const Graph graph = make_graph(context);
    ASSERT_OK(synfire_graph_record_combine(graph, &desc));
    ASSERT_OK(synfire_graph_instantiate(graph));
    for (int i = 0; i < 2; ++i) {
      const Values next = put();
      replay(graph);
      EXPECT_TRUE(same_bits(arrays.get(), next));
    }
  }

  const Context context = make_context(3);
  Random chosen_{1};  // seeds and placements
  Sample sample_;
};

const Shape shapes[] = {{1, 1, 1}, {3, 2, 5}, {33, 1, 31}, {2, 3, 64}, {5, 2, 97}, {34, 3, 33}};
const Placement placements[] = {{}, {1, 0}, {3, 5}, {0, 7}};

// ---- sums -----------------------------------------------------------------------------------------------------------

TEST_F(CombineTest, NumbersAreAddedFromLeftToRight) {
  for (const Shape& shape : shapes)
    for (const Placement placement : placements)
      for (const int32_t to : numbers)
        for (const int32_t from : numbers)
          expect_combined({SYNFIRE_COMBINE_SUM,
                           shape,
                           {{from, 0, 0, placement}, {to}, {SYNFIRE_DTYPE_F32, 0, 0, {2, 1}}},
                           to,
                           placement},
                          chosen_.next());
}

TEST_F(CombineTest, F64IsAddedInF64) {
  for (const Shape& shape : shapes)
    for (const Placement placement : placements)
      expect_combined({SYNFIRE_COMBINE_SUM,
                       shape,
                       {{SYNFIRE_DTYPE_F64, 0, 0, placement}, {SYNFIRE_DTYPE_F64}, {SYNFIRE_DTYPE_F64, 0, 0, {1, 2}}},
                       SYNFIRE_DTYPE_F64,
                       placement});
}

// A spiking residual block adds spikes to values.
TEST_F(CombineTest, SpikesAndCountsAreNumbersBesideNumbers) {
  for (const Shape& shape : shapes)
    for (const int32_t to : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16, SYNFIRE_DTYPE_F64}) {
      const int32_t number = to == SYNFIRE_DTYPE_F64 ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32;
      expect_combined({SYNFIRE_COMBINE_SUM,
                       shape,
                       {{number, 0, 0, {1, 1}},
                        {SYNFIRE_DTYPE_BITS, 0, 0, {1, 0}},
                        {SYNFIRE_DTYPE_TIME_BITS, 0, 0, {0, 3}},
                        {SYNFIRE_DTYPE_U8, 0, 0, {1, 0}},
                        {SYNFIRE_DTYPE_U8, 255, 0, {2, 1}}},
                       to});
    }
}

TEST_F(CombineTest, TheOrderOfASumIsThatOfTheSources) {
  const Case c = {SYNFIRE_COMBINE_SUM, {1, 1, 3}, {{}, {}, {}}};
  Combined arrays(context, c);
  const synfire_combine_desc desc = arrays.desc();
  // 2^24 + 1 + 1 is 2^24 from left to right, and 2^24 + 2 in another order.
  arrays.source(0).put({16777216, 1, 1e30});
  arrays.source(1).put({1, 1, -1e30});
  arrays.source(2).put({1, 16777216, 1});
  ASSERT_OK(synfire_combine(context, &desc, nullptr));
  EXPECT_TRUE(same_bits(arrays.get(), {16777216, 16777218, 1}));
}

TEST_F(CombineTest, ExtremesOfNumbers) {
  const double largest = std::numeric_limits<float>::max(), smallest = std::numeric_limits<float>::denorm_min();
  const Case c = {SYNFIRE_COMBINE_SUM, {1, 1, 8}, {{}, {}}};
  Combined arrays(context, c);
  const synfire_combine_desc desc = arrays.desc();
  arrays.source(0).put({nan, infinity, infinity, -0.0, -0.0, largest, smallest, -infinity});
  arrays.source(1).put({1, 1, -infinity, -0.0, 0.0, largest, smallest, nan});
  ASSERT_OK(synfire_combine(context, &desc, nullptr));
  EXPECT_TRUE(same_bits(arrays.get(), {nan, infinity, nan, -0.0, 0.0, infinity, 2 * smallest, nan}));
}

TEST_F(CombineTest, OneBufferMayOccurSeveralTimes) {
  const Buffer x = make_buffer_of(context, std::vector<float>{1, -2, 0.5f}),
               y = make_buffer(context, SYNFIRE_DTYPE_F32, 3);
  const std::vector<synfire_buffer> sources(16, x.get());
  synfire_combine_desc desc = SYNFIRE_COMBINE_DESC_INIT;
  desc.n_steps = 1;
  desc.n_neurons = 3;
  desc.sources = sources.data();
  desc.n_sources = sources.size();
  desc.destination = y;
  ASSERT_OK(synfire_combine(context, &desc, nullptr));
  EXPECT_TRUE(same_bits(download<float>(y, 3), {16, -32, 8}));
}

TEST_F(CombineTest, SpikesAndCountsAddToCounts) {
  for (const Shape& shape : shapes)
    for (const Placement placement : placements)
      for (const int32_t format : formats)
        expect_combined({SYNFIRE_COMBINE_SUM,
                         shape,
                         {{format, 0, 0, placement}, {SYNFIRE_DTYPE_U8, 37, 0, placement}, {SYNFIRE_DTYPE_BITS}},
                         SYNFIRE_DTYPE_U8,
                         placement},
                        chosen_.next());
}

TEST_F(CombineTest, CountsReachTheirBoundAndNoMore) {
  const Shape shape = {2, 2, 37};
  Case c = {SYNFIRE_COMBINE_SUM,
            shape,
            {{SYNFIRE_DTYPE_U8, 200}, {SYNFIRE_DTYPE_U8, 54}, {SYNFIRE_DTYPE_U8}},
            SYNFIRE_DTYPE_U8};
  Combined arrays(context, c);
  synfire_combine_desc desc = arrays.desc();
  // 200, 54 and a spike: elements above a bound count as it, and any number that is not zero is a spike.
  for (size_t k = 0; k < 3; ++k) arrays.source(k).put(Values(shape.sequence(), 255));
  ASSERT_OK(synfire_combine(context, &desc, nullptr));
  EXPECT_TRUE(all_are(arrays.get(), 255.0));
  // One more is refused.
  const int32_t above[] = {200, 55, 0};
  desc.bounds = above;
  EXPECT_FAILS(refused, WORDS("SYN-COUNT-BOUND", "256", "255"), synfire_combine(context, &desc, nullptr));
  const Graph graph = make_graph(context);
  EXPECT_FAILS(refused, WORDS("SYN-COUNT-BOUND", "256"), synfire_graph_record_combine(graph, &desc));
  // Numbers take any sum.
  const Buffer sum = make_buffer(context, SYNFIRE_DTYPE_F32, shape.sequence());
  desc.destination = sum;
  ASSERT_OK(synfire_combine(context, &desc, nullptr));
  EXPECT_TRUE(all_are(download<float>(sum, shape.sequence()), 256.0f));
}

// The header says which elements are spikes: NaNs and subnormal numbers are, -0 is not.
TEST_F(CombineTest, EveryNonZeroElementIsASpike) {
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16}) {
    const Case c = {SYNFIRE_COMBINE_SUM, {1, 1, 6}, {{dtype}, {dtype}}, SYNFIRE_DTYPE_U8};
    Combined arrays(context, c);
    const synfire_combine_desc desc = arrays.desc();
    const double subnormal = dtype == SYNFIRE_DTYPE_F64 ? 0x1p-1074 : dtype == SYNFIRE_DTYPE_F16 ? 0x1p-24 : 0x1p-133;
    arrays.source(0).put({nan, -infinity, subnormal, -0.0, 0, 7});
    arrays.source(1).put({0, 0, 0, 0, -0.0, -1});
    ASSERT_OK(synfire_combine(context, &desc, nullptr));
    EXPECT_TRUE(same_bits(arrays.get(), {1, 1, 1, 0, 0, 2})) << dtype;
  }
}

// ---- AND and IAND ---------------------------------------------------------------------------------------------------

TEST_F(CombineTest, SpikesOfBothAndOfTheFirstAlone) {
  for (const int32_t kind : {SYNFIRE_COMBINE_AND, SYNFIRE_COMBINE_IAND})
    for (const int32_t a : formats)
      for (const int32_t b : formats)
        for (const int32_t to : formats)
          expect_combined({kind,
                           shapes[chosen_.next() % std::size(shapes)],
                           {{a}, {b, 0, 0, placements[chosen_.next() % 4]}},
                           to,
                           placements[chosen_.next() % 3]},
                          chosen_.next());
}

TEST_F(CombineTest, PackedWordsAtEverySize) {
  for (const int32_t kind : {SYNFIRE_COMBINE_AND, SYNFIRE_COMBINE_IAND})
    for (const int32_t format : {SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS})
      for (const Shape& shape : shapes)
        for (const Placement placement : placements)
          expect_combined({kind, shape, {{format, 0, 0, placement}, {format}}, format, placement});
}

// ---- concatenations -------------------------------------------------------------------------------------------------

struct Map {
  int64_t positions;
  std::vector<int64_t> channels;
};
const Map maps[] = {{1, {1, 1}},   {1, {31, 1, 33}}, {6, {2, 3}},  {4, {12, 16, 4}},
                    {2, {32, 64}}, {3, {33, 40}},    {1, {7, 600}}};

Case concatenation(const Map& map, int64_t n_steps, int64_t batch, int32_t to, const std::vector<Source>& like) {
  Case c = {SYNFIRE_COMBINE_CONCATENATE, {n_steps, batch, 0}, {}, to};
  for (size_t k = 0; k < map.channels.size(); ++k) {
    c.sources.push_back(like[k % like.size()]);
    c.sources.back().channels = map.channels[k];
    c.shape.n_neurons += map.positions * map.channels[k];
  }
  return c;
}

TEST_F(CombineTest, ChannelsAreSideBySideInEveryFormat) {
  for (const Map& map : maps)
    for (const int32_t to : formats)
      for (const int32_t from : formats) {
        const bool wide = from == SYNFIRE_DTYPE_F64 || to == SYNFIRE_DTYPE_F64;
        if (wide && holds_numbers(from) && holds_numbers(to) && from != to) continue;
        Case c = concatenation(map, chosen_.next() % 2 == 0 ? 3 : 34, 2, to,
                               {{from}, {from, 0, 0, placements[chosen_.next() % 4]}});
        c.placement = placements[chosen_.next() % 3];
        expect_combined(c, chosen_.next());
      }
}

TEST_F(CombineTest, SpikesBesideCountsBecomeCounts) {
  for (const Map& map : maps)
    for (const int32_t to : {SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F16})
      for (const int32_t from : {SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS, SYNFIRE_DTYPE_U8})
        expect_combined(concatenation(map, 3, 2, to, {{from}, {SYNFIRE_DTYPE_U8, 255}}));
}

TEST_F(CombineTest, ANumberIsCopiedAsItIs) {
  Case c = concatenation({1, {2, 3}}, 1, 1, SYNFIRE_DTYPE_F32, {{}});
  Combined arrays(context, c);
  const synfire_combine_desc desc = arrays.desc();
  const double smallest = std::numeric_limits<float>::denorm_min();
  arrays.source(0).put({-0.0, infinity});
  arrays.source(1).put({smallest, nan, -infinity});
  ASSERT_OK(synfire_combine(context, &desc, nullptr));
  EXPECT_TRUE(same_bits(arrays.get(), {-0.0, infinity, smallest, nan, -infinity}));
}

// ---- parts, and large arrays ----------------------------------------------------------------------------------------

TEST_F(CombineTest, ABatchRowAloneIsAsInTheBatch) {
  for (const Case& c :
       {Case{SYNFIRE_COMBINE_SUM, {3, 4, 37}, {{}, {SYNFIRE_DTYPE_F16}, {SYNFIRE_DTYPE_BITS}}},
        Case{SYNFIRE_COMBINE_SUM, {3, 4, 37}, {{SYNFIRE_DTYPE_U8, 9}, {SYNFIRE_DTYPE_BITS}}, SYNFIRE_DTYPE_U8},
        Case{SYNFIRE_COMBINE_IAND, {3, 4, 37}, {{SYNFIRE_DTYPE_BITS}, {SYNFIRE_DTYPE_BITS}}, SYNFIRE_DTYPE_BITS},
        concatenation({3, {5, 30}}, 3, 4, SYNFIRE_DTYPE_BITS, {{SYNFIRE_DTYPE_BITS}})}) {
    Random random(3);
    Combined all(context, c);
    std::vector<Values> sources;
    for (size_t k = 0; k < c.sources.size(); ++k) {
      sources.push_back(random_values(random, c, c.sources[k]));
      all.source(k).put(sources.back());
    }
    const synfire_combine_desc desc = all.desc();
    ASSERT_OK(synfire_combine(context, &desc, nullptr));
    const auto row_of = [](const Values& values, const Shape& shape, size_t b) {
      Values row;
      const auto n = static_cast<size_t>(shape.n_neurons);
      for (size_t t = 0; t < static_cast<size_t>(shape.n_steps); ++t)
        row = joined(row, slice(values, t * shape.row() + b * n, n));
      return row;
    };
    for (size_t b = 0; b < 4; ++b) {
      Case one = c;
      one.shape.batch = 1;
      Combined alone(context, one);
      for (size_t k = 0; k < c.sources.size(); ++k)
        alone.source(k).put(row_of(sources[k], c.shape_of(c.sources[k]), b));
      const synfire_combine_desc of_one = alone.desc();
      ASSERT_OK(synfire_combine(context, &of_one, nullptr));
      EXPECT_TRUE(same_bits(alone.get(), row_of(all.get(), c.shape, b)));
    }
  }
}

TEST_F(CombineTest, LargeArraysAreShared) {
  expect_combined({SYNFIRE_COMBINE_SUM, {3, 7, 20001}, {{}, {SYNFIRE_DTYPE_BITS}}, SYNFIRE_DTYPE_F32, {1, 3}});
  expect_combined(
      {SYNFIRE_COMBINE_SUM, {3, 7, 20001}, {{SYNFIRE_DTYPE_U8, 3}, {SYNFIRE_DTYPE_BITS}}, SYNFIRE_DTYPE_U8});
  expect_combined(
      {SYNFIRE_COMBINE_AND, {33, 3, 5001}, {{SYNFIRE_DTYPE_BITS}, {SYNFIRE_DTYPE_TIME_BITS}}, SYNFIRE_DTYPE_TIME_BITS});
  expect_combined(concatenation({900, {16, 7}}, 3, 7, SYNFIRE_DTYPE_BITS, {{SYNFIRE_DTYPE_BITS}}));
}

// ---- gradients ------------------------------------------------------------------------------------------------------

struct GradientCase {
  int32_t kind;
  Shape shape;  // of the destination
  int32_t source = 0;
  std::vector<int64_t> channels = {};
  int32_t from = SYNFIRE_DTYPE_F32, to = SYNFIRE_DTYPE_F32, other = SYNFIRE_DTYPE_U8;
  bool accumulate = false;
  Placement placement = {};

  Shape of_source() const {
    if (channels.empty()) return shape;
    int64_t all = 0;
    for (const int64_t one : channels) all += one;
    return {shape.n_steps, shape.batch, shape.n_neurons / all * channels[static_cast<size_t>(source)]};
  }
};

template <typename R>
Values expected_gradient(const GradientCase& c, const Values& g, const Values& other, const Values& before) {
  Values part = g;
  if (!c.channels.empty()) {
    part.clear();
    for (size_t at = 0; at < g.size();)
      for (size_t k = 0; k < c.channels.size(); ++k)
        for (int64_t i = 0; i < c.channels[k]; ++i, ++at)
          if (k == static_cast<size_t>(c.source)) part.push_back(g[at]);
  }
  for (size_t i = 0; i < part.size(); ++i) {
    R gradient = static_cast<R>(part[i]);
    if (c.kind == SYNFIRE_COMBINE_AND) gradient = gradient * static_cast<R>(other[i]);
    if (c.kind == SYNFIRE_COMBINE_IAND)
      gradient = c.source == 0 ? gradient * (R(1) - static_cast<R>(other[i])) : -gradient * static_cast<R>(other[i]);
    part[i] = static_cast<double>(c.accumulate ? static_cast<R>(before[i]) + gradient : gradient);
  }
  return stored_as(c.to, part);
}

class CombineGradientTest : public CombineTest {
 protected:
  void expect_gradient(const GradientCase& c, uint64_t seed = 1) {
    if (!sample_.next()) return;
    SCOPED_TRACE(testing::Message() << "kind " << c.kind << ", source " << c.source << ", [" << c.shape.n_steps << ", "
                                    << c.shape.batch << ", " << c.shape.n_neurons << "], from type " << c.from << " to "
                                    << c.to << ", other " << c.other << ", accumulate " << c.accumulate);
    Random random(seed);
    const bool two = c.kind == SYNFIRE_COMBINE_AND || c.kind == SYNFIRE_COMBINE_IAND;
    Array g(context, c.from, c.shape, c.placement), other(context, c.other, c.shape, {1, 2}),
        to(context, c.to, c.of_source(), c.placement);
    const Values spikes = random_spikes(random, c.shape.sequence());
    other.put(spikes);
    synfire_combine_backward_desc desc = SYNFIRE_COMBINE_BACKWARD_DESC_INIT;
    desc.kind = c.kind;
    desc.n_steps = c.shape.n_steps;
    desc.batch = c.shape.batch;
    desc.n_neurons = c.shape.n_neurons;
    desc.channels = c.channels.empty() ? nullptr : c.channels.data();
    desc.n_channels = c.channels.size();
    desc.source = c.source;
    desc.accumulate = c.accumulate ? 1 : 0;
    desc.grad_destination = g.buffer();
    desc.other = two ? other.buffer() : nullptr;
    desc.grad_source = to.buffer();
    const Graph graph = make_graph(context);
    ASSERT_OK(synfire_graph_record_combine_backward(graph, &desc));
    ASSERT_OK(synfire_graph_instantiate(graph));
    for (const bool recorded : {false, true}) {
      const Values before = stored_as(c.to, random.values<double>(c.of_source().sequence(), -2, 2)),
                   gradient = stored_as(c.from, random.values<double>(c.shape.sequence(), -2, 2));
      g.put(gradient);
      if (c.accumulate) to.put(before);
      if (recorded)
        replay(graph);
      else
        ASSERT_OK(synfire_combine_backward(context, &desc, nullptr));
      EXPECT_TRUE(same_bits(to.get(), c.to == SYNFIRE_DTYPE_F64
                                          ? expected_gradient<double>(c, gradient, spikes, before)
                                          : expected_gradient<float>(c, gradient, spikes, before)));
    }
  }
};

TEST_F(CombineGradientTest, OfEveryKindInEveryType) {
  for (const bool accumulate : {false, true})
    for (const int32_t from : formats)
      for (const int32_t to : formats) {
        if (!holds_numbers(from) || !holds_numbers(to) || (from == SYNFIRE_DTYPE_F64) != (to == SYNFIRE_DTYPE_F64))
          continue;
        for (const Shape& shape : shapes) {
          const int32_t other = formats[chosen_.next() % std::size(formats)];
          const Placement placement = placements[chosen_.next() % std::size(placements)];
          for (const int32_t source : {0, 1})
            for (const int32_t kind : {SYNFIRE_COMBINE_SUM, SYNFIRE_COMBINE_AND, SYNFIRE_COMBINE_IAND})
              expect_gradient({kind, shape, source, {}, from, to, other, accumulate, placement}, chosen_.next());
        }
        for (const Map& map : maps) {
          int64_t all = 0;
          for (const int64_t one : map.channels) all += one;
          for (int32_t source = 0; source < static_cast<int32_t>(map.channels.size()); ++source)
            expect_gradient({SYNFIRE_COMBINE_CONCATENATE,
                             {3, 2, map.positions * all},
                             source,
                             map.channels,
                             from,
                             to,
                             SYNFIRE_DTYPE_U8,
                             accumulate,
                             placements[chosen_.next() % std::size(placements)]},
                            chosen_.next());
        }
      }
}

TEST_F(CombineGradientTest, OtherSpikesInEveryFormat) {
  for (const int32_t other : formats)
    for (const int32_t kind : {SYNFIRE_COMBINE_AND, SYNFIRE_COMBINE_IAND})
      for (const Shape& shape : shapes)
        for (const int32_t source : {0, 1})
          expect_gradient({kind, shape, source, {}, SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F32, other}, chosen_.next());
}

TEST_F(CombineGradientTest, LargeArraysAreShared) {
  expect_gradient(
      {SYNFIRE_COMBINE_IAND, {3, 7, 20001}, 1, {}, SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_BF16, SYNFIRE_DTYPE_BITS});
  expect_gradient({SYNFIRE_COMBINE_CONCATENATE, {3, 7, 900 * 23}, 1, {16, 7}});
}

// Infinite gradients are multiplied as the formulas say.
TEST_F(CombineGradientTest, OfInfinity) {
  const Buffer g = make_buffer_of(context, std::vector<float>{std::numeric_limits<float>::infinity(), -1, NAN, 5}),
               other = make_buffer_of(context, std::vector<float>{0, 0, 1, 1}),
               to = make_buffer(context, SYNFIRE_DTYPE_F32, 4);
  synfire_combine_backward_desc desc = SYNFIRE_COMBINE_BACKWARD_DESC_INIT;
  desc.kind = SYNFIRE_COMBINE_AND;
  desc.n_steps = 1;
  desc.n_neurons = 4;
  desc.grad_destination = g;
  desc.other = other;
  desc.grad_source = to;
  ASSERT_OK(synfire_combine_backward(context, &desc, nullptr));
  EXPECT_TRUE(same_bits(download<float>(to, 4), {NAN, -0.0f, NAN, 5}));
}

// L = sum of w * destination, of f64 sources: the gradient against central differences of the operation itself.
TEST_F(CombineGradientTest, AgainstCentralDifferences) {
  for (const Case& c : {Case{SYNFIRE_COMBINE_SUM,
                             {2, 2, 5},
                             {{SYNFIRE_DTYPE_F64}, {SYNFIRE_DTYPE_F64}, {SYNFIRE_DTYPE_F64}},
                             SYNFIRE_DTYPE_F64},
                        concatenation({2, {3, 2}}, 2, 2, SYNFIRE_DTYPE_F64, {{SYNFIRE_DTYPE_F64}})}) {
    Random random(9);
    Combined arrays(context, c);
    const synfire_combine_desc desc = arrays.desc();
    std::vector<Values> sources;
    std::vector<int64_t> channels;
    for (size_t k = 0; k < c.sources.size(); ++k) {
      sources.push_back(random_values(random, c, c.sources[k]));
      arrays.source(k).put(sources.back());
      if (c.sources[k].channels > 0) channels.push_back(c.sources[k].channels);
    }
    const Values weights = random.values<double>(c.shape.sequence(), -1, 1);
    const auto loss = [&] {
      EXPECT_OK(synfire_combine(context, &desc, nullptr));
      double sum = 0;
      const Values result = arrays.get();
      for (size_t i = 0; i < result.size(); ++i) sum += weights[i] * result[i];
      return sum;
    };
    const Buffer g = make_buffer_of(context, weights);
    for (size_t k = 0; k < c.sources.size(); ++k) {
      const Buffer gradient = make_buffer(context, SYNFIRE_DTYPE_F64, sources[k].size());
      synfire_combine_backward_desc backward = SYNFIRE_COMBINE_BACKWARD_DESC_INIT;
      backward.kind = c.kind;
      backward.n_steps = c.shape.n_steps;
      backward.batch = c.shape.batch;
      backward.n_neurons = c.shape.n_neurons;
      backward.channels = channels.empty() ? nullptr : channels.data();
      backward.n_channels = channels.size();
      backward.source = static_cast<int32_t>(k);
      backward.grad_destination = g;
      backward.grad_source = gradient;
      ASSERT_OK(synfire_combine_backward(context, &backward, nullptr));
      const Values got = download<double>(gradient, sources[k].size());
      for (size_t i = 0; i < got.size(); ++i) {
        Values moved = sources[k];
        const auto loss_at = [&](double value) {
          moved[i] = value;
          arrays.source(k).put(moved);
          return loss();
        };
        EXPECT_NEAR(got[i], (loss_at(sources[k][i] + 1e-3) - loss_at(sources[k][i] - 1e-3)) / 2e-3, 1e-10);
      }
      arrays.source(k).put(sources[k]);
    }
  }
}

// AND and IAND are linear in each spike, so a difference of two losses is exactly the gradient.
TEST_F(CombineGradientTest, AgainstASpikeMoreOrLess) {
  const Shape shape = {1, 2, 9};
  for (const int32_t kind : {SYNFIRE_COMBINE_AND, SYNFIRE_COMBINE_IAND})
    for (const size_t k : {size_t{0}, size_t{1}}) {
      Random random(5);
      const Case c = {kind, shape, {{SYNFIRE_DTYPE_BITS}, {SYNFIRE_DTYPE_BITS}}, SYNFIRE_DTYPE_F64};
      Combined arrays(context, c);
      const synfire_combine_desc desc = arrays.desc();
      const std::vector<Values> spikes = {random_spikes(random, shape.sequence()),
                                          random_spikes(random, shape.sequence())};
      const Values weights = random.values<double>(shape.sequence(), -1, 1);
      const Buffer g = make_buffer_of(context, weights),
                   gradient = make_buffer(context, SYNFIRE_DTYPE_F64, shape.sequence());
      for (size_t other = 0; other < 2; ++other) arrays.source(other).put(spikes[other]);
      synfire_combine_backward_desc backward = SYNFIRE_COMBINE_BACKWARD_DESC_INIT;
      backward.kind = kind;
      backward.n_steps = shape.n_steps;
      backward.batch = shape.batch;
      backward.n_neurons = shape.n_neurons;
      backward.source = static_cast<int32_t>(k);
      backward.grad_destination = g;
      backward.other = arrays.source(1 - k).buffer();
      backward.grad_source = gradient;
      ASSERT_OK(synfire_combine_backward(context, &backward, nullptr));
      const Values got = download<double>(gradient, shape.sequence());
      for (size_t i = 0; i < got.size(); ++i) {
        double results[2] = {};
        for (const size_t spike : {size_t{0}, size_t{1}}) {
          Values moved = spikes[k];
          moved[i] = static_cast<double>(spike);
          arrays.source(k).put(moved);
          ASSERT_OK(synfire_combine(context, &desc, nullptr));
          results[spike] = arrays.get()[i];
        }
        EXPECT_EQ(got[i], weights[i] * (results[1] - results[0]));
      }
    }
}

// ---- means over groups ----------------------------------------------------------------------------------------------

struct Groups {
  int64_t n_steps, batch, n_groups, size;
  Shape elements() const { return {n_steps, batch, n_groups * size}; }
  Shape means() const { return {n_steps, batch, n_groups}; }
};
const Groups groups[] = {{1, 1, 1, 1}, {3, 2, 5, 10}, {2, 1, 11, 3}, {1, 4, 1, 1000}, {5, 3, 7, 1}, {2, 2, 4, 16}};

template <typename R>
Values expected_means(const Groups& g, int32_t to, const Values& values) {
  Values means;
  for (size_t first = 0; first < values.size(); first += static_cast<size_t>(g.size)) {
    R sum = 0;
    for (size_t i = 0; i < static_cast<size_t>(g.size); ++i) sum = sum + static_cast<R>(values[first + i]);
    means.push_back(static_cast<double>(sum / static_cast<R>(g.size)));
  }
  return stored_as(to, means);
}

template <typename R>
Values expected_spread(const Groups& g, int32_t to, const Values& gradient, const Values& before, bool add) {
  Values values;
  for (size_t i = 0; i < gradient.size() * static_cast<size_t>(g.size); ++i) {
    const R share = static_cast<R>(gradient[i / static_cast<size_t>(g.size)]) / static_cast<R>(g.size);
    values.push_back(static_cast<double>(add ? static_cast<R>(before[i]) + share : share));
  }
  return stored_as(to, values);
}

class GroupMeanTest : public testing::Test {
 protected:
  static synfire_group_mean_desc describe(const Groups& g, synfire_buffer source, synfire_buffer destination) {
    synfire_group_mean_desc desc = SYNFIRE_GROUP_MEAN_DESC_INIT;
    desc.n_steps = g.n_steps;
    desc.batch = g.batch;
    desc.n_groups = g.n_groups;
    desc.group_size = g.size;
    desc.source = source;
    desc.destination = destination;
    return desc;
  }
  static synfire_group_mean_backward_desc describe_backward(const Groups& g, synfire_buffer from, synfire_buffer to,
                                                            bool accumulate) {
    synfire_group_mean_backward_desc desc = SYNFIRE_GROUP_MEAN_BACKWARD_DESC_INIT;
    desc.accumulate = accumulate ? 1 : 0;
    desc.n_steps = g.n_steps;
    desc.batch = g.batch;
    desc.n_groups = g.n_groups;
    desc.group_size = g.size;
    desc.grad_destination = from;
    desc.grad_source = to;
    return desc;
  }
  void expect_means(const Groups& g, int32_t from, int32_t to, Placement placement, uint64_t seed) {
    if (!sample_.next()) return;
    SCOPED_TRACE(testing::Message() << "[" << g.n_steps << ", " << g.batch << ", " << g.n_groups << "] of " << g.size
                                    << ", from type " << from << " to " << to);
    Random random(seed);
    Array source(context, from, g.elements(), placement), destination(context, to, g.means(), {1, 1});
    const synfire_group_mean_desc desc = describe(g, source.buffer(), destination.buffer());
    const Graph graph = make_graph(context);
    ASSERT_OK(synfire_graph_record_group_mean(graph, &desc));
    ASSERT_OK(synfire_graph_instantiate(graph));
    for (const bool recorded : {false, true}) {
      const Values values = stored_as(from, random.values<double>(g.elements().sequence(), -4, 4));
      source.put(values);
      if (recorded)
        replay(graph);
      else
        ASSERT_OK(synfire_group_mean(context, &desc, nullptr));
      EXPECT_TRUE(same_bits(destination.get(), to == SYNFIRE_DTYPE_F64 ? expected_means<double>(g, to, values)
                                                                       : expected_means<float>(g, to, values)));
    }
  }
  void expect_spread(const Groups& g, int32_t from, int32_t to, bool accumulate, Placement placement, uint64_t seed) {
    if (!sample_.next()) return;
    SCOPED_TRACE(testing::Message() << "[" << g.n_steps << ", " << g.batch << ", " << g.n_groups << "] of " << g.size
                                    << ", from type " << from << " to " << to << ", accumulate " << accumulate);
    Random random(seed);
    Array gradient(context, from, g.means(), {1, 1}), source(context, to, g.elements(), placement);
    const synfire_group_mean_backward_desc desc = describe_backward(g, gradient.buffer(), source.buffer(), accumulate);
    const Graph graph = make_graph(context);
    ASSERT_OK(synfire_graph_record_group_mean_backward(graph, &desc));
    ASSERT_OK(synfire_graph_instantiate(graph));
    for (const bool recorded : {false, true}) {
      const Values values = stored_as(from, random.values<double>(g.means().sequence(), -4, 4)),
                   before = stored_as(to, random.values<double>(g.elements().sequence(), -4, 4));
      gradient.put(values);
      if (accumulate) source.put(before);
      if (recorded)
        replay(graph);
      else
        ASSERT_OK(synfire_group_mean_backward(context, &desc, nullptr));
      EXPECT_TRUE(same_bits(source.get(), to == SYNFIRE_DTYPE_F64
                                              ? expected_spread<double>(g, to, values, before, accumulate)
                                              : expected_spread<float>(g, to, values, before, accumulate)));
    }
  }

  const Context context = make_context(3);
  Random chosen_{1};
  Sample sample_;
};

TEST_F(GroupMeanTest, GroupsAreAddedInOrderAndDividedOnce) {
  for (const Groups& g : groups)
    for (const Placement placement : placements) {
      for (const int32_t from : numbers)
        for (const int32_t to : numbers) expect_means(g, from, to, placement, chosen_.next());
      expect_means(g, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F64, placement, chosen_.next());
    }
  expect_means({3, 50, 101, 10}, SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F32, {}, 1);  // enough for several threads
}

TEST_F(GroupMeanTest, GradientsAreSpread) {
  for (const bool accumulate : {false, true})
    for (const Groups& g : groups)
      for (const Placement placement : placements) {
        for (const int32_t from : numbers)
          for (const int32_t to : numbers) expect_spread(g, from, to, accumulate, placement, chosen_.next());
        expect_spread(g, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F64, accumulate, placement, chosen_.next());
      }
  expect_spread({3, 50, 101, 10}, SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F32, true, {}, 1);
}

TEST_F(GroupMeanTest, TheOrderAndExtremes) {
  const Groups g = {1, 1, 5, 3};
  Array source(context, SYNFIRE_DTYPE_F32, g.elements()), destination(context, SYNFIRE_DTYPE_F32, g.means());
  // 2^24 + 1 + 1 is 2^24 in ascending order; three times -0 is +0, because sums begin at +0.
  source.put({16777216, 1, 1, -0.0, -0.0, -0.0, infinity, 1, -1, infinity, -infinity, 0, 0, nan, 0});
  const synfire_group_mean_desc desc = describe(g, source.buffer(), destination.buffer());
  ASSERT_OK(synfire_group_mean(context, &desc, nullptr));
  EXPECT_TRUE(same_bits(destination.get(), {static_cast<double>(16777216.0f / 3.0f), 0, infinity, nan, nan}));
}

TEST_F(GroupMeanTest, AgainstCentralDifferences) {
  const Groups g = {2, 1, 3, 4};
  Random random(3);
  const Values values = random.values<double>(g.elements().sequence(), -1, 1),
               weights = random.values<double>(g.means().sequence(), -1, 1);
  const Buffer source = make_buffer_of(context, values),
               means = make_buffer(context, SYNFIRE_DTYPE_F64, weights.size()),
               upstream = make_buffer_of(context, weights),
               gradient = make_buffer(context, SYNFIRE_DTYPE_F64, values.size());
  const synfire_group_mean_desc desc = describe(g, source, means);
  const synfire_group_mean_backward_desc backward = describe_backward(g, upstream, gradient, false);
  ASSERT_OK(synfire_group_mean_backward(context, &backward, nullptr));
  const Values got = download<double>(gradient, values.size());
  for (size_t i = 0; i < values.size(); ++i) {
    const auto loss_at = [&](double value) {
      Values moved = values;
      moved[i] = value;
      upload(source, moved);
      EXPECT_OK(synfire_group_mean(context, &desc, nullptr));
      double sum = 0;
      const Values result = download<double>(means, weights.size());
      for (size_t k = 0; k < result.size(); ++k) sum += weights[k] * result[k];
      return sum;
    };
    EXPECT_NEAR(got[i], (loss_at(values[i] + 1e-3) - loss_at(values[i] - 1e-3)) / 2e-3, 1e-10);
  }
}

// ---- errors ---------------------------------------------------------------------------------------------------------

TEST_F(CombineTest, ErrorsNameWhatIsWrong) {
  const Case c = {SYNFIRE_COMBINE_SUM, {2, 2, 6}, {{}, {}}};
  Combined arrays(context, c);
  const Graph graph = make_graph(context);
  const auto expect_bad = [&](synfire_status status, std::initializer_list<std::string_view> words, auto change) {
    synfire_combine_desc desc = arrays.desc();
    change(desc);
    EXPECT_FAILS(status, words, synfire_combine(context, &desc, nullptr));
    EXPECT_FAILS(status, words, synfire_graph_record_combine(graph, &desc));
  };
  for (const int64_t bad : {int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    expect_bad(refused, WORDS("SYN-COMBINE-SHAPE", "n_steps"), [&](auto& desc) { desc.n_steps = bad; });
    expect_bad(refused, WORDS("SYN-COMBINE-SHAPE", "n_neurons"), [&](auto& desc) { desc.n_neurons = bad; });
    expect_bad(refused, WORDS("SYN-COMBINE-SHAPE", "batch"), [&](auto& desc) { desc.batch = bad; });
  }
  expect_bad(SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS("SYN-COMBINE-OVERFLOW"),
             [](auto& desc) { desc.n_steps = desc.batch = int64_t{1} << 40; });
  for (const int32_t kind : {-1, 4})
    expect_bad(refused, WORDS("SYN-COMBINE-KIND", "kind"), [&](auto& desc) { desc.kind = kind; });

  // Sources.
  std::vector<synfire_buffer> many(65, arrays.source(0).buffer());
  for (const uint64_t count : {0u, 17u, 65u})
    expect_bad(refused, WORDS("SYN-COMBINE-COUNT", "n_sources"), [&](auto& desc) {
      desc.sources = many.data();
      desc.n_sources = count;
      desc.n_bounds = 0;
    });
  for (const int32_t kind : {SYNFIRE_COMBINE_AND, SYNFIRE_COMBINE_IAND})
    expect_bad(refused, WORDS("SYN-COMBINE-COUNT", "3", "2"), [&](auto& desc) {
      desc.kind = kind;
      desc.sources = many.data();
      desc.n_sources = 3;
      desc.n_bounds = 0;
    });

  // Channels, which must fit N; both are named.
  const int64_t channels[] = {2, 3, 1}, zero[] = {6, 0},
                large[] = {std::numeric_limits<int64_t>::max(), std::numeric_limits<int64_t>::max()};
  const auto with_channels = [&](auto& desc, const int64_t* list, uint64_t count) {
    desc.kind = SYNFIRE_COMBINE_CONCATENATE;
    desc.channels = list;
    desc.n_channels = count;
  };
  expect_bad(refused, WORDS("SYN-COMBINE-CHANNELS", "desc.n_neurons", "6", "2 + 3"),
             [&](auto& desc) { with_channels(desc, channels, 2); });
  expect_bad(refused, WORDS("SYN-COMBINE-CHANNELS", "desc.n_channels", "3"),
             [&](auto& desc) { with_channels(desc, channels, 3); });
  expect_bad(refused, WORDS("SYN-COMBINE-CHANNELS", "desc.n_channels", "0"),
             [&](auto& desc) { with_channels(desc, nullptr, 0); });
  expect_bad(refused, WORDS("SYN-COMBINE-CHANNELS", "desc.channels[1]", "0"),
             [&](auto& desc) { with_channels(desc, zero, 2); });
  expect_bad(refused, WORDS("SYN-COMBINE-CHANNELS", "desc.n_neurons"),
             [&](auto& desc) { with_channels(desc, large, 2); });
  expect_bad(refused, WORDS("SYN-COMBINE-CHANNELS", "desc.n_channels", "16"),
             [&](auto& desc) { with_channels(desc, channels, 17); });
  expect_bad(refused, WORDS("SYN-COMBINE-CHANNELS", "desc.n_channels"), [&](auto& desc) {
    desc.channels = channels;
    desc.n_channels = 2;
  });
  expect_bad(refused, WORDS("desc.channels"), [&](auto& desc) { with_channels(desc, nullptr, 2); });

  // Bounds.
  const int32_t counts[] = {0, 3}, negative[] = {-1, 0}, above[] = {0, 256};
  const auto with_bounds = [&](auto& desc, const int32_t* list) { desc.bounds = list; };
  expect_bad(refused, WORDS("SYN-COMBINE-TYPE", "desc.bounds[1]", "desc.sources[1]", "f32", "u8"),
             [&](auto& desc) { with_bounds(desc, counts); });
  expect_bad(refused, WORDS("SYN-COMBINE-BOUND", "desc.bounds[0]", "-1"),
             [&](auto& desc) { with_bounds(desc, negative); });
  expect_bad(refused, WORDS("SYN-COMBINE-BOUND", "desc.bounds[1]", "256"),
             [&](auto& desc) { with_bounds(desc, above); });
  expect_bad(refused, WORDS("SYN-COMBINE-BOUND", "desc.n_bounds", "1", "2"), [&](auto& desc) { desc.n_bounds = 1; });
  expect_bad(refused, WORDS("SYN-COMBINE-BOUND", "desc.n_bounds"), [&](auto& desc) { desc.n_bounds = 17; });
  expect_bad(refused, WORDS("desc.bounds"), [&](auto& desc) { with_bounds(desc, nullptr); });

  // Types.
  const Buffer bytes = make_buffer(context, SYNFIRE_DTYPE_U8, 24), wide = make_buffer(context, SYNFIRE_DTYPE_F64, 24),
               words = make_buffer(context, SYNFIRE_DTYPE_U32, 24), bits = make_buffer(context, SYNFIRE_DTYPE_BITS, 24),
               small = make_buffer(context, SYNFIRE_DTYPE_F32, 23);
  const synfire_buffer second_of[] = {bytes, wide, words, small};
  synfire_buffer two[2] = {arrays.source(0).buffer(), nullptr};
  const auto with_second = [&](auto& desc, size_t which) {
    two[1] = second_of[which];
    desc.sources = two;
  };
  expect_bad(refused, WORDS("SYN-COMBINE-TYPE", "desc.sources[1]", "f64", "desc.destination", "f32"),
             [&](auto& desc) { with_second(desc, 1); });
  expect_bad(refused, WORDS("SYN-BUFFER-TYPE", "desc.sources[1]", "u32"), [&](auto& desc) { with_second(desc, 2); });
  expect_bad(refused, WORDS("SYN-BUFFER-SIZE", "desc.sources[1]", "23", "24"),
             [&](auto& desc) { with_second(desc, 3); });
  expect_bad(refused, WORDS("SYN-BUFFER-TYPE", "desc.destination", "u32"),
             [&](auto& desc) { desc.destination = words; });
  expect_bad(refused, WORDS("SYN-BUFFER-SIZE", "desc.destination"), [&](auto& desc) { desc.destination = small; });
  expect_bad(refused, WORDS("SYN-COMBINE-TYPE", "desc.destination", "bits"),
             [&](auto& desc) { desc.destination = bits; });
  for (const int32_t kind : {SYNFIRE_COMBINE_AND, SYNFIRE_COMBINE_IAND})
    expect_bad(refused, WORDS("SYN-COMBINE-TYPE", "desc.bounds[1]", "spikes"), [&](auto& desc) {
      with_second(desc, 0);
      desc.kind = kind;
      desc.bounds = counts;
    });
  const int64_t halves[] = {3, 3};
  expect_bad(refused, WORDS("SYN-COMBINE-TYPE", "desc.sources[1]", "counts", "desc.destination"), [&](auto& desc) {
    with_second(desc, 0);
    with_channels(desc, halves, 2);
    desc.bounds = counts;
    desc.destination = bits;
  });

  // Overlap.
  expect_bad(refused, WORDS("SYN-BUFFER-OVERLAP", "desc.destination", "desc.sources[1]"),
             [&](auto& desc) { desc.destination = arrays.source(1).buffer(); });
}

TEST_F(CombineTest, ErrorsOfGradients) {
  const Buffer g = make_buffer(context, SYNFIRE_DTYPE_F32, 24), to = make_buffer(context, SYNFIRE_DTYPE_F32, 24),
               spikes = make_buffer(context, SYNFIRE_DTYPE_U8, 24), wide = make_buffer(context, SYNFIRE_DTYPE_F64, 24);
  const Graph graph = make_graph(context);
  const int64_t channels[] = {2, 1}, wrong[] = {2, 3};
  const auto expect_bad = [&](std::initializer_list<std::string_view> words, auto change) {
    synfire_combine_backward_desc desc = SYNFIRE_COMBINE_BACKWARD_DESC_INIT;
    desc.n_steps = 2;
    desc.batch = 2;
    desc.n_neurons = 6;
    desc.grad_destination = g;
    desc.grad_source = to;
    change(desc);
    EXPECT_FAILS(refused, words, synfire_combine_backward(context, &desc, nullptr));
    EXPECT_FAILS(refused, words, synfire_graph_record_combine_backward(graph, &desc));
  };
  expect_bad(WORDS("SYN-COMBINE-SHAPE", "n_neurons"), [](auto& desc) { desc.n_neurons = 0; });
  expect_bad(WORDS("SYN-COMBINE-KIND", "kind"), [](auto& desc) { desc.kind = 4; });
  expect_bad(WORDS("SYN-COMBINE-FLAG", "accumulate"), [](auto& desc) { desc.accumulate = 2; });
  expect_bad(WORDS("SYN-COMBINE-SOURCE", "desc.source", "-1"), [](auto& desc) { desc.source = -1; });
  expect_bad(WORDS("SYN-COMBINE-SOURCE", "desc.source", "16", "15"), [](auto& desc) { desc.source = 16; });
  expect_bad(WORDS("SYN-COMBINE-SOURCE", "desc.source", "2", "1"), [&](auto& desc) {
    desc.kind = SYNFIRE_COMBINE_AND;
    desc.other = spikes;
    desc.source = 2;
  });
  expect_bad(WORDS("SYN-COMBINE-SOURCE", "desc.source", "2", "1"), [&](auto& desc) {
    desc.kind = SYNFIRE_COMBINE_CONCATENATE;
    desc.channels = channels;
    desc.n_channels = 2;
    desc.source = 2;
  });
  for (const uint64_t count : {0u, 1u})
    expect_bad(WORDS("SYN-COMBINE-CHANNELS", "desc.n_channels"), [&](auto& desc) {
      desc.kind = SYNFIRE_COMBINE_CONCATENATE;
      desc.channels = channels;
      desc.n_channels = count;
    });
  expect_bad(WORDS("SYN-COMBINE-CHANNELS", "desc.n_neurons", "2 + 3"), [&](auto& desc) {
    desc.kind = SYNFIRE_COMBINE_CONCATENATE;
    desc.channels = wrong;
    desc.n_channels = 2;
  });
  expect_bad(WORDS("SYN-COMBINE-OTHER", "desc.other"), [](auto& desc) { desc.kind = SYNFIRE_COMBINE_IAND; });
  expect_bad(WORDS("SYN-COMBINE-OTHER", "desc.other"), [&](auto& desc) { desc.other = spikes; });
  expect_bad(WORDS("SYN-COMBINE-TYPE", "f64", "f32"), [&](auto& desc) { desc.grad_destination = wide; });
  expect_bad(WORDS("SYN-BUFFER-TYPE", "desc.grad_source", "u8"), [&](auto& desc) { desc.grad_source = spikes; });
  expect_bad(WORDS("SYN-BUFFER-OVERLAP", "desc.grad_source"), [&](auto& desc) { desc.grad_source = g; });
}

TEST_F(GroupMeanTest, ErrorsNameWhatIsWrong) {
  const Groups g = {2, 2, 3, 4};
  const Buffer source = make_buffer(context, SYNFIRE_DTYPE_F32, 48),
               means = make_buffer(context, SYNFIRE_DTYPE_F32, 12), wide = make_buffer(context, SYNFIRE_DTYPE_F64, 48),
               bytes = make_buffer(context, SYNFIRE_DTYPE_U8, 48), small = make_buffer(context, SYNFIRE_DTYPE_F32, 11);
  const auto expect_bad = [&](synfire_status status, std::initializer_list<std::string_view> words, auto change) {
    synfire_group_mean_desc desc = describe(g, source, means);
    change(desc);
    const Graph graph = make_graph(context);
    EXPECT_FAILS(status, words, synfire_group_mean(context, &desc, nullptr));
    EXPECT_FAILS(status, words, synfire_graph_record_group_mean(graph, &desc));
  };
  expect_bad(refused, WORDS("SYN-GROUP-SHAPE", "n_steps"), [](auto& desc) { desc.n_steps = 0; });
  expect_bad(refused, WORDS("SYN-GROUP-SHAPE", "n_groups"), [](auto& desc) { desc.n_groups = 0; });
  expect_bad(refused, WORDS("SYN-GROUP-SHAPE", "group_size"), [](auto& desc) { desc.group_size = 0; });
  expect_bad(refused, WORDS("SYN-GROUP-SHAPE", "group_size"),
             [](auto& desc) { desc.group_size = (int64_t{1} << 24) + 1; });
  expect_bad(refused, WORDS("SYN-GROUP-SHAPE", "batch"), [](auto& desc) { desc.batch = -1; });
  expect_bad(SYNFIRE_ERROR_OUT_OF_MEMORY, WORDS("SYN-GROUP-OVERFLOW"),
             [](auto& desc) { desc.n_steps = desc.batch = int64_t{1} << 40; });
  expect_bad(refused, WORDS("SYN-GROUP-TYPE", "f64", "f32"), [&](auto& desc) { desc.source = wide; });
  expect_bad(refused, WORDS("SYN-BUFFER-TYPE", "desc.source", "u8"), [&](auto& desc) { desc.source = bytes; });
  expect_bad(refused, WORDS("SYN-BUFFER-SIZE", "desc.destination", "11", "12"),
             [&](auto& desc) { desc.destination = small; });
  expect_bad(refused, WORDS("SYN-BUFFER-OVERLAP", "desc.destination"), [&](auto& desc) { desc.destination = source; });
  synfire_group_mean_backward_desc backward = describe_backward(g, means, source, false);
  backward.accumulate = 2;
  EXPECT_FAILS(refused, WORDS("SYN-GROUP-FLAG", "accumulate"),
               synfire_group_mean_backward(context, &backward, nullptr));
  backward = describe_backward(g, wide, source, false);
  EXPECT_FAILS(refused, WORDS("SYN-GROUP-TYPE", "desc.grad_destination", "desc.grad_source"),
               synfire_group_mean_backward(context, &backward, nullptr));
  backward = describe_backward(g, source, source, true);
  EXPECT_FAILS(refused, WORDS("SYN-BUFFER-OVERLAP", "desc.grad_source"),
               synfire_group_mean_backward(context, &backward, nullptr));
}

}  // namespace
}  // namespace synfire_test
