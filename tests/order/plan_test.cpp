// Plans of transient memory, dependencies and branches, for random lists: compared with what a direct reading of the
// lists gives.
#include <graph/memory_plan.hpp>
#include <operations/kind.hpp>

#include <gtest/gtest.h>

#include "../times.hpp"

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <functional>
#include <map>
#include <random>
#include <set>

namespace synfire::operations {

// Touches what it is told to.
struct Touch {
  static constexpr int most = 12;
  View views[most];
  core::Access access[most];

  static constexpr const char* name = "touch";
  static void operands(Touch& op, OperandVisitor visit) {
    for (int i = 0; i < most; ++i) visit({"array", op.views[i], op.access[i]});
  }
};
OperationLabel label(const Touch&) {
  return {};
}
bool wants_threads(const Touch&) {
  return false;
}
void run(const Touch&, host::Launcher&) {}
#if SYNFIRE_HAVE_CUDA
cuda::Hints hints(const Touch&, const cuda::GpuShape&) {
  return {};
}
void enqueue(const Touch&, cuda::Launcher&) {}
#endif

}  // namespace synfire::operations

SYNFIRE_DECLARE_KIND(Touch);
template <>
constinit const synfire::core::OperationKind synfire::core::KindOf<synfire::operations::Touch>::table =
    synfire::operations::make_kind<synfire::operations::Touch>();

namespace synfire_test {
namespace {

using namespace synfire::core;
using synfire::operations::Touch;

class Plans : public testing::Test {
 protected:
  int64_t whole(int64_t least, int64_t most) { return std::uniform_int_distribution<int64_t>(least, most)(random_); }

  // Recorded operations of some entries, which pass arrays on and have scratch memory. Returns the owners.
  std::vector<uint32_t> record(int64_t n_operations) {
    std::vector<uint32_t> owners;
    for (int64_t i = 0; i < n_operations; ++i) {
      OperationList list;
      const int64_t n_entries = whole(1, 4);
      int64_t bytes[3];
      for (int64_t& one : bytes) one = whole(1, 5000);
      for (int64_t e = 0; e < n_entries; ++e) {
        Touch touch = {};
        int k = 0;
        for (int32_t number = 1; number <= 2; ++number)
          if (whole(0, 1) == 1) {
            touch.access[k] = static_cast<Access>(whole(0, 2));
            touch.views[k++] = transient_array(number, SYNFIRE_DTYPE_U8, {bytes[number]});
          }
        for (int64_t n = whole(0, 2); n > 0; --n) {
          touch.access[k] = Access::scratch;
          touch.views[k++].bytes = static_cast<uint64_t>(whole(1, 5000));
        }
        list.emplace_back(touch);
        owners.push_back(static_cast<uint32_t>(i));
      }
      transients_.number(list);
      for (Operation& operation : list) entries_.push_back(std::move(operation));
    }
    return owners;
  }

  // Lets some entries use an array of an earlier one, as transient buffers do.
  void use_again(int64_t n_times) {
    for (; n_times > 0; --n_times) {
      auto& later = *static_cast<Touch*>(entries_[index()].data());
      const auto& earlier = *static_cast<const Touch*>(entries_[index()].data());
      constexpr int again = 5;  // after all that record() gives an entry
      const View& view = earlier.views[whole(0, 1)];
      if (view.bytes == 0 || later.views[again].bytes != 0) continue;
      later.views[again] = view;
      later.access[again] = Access::read;
    }
  }
  size_t index() { return static_cast<size_t>(whole(0, static_cast<int64_t>(entries_.size()) - 1)); }

  std::vector<Join> random_joins() {
    std::vector<Join> joins;
    for (size_t at = 0; at < entries_.size();) {
      const auto count = static_cast<size_t>(whole(1, 5));
      if (whole(0, 1) == 0 || at + count > entries_.size()) {
        ++at;
        continue;
      }
      std::vector<uint32_t> order(count);
      for (uint32_t& one : order) one = static_cast<uint32_t>(whole(0, static_cast<int64_t>(count) - 1));
      std::set<int32_t> left_out;
      for (const int32_t number : used_by(at, count))
        if (whole(0, 3) == 0) left_out.insert(number);
      joins.push_back({at, count, Operation(Touch{}), order, {left_out.begin(), left_out.end()}});
      at += count;
    }
    return joins;
  }
  std::set<int32_t> used_by(size_t first, size_t count) const {
    std::set<int32_t> numbers;
    for (size_t entry = first; entry < first + count; ++entry)
      for (const View& view : static_cast<const Touch*>(entries_[entry].data())->views)
        if (view.bytes > 0 && view.transient > 0) numbers.insert(view.transient);
    return numbers;
  }

