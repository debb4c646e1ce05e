// Reductions over the steps and over the batch, and their gradients, against references written out here: sums of
// numbers in their documented order, everything else from the definitions.
#include <cmath>
#include <functional>
#include <limits>

#include "graph_support.hpp"
#include "storage_rig.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;
constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();

const int32_t every_source[] = {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16,  SYNFIRE_DTYPE_BF16,
                                SYNFIRE_DTYPE_U32, SYNFIRE_DTYPE_U8,  SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS};
const int32_t every_reduction[] = {SYNFIRE_REDUCE_SUM, SYNFIRE_REDUCE_MEAN, SYNFIRE_REDUCE_MAX, SYNFIRE_REDUCE_LAST};
const Placement placements[] = {{0, 0}, {1, 0}, {0, 3}, {1, 5}, {3, 32}};

bool is_spikes(int32_t dtype) {
  return dtype == SYNFIRE_DTYPE_U8 || is_packed(dtype);
}
bool is_whole(int32_t dtype) {
  return dtype == SYNFIRE_DTYPE_U32 || is_spikes(dtype);
}

// ---- The reference --------------------------------------------------------------------------------------------------

struct Reduction {
  Shape shape;
  int32_t reduction = SYNFIRE_REDUCE_SUM, axis = SYNFIRE_AXIS_STEPS;
  std::optional<std::vector<uint32_t>> lengths = {};
  std::optional<uint32_t> n_active = {};

  bool steps() const { return axis == SYNFIRE_AXIS_STEPS; }
  size_t n_groups() const { return static_cast<size_t>(steps() ? shape.batch : shape.n_steps); }
  size_t n_neurons() const { return static_cast<size_t>(shape.n_neurons); }
  size_t n_results() const { return n_groups() * n_neurons(); }
  // The entries of a group that count, ascending.
  std::vector<size_t> counted(size_t group) const {
    std::vector<size_t> entries;
    for (size_t r = 0; r < static_cast<size_t>(steps() ? shape.n_steps : shape.batch); ++r) {
      const size_t t = steps() ? r : group, b = steps() ? group : r;
      if ((!lengths || t < (*lengths)[b]) && (!n_active || b < *n_active)) entries.push_back(r);
    }
    return entries;
  }
  size_t element(size_t group, size_t entry, size_t n) const {
    const size_t t = steps() ? entry : group, b = steps() ? group : entry;
    return (t * static_cast<size_t>(shape.batch) + b) * n_neurons() + n;
  }
};
std::ostream& operator<<(std::ostream& out, const Reduction& r) {
  return out << r.shape << " reduction " << r.reduction << " axis " << r.axis << " lengths " << r.lengths.has_value()
             << " active " << (r.n_active ? static_cast<int64_t>(*r.n_active) : -1);
}

