// The statistics of a graph: the accuracy of percentiles for known times, and what counts of a replay.
#include <graph/graph_statistics.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <type_traits>
#include <vector>

namespace synfire::core {
namespace {

// Constant memory: nothing in it can grow.
static_assert(std::is_trivially_destructible_v<GraphStatistics>);

constexpr int64_t ms = 1'000'000;

// A launch that long ago, seen done now.
void take(GraphStatistics& statistics, uint64_t ticket, int64_t ns) {
  statistics.launched(ticket, now_ns() - ns);
  statistics.seen_done(ticket, ticket);
}

synfire_graph_statistics read(const GraphStatistics& statistics) {
  synfire_graph_statistics answer = SYNFIRE_GRAPH_STATISTICS_INIT;
  statistics.read(answer);
  return answer;
}

// At most 3.2 % too large; any other excess is the time that the test itself took to read the clock.
void expect_close(uint64_t answer, int64_t ns) {
  EXPECT_GE(answer, static_cast<uint64_t>(ns));
  EXPECT_LE(static_cast<double>(answer), static_cast<double>(ns) * 1.032 + static_cast<double>(20 * ms));
}

TEST(Statistics, EveryTimeHasABucketThatIsAtMostAThirtySecondWide) {
  int last = -1;
  for (uint64_t ns = 0; ns < 5000; ++ns) {
    const int bucket = GraphStatistics::bucket_of(ns);
    EXPECT_TRUE(bucket == last || bucket == last + 1) << ns;
    last = bucket;
  }
  for (int octave = 5; octave < 43; ++octave)
    for (const uint64_t ns : {(uint64_t{1} << octave) - 1, uint64_t{1} << octave, (uint64_t{1} << octave) + 1,
                              (uint64_t{3} << octave) / 2, (uint64_t{2} << octave) - 1}) {
      const int bucket = GraphStatistics::bucket_of(ns);
      ASSERT_LT(bucket, GraphStatistics::n_buckets) << ns;
      const uint64_t longest = GraphStatistics::longest_in(bucket);
      EXPECT_GE(longest, ns);
      EXPECT_LE(longest - ns, ns / 32) << ns;
      EXPECT_EQ(GraphStatistics::bucket_of(longest), bucket);
      EXPECT_EQ(GraphStatistics::bucket_of(longest + 1), bucket + 1);
    }
  // An hour has a bucket of its own; times beyond any clock are in the last one.
  EXPECT_LT(GraphStatistics::bucket_of(3'600'000'000'000), GraphStatistics::n_buckets - 1);
  EXPECT_EQ(GraphStatistics::bucket_of(~uint64_t{0}), GraphStatistics::n_buckets - 1);
}

TEST(Statistics, PercentilesOfTimesThatAreKnown) {
  GraphStatistics statistics{StampClock{}};
  std::vector<int64_t> times;
  for (int64_t i = 1; i <= 10000; ++i) times.push_back(i * ms);
  // In an arbitrary order.
  for (size_t i = 0; i < times.size(); ++i) std::swap(times[i], times[i * 7919 % times.size()]);
  uint64_t ticket = 0;
  for (const int64_t ns : times) take(statistics, ++ticket, ns);
  const synfire_graph_statistics answer = read(statistics);
  EXPECT_EQ(answer.n_replays, 10000u);
  EXPECT_EQ(answer.n_seen, 10000u);
  EXPECT_EQ(answer.n_late_waits, 0u);
  expect_close(answer.p50_ns, 5000 * ms);
  expect_close(answer.p99_ns, 9900 * ms);
  expect_close(answer.p999_ns, 9990 * ms);
  expect_close(answer.max_ns, 10000 * ms);
  EXPECT_LE(answer.p999_ns, answer.max_ns);
}

// A tail of one in a thousand appears in the 99.9th percentile as soon as there are more than a thousand values, and
// never in the median.
TEST(Statistics, ARareTailIsSeenWhereItBelongs) {
  GraphStatistics statistics{StampClock{}};
  uint64_t ticket = 0;
  for (int i = 0; i < 4000; ++i) take(statistics, ++ticket, i % 400 == 399 ? 5000 * ms : 100 * ms);  // ten of them
  const synfire_graph_statistics answer = read(statistics);
  expect_close(answer.p50_ns, 100 * ms);
  expect_close(answer.p99_ns, 100 * ms);
  expect_close(answer.p999_ns, 5000 * ms);
  expect_close(answer.max_ns, 5000 * ms);
}

TEST(Statistics, AResetForgetsWhatWasAndCountsWhatIsInFlight) {
  GraphStatistics statistics{StampClock{}};
  take(statistics, 1, 9000 * ms);
  statistics.late();
  statistics.launched(2, now_ns() - 200 * ms);
  statistics.reset();
  synfire_graph_statistics answer = read(statistics);
  EXPECT_EQ(answer.n_replays, 0u);
  EXPECT_EQ(answer.n_seen, 0u);
  EXPECT_EQ(answer.n_late_waits, 0u);
  EXPECT_EQ(answer.p50_ns, 0u);
  EXPECT_EQ(answer.max_ns, 0u);
  statistics.seen_done(2, 2);
  statistics.late();
  answer = read(statistics);
  EXPECT_EQ(answer.n_seen, 1u);
  EXPECT_EQ(answer.n_late_waits, 1u);
  expect_close(answer.p50_ns, 200 * ms);
  EXPECT_EQ(answer.p50_ns, answer.max_ns);
}

// The first wait for a ticket counts. Older tickets do not, nor do those whose launch time was overwritten.
TEST(Statistics, WhatOfAReplayCounts) {
  GraphStatistics statistics{StampClock{}};
  for (uint64_t ticket = 1; ticket <= 300; ++ticket) statistics.launched(ticket, now_ns());
  statistics.seen_done(20, 300);  // 256 launches later its time was overwritten
  EXPECT_EQ(read(statistics).n_seen, 0u);
  statistics.seen_done(100, 300);
  statistics.seen_done(100, 300);
  statistics.seen_done(99, 300);
  EXPECT_EQ(read(statistics).n_seen, 1u);
  statistics.seen_done(300, 300);
  EXPECT_EQ(read(statistics).n_seen, 2u);
  EXPECT_EQ(read(statistics).n_replays, 300u);
}

}  // namespace
}  // namespace synfire::core
