#include "memory_plan.hpp"

#include "operands.hpp"

#include <algorithm>
#include <array>
#include <bit>
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

  void add(uint32_t position) noexcept { add({position, position}); }
  void add(const Interval& other) noexcept {
    first = std::min(first, other.first);
    last = std::max(last, other.last);
  }
  bool any() const noexcept { return first <= last; }
  uint32_t length() const noexcept { return any() ? last - first : 0; }
};

// When arrays are in use in a list, told by how far its branches have come. Its nodes, entries or joined operations,
// take one or more positions of their branch.
class Lifetimes {
 public:
  Lifetimes(size_t n_arrays, const Branches& branches)
      : branches_(branches),
        count_(branches.count),
        begins_(n_arrays * count_, UINT32_MAX),
        ends_(n_arrays * count_),
        intervals_(n_arrays),
        begin_(count_),
        nodes_(count_) {}

  // The next node of the list, which begins with this entry.
  void add_node(uint32_t first_entry, uint32_t n_positions) {
    position_ += length_;
    length_ = n_positions;
    if (branches_.of.empty()) {
      begin_[0] = position_;
      return;
    }
    const size_t node = n_nodes_++;
    branch_ = branches_.of[node];
    std::fill(begin_.begin(), begin_.end(), 0);
    for (const uint32_t earlier : branches_.after[node])
      for (size_t branch = 0; branch < count_; ++branch)
        begin_[branch] = std::max(begin_[branch], ended_[earlier * count_ + branch]);
    ended_.insert(ended_.end(), begin_.begin(), begin_.end());
    ended_[node * count_ + branch_] += n_positions;
    nodes_[branch_].push_back({begin_[branch_] + n_positions, first_entry});
  }
  // The last node uses an array at one of its positions.
  void use(size_t array, uint32_t position) {
    for (size_t branch = 0; branch < count_; ++branch) {
      uint32_t& begin = begins_[array * count_ + branch];
      begin = std::min(begin, begin_[branch] + (branch == branch_ ? position : 0));
    }
    uint32_t& end = ends_[array * count_ + branch_];
    end = std::max(end, begin_[branch_] + position + 1);
    intervals_[array].add(position_ + position);
  }
  // The first entry, up to this one, of a node that may run beside the last one.
  uint32_t first_beside(uint32_t entry) const {
    for (const std::vector<Node>& nodes : nodes_) {
      const size_t branch = static_cast<size_t>(&nodes - nodes_.data());
      if (branch == branch_) continue;
      const auto beside = std::upper_bound(nodes.begin(), nodes.end(), begin_[branch],
                                           [](uint32_t begin, const Node& node) { return begin < node.end; });
      if (beside != nodes.end()) entry = std::min(entry, beside->first_entry);
    }
    return entry;
  }
  bool meet(size_t a, size_t b) const {
    return intervals_[a].any() && intervals_[b].any() && !is_before(a, b) && !is_before(b, a);
  }
  // The next number is that of two arrays or groups together: who meets the group meets every array in it. It begins
  // when the last of them does, and ends when the first one does.
  void add_group(size_t a, size_t b) {
    for (size_t branch = 0; branch < count_; ++branch) {
      begins_.push_back(std::max(begins_[a * count_ + branch], begins_[b * count_ + branch]));
      ends_.push_back(std::min(ends_[a * count_ + branch], ends_[b * count_ + branch]));
    }
    Interval interval;
    if (intervals_[a].any() && intervals_[b].any()) interval.add(0);
    intervals_.push_back(interval);
  }
  // In the order of the list.
  const Interval& interval(size_t array) const { return intervals_[array]; }

 private:
  struct Node {
    uint32_t end;  // in its branch
    uint32_t first_entry;
  };

  bool is_before(size_t a, size_t b) const {
    for (size_t branch = 0; branch < count_; ++branch)
      if (ends_[a * count_ + branch] > begins_[b * count_ + branch]) return false;
    return true;
  }

  const Branches& branches_;
  const size_t count_;
  std::vector<uint32_t> begins_;  // for each array and branch, how far the branch has come at least at its first use
  std::vector<uint32_t> ends_;    // how far it has come when the last use of its own ends
  std::vector<Interval> intervals_;
  std::vector<uint32_t> begin_;           // of the last node, for each branch
  std::vector<uint32_t> ended_;           // for each node and branch, how far it has come at least when the node ends
  std::vector<std::vector<Node>> nodes_;  // of each branch
  size_t n_nodes_ = 0;
  uint32_t branch_ = 0, position_ = 0, length_ = 0;  // of the last node
};

