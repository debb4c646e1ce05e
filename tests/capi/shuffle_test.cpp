// Batches drawn by a shuffle, against the algorithm of synfire_shuffle_desc written out here; the statistics of that
// algorithm; and epochs of a data set that need nothing of the host but launches.
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <set>

#include "graph_support.hpp"
#include "storage_rig.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;

// ---- The reference --------------------------------------------------------------------------------------------------

using Words = std::array<uint32_t, 4>;

// Philox4x32-10. encode_test.cpp compares this text with the answers of its authors.
Words philox(Words x, uint64_t seed) {
  std::array<uint32_t, 2> key = {static_cast<uint32_t>(seed & 0xFFFFFFFFu), static_cast<uint32_t>(seed >> 32)};
  const auto high = [](uint64_t product) { return static_cast<uint32_t>(product >> 32); };
  const auto low = [](uint64_t product) { return static_cast<uint32_t>(product & 0xFFFFFFFFu); };
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53u} * x[0], p1 = uint64_t{0xCD9E8D57u} * x[2];
    x = {high(p1) ^ x[1] ^ key[0], low(p1), high(p0) ^ x[3] ^ key[1], low(p0)};
    key = {key[0] + 0x9E3779B9u, key[1] + 0xBB67AE85u};
  }
  return x;
}

// The order of the rows in one epoch.
class Order {
 public:
  Order(uint32_t n_rows, uint64_t seed, uint64_t epoch) : n_rows_(n_rows) {
    columns_ = 2;
    while (columns_ * columns_ < n_rows) columns_ += 2;
    lines_ = (n_rows + columns_ - 1) / columns_;
    for (uint32_t i = 0; i < 8; ++i) {
      const Words four = philox(
          {i, 0x66756873u, static_cast<uint32_t>(epoch & 0xFFFFFFFFu), static_cast<uint32_t>(epoch >> 32)}, seed);
      std::copy(four.begin(), four.end(), keys_.begin() + 4 * i);
    }
  }
  uint32_t row(uint32_t position) const {
    uint64_t row = permuted(position);
    while (row >= n_rows_) row = permuted(row);
    return static_cast<uint32_t>(row);
  }
  std::vector<uint32_t> rows() const {
    std::vector<uint32_t> rows(n_rows_);
    for (uint32_t p = 0; p < n_rows_; ++p) rows[p] = row(p);
    return rows;
  }

 private:
  static uint64_t amount(uint64_t from, uint32_t key, uint64_t limit) {
    auto x = static_cast<uint32_t>((from * 0x9E3779B9u + key) & 0xFFFFFFFFu);
    x = (x ^ (x >> 16)) * 0x7FEB352Du;
    x = (x ^ (x >> 15)) * 0x846CA68Bu;
    x = x ^ (x >> 16);
    return (x * limit) >> 32;
  }
  uint64_t permuted(uint64_t position) const {
    uint64_t line = position / columns_, column = position % columns_;
    for (size_t r = 0; r < 32; r += 2) {
      column = (column + amount(line, keys_[r], columns_)) % columns_;
      line = (line + amount(column, keys_[r + 1], lines_)) % lines_;
    }
    return line * columns_ + column;
  }

  uint64_t n_rows_, columns_, lines_;
  std::array<uint32_t, 32> keys_;
};

struct Draw {
  uint32_t n_rows = 1, batch = 1;
  uint64_t seed = 0, offset = 0;
  bool in_order = false, drop_last = false;

  uint64_t n_batches() const { return drop_last ? n_rows / batch : (uint64_t{n_rows} + batch - 1) / batch; }
  Draw at(uint64_t batch_number) const {
    Draw moved = *this;
    moved.offset = batch_number;
    return moved;
  }
};
std::ostream& operator<<(std::ostream& out, const Draw& draw) {
  return out << draw.batch << " of " << draw.n_rows << " rows, seed " << draw.seed << " offset " << draw.offset
             << (draw.in_order ? " in order" : "") << (draw.drop_last ? " full" : "");
}

