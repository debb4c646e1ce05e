#include "make_layer.hpp"

#include "state_rows.hpp"

#include <graph/eager_calls.hpp>
#include <neurons/parameters/set_parameters.hpp>

namespace synfire::operations {

using namespace synfire::core;

Layer* make_layer(Context& context, const LayerSpec& spec) {
  auto* const layer = new Layer(context, spec, value_sender);
  try {
    run_now(context, reset_rows(*layer, {0, 0}, nullptr), nullptr);
    context.device().synchronize();
  } catch (...) {
    layer->release();
    throw;
  }
  return layer;
}

}  // namespace synfire::operations