// 128 running sums, joined by a tree.
double tree_sum(const std::vector<std::pair<size_t, double>>& values) {
  std::vector<double> lanes(128, 0.0);
  for (const auto& [index, value] : values) lanes[index % 128] += value;
  for (size_t half = 64; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}
double ordered_sum(const std::vector<std::pair<size_t, double>>& values, size_t n_entries) {
  if (n_entries <= 1024) return tree_sum(values);
  std::vector<std::pair<size_t, double>> sums;
  for (size_t chunk = 0; chunk * 1024 < n_entries; ++chunk) {
    std::vector<std::pair<size_t, double>> of_chunk;
    for (const auto& value : values)
      if (value.first / 1024 == chunk) of_chunk.push_back(value);
    sums.emplace_back(chunk, tree_sum(of_chunk));
  }
  return tree_sum(sums);
}

bool above(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && !std::isnan(b);
  return a > b || (a == b && !std::signbit(a) && std::signbit(b));
}
std::optional<size_t> winner(const Reduction& r, const std::vector<double>& source, size_t group, size_t n) {
  std::optional<size_t> best;
  for (const size_t entry : r.counted(group))
    if (!best || above(source[r.element(group, entry, n)], source[r.element(group, *best, n)])) best = entry;
  return best;
}

double reduced(const Reduction& r, const std::vector<double>& source, size_t group, size_t n) {
  const std::vector<size_t> entries = r.counted(group);
  if (entries.empty()) return 0;
  if (r.reduction == SYNFIRE_REDUCE_LAST) return source[r.element(group, entries.back(), n)];
  if (r.reduction == SYNFIRE_REDUCE_MAX) return source[r.element(group, *winner(r, source, group, n), n)];
  std::vector<std::pair<size_t, double>> values;
  values.reserve(entries.size());
  for (const size_t entry : entries) values.emplace_back(entry, source[r.element(group, entry, n)]);
  const double sum = ordered_sum(values, static_cast<size_t>(r.steps() ? r.shape.n_steps : r.shape.batch));
  return r.reduction == SYNFIRE_REDUCE_SUM ? sum : sum / static_cast<double>(entries.size());
}
std::vector<double> predicted(const Reduction& r, const std::vector<double>& source, int32_t dtype) {
  std::vector<double> results;
  for (size_t group = 0; group < r.n_groups(); ++group)
    for (size_t n = 0; n < r.n_neurons(); ++n) results.push_back(reduced(r, source, group, n));
  return stored_as(dtype, results);
}

// The gradient that each element of the source receives, or nothing.
using Received = std::vector<std::optional<double>>;
Received received(const Reduction& r, const std::vector<double>& source, const std::vector<double>& grad, bool wide) {
  Received to(r.shape.sequence());
  for (size_t group = 0; group < r.n_groups(); ++group)
    for (size_t n = 0; n < r.n_neurons(); ++n) {
      std::vector<size_t> entries = r.counted(group);
      double value = grad[group * r.n_neurons() + n];
      if (r.reduction == SYNFIRE_REDUCE_MEAN && !entries.empty()) {
        const auto count = static_cast<double>(entries.size());
        value = wide ? value / count : static_cast<double>(static_cast<float>(value) / static_cast<float>(count));
      }
      if (r.reduction == SYNFIRE_REDUCE_LAST && !entries.empty()) entries = {entries.back()};
      if (r.reduction == SYNFIRE_REDUCE_MAX && !entries.empty()) entries = {*winner(r, source, group, n)};
      for (const size_t entry : entries) to[r.element(group, entry, n)] = value;
    }
  return to;
}
std::vector<double> written(const Received& received, int32_t dtype) {
  std::vector<double> values;
  for (const auto& value : received) values.push_back(value.value_or(0));
  return stored_as(dtype, values);
}
std::vector<double> added(const Received& received, const std::vector<double>& held, int32_t dtype) {
  std::vector<double> values;
  for (size_t i = 0; i < held.size(); ++i) {
    const double to = received[i].value_or(0);
    const double sum = dtype == SYNFIRE_DTYPE_F64
                           ? held[i] + to
                           : static_cast<double>(static_cast<float>(held[i]) + static_cast<float>(to));
    values.push_back(received[i] ? sum : held[i]);
  }
  return stored_as(dtype, values);
}

// ---- The calls ------------------------------------------------------------------------------------------------------

class Reduce : public testing::Test {
 protected:
  // A sequence in any format.
  Rows sequence(int32_t dtype, const Shape& shape, const std::vector<double>& values, Placement placement = {}) {
    return sequence_in(context, dtype, shape, values, placement);
  }
  static Rows sequence_in(synfire_context context, int32_t dtype, const Shape& shape, const std::vector<double>& values,
                          Placement placement) {
    const auto n_steps = static_cast<size_t>(shape.n_steps), batch = static_cast<size_t>(shape.batch);
    if (dtype == SYNFIRE_DTYPE_BITS) {
      Rows rows(context, dtype, n_steps, batch * shape.words_per_row(), placement);
      std::vector<double> words;
      for (const uint32_t word : pack_bits(shape, values)) words.push_back(word);
      rows.put(words);
      return rows;
    }
    if (dtype == SYNFIRE_DTYPE_TIME_BITS) {
      Rows rows(context, dtype, (n_steps + 31) / 32, shape.row(), placement);
      std::vector<double> words((n_steps + 31) / 32 * shape.row(), 0);
      for (size_t i = 0; i < values.size(); ++i) {
        const size_t t = i / shape.row();
        if (values[i] != 0) words[t / 32 * shape.row() + i % shape.row()] += std::ldexp(1, static_cast<int>(t % 32));
      }
      rows.put(words);
      return rows;
    }
    Rows rows(context, dtype, n_steps, shape.row(), placement);
    rows.put(values);
    return rows;
  }
  Rows results(const Reduction& r, int32_t dtype, Placement placement = {}) {
    if (r.steps()) return Rows(context, dtype, 1, r.n_results(), {placement.lead, 0});
    return Rows(context, dtype, r.n_groups(), r.n_neurons(), placement);
  }
  Buffer whole(synfire_context where, const std::vector<uint32_t>& values) {
    Buffer buffer = make_buffer(where, SYNFIRE_DTYPE_U32, values.size());
    upload(buffer, values);
    return buffer;
  }

  // Buffers of what counts.
  struct Counting {
    Buffer lengths, n_active;
  };
  Counting counting(const Reduction& r, synfire_context where = nullptr) {
    if (!where) where = context;
    Counting made;
    if (r.lengths) made.lengths = whole(where, *r.lengths);
    if (r.n_active) made.n_active = whole(where, {*r.n_active});
    return made;
  }

  static synfire_reduce_desc describe(const Reduction& r, synfire_buffer source, synfire_buffer destination,
                                      const Counting& counting) {
    synfire_reduce_desc desc = SYNFIRE_REDUCE_DESC_INIT;
    desc.reduction = r.reduction;
    desc.axis = r.axis;
    desc.n_steps = r.shape.n_steps;
    desc.n_neurons = r.shape.n_neurons;
    desc.batch = r.shape.batch == 1 ? 0 : r.shape.batch;
    desc.source = source;
    desc.destination = destination;
    desc.lengths = counting.lengths;
    desc.n_active = counting.n_active;
    return desc;
  }
  static synfire_reduce_backward_desc describe_backward(const Reduction& r, synfire_buffer grad, synfire_buffer source,
                                                        synfire_buffer grad_source, const Counting& counting) {
    synfire_reduce_backward_desc desc = SYNFIRE_REDUCE_BACKWARD_DESC_INIT;
    desc.reduction = r.reduction;
    desc.axis = r.axis;
    desc.n_steps = r.shape.n_steps;
    desc.n_neurons = r.shape.n_neurons;
    desc.batch = r.shape.batch == 1 ? 0 : r.shape.batch;
    desc.grad_destination = grad;
    desc.source = source;
    desc.grad_source = grad_source;
    desc.lengths = counting.lengths;
    desc.n_active = counting.n_active;
    return desc;
  }

  const Context context = make_context();
};

// Numbers with zeros of both signs and ties; spikes of 0 and 1; counts of up to 32 bits.
std::vector<double> values_of(int32_t dtype, size_t count, uint64_t seed) {
  Random random(seed);
  std::vector<double> values(count);
  for (double& value : values) {
    if (is_spikes(dtype))
      value = random.whole(0, 3) == 0 ? 1 : 0;
    else if (dtype == SYNFIRE_DTYPE_U32)
      value = static_cast<double>(random.whole(0, 0xFFFFFFFF) >> random.whole(0, 31));
    else
      value = random.whole(0, 7) == 0 ? (random.whole(0, 1) == 0 ? -0.0 : 0.0) : random.uniform(-1, 0.5);
  }
  return stored_as(dtype, values);
}

// Every choice of what counts, in turn.
Reduction with_counting(Reduction r, uint64_t choice) {
  Random random(choice);
  if (choice % 2 == 1) {
    r.lengths.emplace();
    for (int64_t b = 0; b < r.shape.batch; ++b)
      r.lengths->push_back(static_cast<uint32_t>(random.whole(0, r.shape.n_steps + 2)));
    if (choice % 8 == 7) r.lengths->back() = 0xFFFFFFFF;
  }
  if (choice % 4 >= 2)
    r.n_active = choice % 16 == 2   ? 0
                 : choice % 16 == 6 ? 0xFFFFFFFF
                                    : static_cast<uint32_t>(random.whole(1, r.shape.batch));
  return r;
}

// ---- Results --------------------------------------------------------------------------------------------------------

TEST_F(Reduce, EveryReductionOfEveryFormatIsThePredictedOne) {
  uint64_t count = 0;
  for (const Shape& shape : {Shape{1, 1, 1}, Shape{16, 3, 20}, Shape{33, 2, 65}, Shape{100, 5, 31}, Shape{129, 1, 33},
                             Shape{5, 131, 7}, Shape{300, 2, 32}, Shape{1025, 1, 3}, Shape{2, 1100, 5}})
    for (const int32_t source_type : every_source)
      for (const int32_t reduction : every_reduction)
        for (const int32_t axis : {SYNFIRE_AXIS_STEPS, SYNFIRE_AXIS_BATCH}) {
          if (!sampled(count++)) continue;
          const Reduction r = with_counting({shape, reduction, axis}, count * 5 / 3);
          const Placement placement = placements[count % 5];
          const bool wide = source_type == SYNFIRE_DTYPE_F64 || (is_whole(source_type) && count % 3 == 0);
          const int32_t type = wide ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32;
          SCOPED_TRACE(testing::Message() << r << " from dtype " << source_type << " to " << type);
          const std::vector<double> values = values_of(source_type, shape.sequence(), count);
          const Rows source = sequence(source_type, shape, values, placement);
          Rows destination = results(r, type, placement);
          const Counting counts = counting(r);
          const auto desc = describe(r, source, destination, counts);
          ASSERT_OK(synfire_reduce(context, &desc, nullptr));
          const std::vector<double> expected = predicted(r, values, type);
          ASSERT_TRUE(same_bits(destination.get(), expected));
          const Graph graph = make_graph(context);
          ASSERT_OK(synfire_graph_record_reduce(graph, &desc));
          ASSERT_OK(synfire_graph_instantiate(graph));
          destination.poison();
          replay(graph);
          ASSERT_TRUE(same_bits(destination.get(), expected)) << "in a graph";
        }
}

TEST_F(Reduce, SeveralChunksOfEntries) {
  Sample cases;
  for (const Shape& shape : {Shape{1024, 1, 9}, Shape{1025, 2, 9}, Shape{5000, 2, 33}, Shape{3, 2500, 5}})
    for (const int32_t source_type : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_U32, SYNFIRE_DTYPE_TIME_BITS})
      for (const int32_t reduction : every_reduction)
        for (const uint64_t choice : {0u, 1u, 3u}) {
          if (!cases.next()) continue;
          const int32_t axis = shape.batch > 1000 ? SYNFIRE_AXIS_BATCH : SYNFIRE_AXIS_STEPS;
          const Reduction r = with_counting({shape, reduction, axis}, choice);
          SCOPED_TRACE(testing::Message() << r << " from dtype " << source_type);
          const int32_t type = source_type == SYNFIRE_DTYPE_F64 ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32;
          const std::vector<double> values = values_of(source_type, shape.sequence(), choice + 50);
          const Rows source = sequence(source_type, shape, values, {1, 2}), destination = results(r, type);
          const Counting counts = counting(r);
          const auto desc = describe(r, source, destination, counts);
          ASSERT_OK(synfire_reduce(context, &desc, nullptr));
          ASSERT_TRUE(same_bits(destination.get(), predicted(r, values, type)));
        }
}