// The uses of all arrays, in a list and in the one with joined operations.
class Uses {
 public:
  Uses(std::span<const Operation> entries, size_t n_arrays, std::span<const Join> joins, const Branches& branches,
       const Branches& joined_branches)
      : separate_(n_arrays, branches),
        joined_(n_arrays, joined_branches),
        spans_(n_arrays),
        n_numbers_(static_cast<uint32_t>(n_arrays)) {
    auto join = joins.begin();
    for (uint32_t entry = 0; entry < entries.size();) {
      if (join == joins.end() || join->first != entry) {
        joined_.add_node(entry, 1);
        add(entries[entry], entry, 0, nullptr, {joined_.first_beside(entry), entry});
        ++entry;
        continue;
      }
      const auto end = static_cast<uint32_t>(entry + join->count);
      joined_.add_node(entry, 1 + *std::max_element(join->order.begin(), join->order.end()));
      const Interval span = {joined_.first_beside(entry), end - 1};
      for (const uint32_t place : join->order) {
        add(entries[entry], entry, place, &*join, span);
        ++entry;
      }
      ++join;
    }
  }

  // The second may be a group: then true says that the first one meets every array in it.
  bool meet(size_t a, size_t b) const { return separate_.meet(a, b) || joined_.meet(a, b); }
  // Returns the number of a group of two arrays or groups.
  uint32_t add_group(uint32_t a, uint32_t b) {
    separate_.add_group(a, b);
    joined_.add_group(a, b);
    return n_numbers_++;
  }
  // The entries at which an array may meet others: two whose spans do not overlap never meet.
  std::span<const Interval> spans() const { return spans_; }
  uint32_t length(size_t array) const {
    return std::max(separate_.interval(array).length(), joined_.interval(array).length());
  }
  // The most bytes of these arrays that are in use at one position of either list.
  uint64_t most_at_once(std::span<const uint32_t> chosen, std::span<const TransientArray> arrays) const {
    return std::max(most_at_once(separate_, chosen, arrays), most_at_once(joined_, chosen, arrays));
  }

 private:
  void add(const Operation& operation, uint32_t entry, uint32_t place, const Join* of, Interval span) {
    separate_.add_node(entry, 1);
    span.add({separate_.first_beside(entry), entry});
    for_each_operand(operation, [&](const Operand<const View>& operand) {
      const int32_t number = operand.view.transient;
      if (number == 0) return;
      const size_t array = static_cast<size_t>(number) - 1;
      separate_.use(array, 0);
      if (!of || !std::binary_search(of->left_out.begin(), of->left_out.end(), number)) joined_.use(array, place);
      spans_[array].add(span);
    });
  }
  static uint64_t most_at_once(const Lifetimes& lifetimes, std::span<const uint32_t> chosen,
                               std::span<const TransientArray> arrays) {
    struct Change {
      uint32_t position;
      bool begins;
      uint64_t bytes;
    };
    std::vector<Change> changes;
    for (const uint32_t array : chosen) {
      const Interval& use = lifetimes.interval(array);
      if (!use.any()) continue;
      changes.push_back({use.first, true, aligned(arrays[array].bytes)});
      changes.push_back({use.last + 1, false, aligned(arrays[array].bytes)});
    }
    std::sort(changes.begin(), changes.end(), [](const Change& a, const Change& b) {
      return a.position != b.position ? a.position < b.position : a.begins < b.begins;
    });
    uint64_t bytes = 0, most = 0;
    for (const Change& change : changes) {
      bytes = change.begins ? bytes + change.bytes : bytes - change.bytes;
      most = std::max(most, bytes);
    }
    return most;
  }

  Lifetimes separate_, joined_;
  std::vector<Interval> spans_;
  uint32_t n_numbers_;  // of arrays and groups
};

// ---- where they lie -------------------------------------------------------------------------------------------------

// Bytes of the arena.
struct Range {
  uint64_t begin, end;
};

