// machine.cpp - creates a context and queries its properties.
//
// SPDX-License-Identifier: MIT
#include "machine.hpp"

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace synfire_bench {
namespace {

constexpr std::uint64_t gib = std::uint64_t{1} << 30;

std::string last_error_text() {
  std::string text(static_cast<std::size_t>(synfire_last_error(nullptr, 0, nullptr)), '\0');
  synfire_last_error(text.data(), text.size(), nullptr);
  text.resize(text.empty() ? 0 : text.size() - 1);
  return text;
}

const char* fallback_text(std::int32_t reason) {
  switch (reason) {
    case SYNFIRE_FALLBACK_NOT_BUILT:
      return "the library was built without CUDA";
    case SYNFIRE_FALLBACK_NO_DRIVER:
      return "no NVIDIA driver is available";
    case SYNFIRE_FALLBACK_DRIVER_TOO_OLD:
      return "the driver is too old for the CUDA runtime of the library";
    case SYNFIRE_FALLBACK_NO_DEVICE:
      return "the driver reports no GPU";
    case SYNFIRE_FALLBACK_DEVICE_FAILED:
      return "a GPU was found but could not be used";
    default:
      return "unknown reason";
  }
}

// The largest cache of the first processor, according to Linux; 64 MiB on other systems.
std::uint64_t last_level_cache_bytes() {
  std::uint64_t largest = 0;
  for (int index = 0; index < 8; ++index) {
    std::ifstream file("/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + "/size");
    std::uint64_t size = 0;
    char unit = 0;
    if (!(file >> size)) continue;
    file >> unit;
    largest = std::max(largest, size << (unit == 'K' ? 10 : unit == 'M' ? 20 : 0));
  }
  return largest != 0 ? largest : std::uint64_t{64} << 20;
}

}  // namespace

void check(synfire_status status, const char* call) {
  if (status >= 0) return;
  throw CallFailed(std::string(call) + " returned " + synfire_status_name(status) + ": " + last_error_text());
}

std::uint64_t available_host_memory() {
  std::ifstream file("/proc/meminfo");
  std::string key, unit;
  std::uint64_t kib = 0;
  while (file >> key >> kib) {
    if (key == "MemAvailable:") return kib << 10;
    std::getline(file, unit);
  }
  return 8 * gib;
}

Machine::Machine(std::int32_t backend, std::uint32_t threads, std::int32_t stream_priority) {
  synfire_context_desc desc = SYNFIRE_CONTEXT_DESC_INIT;
  desc.backend = backend;
  desc.n_threads = static_cast<std::int32_t>(threads);
  desc.stream_priority = stream_priority;
  synfire_context context = nullptr;
  const synfire_status status = synfire_context_create(&desc, &context);
  if (status < 0) throw NoBackend("no context: " + last_error_text());
  context_.reset(context);
  check(synfire_context_get_properties(context, &properties_), "synfire_context_get_properties");
  if (status == SYNFIRE_HOST_FALLBACK) {
    std::fprintf(stderr, "synfire-bench: running on the host: %s\n", fallback_text(properties_.fallback_reason));
  }
  if (is_host()) {
    cold_bytes_ = 3 * last_level_cache_bytes();
    memory_limit_ = std::min(24 * gib, available_host_memory() / 2);
  } else {
    // L2 is 60 MB on an H200 and 126 MB on compute capability 10.
    cold_bytes_ = properties_.compute_major < 10 ? 200'000'000 : 400'000'000;
    memory_limit_ = std::min(32 * gib, properties_.memory_bytes / 10 * 8);  // 24.5 GiB: T = 1024, N = 2^21
  }
}

void Machine::require_memory(double bytes) const {
  const auto available = 0.9 * static_cast<double>(is_host() ? available_host_memory() : properties_.memory_bytes);
  if (bytes <= available) return;
  char text[160];
  std::snprintf(text, sizeof text, "the arrays take %.1f GiB, but at most %.1f GiB of memory may be used",
                bytes / static_cast<double>(gib), available / static_cast<double>(gib));
  throw std::runtime_error(text);
}

std::string Machine::description() const {
  std::string text = std::string("synfire ") + synfire_version_string() + " on " + properties_.name;
  if (is_host()) return text + ", " + std::to_string(properties_.n_threads) + " threads";
  char more[160];
  std::snprintf(more, sizeof more, ", compute capability %d.%d, %d multiprocessors, driver %d, runtime %d",
                properties_.compute_major, properties_.compute_minor, properties_.n_multiprocessors,
                properties_.driver_version, properties_.runtime_version);
  return text + more;
}

Owned<synfire_layer> make_layer(const Machine& machine, const synfire_layer_desc& desc) {
  synfire_layer layer = nullptr;
  check(synfire_layer_create(machine.context(), &desc, &layer), "synfire_layer_create");
  return Owned<synfire_layer>(layer);
}

Owned<synfire_graph> make_graph(const Machine& machine) {
  synfire_graph graph = nullptr;
  check(synfire_graph_create(machine.context(), nullptr, &graph), "synfire_graph_create");
  return Owned<synfire_graph>(graph);
}

}  // namespace synfire_bench
