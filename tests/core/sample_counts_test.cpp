// Counts of samples that do not fit into the device's 32 bits.
#include <network/sample_counts.hpp>

#include <gtest/gtest.h>

#include <utility>

namespace synfire_test {
namespace {

struct Case {
  int64_t n_batches, samples_of_batch;
};

// A device that counts as ours does: in 32 bits, which wrap.
TEST(SampleCounts, AreReadBeforeTheDeviceRunsOut) {
  for (const Case& one : {Case{1, 4}, Case{3, 0xFFFFFFFF}, Case{2, 0x80000000}, Case{1000, 50'000'000},
                          Case{5, 0xFFFFFFFF / 2}, Case{100'000, 123'457}}) {
    const int64_t n_batches = one.n_batches, samples = one.samples_of_batch;
    uint32_t on_device = 0;
    uint64_t sum = 0;
    int64_t n_launched = 0, n_read = 0;
    synfire::network::run_counted(
        n_batches, samples,
        [&](int64_t n) {
          n_launched += n;
          for (int64_t i = 0; i < n; ++i) on_device += static_cast<uint32_t>(samples);
        },
        [&] {
          sum += std::exchange(on_device, 0U);
          ++n_read;
        });
    EXPECT_EQ(n_launched, n_batches);
    EXPECT_EQ(sum, static_cast<uint64_t>(n_batches) * static_cast<uint64_t>(samples)) << n_batches << " of " << samples;
    EXPECT_LE(n_read, 2 + n_batches * samples / 0x80000000) << "a read makes the device wait";
  }
}

}  // namespace
}  // namespace synfire_test
