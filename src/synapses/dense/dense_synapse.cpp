// The object.
#include "dense.hpp"

namespace synfire::operations {

using namespace synfire::core;

namespace {

SynapseShape shape_of(const DenseSpec& spec) {
  SynapseShape shape = {{}, {}, spec.dtype, spec.frozen, spec.gradient_bits, spec.weight_bits, spec.masked};
  shape.input.channels = spec.n_inputs;
  shape.input.elements = spec.input == InputKind::spikes ? Elements::spikes : Elements::values;
  shape.output.channels = spec.n_outputs;
  return shape;
}

}  // namespace

DenseSynapse::DenseSynapse(Context& context, const DenseSpec& spec, const uint8_t* mask)
    : MatrixSynapse(context, dense_kind, shape_of(spec), spec, {spec.n_outputs, spec.n_inputs}, mask) {}

DenseSynapse* make_dense(Context& context, const DenseSpec& spec, const uint8_t* mask) {
  Ref<DenseSynapse> synapse = Ref<DenseSynapse>::adopt(new DenseSynapse(context, spec, mask));
  synapse->initialize();
  synapse->retain();
  return synapse.get();
}

}  // namespace synfire::operations
