// shape_report.hpp - the results of `synfire-bench shapes`: columns, verdicts and the picture.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_SHAPE_REPORT_HPP
#define SYNFIRE_TOOLS_BENCH_SHAPE_REPORT_HPP

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "record.hpp"
#include "shape_list.hpp"
#include "timing.hpp"
#include "workload.hpp"

namespace synfire_bench {

/// One direction of one shape with everything that it is compared with. Times are seconds; 0 means not measured.
struct ShapeResult {
  std::string part;  ///< list, random or kinds
  const PlacedShape* placed = nullptr;
  Job job{};
  Direction direction = Direction::forward;
  Traffic traffic, reference_traffic;
  Summary pass;
  double seconds = 0, reference_seconds = 0, smallest_reference_seconds = 0, one_step_less_seconds = 0,
         peer_seconds = 0;
  bool host = false, peer_counts = false;
  std::uint32_t attempts = 1;

  double scaled_seconds() const;
  double ratio() const { return seconds / scaled_seconds(); }
  double bytes_bound() const;
  double latency_bound() const;  ///< by the smallest reference, or by the reference where that takes less
  /// The larger of both, and whether that is the one by latency.
  double bound() const;
  bool is_bound_by_latency() const;
  double one_step_less_bound() const;
  double peer_bound() const;
  /// The bounds that are passed, by name and with a comma between two; empty if none is.
  std::string passed_bounds() const;
};

std::span<const Column> shape_columns();
Row shape_row(const Machine& machine, const Copy& copy, const ShapeResult& result);

/// The ratio to the reference against the reference's scaled time, with the bound by bytes as a line: one panel for
/// each direction; where there are peers, also how many times faster than they.
std::string draw_shapes(const std::string& title, const std::string& subtitle, std::span<const ShapeResult> results);

}  // namespace synfire_bench

#endif
