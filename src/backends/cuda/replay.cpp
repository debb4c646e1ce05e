// An instantiated graph on CUDA: replays, and changes between them. Several slots have one executable graph each, over
// shared device memory. The capture is in capture.cpp.
#include "capture.hpp"
#include "device_state.hpp"
#include "ranges.hpp"
#include "staging.hpp"

#include <base/error.hpp>
#include <base/wait_until.hpp>

#include <algorithm>

namespace synfire::cuda {

using namespace synfire::core;

namespace {

struct Instance {
  cudaGraphExec_t executable = nullptr;
  OperationList operations;  // the list to run, copies included
  CapturedGraph captured;
};

struct Build {
  const Instance* current = nullptr;  // what launches replay, by slot: instances, or joined
  bool eager = false;
  std::vector<Instance> instances;
  // The instances with some entries joined (core::Join), and the place of every entry in their lists; empty if none
  // gains. They run as long as all joined entries are active.
  std::vector<Instance> joined;
  std::vector<size_t> joined_at;  // joined_entry: its operation is part of another one
  std::vector<void*> joined_memory;
  ReplayObserver* observer = nullptr;
  std::vector<std::vector<uint32_t>> serves;  // of each entry, the recorded operations that it serves
  std::vector<uint8_t> enabled;               // recorded operations
  std::vector<uint8_t> active;                // entries
  ReplayedNumbers numbers;                    // for ranges; of any slot's list, and of the recorded one
  void* arena = nullptr;

  static constexpr size_t joined_entry = SIZE_MAX;

  void choose() {
    bool takes_joined = !joined.empty();
    for (size_t entry = 0; entry < joined_at.size(); ++entry)
      if (joined_at[entry] == joined_entry && !active[entry]) takes_joined = false;
    current = (takes_joined ? joined : instances).data();
  }

  bool wanted(size_t entry) const {
    return std::any_of(serves[entry].begin(), serves[entry].end(),
                       [&](uint32_t operation) { return enabled[operation] != 0; });
  }
};

class CudaReplay final : public Replay {
 public:
  CudaReplay(DeviceState& device, ReplayPlan plan) : device_(device) {
    device_.require_alive();
    const CurrentContext current(device_.context);
    try {
      count_ = static_cast<uint64_t*>(allocate(device_, SYNFIRE_MEMORY_DEVICE, sizeof(uint64_t)));
      published_ = static_cast<uint64_t*>(allocate(device_, SYNFIRE_MEMORY_PINNED, sizeof(uint64_t)));
      build_ = make(std::move(plan));
    } catch (...) {
      release_counters();
      throw;
    }
  }

  ~CudaReplay() override {
    const CurrentContext current(device_.context);
    for (Build& build : retired_) release_build(build);
    release_build(build_);
    release_counters();
  }

  [[gnu::hot]] bool is_capturing(synfire_stream stream) override { return device_.is_capturing(stream); }

  [[gnu::hot]] void launch(synfire_stream stream, uint32_t slot) override {
    device_.require_alive();
    const cudaStream_t chosen = device_.choose(stream);
    if (build_.eager || Range::listened() || device_.needs_context(chosen)) [[unlikely]]
      return launch_in_scopes(chosen, slot);
    if (const int error = api().graph_launch(build_.current[slot].executable, chosen)) [[unlikely]]
      device_.fail_driver_call(error, "cuGraphLaunch");
    ++launched_;
  }