TEST_F(Reduce, AnyNumberOfThreadsGivesTheSame) {
  Sample cases;
  for (const Shape& shape : {Shape{33, 3, 2661}, Shape{2, 1001, 133}})
    for (const int32_t source_type : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_BITS})
      for (const int32_t reduction : every_reduction)
        for (const int32_t axis : {SYNFIRE_AXIS_STEPS, SYNFIRE_AXIS_BATCH}) {
          if (!cases.next()) continue;
          const Reduction r = with_counting({shape, reduction, axis}, 3);
          const std::vector<double> values = values_of(source_type, shape.sequence(), 4);
          const std::vector<double> grad = values_of(SYNFIRE_DTYPE_F32, r.n_results(), 5);
          const std::vector<double> expected = predicted(r, values, SYNFIRE_DTYPE_F32),
                                    spread = written(received(r, values, grad, false), SYNFIRE_DTYPE_F32);
          for (const int32_t n_threads : {1, 2, 4}) {
            SCOPED_TRACE(testing::Message() << r << " on " << n_threads << " threads");
            const Context threads = make_context(n_threads);
            const Rows source = sequence_in(threads, source_type, shape, values, {});
            const Rows destination(threads, SYNFIRE_DTYPE_F32, 1, r.n_results());
            const Counting counts = counting(r, threads);
            const auto desc = describe(r, source, destination, counts);
            ASSERT_OK(synfire_reduce(threads, &desc, nullptr));
            EXPECT_TRUE(same_bits(destination.get(), expected));
            Rows grads(threads, SYNFIRE_DTYPE_F32, 1, r.n_results());
            grads.put(grad);
            const Rows to(threads, SYNFIRE_DTYPE_F32, 1, shape.sequence());
            const auto back = describe_backward(r, grads, source, to, counts);
            ASSERT_OK(synfire_reduce_backward(threads, &back, nullptr));
            EXPECT_TRUE(same_bits(to.get(), spread));
          }
        }
}

