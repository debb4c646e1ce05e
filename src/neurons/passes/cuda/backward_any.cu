// BPTT kernels whose sequences say at run time how they are stored.
#include "backward_instances.cuh"

template const void* synfire::cuda::backward_kernel<synfire::cuda::AnyStorage>(int32_t, int32_t,
                                                                               synfire::cuda::Ownership,
                                                                               synfire::cuda::BackwardInputs);
