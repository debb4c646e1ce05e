#include "layer_source.hpp"

#include "kernel_source.hpp"
#include "loaded_kernels.hpp"

#include <base/dtype.hpp>

#include <cmath>
#include <cstdio>

namespace synfire::jit {
namespace {

using core::LayerSpec;

std::string number(double value, bool f64) {
  if (std::isnan(value))
    return f64 ? "synfire::model::from_bits(0x7FF8000000000000ull)" : "synfire::model::from_bits(0x7FC00000u)";
  char text[64];
  std::snprintf(text, sizeof text, f64 ? "%a" : "%af", f64 ? value : static_cast<double>(static_cast<float>(value)));
  return text;
}

std::string whole(int64_t value) {
  return std::to_string(static_cast<long long>(value));
}

std::string storage_of(const LayerSpec& spec) {
  if (spec.dtype == SYNFIRE_DTYPE_F32) return "float";
  if (spec.dtype == SYNFIRE_DTYPE_F64) return "double";
  std::string name = core::name_of_dtype(spec.dtype);  // "f16": F16 of device_types.hpp
  name[0] = static_cast<char>(name[0] - 'a' + 'A');
  return "synfire::cuda::" + name;
}

// The comment at the head of the text.
std::string introduction(const LayerSpec& spec) {
  std::string text = "// The forward and the backward pass of a layer of Synfire, as one file for nvcc:\n//\n";
  text.append("//     model ").append(spec.model->name);
  if (!spec.model->never_fires) text.append(", surrogate ").append(spec.surrogate->name);
  text.append(", T = ").append(whole(spec.extents.n_steps));
  text.append(", B = ").append(whole(spec.extents.batch));
  text.append(", N = ").append(whole(spec.extents.n_neurons));
  text.append(", sequences in ").append(core::name_of_dtype(spec.dtype));
  if (!spec.model->never_fires) {
    text.append(spec.rules.delayed_reset ? ", delayed soft reset"
                : spec.rules.soft_reset  ? ", soft reset"
                                         : ", hard reset");
    text.append(spec.rules.detach_reset ? ", detached" : "");
    text.append(spec.rules.strict_threshold ? ", strict threshold" : "");
  }
  if (spec.rules.refractory_steps > 0)
    text.append(", ").append(whole(spec.rules.refractory_steps)).append(" refractory steps");
  text.append("\n//\n");
  text.append(
      "//     nvcc -std=c++20 -O3 --fmad=false -arch=sm_90 ...\n//\n"
      "// Without --fmad=false the results have other last bits than the library's: a*b + c is fused only where the "
      "text\n"
      "// says fma.\n//\n"
      "// At the end of the file, namespace layer has what a program calls: constants(), forward() and backward(). "
      "Above it\n"
      "// is the library's own text: the mathematics of the model and the surrogate (model/), then the kernels.\n//\n"
      "// Arrays are row-major in device memory. A sequence is [T, B, N] with `pitch` elements from one step to the "
      "next; it\n"
      "// says how it is stored (dtype ");
  for (const int32_t dtype : core::number_dtypes)
    text.append(dtype == 0 ? "" : ", ").append(whole(dtype)).append(": ").append(core::name_of_dtype(dtype));
  text.append(
      "; 5: bytes, of spikes). A null pointer is an array that\n"
      "// is not wanted. States and gradients of states are [B, N] in the type of the arithmetic.\n//\n"
      "//     ForwardArguments, read     parameters   constants(), copied to device memory\n"
      "//                                x            X [T, B, N]\n"
      "//                                v_in, w_in   V and the further variables before the first step\n"
      "//     written                    spikes       dense [T, B, N], or spike_bits: words [T, B, ceil(N/32)], or\n"
      "//                                             spike_time_bits: words [ceil(T/32), B, N]\n"
      "//                                v_final      V after the last step; v_seq, h_seq: V and H of every step; w_*: "
      "as V\n"
      "//                                tape         the state every 32 steps [ceil(T/32), n_states, B, N], for "
      "backward\n"
      "//     BackwardArguments, read    parameters, x, tape     those of the forward\n"
      "//                                grad_spike   dL/dS [T, B, N]; grad_v_seq, grad_v_final, grad_w_*: dL/dV, ...\n"
      "//     written                    grad_x       dL/dX [T, B, N]; grad_v_init, grad_w_init: of the first state\n"
      "//\n// extents, rules and surrogate are filled in by forward() and backward().\n\n");
  return text;
}

// Constants, shapes and launches of this layer.
std::string launches(core::Layer& layer) {
  const LayerSpec& spec = layer.spec();
  const bool f64 = spec.dtype == SYNFIRE_DTYPE_F64, is_linear = spec.model->linear, is_silent = spec.model->never_fires;
  const std::string r = f64 ? "double" : "float", e = storage_of(spec),
                    any = f64 ? "double" : "synfire::cuda::AnyStorage";
  double constants[model::max_constants] = {}, slopes[model::max_slope_rows * model::max_model_constants] = {};
  {
    const auto lock = layer.lock_parameters();
    layer.parameters().constants(0, constants);
    layer.parameters().slopes(0, slopes);
  }
  std::string text =
      "// ======== this layer\n\nnamespace layer {\n\n"
      "using Model = " +
      std::string(spec.is_ruled() ? "synfire::model::Ruled<synfire::model::LoadedModelType>"
                                  : "synfire::model::LoadedModelType") +
      ";\n"
      "using Arithmetic = " +
      r +
      ";\n"
      "using Constants = synfire::core::ParameterBlock<Arithmetic>;\n"
      "using ForwardLaunch = synfire::cuda::ForwardLaunch<Arithmetic>;\n"
      "using BackwardLaunch = synfire::cuda::BackwardLaunch<Arithmetic>;\n\n"
      "inline constexpr long long n_steps = " +
      whole(spec.extents.n_steps) + ", batch = " + whole(spec.extents.batch) +
      ", n_neurons = " + whole(spec.extents.n_neurons) +
      ";\n"
      "inline constexpr long long row = batch * n_neurons;\n\n"
      "// The constants of the formulas, which follow from the parameters as they were when this text was written: "
      "those of\n"
      "// firing (v_threshold, v_reset), of the model and of the surrogate; then the slopes of the model's constants "
      "along its\n"
      "// parameters, for gradients of parameters.\n"
      "inline Constants constants() {\n  Constants c = {};\n";
  for (int k = 0; k < layer.parameters().n_constants(); ++k)
    text.append("  c.shared[").append(whole(k)).append("] = ").append(number(constants[k], f64)).append(";\n");
  for (int k = 0; k < n_slope_rows(*spec.model) * model::max_model_constants; ++k)
    if (slopes[k] != 0)
      text.append("  c.slopes[").append(whole(k)).append("] = ").append(number(slopes[k], f64)).append(";\n");
  text.append("  c.active = row;\n  return c;\n}\n\n");
  const auto flag = [](bool is) { return std::string(is ? "true" : "false"); };
  const std::string rules = "{" + flag(spec.rules.soft_reset) + ", " + flag(spec.rules.detach_reset) + ", " +
                            flag(spec.rules.strict_threshold) + ", " + flag(spec.rules.delayed_reset) + ", " +
                            whole(spec.rules.refractory_steps) + "}";
  text.append(
      "// Neurons are independent: a thread computes one over all steps, and a warp a tile of 32. Packed words must "
      "not "
      "cross\n"
      "// batch rows, so with them, each batch row has tiles of its own.\n"
      "inline cudaError_t forward(ForwardLaunch launch, cudaStream_t stream = nullptr) {\n"
      "  launch.arguments.extents = {n_steps, batch, n_neurons};\n"
      "  launch.arguments.rules = " +
      rules +
      ";\n"
      "  const bool by_rows = launch.arguments.spike_bits && batch > 1 && n_neurons % 32 != 0;\n"
      "  const long long of_row = (n_neurons + 31) / 32;\n"
      "  launch.tiles = by_rows ? synfire::cuda::Tiles{row, batch * of_row, of_row, 0}\n"
      "                         : synfire::cuda::Tiles{row, (row + 31) / 32, 0, 0};\n"
      "  const unsigned threads = synfire::cuda::threads_per_block, warps = threads / 32;\n"
      "  const unsigned blocks = static_cast<unsigned>((launch.tiles.count + warps - 1) / warps);\n"
      "  synfire::cuda::forward<Model, " +
      any +
      ", synfire::cuda::OneNeuron, synfire::cuda::ForwardOutputs::any><<<blocks, threads, 0, stream>>>(launch);\n"
      "  return cudaGetLastError();\n}\n\n");
  const std::string surrogate = is_silent ? "synfire::cuda::NoSurrogate" : "synfire::model::LoadedSurrogateType";
  text.append(
      "// Through time backwards, 32 steps at a time: H is computed again from the tape into shared memory, then the "
      "steps are\n"
      "// walked in reverse.\n"
      "inline cudaError_t backward(BackwardLaunch launch, cudaStream_t stream = nullptr) {\n"
      "  launch.arguments.extents = {n_steps, batch, n_neurons};\n"
      "  launch.arguments.rules = " +
      rules +
      ";\n"
      "  launch.tiles = {row, (row + 31) / 32, 0, 0};\n");
  if (!is_linear)
    text.append(
        "  constexpr int variables =\n"
        "      synfire::cuda::backward_variables<Model>(synfire::cuda::BackwardInputs::any);\n"
        "  const unsigned threads = synfire::cuda::backward_block(variables, sizeof(Arithmetic));\n"
        "  const unsigned blocks = static_cast<unsigned>((row + threads - 1) / threads);\n"
        "  const auto shared = static_cast<unsigned>(\n"
        "      synfire::cuda::backward_shared_bytes(n_steps, 1, variables, 0, sizeof(Arithmetic)));\n"
        "  synfire::cuda::backward<Model, " +
        surrogate + ", " + any +
        ", synfire::cuda::OneNeuron, synfire::cuda::BackwardInputs::any><<<blocks, threads, shared, "
        "stream>>>(launch);\n");
  else
    text.append(
        "  const unsigned threads = synfire::cuda::backward_threads;\n"
        "  const unsigned blocks = static_cast<unsigned>((row + threads - 1) / threads);\n"
        "  synfire::cuda::linear_backward<Model, " +
        any + ", synfire::cuda::OneNeuron><<<blocks, threads, 0, stream>>>(launch);\n");
  text.append("  return cudaGetLastError();\n}\n\n");
  // The instances for sequences that all have the layer's type.
  if (is_silent && !is_linear) return text + "}  // namespace layer\n";
  text.append("// The same for sequences that are all stored as " + std::string(core::name_of_dtype(spec.dtype)) +
              ", and one output: the library takes these where it can, and accesses\n"
              "// of several neurons at once where there are many. launch as above.\n");
  if (!is_silent)
    text.append("inline constexpr auto* forward_to_bits =\n    &synfire::cuda::forward<Model, " + e +
                ", synfire::cuda::OneNeuron, synfire::cuda::ForwardOutputs::bits>;\n"
                "inline constexpr auto* forward_to_dense =\n    &synfire::cuda::forward<Model, " +
                e +
                ", synfire::cuda::OneNeuron, synfire::cuda::ForwardOutputs::dense>;\n"
                "inline constexpr auto* backward_from_spikes =\n    &synfire::cuda::backward<Model, " +
                surrogate + ", " + e + ", synfire::cuda::OneNeuron, synfire::cuda::BackwardInputs::spikes>;\n");
  else
    text.append("inline constexpr auto* forward_to_potential =\n    &synfire::cuda::forward<Model, " + e +
                ", synfire::cuda::OneNeuron, synfire::cuda::ForwardOutputs::potential>;\n");
  text.append("\n}  // namespace layer\n");
  return text;
}

}  // namespace

std::string layer_source(core::Layer& layer) {
  const LayerSpec& spec = layer.spec();
  const core::SurrogateRow* const surrogate = spec.model->never_fires ? nullptr : spec.surrogate;
  return introduction(spec) +
         kernel_source(text_of(*spec.model), spec.model->id, surrogate ? text_of(*surrogate) : nullptr,
                       surrogate ? surrogate->id : 0, "neurons/passes/cuda/passes.cuh", Source::Marks::comments) +
         "\n" + launches(layer);
}

}  // namespace synfire::jit