// Exact integers, rounded once: in f32 a running sum of these would end elsewhere.
TEST_F(Reduce, SumsOfWholeNumbersAreExact) {
  const Reduction r{{5, 1, 2}};
  const std::vector<double> values = {4294967295, 16777217, 4294967295, 0, 1, 0, 0, 2, 0, 0};
  const Rows source = sequence(SYNFIRE_DTYPE_U32, r.shape, values);
  const Rows single = results(r, SYNFIRE_DTYPE_F32), wide = results(r, SYNFIRE_DTYPE_F64);
  auto desc = describe(r, source, single, {});
  ASSERT_OK(synfire_reduce(context, &desc, nullptr));
  EXPECT_EQ(single.get(), (std::vector<double>{0x1p33, 16777220}));  // 16777219 is a tie
  desc.destination = wide;
  ASSERT_OK(synfire_reduce(context, &desc, nullptr));
  EXPECT_EQ(wide.get(), (std::vector<double>{8589934591, 16777219}));
}

// A dead end no longer: counts become numbers.
TEST_F(Reduce, CountsBecomeNumbers) {
  const Shape shape{40, 3, 21};
  const std::vector<double> values = values_of(SYNFIRE_DTYPE_BITS, shape.sequence(), 8);
  const Rows spikes = sequence(SYNFIRE_DTYPE_BITS, shape, values);
  const Buffer counted = make_buffer(context, SYNFIRE_DTYPE_U32, shape.row());
  synfire_count_spikes_desc count = SYNFIRE_COUNT_SPIKES_DESC_INIT;
  count.n_steps = shape.n_steps;
  count.n_neurons = shape.n_neurons;
  count.batch = shape.batch;
  count.spikes = spikes;
  count.counts = counted;
  ASSERT_OK(synfire_count_spikes(context, &count, nullptr));
  const Reduction once{{1, 3, 21}}, all{shape};
  const Rows numbers = results(once, SYNFIRE_DTYPE_F32), sums = results(all, SYNFIRE_DTYPE_F32);
  const auto of_counts = describe(once, counted, numbers, {}), of_spikes = describe(all, spikes, sums, {});
  ASSERT_OK(synfire_reduce(context, &of_counts, nullptr));
  ASSERT_OK(synfire_reduce(context, &of_spikes, nullptr));
  EXPECT_TRUE(same_bits(numbers.get(), sums.get()));
}