struct Batch {
  std::vector<uint32_t> indices;
  uint32_t n_active;
  bool operator==(const Batch&) const = default;
};
std::ostream& operator<<(std::ostream& out, const Batch& batch) {
  out << batch.n_active << " active:";
  for (size_t i = 0; i < std::min<size_t>(batch.indices.size(), 8); ++i) out << " " << batch.indices[i];
  return out;
}

Batch predicted(const Draw& draw) {
  const uint64_t first = draw.offset % draw.n_batches() * draw.batch;
  const Order order(draw.n_rows, draw.seed, draw.offset / draw.n_batches());
  Batch batch = {std::vector<uint32_t>(draw.batch),
                 static_cast<uint32_t>(std::min<uint64_t>(draw.batch, draw.n_rows - first))};
  for (uint32_t i = 0; i < batch.n_active; ++i) {
    const auto position = static_cast<uint32_t>(first + i);
    batch.indices[i] = draw.in_order ? position : order.row(position);
  }
  return batch;
}

// ---- The calls ------------------------------------------------------------------------------------------------------

synfire_shuffle_desc describe(const Draw& draw, synfire_buffer indices, synfire_buffer n_active) {
  synfire_shuffle_desc desc = SYNFIRE_SHUFFLE_DESC_INIT;
  desc.in_order = draw.in_order ? 1 : 0;
  desc.n_rows = draw.n_rows;
  desc.batch = draw.batch == 1 ? 0 : draw.batch;
  desc.drop_last = draw.drop_last ? 1 : 0;
  desc.indices = indices;
  desc.n_active = n_active;
  desc.seed = draw.seed;
  desc.offset = draw.offset;
  return desc;
}

int32_t record(synfire_graph graph, const synfire_shuffle_desc& desc) {
  EXPECT_OK(synfire_graph_record_shuffle(graph, &desc));
  int32_t operation = -1;
  EXPECT_OK(synfire_graph_get_last_operation(graph, &operation));
  return operation;
}

// Buffers of a batch.
struct Chosen {
  Chosen(synfire_context context, uint32_t batch)
      : indices(context, SYNFIRE_DTYPE_U32, 1, batch), n_active(context, SYNFIRE_DTYPE_U32, 1, 1) {}
  Batch get() const { return {indices.words(), n_active.words()[0]}; }
  void poison() {
    indices.poison();
    n_active.poison();
  }
  Rows indices, n_active;
};

class Shuffle : public testing::Test {
 protected:
  Batch drawn(const Draw& draw) { return drawn(context, draw); }
  static Batch drawn(synfire_context context, const Draw& draw) {
    const Chosen chosen(context, draw.batch);
    const auto desc = describe(draw, chosen.indices, chosen.n_active);
    EXPECT_OK(synfire_shuffle(context, &desc, nullptr));
    return chosen.get();
  }

  const Context context = make_context();
};

// ---- Indices --------------------------------------------------------------------------------------------------------

TEST_F(Shuffle, EveryIndexIsThePredictedOne) {
  Random random(1);
  for (const uint32_t n_rows : {1u, 2u, 3u, 4u, 5u, 6u, 7u, 8u, 9u, 10u, 16u, 17u, 100u, 255u, 4096u, 4097u, 60000u})
    for (const uint32_t batch : {1u, 2u, 7u, 32u, 129u, 1000u})
      for (const bool in_order : {false, true})
        for (const bool drop_last : {false, true}) {
          if (drop_last && batch > n_rows) continue;
          Draw draw = {n_rows, batch, random.next(), 0, in_order, drop_last};
          for (const uint64_t offset : {uint64_t{0}, uint64_t{1}, draw.n_batches() - 1, draw.n_batches(),
                                        uint64_t{0xFFFFFFFF} * draw.n_batches() + 1, ~uint64_t{0}, random.next()}) {
            draw.offset = offset;
            ASSERT_EQ(drawn(draw), predicted(draw)) << draw;
          }
        }
}

