// FPTT kernels that store bf16.
#include "forward_instances.cuh"

template const void* synfire::cuda::forward_kernel<synfire::cuda::Bf16>(int32_t, synfire::cuda::Ownership,
                                                                        synfire::cuda::ForwardOutputs);
