// timing.cpp - timed samples of replays, single replays, and the reference copy.
//
// SPDX-License-Identifier: MIT
#include "timing.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <thread>

#include "inputs.hpp"

namespace synfire_bench {
namespace {

constexpr double sample_seconds = 2e-3;    // the least duration of a sample, so that the wait at its end matters little
constexpr double warm_up_seconds = 20e-3;  // until clocks have risen and pages and kernels are loaded
constexpr double flushed_sample_seconds = 20e-3;  // with flushes in between, prefer a sample that is too short

void launch(synfire_graph graph, std::uint64_t* ticket) {
  check(synfire_graph_launch(graph, nullptr, ticket), "synfire_graph_launch");
}

void wait(synfire_graph graph, std::uint64_t ticket) {
  check(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_SPIN, -1), "synfire_graph_wait");
}

void replay(synfire_graph graph) {
  std::uint64_t ticket = 0;
  launch(graph, &ticket);
  wait(graph, ticket);
}

// Replays of one context run in order, so waiting for the last one is enough.
double time_rounds(const Rotation& rotation, std::uint64_t rounds) {
  std::uint64_t ticket = 0;
  double seconds = 0;
  for (std::uint64_t round = 0; round < rounds;) {
    if (rotation.flush != nullptr) replay(rotation.flush);
    const std::uint64_t together = rotation.flush != nullptr ? 1 : rounds;
    const double begin = now();
    for (std::uint64_t i = 0; i < together; ++i) launch(rotation.series, &ticket);
    wait(rotation.series, ticket);
    seconds += now() - begin;
    round += together;
  }
  return seconds;
}

// Warms up and finds how many rounds a sample needs.
std::uint64_t choose_rounds(const Rotation& rotation, double of_sample, double of_warm_up) {
  std::uint64_t rounds = 1;
  double spent = 0;
  for (int attempt = 0; attempt < 1000; ++attempt) {
    const double begin = now();
    const double timed = time_rounds(rotation, rounds);
    const double wall = now() - begin;
    spent += wall;
    const double current = static_cast<double>(rounds);
    double wanted = std::clamp(std::ceil(current * 1.2 * of_sample / timed), 1.0, current * 16);
    if (rotation.flush != nullptr) {
      wanted = std::min(wanted, std::max(1.0, std::floor(current * flushed_sample_seconds / wall)));
    }
    const bool settled = wanted <= current;
    if (!settled || rotation.flush != nullptr) rounds = static_cast<std::uint64_t>(wanted);
    if (settled && spent >= of_warm_up) break;
  }
  return rounds;
}

Summary summarize(std::vector<double> seconds, std::uint64_t passes) {
  std::sort(seconds.begin(), seconds.end());
  return {quantile(seconds, 0.5),
          seconds.front(),
          quantile(seconds, 0.1),
          quantile(seconds, 0.9),
          seconds.back(),
          static_cast<std::uint32_t>(seconds.size()),
          passes};
}

// memcpy by `threads` threads, each copying its part of the arrays.
void copy_by_threads(char* to, const char* from, std::uint64_t bytes, unsigned threads) {
  const std::uint64_t part = (bytes / threads + 4095) / 4096 * 4096;
  const auto copy_part = [&](unsigned index) {
    const std::uint64_t begin = std::min(bytes, index * part);
    std::memcpy(to + begin, from + begin, std::min(part, bytes - begin));
  };
  std::vector<std::thread> others;
  for (unsigned index = 1; index < threads; ++index) others.emplace_back(copy_part, index);
  copy_part(0);
  for (std::thread& other : others) other.join();
}

Owned<synfire_buffer> byte_buffer(const Machine& machine, std::uint64_t bytes) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.n_elements = bytes / sizeof(float);
  synfire_buffer buffer = nullptr;
  check(synfire_buffer_create(machine.context(), &desc, &buffer), "synfire_buffer_create");
  return Owned<synfire_buffer>(buffer);
}

}  // namespace

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

double quantile(const std::vector<double>& sorted, double fraction) {
  const double at = fraction * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return sorted[below] + (sorted[above] - sorted[below]) * (at - static_cast<double>(below));
}

Summary measure_passes(const Rotation& rotation, std::uint32_t samples) {
  std::uint64_t rounds = choose_rounds(rotation, sample_seconds, warm_up_seconds);
  for (int attempt = 0;; ++attempt) {
    const std::uint64_t passes = rounds * rotation.passes;
    std::vector<double> seconds(samples);
    for (double& value : seconds) value = time_rounds(rotation, rounds) / static_cast<double>(passes);
    const Summary summary = summarize(seconds, passes);
    // If the clock has risen since, try again with longer samples.
    const bool too_short = summary.min * static_cast<double>(passes) < sample_seconds;
    if (!too_short || rotation.flush != nullptr || attempt == 4) return summary;
    rounds += rounds / 2 + 1;
  }
}

