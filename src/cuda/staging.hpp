// How a graph moves frames between pinned host memory and the GPU. Inputs are copied to the device before their first
// reader (by a kernel or a copy node: plan.cpp); small outputs are written straight to host memory, large ones to the
// device and copied back.
#ifndef SYNFIRE_CUDA_STAGING_HPP
#define SYNFIRE_CUDA_STAGING_HPP

#include <graph/operation.hpp>

namespace synfire::cuda {

// An operation list whose pinned arrays have been replaced by offsets into an arena, with the copies that fill and
// empty them.
class Staging {
 public:
  // Outputs up to this size are written where they are. A copy node behind the kernel that writes them costs more: 23.5
  // us from launch to done instead of 6.4 with 2 KiB, 23.5 instead of 8.3 with 128 KiB, 56 instead of 46 with 2 MiB,
  // beyond which nothing was measured (H200, PCIe 5, docs/performance.md, "Frames in and out").
  static constexpr uint64_t zero_copy_bytes = uint64_t{2} << 20;
  // Neuron-packed spikes are written one word a warp or four, and each is a transfer of its own: `hear --population
  // 512`, 128 KiB of them, takes 161 us in place and 132 by way of the GPU's memory; 32 KiB take the same either way.
  static constexpr uint64_t zero_copy_bytes_of_words = uint64_t{64} << 10;

  explicit Staging(const core::OperationList& operations);

  // For each entry of the list to run, the recorded entries that it runs for: itself, or, for a copy, those that read
  // or wrote what it moves. It is needed while any of them is.
  const std::vector<std::vector<uint32_t>>& users() const noexcept { return users_; }

  // Bytes of the arena that place() needs; 0 when nothing is staged.
  uint64_t arena_bytes() const noexcept { return arena_bytes_; }
  // The list to run, with its staged arrays in this arena.
  core::OperationList place(void* arena) const;

 private:
  struct Staged {
    void* host;
    uint64_t bytes;
    uint64_t offset;
    bool current;    // the arena holds what the host memory holds ...
    size_t copy_in;  // ... since this entry of the list
  };

  void add(const core::Operation& operation);
  void append(core::Operation operation);
  Staged& staged(const core::View& array);
  void read(core::View& array);
  bool written_through_arena(core::View& array, bool in_place = true);
  void forget(const core::View& written);

  core::OperationList operations_;
  std::vector<std::vector<uint32_t>> users_;
  uint32_t recorded_ = 0;  // the entry that is being added
  std::vector<Staged> staged_;
  uint64_t arena_bytes_ = 0;
};

}  // namespace synfire::cuda

#endif
