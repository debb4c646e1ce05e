// tutorial_command.cpp - `synfire-bench tutorial`: forward and backward of a large layer on each backend, with its
// time and its error relative to the host in f64.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>

#include "commands.hpp"
#include "inputs.hpp"
#include "measurement.hpp"

namespace synfire_bench {
namespace {

constexpr std::uint64_t tutorial_steps[] = {2, 4, 8, 16, 32};
constexpr double no_number = std::numeric_limits<double>::quiet_NaN();

constexpr Column columns[] = {
    {"library", nullptr},
    {"device", nullptr},
    {"dtype", "dtype"},
    {"steps", "T"},
    {"neurons", "N"},
    {"backend", "backend"},
    {"median_us", "median us", 1, 10},
    {"min_us", "min", 1, 10},
    {"max_us", "max", 1, 10},
    {"host_time_over_this", "host/this", 2},
    {"spike_percent", "spikes %", 1},
    {"spikes", nullptr},
    {"spikes_different", "spikes off"},
    {"largest_gradient", "max |grad|", 3},
    {"gradient_error", "grad error", -1},
    {"gradient_error_where_spikes_agree", "where spikes agree", -1},
};

// The results of a run from a reset state: spike words [T, words] and dL/dX [T, N].
struct Outcome {
  std::vector<std::uint32_t> spikes;
  std::vector<double> gradient;
};

struct Errors {
  std::uint64_t spikes = 0, different = 0;
  double largest_gradient = 0, gradient = 0, gradient_where_agreeing = 0;
};

Job make_job(const Dtype& dtype, std::uint64_t steps, std::uint64_t neurons) {
  return {{steps, 1, neurons}, &models.front(), &surrogates.front(), &dtype, &spike_formats[0], &tapes[0]};
}

// Runs the first window after a reset of the state, so that every backend and dtype starts from the same state.
void run_first_window(const Machine& machine, Workload& workload) {
  check(synfire_layer_reset_state(workload.layer(), nullptr), "synfire_layer_reset_state");
  check(synfire_context_synchronize(machine.context()), "synfire_context_synchronize");
  std::uint64_t ticket = 0;
  synfire_graph const graph = workload.rotation(Direction::both, Cache::hot).graphs.front();
  check(synfire_graph_launch(graph, nullptr, &ticket), "synfire_graph_launch");
  check(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_SPIN, -1), "synfire_graph_wait");
}

std::vector<std::uint32_t> download_spikes(const Job& job, const Workload& workload) {
  std::vector<std::uint32_t> words(spike_bytes(job) / sizeof(std::uint32_t));
  check(synfire_buffer_download(workload.arrays().spikes.get(), 0, words.data(), spike_bytes(job)),
        "synfire_buffer_download");
  return words;
}

// One step of dL/dX, as f64.
void download_gradient(const Job& job, const Workload& workload, std::uint64_t step, std::vector<char>& raw,
                       double* to) {
  raw.resize(job.shape.neurons * job.dtype->bytes);
  check(synfire_buffer_download(workload.arrays().grad_x.get(), step * raw.size(), raw.data(), raw.size()),
        "synfire_buffer_download");
  job.dtype->load(raw.data(), to, job.shape.neurons);
}

// Computed in f64, from the same inputs as a layer of `inputs_as`.
Outcome reference_outcome(const Machine& host, const Dtype& inputs_as, std::uint64_t steps, std::uint64_t neurons) {
  const Dtype& f64 = dtypes[1];
  const Job job = make_job(f64, steps, neurons);
  Arena arena(host, f64, inputs_as);
  Workload workload(host, arena, job, {Direction::both}, 1);
  run_first_window(host, workload);
  Outcome outcome;
  outcome.spikes = download_spikes(job, workload);
  outcome.gradient.resize(job.shape.elements());
  std::vector<char> raw;
  for (std::uint64_t t = 0; t < steps; ++t) download_gradient(job, workload, t, raw, &outcome.gradient[t * neurons]);
  return outcome;
}

Errors compare(const Job& job, const Workload& workload, const Outcome& reference) {
  const std::uint64_t neurons = job.shape.neurons, words = (neurons + 31) / 32;
  const std::vector<std::uint32_t> spikes = download_spikes(job, workload);
  Errors errors;
  std::vector<std::uint32_t> differs(words, 0);  // neurons with a spike that differs, at any step
  for (std::size_t i = 0; i < spikes.size(); ++i) {
    const std::uint32_t difference = spikes[i] ^ reference.spikes[i];
    differs[i % words] |= difference;
    errors.spikes += static_cast<std::uint64_t>(std::popcount(reference.spikes[i]));
    errors.different += static_cast<std::uint64_t>(std::popcount(difference));
  }
  std::vector<char> raw;
  std::vector<double> gradient(neurons);
  for (std::uint64_t t = 0; t < job.shape.steps; ++t) {
    download_gradient(job, workload, t, raw, gradient.data());
    for (std::uint64_t n = 0; n < neurons; ++n) {
      const double expected = reference.gradient[t * neurons + n];
      double error = std::fabs(gradient[n] - expected);
      if (std::isnan(error)) error = std::numeric_limits<double>::infinity();
      errors.largest_gradient = std::max(errors.largest_gradient, std::fabs(expected));
      errors.gradient = std::max(errors.gradient, error);
      if ((differs[n / 32] >> (n % 32) & 1U) == 0) {
        errors.gradient_where_agreeing = std::max(errors.gradient_where_agreeing, error);
      }
    }
  }
  return errors;
}

// The largest N, up to the requested one, whose arrays and reference fit into host memory.
std::uint64_t fitting_neurons(std::uint64_t neurons) {
  const std::uint64_t most_steps = tutorial_steps[std::size(tutorial_steps) - 1];
  const std::uint64_t bytes_per_element = 3 * 8 + 8 + 2;  // X, dL/dS, dL/dX in f64, the reference, spikes
  while (neurons > 1024 && neurons * most_steps * bytes_per_element > available_host_memory() / 4 * 3) neurons /= 2;
  return neurons;
}

}  // namespace

