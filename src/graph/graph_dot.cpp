// Writes the operation list in the DOT language. The list runs in order; edges show which operations cannot be swapped,
// because one reads or overwrites the result of another.
#include "graph.hpp"
#include "operands.hpp"
#include "replayed_numbers.hpp"

#include <algorithm>
#include <functional>

namespace synfire::core {
namespace {

struct Touch {
  const void* begin;
  uint64_t bytes;
  bool read, written;
};

std::string quoted(const std::string& text) {
  std::string safe;
  for (const char c : text) {
    if (c == '"' || c == '\\') safe.push_back('\\');
    safe.push_back(static_cast<unsigned char>(c) < 32 ? ' ' : c);
  }
  return safe;
}

class Drawing {
 public:
  explicit Drawing(const OperationList& operations) : numbers_(operations) {}

  std::string name_of(const Replayed* object) {
    return object->short_name()
        .append(" ")
        .append(object->noun())
        .append(" ")
        .append(std::to_string(numbers_.of(object)))
        .append("\\n")
        .append(object->shape_text());
  }

  // "forward, lif layer 0\nf32 [16, 1, 128]".
  std::string label(const Operation& operation) {
    const OperationLabel label = operation.label();
    std::string text = operation.kind().name;
    if (!label.known_as.empty()) text.append(", ").append(quoted(label.known_as));
    if (label.object) text.append(", ").append(name_of(label.object));
    if (!label.detail.empty()) text.append("\\n").append(quoted(label.detail));
    return text;
  }

 private:
  ReplayedNumbers numbers_;
};

// Adds the ranges of one entry, except those that earlier entries of the operation have written.
void add_touches(const Operation& entry, std::vector<Touch>& touches) {
  const size_t n_before = touches.size();
  for_each_operand(entry, [&](const Operand<const View>& operand) {
    const View& array = operand.view;
    if (array.transient != 0 && !array.owner) return;
    const bool own =
        std::any_of(touches.begin(), touches.begin() + static_cast<std::ptrdiff_t>(n_before), [&](const Touch& touch) {
          return touch.written && overlaps(touch.begin, touch.bytes, array.data, array.bytes);
        });
    touches.push_back({array.data, array.bytes, operand.is_read() && !own, operand.is_written()});
  });
}

// The ranges that operations touch in one way, told by where they lie.
class TouchedRanges {
 public:
  TouchedRanges(const std::vector<std::vector<Touch>>& touches, bool Touch::*how) {
    for (uint32_t operation = 0; operation < touches.size(); ++operation)
      for (const Touch& touch : touches[operation])
        if (touch.*how && touch.bytes > 0)
          ranges_.push_back({begin_of(touch), begin_of(touch) + touch.bytes, operation});
    std::sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) { return a.begin < b.begin; });
    // Each half of the ranges knows how far they reach, and so does each half of it.
    reach_.resize(ranges_.size());
    find_reach(0, ranges_.size());
  }
  // Appends the operations before this one that touch something of the range.
  void append_before(uint32_t operation, const Touch& touch, std::vector<uint32_t>& found) const {
    if (touch.bytes > 0) append(0, ranges_.size(), {begin_of(touch), begin_of(touch) + touch.bytes, operation}, found);
  }

 private:
  struct Range {
    uintptr_t begin, end;
    uint32_t operation;
  };

  static uintptr_t begin_of(const Touch& touch) { return reinterpret_cast<uintptr_t>(touch.begin); }
  // The tree of the ranges from `first` to before `last` has the middle one at its root.
  uintptr_t find_reach(size_t first, size_t last) {
    if (first == last) return 0;
    const size_t middle = first + (last - first) / 2;
    return reach_[middle] = std::max({ranges_[middle].end, find_reach(first, middle), find_reach(middle + 1, last)});
  }
  void append(size_t first, size_t last, const Range& range, std::vector<uint32_t>& found) const {
    if (first == last) return;
    const size_t middle = first + (last - first) / 2;
    if (reach_[middle] <= range.begin) return;
    append(first, middle, range, found);
    const Range& one = ranges_[middle];
    if (one.begin >= range.end) return;
    if (one.end > range.begin && one.operation < range.operation) found.push_back(one.operation);
    append(middle + 1, last, range, found);
  }

  std::vector<Range> ranges_;
  std::vector<uintptr_t> reach_;
};

void order_latest_first(std::vector<uint32_t>& operations) {
  std::sort(operations.begin(), operations.end(), std::greater<>());
  operations.erase(std::unique(operations.begin(), operations.end()), operations.end());
}

}  // namespace

std::string Graph::dot() {
  const Exclusive exclusive(use_);
  Drawing drawing(operations_);
  // One node for each recorded operation, which may be several entries of the list.
  std::vector<std::vector<Touch>> touches(enabled_.size());
  std::vector<std::string> labels(enabled_.size());
  std::vector<uint8_t> has_object(enabled_.size());
  for (size_t i = 0; i < operations_.size(); ++i) {
    const uint32_t owner = owners_[i];
    add_touches(operations_[i], touches[owner]);
    const bool belongs = operations_[i].label().object != nullptr;
    if (labels[owner].empty() || (belongs && !has_object[owner])) labels[owner] = drawing.label(operations_[i]);
    has_object[owner] |= belongs ? 1 : 0;
  }
  std::string text = "digraph synfire {\n  node [shape=box, fontname=\"sans-serif\"];\n";
  for (size_t i = 0; i < labels.size(); ++i) {
    text.append("  n")
        .append(std::to_string(i))
        .append(" [label=\"")
        .append(std::to_string(i))
        .append(": ")
        .append(labels[i])
        .append("\"")
        .append(enabled_[i] ? "" : ", style=dashed")
        .append("];\n");
  }
  const TouchedRanges read(touches, &Touch::read), written(touches, &Touch::written);
  std::vector<uint32_t> results, earlier;  // whose results it reads, and all that it must come after
  for (uint32_t later = 0; later < labels.size(); ++later) {
    results.clear();
    earlier.clear();
    for (const Touch& touch : touches[later]) {
      if (touch.read) written.append_before(later, touch, results);
      if (!touch.written) continue;
      written.append_before(later, touch, earlier);
      read.append_before(later, touch, earlier);
    }
    order_latest_first(results);
    earlier.insert(earlier.end(), results.begin(), results.end());
    order_latest_first(earlier);
    for (const uint32_t i : earlier) {
      const bool reads = std::binary_search(results.begin(), results.end(), i, std::greater<>());
      text.append("  n")
          .append(std::to_string(i))
          .append(" -> n")
          .append(std::to_string(later))
          .append(reads ? ";\n" : " [style=dotted];\n");
    }
  }
  return text.append("}\n");
}

}  // namespace synfire::core