  // A child node of the caller's graph, without the signal: runs of that graph have no tickets.
  void launch_captured(synfire_stream stream, uint32_t slot) override {
    device_.require_alive();
    const CurrentContext current(device_.context);
    const Range range("graph launch into a capture");
    retired_.reserve(retired_.size() + 1);
    in_callers_capture_ = true;
    if (build_.eager || std::find(build_.active.begin(), build_.active.end(), 0) != build_.active.end())
      return enqueue_active(build_.instances[slot], slot, stream);
    const Instance& instance = build_.current[slot];
    cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
    cudaGraph_t target = nullptr;
    const cudaGraphNode_t* dependencies = nullptr;
    size_t n_dependencies = 0;
    const cudaError_t error =
        api().stream_get_capture_info(stream, &status, nullptr, &target, &dependencies, &n_dependencies);
    if (error != cudaSuccess || status != cudaStreamCaptureStatusActive) {
      if (error != cudaSuccess) api().get_last_error();
      fail(SYNFIRE_ERROR_CAPTURING, "SYN-STREAM-CAPTURING",
           "no graph can be added to the capture of stream: the capture is invalid, or its last operation is a "
           "programmatic launch");
    }
    const RelaxedCapture relaxed;
    cudaGraph_t child = nullptr;
    device_.check(api().graph_clone(&child, instance.captured.graph), "cudaGraphClone");
    cudaError_t failed = cudaSuccess;
    const char* call = "cudaGraphNodeFindInClone";
    cudaGraphNode_t signal = nullptr, node = nullptr;
    failed = api().graph_node_find_in_clone(&signal, instance.captured.signal, child);
    if (failed == cudaSuccess) {
      call = "cudaGraphDestroyNode";
      failed = api().graph_destroy_node(signal);
    }
    if (failed == cudaSuccess) {
      call = "cudaGraphAddChildGraphNode";
      failed = api().graph_add_child_graph_node(&node, target, dependencies, n_dependencies, child);
    }
    if (failed == cudaSuccess) {
      call = "cudaStreamUpdateCaptureDependencies";
      failed = api().stream_set_capture_dependencies(stream, &node, 1);
      if (failed != cudaSuccess) api().graph_destroy_node(node);  // the caller's graph is unchanged
    }
    api().graph_destroy(child);
    device_.check(failed, call);
  }

  void set_enabled(uint32_t operation, bool enabled) override {
    device_.require_alive();
    const CurrentContext current(device_.context);
    const uint8_t before = build_.enabled[operation];
    build_.enabled[operation] = enabled ? 1 : 0;
    try {
      for (size_t entry = 0; entry < build_.serves.size(); ++entry) apply(build_, entry);
    } catch (...) {
      build_.enabled[operation] = before;
      for (size_t entry = 0; entry < build_.serves.size(); ++entry) {
        try {
          apply(build_, entry);
        } catch (...) {  // the first failure is the one to report
        }
      }
      build_.choose();
      throw;
    }
    build_.choose();
  }

  void rebuild(ReplayPlan plan) override {
    device_.require_alive();
    const CurrentContext current(device_.context);
    Build next = make(std::move(plan));
    try {
      wait_until([&] { return finished() >= launched_; }, [&] { check(); });
    } catch (...) {
      release_build(next);
      throw;
    }
    std::swap(build_, next);
    // Memory that the caller's captures refer to must live as long as the graph.
    if (in_callers_capture_)
      retired_.push_back(std::move(next));
    else
      release_build(next);
    in_callers_capture_ = false;
  }

  uint64_t finished() const noexcept override {
    const uint64_t count = *static_cast<volatile uint64_t*>(published_);
    std::atomic_thread_fence(std::memory_order_acquire);
    return count;
  }

  void check() override { device_.look(); }

 private:
  // For launches that need their context to be current, run the list themselves, or are shown to a profiler.
  [[gnu::noinline]] void launch_in_scopes(cudaStream_t chosen, uint32_t slot) {
    const Range range("graph launch");
    const Instance& instance = build_.current[slot];
    int error = 0;
    {
      const CurrentContext current(device_.context, build_.eager || device_.needs_context(chosen));
      if (build_.eager)
        enqueue_all(instance, slot, chosen);
      else
        error = api().graph_launch(instance.executable, chosen);
    }
    if (error != 0) device_.fail_driver_call(error, "cuGraphLaunch");
    ++launched_;
  }

  // ---- building
  Build make(ReplayPlan plan) {
    Build build;
    try {
      fill(build, std::move(plan));
    } catch (...) {
      release_build(build);
      throw;
    }
    return build;
  }

