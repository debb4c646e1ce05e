// A monitored stage adds up the spikes of its neurons, or the norm of its weights' gradient, in replays. Without a
// monitor there is nothing of this in a graph.
#ifndef SYNFIRE_NETWORK_MONITORS_HPP
#define SYNFIRE_NETWORK_MONITORS_HPP

#include "parts.hpp"

#include <synapses/synapse.hpp>

namespace synfire::network {

class StageRecorder;

class SpikeMonitor {
 public:
  // Without one unless the program has asked for it.
  explicit SpikeMonitor(const StageMaker& maker);
  explicit operator bool() const noexcept { return counts_.get() != nullptr; }

  void record(StageRecorder& recorder, Buffer& spikes) const;
  void read(synfire_network_monitor& monitor) const;
  void clear() const;
  // From the next replay of frames on, the first rows alone count.
  void count_rows(int64_t n_rows) const;

 private:
  Ref<Buffer> counts_, totals_;  // u64 [N], u64 [2]; null: none
  Ref<Buffer> n_rows_;           // u32 [1]: of frames, how many rows count
};

class WeightMonitor {
 public:
  // `trains`: there are gradients of the first array.
  WeightMonitor(const StageMaker& maker, core::Synapse& synapse, bool trains);

  void record(StageRecorder& recorder) const;
  void read(synfire_network_monitor& monitor) const;
  void clear() const;

 private:
  core::Synapse* synapse_ = nullptr;         // null: none
  Ref<Buffer> weight_sums_, gradient_sums_;  // f64 [2]; the second is null if nothing is trained
};

}  // namespace synfire::network

#endif
