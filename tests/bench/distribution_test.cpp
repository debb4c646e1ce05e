// Percentiles and histograms of known numbers.
#include "distribution.hpp"
#include "histogram.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

namespace {

using synfire_bench::Distribution;

// 1 ... count, shuffled.
std::vector<double> up_to(std::size_t count) {
  std::vector<double> values(count);
  std::iota(values.begin(), values.end(), 1.0);
  std::shuffle(values.begin(), values.end(), std::mt19937(7));
  return values;
}

TEST(Distribution, PercentilesAreValuesThatOccurred) {
  for (const std::size_t count : {std::size_t{10000}, std::size_t{100000}, std::size_t{1000000}}) {
    const Distribution all(up_to(count));
    const auto n = static_cast<double>(count);
    EXPECT_EQ(all.count(), count);
    EXPECT_EQ(all.percentile(0.5), n / 2);
    EXPECT_EQ(all.percentile(0.99), n * 99 / 100);
    EXPECT_EQ(all.percentile(0.999), n * 999 / 1000);
    EXPECT_EQ(all.percentile(0.9999), n * 9999 / 10000);
    EXPECT_EQ(all.largest(), n);
    EXPECT_EQ(all.percentile(0), 1);
  }
}

TEST(Distribution, TooFewValuesGiveTheLargest) {
  const Distribution few(up_to(99));
  EXPECT_EQ(few.percentile(0.5), 50);
  EXPECT_EQ(few.percentile(0.99), 99);
  EXPECT_EQ(few.percentile(0.9999), 99);
  const Distribution one(std::vector<double>{3.25});
  EXPECT_EQ(one.percentile(0.5), 3.25);
  EXPECT_EQ(one.largest(), 3.25);
}

TEST(Distribution, OneSlowReplayInAHundredThousandIsTheMaximumOnly) {
  std::vector<double> values(100000, 5.0);
  values[31337] = 900;
  const Distribution all(std::move(values));
  EXPECT_EQ(all.percentile(0.9999), 5);
  EXPECT_EQ(all.largest(), 900);
}

TEST(Distribution, OfNothing) {
  const Distribution none;
  EXPECT_TRUE(std::isnan(none.percentile(0.5)));
  EXPECT_TRUE(none.bins(10).empty());
}

TEST(Distribution, BinsHoldEveryValueOnce) {
  const Distribution all(std::vector<double>{1, 1.5, 2, 99, 100, 1000});
  const std::vector<Distribution::Bin> bins = all.bins(1);
  ASSERT_EQ(bins.size(), 4u);
  const double shares[] = {3.0 / 6, 1.0 / 6, 1.0 / 6, 1.0 / 6};  // [1, 10), [10, 100), [100, 1000), [1000, 10000)
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_DOUBLE_EQ(bins[i].low, std::pow(10.0, static_cast<double>(i)));
    EXPECT_DOUBLE_EQ(bins[i].high, std::pow(10.0, static_cast<double>(i + 1)));
    EXPECT_DOUBLE_EQ(bins[i].share, shares[i]);
  }
  const Distribution far(std::vector<double>{0, 5});  // a clock that did not advance
  double sum = 0;
  for (const Distribution::Bin& bin : far.bins(20)) sum += bin.share;
  EXPECT_DOUBLE_EQ(sum, 1);
}

TEST(Histogram, DrawsInsideOfItsPanels) {
  const Distribution measured(up_to(5000)), none;
  const synfire_bench::HistogramPanel panels[] = {{"a < b", "first", &measured, &none},
                                                  {"second", "", &measured, &measured}};
  const std::string svg = synfire_bench::draw_histograms("title", "device & driver", panels);
  EXPECT_NE(svg.find("a &lt; b"), std::string::npos);
  EXPECT_NE(svg.find("device &amp; driver"), std::string::npos);
  const auto count = [&](const std::string& text) {
    std::size_t found = 0;
    for (std::size_t at = svg.find(text); at != std::string::npos; at = svg.find(text, at + 1)) ++found;
    return found;
  };
  EXPECT_EQ(count("class=\"measured\""), 2u);
  EXPECT_EQ(count("class=\"beside\""), 1u) << "nothing is drawn for an empty distribution";
  EXPECT_EQ(count("nan"), 0u);
  EXPECT_EQ(count("inf"), 0u);
}

}  // namespace