  // When each entry runs in the list with joins, as times that only compare.
  struct Time {
    size_t group;
    uint32_t within;
    auto operator<=>(const Time&) const = default;
  };
  std::vector<Time> times(const std::vector<Join>& joins) const {
    std::vector<Time> times(entries_.size());
    for (size_t entry = 0; entry < entries_.size(); ++entry) times[entry] = {entry, 0};
    for (const Join& join : joins)
      for (size_t i = 0; i < join.count; ++i) times[join.first + i] = {join.first, join.order[i]};
    return times;
  }

  // Two arrays with common bytes: all uses of one must come before all uses of the other, in both lists.
  void expect_sound(const Plan& plan, const std::vector<Join>& joins) {
    const std::vector<Time> at = times(joins);
    std::map<int32_t, std::vector<Time>> separate, joined;
    for (size_t entry = 0; entry < entries_.size(); ++entry)
      for (const int32_t number : used_by(entry, 1)) {
        separate[number].push_back({entry, 0});
        const auto join = std::find_if(joins.begin(), joins.end(), [&](const Join& one) {
          return entry >= one.first && entry < one.first + one.count;
        });
        const bool left_out = join != joins.end() && std::count(join->left_out.begin(), join->left_out.end(), number);
        if (!left_out) joined[number].push_back(at[entry]);
      }
    const auto before = [](const std::vector<Time>& a, const std::vector<Time>& b) {
      return a.empty() || b.empty() || *std::max_element(a.begin(), a.end()) < *std::min_element(b.begin(), b.end());
    };
    const auto apart = [&](auto& uses, int32_t a, int32_t b) {
      return before(uses[a], uses[b]) || before(uses[b], uses[a]);
    };
    const std::span<const TransientArray> arrays = transients_.arrays();
    ASSERT_EQ(plan.offsets.size(), arrays.size());
    for (size_t a = 0; a < arrays.size(); ++a) {
      EXPECT_EQ(plan.offsets[a] % 256, 0u);
      if (separate.contains(static_cast<int32_t>(a) + 1)) {
        EXPECT_LE(plan.offsets[a] + arrays[a].bytes, plan.arena_bytes);
      }
      for (size_t b = 0; b < a; ++b) {
        const bool meet =
            plan.offsets[a] < plan.offsets[b] + arrays[b].bytes && plan.offsets[b] < plan.offsets[a] + arrays[a].bytes;
        if (!meet) continue;
        const auto number_a = static_cast<int32_t>(a) + 1, number_b = static_cast<int32_t>(b) + 1;
        EXPECT_TRUE(apart(separate, number_a, number_b)) << number_a << " and " << number_b;
        EXPECT_TRUE(apart(joined, number_a, number_b)) << number_a << " and " << number_b << ", joined";
      }
    }
  }

  static uint64_t aligned(uint64_t bytes) { return (bytes + 255) / 256 * 256; }

  // At least what one entry uses; at most what one operation takes if the scratch memory of its entries comes after all
  // that they pass on, and is that of the entry that has the most.
  uint64_t least() const {
    uint64_t most = 0;
    for (size_t entry = 0; entry < entries_.size(); ++entry) {
      uint64_t bytes = 0;
      for (const int32_t number : used_by(entry, 1))
        bytes += aligned(transients_.arrays()[static_cast<size_t>(number) - 1].bytes);
      most = std::max(most, bytes);
    }
    return most;
  }
  uint64_t one_behind_the_other(const std::vector<uint32_t>& owners) const {
    std::map<uint32_t, std::map<int32_t, uint64_t>> passed_on;
    std::map<uint32_t, uint64_t> scratch;
    for (size_t entry = 0; entry < entries_.size(); ++entry) {
      const auto& touch = *static_cast<const Touch*>(entries_[entry].data());
      uint64_t own = 0;
      for (int i = 0; i < Touch::most; ++i) {
        if (touch.views[i].bytes == 0) continue;
        if (touch.access[i] == Access::scratch)
          own += aligned(touch.views[i].bytes);
        else
          passed_on[owners[entry]][touch.views[i].transient] = aligned(touch.views[i].bytes);
      }
      scratch[owners[entry]] = std::max(scratch[owners[entry]], own);
    }
    uint64_t most = 0;
    for (const auto& [owner, own] : scratch) {
      uint64_t bytes = own;
      for (const auto& [number, size] : passed_on[owner]) bytes += size;
      most = std::max(most, bytes);
    }
    return most;
  }