void run_tutorial(const Options& options) {
  const Machine first(options.backend->id, options.threads);
  // On a machine with a GPU the host is measured as well, unless a backend was requested.
  std::unique_ptr<Machine> other;
  if (!first.is_host()) other = std::make_unique<Machine>(SYNFIRE_BACKEND_HOST, options.threads);
  const Machine& host = other ? *other : first;
  std::vector<const Machine*> machines = {&host};
  if (other) machines.push_back(&first);

  const std::uint64_t neurons = fitting_neurons(options.shape.neurons);
  if (neurons != options.shape.neurons) {
    std::fprintf(stderr, "synfire-bench: N is %llu instead of %llu: host memory does not suffice for more\n",
                 static_cast<unsigned long long>(neurons), static_cast<unsigned long long>(options.shape.neurons));
  }
  if (options.format == Format::text) {
    for (const Machine* machine : machines) std::printf("%s\n", machine->description().c_str());
    std::printf(
        "lif, sigmoid, hard reset, tau 2; forward and backward in one graph, spikes as bits, tape recompute, hot "
        "cache\n"
        "errors: relative to the host in f64 with the same inputs; spikes off: how many spikes differ, out of all\n\n");
    std::fflush(stdout);
  }
  Writer writer(stdout, options.format, columns);
  for (const std::uint64_t steps : tutorial_steps) {
    Outcome reference;
    for (const Dtype& dtype : dtypes) {
      if (dtype.id == not_built) continue;
      // Inputs are generated in f32, and f64 layers get the same ones.
      if (dtype.id != SYNFIRE_DTYPE_F64) {
        reference = {};
        reference = reference_outcome(host, dtype, steps, neurons);
        host.reclaim();
      }
      double host_median = no_number;
      for (const Machine* machine : machines) {
        const Job job = make_job(dtype, steps, neurons);
        {
          Arena arena(*machine, dtype);
          Workload workload(*machine, arena, job, {Direction::both}, 1);
          run_first_window(*machine, workload);
          const Errors errors = compare(job, workload, reference);
          const Summary summary = measure_passes(workload.rotation(Direction::both, Cache::hot), options.rounds);
          if (machine == &host) host_median = summary.median;
          writer.row({synfire_version_string(), machine->properties().name, std::string(dtype.name), steps, neurons,
                      machine->is_host() ? "host" : "cuda", summary.median * 1e6, summary.min * 1e6, summary.max * 1e6,
                      host_median / summary.median,
                      static_cast<double>(errors.spikes) / static_cast<double>(job.shape.elements()) * 100,
                      errors.spikes, errors.different, errors.largest_gradient, errors.gradient,
                      errors.gradient_where_agreeing});
        }
        machine->reclaim();
      }
    }
  }
  writer.finish();
}

}  // namespace synfire_bench
