// Combines several arrays into one: sums, AND and IAND of spikes, concatenations; and the gradient of one source.
#ifndef SYNFIRE_OPERATIONS_COMBINE_COMBINE_HPP
#define SYNFIRE_OPERATIONS_COMBINE_COMBINE_HPP

#include "combine_arrays.hpp"

#include <base/buffer.hpp>
#include <operations/kind.hpp>

#include <span>

namespace synfire::operations {

struct Combine {
  CombineKind kind;
  core::Extents extents;
  int32_t n_sources;
  View sources[most_combined];      // [T, B, N], or [T, B, positions * channels]
  int64_t channels[most_combined];  // of each source, in a concatenation
  uint8_t bounds[most_combined];    // the largest integer of each source: 1 for spikes
  View destination;                 // [T, B, N]

  static constexpr const char* name = "combine";
  static void operands(Combine& op, OperandVisitor visit) {
    for (int32_t k = 0; k < op.n_sources; ++k)
      visit({"desc.sources[]", op.sources[k], Access::read, Transfer::staged, nullptr, false, k});
    visit({"desc.destination", op.destination, Access::write});
  }
};
OperationLabel label(const Combine& op);
bool wants_threads(const Combine& op);
void run(const Combine& op, host::Launcher& launcher);
cuda::Hints hints(const Combine& op, const cuda::GpuShape& gpu);
void enqueue(const Combine& op, cuda::Launcher& launcher);

struct CombineBackward {
  CombineKind kind;
  core::Extents extents;  // of the source
  int32_t source;
  bool add;
  int64_t all_channels, first_channel, channels;  // of the destination and of the source, in a concatenation
  View grad_destination;
  View other;  // of AND and IAND
  View grad_source;

  static constexpr const char* name = "combine backward";
  static void operands(CombineBackward& op, OperandVisitor visit) {
    visit({"desc.grad_destination", op.grad_destination, Access::read});
    visit({"desc.other", op.other, Access::read});
    visit({"desc.grad_source", op.grad_source, op.add ? Access::update : Access::write});
  }
};
OperationLabel label(const CombineBackward& op);
bool wants_threads(const CombineBackward& op);
void run(const CombineBackward& op, host::Launcher& launcher);
cuda::Hints hints(const CombineBackward& op, const cuda::GpuShape& gpu);
void enqueue(const CombineBackward& op, cuda::Launcher& launcher);

struct CombineRequest {
  CombineKind kind;
  core::Extents extents;  // batch 0 means 1
  std::span<core::Buffer* const> sources;
  std::span<const int64_t> channels;  // none, or one for each source
  std::span<const int32_t> bounds;    // likewise
  core::Buffer* destination;
};
struct CombineBackwardRequest {
  CombineKind kind;
  core::Extents extents;  // of the destination; batch 0 means 1
  std::span<const int64_t> channels;
  int32_t source;
  bool accumulate;
  core::Buffer* grad_destination;
  core::Buffer* other;  // may be null
  core::Buffer* grad_source;
};
// Both throw INVALID_ARGUMENT, or OUT_OF_MEMORY for a shape that cannot be addressed.
core::OperationList combine(const CombineRequest& request);
core::OperationList combine_backward(const CombineBackwardRequest& request);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(Combine);
SYNFIRE_DECLARE_KIND(CombineBackward);

#endif
