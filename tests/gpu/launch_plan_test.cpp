// From layers of any extents to launches of passes: grids, widths, 64-bit arguments and limits. Runs without a GPU.
// Full waves are in wave_plan_test.cpp, copies and spikes in transfer_plan_test.cpp.
#include "written_down.hpp"

#include <base/error.hpp>
#include <operations/elementwise/fill.hpp>

#include <gtest/gtest.h>

#include <string>
#include <tuple>
#include <vector>

namespace synfire::cuda {
namespace {

int64_t quotient_up(int64_t a, int64_t b) {
  return a / b + (a % b != 0 ? 1 : 0);
}

// The blocks cover all tiles, the tiles all elements, and the last of each is needed.
void expect_covered(const Plan& plan, int64_t elements, int block_threads = threads_per_block) {
  EXPECT_EQ(plan.tiles.elements, elements);
  EXPECT_EQ(plan.tiles.words, 0);
  EXPECT_EQ(plan.tiles.of_batch_row, 0);
  EXPECT_EQ(plan.tiles.count, quotient_up(elements, int64_t{32} * plan.ownership.width));
  EXPECT_EQ(int64_t{plan.n_blocks}, quotient_up(plan.tiles.count, block_threads / 32));
}
// The same of tiles of packed words.
void expect_words_covered(const Plan& plan, int64_t batch, int64_t n_neurons) {
  const int64_t words = (n_neurons + 31) / 32;
  if (plan.tiles.words > 0) {
    EXPECT_EQ(plan.tiles.of_batch_row, 0);
    EXPECT_EQ(plan.tiles.count, quotient_up(batch * words, plan.tiles.words));
  } else {
    EXPECT_EQ(plan.tiles.of_batch_row, quotient_up(words, plan.ownership.width));
    EXPECT_EQ(plan.tiles.count, batch * plan.tiles.of_batch_row);
  }
  EXPECT_EQ(int64_t{plan.n_blocks}, quotient_up(plan.tiles.count, threads_per_block / 32));
}

const Given extents[] = {
    {64, 1, two31 / 64, SYNFIRE_DTYPE_F32},                                         // T·N = 2^31
    {65, 1, two31 / 64, SYNFIRE_DTYPE_F16},                                         // above 2^31
    {2047, 1, 1 << 21, SYNFIRE_DTYPE_F32},                                          // (T + 1)·N = 2^32
    {2048, 1, 1 << 21, SYNFIRE_DTYPE_BF16},                                         // T·N = 2^32
    {4099, 3, 1000003, SYNFIRE_DTYPE_F32},                                          // odd rows, more than 2^33 elements
    {2, 1, two31 - 1, SYNFIRE_DTYPE_F32},                                           // N just below 2^31
    {2, 1, two31, SYNFIRE_DTYPE_F16},       {3, 1, two31 + 13, SYNFIRE_DTYPE_F32},  // N = 2^31 and more
    {2, 7, two31 + 13, SYNFIRE_DTYPE_BF16},                                         // rows end within a word
    {1, 1, two32 * 8, SYNFIRE_DTYPE_F64},   {int64_t{1} << 33, 1, 5, SYNFIRE_DTYPE_F32},  // T beyond 2^32
};

TEST(LaunchPlan, WhichPassesBeginEarly) {
  // 132 multiprocessors hold at most 270,336 threads, and each thread has four neurons.
  const Planned small({4, 1, 1 << 18, SYNFIRE_DTYPE_F32}), full({4, 1, 270336 * 4, SYNFIRE_DTYPE_F32});
  const Planned more({4, 1, 270336 * 4 + 512, SYNFIRE_DTYPE_F32});
  ASSERT_EQ(plan_of(full.forward(), h200).n_blocks, 270336u / threads_per_block);
  const auto hints_of = [](const core::Operation& operation) { return operation.kind().hints(operation.data(), h200); };
  for (const core::Operation& pass : {core::Operation(full.forward()), core::Operation(full.backward())})
    EXPECT_TRUE(hints_of(pass).lets_next_begin);
  EXPECT_TRUE(hints_of(full.backward()).begins_early);
  EXPECT_TRUE(hints_of(small.backward()).begins_early);
  EXPECT_FALSE(hints_of(small.forward()).begins_early);
  EXPECT_FALSE(hints_of(full.forward()).begins_early);
  EXPECT_TRUE(hints_of(more.forward()).begins_early);
  const core::Operation fill = operations::Fill{full.grad_x->view(), 0};
  EXPECT_FALSE(hints_of(fill).begins_early);
  EXPECT_FALSE(hints_of(fill).lets_next_begin);
  for (const bool early : {false, true}) {
    const Launcher::Place place = {nullptr, 0, false, early};
    enqueue(full.forward(), place);
    EXPECT_EQ(latest.as<ForwardLaunch<float>>().next_begins_early, early);
    enqueue(full.backward(), place);
    EXPECT_EQ(latest.as<BackwardLaunch<float>>().next_begins_early, early);
  }
}

TEST(LaunchPlan, ExtentsBeyond32Bits) {
  for (const Given& given : extents) {
    SCOPED_TRACE(testing::Message() << given.n_steps << " x " << given.batch << " x " << given.n_neurons << " dtype "
                                    << given.dtype);
    Planned planned(given);
    const int64_t row = given.batch * given.n_neurons;
    const operations::Forward forward = planned.forward();
    const Plan plan = plan_of(forward, h200);
    if (given.batch > 1 && given.n_neurons % 32 != 0)
      expect_words_covered(plan, given.batch, given.n_neurons);
    else
      expect_covered(plan, row);
    const operations::Backward backward = planned.backward();
    const Plan backward_plan = plan_of(backward, h200);
    expect_covered(backward_plan, row, backward_threads);
    enqueue(backward);
    EXPECT_EQ(latest.n_blocks, backward_plan.n_blocks);
    EXPECT_EQ(latest.n_threads, static_cast<uint64_t>(backward_threads));
    EXPECT_EQ(latest.shared_bytes, backward_plan.shared_bytes);
    EXPECT_EQ(latest.kernel, kernel_for(backward, backward_plan));

    // The tape has the size that T and N require, in 64 bits.
    const uint64_t element = given.dtype == SYNFIRE_DTYPE_F64 ? 8 : 4;
    EXPECT_EQ(planned.allocated.at(forward.tape.data),
              static_cast<uint64_t>((given.n_steps + 31) / 32) * static_cast<uint64_t>(row) * element);
    EXPECT_EQ(forward.x.bytes,
              static_cast<uint64_t>(given.n_steps) * static_cast<uint64_t>(row) * core::bytes_of_dtype(given.dtype));

    enqueue(forward);
    EXPECT_EQ(latest.n_blocks, plan.n_blocks);
    EXPECT_EQ(latest.n_threads, static_cast<uint64_t>(threads_per_block));
    EXPECT_EQ(latest.kernel, kernel_for(forward, plan));
    if (given.dtype == SYNFIRE_DTYPE_F64) continue;
    const auto arguments = latest.as<ForwardLaunch<float>>();
    EXPECT_EQ(arguments.tiles.count, plan.tiles.count);
    EXPECT_EQ(arguments.tiles.words, plan.tiles.words);
    EXPECT_EQ(arguments.tiles.of_batch_row, plan.tiles.of_batch_row);
    EXPECT_EQ(arguments.tiles.elements, row);
    EXPECT_EQ(arguments.arguments.extents.n_steps, given.n_steps);
    EXPECT_EQ(arguments.arguments.extents.row(), row);
    EXPECT_EQ(arguments.arguments.x.pitch, row);
    EXPECT_EQ(arguments.arguments.x.data, planned.x->view().data);
    EXPECT_EQ(arguments.arguments.spike_bits.pitch, given.batch * ((given.n_neurons + 31) / 32));
    EXPECT_EQ(arguments.arguments.tape, forward.tape.data);
  }
}

// Before a capture, an operation's own function lists the kernels that it would launch.
TEST(LaunchPlan, LoadingLaunchesNothing) {
  const Planned planned({33, 2, 777});
  static std::vector<const void*> asked;
  api().func_get_attributes = [](cudaFuncAttributes*, const void* kernel) {
    asked.push_back(kernel);
    return cudaSuccess;
  };
  const operations::Forward forward = planned.forward();
  for (const core::Operation& operation : {core::Operation(forward), core::Operation(planned.backward())}) {
    latest = {};
    enqueue(operation);
    const void* const launched = latest.kernel;
    ASSERT_NE(launched, nullptr);
    latest = {};
    asked.clear();
    Launcher loader(h200, Launcher::Purpose::load, {});
    operation.kind().enqueue(operation.data(), loader);
    EXPECT_EQ(latest.kernel, nullptr);
    EXPECT_EQ(asked, std::vector<const void*>{launched});
  }
}

TEST(LaunchPlan, AGridHasALargestSize) {
  // 2^31 − 1 blocks of at most 128 threads; rows with two elements per thread, more steps than short sequences have.
  for (const int64_t n_neurons : {(int64_t{1} << 39) - 255, int64_t{1} << 40}) {
    Given given = {5, 1, n_neurons, SYNFIRE_DTYPE_F32};
    given.misaligned = 1;
    Planned planned(given);
    const operations::Forward forward = planned.forward();
    for (const bool backward : {false, true}) {
      try {
        if (backward)
          plan_of(planned.backward(), h200);
        else
          plan_of(forward, h200);
        ADD_FAILURE() << "planned";
      } catch (const core::Failure& failure) {
        EXPECT_EQ(failure.status, SYNFIRE_ERROR_UNSUPPORTED);
        EXPECT_STREQ(failure.rule, "SYN-LAUNCH-GRID");
        EXPECT_NE(failure.text.find(std::to_string(n_neurons)), std::string::npos) << failure.text;
      }
    }
  }
  Given largest = {5, 1, (int64_t{1} << 39) - 256, SYNFIRE_DTYPE_F32};
  largest.misaligned = 1;
  Planned planned(largest);
  EXPECT_EQ(plan_of(planned.forward(), h200).n_blocks, 0x7FFFFFFFu);
}

// ---- Widths ---------------------------------------------------------------------------------------------------------

Ownership forward_of(const Given& given) {
  Planned planned(given);
  return plan_of(planned.forward(), h200).ownership;
}
Ownership backward_of(const Given& given) {
  Planned planned(given);
  (void)planned.forward();
  return plan_of(planned.backward(), h200).ownership;
}

// The plan for many neurons: for rows that are aligned, and for any rows.
struct Expected {
  Ownership aligned, any;
};
constexpr Ownership strided(int width) {
  return {width, OwnershipKind::strided};
}
constexpr Ownership adjacent(int width) {
  return {width, OwnershipKind::adjacent};
}
constexpr Ownership strided_at_once(int width) {
  return {width, OwnershipKind::strided_at_once};
}
constexpr Ownership adjacent_at_once(int width) {
  return {width, OwnershipKind::adjacent_at_once};
}
bool at_once(const Ownership& ownership) {
  return ownership.kind == OwnershipKind::strided_at_once || ownership.kind == OwnershipKind::adjacent_at_once;
}

// The kernels of LIF with a sigmoid for one storage type; `short_` is for sequences of at most `short_steps`. Written
// down here, and not read from the tables that the plan reads.
struct TypeWidths {
  int32_t dtype;
  Expected forward, short_forward, backward, short_backward;
};
constexpr TypeWidths types[] = {
    {SYNFIRE_DTYPE_F32,
     {adjacent(4), strided(2)},
     {adjacent(4), strided_at_once(4)},
     {adjacent(2), strided(2)},
     {adjacent_at_once(4), strided_at_once(4)}},
    {SYNFIRE_DTYPE_F64,
     {strided(2), strided(2)},
     {strided_at_once(2), strided_at_once(2)},
     {strided(1), strided(1)},
     {strided_at_once(2), strided_at_once(2)}},
    {SYNFIRE_DTYPE_F16,
     {adjacent(4), strided(4)},
     {adjacent(4), strided(4)},
     {adjacent(2), strided(2)},
     {adjacent_at_once(4), strided_at_once(4)}},
    {SYNFIRE_DTYPE_BF16,
     {adjacent(4), strided(4)},
     {adjacent(4), strided(4)},
     {adjacent(2), strided(2)},
     {adjacent_at_once(4), strided_at_once(4)}},
};

// Several neurons per thread at any shape: adjacent ones if rows are aligned.
TEST(LaunchPlan, WidthsFollowTheStorageType) {
  constexpr int64_t many = 1 << 22, few = 4096;
  for (const TypeWidths& type : types) {
    const int32_t dtype = type.dtype;
    const auto [aligned, any] = type.forward;
    const auto [aligned_back, any_back] = type.backward;
    for (const int32_t spikes : {SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_TIME_BITS}) {
      SCOPED_TRACE(testing::Message() << "dtype " << dtype << " spikes " << spikes);
      EXPECT_EQ(forward_of({5, 1, many, dtype, spikes}), aligned);
      EXPECT_EQ(backward_of({5, 1, many, dtype, spikes}), aligned_back);
      EXPECT_EQ(forward_of({5, 1, few, dtype, spikes}), Ownership{1}) << "few neurons: more threads, not wider ones";
      EXPECT_EQ(forward_of({5, 1, many + 1, dtype, spikes}), any) << "rows that are not a multiple";
      EXPECT_EQ(backward_of({5, 1, many + 1, dtype, spikes}), any_back);
      Given late = {5, 1, many, dtype, spikes};
      late.misaligned = 1;
      EXPECT_EQ(forward_of(late), any) << "x is offset by one element";
      EXPECT_EQ(backward_of(late), any_back);
      Given spaced = {5, 1, many, dtype, spikes};
      spaced.padding = 1;
      EXPECT_EQ(forward_of(spaced), any) << "only its first row is aligned";
      EXPECT_EQ(backward_of(spaced), any_back);
      spaced.padding = 64;
      EXPECT_EQ(forward_of(spaced), aligned) << "every row is aligned";
    }
  }
}

// A thread has more neurons of a short sequence if the bytes of one are too few, and loads all rows at once.
TEST(LaunchPlan, WidthsOfShortSequences) {
  constexpr int64_t many = 1 << 22, few = 4096;
  for (const TypeWidths& type : types) {
    const int32_t dtype = type.dtype;
    const auto [aligned, any] = type.short_forward;
    const auto [aligned_back, any_back] = type.short_backward;
    for (int64_t n_steps = 1; n_steps <= short_steps; ++n_steps) {
      SCOPED_TRACE(testing::Message() << "dtype " << dtype << " steps " << n_steps);
      EXPECT_EQ(backward_of({n_steps, 1, many, dtype}), aligned_back);
      EXPECT_EQ(backward_of({n_steps, 1, many + 1, dtype}), any_back);
      EXPECT_EQ(backward_of({n_steps, 1, few, dtype}), Ownership{1});
      EXPECT_EQ(forward_of({n_steps, 1, many, dtype}), aligned);
      EXPECT_EQ(forward_of({n_steps, 1, many + 1, dtype}), any);
      EXPECT_EQ(forward_of({n_steps, 1, few, dtype}), Ownership{1});
      Given stored = {n_steps, 1, many + 1, dtype};
      stored.tape = SYNFIRE_TAPE_STORE;
      EXPECT_FALSE(at_once(forward_of(stored))) << "any combination of sequences";
      EXPECT_FALSE(at_once(backward_of(stored))) << "H is not recomputed";
      Given rare = {n_steps, 1, many, dtype};
      rare.surrogate = SYNFIRE_SURROGATE_ERF;
      EXPECT_FALSE(at_once(backward_of(rare))) << "rare surrogates share one instance";
      EXPECT_FALSE(at_once(forward_of({n_steps, 1, many + 1, dtype, SYNFIRE_DTYPE_U8}))) << "spikes as bytes";
    }
    EXPECT_FALSE(at_once(forward_of({short_steps + 1, 1, many + 1, dtype})));
    EXPECT_FALSE(at_once(backward_of({short_steps + 1, 1, many + 1, dtype})));
  }
  // Tiles of packed words.
  EXPECT_EQ(forward_of({4, 256, 783}), strided_at_once(4));
  EXPECT_EQ(forward_of({4, 200000, 1}), Ownership{1}) << "wide tiles would be empty";
}

// Models other than LIF and those that share its kernels have two neurons a thread in f32 with packed spikes, whatever
// the alignment and the length, and one elsewhere.
TEST(LaunchPlan, WidthsOfModelsWithFewInstances) {
  constexpr int64_t many = 1 << 22;
  for (const int32_t model : {SYNFIRE_MODEL_QIF, SYNFIRE_MODEL_EIF, SYNFIRE_MODEL_IZHIKEVICH})
    for (const int64_t n_steps : {1, 5, 100}) {
      SCOPED_TRACE(testing::Message() << "model " << model << " steps " << n_steps);
      const auto given = [&](int64_t n_neurons, int32_t dtype, int32_t spikes, int64_t batch = 1) {
        Given of = {n_steps, batch, n_neurons, dtype, spikes};
        of.model = model;
        return of;
      };
      for (const int64_t n_neurons : {many, many + 1}) {
        EXPECT_EQ(forward_of(given(n_neurons, SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_BITS)), strided(2));
        EXPECT_EQ(forward_of(given(n_neurons, SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F32)), Ownership{1});
        EXPECT_EQ(backward_of(given(n_neurons, SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_BITS)), strided(2));
        EXPECT_EQ(forward_of(given(n_neurons, SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_TIME_BITS)), Ownership{1});
        for (const int32_t dtype : {SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16, SYNFIRE_DTYPE_F64}) {
          EXPECT_EQ(forward_of(given(n_neurons, dtype, SYNFIRE_DTYPE_BITS)), Ownership{1});
          EXPECT_EQ(backward_of(given(n_neurons, dtype, SYNFIRE_DTYPE_BITS)), Ownership{1});
        }
      }
      EXPECT_EQ(forward_of(given(784, SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_BITS, 5000)), strided(2)) << "by words";
      EXPECT_EQ(forward_of(given(4096, SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_BITS)), Ownership{1}) << "few neurons";
    }
}

// A pass of any model, dtype, spike format and tape has a kernel.
TEST(LaunchPlan, EveryPassHasAKernel) {
  std::vector<int32_t> models = {SYNFIRE_MODEL_CUBA_LIF_EXACT, SYNFIRE_MODEL_CUBA_LI_EXACT, SYNFIRE_MODEL_INTEGRATOR};
  for (int32_t model = SYNFIRE_MODEL_IF; model <= SYNFIRE_MODEL_CUBA_LI; ++model) models.push_back(model);
  const auto is_silent = [](int32_t model) {
    return model == SYNFIRE_MODEL_LI || model == SYNFIRE_MODEL_LI_EXACT || model == SYNFIRE_MODEL_CUBA_LI ||
           model == SYNFIRE_MODEL_CUBA_LI_EXACT || model == SYNFIRE_MODEL_INTEGRATOR;
  };
  for (const int32_t model : models)
    for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16})
      for (const int32_t surrogate : {SYNFIRE_SURROGATE_SIGMOID, SYNFIRE_SURROGATE_ATAN, SYNFIRE_SURROGATE_ERF})
        for (const int32_t spikes :
             std::initializer_list<int32_t>{SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS, SYNFIRE_DTYPE_U8, dtype})
          for (const int32_t tape : {SYNFIRE_TAPE_RECOMPUTE, SYNFIRE_TAPE_STORE})
            for (const int64_t n_neurons : {int64_t{97}, int64_t{1} << 22}) {
              const bool fires = !is_silent(model);
              if (!fires && (spikes != SYNFIRE_DTYPE_BITS || tape != SYNFIRE_TAPE_RECOMPUTE)) continue;
              SCOPED_TRACE(testing::Message() << "model " << model << " dtype " << dtype << " surrogate " << surrogate
                                              << " spikes " << spikes << " tape " << tape << " n " << n_neurons);
              Given given = {5, 1, n_neurons, dtype, spikes};
              given.model = model;
              given.surrogate = fires ? surrogate : 0;
              given.tape = tape;
              Planned planned(given);
              const operations::Forward forward = planned.forward();
              EXPECT_NE(kernel_for(forward, plan_of(forward, h200)), nullptr);
              operations::Backward backward = planned.backward();
              EXPECT_NE(kernel_for(backward, plan_of(backward, h200)), nullptr);
              backward.gradients.count = 1;
              EXPECT_NE(kernel_for(backward, plan_of(backward, h200)), nullptr);
            }
}

