// What planning looks at of a GPU, and what a capture may make of an operation's place in a list.
#ifndef SYNFIRE_CUDA_HINTS_HPP
#define SYNFIRE_CUDA_HINTS_HPP

namespace synfire::cuda {

struct GpuShape {
  int n_multiprocessors;
  int compute_major;
  bool takes_shared_percent;  // a launch may say so: Grid::shared_percent
};

// A kernel that is launched programmatically may come onto the GPU while the blocks of the one in front of it leave.
struct Hints {
  bool lets_next_begin = false;  // the operation's kernel can let the next one come
  bool begins_early = false;     // it gains from coming
};

}  // namespace synfire::cuda

#endif
