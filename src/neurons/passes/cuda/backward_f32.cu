// BPTT kernels that store f32.
#include "backward_instances.cuh"

template const void* synfire::cuda::backward_kernel<float>(int32_t, int32_t, synfire::cuda::Ownership,
                                                           synfire::cuda::BackwardInputs);