TEST_F(Reduce, MaximaOfSpecialNumbers) {
  const double rows[][3] = {{0.0, -0.0, 0.0},
                            {-0.0, 0.0, 0.0},
                            {-0.0, -0.0, -0.0},
                            {1, nan, 2},
                            {-infinity, -1, -2},
                            {infinity, 3, -1},
                            {infinity, nan, 1},
                            {-infinity, -infinity, nan},
                            {-infinity, -infinity, -infinity},
                            {1e-40, 0.0, -1e-40},
                            {nan, nan, nan}};
  const double largest[] = {0.0, 0.0, -0.0, nan, -1, infinity, nan, nan, -infinity, 1e-40, nan};
  const size_t winners[] = {0, 1, 0, 1, 1, 0, 1, 2, 0, 0, 0};
  for (const int32_t type : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_BF16})
    for (size_t i = 0; i < std::size(rows); ++i) {
      const Reduction r{{3, 1, 1}, SYNFIRE_REDUCE_MAX};
      const std::vector<double> values = stored_as(type, {rows[i][0], rows[i][1], rows[i][2]});
      const Rows source = sequence(type, r.shape, values);
      const int32_t wide = arithmetic_of(type);
      const Rows destination = results(r, wide);
      const auto desc = describe(r, source, destination, {});
      ASSERT_OK(synfire_reduce(context, &desc, nullptr));
      EXPECT_TRUE(same_bits(destination.get(), stored_as(type, {largest[i]}))) << "row " << i << " dtype " << type;
      Rows grad = results(r, wide);
      grad.put({2.5});
      const Rows to(context, wide, 3, 1);
      const auto back = describe_backward(r, grad, source, to, {});
      ASSERT_OK(synfire_reduce_backward(context, &back, nullptr));
      std::vector<double> expected(3, 0);
      expected[winners[i]] = 2.5;
      EXPECT_TRUE(same_bits(to.get(), expected)) << "row " << i << " dtype " << type;
    }
}

// NaNs and infinities reach the results of their own column only, and none where they do not count.
TEST_F(Reduce, WhatDoesNotCountDoesNotMatter) {
  Reduction r{{6, 2, 3}};
  r.lengths = {4, 0};
  for (const int32_t reduction : every_reduction) {
    r.reduction = reduction;
    std::vector<double> values = values_of(SYNFIRE_DTYPE_F32, r.shape.sequence(), 3);
    const std::vector<double> expected = predicted(r, values, SYNFIRE_DTYPE_F32);
    const double special[] = {nan, infinity};
    for (size_t i = 0; i < values.size(); ++i)
      if (i / 6 >= 4 || i % 6 >= 3) values[i] = special[i % 2];
    const Rows source = sequence(SYNFIRE_DTYPE_F32, r.shape, values), destination = results(r, SYNFIRE_DTYPE_F32);
    const Counting counts = counting(r);
    const auto desc = describe(r, source, destination, counts);
    ASSERT_OK(synfire_reduce(context, &desc, nullptr));
    EXPECT_TRUE(same_bits(destination.get(), expected));
    EXPECT_TRUE(all_are(slice(destination.get(), 3, 3), 0.0));
  }
}

// ---- Gradients ------------------------------------------------------------------------------------------------------

