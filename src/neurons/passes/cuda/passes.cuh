// Both passes, for texts that have both (src/jit/layer_source.cpp).
#ifndef SYNFIRE_NEURONS_PASSES_CUDA_PASSES_CUH
#define SYNFIRE_NEURONS_PASSES_CUDA_PASSES_CUH

#include "backward.cuh"
#include "forward.cuh"

#endif
