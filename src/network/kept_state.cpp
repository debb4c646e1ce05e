#include "kept_state.hpp"

#include "parts.hpp"

#include <base/context.hpp>
#include <graph/eager_calls.hpp>
#include <operations/elementwise/copy.hpp>

namespace synfire::network {

using namespace synfire::core;

KeptState::KeptState(Parts& parts) : parts_(parts) {
  offsets_.reserve(parts.design.stages().size() + 1);  // keep() needs no memory
  std::vector<CarriedState> states;
  for (const std::unique_ptr<StageParts>& stage : parts.stages) stage->list_state(states);
  for (const CarriedState& state : states) {
    copies_.push_back(parts.make(state.dtype, {state.batch, state.width}));
    const View copy = copies_.back()->view();
    keep_.emplace_back(operations::Copy{state.memory, copy});
    put_back_.emplace_back(operations::Copy{copy, state.memory});
  }
}

// The processor copies host memory itself, without the program's job system, which may be what has failed.
void KeptState::run(const OperationList& copies) const {
  Device& device = parts_.context.device();
  if (device.is_host()) {
    for (const Operation& operation : copies) {
      const auto& copy = *operation.as<operations::Copy>();
      device.upload(copy.destination.data, copy.source.data, copy.source.bytes);
    }
    return;
  }
  run_now(parts_.context, copies, nullptr);
  device.synchronize();
}

void KeptState::keep(const HeldGraphs& held) {
  const RecordedGraph& inference = parts_.graph(GraphKind::inference);
  offsets_.clear();
  for (const RecordedGraph::Value& one : inference.values)
    if (one.is_offset()) offsets_.push_back(held.find(GraphKind::inference)->counted(one.operation, one.known_as));
  run(keep_);
}

void KeptState::put_back(const HeldGraphs& held) const {
  size_t i = 0;
  for (const RecordedGraph::Value& one : parts_.graph(GraphKind::inference).values)
    if (one.is_offset()) held.find(GraphKind::inference)->set_whole(one.operation, one.known_as, offsets_[i++]);
  run(put_back_);
}

}  // namespace synfire::network
