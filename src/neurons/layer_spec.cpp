#include "layer_spec.hpp"

#include "parameter_block.hpp"

#include <base/dtype.hpp>
#include <base/error.hpp>

#include <synfire/model/reduction.hpp>

#include <cstdio>

namespace synfire::core {
namespace {

constexpr int64_t max_bytes = int64_t{1} << 62;
// A countdown of as many steps, and one more, is exact in f32.
constexpr int32_t most_refractory_steps = 1'000'000;

// Steps of spikes that a layer keeps: as many as an edge of a network may have a delay.
constexpr int64_t most_history_steps = 65'535;

// Limits sizes in bytes: the widest array has T + 1 rows of 8 bytes, and one row more for each step of the history.
void check_representable(const synfire_layer_desc& desc, int64_t batch) {
  int64_t row = 0, sequence = 0, bytes = 0;
  if (desc.n_steps > max_bytes - 32 || __builtin_mul_overflow(batch, desc.n_neurons, &row) || row > max_bytes - 32 ||
      __builtin_mul_overflow(desc.n_steps + desc.history_steps + 32, row + 32, &sequence) ||
      __builtin_mul_overflow(sequence, 16, &bytes) || bytes > max_bytes)
    fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-LAYER-OVERFLOW",
         "desc.n_steps is %lld, desc.batch %lld and desc.n_neurons %lld; their product must stay below 2^58 elements%s",
         static_cast<long long>(desc.n_steps), static_cast<long long>(batch), static_cast<long long>(desc.n_neurons),
         desc.history_steps > 0 ? ", also with the steps of desc.history_steps" : "");
}

void check_fires(const ModelRow& model, int32_t value, const char* name) {
  if (model.never_fires && value != 0)
    fail_argument("SYN-LAYER-NO-SPIKES", "desc.%s is %d; model \"%s\" never fires, 0 is needed", name, value,
                  model.name);
}

}  // namespace

LayerSpec::LayerSpec(const synfire_layer_desc& desc) {
  FoundModel found_model = find_model(desc.model == SYNFIRE_MODEL_DEFAULT ? SYNFIRE_MODEL_LIF : desc.model);
  model = found_model.row;
  loaded_model = std::move(found_model.loaded);
  if (!model) fail_argument("SYN-LAYER-MODEL", "desc.model is %d; this library has %s", desc.model, model_names());
  FoundSurrogate found_surrogate =
      find_surrogate(desc.surrogate == SYNFIRE_SURROGATE_DEFAULT ? SYNFIRE_SURROGATE_SIGMOID : desc.surrogate);
  surrogate = found_surrogate.row;
  loaded_surrogate = std::move(found_surrogate.loaded);
  if (!surrogate)
    fail_argument("SYN-LAYER-SURROGATE", "desc.surrogate is %d; this library has %s", desc.surrogate,
                  surrogate_names());
  if (desc.n_steps < 1)
    fail_argument("SYN-LAYER-STEPS", "desc.n_steps is %lld; at least 1 is needed",
                  static_cast<long long>(desc.n_steps));
  if (desc.n_neurons < 1)
    fail_argument("SYN-LAYER-NEURONS", "desc.n_neurons is %lld; at least 1 is needed",
                  static_cast<long long>(desc.n_neurons));
  if (desc.batch < 0)
    fail_argument("SYN-LAYER-BATCH", "desc.batch is %lld; at least 1 is needed (0 means 1)",
                  static_cast<long long>(desc.batch));
  check_dtype("SYN-LAYER-DTYPE", desc.dtype, number_dtypes);
  if (desc.reset < SYNFIRE_RESET_HARD || desc.reset > SYNFIRE_RESET_SOFT_DELAYED)
    fail_argument("SYN-LAYER-RESET",
                  "desc.reset is %d; allowed are SYNFIRE_RESET_HARD (0), SYNFIRE_RESET_SOFT (1) and "
                  "SYNFIRE_RESET_SOFT_DELAYED (2)",
                  desc.reset);
  check_flag(desc.detach_reset, "SYN-LAYER-FLAG", "desc.detach_reset");
  check_flag(desc.undecayed_input, "SYN-LAYER-FLAG", "desc.undecayed_input");
  check_flag(desc.strict_threshold, "SYN-LAYER-FLAG", "desc.strict_threshold");
  if (desc.refractory_steps < 0 || desc.refractory_steps > most_refractory_steps)
    fail_argument("SYN-LAYER-REFRACTORY", "desc.refractory_steps is %d; allowed are 0 to %d", desc.refractory_steps,
                  most_refractory_steps);
  check_fires(*model, desc.surrogate, "surrogate");
  check_fires(*model, desc.reset, "reset");
  check_fires(*model, desc.detach_reset, "detach_reset");
  check_fires(*model, desc.strict_threshold, "strict_threshold");
  check_fires(*model, desc.refractory_steps, "refractory_steps");
  if (model->never_fires) surrogate = &no_surrogate;
  if (desc.undecayed_input && !model->has_input_decay)
    fail_argument("SYN-LAYER-INPUT-DECAY", "desc.undecayed_input is 1; model \"%s\" has no input decay to switch off",
                  model->name);
  if (desc.threads_per_block % 32 != 0 || desc.threads_per_block > 128)
    fail_argument("SYN-LAYER-THREADS", "desc.threads_per_block is %u; allowed are 32, 64, 96, 128 and 0 for automatic",
                  desc.threads_per_block);
  if (desc.history_steps < 0 || desc.history_steps > most_history_steps)
    fail_argument("SYN-LAYER-HISTORY", "desc.history_steps is %lld; allowed are 0 to %lld",
                  static_cast<long long>(desc.history_steps), static_cast<long long>(most_history_steps));
  check_fires(*model, static_cast<int32_t>(desc.history_steps), "history_steps");
  const int64_t batch = desc.batch == 0 ? 1 : desc.batch;
  check_representable(desc, batch);
  extents = {desc.n_steps, batch, desc.n_neurons};
  // Without spikes a detached reset leaves a gradient alone even where H is not finite.
  rules = {.soft_reset = desc.reset != SYNFIRE_RESET_HARD,
           .detach_reset = desc.detach_reset == 1 || model->never_fires,
           .strict_threshold = desc.strict_threshold == 1,
           .delayed_reset = desc.reset == SYNFIRE_RESET_SOFT_DELAYED,
           .refractory_steps = desc.refractory_steps};
  if (rules.count_down() && model->n_states == model::max_states)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-LAYER-COUNTDOWN",
         "%s needs a state variable of its own; model \"%s\" has four variables, the most that there are",
         rules.delayed_reset ? "SYNFIRE_RESET_SOFT_DELAYED" : "desc.refractory_steps", model->name);
  if (rules.count_down()) model = loaded_model ? &loaded_model->counting_row() : counting(*model);
  dtype = desc.dtype;
  undecayed_input = desc.undecayed_input == 1;
  threads_per_block = static_cast<int>(desc.threads_per_block);
  history_steps = desc.history_steps;
}

