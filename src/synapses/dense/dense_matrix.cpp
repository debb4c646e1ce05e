// The object: its memory, mask and initial weights.
#include "dense_matrix.hpp"
#include "initial_weights.hpp"

#include <base/error.hpp>
#include <base/host_memory.hpp>

#include <vector>

namespace synfire::operations {

using namespace synfire::core;

namespace {

template <class R>
void upload_initial_weights(MatrixSynapse& synapse) {
  const DenseSpec& spec = synapse.spec();
  Device& device = synapse.context()->device();
  require_host_memory(spec.weight_bytes(), Paging::pageable);
  device.upload(synapse.weights().data, initial_weights<R>(spec).data(), spec.weight_bytes());
  if (spec.has_bias) device.upload(synapse.bias().data, initial_biases<R>(spec).data(), spec.bias_bytes());
}

}  // namespace

MatrixSynapse::MatrixSynapse(Context& context, const SynapseKind& kind, const SynapseShape& shape,
                             const DenseSpec& spec, std::initializer_list<int64_t> weight_lengths, const uint8_t* mask,
                             double weight_factor, uint64_t slack)
    : Synapse(context, kind, shape, 2), spec_(spec), weight_factor_(weight_factor), slack_(slack) {
  const bool has_planes = !device().is_host();
  device().require(SYNFIRE_MEMORY_DEVICE,
                   spec_.weight_bytes() + spec_.table_bytes() + spec_.rows_bytes() +
                       (has_planes ? spec_.table_planes_bytes() + spec_.rows_planes_bytes() : 0));
  add_array("weight", "weights", true, weight_lengths);
  if (spec_.has_bias) add_array("bias", "bias", true, {spec_.n_outputs});
  mask_ = allocate(spec_.mask_bytes());
  table_ = allocate(spec_.table_bytes() + slack_);
  rows_ = allocate(spec_.rows_bytes() + slack_);
  grid_ = allocate(spec_.grid_bytes());
  bias_on_grid_ = allocate(spec_.grid_bytes());
  if (has_planes) {
    table_planes_ = allocate(spec_.table_planes_bytes());
    rows_planes_ = allocate(spec_.rows_planes_bytes());
  }
  if (mask || spec_.no_self_connections) upload_mask(mask);
}

// A bit for each weight, words [N, ceil(K/32)]. Without a mask, all inputs are connected but perhaps an output's own.
void MatrixSynapse::upload_mask(const uint8_t* mask) {
  const int64_t per_row = spec_.mask_words();
  std::vector<uint32_t> words(static_cast<size_t>(spec_.n_outputs * per_row));
  for (int64_t n = 0; n < spec_.n_outputs; ++n)
    for (int64_t k = 0; k < spec_.n_inputs; ++k) {
      const uint8_t connected = mask ? mask[n * spec_.n_inputs + k] : 1;
      if (connected > 1)
        fail_argument("SYN-SYNAPSE-MASK", "desc.mask[%lld] is %u; allowed are 0 and 1",
                      static_cast<long long>(n * spec_.n_inputs + k), connected);
      if (k == n && spec_.no_self_connections) continue;
      words[static_cast<size_t>(n * per_row + k / 32)] |= static_cast<uint32_t>(connected) << k % 32;
    }
  device().upload(mask_, words.data(), spec_.mask_bytes());
}

void MatrixSynapse::initialize() {
  if (spec_.dtype == SYNFIRE_DTYPE_F64)
    upload_initial_weights<double>(*this);
  else
    upload_initial_weights<float>(*this);
  derive();
}

PrepareDense make_prepare(MatrixSynapse& synapse) {
  return {&synapse,       synapse.weights(), synapse.bias(),         synapse.mask(),         synapse.table(),
          synapse.rows(), synapse.grid(),    synapse.bias_on_grid(), synapse.table_planes(), synapse.rows_planes()};
}

OperationLabel label(const PrepareDense& op) {
  return {nullptr, shape_text(op.synapse->arrays()[0])};
}

}  // namespace synfire::operations