// Layers with rules that few layers have, and ALIF, have one kernel for each pass and arithmetic, of one neuron a
// thread.
TEST(LaunchPlan, RuledPassesHaveKernelsOfTheirOwn) {
  for (const int32_t model :
       {SYNFIRE_MODEL_IF, SYNFIRE_MODEL_LIF, SYNFIRE_MODEL_EIF, SYNFIRE_MODEL_IZHIKEVICH, SYNFIRE_MODEL_ALIF})
    for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16}) {
      SCOPED_TRACE(testing::Message() << "model " << model << " dtype " << dtype);
      Given given = {4, 1, int64_t{1} << 22, dtype};
      given.model = model;
      Given plain = given;
      given.refractory_steps = 2;
      const Planned ruled(given);
      const Plan forward = plan_of(ruled.forward(), h200), backward = plan_of(ruled.backward(), h200);
      EXPECT_EQ(forward.ownership, Ownership{1});
      EXPECT_EQ(backward.ownership, Ownership{1});
      const void* const kernels[2] = {kernel_for(ruled.forward(), forward), kernel_for(ruled.backward(), backward)};
      const bool wide = dtype == SYNFIRE_DTYPE_F64;
      EXPECT_EQ(kernels[0], wide ? ruled_forward_kernel<double>(model) : ruled_forward_kernel<AnyStorage>(model));
      EXPECT_EQ(kernels[1], wide ? ruled_backward_kernel<double>(model) : ruled_backward_kernel<AnyStorage>(model));
      EXPECT_NE(kernels[0], nullptr);
      EXPECT_NE(kernels[1], nullptr);
      const Planned other(plain);
      const bool same = model == SYNFIRE_MODEL_ALIF;
      EXPECT_EQ(kernel_for(other.forward(), plan_of(other.forward(), h200)) == kernels[0], same);
      EXPECT_EQ(kernel_for(other.backward(), plan_of(other.backward(), h200)) == kernels[1], same);
    }
}

