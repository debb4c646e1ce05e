// Sums, means, maxima and last values of [T, B, N] over the steps or over the batch, and their gradients.
#ifndef SYNFIRE_OPERATIONS_REDUCE_REDUCE_HPP
#define SYNFIRE_OPERATIONS_REDUCE_REDUCE_HPP

#include "counting.hpp"

#include <base/buffer.hpp>
#include <base/extents.hpp>
#include <operations/kind.hpp>

namespace synfire::operations {

enum class Reduction : int32_t {
  sum = SYNFIRE_REDUCE_SUM,
  mean = SYNFIRE_REDUCE_MEAN,
  max = SYNFIRE_REDUCE_MAX,
  last = SYNFIRE_REDUCE_LAST
};
enum class Axis : int32_t { steps = SYNFIRE_AXIS_STEPS, batch = SYNFIRE_AXIS_BATCH };

inline Counting counting_of(const View& lengths, const View& n_active) {
  return {static_cast<const uint32_t*>(lengths.data), static_cast<const uint32_t*>(n_active.data)};
}

struct Reduce {
  Reduction reduction;
  Axis axis;
  core::Extents extents;
  View source;       // [T, B, N] of numbers, or spikes in any format
  View destination;  // f32 or f64: [B, N] or [T, N]
  View lengths;      // u32 [B]; may be absent
  View n_active;     // u32 [1]; may be absent
  View partials;     // 64 bits for each chunk and each element of the destination; absent for a single chunk
  View host_places;  // scratch, on the host: running sums of numbers

  static constexpr const char* name = "reduce";
  static void operands(Reduce& op, OperandVisitor visit) {
    visit({"desc.source", op.source, Access::read});
    visit({"desc.lengths", op.lengths, Access::read});
    visit({"desc.n_active", op.n_active, Access::read});
    visit({"desc.destination", op.destination, Access::write});
    visit({"the partial results of a reduction", op.partials, Access::scratch});
    visit({"the running sums of a reduction", op.host_places, Access::scratch});
  }
};
View host_places_of(const core::Device& device, const Reduce& op);
OperationLabel label(const Reduce& op);
bool wants_threads(const Reduce& op);
void run(const Reduce& op, host::Launcher& launcher);
cuda::Hints hints(const Reduce& op, const cuda::GpuShape& gpu);
void enqueue(const Reduce& op, cuda::Launcher& launcher);

struct ReduceBackward {
  Reduction reduction;
  Axis axis;
  core::Extents extents;
  View grad_destination;  // f32 or f64: [B, N] or [T, N]
  View source;            // of the reduction; only a maximum has it
  View lengths, n_active;
  View grad_source;  // [T, B, N]: f64 beside f64, else a type whose arithmetic is f32
  bool accumulate;   // add to what grad_source holds
  View winners;      // of maxima, on a GPU: the index of each

  static constexpr const char* name = "reduce backward";
  static void operands(ReduceBackward& op, OperandVisitor visit) {
    visit({"desc.grad_destination", op.grad_destination, Access::read});
    visit({"desc.source", op.source, Access::read});
    visit({"desc.lengths", op.lengths, Access::read});
    visit({"desc.n_active", op.n_active, Access::read});
    visit({"desc.grad_source", op.grad_source, op.accumulate ? Access::update : Access::write});
    visit({"the indices of the maxima", op.winners, Access::scratch});
  }
};
OperationLabel label(const ReduceBackward& op);
bool wants_threads(const ReduceBackward& op);
void run(const ReduceBackward& op, host::Launcher& launcher);
cuda::Hints hints(const ReduceBackward& op, const cuda::GpuShape& gpu);
void enqueue(const ReduceBackward& op, cuda::Launcher& launcher);

struct ReduceRequest {
  Reduction reduction;
  Axis axis;
  core::Extents extents;  // batch 0 means 1
  core::Buffer* source;
  core::Buffer* destination;
  core::Buffer* lengths;   // may be null
  core::Buffer* n_active;  // may be null
};
struct ReduceBackwardRequest {
  Reduction reduction;
  Axis axis;
  core::Extents extents;
  core::Buffer* grad_destination;
  core::Buffer* source;  // null unless a maximum
  core::Buffer* lengths;
  core::Buffer* n_active;
  core::Buffer* grad_source;
  bool accumulate;
};
// Both throw INVALID_ARGUMENT, or OUT_OF_MEMORY for a shape that cannot be addressed.
core::OperationList reduce(const ReduceRequest& request);
core::OperationList reduce_backward(const ReduceBackwardRequest& request);

// A buffer of lengths or of n_active; absent if null.
View lengths_view(const core::Buffer* buffer, const core::Extents& extents);
View n_active_view(const core::Buffer* buffer);
// A gradient [T, B, N] in any type of numbers.
View gradient_view(const core::Buffer& buffer, const char* name, const core::Extents& extents);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(Reduce);
SYNFIRE_DECLARE_KIND(ReduceBackward);

#endif