std::vector<Summary> measure_in_turns(std::span<const Rotation> rotations, std::uint32_t samples,
                                      double sample_seconds) {
  std::vector<std::uint64_t> rounds;
  for (const Rotation& rotation : rotations) rounds.push_back(choose_rounds(rotation, sample_seconds, sample_seconds));
  std::vector<std::vector<double>> seconds(rotations.size());
  for (std::uint32_t sample = 0; sample < samples; ++sample) {
    for (std::size_t i = 0; i < rotations.size(); ++i)
      seconds[i].push_back(time_rounds(rotations[i], rounds[i]) / static_cast<double>(rounds[i] * rotations[i].passes));
  }
  std::vector<Summary> summaries;
  for (std::size_t i = 0; i < rotations.size(); ++i)
    summaries.push_back(summarize(std::move(seconds[i]), rounds[i] * rotations[i].passes));
  return summaries;
}

Latency measure_latency(const Rotation& rotation, double budget_seconds, std::uint32_t most_samples) {
  constexpr std::size_t warm_up = 3, fewest = 10;
  std::vector<double> seconds;
  const double begin = now();
  for (std::size_t i = 0; seconds.size() < most_samples; ++i) {
    if (seconds.size() >= fewest && now() - begin >= budget_seconds) break;
    if (rotation.flush != nullptr) replay(rotation.flush);
    const double launched = now();
    replay(rotation.graphs[i % rotation.graphs.size()]);
    const double done = now();
    if (i >= warm_up) seconds.push_back(done - launched);
  }
  std::sort(seconds.begin(), seconds.end());
  const auto rank = static_cast<std::size_t>(std::ceil(0.99 * static_cast<double>(seconds.size())));
  return {quantile(seconds, 0.5), seconds[rank - 1], static_cast<std::uint32_t>(seconds.size())};
}

Owned<synfire_graph> copy_graph(const Machine& machine, synfire_buffer source, synfire_buffer destination) {
  Owned<synfire_graph> graph = make_graph(machine);
  synfire_copy_desc desc = SYNFIRE_COPY_DESC_INIT;
  desc.source = source;
  desc.destination = destination;
  check(synfire_graph_record_copy(graph.get(), &desc), "synfire_graph_record_copy");
  check(synfire_graph_instantiate(graph.get()), "synfire_graph_instantiate");
  return graph;
}

Copy measure_copy(const Machine& machine, std::uint32_t mib, std::uint32_t samples) {
  std::uint64_t bytes = std::uint64_t{mib} << 20;
  if (bytes == 0)
    bytes = machine.is_host() ? std::max(std::uint64_t{256} << 20, 2 * machine.cold_bytes()) : std::uint64_t{1} << 30;
  Copy copy{0, bytes, "recorded copy"};
  {
    const Owned<synfire_buffer> source = byte_buffer(machine, bytes), destination = byte_buffer(machine, bytes);
    fill_random(machine, source.get(), dtypes[0], dtypes[0], bytes / sizeof(float), -1.0F, 1.0F, seed_of_copy);
    const Owned<synfire_graph> graph = copy_graph(machine, source.get(), destination.get());
    copy.bytes_per_second = 2.0 * static_cast<double>(bytes) / measure_passes({{}, graph.get()}, samples).median;
    // On the host, one thread executes a recorded copy. The reference is what all threads of the context achieve.
    const auto threads = static_cast<unsigned>(machine.properties().n_threads);
    if (machine.is_host() && threads > 1) {
      void *from = nullptr, *to = nullptr;
      check(synfire_buffer_get_data(source.get(), &from, nullptr), "synfire_buffer_get_data");
      check(synfire_buffer_get_data(destination.get(), &to, nullptr), "synfire_buffer_get_data");
      std::vector<double> seconds;
      for (std::uint32_t i = 0; i <= samples; ++i) {
        const double begin = now();
        copy_by_threads(static_cast<char*>(to), static_cast<const char*>(from), bytes, threads);
        if (i > 0) seconds.push_back(now() - begin);
      }
      const double rate = 2.0 * static_cast<double>(bytes) / summarize(seconds, 1).median;
      if (rate > copy.bytes_per_second) {
        copy.bytes_per_second = rate;
        copy.how = "memcpy by " + std::to_string(threads) + " threads";
      }
    }
  }
  machine.reclaim();
  return copy;
}

void print_copy(const Copy& copy) {
  std::printf("copy of %.0f MiB in the same run: %.1f GB/s (read + written; %s)\n",
              static_cast<double>(copy.bytes) / 1048576, copy.bytes_per_second * 1e-9, copy.how.c_str());
}

void print_copy_at_end(const Copy& copy, const Copy& at_end) {
  std::printf("\ncopy at the end: %.1f GB/s, %.1f %% of the one that percents refer to\n",
              at_end.bytes_per_second * 1e-9, at_end.bytes_per_second / copy.bytes_per_second * 100);
}

}  // namespace synfire_bench
