// The kernel of the replacement, as the host code sees it.
#ifndef SYNFIRE_OPERATIONS_REPLACE_NONFINITE_REPLACE_NONFINITE_KERNELS_HPP
#define SYNFIRE_OPERATIONS_REPLACE_NONFINITE_REPLACE_NONFINITE_KERNELS_HPP

#include "replace_nonfinite_arguments.hpp"

namespace synfire::cuda {

struct ReplaceNonfiniteLaunch {
  operations::ReplaceNonfiniteArguments arguments;
  bool adds;  // to what is in the count: there are several blocks, or the caller wants it
};

// For elements of 2, 4 or 8 bytes.
const void* replace_nonfinite_kernel(int element_bytes);

}  // namespace synfire::cuda

#endif
