// FPTT kernels in f64.
#include "forward_instances.cuh"

template const void* synfire::cuda::forward_kernel<double>(int32_t, synfire::cuda::Ownership,
                                                           synfire::cuda::ForwardOutputs);
