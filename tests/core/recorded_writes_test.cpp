// Which operations of a graph write which objects: the lists that recording and rebinding make, against a plain list of
// pairs, and what a launch counts.
#include <graph/recorded_writes.hpp>

#include <gtest/gtest.h>

#include <array>
#include <random>
#include <utility>
#include <vector>

namespace synfire::core {
namespace {

struct Thing final : Versioned {
  bool counts(const View&) const noexcept override { return true; }
};

class RecordedWritesTest : public testing::Test {
 protected:
  static constexpr size_t n_things = 6;  // the first half is always counted
  std::array<Thing, n_things> things_;
  RecordedWrites writes_;
  std::vector<std::pair<size_t, uint32_t>> list_;  // thing and operation, in the order of recording
  std::vector<uint8_t> enabled_;

  void record(std::initializer_list<size_t> written) {
    const auto operation = static_cast<uint32_t>(enabled_.size());
    enabled_.push_back(1);
    writes_.make_room(written.size());
    for (const size_t thing : written) {
      writes_.add(things_[thing], operation, thing < n_things / 2);
      list_.emplace_back(thing, operation);
    }
  }
  void rebind(size_t before, size_t now) {
    writes_.make_room(1);
    writes_.rebind(things_[before], things_[now]);
    for (auto& [thing, operation] : list_)
      if (thing == before) thing = now;
  }
  // Operations that write the thing, in order.
  std::vector<uint32_t> of(size_t thing) const {
    std::vector<uint32_t> operations;
    for (uint32_t operation = 0; operation < enabled_.size(); ++operation)
      for (const auto& [written, by] : list_)
        if (written == thing && by == operation) {
          operations.push_back(operation);
          break;
        }
    return operations;
  }

  void compare() {
    std::vector<CountedWrite> counted;
    counted.reserve(writes_.n_objects());
    writes_.plan(enabled_, counted);
    const auto n_operations = static_cast<uint32_t>(enabled_.size());
    for (size_t thing = 0; thing < n_things; ++thing) {
      const Versioned* const object = &things_[thing];
      const std::vector<uint32_t> all = of(thing);
      EXPECT_EQ(writes_.any(object), !all.empty());
      EXPECT_EQ(writes_.first(object, std::nullopt), all.empty() ? std::nullopt : std::optional(all.front()));
      OperationSpan enabled;
      for (const uint32_t operation : all)
        if (enabled_[operation] != 0) enabled.add(operation);
      size_t n_counted = 0;
      for (const CountedWrite& write : counted) n_counted += write.count == &things_[thing].writes() ? 1 : 0;
      const bool always = thing < n_things / 2;
      EXPECT_EQ(n_counted, (always ? !all.empty() : enabled.any) ? 1u : 0u);
      if (!always) {
        const OperationSpan found = writes_.enabled(object);
        EXPECT_EQ(found.any, enabled.any);
        if (enabled.any) {
          EXPECT_EQ(std::pair(found.first, found.last), std::pair(enabled.first, enabled.last));
        }
      }
      for (uint32_t after = 0; after < n_operations; ++after) {
        std::optional<uint32_t> first;
        for (const uint32_t operation : all)
          if (operation > after && !first) first = operation;
        EXPECT_EQ(writes_.any_after(object, after), first.has_value());
        EXPECT_EQ(writes_.first(object, after), first);
        for (uint32_t before = after; before < n_operations; ++before) {
          bool between = false;
          for (const uint32_t operation : all)
            between |= operation > after && operation < before && enabled_[operation] != 0;
          EXPECT_EQ(writes_.any_between(object, after, before, enabled_), between);
        }
      }
    }
    EXPECT_FALSE(writes_.any(nullptr));
    EXPECT_FALSE(writes_.any_after(nullptr, 0));
  }
};

TEST_F(RecordedWritesTest, AreThoseOfAPlainList) {
  std::mt19937 random(7);
  const auto below = [&](size_t n) { return static_cast<size_t>(random() % n); };
  for (int round = 0; round < 200; ++round) {
    if (below(4) > 0) {
      record({below(n_things), below(n_things), below(n_things)});
    } else {
      // Both of one sort: a graph rebinds buffers only.
      const size_t half = n_things / 2, offset = below(2) * half;
      const size_t before = below(half), now = (before + 1 + below(half - 1)) % half;
      rebind(offset + before, offset + now);
    }
    if (!enabled_.empty()) enabled_[below(enabled_.size())] ^= 1;
    if (round % 20 == 0) compare();
    if (HasFailure()) FAIL() << "round " << round;
  }
}

// One count for each launch, by the owner of the part if that is this graph.
TEST_F(RecordedWritesTest, CountOneForEachObject) {
  const int graph = 0, other = 0;
  record({0, 1, 0});
  record({0});
  EXPECT_TRUE(things_[1].writes().claim(&other));
  writes_.claim(&graph);
  EXPECT_FALSE(things_[0].writes().claim(&other)) << "the graph owns it";
  std::vector<CountedWrite> counted;
  counted.reserve(writes_.n_objects());
  writes_.plan(enabled_, counted);
  for (const CountedWrite& write : counted) write.add();
  EXPECT_EQ(things_[0].version(), 1u);
  EXPECT_EQ(things_[1].version(), 1u);
  EXPECT_EQ(things_[2].version(), 0u);
  rebind(0, 2);
  EXPECT_TRUE(things_[0].writes().claim(&other)) << "the graph gave it up";
  EXPECT_FALSE(things_[2].writes().claim(&other)) << "the graph took it";
  writes_.give_up();
  EXPECT_TRUE(things_[2].writes().claim(&other));
  EXPECT_FALSE(things_[1].writes().claim(&graph)) << "it was never this graph's to give up";
}

}  // namespace
}  // namespace synfire::core
