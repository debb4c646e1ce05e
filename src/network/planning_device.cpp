#include "planning_device.hpp"

#include <base/error.hpp>
#include <base/host_memory.hpp>
#include <graph/memory_plan.hpp>
#include <graph/replay.hpp>

#include <cstring>

namespace synfire::network {

using namespace synfire::core;

namespace {

// Never launched.
class PlannedReplay final : public Replay {
 public:
  bool is_capturing(synfire_stream) override { return false; }
  void launch(synfire_stream, uint32_t) override {}
  void launch_captured(synfire_stream, uint32_t) override {}
  void set_enabled(uint32_t, bool) override {}
  void rebuild(ReplayPlan) override {}
  uint64_t finished() const noexcept override { return 0; }
  void check() override {}
};

}  // namespace

void* PlanningDevice::reserve(int32_t memory, uint64_t bytes) {
  constexpr uint64_t most = uint64_t{1} << 62, alignment = 256;
  uint64_t& total = memory == SYNFIRE_MEMORY_DEVICE ? device_bytes_ : pinned_bytes_;
  if (bytes > most || total > most - bytes || next_address_ > 2 * most)
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-NETWORK-OVERFLOW",
         "the parts of the network take more than 2^62 bytes, which cannot be addressed");
  total += bytes;
  const uint64_t address = next_address_;
  next_address_ += (bytes + alignment) / alignment * alignment;
  return reinterpret_cast<void*>(address);
}

void* PlanningDevice::allocate(int32_t memory, uint64_t bytes) {
  void* const address = reserve(memory, bytes);
  return memory == SYNFIRE_MEMORY_DEVICE ? address : allocate_host(bytes);
}

void PlanningDevice::release(int32_t memory, void* data) noexcept {
  if (memory != SYNFIRE_MEMORY_DEVICE) release_host(data);
}

void PlanningDevice::download(void* destination, const void* /*source*/, uint64_t bytes) {
  std::memset(destination, 0, bytes);
}

ReplayBytes PlanningDevice::replay_bytes(const ReplayPlan& plan) const {
  return device_ ? device_->replay_bytes(plan)
                 : ReplayBytes{make_plan(plan.slots.front(), plan.transients).arena_bytes, 0};
}

std::unique_ptr<Replay> PlanningDevice::instantiate(ReplayPlan plan) {
  const ReplayBytes bytes = replay_bytes(plan);
  if (bytes.own > 0) reserve(SYNFIRE_MEMORY_DEVICE, bytes.own);
  if (bytes.arena > arena_bytes_) {
    reserve(SYNFIRE_MEMORY_DEVICE, bytes.arena - arena_bytes_);
    arena_bytes_ = bytes.arena;
  }
  return std::make_unique<PlannedReplay>();
}

}  // namespace synfire::network
