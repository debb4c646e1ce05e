// What a network looks like: a table of its stages, and a picture of them in the DOT language.
#include "network.hpp"

#include <base/dtype.hpp>

#include <cstdio>

namespace synfire::network {

using namespace synfire::core;

namespace {

const char* input_name(int32_t kind) {
  return kind == SYNFIRE_NETWORK_INPUT_SPIKES ? "spikes" : kind == SYNFIRE_NETWORK_INPUT_VALUES ? "values" : "rates";
}

const char* readout_name(int32_t reduction) {
  constexpr const char* names[] = {"sum", "mean", "maximum", "last", "every step"};
  return names[reduction];
}

const char* optimizer_name(int32_t kind) {
  constexpr const char* names[] = {"sgd", "adam", "adamw"};
  return names[kind];
}

std::string number_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

// What kind of its kind a stage is: "lif", "mean of v".
std::string detail_of(const Stage& stage) {
  switch (stage.kind) {
    case StageKind::input:
      return std::string(input_name(stage.choice)).append(" in ").append(name_of_dtype(stage.whole("dtype")));
    case StageKind::dropout:
      return "p = " + number_text(stage.value("probability"));
    case StageKind::synapse:
      return std::string(stage.flag("frozen") ? "frozen" : "").append(stage.mask.empty() ? "" : " masked");
    case StageKind::neurons: {
      std::string text = find_model(stage.choice == SYNFIRE_MODEL_DEFAULT ? SYNFIRE_MODEL_LIF : stage.choice)->name;
      for (const TrainedParameter& trained : stage.trained) text.append(", trains ").append(trained.name);
      return text;
    }
    case StageKind::readout:
      return std::string(readout_name(stage.choice)).append(stage.of_spikes ? " of spikes" : " of v");
    case StageKind::loss:
      return stage.choice == SYNFIRE_LOSS_CROSS_ENTROPY ? "cross-entropy" : "mean squared error";
    case StageKind::optimizer:
      return std::string(optimizer_name(stage.choice))
          .append(", rate ")
          .append(number_text(stage.value("learning_rate")));
  }
  return {};
}

// The shape of what a stage hands on.
std::string shape_of(const Design& design, const Stage& stage) {
  const NetworkRules& rules = design.rules();
  char text[96];
  switch (stage.kind) {
    case StageKind::loss:
    case StageKind::optimizer:
      return {};
    case StageKind::readout:
      if (stage.choice != SYNFIRE_READOUT_STEPS) {
        std::snprintf(text, sizeof text, "[%lld, %lld]", static_cast<long long>(rules.batch),
                      static_cast<long long>(stage.width));
        return text;
      }
      break;
    default:
      break;
  }
  std::snprintf(text, sizeof text, "[%lld, %lld, %lld]", static_cast<long long>(rules.n_steps),
                static_cast<long long>(rules.batch), static_cast<long long>(stage.width));
  return text;
}

// Numbers that a stage learns.
int64_t parameters_of(const Design& design, size_t index) {
  const Stage& stage = design.stages()[index];
  if (stage.kind == StageKind::synapse)
    return stage.width * design.before(index).width + (stage.flag("bias") ? stage.width : 0);
  int64_t count = 0;
  for (const TrainedParameter& trained : stage.trained) count += trained.per_neuron ? stage.width : 1;
  return count;
}

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

}  // namespace

std::string Network::summary() {
  const Use use(*this);
  std::string text = "stage                  kind       shape                parameters  of\n";
  int64_t total = 0;
  for (size_t i = 0; i < design_.stages().size(); ++i) {
    const Stage& stage = design_.stages()[i];
    const int64_t count = parameters_of(design_, i);
    total += count;
    char line[192];
    std::snprintf(line, sizeof line, "%-22s %-10s %-20s %10s  %s", stage.name.c_str(), name_of(stage.kind),
                  shape_of(design_, stage).c_str(), count > 0 ? std::to_string(count).c_str() : "",
                  detail_of(stage).c_str());
    std::string shown = line;
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
  return text.append("\n");
}

std::string Network::dot() {
  const Use use(*this);
  std::string text = "digraph network {\n  rankdir=TB;\n  node [shape=box, fontname=\"sans-serif\"];\n";
  const std::vector<Stage>& stages = design_.stages();
  for (size_t i = 0; i < stages.size(); ++i) {
    const std::string detail = detail_of(stages[i]), shape = shape_of(design_, stages[i]);
    text.append("  s").append(std::to_string(i)).append(" [label=\"").append(stages[i].name).append("\\n");
    text.append(name_of(stages[i].kind));
    if (!detail.empty()) text.append(": ").append(detail);
    if (!shape.empty()) text.append("\\n").append(shape);
    text.append("\"];\n");
    if (i == 0) continue;
    text.append("  s").append(std::to_string(i - 1)).append(" -> s").append(std::to_string(i)).append(";\n");
  }
  return text.append("}\n");
}

}  // namespace synfire::network
