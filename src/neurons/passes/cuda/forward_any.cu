// FPTT kernels whose sequences say at run time how they are stored.
#include "forward_instances.cuh"

template const void* synfire::cuda::forward_kernel<synfire::cuda::AnyStorage>(int32_t, synfire::cuda::Ownership,
                                                                              synfire::cuda::ForwardOutputs);
