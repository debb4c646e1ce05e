// FPTT kernels that store f64.
#include "forward.cuh"

template const void* synfire::cuda::forward_kernel<double>(int32_t, int, ForwardOutputs);
