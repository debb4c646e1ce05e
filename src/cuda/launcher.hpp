// What an operation uses to launch work on a GPU. One function of an operation serves three purposes: to run it,
// eagerly or in a capture, and to load its kernels ahead of a capture, in which nothing is launched.
#ifndef SYNFIRE_CUDA_LAUNCHER_HPP
#define SYNFIRE_CUDA_LAUNCHER_HPP

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
    bool programmatic = false;       // behind a kernel of this library, which need not have ended
    bool next_begins_early = false;  // Hints of the next operation
  };

  Launcher(const GpuShape& gpu, Purpose purpose, const Place& place) noexcept
      : gpu_(gpu), purpose_(purpose), place_(place) {}

  const GpuShape& gpu() const noexcept { return gpu_; }
  bool next_begins_early() const noexcept { return place_.next_begins_early; }

  // Launches a kernel with its one argument. Throws if CUDA reports an error.
  template <class Arguments>
  void launch(const void* kernel, const Grid& grid, const Arguments& arguments) {
    launch_kernel(kernel, grid, &arguments);
  }
  void launch(const void* kernel, const Grid& grid) { launch_kernel(kernel, grid, nullptr); }

  // A copy between memory of any kinds, by the GPU's copy engines.
  void copy(void* destination, const void* source, uint64_t bytes);
  // Writes up to 1,024 bytes that travel as arguments of a kernel.
  void write_small(void* destination, const void* source, uint64_t bytes);
  // Calls foreign code that enqueues work on a stream. Libraries load kernels and allocate workspace at their first
  // use, which does not affect the capture. Never called to load kernels.
  void call(core::FunctionRef<void(synfire_stream stream, uint32_t slot)> body);
  // Calls a function of a library that is compiled in, such as CUB, to enqueue work on a stream; `name` is the
  // function's, for error texts. Such a library takes an error that is pending on the thread, which may be the
  // program's where both share a CUDA runtime, for its own, and clears it: then it is called on another thread. Throws
  // OUT_OF_MEMORY if there is none to be had. Never called to load kernels.
  void call_library(const char* name, core::FunctionRef<cudaError_t(cudaStream_t stream)> body);

  // How many graph nodes were enqueued so far; none if only foreign code knows.
  std::optional<size_t> n_nodes() const noexcept { return n_nodes_; }

  // The grid of a kernel whose threads loop over any number of elements, and of one whose blocks loop over pieces.
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

// Rewrites up to 1,024 bytes of device memory, in stream order.
void enqueue_write_small(void* destination, const void* source, uint64_t bytes, cudaStream_t stream);
// Counts a replay.
void enqueue_signal(uint64_t* count, uint64_t* published, const Launcher::Place& place);
void load_signal();  // loads its kernel, ahead of a capture
// The architecture for which this build's kernels were compiled, as 10 * major + minor: a device may run code of an
// older one than its own.
int code_version();
// Whether a device runs kernels that are compiled for it only (GpuShape::has_warpgroups).
bool has_warpgroups(int compute_major, int compute_minor);
// Whether such kernels wait for the previous kernel themselves.
bool kernels_wait(const GpuShape& gpu, int driver_version);
// Whether a launch may choose how much shared memory a multiprocessor has (Grid::shared_percent).
bool takes_shared_percent(int driver_version);
// Replaces a kernel node that must do nothing.
cudaKernelNodeParams idle_node();

}  // namespace synfire::cuda

#endif
