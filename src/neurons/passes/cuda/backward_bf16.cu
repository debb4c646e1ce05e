// BPTT kernels that store bf16.
#include "backward_instances.cuh"

template const void* synfire::cuda::backward_kernel<synfire::cuda::Bf16>(int32_t, int32_t, synfire::cuda::Ownership,
                                                                         synfire::cuda::BackwardInputs);
