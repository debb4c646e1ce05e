// Writes the operation list in the DOT language. The list runs in order; edges show which operations cannot be swapped,
// because one reads or overwrites the result of another.
#include "graph.hpp"
#include "operands.hpp"
#include "replayed_numbers.hpp"

#include <algorithm>

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

// True if an operation reads, or writes, what an earlier one has read or written.
bool meet(const std::vector<Touch>& before, bool Touch::*had, const std::vector<Touch>& after, bool Touch::*has) {
  for (const Touch& a : before)
    for (const Touch& b : after)
      if (a.*had && b.*has && overlaps(a.begin, a.bytes, b.begin, b.bytes)) return true;
  return false;
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
  for (size_t later = 0; later < labels.size(); ++later) {
    for (size_t i = later; i-- > 0;) {
      const bool reads = meet(touches[i], &Touch::written, touches[later], &Touch::read);
      const bool overwrites = meet(touches[i], &Touch::written, touches[later], &Touch::written) ||
                              meet(touches[i], &Touch::read, touches[later], &Touch::written);
      if (!reads && !overwrites) continue;
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
