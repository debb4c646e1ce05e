// Each neuron spikes in each step with the probability of its rate, by counter-based random numbers (philox.hpp).
#ifndef SYNFIRE_OPERATIONS_ENCODE_ENCODE_BERNOULLI_HPP
#define SYNFIRE_OPERATIONS_ENCODE_ENCODE_BERNOULLI_HPP

#include <base/extents.hpp>
#include <graph/graph.hpp>
#include <operations/kind.hpp>

namespace synfire::operations {

//! [operation]
struct EncodeBernoulli {
  core::Extents extents;
  bool rates_per_step;
  View rates;   // [B, N], or [T, B, N]
  View spikes;  // [T, B, N] in any format
  uint64_t seed;
  uint64_t offset;                       // the number of the first step
  const uint64_t* seed_value = nullptr;  // in device memory, instead of `seed`
  core::CountedValue offset_value = {};  // instead of `offset`; each replay advances it by n_steps
  uint32_t first_row = 0;                // the number of the first batch row, if other ranks have those before

  static constexpr const char* name = "encode bernoulli";
  static void operands(EncodeBernoulli& op, OperandVisitor visit) {
    visit({"desc.rates", op.rates, Access::read});
    visit({"desc.spikes", op.spikes, Access::write});
  }
};
//! [operation]
//! [functions]
OperationLabel label(const EncodeBernoulli& op);
bool wants_threads(const EncodeBernoulli& op);
void run(const EncodeBernoulli& op, host::Launcher& launcher);
cuda::Hints hints(const EncodeBernoulli& op, const cuda::GpuShape& gpu);
void enqueue(const EncodeBernoulli& op, cuda::Launcher& launcher);
//! [functions]

struct EncodeBernoulliRequest {
  core::Extents extents;  // batch 0 means 1
  bool rates_per_step;
  core::Buffer* rates;
  core::Buffer* spikes;
  uint64_t seed;
  uint64_t offset;
};
// Both throw INVALID_ARGUMENT or OUT_OF_MEMORY. A graph's "seed" and "offset" may change between replays.
core::OperationList encode_bernoulli(const EncodeBernoulliRequest& request);
void record_encode_bernoulli(core::Graph& graph, const EncodeBernoulliRequest& request);

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(EncodeBernoulli);

#endif
