// workload.hpp - a layer with its arrays and graphs, ready to be replayed, and the number of bytes that it must move.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_WORKLOAD_HPP
#define SYNFIRE_TOOLS_BENCH_WORKLOAD_HPP

#include <cstdint>
#include <vector>

#include "machine.hpp"
#include "names.hpp"
#include "timing.hpp"

namespace synfire_bench {

/// A layer to measure.
struct Job {
  Shape shape;
  const Model* model;
  const Surrogate* surrogate;
  const Dtype* dtype;
  const SpikeFormat* spikes;
  const Tape* tape;
  std::uint32_t threads_per_block = 0;  ///< 0: the library's choice
};

synfire_layer_desc layer_desc(const Job& job);

/// A model without spikes: V of every step stands for them.
bool is_spikeless(const Model& model);

/// Bytes of one array, and of everything that a job holds on its device.
std::uint64_t sequence_bytes(const Job& job);
std::uint64_t spike_bytes(const Job& job);
std::uint64_t device_bytes(const Job& job);

/// Bytes that must move: each array counts once for each pass that reads or writes it.
struct Traffic {
  std::uint64_t sequences = 0;  ///< arrays [T, B, N]: what GB/s and percent are computed from
  std::uint64_t all = 0;        ///< also the state [B, N] in and out, and the tape
};
Traffic traffic(const Job& job, Direction direction);

/// The number of sets of arrays in a rotation such that none of them is still cached when its turn comes. At most 64;
/// if that is not enough, the rounds are separated by a flush.
std::uint64_t cold_sets(const Machine& machine, const Job& job, Direction direction);

/// The arrays of a layer. Those of a model without spikes have V and dL/dV instead.
struct Arrays {
  Owned<synfire_buffer> x, spikes, grad_spike, grad_x;
};

/// Records one pass of a layer of `job`; both directions are a forward and its backward.
void record_pass(synfire_graph graph, synfire_layer layer, const Arrays& arrays, const Job& job, Direction direction);

/// Memory that many jobs use one after the other, each in slices, so that inputs are generated only once.
class Arena {
 public:
  Arena(const Machine& machine, const Dtype& dtype) : Arena(machine, dtype, dtype) {}
  /// Arrays of `dtype` with the values that `inputs_as` would store.
  Arena(const Machine& machine, const Dtype& dtype, const Dtype& inputs_as)
      : machine_(machine), dtype_(dtype), inputs_as_(inputs_as) {}

  /// Makes room for `sets` sets of `job`'s arrays and fills them with random inputs. No workload may be alive.
  void prepare(const Job& job, std::uint64_t sets);

  /// Slice `index` of each array, valid as long as the arena lives and until it is prepared again.
  Arrays slices(const Job& job, std::uint64_t index) const;

  /// A copy that is large enough to evict everything from the caches; created on first use.
  synfire_graph flush();

 private:
  struct Area {
    Owned<synfire_buffer> buffer;
    std::uint64_t bytes = 0, filled_elements = 0;
    const Model* filled_for = nullptr;
  };
  void reserve(Area& area, std::uint64_t bytes) const;
  Owned<synfire_buffer> slice(const Area& area, std::int32_t dtype, std::uint64_t elements, std::uint64_t element_bytes,
                              std::uint64_t index) const;

  const Machine& machine_;
  const Dtype& dtype_;
  const Dtype& inputs_as_;
  Area x_, spikes_, grad_spike_, grad_x_, flush_from_, flush_to_;
  Owned<synfire_graph> flush_;
};

/// `sets` layers of one kind, each with its own arrays and a graph per direction, and graphs of many passes.
class Workload {
 public:
  Workload(const Machine& machine, Arena& arena, const Job& job, const std::vector<Direction>& directions,
           std::uint64_t sets);

  /// Hot: one set, repeatedly. Cold: all sets in turn, with a flush if they are too small together.
  Rotation rotation(Direction direction, Cache cache);

  /// The share of neuron-steps that spiked in the last forward of the first set. Samples up to 4 MiB of its spikes,
  /// spread over all steps.
  double spike_rate() const;

  const Arrays& arrays() const { return sets_.front().arrays; }
  synfire_layer layer() const { return sets_.front().layer.get(); }

 private:
  struct Set {
    Arrays arrays;
    Owned<synfire_layer> layer;
    Owned<synfire_graph> graphs[3];  // by Direction
  };
  void add_graph(Set& set, Direction direction) const;

  const Machine& machine_;
  Arena& arena_;
  Job job_;
  std::vector<Set> sets_;
  std::vector<Owned<synfire_graph>> series_;
};

}  // namespace synfire_bench

#endif
