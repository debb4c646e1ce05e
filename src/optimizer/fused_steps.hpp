// Kinds of synapses with their own launches for a step on a GPU, which also derive what their products read. Arrays of
// all other kinds are updated element by element, and then derived.
#ifndef SYNFIRE_OPTIMIZER_FUSED_STEPS_HPP
#define SYNFIRE_OPTIMIZER_FUSED_STEPS_HPP

#include "optimizer_arguments.hpp"

#include <synapses/synapse.hpp>

#include <cstddef>
#include <memory>
#include <span>

namespace synfire::operations {

class FusedSteps {
 public:
  virtual ~FusedSteps() = default;
  // `arrays` has an entry for each array of the synapse; those that are not members have no gradient.
  virtual void add(core::Synapse& synapse, std::span<const MemberArray> arrays) = 0;
  // The launches need this table in device memory.
  virtual std::span<const std::byte> table() const = 0;
  virtual void enqueue(const void* table_on_device, const OptimizerState* state, const OptimizerRates& rates,
                       cuda::Launcher& launcher) const = 0;
};

struct FusedKind {
  const core::SynapseKind* kind;
  uint64_t bytes_of_synapse;  // in table()
  std::unique_ptr<FusedSteps> (*make)();
};
const FusedKind* find_fused(const core::SynapseKind& kind) noexcept;

}  // namespace synfire::operations

#endif
