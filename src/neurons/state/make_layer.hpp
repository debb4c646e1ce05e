// Creates layers: the object, the operation that sends it values, and the state after a reset.
#ifndef SYNFIRE_NEURONS_STATE_MAKE_LAYER_HPP
#define SYNFIRE_NEURONS_STATE_MAKE_LAYER_HPP

#include <neurons/layer.hpp>

namespace synfire::operations {

// Throws OUT_OF_MEMORY.
core::Layer* make_layer(core::Context& context, const core::LayerSpec& spec);

}  // namespace synfire::operations

#endif