// Packed words end with their batch row, wherever that is.
TEST(LaunchPlan, TilesOfPackedWords) {
  const std::tuple<int64_t, int64_t, Ownership, int> rows[] = {
      // batch, neurons: neurons per thread, words dealt to a tile
      {256,
       784,
       {4, OwnershipKind::adjacent_of_rows},
       0},  // 7 tiles of four words for each batch row, the last one with 16 neurons
      {2000, 100, {4, OwnershipKind::adjacent_of_rows}, 0},  // one tile: 100 neurons in 128 lanes
      {256, 783, {2}, 0},                                    // 13 tiles of two words
      {20000, 10, {2}, 6},                                   // one word of 10 bits per row: 60 neurons in 64 lanes
      {20000, 12, {2}, 5},                                   // adjacent neurons' words are not dealt out
      {5000, 33, {2}, 2},                                    // pairs of 33 bits
      {9000, 17, {2}, 3},
      {200000, 1, {1}, 32},  // a lane writes one word at most, so wide tiles would be empty
      {100000, 2, {2}, 32},
      {50000, 3, {2}, 21},
      {64, 100, {1}, 0},
      {20, 10, {1}, 3},
  };
  for (const auto& [batch, neurons, ownership, words] : rows) {
    SCOPED_TRACE(testing::Message() << batch << " rows of " << neurons);
    const Planned planned({5, batch, neurons});
    const Plan plan = plan_of(planned.forward(), h200);
    EXPECT_EQ(plan.ownership, ownership);
    EXPECT_EQ(plan.tiles.words, words);
    expect_words_covered(plan, batch, neurons);
    // The batch row of a tile is found without a division.
    for (int64_t tile = 0; plan.tiles.multiplier != 0 && tile < plan.tiles.count; ++tile)
      ASSERT_EQ(static_cast<uint64_t>(2 * tile) * plan.tiles.multiplier >> 32 >> plan.tiles.shift,
                static_cast<uint64_t>(tile / plan.tiles.of_batch_row));
    // Wherever a tile begins, its words have room in its lanes.
    const int64_t per_row = (neurons + 31) / 32;
    for (int64_t tile = 0; words > 0 && tile < std::min<int64_t>(plan.tiles.count, 2 * per_row + 64); ++tile) {
      int64_t bits = 0;
      for (int64_t word = tile * words; word < (tile + 1) * words; ++word)
        bits += std::min<int64_t>(32, neurons - word % per_row * 32);
      ASSERT_LE(bits, int64_t{32} * ownership.width);
    }
    Given dense = {5, batch, neurons};
    dense.spikes = SYNFIRE_DTYPE_U8;
    expect_covered(plan_of(Planned(dense).forward(), h200), batch * neurons);
    expect_covered(plan_of(planned.backward(), h200), batch * neurons, backward_threads);
  }
}

