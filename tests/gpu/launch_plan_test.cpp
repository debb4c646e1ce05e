// From layers of any extents to launches of passes: grids, widths, 64-bit arguments and limits. Runs without a GPU.
// What does not live here: full waves (wave_plan_test.cpp), copies and spikes (transfer_plan_test.cpp), what kernels
// compute (bit_equality_test.cpp).
#include "written_down.hpp"

#include <core/error.hpp>

#include <gtest/gtest.h>

#include <string>
#include <tuple>

namespace synfire::cuda {
namespace {

// Blocks cover the lanes, and the last one is needed.
void expect_covered(const Plan& plan, int64_t lanes, int block_threads = threads_per_block) {
  EXPECT_EQ(plan.lanes.count, lanes);
  const int64_t per_block = int64_t{block_threads} * plan.width;
  EXPECT_EQ(int64_t{plan.n_blocks}, lanes / per_block + (lanes % per_block != 0 ? 1 : 0));
}

const Given extents[] = {
    {64, 1, two31 / 64, SYNFIRE_DTYPE_F32},                                         // T·N = 2^31
    {65, 1, two31 / 64, SYNFIRE_DTYPE_F16},                                         // beyond
    {2047, 1, 1 << 21, SYNFIRE_DTYPE_F32},                                          // (T + 1)·N = 2^32
    {2048, 1, 1 << 21, SYNFIRE_DTYPE_BF16},                                         // T·N = 2^32
    {4099, 3, 1000003, SYNFIRE_DTYPE_F32},                                          // odd rows, more than 2^33 in all
    {2, 1, two31 - 1, SYNFIRE_DTYPE_F32},                                           // N just below 2^31
    {2, 1, two31, SYNFIRE_DTYPE_F16},       {3, 1, two31 + 13, SYNFIRE_DTYPE_F32},  // and beyond
    {2, 7, two31 + 13, SYNFIRE_DTYPE_BF16},                                         // padded lanes
    {1, 1, two32 * 8, SYNFIRE_DTYPE_F64},   {int64_t{1} << 33, 1, 5, SYNFIRE_DTYPE_F32},  // T beyond 2^32
};

TEST(LaunchPlan, WhichPassesBeginEarly) {
  // 132 multiprocessors hold 270,336 threads at most, and a thread owns four neurons.
  const Planned small({4, 1, 1 << 18, SYNFIRE_DTYPE_F32}), full({4, 1, 270336 * 4, SYNFIRE_DTYPE_F32});
  const Planned more({4, 1, 270336 * 4 + 512, SYNFIRE_DTYPE_F32});
  ASSERT_EQ(plan_forward(full.spec(), full.forward(), h200).n_blocks, 270336u / threads_per_block);
  const core::Operation forward = full.forward(), backward = full.backward();
  const core::Operation fill = core::FillOperation{full.grad_x->array(), SYNFIRE_DTYPE_F32, 0};
  for (const core::Operation* previous : {&forward, &backward}) {
    EXPECT_TRUE(begins_early(backward, *previous, h200));
    EXPECT_TRUE(begins_early(core::Operation(small.backward()), *previous, h200));
    EXPECT_FALSE(begins_early(core::Operation(small.forward()), *previous, h200));
    EXPECT_FALSE(begins_early(forward, *previous, h200));
    EXPECT_TRUE(begins_early(core::Operation(more.forward()), *previous, h200));
    EXPECT_FALSE(begins_early(fill, *previous, h200));
  }
  EXPECT_FALSE(begins_early(backward, fill, h200)) << "a fill lets nothing begin early";
  for (const bool early : {false, true}) {
    enqueue(forward, h200, Enqueue::run, nullptr, early);
    EXPECT_EQ(latest.as<ForwardLaunch<float>>().next_begins_early, early);
    enqueue(backward, h200, Enqueue::run, nullptr, early);
    EXPECT_EQ(latest.as<BackwardLaunch<float>>().next_begins_early, early);
  }
}

TEST(LaunchPlan, ExtentsBeyond32Bits) {
  for (const Given& given : extents) {
    SCOPED_TRACE(testing::Message() << given.n_steps << " x " << given.batch << " x " << given.n_neurons << " dtype "
                                    << given.dtype);
    Planned planned(given);
    const int64_t row = given.batch * given.n_neurons;
    const core::ForwardOperation forward = planned.forward();
    const Plan plan = plan_forward(planned.spec(), forward, h200);
    const bool padded = given.batch > 1 && given.n_neurons % 32 != 0;
    const int64_t lanes = padded ? given.batch * ((given.n_neurons + 31) / 32 * 32) : row;
    expect_covered(plan, lanes);
    EXPECT_EQ(plan.lanes.padded_neurons, padded ? (given.n_neurons + 31) / 32 * 32 : 0);
    const core::BackwardOperation backward = planned.backward();
    const Plan backward_plan = plan_backward(planned.spec(), backward, h200);
    expect_covered(backward_plan, row, backward_threads);
    enqueue(core::Operation(backward), h200, Enqueue::run, nullptr);
    EXPECT_EQ(latest.n_blocks, backward_plan.n_blocks);
    EXPECT_EQ(latest.n_threads, static_cast<uint64_t>(backward_threads));
    EXPECT_EQ(latest.shared_bytes, backward_plan.shared_bytes);
    EXPECT_EQ(latest.kernel, kernel_of(core::Operation(backward), h200));

    // The tape is as large as T and N say, in 64 bits.
    const uint64_t element = given.dtype == SYNFIRE_DTYPE_F64 ? 8 : 4;
    EXPECT_EQ(planned.allocated.at(forward.tape.data),
              static_cast<uint64_t>((given.n_steps + 31) / 32) * static_cast<uint64_t>(row) * element);
    EXPECT_EQ(forward.x.bytes,
              static_cast<uint64_t>(given.n_steps) * static_cast<uint64_t>(row) * core::bytes_of_dtype(given.dtype));

    enqueue(core::Operation(forward), h200, Enqueue::run, nullptr);
    EXPECT_EQ(latest.n_blocks, plan.n_blocks);
    EXPECT_EQ(latest.n_threads, static_cast<uint64_t>(threads_per_block));
    EXPECT_EQ(latest.kernel, kernel_of(core::Operation(forward), h200));
    if (given.dtype == SYNFIRE_DTYPE_F64) continue;
    const auto arguments = latest.as<ForwardLaunch<float>>();
    EXPECT_EQ(arguments.lanes.count, lanes);
    EXPECT_EQ(arguments.arguments.extents.n_steps, given.n_steps);
    EXPECT_EQ(arguments.arguments.extents.row(), row);
    EXPECT_EQ(arguments.arguments.x.pitch, row);
    EXPECT_EQ(arguments.arguments.x.data, planned.x->array().data);
    EXPECT_EQ(arguments.arguments.spike_bits.pitch, given.batch * ((given.n_neurons + 31) / 32));
    EXPECT_EQ(arguments.arguments.tape, forward.tape.data);
    enqueue(core::Operation(forward), h200, Enqueue::warm_up, nullptr);
    EXPECT_EQ(latest.as<ForwardLaunch<float>>().lanes.count, 0) << "a warm-up touches no data";
    EXPECT_EQ(latest.n_blocks, 1u);
  }
}

TEST(LaunchPlan, AGridHasALargestSize) {
  // 2^31 − 1 blocks of at most 128 threads; rows of one element a thread.
  for (const int64_t n_neurons : {(int64_t{1} << 38) - 127, int64_t{1} << 40}) {
    Given given = {1, 1, n_neurons, SYNFIRE_DTYPE_F32};
    given.misaligned = 1;
    Planned planned(given);
    const core::ForwardOperation forward = planned.forward();
    for (const bool backward : {false, true}) {
      try {
        if (backward)
          plan_backward(planned.spec(), planned.backward(), h200);
        else
          plan_forward(planned.spec(), forward, h200);
        ADD_FAILURE() << "planned";
      } catch (const core::Failure& failure) {
        EXPECT_EQ(failure.status, SYNFIRE_ERROR_UNSUPPORTED);
        EXPECT_STREQ(failure.rule, "SYN-LAUNCH-GRID");
        EXPECT_NE(failure.text.find(std::to_string(n_neurons)), std::string::npos) << failure.text;
      }
    }
  }
  Given largest = {1, 1, (int64_t{1} << 38) - 128, SYNFIRE_DTYPE_F32};
  largest.misaligned = 1;
  Planned planned(largest);
  EXPECT_EQ(plan_forward(planned.spec(), planned.forward(), h200).n_blocks, 0x7FFFFFFFu);
}

// ---- Widths ---------------------------------------------------------------------------------------------------------

int forward_width_of(const Given& given) {
  Planned planned(given);
  return plan_forward(planned.spec(), planned.forward(), h200).width;
}
int backward_width_of(const Given& given) {
  Planned planned(given);
  (void)planned.forward();
  return plan_backward(planned.spec(), planned.backward(), h200).width;
}

TEST(LaunchPlan, WidthsFollowTheStorageType) {
  constexpr int64_t many = 1 << 22, few = 4096;
  const std::tuple<int32_t, int, int> types[] = {{SYNFIRE_DTYPE_F32, forward_width<float>, backward_width<float>},
                                                 {SYNFIRE_DTYPE_F64, forward_width<double>, backward_width<double>},
                                                 {SYNFIRE_DTYPE_F16, forward_width<F16>, backward_width<F16>},
                                                 {SYNFIRE_DTYPE_BF16, forward_width<Bf16>, backward_width<Bf16>}};
  for (const auto& [dtype, forward, backward] : types)
    for (const int32_t spikes : {SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_TIME_BITS}) {
      SCOPED_TRACE(testing::Message() << "dtype " << dtype << " spikes " << spikes);
      EXPECT_EQ(forward_width_of({4, 1, many, dtype, spikes}), forward);
      EXPECT_EQ(backward_width_of({4, 1, many, dtype, spikes}), backward);
      EXPECT_EQ(forward_width_of({4, 1, few, dtype, spikes}), 1) << "few neurons: more threads, not wider ones";
      EXPECT_EQ(forward_width_of({4, 1, many + 1, dtype, spikes}), 1) << "rows that are no multiple";
      EXPECT_EQ(backward_width_of({4, 1, many + 1, dtype, spikes}), 1);
      Given late = {4, 1, many, dtype, spikes};
      late.misaligned = 1;
      EXPECT_EQ(forward_width_of(late), 1) << "x begins one element late";
      EXPECT_EQ(backward_width_of(late), 1);
      Given spaced = {4, 1, many, dtype, spikes};
      spaced.padding = 1;
      EXPECT_EQ(forward_width_of(spaced), 1) << "only its first row is aligned";
      EXPECT_EQ(backward_width_of(spaced), 1);
      spaced.padding = 64;
      EXPECT_EQ(forward_width_of(spaced), forward) << "every row is aligned";
    }
}

TEST(LaunchPlan, SharedMemoryFitsAnyLayer) {
  constexpr uint32_t most = 227 * 1024;  // of compute capability 9.0; 99 KiB is the least of those built for
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16})
    for (int32_t model = SYNFIRE_MODEL_IF; model <= SYNFIRE_MODEL_IZHIKEVICH; ++model)
      for (const int64_t n_steps : {1, 31, 32, 33, 100000}) {
        Given given = {n_steps, 1, 1 << 20, dtype};
        given.model = model;
        Planned planned(given);
        (void)planned.forward();
        core::BackwardOperation op = planned.backward();
        const Plan plain = plan_backward(planned.spec(), op, h200);
        EXPECT_LE(plain.shared_bytes, most);
        EXPECT_GT(plain.shared_bytes, 0u);
        op.gradients.count = model::max_gradients;
        const Plan with_gradients = plan_backward(planned.spec(), op, h200);
        EXPECT_LE(with_gradients.shared_bytes, most);
        expect_covered(with_gradients, 1 << 20, backward_threads);
      }
}