  void fill(Build& build, ReplayPlan plan) {
    build.eager = plan.eager;
    build.observer = plan.observer;
    build.enabled = std::move(plan.enabled);
    for (size_t slot = 0; slot < plan.slots.size(); ++slot) {
      const Staging staging(plan.slots[slot], device_.operations);
      if (slot == 0) {
        // Slots differ only in the addresses of pinned memory, so they have the same copies and places in one arena.
        if (staging.arena_bytes() > 0) build.arena = allocate(device_, SYNFIRE_MEMORY_DEVICE, staging.arena_bytes());
        build.serves = staging.serves();
        for (std::vector<uint32_t>& operations : build.serves)
          for (uint32_t& operation : operations) operation = plan.owners[operation];
        build.active.assign(build.serves.size(), 1);
      }
      build.instances.push_back({nullptr, staging.place(build.arena), {}});
    }
    build.numbers = ReplayedNumbers(build.instances.front().operations);
    load(device_, build.instances.front().operations);
    if (!build.eager) {
      for (size_t slot = 0; slot < build.instances.size(); ++slot) {
        Instance& instance = build.instances[slot];
        instance.captured =
            capture(device_, instance.operations, build.numbers, static_cast<uint32_t>(slot), {count_, published_});
        instantiate(instance);
      }
    }
    if (!build.eager) join(build);
    for (size_t entry = 0; entry < build.serves.size(); ++entry) apply(build, entry);
    build.choose();
  }

  // The list with joined entries, and where each entry is in it.
  struct JoinedList {
    OperationList operations;
    std::vector<size_t> at;
  };
  JoinedList joined_list(Build& build, const OperationList& entries) {
    JoinedList list;
    std::vector<Join> joins = device_.operations.find_joins(entries, device_.shape, [&](uint64_t bytes) {
      build.joined_memory.push_back(nullptr);
      return build.joined_memory.back() = allocate(device_, SYNFIRE_MEMORY_DEVICE, bytes);
    });
    if (joins.empty()) return list;
    auto next = joins.begin();
    for (size_t entry = 0; entry < entries.size();) {
      if (next == joins.end() || next->first != entry) {
        list.at.push_back(list.operations.size());
        list.operations.push_back(entries[entry++]);
        continue;
      }
      list.at.insert(list.at.end(), next->count, Build::joined_entry);
      list.operations.push_back(std::move(next->operation));
      entry += next->count;
      ++next;
    }
    return list;
  }

  // Joins what gains from it, in graphs of their own, because a joined operation cannot be switched off. Callbacks run
  // once for each slot, so that lists with native nodes are not captured again.
  void join(Build& build) {
    std::vector<JoinedList> lists;
    for (const Instance& instance : build.instances) {
      for (const Operation& operation : instance.operations)
        if (operation.kind().calls_back) return;
      lists.push_back(joined_list(build, instance.operations));
      if (lists.back().at.empty() || lists.back().at != lists.front().at) return;
    }
    build.joined_at = lists.front().at;
    for (size_t slot = 0; slot < lists.size(); ++slot) {
      load(device_, lists[slot].operations);
      Instance& instance = build.joined.emplace_back(Instance{nullptr, std::move(lists[slot].operations), {}});
      instance.captured =
          capture(device_, instance.operations, build.numbers, static_cast<uint32_t>(slot), {count_, published_});
      instantiate(instance);
    }
  }

  // Enables or disables the nodes of an entry, as it is needed.
  void apply(Build& build, size_t entry) {
    const bool wanted = build.wanted(entry);
    if (wanted == (build.active[entry] != 0)) return;
    size_t n_done = 0;
    try {
      switch_nodes(build, entry, wanted, SIZE_MAX, n_done);
    } catch (...) {
      size_t n_undone = 0;
      try {
        switch_nodes(build, entry, !wanted, n_done, n_undone);
      } catch (...) {  // a device on which this cannot be undone is lost
      }
      throw;
    }
    build.active[entry] = wanted ? 1 : 0;
  }

  // Switches the first nodes of an entry in all slots, up to a limit; counts those that it has switched.
  void switch_nodes(const Build& build, size_t entry, bool enabled, size_t most, size_t& n_switched) {
    if (build.eager) return;
    const bool own = !build.instances.front().operations[entry].kind().calls_back;
    const auto switch_of = [&](const Instance& instance, size_t at) {
      for (const cudaGraphNode_t node : instance.captured.nodes[at]) {
        if (n_switched == most) return;
        set_node_enabled(instance, node, own, enabled);
        ++n_switched;
      }
    };
    for (const Instance& instance : build.instances) switch_of(instance, entry);
    for (const Instance& instance : build.joined)
      if (build.joined_at[entry] != Build::joined_entry) switch_of(instance, build.joined_at[entry]);
  }