TEST_F(Shuffle, TheLargestDataSets) {
  Random random(2);
  for (const uint32_t n_rows : {0xFFFFFFFFu, 0xFFFFFFFEu, 0x80000001u, 0x80000000u, 0x7FFFFFFFu, 4294836225u, 65536u})
    for (const uint32_t batch : {1u, 999u}) {
      Draw draw = {n_rows, batch, random.next()};
      for (const uint64_t offset : {uint64_t{0}, draw.n_batches() - 1, draw.n_batches(), random.next()})
        ASSERT_EQ(drawn(draw.at(offset)), predicted(draw.at(offset))) << draw.at(offset);
    }
}

TEST_F(Shuffle, ABatchLargerThanTheDataSet) {
  const Draw draw = {5, 40'000, 3};
  for (const uint64_t offset : {0u, 1u, 2u}) {
    const Batch batch = drawn(draw.at(offset));
    EXPECT_EQ(batch, predicted(draw.at(offset)));
    EXPECT_EQ(batch.n_active, 5u);
    EXPECT_EQ(std::set<uint32_t>(batch.indices.begin(), batch.indices.begin() + 5),
              (std::set<uint32_t>{0, 1, 2, 3, 4}));
    EXPECT_TRUE(std::all_of(batch.indices.begin() + 5, batch.indices.end(), [](uint32_t i) { return i == 0; }));
  }
}

TEST_F(Shuffle, EveryRowOnceInEveryEpoch) {
  for (const uint32_t n_rows : {1u, 2u, 3u, 9u, 10u, 31u, 1000u, 4999u})
    for (const uint32_t batch : {1u, 3u, 64u, 5000u}) {
      const Draw draw = {n_rows, batch, n_rows};
      if (draw.n_batches() > 100) continue;
      for (uint64_t epoch = 0; epoch < 3; ++epoch) {
        std::vector<uint32_t> seen;
        for (uint64_t j = 0; j < draw.n_batches(); ++j) {
          const Batch part = drawn(draw.at(epoch * draw.n_batches() + j));
          EXPECT_EQ(part.n_active, j + 1 < draw.n_batches() ? batch : n_rows - j * batch);
          seen.insert(seen.end(), part.indices.begin(), part.indices.begin() + part.n_active);
        }
        std::sort(seen.begin(), seen.end());
        std::vector<uint32_t> all(n_rows);
        for (uint32_t i = 0; i < n_rows; ++i) all[i] = i;
        EXPECT_EQ(seen, all) << draw << " epoch " << epoch;
      }
    }
}

TEST_F(Shuffle, AnyNumberOfThreadsGivesTheSame) {
  const Draw draw = {1'000'003, 100'001, 4, 25};
  const Batch expected = predicted(draw);
  for (const int32_t n_threads : {1, 2, 4}) {
    const Context threads = make_context(n_threads);
    EXPECT_EQ(drawn(threads, draw), expected) << n_threads << " threads";
  }
}

TEST_F(Shuffle, TheNumberOfRowsMayBeLeftOut) {
  const Draw draw = {10, 4, 5, 2};
  const Rows indices(context, SYNFIRE_DTYPE_U32, 1, 4);
  const auto desc = describe(draw, indices, nullptr);
  ASSERT_OK(synfire_shuffle(context, &desc, nullptr));
  EXPECT_EQ(indices.words(), predicted(draw).indices);
}

// ---- Statistics of the algorithm, which is what the library computes (above) ----------------------------------------

// Standard deviations by which a chi-square statistic of counts with equal expectations is off its mean.
template <typename Counts>
double chi_square(const Counts& counts, size_t n_cells, double degrees) {
  double total = 0, sum = 0;
  for (const double count : counts) total += count;
  const double mean = total / static_cast<double>(n_cells);
  for (const double count : counts) sum += (count - mean) * (count - mean) / mean;
  sum += static_cast<double>(n_cells - counts.size()) * mean;
  return (sum - degrees) / std::sqrt(2 * degrees);
}

TEST(ShuffleStatistics, AllOrdersOfFewRowsAreEquallyFrequent) {
  size_t n_orders = 1;
  for (uint32_t n_rows = 1; n_rows <= 7; ++n_rows) {
    n_orders *= n_rows;
    std::map<std::vector<uint32_t>, double> seen;
    for (uint64_t epoch = 0; epoch < 40 * n_orders; ++epoch) ++seen[Order(n_rows, 11, epoch).rows()];
    std::vector<double> counts;
    for (const auto& [order, count] : seen) counts.push_back(count);
    EXPECT_EQ(counts.size(), n_orders) << n_rows << " rows";
    if (n_rows < 2) continue;
    EXPECT_LT(std::fabs(chi_square(counts, n_orders, static_cast<double>(n_orders - 1))), 5) << n_rows << " rows";
  }
}

// Networks of exclusive ors on 2^k numbers give even permutations only.
TEST(ShuffleStatistics, OddOrdersAreAsFrequentAsEvenOnes) {
  for (const uint32_t n_rows : {2u, 8u, 9u, 16u, 25u, 64u}) {
    constexpr int n_epochs = 10'000;
    int odd = 0;
    for (uint64_t epoch = 0; epoch < n_epochs; ++epoch) {
      std::vector<uint32_t> rows = Order(n_rows, 5, epoch).rows();
      bool is_odd = false;
      for (uint32_t i = 0; i < n_rows; ++i)
        for (; rows[i] != i; is_odd = !is_odd) std::swap(rows[i], rows[rows[i]]);
      odd += is_odd ? 1 : 0;
    }
    EXPECT_NEAR(odd, n_epochs / 2.0, 5 * std::sqrt(n_epochs / 4.0)) << n_rows << " rows";
  }
}

TEST(ShuffleStatistics, EveryRowIsEquallyFrequentAtEveryPosition) {
  for (const uint32_t n_rows : {8u, 9u, 10u, 50u, 101u}) {
    std::vector<double> counts(size_t{n_rows} * n_rows);
    for (uint64_t epoch = 0; epoch < 20'000; ++epoch) {
      const std::vector<uint32_t> rows = Order(n_rows, 6, epoch).rows();
      for (uint32_t p = 0; p < n_rows; ++p) ++counts[size_t{p} * n_rows + rows[p]];
    }
    const double degrees = (n_rows - 1.0) * (n_rows - 1.0);
    EXPECT_LT(std::fabs(chi_square(counts, counts.size(), degrees)), 5) << n_rows << " rows";
  }
}

// The distance between the rows of positions p and p + step in one epoch, and of one position in two epochs or seeds.
TEST(ShuffleStatistics, NeighboursAreIndependent) {
  constexpr uint32_t n_rows = 1000;
  for (const uint32_t step : {1u, 2u, 32u, 33u}) {  // of 32 columns
    std::vector<double> distances(n_rows - 1);
    for (uint64_t epoch = 0; epoch < 200; ++epoch) {
      const std::vector<uint32_t> rows = Order(n_rows, 7, epoch).rows();
      for (uint32_t p = 0; p + step < n_rows; ++p) ++distances[(rows[p + step] + n_rows - rows[p]) % n_rows - 1];
    }
    EXPECT_LT(std::fabs(chi_square(distances, distances.size(), n_rows - 2)), 5) << "step " << step;
  }
  std::vector<double> epochs(n_rows), seeds(n_rows), far_seeds(n_rows);
  for (uint64_t i = 0; i < 200; ++i) {
    const std::vector<uint32_t> rows = Order(n_rows, 7, i).rows(), next = Order(n_rows, 7, i + 1).rows(),
                                other = Order(n_rows, 8, i).rows(),
                                far = Order(n_rows, 7 + (uint64_t{1} << 32), i).rows();
    for (uint32_t p = 0; p < n_rows; ++p) {
      ++epochs[(next[p] + n_rows - rows[p]) % n_rows];
      ++seeds[(other[p] + n_rows - rows[p]) % n_rows];
      ++far_seeds[(far[p] + n_rows - rows[p]) % n_rows];
    }
  }
  EXPECT_LT(std::fabs(chi_square(epochs, n_rows, n_rows - 1)), 5);
  EXPECT_LT(std::fabs(chi_square(seeds, n_rows, n_rows - 1)), 5);
  EXPECT_LT(std::fabs(chi_square(far_seeds, n_rows, n_rows - 1)), 5);
}

// The first batches of a large data set come from all of it, evenly.
TEST(ShuffleStatistics, LargeDataSetsAreSampledEvenly) {
  for (const uint32_t n_rows : {1'000'000u, 0xFFFFFFFFu}) {
    constexpr size_t n_cells = 1000;
    std::vector<double> cells(n_cells);
    for (uint64_t epoch = 0; epoch < 100; ++epoch) {
      const Order order(n_rows, 9, epoch);
      for (uint32_t p = 0; p < 1000; ++p) ++cells[order.row(p) * uint64_t{n_cells} / n_rows];
    }
    EXPECT_LT(std::fabs(chi_square(cells, n_cells, n_cells - 1)), 5) << n_rows << " rows";
  }
}

// ---- Replays --------------------------------------------------------------------------------------------------------

class ShuffleReplays : public Shuffle {
 protected:
  void expect_next(synfire_graph graph, const Draw& draw, const char* what) {
    chosen.poison();
    replay(graph);
    EXPECT_EQ(chosen.get(), predicted(draw)) << what;
  }

  const Draw start{10, 4, 0xFEDCBA9876543210u, 1};  // more bits than a double has
  Chosen chosen{context, 4};
};

TEST_F(ShuffleReplays, EpochAfterEpoch) {
  for (const char* const by_itself : {"", "0"}) {
    const Graph graph = make_graph(context);
    record(graph, describe(start, chosen.indices, chosen.n_active));
    ASSERT_TRUE(set_environment("SYNFIRE_GRAPH", by_itself));
    ASSERT_OK(synfire_graph_instantiate(graph));
    ASSERT_TRUE(set_environment("SYNFIRE_GRAPH", nullptr));
    for (uint64_t i = 0; i < 12; ++i) expect_next(graph, start.at(1 + i), by_itself);
  }
}

TEST_F(ShuffleReplays, SeedAndOffsetAreSetBetweenThem) {
  const Graph graph = make_graph(context);
  const int32_t operation = record(graph, describe(start, chosen.indices, chosen.n_active));
  EXPECT_OK(synfire_graph_set_value(graph, operation, "offset", 2));
  ASSERT_OK(synfire_graph_instantiate(graph));
  expect_next(graph, start.at(2), "set before the first");
  expect_next(graph, start.at(3), "counted on");
  EXPECT_OK(synfire_graph_set_value(graph, operation, "seed", 99));
  const Draw other = {10, 4, 99};
  expect_next(graph, other.at(4), "another seed goes on in the count");
  for (int i = 0; i < 2; ++i) {
    EXPECT_OK(synfire_graph_set_value(graph, operation, "offset", 1000));
    expect_next(graph, other.at(1000), "the same offset begins again");
    expect_next(graph, other.at(1001), "counted on from there");
  }
  EXPECT_OK(synfire_graph_set_value(graph, operation, "offset", 0x1p53));
  expect_next(graph, other.at(uint64_t{1} << 53), "the largest");
  for (const double bad : {-1.0, 0.5, 0x1p53 + 2})
    EXPECT_FAILS(refused, WORDS("SYN-SCALAR-RANGE", "offset"),
                 synfire_graph_set_value(graph, operation, "offset", bad));
  EXPECT_FAILS(refused, WORDS("SYN-GRAPH-VALUE", "seed", "offset"),
               synfire_graph_set_value(graph, operation, "epoch", 1));
  expect_next(graph, other.at((uint64_t{1} << 53) + 1), "what was refused changed nothing");
}

TEST_F(ShuffleReplays, ADisabledOneDoesNotMoveOn) {
  const Graph graph = make_graph(context);
  const int32_t operation = record(graph, describe(start, chosen.indices, chosen.n_active));
  ASSERT_OK(synfire_graph_instantiate(graph));
  expect_next(graph, start.at(1), "the first");
  EXPECT_OK(synfire_graph_set_enabled(graph, operation, 0));
  chosen.poison();
  const Batch poison = chosen.get();
  for (int i = 0; i < 3; ++i) replay(graph);
  EXPECT_EQ(chosen.get(), poison);
  EXPECT_OK(synfire_graph_set_enabled(graph, operation, 1));
  expect_next(graph, start.at(2), "where the first ended");
}

// Several blocks on a GPU, of which the last one to end advances the count.
TEST_F(ShuffleReplays, LargeBatches) {
  const Draw draw = {100'000, 30'011, 12};
  Chosen large(context, draw.batch);
  const Graph graph = make_graph(context);
  record(graph, describe(draw, large.indices, large.n_active));
  ASSERT_OK(synfire_graph_instantiate(graph));
  for (uint64_t i = 0; i < 6; ++i) {
    large.poison();
    replay(graph);
    ASSERT_EQ(large.get(), predicted(draw.at(i))) << "replay " << i;
  }
}

TEST_F(ShuffleReplays, SlotsHoldWhatTheirReplayDrew) {
  const Buffer frame = make_frame(context, 4, SYNFIRE_MEMORY_PINNED, SYNFIRE_DTYPE_U32);
  const Graph graph = make_slotted_graph(context, 3);
  record(graph, describe(start, frame, chosen.n_active));
  ASSERT_OK(synfire_graph_instantiate(graph));
  for (uint64_t round = 0; round < 3; ++round) {
    uint64_t tickets[3];
    for (uint64_t& ticket : tickets) ticket = launch(graph);
    for (uint64_t i = 0; i < 3; ++i) {
      wait(graph, tickets[i]);
      std::vector<uint32_t> got(4);
      std::memcpy(got.data(), slot_of(graph, tickets[i], frame), 16);
      EXPECT_EQ(got, predicted(start.at(1 + 3 * round + i)).indices);
    }
  }
}

TEST_F(ShuffleReplays, DotAndOtherBuffers) {
  Chosen other(context, 4);
  const Graph graph = make_graph(context);
  record(graph, describe(start, chosen.indices, chosen.n_active));
  char text[4096] = "";
  uint64_t bytes = sizeof text;
  ASSERT_OK(synfire_graph_write_dot(graph, text, &bytes));
  EXPECT_NE(std::string_view(text).find("shuffle"), std::string_view::npos) << text;
  EXPECT_NE(std::string_view(text).find("4 of 10 rows"), std::string_view::npos) << text;
  ASSERT_OK(synfire_graph_instantiate(graph));
  expect_next(graph, start.at(1), "the first");
  ASSERT_OK(synfire_graph_rebind(graph, chosen.indices, other.indices));
  ASSERT_OK(synfire_graph_rebind(graph, chosen.n_active, other.n_active));
  replay(graph);
  EXPECT_EQ(other.get(), predicted(start.at(2)));
  EXPECT_EQ(chosen.get(), predicted(start.at(1)));
}

// An epoch: the host launches and does nothing else. Each row arrives once, beside its label; the last batch has fewer.
TEST_F(ShuffleReplays, AnEpochNeedsOnlyLaunches) {
  constexpr uint32_t n_rows = 103, batch = 10, n_batches = 11;
  constexpr int64_t n_steps = 3, n_elements = 5;
  constexpr size_t row = n_steps * n_elements;
  for (const int32_t memory : {SYNFIRE_MEMORY_DEVICE, SYNFIRE_MEMORY_PINNED}) {
    const Buffer data = make_frame(context, n_rows * row, memory),
                 into = make_buffer(context, SYNFIRE_DTYPE_F32, batch * row),
                 labels = make_frame(context, n_rows, memory, SYNFIRE_DTYPE_U32),
                 their_labels = make_buffer(context, SYNFIRE_DTYPE_U32, batch);
    std::vector<float> values(n_rows * row);
    std::vector<uint32_t> numbers(n_rows);
    for (size_t r = 0; r < n_rows; ++r) {
      numbers[r] = static_cast<uint32_t>(r + 1);
      for (size_t k = 0; k < row; ++k) values[r * row + k] = static_cast<float>(100 * (r + 1) + k);
    }
    upload(data, values);
    upload(labels, numbers);
    const Buffer out = make_frame(context, batch * row),
                 out_labels = make_frame(context, batch, SYNFIRE_MEMORY_PINNED, SYNFIRE_DTYPE_U32),
                 out_active = make_frame(context, 1, SYNFIRE_MEMORY_PINNED, SYNFIRE_DTYPE_U32);
    const Chosen at(context, batch);
    const Graph graph = make_slotted_graph(context, n_batches);  // an epoch in flight
    record(graph, describe(Draw{n_rows, batch, 77}, at.indices, at.n_active));
    synfire_gather_rows_desc gather = SYNFIRE_GATHER_ROWS_DESC_INIT;
    gather.n_rows = n_rows;
    gather.n_steps = n_steps;
    gather.n_elements = n_elements;
    gather.batch = batch;
    gather.source = data;
    gather.indices = at.indices;
    gather.n_active = at.n_active;
    gather.destination = into;
    ASSERT_OK(synfire_graph_record_gather_rows(graph, &gather));
    gather.n_steps = gather.n_elements = 1;
    gather.source = labels;
    gather.destination = their_labels;
    ASSERT_OK(synfire_graph_record_gather_rows(graph, &gather));
    record_copy(graph, into, out);
    record_copy(graph, their_labels, out_labels);
    record_copy(graph, at.n_active, out_active);
    ASSERT_OK(synfire_graph_instantiate(graph));
    std::vector<uint32_t> orders[2];
    for (std::vector<uint32_t>& order : orders) {
      std::vector<uint64_t> tickets(n_batches);
      for (uint64_t& ticket : tickets) ticket = launch(graph);
      for (size_t j = 0; j < n_batches; ++j) {
        wait(graph, tickets[j]);
        const float* const got = slot_of(graph, tickets[j], out);
        std::vector<uint32_t> label(batch), active(1);
        std::memcpy(label.data(), slot_of(graph, tickets[j], out_labels), 4 * batch);
        std::memcpy(active.data(), slot_of(graph, tickets[j], out_active), 4);
        ASSERT_EQ(active[0], j + 1 < n_batches ? batch : 3);
        for (size_t b = 0; b < batch; ++b) {
          EXPECT_EQ(label[b] != 0, b < active[0]);
          if (label[b] != 0) order.push_back(label[b]);
          for (size_t k = 0; k < row; ++k) {
            const size_t t = k / n_elements, n = k % n_elements;
            ASSERT_EQ(got[(t * batch + b) * n_elements + n],
                      label[b] == 0 ? 0 : static_cast<float>(100 * label[b] + k));
          }
        }
      }
      std::vector<uint32_t> sorted = order;
      std::sort(sorted.begin(), sorted.end());
      EXPECT_EQ(sorted, numbers) << "every row once";
    }
    EXPECT_NE(orders[0], orders[1]);
  }
}

// ---- What is refused ------------------------------------------------------------------------------------------------

class ShuffleErrors : public ShuffleReplays {
 protected:
  template <typename Change>
  void expect_bad(synfire_status status, std::initializer_list<std::string_view> words, Change change) {
    auto desc = describe(start, chosen.indices, chosen.n_active);
    change(desc);
    EXPECT_FAILS(status, words, synfire_shuffle(context, &desc, nullptr));
    EXPECT_FAILS(status, words, synfire_graph_record_shuffle(graph, &desc));
  }
  void TearDown() override {
    EXPECT_EQ(chosen.get(), poison) << "a refused call wrote";
    record(graph, describe(start, chosen.indices, chosen.n_active));
    ASSERT_OK(synfire_graph_instantiate(graph));
    expect_next(graph, start, "the graph, after all");
  }

  const Batch poison = chosen.get();
  const Graph graph = make_graph(context);
};

TEST_F(ShuffleErrors, LengthsAndFlags) {
  for (const int64_t bad : {int64_t{-1}, std::numeric_limits<int64_t>::min(), int64_t{1} << 32}) {
    expect_bad(refused, {"SYN-SHUFFLE-SHAPE", "n_rows"}, [&](auto& desc) { desc.n_rows = bad; });
    expect_bad(refused, {"SYN-SHUFFLE-SHAPE", "batch"}, [&](auto& desc) { desc.batch = bad; });
  }
  expect_bad(refused, {"SYN-SHUFFLE-SHAPE", "n_rows"}, [](auto& desc) { desc.n_rows = 0; });
  expect_bad(refused, {"SYN-SHUFFLE-EMPTY", "drop_last"}, [](auto& desc) {
    desc.drop_last = 1;
    desc.n_rows = 3;
  });
  for (const int32_t bad : {-1, 2, std::numeric_limits<int32_t>::min()}) {
    expect_bad(refused, {"SYN-SHUFFLE-FLAG", "in_order"}, [&](auto& desc) { desc.in_order = bad; });
    expect_bad(refused, {"SYN-SHUFFLE-FLAG", "drop_last"}, [&](auto& desc) { desc.drop_last = bad; });
  }
  expect_bad(refused, {"SYN-RESERVED"}, [](auto& desc) { desc.reserved = 1; });
}

TEST_F(ShuffleErrors, Buffers) {
  for (const int32_t type : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_U64}) {
    const Buffer wrong = make_buffer(context, type, 4);
    expect_bad(refused, {"SYN-BUFFER-TYPE", "desc.indices"}, [&](auto& desc) { desc.indices = wrong; });
    expect_bad(refused, {"SYN-BUFFER-TYPE", "desc.n_active"}, [&](auto& desc) { desc.n_active = wrong; });
  }
  const Buffer small = make_buffer(context, SYNFIRE_DTYPE_U32, 3), large = make_buffer(context, SYNFIRE_DTYPE_U32, 10);
  expect_bad(refused, {"SYN-BUFFER-SIZE", "desc.indices"}, [&](auto& desc) { desc.indices = small; });
  const Buffer front = make_window(context, large, SYNFIRE_DTYPE_U32, 0, 4),
               inside = make_window(context, large, SYNFIRE_DTYPE_U32, 12, 1);
  expect_bad(refused, {"SYN-BUFFER-OVERLAP"}, [&](auto& desc) {
    desc.indices = front;
    desc.n_active = inside;
  });
}

TEST_F(ShuffleErrors, HandlesAndDescriptors) {
  const auto bad_handle = SYNFIRE_ERROR_INVALID_HANDLE;
  const Context elsewhere = make_context();
  const Buffer foreign = make_buffer(elsewhere, SYNFIRE_DTYPE_U32, 4);
  expect_bad(bad_handle, {"SYN-HANDLE-NULL", "desc.indices"}, [](auto& desc) { desc.indices = nullptr; });
  expect_bad(bad_handle, {"SYN-HANDLE-FOREIGN", "desc.indices"}, [&](auto& desc) { desc.indices = foreign; });
  expect_bad(bad_handle, {"SYN-HANDLE-FOREIGN", "desc.n_active"}, [&](auto& desc) { desc.n_active = foreign; });
  for (const uint32_t size : {0u, 63u})
    expect_bad(SYNFIRE_ERROR_STRUCT_SIZE, {"SYN-STRUCT-SMALL"}, [&](auto& desc) { desc.struct_size = size; });
  EXPECT_FAILS(refused, WORDS("desc"), synfire_shuffle(context, nullptr, nullptr));
  EXPECT_FAILS(refused, WORDS("desc"), synfire_graph_record_shuffle(graph, nullptr));
  if (on_host()) return;
  const Buffer pageable = make_frame(context, 4, SYNFIRE_MEMORY_HOST, SYNFIRE_DTYPE_U32);
  expect_bad(refused, {"SYN-BUFFER-KIND", "desc.indices"}, [&](auto& desc) { desc.indices = pageable; });
}

}  // namespace
}  // namespace synfire_test
