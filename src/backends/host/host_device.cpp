#include "host_device.hpp"

#include "host_launcher.hpp"
#include "level.hpp"

#include <base/error.hpp>
#include <base/host_memory.hpp>
#include <graph/replay.hpp>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>

namespace synfire::host {
namespace {

using namespace synfire::core;

class HostReplay;

class HostDevice final : public Device {
 public:
  HostDevice(int n_threads, const JobCallbacks& job_system) : threads_(n_threads, job_system) {}

  bool is_host() const noexcept override { return true; }
  int most_at_once() const noexcept override { return threads_.most_at_once(); }

  void describe(synfire_context_properties& properties) const override {
    properties.backend = SYNFIRE_BACKEND_HOST;
    properties.device = -1;
    properties.n_threads = threads_.n_threads();
    std::snprintf(properties.name, sizeof properties.name, "host %s, %s", name_of_level(level()), threading_name());
  }

  void* allocate(int32_t /*memory*/, uint64_t bytes) override { return allocate_host(bytes); }
  void* allocate_scratch(uint64_t bytes) override { return allocate_host_scratch(bytes); }
  void release(int32_t /*memory*/, void* data) noexcept override { release_host(data); }
  void require(int32_t /*memory*/, uint64_t bytes) override { require_host_memory(bytes, Paging::pageable); }
  void finish() noexcept override {}  // whoever computes holds its own references
  void check_borrowed(int32_t /*memory*/, const void* /*data*/) override {}

  void upload(void* destination, const void* source, uint64_t bytes) override {
    std::memcpy(destination, source, bytes);
  }
  void download(void* destination, const void* source, uint64_t bytes) override {
    // Reads a single value atomically, because a replay on another thread may update it.
    if (bytes == sizeof(uint64_t) && reinterpret_cast<uintptr_t>(source) % sizeof(uint64_t) == 0) {
      auto* const value = static_cast<uint64_t*>(const_cast<void*>(source));
      const uint64_t read = std::atomic_ref(*value).load(std::memory_order_relaxed);
      std::memcpy(destination, &read, sizeof read);
      return;
    }
    std::memcpy(destination, source, bytes);
  }
  void write_small(void* destination, const void* source, uint64_t bytes, synfire_stream) override {
    std::memcpy(destination, source, bytes);
  }

  void check_stream(synfire_stream stream) override {
    if (stream)
      fail_argument("SYN-STREAM-HOST", "stream is %p; a host context has no streams, so it must be null",
                    static_cast<void*>(stream));
  }
  bool is_capturing(synfire_stream) override { return false; }
  void execute_captured(std::span<const Operation> operations, synfire_stream stream) override {
    execute(operations, stream);  // there is no stream to capture
  }
  void execute_one(const Operation& operation, uint32_t slot) const {
    Launcher launcher(threads_, slot);
    operation.kind().run(operation.data(), launcher);
  }
  void load(std::span<const Operation>) override {}
  void execute(std::span<const Operation> operations, synfire_stream /*stream*/) override {
    // If the system has refused threads, eager calls do not ask again each time.
    if (!asked_for_threads_.load(std::memory_order_relaxed) && wants_threads(operations) &&
        !asked_for_threads_.exchange(true, std::memory_order_relaxed))
      threads_.start();
    for (const Operation& operation : operations) execute_one(operation, 0);
  }
  void synchronize() override {}
  void check() override {}
  std::unique_ptr<Replay> instantiate(ReplayPlan plan) override;
  // Creates the threads for replays, because a launch creates none.
  void prepare(std::span<const Operation> operations) const {
    if (wants_threads(operations)) threads_.start();
  }

 private:
  static bool wants_threads(std::span<const Operation> operations) {
    return std::any_of(operations.begin(), operations.end(),
                       [](const Operation& operation) { return operation.kind().wants_threads(operation.data()); });
  }

  const Parallel threads_;
  std::atomic<bool> asked_for_threads_{false};
};

class HostReplay final : public Replay {
 public:
  HostReplay(HostDevice& device, ReplayPlan plan) : device_(device), plan_(std::move(plan)) {
    device_.prepare(plan_.slots.front());
  }

  bool is_capturing(synfire_stream) override { return false; }
  void launch(synfire_stream stream, uint32_t slot) override {
    launch_captured(stream, slot);
    finished_.fetch_add(1, std::memory_order_release);
  }
  void launch_captured(synfire_stream, uint32_t slot) override {
    const OperationList& operations = plan_.slots[slot];
    for (size_t i = 0; i < operations.size(); ++i) {
      const uint32_t owner = plan_.owners[i];
      if (!plan_.enabled[owner]) continue;
      if (plan_.observer) plan_.observer->before(owner);
      device_.execute_one(operations[i], slot);
    }
  }
  void set_enabled(uint32_t operation, bool enabled) override { plan_.enabled[operation] = enabled ? 1 : 0; }
  void rebuild(ReplayPlan plan) override { plan_ = std::move(plan); }
  uint64_t finished() const noexcept override { return finished_.load(std::memory_order_acquire); }
  void check() override {}

 private:
  HostDevice& device_;
  ReplayPlan plan_;
  std::atomic<uint64_t> finished_{0};
};

std::unique_ptr<Replay> HostDevice::instantiate(ReplayPlan plan) {
  return std::make_unique<HostReplay>(*this, std::move(plan));
}

}  // namespace

std::unique_ptr<core::Device> make_device(int n_threads, const JobCallbacks& job_system) {
  return std::make_unique<HostDevice>(n_threads, job_system);
}

}  // namespace synfire::host