// Where those of some arrays lie that have been placed. The arrays are in the order of their first uses, and were in
// use for about as long: an array in use meets most of those under a node of the tree, or none. Of a node whose arrays
// it meets all, it gets their ranges as few larger ones, so that a long list with arrays that are all in use at once
// takes little more time than one without.
class PlacedArrays {
 public:
  PlacedArrays(std::vector<uint32_t> arrays, Uses& uses)
      : arrays_(std::move(arrays)), uses_(uses), n_leaves_(std::bit_ceil(arrays_.size())), nodes_(2 * n_leaves_) {
    for (size_t i = 0; i < arrays_.size(); ++i)
      nodes_[n_leaves_ + i] = {uses_.spans()[arrays_[i]].last, arrays_[i], {}};
    for (size_t i = n_leaves_; --i > 0;) {
      const Node &left = nodes_[2 * i], &right = nodes_[2 * i + 1];
      if (left.members == none) continue;
      nodes_[i].latest = std::max(left.latest, right.latest);
      nodes_[i].members = right.members == none ? left.members : uses_.add_group(left.members, right.members);
    }
  }
  void clear() noexcept {
    for (Node& node : nodes_) node.taken.clear();
  }
  // Places the array of this number in the order.
  void place(size_t i, const Range& range) {
    for (size_t node = n_leaves_ + i; node > 0; node /= 2) add(nodes_[node].taken, range);
  }
  // Appends the ranges of those that an array meets.
  void append_met_by(uint32_t array, std::vector<Range>& taken) const {
    const Interval& span = uses_.spans()[array];
    const auto end = std::upper_bound(arrays_.begin(), arrays_.end(), span.last, [this](uint32_t last, uint32_t other) {
      return last < uses_.spans()[other].first;
    });
    append_under(1, 0, n_leaves_, static_cast<size_t>(end - arrays_.begin()), array, taken);
  }

 private:
  static constexpr uint32_t none = UINT32_MAX;
  struct Node {
    uint32_t latest = 0;       // the end of the last span under it
    uint32_t members = none;   // the array, or the group of the arrays under it
    std::vector<Range> taken;  // by those of them that have been placed: ascending, with gaps between
  };

  static void add(std::vector<Range>& taken, Range range) {
    const auto first = std::lower_bound(taken.begin(), taken.end(), range.begin,
                                        [](const Range& one, uint64_t begin) { return one.end < begin; });
    auto next = first;
    for (; next != taken.end() && next->begin <= range.end; ++next)
      range = {std::min(range.begin, next->begin), std::max(range.end, next->end)};
    if (next == first) {
      taken.insert(first, range);
      return;
    }
    *first = range;
    taken.erase(first + 1, next);
  }
  void append_under(size_t node, size_t begin, size_t end, size_t limit, uint32_t array,
                    std::vector<Range>& taken) const {
    const Node& one = nodes_[node];
    if (begin >= limit || one.taken.empty() || one.latest < uses_.spans()[array].first) return;
    if (uses_.meet(array, one.members)) {
      taken.insert(taken.end(), one.taken.begin(), one.taken.end());
      return;
    }
    if (end - begin == 1) return;
    const size_t middle = begin + (end - begin) / 2;
    append_under(2 * node, begin, middle, limit, array, taken);
    append_under(2 * node + 1, middle, end, limit, array, taken);
  }

  const std::vector<uint32_t> arrays_;
  Uses& uses_;
  const size_t n_leaves_;
  std::vector<Node> nodes_;  // a tree: node i has the nodes 2 i and 2 i + 1
};

class Places {
 public:
  Places(std::span<const TransientArray> arrays, Uses& uses)
      : arrays_(arrays), uses_(uses), set_of_(arrays.size()), place_in_set_(arrays.size()), others_(arrays.size()) {}

  // Places arrays whose spans are connected, in the order of their first uses, in the better of two orders: the longest
  // used first, which puts what the entries of an operation pass on below the scratch memory of each; and by size,
  // which is best for arrays that are alike. Returns where the last one ends.
  uint64_t place_connected(std::span<uint32_t> connected, std::span<uint64_t> offsets) {
    const auto larger = [&](uint32_t a, uint32_t b) {
      return arrays_[a].bytes != arrays_[b].bytes ? arrays_[a].bytes > arrays_[b].bytes : a < b;
    };
    const auto longer = [&](uint32_t a, uint32_t b) {
      const uint32_t of_a = uses_.length(a), of_b = uses_.length(b);
      return of_a != of_b ? of_a > of_b : larger(a, b);
    };
    divide(connected);
    std::sort(connected.begin(), connected.end(), longer);
    const uint64_t end = place_in_order(connected, offsets);
    if (connected.size() < 3 || end == uses_.most_at_once(connected, arrays_)) return end;
    std::sort(connected.begin(), connected.end(), larger);
    const uint64_t other_end = place_in_order(connected, others_);
    if (other_end >= end) return end;
    for (const uint32_t array : connected) offsets[array] = others_[array];
    return other_end;
  }

