// Moves frames between pinned host memory and the GPU. Inputs are copied before their first reader
// (elementwise/cuda.cpp); small outputs are written to host memory, large ones to the device and copied back.
#ifndef SYNFIRE_BACKENDS_CUDA_STAGING_HPP
#define SYNFIRE_BACKENDS_CUDA_STAGING_HPP

#include <graph/machine_operations.hpp>

namespace synfire::cuda {

// An operation list whose pinned arrays are replaced by offsets into an arena, with copies that fill and empty them.
class Staging {
 public:
  // Outputs up to this size are written in place, which is faster than a copy node after the kernel
  // (docs/pages/measurements.md, "Frames in and out").
  static constexpr uint64_t zero_copy_bytes = uint64_t{2} << 20;
  // A warp writes one or four words of neuron-packed spikes at a time, each of which is a transfer of its own
  // (docs/pages/tuning.md, "Frames across the bus").
  static constexpr uint64_t zero_copy_bytes_of_words = uint64_t{64} << 10;

  Staging(const core::OperationList& operations, const core::MachineOperations& own);

  // For each entry of the list to run, the recorded entries that it serves: itself or, for a copy, those that use the
  // copied memory. The entry is needed while any of them is enabled.
  const std::vector<std::vector<uint32_t>>& serves() const noexcept { return serves_; }

  // Bytes of the arena that place() needs; 0 if nothing is staged.
  uint64_t arena_bytes() const noexcept { return arena_bytes_; }
  core::OperationList place(void* arena) const;

 private:
  struct Staged {
    void* host;
    uint64_t bytes;
    uint64_t offset;
    bool current;    // the arena holds what the host memory holds ...
    size_t copy_in;  // ... since this entry of the list
  };

  void add(const core::Operation& original);
  void append(core::Operation operation);
  Staged& staged(const core::View& array);
  void read(core::View& array);
  bool written_through_arena(core::View& array, bool in_place = true);
  void forget(const core::View& written);

  core::Operation (*const make_copy_)(const core::View& source, const core::View& destination);
  core::OperationList operations_;
  std::vector<std::vector<uint32_t>> serves_;
  uint32_t recorded_ = 0;  // the entry being added
  std::vector<Staged> staged_;
  uint64_t arena_bytes_ = 0;
};

}  // namespace synfire::cuda

#endif
