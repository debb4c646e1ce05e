// latency_report.hpp - the results of `synfire-bench latency`: table, files and picture.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_LATENCY_REPORT_HPP
#define SYNFIRE_TOOLS_BENCH_LATENCY_REPORT_HPP

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "change_costs.hpp"
#include "distribution.hpp"
#include "histogram.hpp"
#include "latency_groups.hpp"
#include "machine.hpp"
#include "options.hpp"
#include "record.hpp"

namespace synfire_bench {

/// The bare graphs that a row is compared with.
struct Bare {
  const Distribution* best = nullptr;
  std::string seen_by;
  double query_p50 = std::numeric_limits<double>::quiet_NaN(), counter_p50 = std::numeric_limits<double>::quiet_NaN();
  double launch_ns = std::numeric_limits<double>::quiet_NaN();  ///< of the graph with the counter
};

class LatencyReport {
 public:
  explicit LatencyReport(const Options& options);

  void add(const Machine& machine, const Group& group, std::optional<int> node_priority, const Policy& policy,
           Distribution measured, double launch_ns, const Bare& bare, const Costs& costs);
  std::uint64_t rows() const { return rows_; }
  /// Ends the table and writes the picture.
  void finish();
  /// Prints medians for the chain of the first row, since the cost of changes hardly depends on the shape. The files
  /// have those of every row.
  void print_costs() const;

 private:
  // One measured row, kept for the picture.
  struct Result {
    HistogramPanel panel;
    std::unique_ptr<Distribution> measured, beside;
  };

  const Options& options_;
  Writer writer_;
  std::vector<Result> results_;
  std::string device_;
  Costs first_costs_;
  double first_launch_ns_ = std::numeric_limits<double>::quiet_NaN();
  std::uint64_t rows_ = 0;
};

}  // namespace synfire_bench

#endif
