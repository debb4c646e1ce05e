// Draws the rows of the next batch: indices into a data set, each row once in an epoch.
#ifndef SYNFIRE_OPERATIONS_SHUFFLE_SHUFFLE_HPP
#define SYNFIRE_OPERATIONS_SHUFFLE_SHUFFLE_HPP

#include "permutation.hpp"

#include <graph/graph.hpp>
#include <operations/kind.hpp>

namespace synfire::operations {

struct Shuffle {
  ShuffleRules rules;
  View indices;   // u32 [B]
  View n_active;  // u32 [1], or none
  uint64_t seed;
  uint64_t offset;                       // the number of the batch
  const uint64_t* seed_value = nullptr;  // in device memory, instead of `seed`
  core::CountedValue offset_value = {};  // instead of `offset`; each replay advances it by 1

  static constexpr const char* name = "shuffle";
  static void operands(Shuffle& op, OperandVisitor visit) {
    visit({"desc.indices", op.indices, Access::write});
    visit({"desc.n_active", op.n_active, Access::write});
  }
};
OperationLabel label(const Shuffle& op);
bool wants_threads(const Shuffle& op);
void run(const Shuffle& op, host::Launcher& launcher);
cuda::Hints hints(const Shuffle& op, const cuda::GpuShape& gpu);
void enqueue(const Shuffle& op, cuda::Launcher& launcher);

struct ShuffleRequest {
  int64_t n_rows;
  int64_t batch;  // 0 means 1
  bool in_order;
  bool drop_last;
  core::Buffer* indices;
  core::Buffer* n_active;  // may be null
  uint64_t seed;
  uint64_t offset;
};
// Both throw INVALID_ARGUMENT. "seed" and "offset" of a graph may change between replays.
core::OperationList shuffle(const ShuffleRequest& request);
void record_shuffle(core::Graph& graph, const ShuffleRequest& request);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(Shuffle);

#endif