  // CUDA does not define a programmatic edge after a disabled node. If kernels of this library may have such edges, a
  // disabled operation runs another kernel instead, which only waits.
  void set_node_enabled(const Instance& instance, cudaGraphNode_t node, bool own, bool enabled) {
    if (!device_.programmatic_launches || !own || type_of(device_, node) != cudaGraphNodeTypeKernel)
      return device_.check(api().graph_node_set_enabled(instance.executable, node, enabled ? 1 : 0),
                           "cudaGraphNodeSetEnabled");
    cudaKernelNodeParams params = idle_node();
    if (enabled) device_.check(api().graph_kernel_node_get_params(node, &params), "cudaGraphKernelNodeGetParams");
    device_.check(api().graph_exec_kernel_node_set_params(instance.executable, node, &params),
                  "cudaGraphExecKernelNodeSetParams");
  }

  void instantiate(Instance& instance) {
    const RelaxedCapture relaxed;
    cudaGraphInstantiateParams params = {};
    params.flags = cudaGraphInstantiateFlagUpload | cudaGraphInstantiateFlagUseNodePriority;
    params.uploadStream = device_.stream;
    device_.check(api().graph_instantiate(&instance.executable, instance.captured.graph, &params),
                  "cudaGraphInstantiateWithParams");
    device_.check(api().stream_synchronize(device_.stream), "cudaStreamSynchronize");
  }

  // ---- running without a graph
  void enqueue_all(const Instance& instance, uint32_t slot, cudaStream_t stream) {
    enqueue_active(instance, slot, stream);
    device_.remember_loss([&] { enqueue_signal(count_, published_, {stream}); });
  }
  void enqueue_active(const Instance& instance, uint32_t slot, cudaStream_t stream) {
    for (size_t entry = 0; entry < instance.operations.size(); ++entry) {
      if (!build_.active[entry]) continue;
      const Operation& operation = instance.operations[entry];
      const Range range(operation, &build_.numbers);
      if (build_.observer) build_.observer->before(build_.serves[entry].front());
      enqueue(device_, operation, {stream, slot});
    }
  }

  // ---- releasing
  void release_build(Build& build) noexcept {
    const RelaxedCapture relaxed;
    const auto destroy = [](Instance& instance) {
      if (instance.executable && api().graph_exec_destroy(instance.executable) != cudaSuccess) api().get_last_error();
      if (instance.captured.graph && api().graph_destroy(instance.captured.graph) != cudaSuccess)
        api().get_last_error();
    };
    std::for_each(build.instances.begin(), build.instances.end(), destroy);
    std::for_each(build.joined.begin(), build.joined.end(), destroy);
    build.instances.clear();
    build.joined.clear();
    for (void* const memory : build.joined_memory)
      if (memory) release(device_, SYNFIRE_MEMORY_DEVICE, memory);
    build.joined_memory.clear();
    if (build.arena) release(device_, SYNFIRE_MEMORY_DEVICE, build.arena);
    build.arena = nullptr;
  }

  void release_counters() noexcept {
    if (count_) release(device_, SYNFIRE_MEMORY_DEVICE, count_);
    if (published_) release(device_, SYNFIRE_MEMORY_PINNED, published_);
  }

  DeviceState& device_;
  uint64_t launched_ = 0;
  Build build_;
  std::vector<Build> retired_;       // of before a rebuild, while the caller's captures may use them
  bool in_callers_capture_ = false;  // the build is part of a caller's capture
  uint64_t* count_ = nullptr;        // device memory: replays finished
  uint64_t* published_ = nullptr;    // the same, in mapped host memory
};

}  // namespace

std::optional<size_t> enqueue(DeviceState& device, const Operation& operation, const Launcher::Place& place) {
  Launcher launcher(device.shape, Launcher::Purpose::run, place);
  device.remember_loss([&] { operation.kind().enqueue(operation.data(), launcher); });
  return launcher.n_nodes();
}

void load(DeviceState& device, std::span<const Operation> operations) {
  const RelaxedCapture relaxed;
  Launcher launcher(device.shape, Launcher::Purpose::load, {});
  device.remember_loss([&] {
    for (const Operation& operation : operations) operation.kind().enqueue(operation.data(), launcher);
    load_signal();
  });
}

std::unique_ptr<Replay> make_replay(DeviceState& device, ReplayPlan plan) {
  return std::make_unique<CudaReplay>(device, std::move(plan));
}

}  // namespace synfire::cuda