TEST(LaunchPlan, TapesThatStoreHAreAsLargeAsTold) {
  for (const int32_t tape : {SYNFIRE_TAPE_STORE, SYNFIRE_TAPE_STORE_NARROW}) {
    Given given = {2049, 1, 1 << 21, SYNFIRE_DTYPE_F16};  // more than 2^32 elements
    given.tape = tape;
    Planned planned(given);
    const core::ForwardOperation forward = planned.forward();
    const uint64_t elements = uint64_t{2049} << 21;
    EXPECT_EQ(planned.allocated.at(forward.tape_h.data), elements * (tape == SYNFIRE_TAPE_STORE ? 4 : 2));
    EXPECT_EQ(forward.tape_h.pitch, int64_t{1} << 21);
    if (tape == SYNFIRE_TAPE_STORE_NARROW) {
      EXPECT_EQ(planned.allocated.at(forward.tape_spikes.data), (uint64_t{65} << 21) * 4);
    }
    expect_covered(plan_forward(planned.spec(), forward, h200), int64_t{1} << 21);
    const core::BackwardOperation backward = planned.backward();
    EXPECT_EQ(backward.x.data, nullptr) << "X is not read beside a stored H";
    expect_covered(plan_backward(planned.spec(), backward, h200), int64_t{1} << 21, backward_threads);
  }
}

}  // namespace
}  // namespace synfire::cuda