  std::vector<uint8_t> some_leave_room() {
    std::vector<uint8_t> leaves_room(entries_.size());
    for (uint8_t& one : leaves_room) one = whole(0, 2) == 0 ? 1 : 0;
    return leaves_room;
  }

  // An operation that touches what two entries touch.
  Operation joined(size_t first) const {
    Touch touch = {};
    int k = 0;
    for (size_t entry = first; entry < first + 2; ++entry) {
      const auto& one = *static_cast<const Touch*>(entries_[entry].data());
      for (int i = 0; i < Touch::most; ++i)
        if (one.views[i].bytes > 0) {
          touch.views[k] = one.views[i];
          touch.access[k++] = one.access[i];
        }
    }
    return touch;
  }

  void clear() {
    entries_.clear();
    transients_ = {};
  }

  std::mt19937 random_;
  OperationList entries_;
  Transients transients_;
};

TEST_F(Plans, OfOperationsTakeNoMoreThanOneOfThem) {
  for (int trial = 0; trial < 300; ++trial, clear()) {
    SCOPED_TRACE(trial);
    const std::vector<uint32_t> owners = record(whole(1, 8));
    const Plan plan = make_plan(entries_, transients_.arrays());
    expect_sound(plan, {});
    EXPECT_GE(plan.arena_bytes, least());
    EXPECT_LE(plan.arena_bytes, one_behind_the_other(owners));
  }
}

TEST_F(Plans, KeepWhatIsUsedAtOnceApart) {
  for (int trial = 0; trial < 300; ++trial, clear()) {
    SCOPED_TRACE(trial);
    record(whole(1, 8));
    use_again(whole(0, 8));
    const std::vector<Join> joins = random_joins();
    expect_sound(make_plan(entries_, transients_.arrays()), {});
    const Plan plan = make_plan(entries_, transients_.arrays(), joins);
    expect_sound(plan, joins);
    EXPECT_GE(plan.arena_bytes, least());
  }
}

TEST_F(Plans, ShareMemoryAlongAChain) {
  constexpr int64_t n = 1000, bytes = 4096;
  OperationList list;
  for (int64_t i = 0; i < n; ++i) {
    Touch touch = {};
    touch.access[0] = Access::scratch;
    touch.views[0].bytes = bytes;
    list.emplace_back(touch);
  }
  transients_.number(list);
  for (Operation& operation : list) entries_.push_back(std::move(operation));
  EXPECT_EQ(make_plan(entries_, transients_.arrays()).arena_bytes, static_cast<uint64_t>(bytes));
}

// A pair of entries of which one writes what the other one uses is ordered, by a dependency or a chain of them; no
// others are, except by a chain.
TEST_F(Plans, DependenciesAreTheConflicts) {
  for (int trial = 0; trial < 200; ++trial) {
    SCOPED_TRACE(trial);
    const auto n = static_cast<size_t>(whole(1, 20));
    OperationList entries;
    for (size_t i = 0; i < n; ++i) {
      Touch touch = {};
      for (int k = 0; k < 3; ++k) {
        touch.views[k].data = reinterpret_cast<void*>(whole(1, 200));
        touch.views[k].bytes = static_cast<uint64_t>(whole(0, 20));
        touch.access[k] = static_cast<Access>(whole(0, 2));
      }
      entries.emplace_back(touch);
    }
    const auto conflict = [&](size_t a, size_t b) {
      const auto &one = *static_cast<const Touch*>(entries[a].data()),
                 &other = *static_cast<const Touch*>(entries[b].data());
      for (int i = 0; i < 3; ++i)
        for (int k = 0; k < 3; ++k) {
          const auto from = reinterpret_cast<uintptr_t>(one.views[i].data), to = from + one.views[i].bytes;
          const auto begin = reinterpret_cast<uintptr_t>(other.views[k].data), end = begin + other.views[k].bytes;
          const bool both_read = one.access[i] == Access::read && other.access[k] == Access::read;
          if (!both_read && from < to && begin < end && from < end && begin < to) return true;
        }
      return false;
    };
    const std::vector<std::vector<uint32_t>> after = dependencies(entries);
    ASSERT_EQ(after.size(), n);
    std::vector<std::set<size_t>> reached(n);
    for (size_t later = 0; later < n; ++later) {
      EXPECT_TRUE(std::is_sorted(after[later].begin(), after[later].end()));
      for (const uint32_t earlier : after[later]) {
        ASSERT_LT(earlier, later);
        EXPECT_TRUE(conflict(earlier, later)) << earlier << " before " << later;
        reached[later].insert(earlier);
        reached[later].insert(reached[earlier].begin(), reached[earlier].end());
      }
      for (size_t earlier = 0; earlier < later; ++earlier)
        if (conflict(earlier, later)) {
          EXPECT_TRUE(reached[later].contains(earlier)) << earlier << " before " << later;
        }
    }
  }
}

// For each entry, all that have ended before it begins.
std::vector<std::set<size_t>> reached_by(const EarlierEntries& after) {
  std::vector<std::set<size_t>> reached(after.size());
  for (size_t entry = 0; entry < after.size(); ++entry)
    for (const uint32_t earlier : after[entry]) {
      reached[entry].insert(earlier);
      reached[entry].insert(reached[earlier].begin(), reached[earlier].end());
    }
  return reached;
}

TEST_F(Plans, BranchesKeepTheOrderOfDependencies) {
  int n_divided = 0;
  for (int trial = 0; trial < 300; ++trial, clear()) {
    SCOPED_TRACE(trial);
    record(whole(1, 12));
    use_again(whole(0, 12));
    const std::vector<uint8_t> leaves_room = some_leave_room();
    const std::vector<std::set<size_t>> needed = reached_by(dependencies(entries_));
    const Branches branches = find_branches(entries_, leaves_room);
    const auto independent = [&](size_t a, size_t b) { return !needed[a].contains(b) && !needed[b].contains(a); };
    bool any = false;
    for (size_t b = 0; b < entries_.size(); ++b)
      for (size_t a = 0; a < b; ++a) any = any || (leaves_room[a] && leaves_room[b] && independent(a, b));
    ASSERT_EQ(branches.count > 1, any);
    if (!any) {
      EXPECT_TRUE(branches.of.empty() && branches.after.empty());
      continue;
    }
    ++n_divided;
    ASSERT_EQ(branches.of.size(), entries_.size());
    ASSERT_EQ(branches.after.size(), entries_.size());
    const std::vector<std::set<size_t>> reached = reached_by(branches.after);
    for (size_t later = 0; later < entries_.size(); ++later) {
      for (const size_t earlier : needed[later]) EXPECT_TRUE(reached[later].contains(earlier));
      for (size_t earlier = 0; earlier < later; ++earlier) {
        if (branches.of[earlier] == branches.of[later]) {
          EXPECT_TRUE(reached[later].contains(earlier));
        } else if (branches.count < most_branches && leaves_room[earlier] && leaves_room[later]) {
          // Others of their branches may lie between them.
          EXPECT_TRUE(!independent(earlier, later) || branches.of[earlier] != branches.of[later]);
        }
      }
      // Nothing is said twice.
      for (const uint32_t one : branches.after[later])
        for (const uint32_t other : branches.after[later]) EXPECT_FALSE(reached[other].contains(one)) << later;
    }
  }
  EXPECT_GT(n_divided, 100);
}

// Arrays of entries that may run side by side have memory of their own, so that their places add nothing to the order.
TEST_F(Plans, MemoryDoesNotOrderBranches) {
  int n_divided = 0;
  for (int trial = 0; trial < 300; ++trial, clear()) {
    SCOPED_TRACE(trial);
    record(whole(1, 12));
    use_again(whole(0, 12));
    const Branches branches = find_branches(entries_, some_leave_room());
    if (branches.count > 1) ++n_divided;
    const std::vector<Join> joins = whole(0, 1) == 0 ? std::vector<Join>{} : random_joins();
    const Plan plan = make_plan(entries_, transients_.arrays(), joins, branches);
    expect_sound(plan, joins);
    OperationList placed = entries_;
    place_transients(placed, transients_.arrays(), plan.offsets, reinterpret_cast<void*>(uintptr_t{1} << 20));
    const EarlierEntries after = dependencies(placed);
    if (branches.of.empty()) continue;
    const std::vector<std::set<size_t>> reached = reached_by(branches.after);
    for (size_t entry = 0; entry < placed.size(); ++entry)
      for (const uint32_t earlier : after[entry])
        EXPECT_TRUE(reached[entry].contains(earlier)) << earlier << " before " << entry;
  }
  EXPECT_GT(n_divided, 100);
}

// The same for the list with joined operations, in which an array has a place only outside of the joins that leave it
// out.
TEST_F(Plans, MemoryDoesNotOrderBranchesOfJoinedOperations) {
  int n_divided = 0;
  for (int trial = 0; trial < 300; ++trial, clear()) {
    SCOPED_TRACE(trial);
    record(whole(1, 12));
    use_again(whole(0, 12));
    std::vector<Join> joins;
    for (size_t at = 0; at + 2 <= entries_.size(); at += static_cast<size_t>(whole(2, 5)))
      if (whole(0, 1) == 0) joins.push_back({at, 2, joined(at), {0, 1}, {}});
    OperationList list;
    auto join = joins.begin();
    for (size_t entry = 0; entry < entries_.size();) {
      const bool is_joined = join != joins.end() && join->first == entry;
      list.push_back(is_joined ? join->operation : entries_[entry]);
      entry += is_joined ? join->count : 1;
      if (is_joined) ++join;
    }
    std::vector<uint8_t> leaves_room(list.size(), 1);
    const Branches branches = find_branches(list, leaves_room);
    if (branches.of.empty()) continue;
    ++n_divided;
    const Plan plan = make_plan(entries_, transients_.arrays(), joins, {}, branches);
    expect_sound(plan, joins);
    place_transients(list, transients_.arrays(), plan.offsets, reinterpret_cast<void*>(uintptr_t{1} << 20));
    const EarlierEntries after = dependencies(list);
    const std::vector<std::set<size_t>> reached = reached_by(branches.after);
    for (size_t entry = 0; entry < list.size(); ++entry)
      for (const uint32_t earlier : after[entry])
        EXPECT_TRUE(reached[entry].contains(earlier)) << earlier << " before " << entry;
  }
  EXPECT_GT(n_divided, 100);
}

void expect_proportional(const std::function<double(int64_t n_entries)>& seconds_of) {
  seconds_of(1000);
  const double shorter = seconds_of(1000), longer = seconds_of(16000);
  std::printf("%.4f s for 1,000 entries, %.4f s for 16,000\n", shorter, longer);
  if (judges_times()) {
    EXPECT_LT(longer, 64 * shorter);  // the square would be 256
  }
}

// A transient buffer that is in use throughout, and the same for each operation, does not make a long list slow.
TEST_F(Plans, TakeTimeInProportionToTheList) {
  const auto seconds_of = [&](int64_t n_entries) {
    OperationList list;
    for (int64_t i = 0; i < n_entries; ++i) {
      Touch touch = {};
      touch.views[0] = transient_array(1, SYNFIRE_DTYPE_U8, {700});
      touch.access[0] = i == 0 ? Access::write : Access::read;
      for (int k = 1; k < 3; ++k) {
        touch.access[k] = Access::scratch;
        touch.views[k].bytes = static_cast<uint64_t>(1000 * k + whole(0, 3));
      }
      list.emplace_back(touch);
    }
    transients_.number(list);
    const double start = static_cast<double>(std::clock());
    EXPECT_EQ(make_plan(list, transients_.arrays()).arena_bytes, 768u + 1024 + 2048);
    const double seconds = (static_cast<double>(std::clock()) - start) / CLOCKS_PER_SEC;
    clear();
    return seconds;
  };
  expect_proportional(seconds_of);
}

// The arrays of a forward that its backward uses, the last one first: all are in use at once, and beside each of them
// there are some for its own entries.
TEST_F(Plans, TakeTimeInProportionToTheListIfAllIsInUseAtOnce) {
  const auto seconds_of = [&](int64_t n_entries) {
    const int64_t n_arrays = n_entries / 2;
    for (int64_t i = 0; i < n_entries; ++i) {
      OperationList list;
      Touch touch = {};
      touch.access[0] = Access::write;
      if (i < n_arrays) touch.views[0] = transient_array(1, SYNFIRE_DTYPE_U8, {300 + i % 3 * 300});
      touch.access[1] = Access::scratch;
      touch.views[1].bytes = static_cast<uint64_t>(whole(1, 1000));
      list.emplace_back(touch);
      transients_.number(list);
      entries_.push_back(std::move(list.front()));
    }
    for (int64_t i = n_arrays; i < n_entries; ++i) {
      const auto at = [&](int64_t entry) { return static_cast<Touch*>(entries_[static_cast<size_t>(entry)].data()); };
      at(i)->views[0] = at(n_entries - 1 - i)->views[0];
      at(i)->access[0] = Access::read;
    }
    const double start = static_cast<double>(std::clock());
    // 512, 768 and 1,024 bytes in turn, and 1,024 of scratch memory for the entries.
    EXPECT_LE(make_plan(entries_, transients_.arrays()).arena_bytes, static_cast<uint64_t>(n_arrays) * 768 + 4096);
    const double seconds = (static_cast<double>(std::clock()) - start) / CLOCKS_PER_SEC;
    clear();
    return seconds;
  };
  expect_proportional(seconds_of);
}

}  // namespace
}  // namespace synfire_test
