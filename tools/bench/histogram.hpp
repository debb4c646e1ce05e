// histogram.hpp - distributions as a picture: a panel for each, with two logarithmic scales.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_HISTOGRAM_HPP
#define SYNFIRE_TOOLS_BENCH_HISTOGRAM_HPP

#include <span>
#include <string>

#include "distribution.hpp"

namespace synfire_bench {

struct HistogramPanel {
  std::string title, subtitle;
  const Distribution* measured;
  const Distribution* beside;  ///< drawn as a line in the background; may be empty
};

/// Returns SVG. The values are microseconds.
std::string draw_histograms(const std::string& title, const std::string& subtitle,
                            std::span<const HistogramPanel> panels);

}  // namespace synfire_bench

#endif
