#include "pass_instances.hpp"

#include "passes_storage.hpp"

#include <base/dtype.hpp>
#include <base/error.hpp>

#include <algorithm>

namespace synfire::cuda {

using namespace synfire::core;
using namespace synfire::operations;

namespace {

// Sequences of one type take the instances for that type.
template <class... Arrays>
bool all_of_type(int32_t dtype, const Arrays&... arrays) {
  return ((!arrays.data || arrays.dtype == dtype) && ...);
}

template <size_t n>
bool any_given(const View (&arrays)[n]) {
  return std::any_of(arrays, arrays + n, [](const View& array) { return array.data != nullptr; });
}

ForwardOutputs wanted_of(const LayerSpec& spec, const Forward& op) {
  if (spec.model->linear)
    return op.h_seq.data || op.tape_h.data || !all_of_type(spec.dtype, op.x, op.v_seq) ? ForwardOutputs::any
                                                                                       : ForwardOutputs::potential;
  if (op.v_seq.data || op.h_seq.data || any_given(op.w_seq) || op.tape_h.data || !all_of_type(spec.dtype, op.x))
    return ForwardOutputs::any;
  switch (op.spike_format) {
    case SpikeFormat::bits:
      return ForwardOutputs::bits;
    case SpikeFormat::time_bits:
      return ForwardOutputs::time_bits;
    case SpikeFormat::dense:
      if (op.spikes.dtype == SYNFIRE_DTYPE_U8) return ForwardOutputs::bytes;
      return op.spikes.dtype == spec.dtype ? ForwardOutputs::dense : ForwardOutputs::any;
    case SpikeFormat::none:
      break;
  }
  return ForwardOutputs::any;
}

BackwardInputs wanted_of(const LayerSpec& spec, const Backward& op) {
  if (op.gradients.count > 0) return BackwardInputs::parameters;
  if (spec.model->linear)
    return all_of_type(spec.dtype, op.grad_v_seq, op.grad_x) ? BackwardInputs::potential : BackwardInputs::any;
  if (op.grad_spike.data && op.grad_x.data && !op.grad_v_seq.data && !any_given(op.grad_w_seq) &&
      all_of_type(spec.dtype, op.x, op.grad_spike, op.grad_x))
    return BackwardInputs::spikes;
  return BackwardInputs::any;
}

Storage storage_of_layer(const LayerSpec& spec) {
  return core::with_element_type(NumberTypes{}, spec.dtype,
                                 [](auto type) { return storage_of<typename decltype(type)::Type>; });
}

}  // namespace

Instances instances_for(const LayerSpec& spec, const Forward&) {
  return spec.loaded_model ? Instances::all : instances_of(spec.model->id, spec.model->linear);
}
Instances instances_for(const LayerSpec& spec, const Backward&) {
  return spec.loaded() ? Instances::all : instances_of(spec.model->id, spec.model->linear);
}

namespace {

// The storage of the instances of Ruled kernels.
Storage ruled_storage(const LayerSpec& spec) {
  return spec.dtype == SYNFIRE_DTYPE_F64 ? Storage::f64 : Storage::any;
}

}  // namespace

ForwardInstance instance_of(const LayerSpec& spec, const Forward& op) {
  if (spec.is_ruled()) return {ruled_storage(spec), ForwardOutputs::any};
  return instance_for(instances_for(spec, op), storage_of_layer(spec), wanted_of(spec, op));
}
BackwardInstance instance_of(const LayerSpec& spec, const Backward& op) {
  if (spec.is_ruled()) return {ruled_storage(spec), BackwardInputs::parameters};
  return instance_for(instances_for(spec, op), storage_of_layer(spec), wanted_of(spec, op));
}

// ---- loaded kernels, and those of the build -------------------------------------------------------------------------

namespace {

// The instance for a loaded model or surrogate.
struct LoadedInstance {
  bool is_forward;
  Storage storage;
  Ownership ownership;
  int array;  // ForwardOutputs or BackwardInputs
  bool ruled;
};

std::string text_of(const LoadedInstance& instance, const ModelRow& row) {
  constexpr const char* storage[] = {"float", "double", "synfire::cuda::F16", "synfire::cuda::Bf16",
                                     "synfire::cuda::AnyStorage"};
  constexpr const char* outputs[] = {"bits", "time_bits", "dense", "bytes", "any", "potential"};
  constexpr const char* inputs[] = {"spikes", "any", "parameters", "potential"};
  constexpr const char* kinds[] = {"strided", "adjacent", "strided_at_once", "adjacent_at_once", "adjacent_of_rows"};
  const std::string model =
      instance.ruled ? "synfire::model::Ruled<synfire::model::LoadedModelType>" : "synfire::model::LoadedModelType";
  const std::string of = std::string(", ")
                             .append(storage[static_cast<int>(instance.storage)])
                             .append(", synfire::cuda::Owns<")
                             .append(std::to_string(instance.ownership.width))
                             .append(", synfire::cuda::OwnershipKind::")
                             .append(kinds[static_cast<int>(instance.ownership.kind)])
                             .append(">");
  if (instance.is_forward)
    return "synfire::cuda::forward<" + model + of + ", synfire::cuda::ForwardOutputs::" + outputs[instance.array] + ">";
  if (row.linear && static_cast<BackwardInputs>(instance.array) != BackwardInputs::parameters)
    return "synfire::cuda::linear_backward<" + model + of + ">";
  return "synfire::cuda::backward<" + model +
         (row.never_fires ? ", synfire::cuda::NoSurrogate" : ", synfire::model::LoadedSurrogateType") + of +
         ", synfire::cuda::BackwardInputs::" + inputs[instance.array] + ">";
}

const void* loaded_kernel(const LayerSpec& spec, const LoadedInstance& instance) {
  constexpr uint32_t most_storages = 5, most_kinds = 5, most_width = 4, most_arrays = 7;
  constexpr uint32_t ruled_array = most_arrays - 1;  // of the only instance of a Ruled kernel
  uint32_t key = instance.is_forward ? 0 : 1;
  key = key * most_storages + static_cast<uint32_t>(instance.storage);
  key = key * most_kinds + static_cast<uint32_t>(instance.ownership.kind);
  key = key * most_width + static_cast<uint32_t>(instance.ownership.width - 1);
  key = key * most_arrays + (instance.ruled ? ruled_array : static_cast<uint32_t>(instance.array));
  static_assert(2 * most_storages * most_kinds * most_width * most_arrays <= KernelRequest::most_kernels);
  const auto expression = [&] { return text_of(instance, *spec.model); };
  return spec.loaded()->kernel(
      {key, instance.is_forward ? "neurons/passes/cuda/forward.cuh" : "neurons/passes/cuda/backward.cuh", expression,
       *spec.model, instance.is_forward || spec.model->never_fires ? nullptr : spec.surrogate});
}

void require_kernels(const LayerSpec& spec, const BuiltKernels& built) {
  const char* const dtype = name_of_dtype(spec.dtype);
  const bool has_dtype = built.have_dtype(dtype);
  if (has_dtype && built.have_model(spec.model->id, spec.model->name)) return;
  const char* const absent = has_dtype ? spec.model->name : dtype;
  const auto listed = [](const char* names) {
    std::string text = *names != '\0' ? names : "ALL";
    std::replace(text.begin(), text.end(), ':', ';');
    return text;
  };
  fail(
      SYNFIRE_ERROR_UNSUPPORTED, "SYN-LAUNCH-KERNELS",
      "this build of Synfire has no GPU kernels for %s (SYNFIRE_CUDA_DTYPES=%s, SYNFIRE_CUDA_MODELS=%s): build it with "
      "%s in the list, or create the context on the host",
      absent, listed(built.dtypes).c_str(), listed(built.models).c_str(), absent);
}

}  // namespace

const void* kernel_for(const Forward& op, const Plan& plan, const BuiltKernels& built) {
  const LayerSpec& spec = op.layer->spec();
  const ForwardInstance instance = instance_of(spec, op);
  if (spec.loaded_model)
    return loaded_kernel(spec,
                         {true, instance.storage, plan.ownership, static_cast<int>(instance.outputs), spec.is_ruled()});
  require_kernels(spec, built);
  if (spec.is_ruled())
    return spec.dtype == SYNFIRE_DTYPE_F64 ? ruled_forward_kernel<double>(spec.model->id)
                                           : ruled_forward_kernel<AnyStorage>(spec.model->id);
  return with_storage(instance.storage, [&](auto e) {
    return forward_kernel<decltype(e)>(spec.model->id, plan.ownership, instance.outputs);
  });
}

const void* kernel_for(const Backward& op, const Plan& plan, const BuiltKernels& built) {
  const LayerSpec& spec = op.layer->spec();
  const BackwardInstance instance = instance_of(spec, op);
  if (spec.loaded())
    return loaded_kernel(spec,
                         {false, instance.storage, plan.ownership, static_cast<int>(instance.inputs), spec.is_ruled()});
  require_kernels(spec, built);
  if (spec.is_ruled())
    return spec.dtype == SYNFIRE_DTYPE_F64 ? ruled_backward_kernel<double>(spec.model->id)
                                           : ruled_backward_kernel<AnyStorage>(spec.model->id);
  return with_storage(instance.storage, [&](auto e) {
    return backward_kernel<decltype(e)>(spec.model->id, spec.surrogate->id, plan.ownership, instance.inputs);
  });
}

}  // namespace synfire::cuda
