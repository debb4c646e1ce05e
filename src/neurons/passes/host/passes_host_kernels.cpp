// The table of one instruction level's passes over a tile of neurons. The inner loop of every step runs over
// neighbouring neurons and is written for the compiler's vectoriser: selections instead of branches, and rows of zeros
// or scratch rows in place of absent arrays.
// This file, host_forward.cpp and host_backward.cpp are compiled once per instruction level, in the namespace
// SYNFIRE_MODEL_LEVEL. They use no standard-library templates: the linker could choose an instance compiled here for
// AVX-512 for all other code.
#include "host_rows.hpp"

namespace synfire::host::SYNFIRE_MODEL_LEVEL {

extern const NeuronKernels neuron_kernels = {forward_f32,  forward_f64,   backward_f32,
                                             backward_f64, surrogate_f32, surrogate_f64};

}  // namespace synfire::host::SYNFIRE_MODEL_LEVEL
