// distribution.hpp - a distribution of measured times: percentiles and histogram bins.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_DISTRIBUTION_HPP
#define SYNFIRE_TOOLS_BENCH_DISTRIBUTION_HPP

#include <cstdint>
#include <vector>

namespace synfire_bench {

class Distribution {
 public:
  Distribution() = default;  ///< empty: every value is NaN
  explicit Distribution(std::vector<double> values);

  std::uint64_t count() const { return sorted_.size(); }

  /// The smallest value that at least `share` of all values do not exceed (nearest rank), so always a value that
  /// occurred. With fewer than 1 / (1 - share) values it is the largest.
  double percentile(double share) const;
  double largest() const { return percentile(1); }

  /// Bins whose limits are powers of 10^(1/per_decade). Includes empty bins between the first and the last.
  struct Bin {
    double low, high, share;
  };
  std::vector<Bin> bins(int per_decade) const;

 private:
  std::vector<double> sorted_;
};

}  // namespace synfire_bench

#endif