// Up to the largest tile and any number of them in a batch row.
TEST(LaunchPlan, BatchRowsOfTilesWithoutADivision) {
  for (const int64_t tiles : {1, 2, 3, 5, 7, 8, 9, 127, 641, 65535, 65537, 715827883}) {
    const int64_t neurons = 128 * tiles - 4, batch = (two31 - 1) / tiles;
    const Tiles planned = plan_of(Planned({5, batch, neurons, SYNFIRE_DTYPE_F16}).forward(), h200).tiles;
    if (batch < 2) continue;
    SCOPED_TRACE(testing::Message() << batch << " rows of " << tiles << " tiles");
    ASSERT_EQ(planned.of_batch_row, tiles);
    ASSERT_NE(planned.multiplier, 0u);
    const auto expect_row = [&](int64_t tile) {
      if (tile < 0 || tile >= planned.count) return;
      ASSERT_EQ(static_cast<uint64_t>(2 * tile) * planned.multiplier >> 32 >> planned.shift,
                static_cast<uint64_t>(tile / tiles));
    };
    for (int64_t row = 1; row < batch; row += 1 + row / 7) {
      expect_row(row * tiles - 1);
      expect_row(row * tiles);
    }
    for (int64_t tile = planned.count - 100; tile < planned.count; ++tile) expect_row(tile);
  }
}

