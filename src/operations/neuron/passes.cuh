// Both passes, for texts that have both (src/jit/layer_source.cpp).
#ifndef SYNFIRE_OPERATIONS_NEURON_PASSES_CUH
#define SYNFIRE_OPERATIONS_NEURON_PASSES_CUH

#include "backward.cuh"
#include "forward.cuh"

#endif
