// The arrays of stages without neurons that the forward graph of a loss of the program's own leaves for the backward
// graph, beyond the tapes of layers. A backward uses them up, and other graphs of the network overwrite them.
#ifndef SYNFIRE_NETWORK_FRAME_TAPE_HPP
#define SYNFIRE_NETWORK_FRAME_TAPE_HPP

#include "held_graphs.hpp"

#include <atomic>
#include <memory>
#include <utility>

namespace synfire::network {

class FrameTape {
 public:
  enum class State : int32_t { none, left, used, overwritten };

  void set(State state) noexcept { state_.store(state, std::memory_order_relaxed); }
  // Throws STALE_TAPE unless a forward has left it and nothing has changed it since.
  void check() const;

 private:
  std::atomic<State> state_{State::none};
};

// Keeps the tape for a graph of the network.
class FrameTapeKeeper final : public core::KeeperOf<FrameTapeKeeper> {
 public:
  explicit FrameTapeKeeper(const core::Graph&) noexcept {}
  void keep(std::shared_ptr<FrameTape> tape, GraphKind kind) noexcept {
    tape_ = std::move(tape);
    kind_ = kind;
  }

  void commit() noexcept override {}
  void drop() noexcept override {}
  void instantiate() override {}
  void plan(std::span<const uint8_t>) noexcept override { checks_ = kind_ == GraphKind::backward; }
  void rebind(core::Buffer&, core::Buffer&) noexcept override {}
  void check() const override { tape_->check(); }
  void before(uint32_t) override {}
  void stamp() noexcept {}
  void leave(bool /*captured*/) noexcept {
    tape_->set(kind_ == GraphKind::forward    ? FrameTape::State::left
               : kind_ == GraphKind::backward ? FrameTape::State::used
                                              : FrameTape::State::overwritten);
  }
  void spoil() noexcept { tape_->set(FrameTape::State::overwritten); }

 private:
  std::shared_ptr<FrameTape> tape_;
  GraphKind kind_ = GraphKind::inference;
};

}  // namespace synfire::network

#endif