// A pass of a model that never fires reads and writes one sequence each, in accesses as wide as a forward's.
TEST(LaunchPlan, WidthsWithoutSpikes) {
  constexpr int64_t many = 1 << 22, few = 4096;
  for (const TypeWidths& type : types) {
    const int32_t dtype = type.dtype;
    SCOPED_TRACE(testing::Message() << "dtype " << dtype);
    const auto [wide, any] = type.forward;
    Given given = {40, 1, many, dtype};
    given.model = SYNFIRE_MODEL_LI;
    EXPECT_EQ(forward_of(given), wide);
    EXPECT_EQ(backward_of(given), wide);
    given.misaligned = 1;
    EXPECT_EQ(forward_of(given), any);
    EXPECT_EQ(backward_of(given), wide) << "x is not read";
    given = {40, 1, few, dtype};
    given.model = SYNFIRE_MODEL_LI;
    EXPECT_EQ(forward_of(given), Ownership{1});
    EXPECT_EQ(backward_of(given), Ownership{1});
    Planned planned(given);
    (void)planned.forward();
    operations::Backward op = planned.backward();
    const Plan plain = plan_of(op, h200);
    EXPECT_EQ(op.x.data, nullptr);
    EXPECT_EQ(op.tape.data, nullptr);
    EXPECT_EQ(plain.shared_bytes, 0u);
    expect_covered(plain, few, backward_threads);
    enqueue(op);
    EXPECT_EQ(latest.kernel, kernel_for(op, plain));
    op.gradients.count = 1;
    EXPECT_NE(kernel_for(op, plan_of(op, h200)), kernel_for(planned.backward(), plain));
    EXPECT_GT(plan_of(op, h200).shared_bytes, 0u);
  }
}

