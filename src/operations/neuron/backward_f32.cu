// BPTT kernels that store f32.
#include "backward.cuh"

template const void* synfire::cuda::backward_kernel<float>(int32_t, int32_t, synfire::cuda::Ownership,
                                                           synfire::cuda::BackwardInputs);
