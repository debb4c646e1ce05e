// measurement.hpp - one measured point with its columns and its row, shared by `layer` and `sweep`.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_MEASUREMENT_HPP
#define SYNFIRE_TOOLS_BENCH_MEASUREMENT_HPP

#include <span>
#include <string>

#include "record.hpp"
#include "timing.hpp"
#include "workload.hpp"

namespace synfire_bench {

std::span<const Column> measurement_columns();

struct Measurement {
  Summary pass;
  Latency done;
  Traffic traffic;
  double spike_rate = 0;
};

/// "any" if one set of arrays is so large that hot and cold do not differ.
std::string cache_label(const Machine& machine, const Job& job, Direction direction, Cache cache);

Row measurement_row(const Machine& machine, const Copy& copy, const Job& job, std::string_view direction,
                    std::string_view cache, const Measurement& measurement);

}  // namespace synfire_bench

#endif
