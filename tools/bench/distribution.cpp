// distribution.cpp - percentiles by nearest rank, bins of equal width on a logarithmic scale.
//
// SPDX-License-Identifier: MIT
#include "distribution.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace synfire_bench {
namespace {

constexpr double least = 1e-3;  // smaller values, 0 included, have no useful logarithm

int bin_of(double value, int per_decade) {
  return static_cast<int>(std::floor(std::log10(std::max(value, least)) * per_decade + 1e-9));
}

}  // namespace

Distribution::Distribution(std::vector<double> values) : sorted_(std::move(values)) {
  std::sort(sorted_.begin(), sorted_.end());
}

double Distribution::percentile(double share) const {
  if (sorted_.empty()) return std::numeric_limits<double>::quiet_NaN();
  const auto count = static_cast<double>(sorted_.size());
  // The subtraction absorbs rounding: 0.9999 of 10,000 must be 9,999.
  const double rank = std::clamp(std::ceil(share * count - 1e-6), 1.0, count);
  return sorted_[static_cast<std::size_t>(rank) - 1];
}

std::vector<Distribution::Bin> Distribution::bins(int per_decade) const {
  std::vector<Bin> result;
  if (sorted_.empty()) return result;
  const int first = bin_of(sorted_.front(), per_decade), last = bin_of(sorted_.back(), per_decade);
  std::vector<std::uint64_t> counts(static_cast<std::size_t>(last - first) + 1);
  for (const double value : sorted_) ++counts[static_cast<std::size_t>(bin_of(value, per_decade) - first)];
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const double at = first + static_cast<int>(i);
    result.push_back({std::pow(10.0, at / per_decade), std::pow(10.0, (at + 1) / per_decade),
                      static_cast<double>(counts[i]) / static_cast<double>(sorted_.size())});
  }
  return result;
}

}  // namespace synfire_bench
