// The properties of a GPU that planning uses, and hints for overlapping kernels in a capture.
#ifndef SYNFIRE_BACKENDS_CUDA_HINTS_HPP
#define SYNFIRE_BACKENDS_CUDA_HINTS_HPP

namespace synfire::cuda {

struct GpuShape {
  int n_multiprocessors;
  int compute_major;
  bool takes_shared_percent;    // a launch may set Grid::shared_percent
  int code_version = 0;         // the architecture for which kernels were compiled, as 10 * major + minor
  bool has_warpgroups = false;  // runs the kernels that are compiled for compute capability 9.0 only
};

// A kernel that is launched programmatically may start while the blocks of the previous one are leaving the GPU.
struct Hints {
  bool lets_next_begin = false;  // the operation's kernel can let the next one start early
  bool begins_early = false;     // it gains from starting early
};

}  // namespace synfire::cuda

#endif
