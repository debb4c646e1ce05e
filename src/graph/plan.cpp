#include "plan.hpp"

#include "operands.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace synfire::core {

namespace {

constexpr uint64_t arena_alignment = 256;

uint64_t aligned(uint64_t bytes) {
  return (bytes + arena_alignment - 1) / arena_alignment * arena_alignment;
}

// ---- when arrays are in use -----------------------------------------------------------------------------------------

// From the first to the last of some positions in a list.
struct Interval {
  uint32_t first = UINT32_MAX, last = 0;

  void add(uint32_t position) noexcept {
    first = std::min(first, position);
    last = std::max(last, position);
  }
  bool any() const noexcept { return first <= last; }
  bool meets(const Interval& other) const noexcept {
    return any() && other.any() && first <= other.last && other.first <= last;
  }
  uint32_t length() const noexcept { return any() ? last - first : 0; }
};

struct Use {
  Interval separate;  // entries of the list
  Interval joined;    // positions in the list with joined operations, of what they use
  Interval groups;    // the entries and joined operations in order, without regard to what happens inside of one

  bool meets(const Use& other) const noexcept { return separate.meets(other.separate) || joined.meets(other.joined); }
};

std::vector<Use> uses_of(std::span<const Operation> entries, size_t n_arrays, std::span<const Join> joins) {
  std::vector<Use> uses(n_arrays);
  auto join = joins.begin();
  uint32_t group = 0, position = 0;
  const auto visit = [&](size_t entry, uint32_t joined_at, const Join* of) {
    for_each_operand(entries[entry], [&](const Operand<const View>& operand) {
      const int32_t number = operand.view.transient;
      if (number == 0) return;
      Use& use = uses[static_cast<size_t>(number) - 1];
      use.separate.add(static_cast<uint32_t>(entry));
      use.groups.add(group);
      if (!of || !std::binary_search(of->left_out.begin(), of->left_out.end(), number)) use.joined.add(joined_at);
    });
  };
  for (size_t entry = 0; entry < entries.size(); ++group) {
    if (join == joins.end() || join->first != entry) {
      visit(entry++, position++, nullptr);
      continue;
    }
    uint32_t end = position;
    for (size_t i = 0; i < join->count; ++i) {
      visit(entry++, position + join->order[i], &*join);
      end = std::max(end, position + join->order[i] + 1);
    }
    position = end;
    ++join;
  }
  return uses;
}

// ---- where they lie -------------------------------------------------------------------------------------------------

struct Placed {
  uint64_t offset, end;
  const Use* use;
};

// Gives each array, in this order, the lowest offset at which it meets none of those before it. Returns where the last
// one ends.
uint64_t place_in_order(std::span<const uint32_t> order, std::span<const TransientArray> arrays,
                        std::span<const Use> uses, std::span<uint64_t> offsets) {
  std::vector<Placed> placed;  // by offset
  placed.reserve(order.size());
  uint64_t end = 0;
  for (const uint32_t array : order) {
    const uint64_t bytes = aligned(arrays[array].bytes);
    uint64_t offset = 0;
    for (const Placed& other : placed) {
      if (other.offset >= offset + bytes) break;
      if (other.end > offset && other.use->meets(uses[array])) offset = other.end;
    }
    const Placed one = {offset, offset + bytes, &uses[array]};
    placed.insert(std::upper_bound(placed.begin(), placed.end(), one,
                                   [](const Placed& a, const Placed& b) { return a.offset < b.offset; }),
                  one);
    offsets[array] = offset;
    end = std::max(end, offset + bytes);
  }
  return end;
}

// Places arrays whose uses are connected, in the better of two orders: by size, which is best for arrays that are
// alike; and the longest used first, which puts what the entries of an operation pass on below the scratch memory of
// each. `others` has room for the offsets of all arrays.
uint64_t place_connected(std::span<uint32_t> connected, std::span<const TransientArray> arrays,
                         std::span<const Use> uses, std::span<uint64_t> offsets, std::span<uint64_t> others) {
  const auto larger = [&](uint32_t a, uint32_t b) {
    return arrays[a].bytes != arrays[b].bytes ? arrays[a].bytes > arrays[b].bytes : a < b;
  };
  const auto longer = [&](uint32_t a, uint32_t b) {
    const uint32_t of_a = std::max(uses[a].separate.length(), uses[a].joined.length()),
                   of_b = std::max(uses[b].separate.length(), uses[b].joined.length());
    return of_a != of_b ? of_a > of_b : larger(a, b);
  };
  std::sort(connected.begin(), connected.end(), longer);
  const uint64_t end = place_in_order(connected, arrays, uses, offsets);
  if (connected.size() < 3) return end;
  std::sort(connected.begin(), connected.end(), larger);
  const uint64_t other_end = place_in_order(connected, arrays, uses, others);
  if (other_end >= end) return end;
  for (const uint32_t array : connected) offsets[array] = others[array];
  return other_end;
}

}  // namespace

