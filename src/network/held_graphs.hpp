// The graphs of a network that a call uses: nobody else launches or changes them meanwhile.
#ifndef SYNFIRE_NETWORK_HELD_GRAPHS_HPP
#define SYNFIRE_NETWORK_HELD_GRAPHS_HPP

#include <graph/graph.hpp>

#include <iterator>
#include <list>
#include <optional>

namespace synfire::network {

enum class GraphKind : int32_t {
  inference = SYNFIRE_NETWORK_GRAPH_INFERENCE,
  training = SYNFIRE_NETWORK_GRAPH_TRAINING,
  evaluation = SYNFIRE_NETWORK_GRAPH_EVALUATION,
  forward = SYNFIRE_NETWORK_GRAPH_FORWARD,
  backward = SYNFIRE_NETWORK_GRAPH_BACKWARD
};
inline constexpr GraphKind graph_kinds[] = {GraphKind::inference, GraphKind::training, GraphKind::evaluation,
                                            GraphKind::forward, GraphKind::backward};

class HeldGraphs {
 public:
  using Hold = core::Graph::Hold;

  HeldGraphs() = default;
  HeldGraphs(const HeldGraphs&) = delete;
  HeldGraphs& operator=(const HeldGraphs&) = delete;

  // Both throw BUSY if the graph is being launched or changed. A null graph is not recorded yet.
  void add(GraphKind kind, const core::Ref<core::Graph>& graph) {
    if (graph) current_[static_cast<size_t>(kind)].emplace(*graph);
  }
  // A graph that data of another shape have replaced, and that the program still has.
  void add_replaced(core::Graph& graph) { replaced_.emplace_back(graph); }

  const Hold* find(GraphKind kind) const noexcept {
    const std::optional<Hold>& hold = current_[static_cast<size_t>(kind)];
    return hold ? &*hold : nullptr;
  }
  void finish() const {
    for (const std::optional<Hold>& hold : current_)
      if (hold) hold->finish();
    for (const Hold& hold : replaced_) hold.finish();
  }

 private:
  std::optional<Hold> current_[std::size(graph_kinds)];
  std::list<Hold> replaced_;  // takes no memory while it is empty
};

}  // namespace synfire::network

#endif
