// A device without memory or work, which counts allocations. Building on it tells how much memory a network takes, and
// whether it fits together, before anything is allocated.
#ifndef SYNFIRE_NETWORK_PLANNING_DEVICE_HPP
#define SYNFIRE_NETWORK_PLANNING_DEVICE_HPP

#include <base/device.hpp>

namespace synfire::network {

class PlanningDevice final : public core::Device {
 public:
  // Imitates that device: operations on the host, on some of its threads, and on a GPU need different memory.
  explicit PlanningDevice(const core::Device& device) noexcept
      : PlanningDevice(device.is_host(), device.most_at_once()) {
    device_ = &device;
  }
  // Stands for no device in particular.
  PlanningDevice(bool is_host, int most_at_once) noexcept : is_host_(is_host), most_at_once_(most_at_once) {}

  // Allocated so far, in page-locked memory and on the device.
  uint64_t pinned_bytes() const noexcept { return pinned_bytes_; }
  uint64_t device_bytes() const noexcept { return device_bytes_; }
  // The part of it in the arena that all graphs on the device share.
  uint64_t arena_bytes() const noexcept { return arena_bytes_; }
  // Counts memory of which only the address is used, and gives it a unique one. Throws OUT_OF_MEMORY if the sum cannot
  // be represented.
  void* reserve(int32_t memory, uint64_t bytes);

  bool is_host() const noexcept override { return is_host_; }
  int most_at_once() const noexcept override { return most_at_once_; }
  // Page-locked memory, into which host code writes (ValueStaging), is ordinary memory here.
  void* allocate(int32_t memory, uint64_t bytes) override;
  void release(int32_t memory, void* data) noexcept override;
  void require(int32_t, uint64_t) override {}
  void describe(synfire_context_properties&) const override {}
  void finish() noexcept override {}
  void check_borrowed(int32_t, const void*) override {}
  void upload(void*, const void*, uint64_t) override {}
  void download(void* destination, const void* source, uint64_t bytes) override;
  void write_small(void*, const void*, uint64_t, synfire_stream) override {}
  void check_stream(synfire_stream) override {}
  bool is_capturing(synfire_stream) override { return false; }
  void load(std::span<const core::Operation>) override {}
  void execute(std::span<const core::Operation>, synfire_stream) override {}
  void execute_captured(std::span<const core::Operation>, synfire_stream) override {}
  void synchronize() override {}
  void check() override {}
  std::unique_ptr<core::Replay> instantiate(core::ReplayPlan plan) override;
  core::ReplayBytes replay_bytes(const core::ReplayPlan& plan) const override;

 private:
  const core::Device* device_ = nullptr;
  const bool is_host_;
  const int most_at_once_;
  uint64_t pinned_bytes_ = 0, device_bytes_ = 0, arena_bytes_ = 0;
  uint64_t next_address_ = uint64_t{1} << 48;  // none that a process can have
};

}  // namespace synfire::network

#endif
