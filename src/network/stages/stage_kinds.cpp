// The list of kinds.
#include "stage_kinds.hpp"

namespace synfire::network {

const char* const least_network = "the network has no neurons; an input, a synapse and neurons are needed at least";

std::span<const StageKind* const> all_kinds() noexcept {
  static const StageKind* const list[] = {
      &input_kind,   &dropout_kind,       &synapse_kind,     &conv2d_kind,     &scale_kind,   &population_kind,
      &delayed_kind, &normalization_kind, &pool_kind,        &upsample_kind,   &pad_kind,     &sum_kind,
      &and_kind,     &iand_kind,          &concatenate_kind, &group_mean_kind, &flatten_kind, &neurons_kind,
      &readout_kind, &loss_kind,          &optimizer_kind};
  return list;
}

const StageKind* find_kind(std::string_view name) noexcept {
  for (const StageKind* const kind : all_kinds())
    if (name == kind->traits.name) return kind;
  return nullptr;
}

const StageKind& kind_with(Role role) noexcept {
  for (const StageKind* const kind : all_kinds())
    if (kind->traits.role == role) return *kind;
  return *all_kinds().front();
}

}  // namespace synfire::network
