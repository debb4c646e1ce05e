// Draws the neurons that dropout keeps in each batch row, and their factor.
#ifndef SYNFIRE_OPERATIONS_DROPOUT_DROPOUT_HPP
#define SYNFIRE_OPERATIONS_DROPOUT_DROPOUT_HPP

#include <base/extents.hpp>
#include <graph/graph.hpp>
#include <operations/kind.hpp>

namespace synfire::operations {

struct Dropout {
  core::Extents extents;  // one step
  View mask;              // words [B, ceil(N / 32)]
  View scale;             // f32 or f64 [1]
  double probability;
  uint64_t seed;
  uint64_t offset;                            // the number of the mask
  const double* probability_value = nullptr;  // in device memory, instead of `probability`
  const uint64_t* seed_value = nullptr;       // likewise
  core::CountedValue offset_value = {};       // likewise; each replay advances it by 1
  uint32_t first_row = 0;                     // the number of the first batch row, if other ranks have those before

  static constexpr const char* name = "dropout";
  static void operands(Dropout& op, OperandVisitor visit) {
    visit({"desc.mask", op.mask, Access::write});
    visit({"desc.scale", op.scale, Access::write});
  }
};
OperationLabel label(const Dropout& op);
bool wants_threads(const Dropout& op);
void run(const Dropout& op, host::Launcher& launcher);
cuda::Hints hints(const Dropout& op, const cuda::GpuShape& gpu);
void enqueue(const Dropout& op, cuda::Launcher& launcher);

struct DropoutRequest {
  int64_t n_neurons;
  int64_t batch;  // 0 means 1
  double probability;
  core::Buffer* mask;
  core::Buffer* scale;
  uint64_t seed;
  uint64_t offset;
};
// Both throw INVALID_ARGUMENT, UNSUPPORTED or OUT_OF_MEMORY. A graph's "probability", "seed" and "offset" may change.
core::OperationList dropout(const DropoutRequest& request);
void record_dropout(core::Graph& graph, const DropoutRequest& request);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(Dropout);

#endif
