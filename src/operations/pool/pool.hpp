// Pools of maps, and their gradients: the maximum, the sum or the mean of windows of spikes, counts or values.
#ifndef SYNFIRE_OPERATIONS_POOL_POOL_HPP
#define SYNFIRE_OPERATIONS_POOL_POOL_HPP

#include "pool_shape.hpp"

#include <base/buffer.hpp>
#include <base/extents.hpp>
#include <base/flow.hpp>
#include <operations/kind.hpp>

namespace synfire::operations {

enum class PoolKind : int32_t { max = SYNFIRE_POOL_MAX, sum = SYNFIRE_POOL_SUM, mean = SYNFIRE_POOL_MEAN };

struct Pool {
  PoolKind kind;
  PoolShape shape;
  core::Extents extents;  // of the source: n_neurons is H * W * C
  int32_t bound;          // of counts
  View source;            // bits, u8, f32 or f64
  View destination;       // of the source's type; sums and means of spikes and counts: u8 or f32

  static constexpr const char* name = "pool";
  static void operands(Pool& op, OperandVisitor visit) {
    visit({"desc.source", op.source, Access::read});
    visit({"desc.destination", op.destination, Access::write});
  }
};

struct PoolBackward {
  PoolKind kind;
  PoolShape shape;
  core::Extents extents;
  int32_t bound;
  View grad_destination;  // f32 or f64
  View source;            // of a maximum
  View grad_source;       // of the gradient's type
  bool accumulate;        // add to what grad_source holds
  View host_places;       // scratch, on the host: the gradients of an image

  static constexpr const char* name = "pool backward";
  static void operands(PoolBackward& op, OperandVisitor visit) {
    visit({"desc.grad_destination", op.grad_destination, Access::read});
    visit({"desc.source", op.source, Access::read});
    visit({"desc.grad_source", op.grad_source, op.accumulate ? Access::update : Access::write});
    visit({"scratch memory", op.host_places, Access::scratch});
  }
};
View host_places_of(const core::Device& device, const PoolBackward& op);

#define SYNFIRE_POOL_FUNCTIONS(Kind)                        \
  OperationLabel label(const Kind& op);                     \
  bool wants_threads(const Kind& op);                       \
  void run(const Kind& op, host::Launcher& launcher);       \
  cuda::Hints hints(const Kind& op, const cuda::GpuShape&); \
  void enqueue(const Kind& op, cuda::Launcher& launcher)
SYNFIRE_POOL_FUNCTIONS(Pool);
SYNFIRE_POOL_FUNCTIONS(PoolBackward);
#undef SYNFIRE_POOL_FUNCTIONS

// The fields that both descriptors have.
struct PoolWindows {
  int32_t kind;
  int64_t n_steps, batch, channels, height, width;
  int64_t kernel_height, kernel_width, stride_y, stride_x, padding_y, padding_x;
  int32_t count_bound;
};
// The maps of checked windows. Throws UNSUPPORTED if sums over a window, of counts up to this bound, are 2^24 or more.
PoolShape pool_shape(const PoolWindows& windows);
void check_sums_in_f32(const PoolShape& shape, int32_t bound);

struct PoolRequest {
  PoolWindows windows;
  core::Buffer *source, *destination;
};
struct PoolBackwardRequest {
  PoolWindows windows;
  core::Buffer *grad_destination, *source, *grad_source;  // the source may be null
  bool accumulate;
};
core::OperationList pool(const PoolRequest& request);
core::OperationList pool_backward(const PoolBackwardRequest& request);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(Pool);
SYNFIRE_DECLARE_KIND(PoolBackward);

#endif