TEST_F(Reduce, EveryGradientIsThePredictedOne) {
  uint64_t count = 0;
  for (const Shape& shape :
       {Shape{1, 1, 1}, Shape{16, 3, 20}, Shape{33, 2, 65}, Shape{129, 5, 31}, Shape{5, 131, 7}, Shape{300, 2, 32}})
    for (const int32_t to_type : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16})
      for (const int32_t reduction : every_reduction)
        for (const int32_t axis : {SYNFIRE_AXIS_STEPS, SYNFIRE_AXIS_BATCH}) {
          if (!sampled(count++)) continue;
          const Reduction r = with_counting({shape, reduction, axis}, count * 5 / 3);
          const Placement placement = placements[count % 5];
          const bool wide = to_type == SYNFIRE_DTYPE_F64;
          const int32_t type = wide ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32;
          const int32_t of_numbers[] = {wide ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32,
                                        wide ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_BF16,
                                        wide ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F16};
          const int32_t whole_types[] = {SYNFIRE_DTYPE_U32, SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_BITS,
                                         SYNFIRE_DTYPE_TIME_BITS};
          const int32_t source_type = count / 8 % 2 == 0 ? of_numbers[count % 3] : whole_types[count / 16 % 4];
          SCOPED_TRACE(testing::Message() << r << " from dtype " << source_type << " to " << to_type);
          const std::vector<double> values = values_of(source_type, shape.sequence(), count),
                                    grad = stored_as(type, Random(count).values<double>(r.n_results(), -1, 1)),
                                    held = values_of(to_type, shape.sequence(), count + 1);
          const Rows source = sequence(source_type, shape, values, placement);
          Rows grads = results(r, type, placement);
          grads.put(grad);
          Rows to(context, to_type, static_cast<size_t>(shape.n_steps), shape.row(), placement);
          const Counting counts = counting(r);
          auto desc = describe_backward(r, grads, source, to, counts);
          if (reduction != SYNFIRE_REDUCE_MAX && count % 2 == 0) desc.source = nullptr;
          ASSERT_OK(synfire_reduce_backward(context, &desc, nullptr));
          const Received expected = received(r, values, grad, wide);
          ASSERT_TRUE(same_bits(to.get(), written(expected, to_type)));
          desc.accumulate = 1;
          const Graph graph = make_graph(context);
          ASSERT_OK(synfire_graph_record_reduce_backward(graph, &desc));
          ASSERT_OK(synfire_graph_instantiate(graph));
          to.put(held);
          replay(graph);
          ASSERT_TRUE(same_bits(to.get(), added(expected, held, to_type))) << "added, in a graph";
        }
}

// The gradient is the slope of the result, away from ties.
TEST_F(Reduce, GradientsAreCentralDifferences) {
  for (const int32_t reduction : every_reduction)
    for (const int32_t axis : {SYNFIRE_AXIS_STEPS, SYNFIRE_AXIS_BATCH}) {
      const Reduction r = with_counting({{5, 3, 4}, reduction, axis}, 3);
      SCOPED_TRACE(testing::Message() << r);
      std::vector<double> values = Random(6).values<double>(r.shape.sequence(), -1, 1);
      const std::vector<double> weights = Random(7).values<double>(r.n_results(), -1, 1);
      const Counting counts = counting(r);
      const Rows destination = results(r, SYNFIRE_DTYPE_F64);
      Rows grads = results(r, SYNFIRE_DTYPE_F64);
      grads.put(weights);
      const auto loss = [&] {
        const Rows source = sequence(SYNFIRE_DTYPE_F64, r.shape, values);
        const auto desc = describe(r, source, destination, counts);
        EXPECT_OK(synfire_reduce(context, &desc, nullptr));
        double sum = 0;
        const std::vector<double> got = destination.get();
        for (size_t i = 0; i < got.size(); ++i) sum += weights[i] * got[i];
        return sum;
      };
      const Rows source = sequence(SYNFIRE_DTYPE_F64, r.shape, values);
      const Rows to(context, SYNFIRE_DTYPE_F64, 5, r.shape.row());
      const auto back = describe_backward(r, grads, source, to, counts);
      ASSERT_OK(synfire_reduce_backward(context, &back, nullptr));
      const std::vector<double> gradient = to.get();
      for (size_t i = 0; i < values.size(); ++i) {
        constexpr double h = 1e-6;
        const double at = values[i];
        values[i] = at + h;
        const double up = loss();
        values[i] = at - h;
        const double down = loss();
        values[i] = at;
        EXPECT_NEAR(gradient[i], (up - down) / (2 * h), 1e-8) << "element " << i;
      }
    }
}

// ---- Graphs ---------------------------------------------------------------------------------------------------------

// The rows and steps that count are read in every replay; buffers can be rebound; a disabled operation writes nothing;
// the graph draws it.
TEST_F(Reduce, ReplaysReadWhatCounts) {
  Reduction r{{6, 3, 5}, SYNFIRE_REDUCE_MEAN};
  r.lengths = {1, 2, 3};
  r.n_active = 3;
  const std::vector<double> values = values_of(SYNFIRE_DTYPE_F32, r.shape.sequence(), 12);
  const Rows source = sequence(SYNFIRE_DTYPE_F32, r.shape, values);
  Rows destination = results(r, SYNFIRE_DTYPE_F32);
  const Rows other = results(r, SYNFIRE_DTYPE_F32);
  const Counting counts = counting(r);
  const auto desc = describe(r, source, destination, counts);
  const Graph graph = make_graph(context);
  ASSERT_OK(synfire_graph_record_reduce(graph, &desc));
  ASSERT_OK(synfire_graph_instantiate(graph));
  char dot[4096];
  uint64_t bytes = sizeof dot;
  ASSERT_OK(synfire_graph_write_dot(graph, dot, &bytes));
  EXPECT_NE(std::string(dot).find("mean over the steps of [6, 3, 5]"), std::string::npos) << dot;
  replay(graph);
  EXPECT_TRUE(same_bits(destination.get(), predicted(r, values, SYNFIRE_DTYPE_F32)));
  r.lengths = {6, 0, 5};
  r.n_active = 2;
  upload(counts.lengths, *r.lengths);
  upload(counts.n_active, std::vector<uint32_t>{2});
  replay(graph);
  EXPECT_TRUE(same_bits(destination.get(), predicted(r, values, SYNFIRE_DTYPE_F32)));
  EXPECT_OK(synfire_graph_set_enabled(graph, 0, 0));
  destination.poison();
  const std::vector<double> poison = destination.get();
  replay(graph);
  EXPECT_TRUE(same_bits(destination.get(), poison));
  EXPECT_OK(synfire_graph_set_enabled(graph, 0, 1));
  EXPECT_OK(synfire_graph_rebind(graph, destination, other));
  replay(graph);
  EXPECT_TRUE(same_bits(destination.get(), poison));
  EXPECT_TRUE(same_bits(other.get(), predicted(r, values, SYNFIRE_DTYPE_F32)));
}

