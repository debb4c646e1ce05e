// timing.hpp - measures how long replays take: samples, medians, launch-to-done times, and the copy that everything is
// compared with.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_TIMING_HPP
#define SYNFIRE_TOOLS_BENCH_TIMING_HPP

#include <synfire/synfire.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "machine.hpp"

namespace synfire_bench {

/// The same work in two forms: `graphs` of one pass each, replayed one after the other and repeatedly, and `series`,
/// one graph of `passes` passes. If they do not fill the caches, `flush` is replayed between two rounds and is not
/// timed.
struct Rotation {
  std::vector<synfire_graph> graphs;
  synfire_graph series = nullptr;
  std::uint64_t passes = 1;
  synfire_graph flush = nullptr;
};

/// Seconds of one pass.
struct Summary {
  double median = 0, min = 0, p10 = 0, p90 = 0, max = 0;
  std::uint32_t samples = 0;
  std::uint64_t passes = 0;  ///< per sample
};

/// A sample is back-to-back replays of the series and one wait, at least 2 ms. The result is its time divided by its
/// number of passes: the time that a pass adds to a longer replay, without the launch and the signal that occur once
/// per replay.
Summary measure_passes(const Rotation& rotation, std::uint32_t samples);

/// The same of several rotations without a flush, in turns: one sample of each, `samples` times, so that clocks and
/// other programs are the same for all. A sample takes at least `sample_seconds`.
std::vector<Summary> measure_in_turns(std::span<const Rotation> rotations, std::uint32_t samples,
                                      double sample_seconds);

/// Seconds from a launch until its wait returns, one replay at a time.
struct Latency {
  double p50 = 0, p99 = 0;
  std::uint32_t samples = 0;
};

Latency measure_latency(const Rotation& rotation, double budget_seconds, std::uint32_t most_samples);

/// Seconds since an arbitrary fixed moment.
double now();

/// The value at `fraction` of sorted values, interpolated linearly.
double quantile(const std::vector<double>& sorted, double fraction);

struct Copy {
  double bytes_per_second = 0;  ///< read + written
  std::uint64_t bytes = 0;      ///< of the copied array
  std::string how;
};

/// `mib` 0 means 1 GiB on CUDA and well beyond the caches on the host.
Copy measure_copy(const Machine& machine, std::uint32_t mib, std::uint32_t samples);

/// One line each: what the percents refer to, and whether it has changed at the end of a long run.
void print_copy(const Copy& copy);
void print_copy_at_end(const Copy& copy, const Copy& at_end);

/// A graph with one copy of the whole of `source`.
Owned<synfire_graph> copy_graph(const Machine& machine, synfire_buffer source, synfire_buffer destination);

}  // namespace synfire_bench

#endif
