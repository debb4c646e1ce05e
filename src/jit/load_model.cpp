#include "load_model.hpp"

#include "host_code.hpp"
#include "loaded_kernels.hpp"
#include "nvrtc.hpp"
#include "row.hpp"

#include <base/error.hpp>
#include <base/log.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <type_traits>
#include <vector>

namespace synfire::jit {

// ---- what a check found ---------------------------------------------------------------------------------------------

void report(const model::Description& of, const model::CheckResult& result, synfire_check_report& answer) {
  answer.wrong_slope_reads_input = result.wrong_slope_reads_input;
  answer.wrong_slope_reads_w = result.wrong_slope_reads_w;
  answer.n_samples = static_cast<uint64_t>(result.n_samples);
  answer.n_non_finite = static_cast<uint64_t>(result.n_non_finite);
  answer.largest_error = result.largest_error;
  const auto name_of = [&](int along) -> std::string {
    if (along >= 100) return of.parameters[along - 100].name;
    if (along >= 0) return of.states[along];
    return along == model::along_input         ? "x"
           : along == model::along_h           ? "h"
           : along == model::along_v_threshold ? "v_threshold"
                                               : "s";
  };
  std::string text;
  if (result.worst_function == model::checked_primitive)
    text = "the derivative of the primitive along x";
  else if (result.largest_error > 0)
    text = "the derivative of " +
           std::string(result.worst_function == 0                          ? "H"
                       : result.worst_function == model::checked_threshold ? "the threshold"
                                                                           : of.states[result.worst_function]) +
           " along " + name_of(result.worst_along);
  if (!text.empty()) {
    char error[64];
    std::snprintf(error, sizeof error, " differs by %.3g, more than any other", result.largest_error);
    text.append(error);
  }
  std::snprintf(answer.text, sizeof answer.text, "%s", text.c_str());
}

namespace {

void add_text(synfire_check_report& answer, const std::string& text) {
  if (text.empty()) return;
  const std::string before = answer.text;
  std::snprintf(answer.text, sizeof answer.text, "%s%s%s", before.c_str(), before.empty() ? "" : "; ", text.c_str());
}

// ---- what was loaded ------------------------------------------------------------------------------------------------

bool constants_fit(const core::ModelRow& row, const std::vector<double>* values, int64_t n_neurons,
                   bool undecayed_input, double largest) {
  const int n_parameters = static_cast<int>(row.parameters.size());
  double own[model::max_parameters] = {}, constants[model::max_model_constants];
  for (int64_t i = 0; i < n_neurons; ++i) {
    for (int p = 0; p < n_parameters; ++p) own[p] = values[p][static_cast<size_t>(i) % values[p].size()];
    row.derive(row, own, undecayed_input, constants);
    for (int k = 0; k < row.n_constants; ++k)
      if (!(std::fabs(constants[k]) <= largest)) return false;
  }
  return true;
}

// The parts of models and surrogates. The formula of parameters is compiled for the host even for a GPU.
struct LoadedPart {
  ModelText text;
  HostCode code;
  Vectorized loops;
  std::unique_ptr<Kernels> kernels;  // on a GPU
  Cache cache;
  uint64_t time_out;  // of every compilation
  ParameterSpecs specs = {};

