// Launches of copies, and of operations on spikes of any extents. Runs without a GPU.
#include "written_down.hpp"

#include <operations/elementwise/copy.hpp>
#include <operations/elementwise/elementwise_kernels.hpp>
#include <operations/spikes/convert_spikes.hpp>
#include <operations/spikes/count_spikes.hpp>
#include <operations/spikes/spikes_kernels.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <tuple>

namespace synfire::cuda {
namespace {

// The path of a copy, and the width of a kernel's accesses.
TEST(LaunchPlan, CopiesGoByKernelOrByTheCopyEngine) {
  const Planned planned({1, 1, 1});
  static uint64_t engine = 0;
  api().memcpy_async = [](void*, const void*, size_t bytes, cudaMemcpyKind, cudaStream_t) {
    engine = bytes;
    return cudaSuccess;
  };
  constexpr int32_t device = SYNFIRE_MEMORY_DEVICE, pinned = SYNFIRE_MEMORY_PINNED;
  constexpr uint64_t mib = uint64_t{1} << 20, from = 4096, to = uint64_t{1} << 40;
  const struct {
    int32_t source, destination;
    uint64_t bytes, skew;
    int unit;  // 0: the copy engine
  } cases[] = {
      {device, device, 64 * mib, 0, 16},    {device, device, 64 * mib, 4, 0},
      {device, device, 64 * mib + 8, 0, 0}, {device, device, mib, 4, 4},
      {device, device, 13, 0, 1},           {pinned, device, 16, 0, 16},
      {pinned, device, mib, 0, 16},         {pinned, device, mib + 16, 0, 0},
      {device, pinned, mib, 0, 16},         {device, pinned, 2 * mib, 0, 0},
      {device, pinned, 1000, 2, 1},         {device, pinned, 1000, 4, 4},
      {pinned, pinned, 4096, 0, 16},        {SYNFIRE_MEMORY_HOST, device, 64, 0, 0},
  };
  for (const auto& c : cases) {
    SCOPED_TRACE(testing::Message() << c.source << " to " << c.destination << ", " << c.bytes << " bytes from "
                                    << c.skew);
    operations::Copy copy;
    copy.source.data = reinterpret_cast<void*>(from + c.skew);
    copy.source.memory = c.source;
    copy.destination.data = reinterpret_cast<void*>(to);
    copy.destination.memory = c.destination;
    copy.source.bytes = copy.destination.bytes = c.bytes;
    engine = 0;
    latest = {};
    enqueue(copy);
    EXPECT_EQ(engine, c.unit == 0 ? c.bytes : 0);
    if (c.unit == 0) {
      EXPECT_EQ(latest.kernel, nullptr);
      continue;
    }
    EXPECT_EQ(latest.kernel, copy_kernel(c.unit));
    const auto launch = latest.as<CopyLaunch>();
    EXPECT_EQ(launch.count * c.unit, static_cast<int64_t>(c.bytes));
    EXPECT_GE(latest.n_blocks * latest.n_threads, static_cast<uint64_t>(launch.count));
  }
}

TEST(LaunchPlan, ConversionsAndCountsCoverEverySpike) {
  constexpr int64_t tile_neurons = 32 * words_per_tile, most_blocks = 16 * 132;
  for (const Given& given : {Given{1, 1, 1}, Given{33, 3, 257}, Given{4099, 3, 1000003}, Given{3, 1, two31 + 13},
                             Given{two32, 1, 40}, Given{2, two31 + 1, 5}}) {
    SCOPED_TRACE(testing::Message() << given.n_steps << " x " << given.batch << " x " << given.n_neurons);
    Planned planned({1, 1, 1});
    const core::Extents e = {given.n_steps, given.batch, given.n_neurons};
    const int64_t layers = (e.n_steps + 31) / 32;
    const auto dense = planned.buffer(SYNFIRE_DTYPE_U8, static_cast<uint64_t>(e.n_steps * e.row()));
    const auto bits =
        planned.buffer(SYNFIRE_DTYPE_BITS, static_cast<uint64_t>(e.n_steps * e.batch * e.words_per_row()));
    const auto by_time = planned.buffer(SYNFIRE_DTYPE_TIME_BITS, static_cast<uint64_t>(layers * e.row()));
    for (const auto& [source, destination, rows] : {std::tuple{dense, bits, true}, {by_time, dense, false}}) {
      enqueue(operations::convert_spikes({e, source.get(), destination.get()}).front());
      const auto launch = latest.as<ConvertSpikesLaunch>();
      const bool long_row = !rows || e.n_neurons % 32 == 0;
      const int64_t batch = long_row ? 1 : e.batch, neurons = long_row ? e.row() : e.n_neurons;
      EXPECT_EQ(launch.extents.batch, batch);
      EXPECT_EQ(launch.extents.n_neurons, neurons);
      EXPECT_EQ(launch.n_tiles, layers * batch * ((neurons + tile_neurons - 1) / tile_neurons));
      EXPECT_EQ(latest.n_threads, uint64_t{spike_threads});
      EXPECT_EQ(latest.n_blocks, static_cast<uint64_t>(std::min(launch.n_tiles, most_blocks)));
    }
    for (const auto kind :
         {operations::CountKind::per_neuron, operations::CountKind::per_step, operations::CountKind::total}) {
      const int64_t counted = kind == operations::CountKind::per_neuron ? e.row()
                              : kind == operations::CountKind::per_step ? e.n_steps
                                                                        : 1;
      const auto counts = planned.buffer(SYNFIRE_DTYPE_U64, static_cast<uint64_t>(counted));
      const core::Operation op = operations::count_spikes({kind, e, bits.get(), counts.get()}).front();
      enqueue(op);
      const auto launch = latest.as<CountSpikesLaunch>();
      const int64_t tiles = tiles_per_row(launch.extents);
      const int64_t length = kind == operations::CountKind::per_neuron ? layers : tiles;
      const int64_t lines = launch.extents.batch * (kind == operations::CountKind::per_neuron ? tiles : layers);
      ASSERT_GE(launch.run, 1);
      EXPECT_EQ(launch.n_runs % lines, 0);
      EXPECT_GE(launch.n_runs / lines * launch.run, length);
      EXPECT_LT((launch.n_runs / lines - 1) * launch.run, length) << "the last run is needed";
      EXPECT_EQ(latest.n_blocks, static_cast<uint64_t>(std::min(launch.n_runs, most_blocks)));
    }
  }
}

}  // namespace
}  // namespace synfire::cuda
