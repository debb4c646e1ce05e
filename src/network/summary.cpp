// The summary of a network: a table of its stages; and a picture of them in the DOT language.
#include "network.hpp"

#include <base/dtype.hpp>

#include <algorithm>
#include <cstdio>
#include <string_view>
#include <vector>

namespace synfire::network {

using namespace synfire::core;

namespace {

std::string bytes_text(uint64_t bytes) {
  char text[32];
  if (bytes < uint64_t{10} * 1024)
    std::snprintf(text, sizeof text, "%llu B", static_cast<unsigned long long>(bytes));
  else if (bytes < uint64_t{10} << 20)
    std::snprintf(text, sizeof text, "%.1f KiB", static_cast<double>(bytes) / 1024);
  else
    std::snprintf(text, sizeof text, "%.1f MiB", static_cast<double>(bytes) / 1048576);
  return text;
}

// "first: 3 of 2173 weights become 0 on their grid, the largest relative error is 1".
std::string rounding_text(const std::string& stage, const Rounding& rounding) {
  char text[160];
  std::snprintf(text, sizeof text, ": %llu of %llu weights become 0 on their grid, the largest relative error is %.2g",
                static_cast<unsigned long long>(rounding.n_lost), static_cast<unsigned long long>(rounding.n_weights),
                rounding.largest_error);
  return stage + text;
}

// "hidden, skip.v, hidden-1": the last one with a delay of 1 step.
std::string inputs_text(const StageView& view) {
  std::string text;
  for (size_t i = 0; i < view->inputs.size(); ++i) {
    const Edge& edge = view.edge(i);
    const auto awaited = std::ranges::find(view->awaits, i, &Awaited::input);
    text.append(text.empty() ? "" : ", ");
    text.append(awaited == view->awaits.end() ? view.input(i)->name : awaited->name);
    text.append(edge.port == Port::v ? ".v" : "");
    if (edge.delay != 0) text.append("-").append(std::to_string(edge.delay));
  }
  return text;
}

}  // namespace

std::string Network::summary() {
  const Use use(*this);
  // Which stages each one reads, of a network that branches.
  std::vector<std::string> reads;
  int width = 0;
  if (!design_.is_chain()) {
    reads.emplace_back("reads");
    for (size_t i = 0; i < design_.stages().size(); ++i) reads.push_back(inputs_text(design_.view(i)));
    for (const std::string& one : reads) width = std::max(width, static_cast<int>(one.size()));
  }
  const auto reads_text = [&](size_t row) {
    return reads.empty() ? std::string()
                         : reads[row] + std::string(static_cast<size_t>(width) - reads[row].size() + 2, ' ');
  };
  size_t kind_width = 10, shape_width = 20;
  for (size_t i = 0; i < design_.stages().size(); ++i) {
    const StageKind& kind = *design_.stages()[i].kind;
    kind_width = std::max(kind_width, std::string_view(kind.traits.name).size());
    shape_width = std::max(shape_width, kind.shape_text(design_.view(i)).size());
  }
  std::string text = "stage                  kind" + std::string(kind_width - 4, ' ') + " shape" +
                     std::string(shape_width - 5, ' ') + " parameters  " + reads_text(0) + "of\n";
  int64_t total = 0;
  for (size_t i = 0; i < design_.stages().size(); ++i) {
    const Stage& stage = design_.stages()[i];
    const StageKind& kind = *stage.kind;
    const int64_t count = stage.awaits.empty() ? kind.n_learnt(design_.view(i)) : 0;
    total += count;
    char line[256];
    std::snprintf(line, sizeof line, "%-22s %-*s %-*s %10s  ", stage.name.c_str(), static_cast<int>(kind_width),
                  kind.traits.name, static_cast<int>(shape_width), kind.shape_text(design_.view(i)).c_str(),
                  count > 0 ? std::to_string(count).c_str() : "");
    std::string shown = std::string(line).append(reads_text(i + 1)).append(kind.describe(design_.view(i)));
    shown.erase(shown.find_last_not_of(' ') + 1);
    text.append(shown).append("\n");
  }
  text.append(std::to_string(total)).append(" parameters, ");
  text.append(std::to_string(design_.rules().n_steps)).append(" steps of ");
  text.append(std::to_string(design_.rules().batch)).append(" rows in ").append(name_of_dtype(design_.rules().dtype));
  if (design_.is_complete()) {
    const PartBytes bytes = plan(design_, device());
    text.append("\nsynapses ").append(bytes_text(bytes.synapses));
    text.append(", neurons ").append(bytes_text(bytes.layers));
    text.append(", arrays ").append(bytes_text(bytes.buffers));
    text.append(", optimizer ").append(bytes_text(bytes.optimizer));
    text.append(", graphs ").append(bytes_text(bytes.graphs));
    text.append(", pinned ").append(bytes_text(bytes.pinned));
    text.append(", data ").append(bytes_text(data_bytes()));
  }
  if (parts_)
    for (const std::unique_ptr<StageParts>& stage : parts_->stages)
      if (const std::optional<Rounding> rounding = stage->rounding())
        text.append("\n").append(rounding_text(stage->stage()->name, *rounding));
  return text.append("\n");
}

std::string Network::dot() {
  const Use use(*this);
  std::string text = "digraph network {\n  rankdir=TB;\n  node [shape=box, fontname=\"sans-serif\"];\n";
  const std::vector<Stage>& stages = design_.stages();
  for (size_t i = 0; i < stages.size(); ++i) {
    const StageKind& kind = *stages[i].kind;
    const std::string detail = kind.describe(design_.view(i)), shape = kind.shape_text(design_.view(i));
    text.append("  s").append(std::to_string(i)).append(" [label=\"").append(stages[i].name).append("\\n");
    text.append(kind.traits.name);
    if (!detail.empty()) text.append(": ").append(detail);
    if (!shape.empty()) text.append("\\n").append(shape);
    text.append("\"];\n");
    for (const Edge& edge : stages[i].inputs) {
      if (edge.from == not_added) continue;
      text.append("  s").append(std::to_string(edge.from)).append(" -> s").append(std::to_string(i));
      if (!design_.is_chain() && edge.port == Port::v) text.append(" [label=\"v\"]");
      if (edge.delay != 0) text.append(" [label=\"").append(std::to_string(edge.delay)).append("\", constraint=false]");
      text.append(";\n");
    }
  }
  return text.append("}\n");
}

}  // namespace synfire::network