  void check(uint64_t seed, uint64_t n_samples, synfire_check_report& answer) const {
    model::CheckResult result = {};
    code.table().check(seed, static_cast<int64_t>(n_samples), &result);
    report(*code.table().description, result, answer);
    const Vectorized of_host = kernels ? compiled_kernels().loops : loops;
    answer.n_loops = of_host.n_loops;
    answer.n_vectorized = of_host.n_vectorized;
    add_text(answer, of_host.text);
  }
  CompiledHostCode compiled_kernels() const {
    Progress progress(nullptr, nullptr, time_out);
    return compile_for_host(text, HostParts::formula_and_kernels, cache, progress);
  }
};

const core::LoadedModelFormula* set_formulas(const operations::LoadedTable& table, core::ModelRow& row) {
  row.derive = [](const core::ModelRow& of, const double* parameters, bool undecayed_input, double* constants) {
    of.loaded->formula()->derive(parameters, undecayed_input, constants);
  };
  row.derive_along = [](const core::ModelRow& of, const double* parameters, int parameter, bool undecayed_input,
                        double* slopes) {
    of.loaded->formula()->derive_along(parameters, parameter, undecayed_input, slopes);
  };
  row.constants_fit = constants_fit;
  return table.model;
}
const core::LoadedSurrogateFormula* set_formulas(const operations::LoadedTable& table, core::SurrogateRow& row) {
  row.derive = [](const core::SurrogateRow& of, const double* parameters, double* constants) {
    of.loaded->formula()->derive(parameters, constants);
  };
  return table.surrogate;
}

// Base is Model or Surrogate.
template <class Base>
class Loaded final : public Base {
 public:
  Loaded(core::Context& context, LoadedPart&& part, const LoadFacts& facts) : Base(context), part_(std::move(part)) {
    this->facts_ = facts;
    const operations::LoadedTable& table = part_.code.table();
    this->set_host_table(&table);
    fill(part_.specs, *table.description);
    fill(this->row_, part_.specs, *table.description);
    this->formula_ = set_formulas(table, this->row_);
    this->row_.loaded = this;
    this->row_.id = core::enroll(*this);
    if constexpr (std::is_same_v<Base, Model>) this->counting_row_ = core::with_countdown(this->row_);
  }
  void check(uint64_t seed, uint64_t n_samples, synfire_check_report& answer) override {
    part_.check(seed, n_samples, answer);
  }
  const ModelText& text() const noexcept override { return part_.text; }
  const void* kernel(const core::KernelRequest& request) override { return part_.kernels->find(request); }

 private:
  ~Loaded() override = default;
  void dispose() noexcept override { core::strike_off(*this); }

  LoadedPart part_;
};

template <class Base>
Base* load(core::Context& context, const synfire_load_desc& desc, TextKind kind) {
  Progress progress(desc.progress, desc.user, desc.time_out);
  progress.enter(SYNFIRE_LOAD_CHECK);
  ModelText text(kind, desc);
  const Cache cache = desc.no_cache == 1 ? Cache() : Cache::open(desc.cache, desc.cache_bytes);
  std::unique_ptr<Kernels> kernels;
  if (!context.device().is_host()) {
    require_nvrtc();
    synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
    context.device().describe(properties);
    kernels = std::make_unique<Kernels>(
        context.device(), KernelRules{cache, desc.time_out, properties.compute_major, properties.compute_minor});
  }
  CompiledHostCode compiled =
      compile_for_host(text, kernels ? HostParts::formula : HostParts::formula_and_kernels, cache, progress);
  const LoadFacts facts = {compiled.from_cache, progress.nanoseconds()};
  auto* const loaded = new Loaded<Base>(
      context,
      {std::move(text), std::move(compiled.code), std::move(compiled.loops), std::move(kernels), cache, desc.time_out},
      facts);
  core::log_message(SYNFIRE_LOG_CHOICE, "%s: \"%s\" %s, %.0f ms", kind == TextKind::model ? "model" : "surrogate",
                    loaded->row().name, facts.from_cache ? "from the cache" : "compiled",
                    static_cast<double>(facts.nanoseconds) * 1e-6);
  return loaded;
}

}  // namespace

const ModelText* text_of(const core::ModelRow& row) noexcept {
  return row.loaded ? &static_cast<const Model*>(row.loaded)->text() : nullptr;
}
const ModelText* text_of(const core::SurrogateRow& row) noexcept {
  return row.loaded ? &static_cast<const Surrogate*>(row.loaded)->text() : nullptr;
}

Model* load_model(core::Context& context, const synfire_load_desc& desc) {
  return load<Model>(context, desc, TextKind::model);
}
Surrogate* load_surrogate(core::Context& context, const synfire_load_desc& desc) {
  return load<Surrogate>(context, desc, TextKind::surrogate);
}

}  // namespace synfire::jit
