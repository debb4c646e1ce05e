// A graph as a picture: the operation list in the DOT language, with an edge wherever an operation reads or overwrites
// what another one left. The list runs in order; edges say what could not be swapped.
#include "graph.hpp"
#include "layer_numbers.hpp"
#include "operation_arrays.hpp"

#include <cstdio>

namespace synfire::core {
namespace {

// A stretch of memory that an operation reads or writes.
struct Touch {
  const void* begin;
  uint64_t bytes;
  bool written;
};

std::string numbers(std::initializer_list<int64_t> values) {
  std::string text;
  for (const int64_t value : values) text.append(text.empty() ? "[" : ", ").append(std::to_string(value));
  return text.append("]");
}

std::string describe(const Array& array) {
  return std::string(name_of_memory(array.memory)).append(" ").append(name_of_dtype(array.dtype));
}

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
  explicit Drawing(const OperationList& operations) : layers_(operations) {}

  std::string layer_name(const Layer* layer) {
    const LayerSpec& spec = layer->spec();
    return std::string(spec.model->name).append(" layer ").append(std::to_string(layers_.of(layer))).append("\\n")
        .append(name_of_dtype(spec.dtype)).append(" ")
        .append(numbers({spec.extents.n_steps, spec.extents.batch, spec.extents.n_neurons}));
  }

  std::string label(const Operation& operation) {
    return std::visit([this](const auto& op) { return label_of(op); }, operation);
  }

  // The memory an operation touches, that of its layer's own included: state, tape, sums.
  static std::vector<Touch> touches(const Operation& operation) {
    std::vector<Touch> list;
    for_each_array(operation, [&](const Array& array, Access access) {
      list.push_back({array.data, array.bytes, access == Access::write});
    });
    if (const auto* forward = std::get_if<ForwardOperation>(&operation)) {
      if (forward->tape) list.push_back({forward->tape, 1, true});
      if (forward->v_out.data) list.push_back({forward->v_out.data, 1, false});
    } else if (const auto* backward = std::get_if<BackwardOperation>(&operation)) {
      if (backward->tape) list.push_back({backward->tape, 1, false});
      if (backward->gradients.count > 0) list.push_back({backward->gradient_partials, 1, true});
    } else if (const auto* reset = std::get_if<ResetStateOperation>(&operation)) {
      list.push_back({reset->layer->state(0), reset->layer->spec().row_bytes(), true});
    } else if (const auto* update = std::get_if<UpdateParameterOperation>(&operation)) {
      list.push_back({update->layer->block(), 1, true});
    }
    if (const auto* forward = std::get_if<ForwardOperation>(&operation))
      list.push_back({forward->layer->block(), 1, false});
    if (const auto* backward = std::get_if<BackwardOperation>(&operation))
      list.push_back({backward->layer->block(), 1, false});
    return list;
  }

 private:
  std::string label_of(const ForwardOperation& op) { return std::string("forward, ").append(layer_name(op.layer)); }
  std::string label_of(const BackwardOperation& op) { return std::string("backward, ").append(layer_name(op.layer)); }
  std::string label_of(const ReduceOperation&) { return "sum of a gradient"; }
  std::string label_of(const CopyOperation& op) {
    return std::string("copy, ")
        .append(name_of_memory(op.source.memory))
        .append(" to ")
        .append(name_of_memory(op.destination.memory))
        .append("\\n")
        .append(std::to_string(op.source.bytes))
        .append(" bytes");
  }
  std::string label_of(const FillOperation& op) { return std::string("fill\\n").append(describe(op.array)); }
  std::string label_of(const ResetStateOperation& op) {
    return std::string("reset of the state, ").append(layer_name(op.layer));
  }
  std::string label_of(const ConvertSpikesOperation& op) {
    return std::string("conversion of spikes\\n").append(name_of_dtype(op.source.dtype)).append(" to ")
        .append(name_of_dtype(op.destination.dtype)).append(" ")
        .append(numbers({op.extents.n_steps, op.extents.batch, op.extents.n_neurons}));
  }
  std::string label_of(const CountSpikesOperation& op) {
    return std::string("count of spikes\\n")
        .append(numbers({op.extents.n_steps, op.extents.batch, op.extents.n_neurons}));
  }
  std::string label_of(const ScaleAddOperation& op) {
    return std::string("scale and add\\n").append(describe(op.destination));
  }
  std::string label_of(const WriteBytesOperation&) { return "snapshot"; }
  std::string label_of(const GuardedCopyOperation&) { return "restore of a snapshot"; }
  std::string label_of(const SetParametersOperation& op) {
    return std::string("parameters, ").append(layer_name(op.layer));
  }
  std::string label_of(const UpdateParameterOperation& op) {
    return std::string("update of ").append(op.layer->parameters().spec(op.parameter).name).append(", ")
        .append(layer_name(op.layer));
  }
  std::string label_of(const NativeOperation& op) {
    return op.name.empty() ? std::string("native") : std::string("native, ").append(quoted(op.name));
  }

  LayerNumbers layers_;
};

bool touch(const std::vector<Touch>& a, const std::vector<Touch>& b, bool a_writes, bool b_writes) {
  for (const Touch& x : a)
    for (const Touch& y : b)
      if (x.written == a_writes && y.written == b_writes && overlaps(x.begin, x.bytes, y.begin, y.bytes)) return true;
  return false;
}

}  // namespace

std::string Graph::dot() {
  const Exclusive exclusive(use_);
  Drawing drawing(operations_);
  // One node for each recorded operation, which may be several entries of the list.
  std::vector<std::vector<Touch>> touches(enabled_.size());
  std::vector<std::string> labels(enabled_.size());
  for (size_t i = 0; i < operations_.size(); ++i) {
    std::vector<Touch>& own = touches[owners_[i]];
    const std::vector<Touch> more = Drawing::touches(operations_[i]);
    own.insert(own.end(), more.begin(), more.end());
    const std::string label = drawing.label(operations_[i]);
    if (labels[owners_[i]].empty()) labels[owners_[i]] = label;
  }
  std::string text = "digraph synfire {\n  node [shape=box, fontname=\"sans-serif\"];\n";
  for (size_t i = 0; i < labels.size(); ++i) {
    text.append("  n").append(std::to_string(i)).append(" [label=\"").append(std::to_string(i)).append(": ")
        .append(labels[i]).append("\"").append(enabled_[i] ? "" : ", style=dashed").append("];\n");
  }
  for (size_t later = 0; later < labels.size(); ++later) {
    for (size_t i = later; i-- > 0;) {
      const bool reads = touch(touches[i], touches[later], true, false);
      const bool overwrites =
          touch(touches[i], touches[later], true, true) || touch(touches[i], touches[later], false, true);
      if (!reads && !overwrites) continue;
      text.append("  n").append(std::to_string(i)).append(" -> n").append(std::to_string(later))
          .append(reads ? ";\n" : " [style=dotted];\n");
    }
  }
  return text.append("}\n");
}

}  // namespace synfire::core
