// Which launches run fewer blocks per multiprocessor than fit, and how that is requested from the driver. Runs without
// a GPU; waves_test.cpp checks on a GPU that this many blocks fit.
#include "written_down.hpp"

#include <gtest/gtest.h>

#include <map>

namespace synfire::cuda {
namespace {

// The number of blocks per multiprocessor as limited by shared memory; 0 if it is not limited.
int blocks_at_once(const Plan& plan) {
  if (plan.shared_percent == 0) return 0;
  const std::map<int, uint32_t> carveouts = {{50, 132 * 1024}, {65, 164 * 1024}};
  return static_cast<int>(carveouts.at(plan.shared_percent) / (plan.shared_bytes + 1024));  // CUDA reserves 1 KiB each
}

int blocks_of_backward(const Given& given, const GpuShape& gpu = h200) {
  const Planned planned(given);
  return blocks_at_once(plan_of(planned.backward(), gpu));
}

TEST(LaunchPlan, FewerBlocksOfABackwardWhereThatFillsTheLastWave) {
  // 128 neurons per block; without a limit, 10 blocks on each of 132 multiprocessors.
  EXPECT_EQ(blocks_of_backward({128, 1, 1 << 17}), 0) << "1024 blocks are one wave";
  EXPECT_EQ(blocks_of_backward({128, 1, 1 << 18}), 8) << "2048 blocks: 1.94 waves instead of 1.55";
  EXPECT_EQ(blocks_of_backward({32, 1, 1 << 19}), 8) << "3.88 instead of 3.10";
  EXPECT_EQ(blocks_of_backward({64, 1, 700032}), 9) << "4.60 instead of 4.14, and 5.18 would be less full";
  EXPECT_EQ(blocks_of_backward({64, 1, 1 << 20}), 9) << "6.90 instead of 6.21";
  EXPECT_EQ(blocks_of_backward({64, 1, 1 << 21}), 0) << "12.41 waves";
  EXPECT_EQ(blocks_of_backward({64, 1, 2640 * 128}), 0) << "two full ones";
  EXPECT_EQ(blocks_of_backward({64, 1, 2641 * 128}), 8) << "2.50 instead of 2.0008, whose third wave is almost empty";
  EXPECT_EQ(blocks_of_backward({31, 1, 1 << 18}), 0) << "not measured to be faster";
  EXPECT_EQ(blocks_of_backward({128, 1, 1 << 18, SYNFIRE_DTYPE_F16}), 0);
  EXPECT_EQ(blocks_of_backward({128, 1, 1 << 18, SYNFIRE_DTYPE_F64}), 0);
  Given exponential = {128, 1, 1 << 18};
  exponential.model = SYNFIRE_MODEL_EIF;
  EXPECT_EQ(blocks_of_backward(exponential), 0) << "bound by instructions";
}

TEST(LaunchPlan, FewBlocksOfABackwardAreSpreadEvenly) {
  // One neuron per thread and 64 threads per block, on 132 multiprocessors.
  EXPECT_EQ(blocks_of_backward({128, 1, 132 * 64}), 0) << "one block each";
  EXPECT_EQ(blocks_of_backward({128, 1, 132 * 64 + 1}), 2);
  EXPECT_EQ(blocks_of_backward({8, 1, 16384}), 2) << "of any number of steps";
  EXPECT_EQ(blocks_of_backward({100, 256, 100}), 4) << "400 blocks are more than 3 each";
  EXPECT_EQ(blocks_of_backward({1024, 132, 64 * 4}), 4);
  EXPECT_EQ(blocks_of_backward({1024, 12, 3072}), 0) << "576 blocks: 5 each were not measured to be faster";
  EXPECT_LE(plan_of(Planned({8, 1, 16384}).backward(), h200).shared_bytes, 48u * 1024) << "all a kernel has unasked";
  EXPECT_EQ(blocks_of_backward({100, 256, 100, SYNFIRE_DTYPE_F16}), 0);
  EXPECT_EQ(blocks_of_backward({100, 256, 100, SYNFIRE_DTYPE_F64}), 0);
  EXPECT_EQ(plan_of(Planned({100, 256, 100}).forward(), h200).shared_percent, 0);
  for (const GpuShape& other : {GpuShape{132, 8, true}, GpuShape{132, 10, true}, GpuShape{132, 9, false}})
    EXPECT_EQ(blocks_of_backward({100, 256, 100}, other), 0);
}

TEST(LaunchPlan, NarrowBackwardsOfFewBytesFillTheirWaves) {
  // 64 neurons per block; without a limit, 6 blocks on each of 132 multiprocessors.
  EXPECT_EQ(blocks_of_backward({32, 1, 1 << 16}), 4) << "1024 blocks: 1.94 waves instead of 1.29";
  EXPECT_EQ(blocks_of_backward({33, 1, 1 << 16}), 4) << "X, dL/dS and dL/dX take 24.75 MiB";
  EXPECT_EQ(blocks_of_backward({34, 1, 1 << 16}), 0) << "and here 25.5";
  EXPECT_EQ(blocks_of_backward({32, 1, 792 * 64}), 0) << "one full wave";
  EXPECT_EQ(blocks_of_backward({32, 1, 792 * 64 + 1}), 4);
  EXPECT_EQ(blocks_of_backward({31, 1, 1 << 16}), 0);
  EXPECT_EQ(blocks_of_backward({32, 1, 1 << 16, SYNFIRE_DTYPE_F16}), 0);
  EXPECT_EQ(blocks_of_backward({32, 1, 1 << 16}, GpuShape{132, 10, true}), 0);
}

TEST(LaunchPlan, AForwardHasAllBlocksThatFit) {
  for (const Given& given : {Given{128, 1, 1 << 19}, Given{32, 1, 1 << 20}, Given{32, 1, 1 << 21}})
    EXPECT_EQ(plan_of(Planned(given).forward(), h200).shared_percent, 0);
}

TEST(LaunchPlan, OtherGpusAndOlderDriversHaveAllBlocksThatFit) {
  const Given both = {128, 1, 1 << 20};
  ASSERT_EQ(blocks_of_backward(both), 9);
  for (const GpuShape& other : {GpuShape{132, 8, true}, GpuShape{132, 10, true}, GpuShape{132, 9, false}})
    EXPECT_EQ(blocks_of_backward(both, other), 0);
}

TEST(LaunchPlan, WavesAreFilledByAnAttributeOfTheLaunch) {
  if (!takes_shared_percent(CUDART_VERSION)) GTEST_SKIP() << "this CUDA has no such attribute";
  EXPECT_FALSE(takes_shared_percent(12040)) << "a driver that would refuse it";
  const Planned filled({64, 1, 1 << 20}), plain({64, 1, 1 << 21}), spread({64, 1, 16384});
  for (const bool programmatic : {false, true}) {
    const Launcher::Place place = {nullptr, 0, programmatic};
    enqueue(filled.backward(), place);
    EXPECT_EQ(latest.shared_percent, 65u);
    EXPECT_EQ(latest.shared_bytes, plan_of(filled.backward(), h200).shared_bytes);
    EXPECT_EQ(latest.programmatic, programmatic);
    enqueue(spread.backward(), place);
    EXPECT_EQ(latest.shared_percent, 50u);
    EXPECT_EQ(latest.shared_bytes, plan_of(spread.backward(), h200).shared_bytes);
    enqueue(filled.forward(), place);
    EXPECT_EQ(latest.shared_percent, 0u);
    EXPECT_EQ(latest.programmatic, programmatic);
    enqueue(plain.backward(), place);
    EXPECT_EQ(latest.shared_percent, 0u);
    EXPECT_EQ(latest.programmatic, programmatic);
  }
}

}  // namespace
}  // namespace synfire::cuda