// ---- Builds with fewer kernels --------------------------------------------------------------------------------------

TEST(LaunchPlan, NamesInAList) {
  for (const char* const name : {"f32", "f16", "lif", "plif"}) EXPECT_TRUE(contains_name("", name));
  for (const char* const name : {"f32", "f16", "bf16"}) EXPECT_TRUE(contains_name("f32:f16:bf16", name)) << name;
  for (const char* const name : {"f64", "f", "16", "bf", ""}) EXPECT_FALSE(contains_name("f32:f16:bf16", name)) << name;
  EXPECT_TRUE(contains_name("plif:lif", "lif"));
  EXPECT_FALSE(contains_name("plif", "lif"));
  EXPECT_FALSE(contains_name("lif", "plif"));
}

// Errors name the kernels that a build left out, and its configuration. The other kernels are those of any build.
TEST(LaunchPlan, KernelsThatTheBuildLeftOut) {
  static constexpr BuiltKernels few = {"f32:f64", "lif:li"};
  const std::tuple<int32_t, int32_t, const char*> layers[] = {
      {SYNFIRE_DTYPE_F32, SYNFIRE_MODEL_LIF, nullptr},
      {SYNFIRE_DTYPE_F64, SYNFIRE_MODEL_LIF, nullptr},
      {SYNFIRE_DTYPE_F32, SYNFIRE_MODEL_LI, nullptr},
      {SYNFIRE_DTYPE_F16, SYNFIRE_MODEL_LIF, "for f16 (SYNFIRE_CUDA_DTYPES=f32;f64, SYNFIRE_CUDA_MODELS=lif;li)"},
      {SYNFIRE_DTYPE_BF16, SYNFIRE_MODEL_QIF, "for bf16 ("},
      {SYNFIRE_DTYPE_F32, SYNFIRE_MODEL_QIF, "for qif ("},
      {SYNFIRE_DTYPE_F64, SYNFIRE_MODEL_PLIF, "for plif ("}};
  for (const auto& [dtype, model, left_out] : layers) {
    SCOPED_TRACE(testing::Message() << "dtype " << dtype << " model " << model);
    Given given = {5, 1, 77, dtype};
    given.model = model;
    const Planned planned(given);
    const auto expect = [text = left_out](const auto& pass) {
      const Plan plan = plan_of(pass, h200);
      const void* const kernel = kernel_for(pass, plan);
      EXPECT_NE(kernel, nullptr);
      try {
        EXPECT_EQ(kernel_for(pass, plan, few), kernel);
        EXPECT_EQ(text, nullptr) << "a kernel was found";
      } catch (const core::Failure& failure) {
        EXPECT_EQ(failure.status, SYNFIRE_ERROR_UNSUPPORTED);
        EXPECT_STREQ(failure.rule, "SYN-LAUNCH-KERNELS");
        EXPECT_NE(failure.text.find(text ? text : "no refusal"), std::string::npos) << failure.text;
      }
    };
    expect(planned.forward());
    expect(planned.backward());
  }
}

