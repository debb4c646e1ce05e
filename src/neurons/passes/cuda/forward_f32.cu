// FPTT kernels that store f32.
#include "forward_instances.cuh"

template const void* synfire::cuda::forward_kernel<float>(int32_t, synfire::cuda::Ownership,
                                                          synfire::cuda::ForwardOutputs);