TEST_F(Reduce, FramesOfSlots) {
  const Reduction r{{4, 1, 3}};
  const Buffer frame = make_frame(context, r.shape.sequence()), result = make_frame(context, 3);
  const Graph graph = make_slotted_graph(context, 2);
  const auto desc = describe(r, frame, result, {});
  ASSERT_OK(synfire_graph_record_reduce(graph, &desc));
  ASSERT_OK(synfire_graph_instantiate(graph));
  for (int i = 0; i < 4; ++i) {
    float* const in = slot_of(graph, 0, frame);
    for (size_t k = 0; k < r.shape.sequence(); ++k) in[k] = static_cast<float>(i) + static_cast<float>(k);
    const uint64_t ticket = launch(graph);
    wait(graph, ticket);
    const float* const out = slot_of(graph, ticket, result);
    for (int n = 0; n < 3; ++n) EXPECT_EQ(out[n], static_cast<float>(4 * i + 18 + 4 * n));
  }
}

// A readout within a graph: V of a layer, its mean over time, the gradient back into the layer.
TEST_F(Reduce, FeedsTheBackwardOfALayer) {
  const Shape shape{7, 2, 9};
  Rig<float> rig(context, synfire_test::describe(shape, SYNFIRE_DTYPE_F32));
  const Inputs<float> inputs = random_inputs<float>(shape, 3);
  rig.load(inputs);
  const Reduction r{shape, SYNFIRE_REDUCE_MEAN};
  const Buffer grad = make_buffer_of(context, Random(2).values<float>(shape.row(), -1, 1));
  BackwardChoice only_v;
  only_v.grad_spike_seq = false;
  const auto forward = rig.forward_desc();
  const auto backward = rig.backward_desc(only_v);
  const auto spread = describe_backward(r, grad, nullptr, rig.grad_v_seq, {});
  const Graph graph = make_graph(context);
  ASSERT_OK(synfire_graph_record_forward(graph, rig.layer, &forward));
  ASSERT_OK(synfire_graph_record_reduce_backward(graph, &spread));
  ASSERT_OK(synfire_graph_record_backward(graph, rig.layer, &backward));
  ASSERT_OK(synfire_graph_instantiate(graph));
  rig.poison();
  replay(graph);
  const auto replayed = rig.backward_outputs();
  ASSERT_OK(rig.run_forward());
  ASSERT_OK(synfire_reduce_backward(context, &spread, nullptr));
  EXPECT_TRUE(same_bits(rig.backward(only_v), replayed));
}

// ---- Refusals -------------------------------------------------------------------------------------------------------

class ReduceRefusals : public Reduce {
 protected:
  void refuses(const char* rule, const std::function<void(synfire_reduce_desc&)>& change,
               synfire_status status = refused) {
    auto desc = describe(r, source, destination, {});
    change(desc);
    EXPECT_FAILS(status, WORDS(rule), synfire_reduce(context, &desc, nullptr));
    EXPECT_FAILS(status, WORDS(rule), synfire_graph_record_reduce(graph, &desc));
    EXPECT_TRUE(all_are(destination.get(), nan));
  }
  void refuses_backward(const char* rule, const std::function<void(synfire_reduce_backward_desc&)>& change,
                        synfire_status status = refused) {
    auto desc = describe_backward(r, grad, nullptr, to, {});
    change(desc);
    EXPECT_FAILS(status, WORDS(rule), synfire_reduce_backward(context, &desc, nullptr));
    EXPECT_FAILS(status, WORDS(rule), synfire_graph_record_reduce_backward(graph, &desc));
    EXPECT_TRUE(all_are(to.get(), nan));
  }

