// The list of kinds with fused steps.
#include "fused_steps.hpp"

#include "dense_steps.hpp"

namespace synfire::operations {

const FusedKind* find_fused(const core::SynapseKind& kind) noexcept {
  static constexpr FusedKind kinds[] = {{&dense_kind, sizeof(DenseMembers), make_dense_steps}};
  for (const FusedKind& fused : kinds)
    if (fused.kind == &kind) return &fused;
  return nullptr;
}

}  // namespace synfire::operations
