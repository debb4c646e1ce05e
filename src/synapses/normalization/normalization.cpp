#include "normalization.hpp"

#include <base/dtype.hpp>
#include <base/error.hpp>

#include <string_view>
#include <vector>

namespace synfire::operations {

using namespace synfire::core;

namespace {

constexpr const char* array_names[] = {"weight", "bias", "running_mean", "running_variance"};

[[noreturn]] void fail_product() {
  fail(
      SYNFIRE_ERROR_UNSUPPORTED, "SYN-SYNAPSE-NORMALIZATION",
      "the synapse is of the kind \"normalization\", which has no product; synfire_normalize computes with its arrays");
}

int64_t row_operations(const Synapse& synapse) {
  return synapse.n_outputs();
}
void check_gradients(const Synapse&, int64_t, int64_t, bool, bool) {
  fail_product();
}
OperationList product(const SynapsePass&, const View&) {
  fail_product();
}
OperationList gradients(const SynapsePass&, const View&, bool) {
  fail_product();
}
OperationList input_gradient(const SynapsePass&, const View&, const View&, bool) {
  fail_product();
}
OperationList derive(Synapse&) {
  return {};
}

SynapseShape shape_of(const NormalizationSpec& spec) {
  Flow map;
  map.height = spec.map.height;
  map.width = spec.map.width;
  map.channels = spec.map.channels;
  return {map, map, spec.dtype, !spec.affine, 32};
}

}  // namespace

const SynapseKind normalization_kind = {"normalization", array_names,     false,   false,
                                        row_operations,  check_gradients, product, gradients,
                                        input_gradient,  derive,          nullptr, nullptr};

NormalizationSynapse::NormalizationSynapse(Context& context, const NormalizationSpec& spec)
    : Synapse(context, normalization_kind, shape_of(spec), 4), affine_(spec.affine), gamma_(spec.gamma) {
  const int64_t channels = spec.map.channels;
  device().require(SYNFIRE_MEMORY_DEVICE, static_cast<uint64_t>(channels) * bytes_of_dtype(spec.dtype) * 4);
  if (affine_) {
    add_array("weight", "weight", true, {channels});
    add_array("bias", "bias", true, {channels});
  }
  add_array("running_mean", "running_mean", false, {channels});
  add_array("running_variance", "running_variance", false, {channels});
}

void NormalizationSynapse::initialize() {
  for (const SynapseArray& array : arrays()) {
    const std::string_view name = array.name;
    const double value = name == "weight" ? gamma_ : name == "running_variance" ? 1 : 0;
    const auto upload = [&]<class R>(R number) {
      const std::vector<R> numbers(static_cast<size_t>(array.count()), number);
      device().upload(array.values.data, numbers.data(), array.bytes());
    };
    if (dtype() == SYNFIRE_DTYPE_F64)
      upload(value);
    else
      upload(static_cast<float>(value));
  }
}

}  // namespace synfire::operations
