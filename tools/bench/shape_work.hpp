// shape_work.hpp - a layer of any shape, pitch and address, with its passes ready to be replayed.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_SHAPE_WORK_HPP
#define SYNFIRE_TOOLS_BENCH_SHAPE_WORK_HPP

#include <cstdint>
#include <vector>

#include "shape_list.hpp"
#include "workload.hpp"

namespace synfire_bench {

/// Bytes that must move. A model without spikes writes V of every step instead, and its backward reads only the
/// gradient of that.
Traffic shape_traffic(const Job& job, Direction direction);

/// Memory for the arrays of one shape after another, which all begin at the same addresses but for their offsets.
class ShapePool {
 public:
  ShapePool(const Machine& machine, const Dtype& dtype) : machine_(machine), dtype_(dtype) {}

  /// Makes room for arrays of `elements` elements, with values for `model`. No work may be alive.
  void prepare(const Model& model, std::uint64_t elements);

  enum Array { x, spikes, grad_spike, grad_x };
  /// `steps` rows of `row` elements, `padding` elements apart and `offset` elements from the beginning.
  Owned<synfire_buffer> array(Array which, std::int32_t dtype, std::uint32_t element_bytes, std::uint64_t steps,
                              std::uint64_t row, std::uint64_t padding, std::uint64_t offset) const;

  /// The elements that an array of that placement spans.
  static std::uint64_t elements(const PlacedShape& placed);

 private:
  const Machine& machine_;
  const Dtype& dtype_;
  Owned<synfire_buffer> areas_[4];
  std::uint64_t bytes_ = 0;
  const Model* filled_for_ = nullptr;
};

/// A layer and one graph of many passes for each direction asked for. A backward alone belongs to a forward that ran
/// before.
class ShapeWork {
 public:
  ShapeWork(const Machine& machine, const ShapePool& pool, const Job& job, const PlacedShape& placed,
            const std::vector<Direction>& directions);

  Rotation rotation(Direction direction) const;

 private:
  Owned<synfire_graph> record(const Machine& machine, Direction direction, std::uint64_t passes) const;

  Job job_;
  Owned<synfire_layer> layer_;
  Arrays arrays_;
  Owned<synfire_graph> first_;      // made the tape
  Owned<synfire_graph> series_[3];  // by Direction
  std::uint64_t passes_[3] = {};
};

}  // namespace synfire_bench

#endif
