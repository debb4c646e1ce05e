// The interface of a text that was compiled for the host at run time: a description of the model or surrogate, its
// kernels, its formula, and a check of its derivatives. Text and library are compiled from the same headers, so the
// layout is the same; the cache has the library's build in its keys.
#ifndef SYNFIRE_NEURONS_PASSES_LOADED_LOADED_CODE_HPP
#define SYNFIRE_NEURONS_PASSES_LOADED_LOADED_CODE_HPP

#include <neurons/passes/host/passes_host_kernels.hpp>

#include <synfire/model/describe.hpp>

namespace synfire::operations {

struct LoadedTable {
  const model::Description* description;
  const host::NeuronKernels* kernels;             // null where the text was compiled for a GPU's layers
  const core::LoadedModelFormula* model;          // null of a surrogate
  const core::LoadedSurrogateFormula* surrogate;  // null of a model
  void (*check)(uint64_t seed, int64_t n_samples, model::CheckResult* result);
};
inline constexpr const char* loaded_table_symbol = "synfire_loaded_table";

}  // namespace synfire::operations

#endif