Plan make_plan(std::span<const Operation> entries, std::span<const TransientArray> arrays,
               std::span<const Join> joins) {
  Plan plan;
  if (arrays.empty()) return plan;
  const std::vector<Use> uses = uses_of(entries, arrays.size(), joins);
  plan.offsets.resize(arrays.size());
  std::vector<uint64_t> others(arrays.size());
  std::vector<uint32_t> order(arrays.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](uint32_t array) { return !uses[array].groups.any(); });
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return uses[a].groups.first != uses[b].groups.first ? uses[a].groups.first < uses[b].groups.first : a < b;
  });
  // Arrays that no chain of common uses connects begin at 0 again, so that long lists take time in proportion.
  for (size_t first = 0; first < order.size();) {
    uint32_t last_group = uses[order[first]].groups.last;
    size_t next = first + 1;
    for (; next < order.size() && uses[order[next]].groups.first <= last_group; ++next)
      last_group = std::max(last_group, uses[order[next]].groups.last);
    const std::span<uint32_t> connected = std::span(order).subspan(first, next - first);
    plan.arena_bytes = std::max(plan.arena_bytes, place_connected(connected, arrays, uses, plan.offsets, others));
    first = next;
  }
  return plan;
}

// ---- dependencies ---------------------------------------------------------------------------------------------------

namespace {

constexpr uint32_t nobody = UINT32_MAX;

// Who has used ranges of memory so far: the last writer of each, and its readers since.
class UsedMemory {
 public:
  // Calls visit(entry) for those that an access must wait for, and notes it.
  template <class Visit>
  void access(uintptr_t begin, uintptr_t end, uint32_t entry, bool writes, Visit visit) {
    split(begin);
    split(end);
    uintptr_t at = begin;
    for (auto range = ranges_.lower_bound(begin); at < end;) {
      if (range == ranges_.end() || range->first > at) {
        const uintptr_t until = range == ranges_.end() ? end : std::min(end, range->first);
        range = ranges_.emplace_hint(range, at, Range{until, nobody, {}});
      }
      Range& one = range->second;
      if (one.writer != nobody && one.writer != entry) visit(one.writer);
      if (writes) {
        for (const uint32_t reader : one.readers)
          if (reader != entry) visit(reader);
        one.writer = entry;
        one.readers.clear();
      } else if (one.readers.empty() || one.readers.back() != entry) {
        one.readers.push_back(entry);
      }
      at = one.end;
      ++range;
    }
  }

 private:
  struct Range {
    uintptr_t end;
    uint32_t writer;
    std::vector<uint32_t> readers;
  };
  // So that a range begins here if one has this address inside.
  void split(uintptr_t at) {
    auto range = ranges_.upper_bound(at);
    if (range == ranges_.begin()) return;
    --range;
    if (range->first == at || range->second.end <= at) return;
    Range rest = range->second;
    range->second.end = at;
    ranges_.emplace(at, std::move(rest));
  }

  std::map<uintptr_t, Range> ranges_;
};

}  // namespace

std::vector<std::vector<uint32_t>> dependencies(std::span<const Operation> entries) {
  std::vector<std::vector<uint32_t>> after(entries.size());
  UsedMemory memory;
  uint32_t barrier = nobody;
  for (uint32_t entry = 0; entry < entries.size(); ++entry) {
    std::vector<uint32_t>& own = after[entry];
    if (barrier != nobody) own.push_back(barrier);
    if (entries[entry].kind().calls_back) {
      for (uint32_t before = barrier == nobody ? 0 : barrier + 1; before < entry; ++before) own.push_back(before);
      barrier = entry;
    }
    for_each_operand(entries[entry], [&](const Operand<const View>& operand) {
      const auto begin = reinterpret_cast<uintptr_t>(operand.view.data);
      memory.access(begin, begin + operand.view.bytes, entry, operand.access != Access::read,
                    [&](uint32_t before) { own.push_back(before); });
    });
    std::sort(own.begin(), own.end());
    own.erase(std::unique(own.begin(), own.end()), own.end());
  }
  return after;
}

}  // namespace synfire::core
