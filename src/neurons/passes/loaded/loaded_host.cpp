// The text in front of a user's model or surrogate when it is compiled at run time for layers on the host (src/jit).
// The library contains it as text only: SYNFIRE_LOADED makes models.hpp take the lists made for this text.
#include "loaded_table.hpp"

#include <neurons/passes/host/host_backward.cpp>
#include <neurons/passes/host/host_forward.cpp>
#include <neurons/passes/host/passes_host_kernels.cpp>

SYNFIRE_EXPORT_LOADED(&synfire::host::SYNFIRE_MODEL_LEVEL::neuron_kernels)
