// The kinds of stages, and the functions by which programs describe stages of each.
#ifndef SYNFIRE_NETWORK_STAGES_STAGE_KINDS_HPP
#define SYNFIRE_NETWORK_STAGES_STAGE_KINDS_HPP

#include <network/design.hpp>

namespace synfire::network {

extern const StageKind &input_kind, &dropout_kind, &synapse_kind, &neurons_kind, &readout_kind, &loss_kind,
    &optimizer_kind, &sum_kind, &and_kind, &iand_kind, &concatenate_kind, &scale_kind, &group_mean_kind, &flatten_kind,
    &conv2d_kind, &pool_kind, &normalization_kind, &upsample_kind, &pad_kind, &population_kind, &delayed_kind;

// All kinds, in the order of texts.
std::span<const StageKind* const> all_kinds() noexcept;
const StageKind* find_kind(std::string_view name) noexcept;
const StageKind& kind_with(Role role) noexcept;
// The text for a network without the stages that every network needs.
extern const char* const least_network;

// ---- adding stages of the kinds that have a function in synfire.h; each returns the stage's number
size_t add_input(Design& design, const char* name, int32_t kind, int64_t n_features, const Reads& reads = {});
size_t add_dropout(Design& design, const char* name, double probability, const Reads& reads = {});
size_t add_synapse(Design& design, const char* name, int64_t n_outputs, const Reads& reads = {});
size_t add_neurons(Design& design, const char* name, int32_t model, const Reads& reads = {});
size_t add_readout(Design& design, const char* name, int32_t reduction, bool of_spikes, const Reads& reads = {});
size_t add_loss(Design& design, const char* name, int32_t kind, const Reads& reads = {});
size_t add_optimizer(Design& design, const char* name, int32_t kind, double learning_rate, const Reads& reads = {});

// ---- stages that are there

struct TrainedParameter {
  std::string name;
  double rate_factor, decay_factor, lower, upper;  // no bound: infinite; that of the parameter's kind: NaN
};
void train_parameter(Design& design, const char* name, TrainedParameter&& parameter, bool per_neuron);
// How many numbers a parameter of neurons is.
void set_scope(Design& design, const char* name, const char* parameter, core::Scope scope);
// Compares the lengths with the shapes before it reads anything.
void set_mask(Design& design, const char* name, const uint8_t* mask, uint64_t length);
void set_kernel_mask(Design& design, size_t conv2d, std::span<const uint8_t> mask);
// Gives the value "continues" to the readouts that may have it.
void continue_readouts(Design& design);
void set_class_weights(Design& design, const char* name, const float* weights, uint64_t n_weights);

}  // namespace synfire::network

#endif