 private:
  // A set of arrays for each length of their spans, in powers of two.
  void divide(std::span<const uint32_t> connected) {
    const auto doublings = [&](uint32_t array) {
      return static_cast<size_t>(std::bit_width(uses_.spans()[array].last - uses_.spans()[array].first));
    };
    std::array<std::vector<uint32_t>, 33> of_length;
    for (const uint32_t array : connected) of_length[doublings(array)].push_back(array);
    placed_.clear();
    for (std::vector<uint32_t>& arrays : of_length) {
      for (size_t i = 0; i < arrays.size(); ++i) {
        set_of_[arrays[i]] = placed_.size();
        place_in_set_[arrays[i]] = i;
      }
      if (!arrays.empty()) placed_.emplace_back(std::move(arrays), uses_);
    }
  }
  // Gives each array, in this order, the lowest offset at which it meets none of those before it.
  uint64_t place_in_order(std::span<const uint32_t> order, std::span<uint64_t> offsets) {
    for (PlacedArrays& set : placed_) set.clear();
    uint64_t last_end = 0;
    for (const uint32_t array : order) {
      const uint64_t bytes = aligned(arrays_[array].bytes);
      taken_.clear();
      for (const PlacedArrays& set : placed_) set.append_met_by(array, taken_);
      std::sort(taken_.begin(), taken_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
      uint64_t offset = 0;
      for (const Range& other : taken_) {
        if (other.begin >= offset + bytes) break;
        offset = std::max(offset, other.end);
      }
      offsets[array] = offset;
      if (bytes > 0) placed_[set_of_[array]].place(place_in_set_[array], {offset, offset + bytes});
      last_end = std::max(last_end, offset + bytes);
    }
    return last_end;
  }

  const std::span<const TransientArray> arrays_;
  Uses& uses_;
  std::vector<PlacedArrays> placed_;
  std::vector<size_t> set_of_, place_in_set_;  // of each array
  std::vector<uint64_t> others_;               // offsets
  std::vector<Range> taken_;
};

}  // namespace

Plan make_plan(std::span<const Operation> entries, std::span<const TransientArray> arrays, std::span<const Join> joins,
               const Branches& branches, const Branches& joined_branches) {
  Plan plan;
  if (arrays.empty()) return plan;
  Uses uses(entries, arrays.size(), joins, branches, joined_branches);
  const std::span<const Interval> spans = uses.spans();
  std::vector<uint32_t> order(arrays.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](uint32_t array) { return !spans[array].any(); });
  plan.offsets.resize(arrays.size());
  if (order.empty()) return plan;
  std::sort(order.begin(), order.end(), [&](uint32_t a, uint32_t b) {
    return spans[a].first != spans[b].first ? spans[a].first < spans[b].first : a < b;
  });
  Places places(arrays, uses);
  // Arrays that no chain of overlapping spans connects begin at 0 again.
  for (size_t first = 0; first < order.size();) {
    uint32_t last = spans[order[first]].last;
    size_t next = first + 1;
    for (; next < order.size() && spans[order[next]].first <= last; ++next)
      last = std::max(last, spans[order[next]].last);
    const std::span<uint32_t> connected = std::span(order).subspan(first, next - first);
    plan.arena_bytes = std::max(plan.arena_bytes, places.place_connected(connected, plan.offsets));
    first = next;
  }
  return plan;
}

uint64_t most_bytes_of_branches(std::span<const Operation> entries, std::span<const TransientArray> arrays,
                                std::span<const Join> joins) {
  std::vector<TransientArray> others(arrays.begin(), arrays.end());
  uint64_t bytes = 0;
  for (TransientArray& array : others) {
    if (!array.is_buffer) continue;
    bytes += aligned(array.bytes);
    array.bytes = 0;
  }
  return bytes + make_plan(entries, others, joins).arena_bytes;
}

}  // namespace synfire::core
