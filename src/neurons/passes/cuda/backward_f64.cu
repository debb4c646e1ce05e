// BPTT kernels in f64.
#include "backward_instances.cuh"

template const void* synfire::cuda::backward_kernel<double>(int32_t, int32_t, synfire::cuda::Ownership,
                                                            synfire::cuda::BackwardInputs);
