// FPTT kernels that store f16.
#include "forward_instances.cuh"

template const void* synfire::cuda::forward_kernel<synfire::cuda::F16>(int32_t, synfire::cuda::Ownership,
                                                                       synfire::cuda::ForwardOutputs);
