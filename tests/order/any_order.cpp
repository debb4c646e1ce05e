// A host backend that runs the entries of a list in any order which their operands allow, a new one each time, and
// fills the memory of transient arrays with ones before each run. An operand that an operation does not state, and
// memory that is read outside of its use, then show in the numbers.
#include "any_order.hpp"

#include <backends/host/host_device.hpp>
#include <backends/host/host_launcher.hpp>
#include <backends/host/job_system.hpp>
#include <graph/memory_plan.hpp>
#include <graph/operation.hpp>
#include <graph/replay.hpp>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <random>

namespace synfire::host {

// make_device() of the library's host backend, which is compiled with this name here (CMakeLists.txt).
std::unique_ptr<core::Device> make_host_device(int n_threads, const JobCallbacks& job_system);

}  // namespace synfire::host

namespace synfire_test {

namespace {

using namespace synfire;
using namespace synfire::core;

std::mutex mutex;
std::mt19937 random_numbers;  // of a fixed seed: a failure shows again
std::atomic<uint64_t> reordered{0}, allocated{0};

void poison(void* memory, uint64_t bytes) {
  std::memset(memory, 0xFF, bytes);
}

// Calls run(entry) in one of the orders that the dependencies allow.
template <class Run>
void in_any_order(const std::vector<std::vector<uint32_t>>& after, Run run) {
  std::vector<uint32_t> n_left(after.size()), ready;
  std::vector<std::vector<uint32_t>> before(after.size());
  for (uint32_t entry = 0; entry < after.size(); ++entry) {
    n_left[entry] = static_cast<uint32_t>(after[entry].size());
    for (const uint32_t earlier : after[entry]) before[earlier].push_back(entry);
    if (n_left[entry] == 0) ready.push_back(entry);
  }
  uint32_t next = 0;
  while (!ready.empty()) {
    size_t at = 0;
    {
      const std::lock_guard lock(mutex);
      at = std::uniform_int_distribution<size_t>(0, ready.size() - 1)(random_numbers);
    }
    const uint32_t entry = ready[at];
    ready[at] = ready.back();
    ready.pop_back();
    if (entry != next++) reordered.fetch_add(1, std::memory_order_relaxed);
    run(entry);
    for (const uint32_t later : before[entry])
      if (--n_left[later] == 0) ready.push_back(later);
  }
}

void run_one(const host::Parallel& threads, const Operation& operation, uint32_t slot) {
  if (operation.kind().wants_threads(operation.data())) threads.start();
  host::Launcher launcher(threads, slot);
  operation.kind().run(operation.data(), launcher);
}

class AnyOrderReplay final : public Replay {
 public:
  AnyOrderReplay(const host::Parallel& threads, ReplayPlan plan) : threads_(threads) { take(std::move(plan)); }

  bool is_capturing(synfire_stream) override { return false; }
  void launch(synfire_stream stream, uint32_t slot) override {
    launch_captured(stream, slot);
    finished_.fetch_add(1, std::memory_order_release);
  }
  void launch_captured(synfire_stream, uint32_t slot) override {
    if (memory_) poison(memory_->data(), memory_->bytes());
    in_any_order(after_[slot], [&](uint32_t entry) {
      const uint32_t owner = plan_.owners[entry];
      if (!plan_.enabled[owner]) return;
      if (plan_.observer) plan_.observer->before(owner);
      run_one(threads_, plan_.slots[slot][entry], slot);
    });
  }
  void set_enabled(uint32_t operation, bool enabled) override { plan_.enabled[operation] = enabled ? 1 : 0; }
  void rebuild(ReplayPlan plan) override { take(std::move(plan)); }
  uint64_t finished() const noexcept override { return finished_.load(std::memory_order_acquire); }
  void check() override {}

 private:
  void take(ReplayPlan plan) {
    const Plan places = make_plan(plan.slots.front(), plan.transients);
    std::shared_ptr<ArenaBlock> memory = plan.arena->provide(places.arena_bytes);
    std::vector<std::vector<std::vector<uint32_t>>> after;
    for (OperationList& list : plan.slots) {
      if (memory) place_transients(list, plan.transients, places.offsets, memory->data());
      after.push_back(dependencies(list));
    }
    memory_ = std::move(memory);
    after_ = std::move(after);
    plan_ = std::move(plan);
  }

  const host::Parallel& threads_;
  ReplayPlan plan_;
  std::shared_ptr<ArenaBlock> memory_;
  std::vector<std::vector<std::vector<uint32_t>>> after_;  // of each slot
  std::atomic<uint64_t> finished_{0};
};

class AnyOrderDevice final : public Device {
 public:
  AnyOrderDevice(int n_threads, const host::JobCallbacks& job_system)
      : host_(host::make_host_device(n_threads, job_system)), threads_(n_threads, job_system) {}

  bool is_host() const noexcept override { return true; }
  int most_at_once() const noexcept override { return host_->most_at_once(); }
  void describe(synfire_context_properties& properties) const override { host_->describe(properties); }
  void* allocate(int32_t memory, uint64_t bytes) override {
    if (memory == SYNFIRE_MEMORY_DEVICE) allocated.fetch_add(bytes, std::memory_order_relaxed);
    return host_->allocate(memory, bytes);
  }
  void* allocate_scratch(uint64_t bytes) override {
    void* const memory = host_->allocate_scratch(bytes);
    poison(memory, bytes);
    return memory;
  }
  void release(int32_t memory, void* data) noexcept override { host_->release(memory, data); }
  void require(int32_t memory, uint64_t bytes) override { host_->require(memory, bytes); }
  void finish() noexcept override {}
  void check_borrowed(int32_t memory, const void* data) override { host_->check_borrowed(memory, data); }
  void upload(void* destination, const void* source, uint64_t bytes) override {
    host_->upload(destination, source, bytes);
  }
  void download(void* destination, const void* source, uint64_t bytes) override {
    host_->download(destination, source, bytes);
  }
  void write_small(void* destination, const void* source, uint64_t bytes, synfire_stream stream) override {
    host_->write_small(destination, source, bytes, stream);
  }
  void check_stream(synfire_stream stream) override { host_->check_stream(stream); }
  bool is_capturing(synfire_stream) override { return false; }
  void load(std::span<const Operation>) override {}
  void execute(std::span<const Operation> operations, synfire_stream /*stream*/) override {
    in_any_order(dependencies(operations), [&](uint32_t entry) { run_one(threads_, operations[entry], 0); });
  }
  void execute_captured(std::span<const Operation> operations, synfire_stream stream) override {
    execute(operations, stream);
  }
  void synchronize() override {}
  void check() override {}
  std::unique_ptr<Replay> instantiate(ReplayPlan plan) override {
    return std::make_unique<AnyOrderReplay>(threads_, std::move(plan));
  }
  ReplayBytes replay_bytes(const ReplayPlan& plan) const override { return host_->replay_bytes(plan); }

 private:
  const std::unique_ptr<Device> host_;  // its memory
  const host::Parallel threads_;
};

}  // namespace

uint64_t n_reordered() {
  return reordered.load(std::memory_order_relaxed);
}

uint64_t allocated_device_bytes() {
  return allocated.load(std::memory_order_relaxed);
}

}  // namespace synfire_test

namespace synfire::host {

std::unique_ptr<core::Device> make_device(int n_threads, const JobCallbacks& job_system) {
  return std::make_unique<synfire_test::AnyOrderDevice>(n_threads, job_system);
}

}  // namespace synfire::host