void LayerSpec::check_context(const Context& context) const {
  check_loaded(loaded_model.get(), context, model->id, "desc.model");
  check_loaded(loaded_surrogate.get(), context, surrogate->id, "desc.surrogate");
}

uint64_t LayerSpec::tape_bytes() const {
  constexpr int64_t interval = model::checkpoint_interval;
  return static_cast<uint64_t>((extents.n_steps + interval - 1) / interval * model->n_states) * row_bytes();
}

uint64_t LayerSpec::block_bytes() const {
  return dtype == SYNFIRE_DTYPE_F64 ? sizeof(ParameterBlock<double>) : sizeof(ParameterBlock<float>);
}

uint64_t LayerSpec::master_offset() const {
  return (block_bytes() + 255) / 256 * 256;
}

uint64_t LayerSpec::per_neuron_bytes() const {
  return static_cast<uint64_t>(n_constants(*model)) * static_cast<uint64_t>(extents.n_neurons) * element_bytes();
}

uint64_t LayerSpec::gradient_bytes() const {
  const int64_t row = extents.row();
  const int64_t n_chunks = (row + model::reduction_chunk - 1) / model::reduction_chunk;
  return static_cast<uint64_t>(n_gradients(*model) * (row + n_chunks)) * sizeof(double);
}

uint64_t LayerSpec::slope_bytes() const {
  return static_cast<uint64_t>(n_slope_rows(*model) * synfire::model::max_model_constants) *
         static_cast<uint64_t>(extents.n_neurons) * element_bytes();
}

std::string LayerSpec::shape_text(bool sequence, int32_t element) const {
  char text[128];
  const auto& e = extents;
  if (sequence)
    std::snprintf(text, sizeof text, "%s [%lld, %lld, %lld]", name_of_dtype(element), static_cast<long long>(e.n_steps),
                  static_cast<long long>(e.batch), static_cast<long long>(e.n_neurons));
  else
    std::snprintf(text, sizeof text, "%s [%lld, %lld]", name_of_dtype(element), static_cast<long long>(e.batch),
                  static_cast<long long>(e.n_neurons));
  return text;
}

}  // namespace synfire::core