  const Reduction r{{4, 2, 3}};
  const Rows source = sequence(SYNFIRE_DTYPE_F32, r.shape, std::vector<double>(24, 1));
  const Rows destination = results(r, SYNFIRE_DTYPE_F32), grad = results(r, SYNFIRE_DTYPE_F32),
             to = Rows(context, SYNFIRE_DTYPE_F32, 4, 6);
  const Buffer small = make_buffer(context, SYNFIRE_DTYPE_F32, 5), wide = make_buffer(context, SYNFIRE_DTYPE_F64, 24),
               longs = make_buffer(context, SYNFIRE_DTYPE_U64, 24), one = make_buffer(context, SYNFIRE_DTYPE_U32, 1),
               half = make_buffer(context, SYNFIRE_DTYPE_F16, 24);
  const Graph graph = make_graph(context);
};

TEST_F(ReduceRefusals, OfAReduction) {
  for (const int32_t bad : {-1, 4}) refuses("SYN-REDUCE-KIND", [&](auto& desc) { desc.reduction = bad; });
  for (const int32_t bad : {-1, 2}) refuses("SYN-REDUCE-AXIS", [&](auto& desc) { desc.axis = bad; });
  refuses("SYN-RESERVED", [](auto& desc) { desc.reserved = 1; });
  refuses("SYN-SPIKES-SHAPE", [](auto& desc) { desc.n_steps = 0; });
  refuses("SYN-SPIKES-SHAPE", [](auto& desc) { desc.n_neurons = -1; });
  refuses("SYN-SPIKES-SHAPE", [](auto& desc) { desc.batch = -1; });
  refuses(
      "SYN-SPIKES-OVERFLOW", [](auto& desc) { desc.n_steps = desc.batch = int64_t{1} << 40; },
      SYNFIRE_ERROR_OUT_OF_MEMORY);
  refuses(
      "SYN-HANDLE-NULL", [](auto& desc) { desc.source = nullptr; }, SYNFIRE_ERROR_INVALID_HANDLE);
  refuses(
      "SYN-HANDLE-NULL", [](auto& desc) { desc.destination = nullptr; }, SYNFIRE_ERROR_INVALID_HANDLE);
  refuses("SYN-BUFFER-TYPE", [&](auto& desc) { desc.source = longs; });
  refuses("SYN-BUFFER-TYPE", [&](auto& desc) { desc.destination = half; });
  refuses("SYN-BUFFER-TYPE", [&](auto& desc) { desc.lengths = small; });
  refuses("SYN-BUFFER-TYPE", [&](auto& desc) { desc.n_active = longs; });
  refuses("SYN-REDUCE-TYPE", [&](auto& desc) { desc.source = wide; });
  refuses("SYN-REDUCE-TYPE", [&](auto& desc) { desc.destination = wide; });
  refuses("SYN-BUFFER-SIZE", [&](auto& desc) { desc.source = small; });
  refuses("SYN-BUFFER-SIZE", [&](auto& desc) { desc.destination = small; });
  refuses("SYN-BUFFER-SIZE", [&](auto& desc) { desc.lengths = one; });
  refuses("SYN-BUFFER-OVERLAP", [&](auto& desc) { desc.destination = desc.source; });
}

TEST_F(ReduceRefusals, OfAGradient) {
  for (const int32_t bad : {-1, 4}) refuses_backward("SYN-REDUCE-KIND", [&](auto& desc) { desc.reduction = bad; });
  refuses_backward("SYN-REDUCE-AXIS", [&](auto& desc) { desc.axis = 2; });
  for (const int32_t bad : {-1, 2})
    refuses_backward("SYN-REDUCE-ACCUMULATE", [&](auto& desc) { desc.accumulate = bad; });
  refuses_backward("SYN-REDUCE-SOURCE", [](auto& desc) { desc.reduction = SYNFIRE_REDUCE_MAX; });
  refuses_backward("SYN-REDUCE-TYPE", [&](auto& desc) {
    desc.reduction = SYNFIRE_REDUCE_MAX;
    desc.source = wide;
  });
  refuses_backward("SYN-REDUCE-TYPE", [&](auto& desc) { desc.grad_destination = wide; });
  refuses_backward("SYN-REDUCE-TYPE", [&](auto& desc) { desc.grad_source = wide; });
  refuses_backward("SYN-BUFFER-TYPE", [&](auto& desc) { desc.grad_destination = half; });
  refuses_backward("SYN-BUFFER-TYPE", [&](auto& desc) { desc.grad_source = longs; });
  refuses_backward("SYN-BUFFER-SIZE", [&](auto& desc) { desc.grad_source = small; });
  refuses_backward(
      "SYN-HANDLE-NULL", [](auto& desc) { desc.grad_source = nullptr; }, SYNFIRE_ERROR_INVALID_HANDLE);
  refuses_backward("SYN-BUFFER-OVERLAP", [](auto& desc) { desc.grad_destination = desc.grad_source; });
}

}  // namespace
}  // namespace synfire_test
