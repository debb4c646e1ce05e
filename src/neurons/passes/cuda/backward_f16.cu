// BPTT kernels that store f16.
#include "backward_instances.cuh"

template const void* synfire::cuda::backward_kernel<synfire::cuda::F16>(int32_t, int32_t, synfire::cuda::Ownership,
                                                                        synfire::cuda::BackwardInputs);
