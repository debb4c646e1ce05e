// The write counter with which a tape checks its input: it never decreases and loses no count, with any number of
// threads.
#include <base/write_count.hpp>

#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace synfire::core {
namespace {

TEST(WriteCount, CountsOfTheOwnerAndOfAnyoneAddUp) {
  WriteCount count;
  const int first = 0, second = 0;
  EXPECT_EQ(count.value(), 0u);
  EXPECT_TRUE(count.claim(&first));
  EXPECT_FALSE(count.claim(&second));
  EXPECT_FALSE(count.claim(&first)) << "an existing owner holds one part, not two";
  count.add_as_owner();
  count.add();
  EXPECT_EQ(count.value(), 2u);
  count.give_up();
  EXPECT_EQ(count.value(), 2u) << "an owner's counts remain";
  EXPECT_TRUE(count.claim(&second));
  count.add_as_owner();
  EXPECT_EQ(count.value(), 3u);
}

// Owners come and go, other threads count, and one thread reads all the time.
TEST(WriteCount, NeverFallsAndLosesNothing) {
  constexpr int n_owners = 3, n_others = 2;
  constexpr uint64_t n_writes = 200'000;
  WriteCount count;
  std::atomic<int> at_work{n_owners + n_others};
  std::vector<std::thread> threads;
  for (int i = 0; i < n_owners; ++i)
    threads.emplace_back([&] {
      for (uint64_t done = 0; done < n_writes;) {
        if (!count.claim(&done)) {
          count.add();
          ++done;
          continue;
        }
        for (int k = 0; k < 100 && done < n_writes; ++k, ++done) count.add_as_owner();
        count.give_up();
      }
      --at_work;
    });
  for (int i = 0; i < n_others; ++i)
    threads.emplace_back([&] {
      for (uint64_t done = 0; done < n_writes; ++done) count.add();
      --at_work;
    });
  uint64_t last = 0;
  bool fell = false;
  while (at_work > 0) {
    const uint64_t now = count.value();
    fell |= now < last;
    last = now;
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(fell);
  EXPECT_EQ(count.value(), (n_owners + n_others) * n_writes);
}

}  // namespace
}  // namespace synfire::core
