// context_command.cpp - `synfire-bench context`: the time and memory that a context and a small graph take.
//
// Measures time, device memory and host memory after each stage from start to end of a program. Device memory is read
// through NVML, which needs no context. It includes the memory of other programs.
//
// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <limits>
#include <optional>

#include "commands.hpp"
#include "machine.hpp"
#include "record.hpp"
#include "timing.hpp"

#if defined(__unix__)
#include <dlfcn.h>
#include <unistd.h>
#endif

namespace synfire_bench {
namespace {

constexpr double mib = 1048576.0;
constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

// Bytes in use on all GPUs together, according to NVML; nothing if NVML is not installed.
class DriverMemory {
 public:
  DriverMemory() {
#if defined(__unix__)
    library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    const auto init = function<int (*)()>("nvmlInit_v2");
    count_ = function<int (*)(unsigned*)>("nvmlDeviceGetCount_v2");
    handle_ = function<int (*)(unsigned, void**)>("nvmlDeviceGetHandleByIndex_v2");
    memory_ = function<int (*)(void*, Memory*)>("nvmlDeviceGetMemoryInfo");
    answers_ = init && count_ && handle_ && memory_ && init() == 0;
#endif
  }
  DriverMemory(const DriverMemory&) = delete;
  DriverMemory& operator=(const DriverMemory&) = delete;
  ~DriverMemory() {
#if defined(__unix__)
    if (answers_) function<int (*)()>("nvmlShutdown")();
    if (library_) dlclose(library_);
#endif
  }

  std::optional<double> bytes_in_use() const {
    unsigned n_devices = 0;
    if (!answers_ || count_(&n_devices) != 0 || n_devices == 0) return {};
    double sum = 0;
    for (unsigned i = 0; i < n_devices; ++i) {
      void* device = nullptr;
      Memory memory = {};
      if (handle_(i, &device) != 0 || memory_(device, &memory) != 0) return {};
      sum += static_cast<double>(memory.used);
    }
    return sum;
  }

 private:
  struct Memory {
    unsigned long long total, free, used;
  };
#if defined(__unix__)
  template <typename Function>
  Function function(const char* name) const {
    return library_ ? reinterpret_cast<Function>(dlsym(library_, name)) : nullptr;
  }
#endif
  void* library_ = nullptr;
  int (*count_)(unsigned*) = nullptr;
  int (*handle_)(unsigned, void**) = nullptr;
  int (*memory_)(void*, Memory*) = nullptr;
  bool answers_ = false;
};

// Resident memory of this process; NaN if the system does not report it.
double resident_bytes() {
#if defined(__unix__)
  std::ifstream file("/proc/self/statm");
  double all = 0, resident = 0;
  if (file >> all >> resident) return resident * static_cast<double>(sysconf(_SC_PAGESIZE));
#endif
  return unknown;
}

constexpr Column columns[] = {
    {"stage", "stage", 0, 30}, {"ms", "ms", 2, 9}, {"device_mib", "device MiB", 1, 10}, {"host_mib", "host MiB", 1, 9}};

// Each row has the duration of a stage and what the process has gained since the first stage.
class Stages {
 public:
  explicit Stages(Format format) : writer_(stdout, format, columns) {
    before_ = driver_.bytes_in_use();
    host_before_ = resident_bytes();
  }
  template <typename Work>
  void stage(const char* name, Work work) {
    const double start = now();
    work();
    const double seconds = now() - start;
    const std::optional<double> used = driver_.bytes_in_use();
    writer_.row({std::string(name), seconds * 1e3, before_ && used ? (*used - *before_) / mib : unknown,
                 (resident_bytes() - host_before_) / mib});
  }
  void finish() { writer_.finish(); }
  bool knows_device_memory() const { return before_.has_value(); }

 private:
  DriverMemory driver_;
  Writer writer_;
  std::optional<double> before_;
  double host_before_ = 0;
};

Owned<synfire_buffer> make_buffer(synfire_context context, std::int32_t memory, std::uint64_t n_elements) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = memory;
  desc.n_elements = n_elements;
  synfire_buffer buffer = nullptr;
  check(synfire_buffer_create(context, &desc, &buffer), "synfire_buffer_create");
  return Owned<synfire_buffer>(buffer);
}

}  // namespace

void run_context(const Options& options) {
  constexpr std::int64_t n_steps = 8, n_neurons = 1024;
  Stages stages(options.format);
  std::optional<Machine> machine;
  Owned<synfire_layer> layer;
  Owned<synfire_graph> graph;
  Owned<synfire_buffer> x, spikes, grad_spikes, grad_x;
  std::uint64_t ticket = 0;
  const auto replay = [&] {
    check(synfire_graph_launch(graph.get(), nullptr, &ticket), "synfire_graph_launch");
    check(synfire_graph_wait(graph.get(), ticket, SYNFIRE_WAIT_SPIN, -1), "synfire_graph_wait");
  };
  stages.stage("context", [&] { machine.emplace(options.backend->id, options.threads); });
  stages.stage("layer and buffers", [&] {
    synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
    desc.n_steps = n_steps;
    desc.n_neurons = n_neurons;
    layer = make_layer(*machine, desc);
    for (auto* const buffer : {&x, &spikes, &grad_spikes, &grad_x})
      *buffer = make_buffer(machine->context(), SYNFIRE_MEMORY_PINNED, n_steps * n_neurons);
  });
  stages.stage("graph, instantiated", [&] {
    graph = make_graph(*machine);
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.x = x.get();
    forward.spikes = spikes.get();
    synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
    backward.grad_spike_seq = grad_spikes.get();
    backward.grad_x_seq = grad_x.get();
    check(synfire_graph_record_forward(graph.get(), layer.get(), &forward), "synfire_graph_record_forward");
    check(synfire_graph_record_backward(graph.get(), layer.get(), &backward), "synfire_graph_record_backward");
    check(synfire_graph_instantiate(graph.get()), "synfire_graph_instantiate");
  });
  stages.stage("first replay", replay);
  stages.stage("second replay", replay);
  stages.stage("all destroyed but the context", [&] {
    graph.reset();
    layer.reset();
    for (auto* const buffer : {&x, &spikes, &grad_spikes, &grad_x}) buffer->reset();
    machine->reclaim();
  });
  const bool is_host = machine->is_host();
  const std::string description = machine->description();
  stages.stage("context destroyed", [&] {
    machine.reset();
    check(synfire_context_reclaim(nullptr, nullptr), "synfire_context_reclaim");
  });
  stages.finish();
  if (options.format != Format::text) return;
  std::printf(
      "\n%s\nms: duration of the stage; MiB: more than at the start (layer of %lld neurons, %lld steps, forward and "
      "backward)\n",
      description.c_str(), static_cast<long long>(n_neurons), static_cast<long long>(n_steps));
  if (!is_host && !stages.knows_device_memory())
    std::printf("device memory: unknown, because the driver's management library (NVML) is not available\n");
}

}  // namespace synfire_bench