TEST(LaunchPlan, SharedMemoryFitsAnyLayer) {
  constexpr uint32_t most = 227 * 1024;  // of compute capability 9.0; the smallest supported architecture has 99 KiB
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16})
    for (int32_t model = SYNFIRE_MODEL_IF; model <= SYNFIRE_MODEL_IZHIKEVICH; ++model)
      for (const int64_t n_steps : {1, 31, 32, 33, 100000}) {
        Given given = {n_steps, 1, 1 << 20, dtype};
        given.model = model;
        Planned planned(given);
        (void)planned.forward();
        operations::Backward op = planned.backward();
        const Plan plain = plan_of(op, h200);
        EXPECT_LE(plain.shared_bytes, most);
        EXPECT_GT(plain.shared_bytes, 0u);
        op.gradients.count = model::max_gradients;
        const Plan with_gradients = plan_of(op, h200);
        EXPECT_LE(with_gradients.shared_bytes, most);
        expect_covered(with_gradients, 1 << 20, backward_threads);
      }
}

TEST(LaunchPlan, TapesThatStoreHAreAsLargeAsTold) {
  for (const int32_t tape : {SYNFIRE_TAPE_STORE, SYNFIRE_TAPE_STORE_NARROW}) {
    Given given = {2049, 1, 1 << 21, SYNFIRE_DTYPE_F16};  // more than 2^32 elements
    given.tape = tape;
    Planned planned(given);
    const operations::Forward forward = planned.forward();
    const uint64_t elements = uint64_t{2049} << 21;
    EXPECT_EQ(planned.allocated.at(forward.tape_h.data), elements * (tape == SYNFIRE_TAPE_STORE ? 4 : 2));
    EXPECT_EQ(forward.tape_h.pitch, int64_t{1} << 21);
    if (tape == SYNFIRE_TAPE_STORE_NARROW) {
      EXPECT_EQ(planned.allocated.at(forward.tape_spikes.data), (uint64_t{65} << 21) * 4);
    }
    expect_covered(plan_of(forward, h200), int64_t{1} << 21);
    const operations::Backward backward = planned.backward();
    EXPECT_EQ(backward.x.data, nullptr) << "X is not read if H is stored";
    expect_covered(plan_of(backward, h200), int64_t{1} << 21, backward_threads);
  }
}

}  // namespace
}  // namespace synfire::cuda
