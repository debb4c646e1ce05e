// Launches an operation's work on a GPU. One function of an operation serves three purposes: to run it, eagerly or in a
// capture, and to load its kernels ahead of a capture, when nothing is launched.
#ifndef SYNFIRE_BACKENDS_CUDA_CUDA_LAUNCHER_HPP
#define SYNFIRE_BACKENDS_CUDA_CUDA_LAUNCHER_HPP

#include "api.hpp"
#include "device_types.hpp"
#include "hints.hpp"

#include <synfire/synfire.h>
#include <base/function_ref.hpp>

#include <cstdint>
#include <optional>

namespace synfire::cuda {

struct Grid {
  uint32_t n_blocks;
  uint32_t n_threads = static_cast<uint32_t>(threads_per_block);  // of one block
  uint32_t shared_bytes = 0;
  int shared_percent = 0;  // of a multiprocessor's largest shared memory; 0: the driver chooses
};

class Launcher {
 public:
  enum class Purpose { run, load };
  struct Place {
    cudaStream_t stream = nullptr;
    uint32_t slot = 0;               // of the replay
    bool programmatic = false;       // after a kernel of this library, which need not have ended
    bool next_begins_early = false;  // Hints of the next operation
  };

  Launcher(const GpuShape& gpu, Purpose purpose, const Place& place) noexcept
      : gpu_(gpu), purpose_(purpose), place_(place) {}

  const GpuShape& gpu() const noexcept { return gpu_; }
  bool next_begins_early() const noexcept { return place_.next_begins_early; }

  template <class Arguments>
  void launch(const void* kernel, const Grid& grid, const Arguments& arguments) {
    launch_kernel(kernel, grid, &arguments);
  }
  void launch(const void* kernel, const Grid& grid) { launch_kernel(kernel, grid, nullptr); }

  // Copies between memory of any kinds, by the GPU's copy engines.
  void copy(void* destination, const void* source, uint64_t bytes);
  // Writes up to 1,024 bytes, which are arguments of a kernel.
  void write_small(void* destination, const void* source, uint64_t bytes);
  // Calls foreign code that enqueues work on a stream; never called to load kernels. Libraries load kernels and
  // allocate workspace at their first use, which does not affect the capture.
  void call(core::FunctionRef<void(synfire_stream stream, uint32_t slot)> body);
  // Calls a function of a compiled-in library, such as CUB, to enqueue work on a stream; never called to load kernels.
  // `name` is for error texts. Such a library clears an error that is pending on the thread, which may be the
  // program's, and returns it as its own: then it is called on another thread. Throws OUT_OF_MEMORY if there is none.
  void call_library(const char* name, core::FunctionRef<cudaError_t(cudaStream_t stream)> body);

  // The graph nodes enqueued so far; none if only foreign code knows.
  std::optional<size_t> n_nodes() const noexcept { return n_nodes_; }

  // Grids for kernels whose threads loop over any number of elements, and for those whose blocks loop over pieces.
  Grid over_elements(int64_t count) const noexcept {
    return {blocks((count + threads_per_block - 1) / threads_per_block)};
  }
  Grid over_pieces(int64_t count, uint32_t n_threads) const noexcept { return {blocks(count), n_threads}; }

 private:
  uint32_t blocks(int64_t wanted) const noexcept;
  void launch_kernel(const void* kernel, const Grid& grid, const void* arguments);

  const GpuShape& gpu_;
  const Purpose purpose_;
  Place place_;
  std::optional<size_t> n_nodes_ = 0;
};

void enqueue_write_small(void* destination, const void* source, uint64_t bytes, cudaStream_t stream);
void enqueue_signal(uint64_t* count, uint64_t* published, const Launcher::Place& place);
void load_signal();  // loads its kernel, ahead of a capture
// The architecture of this build's kernels, as 10 * major + minor. A device may run code of an older one than its own.
int code_version();
// True if a device runs kernels that are compiled for it only (GpuShape::has_warpgroups).
bool has_warpgroups(int compute_major, int compute_minor);
// True if such kernels wait for the previous kernel themselves.
bool kernels_wait(const GpuShape& gpu, int driver_version);
// True if a launch may choose a multiprocessor's shared memory (Grid::shared_percent).
bool takes_shared_percent(int driver_version);
// Replaces a kernel node that must do nothing.
cudaKernelNodeParams idle_node();

}  // namespace synfire::cuda

#endif
