// Maps that are copied place by place, and the gradients of that: nearest upsampling, and borders of zeros.
#ifndef SYNFIRE_OPERATIONS_RESIZE_RESIZE_HPP
#define SYNFIRE_OPERATIONS_RESIZE_RESIZE_HPP

#include "resize_shape.hpp"

#include <base/buffer.hpp>
#include <base/extents.hpp>
#include <operations/kind.hpp>

namespace synfire::operations {

struct Resize {
  ResizeShape shape;
  core::Extents extents;  // of the source: n_neurons is H * W * C
  View source;            // bits, u8, f32 or f64
  View destination;       // of the source's type

  static constexpr const char* name = "resize";
  static void operands(Resize& op, OperandVisitor visit) {
    visit({"desc.source", op.source, Access::read});
    visit({"desc.destination", op.destination, Access::write});
  }
};

struct ResizeBackward {
  ResizeShape shape;
  core::Extents extents;
  View grad_destination;  // f32 or f64
  View grad_source;       // of the same type
  bool accumulate;        // add to what grad_source holds

  static constexpr const char* name = "resize backward";
  static void operands(ResizeBackward& op, OperandVisitor visit) {
    visit({"desc.grad_destination", op.grad_destination, Access::read});
    visit({"desc.grad_source", op.grad_source, op.accumulate ? Access::update : Access::write});
  }
};

#define SYNFIRE_RESIZE_FUNCTIONS(Kind)                      \
  OperationLabel label(const Kind& op);                     \
  bool wants_threads(const Kind& op);                       \
  void run(const Kind& op, host::Launcher& launcher);       \
  cuda::Hints hints(const Kind& op, const cuda::GpuShape&); \
  void enqueue(const Kind& op, cuda::Launcher& launcher)
SYNFIRE_RESIZE_FUNCTIONS(Resize);
SYNFIRE_RESIZE_FUNCTIONS(ResizeBackward);
#undef SYNFIRE_RESIZE_FUNCTIONS

// The maps [H, W, C] of the source; 0 means 1, but for steps and channels.
struct ResizeMaps {
  int64_t n_steps, batch, channels, height, width;
};
// 0 means 2.
struct UpsampleScales {
  int64_t y, x;
};
struct PadBorders {
  int64_t left, right, top, bottom;
};
struct ResizeBuffers {
  core::Buffer *source, *destination;
};
struct ResizeGradients {
  core::Buffer *grad_destination, *grad_source;
  bool accumulate;
};
// All throw INVALID_ARGUMENT, or OUT_OF_MEMORY for maps that cannot be addressed.
ResizeShape upsampled_shape(const ResizeMaps& maps, const UpsampleScales& scales);
ResizeShape padded_shape(const ResizeMaps& maps, const PadBorders& borders);
core::OperationList upsample(const ResizeMaps& maps, const UpsampleScales& scales, const ResizeBuffers& buffers);
core::OperationList upsample_backward(const ResizeMaps& maps, const UpsampleScales& scales,
                                      const ResizeGradients& buffers);
core::OperationList pad(const ResizeMaps& maps, const PadBorders& borders, const ResizeBuffers& buffers);
core::OperationList pad_backward(const ResizeMaps& maps, const PadBorders& borders, const ResizeGradients& buffers);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(Resize);
SYNFIRE_DECLARE_KIND(ResizeBackward);

#endif
