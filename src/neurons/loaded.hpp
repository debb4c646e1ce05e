// Models and surrogates loaded at run time, as layers see them: a row like those of the lists, and the code that
// replaces the library's. src/jit makes them. Ids are never used again in the process; a name is unique in its context.
#ifndef SYNFIRE_NEURONS_LOADED_HPP
#define SYNFIRE_NEURONS_LOADED_HPP

#include "parameter_block.hpp"
#include "parameters.hpp"

#include <base/context.hpp>
#include <base/function_ref.hpp>

#include <string>

namespace synfire::core {

// A GPU kernel of a layer whose model or surrogate was loaded.
struct KernelRequest {
  uint32_t key;                           // different for different kernels of one layer; less than most_kernels
  const char* header;                     // of the library's text that has its template
  FunctionRef<std::string()> expression;  // that names the instance, of LoadedModelType and LoadedSurrogateType
  const ModelRow& model;
  const SurrogateRow* surrogate;  // null where it does not matter

  static constexpr uint32_t most_kernels = 2048;
};

// The base of both.
class LoadedCode : public Child {
 public:
  // The table of functions compiled for the host (neurons/passes/loaded/loaded_code.hpp); null on a GPU.
  const void* host_table() const noexcept { return host_table_; }
  // A kernel, compiled or taken from the cache once; later requests take no lock. Throws SYN-MODEL-* or SYN-CUDA.
  virtual const void* kernel(const KernelRequest& request) = 0;

 protected:
  LoadedCode(ObjectType type, Context& context) noexcept : Child(type, context) {}
  void set_host_table(const void* table) noexcept { host_table_ = table; }

 private:
  const void* host_table_ = nullptr;
};

class LoadedModel : public LoadedCode {
 public:
  const ModelRow& row() const noexcept { return row_; }
  const ModelRow& counting_row() const noexcept { return counting_row_; }
  const LoadedModelFormula* formula() const noexcept { return formula_; }

 protected:
  explicit LoadedModel(Context& context) noexcept : LoadedCode(ObjectType::model, context) {}
  ModelRow row_ = {};
  ModelRow counting_row_ = {};  // with_countdown(row_)
  const LoadedModelFormula* formula_ = nullptr;
};

class LoadedSurrogate : public LoadedCode {
 public:
  const SurrogateRow& row() const noexcept { return row_; }
  const LoadedSurrogateFormula* formula() const noexcept { return formula_; }

 protected:
  explicit LoadedSurrogate(Context& context) noexcept : LoadedCode(ObjectType::surrogate, context) {}
  SurrogateRow row_ = {};
  const LoadedSurrogateFormula* formula_ = nullptr;
};

// The row of an id, null if there is none, and the object that keeps it alive if it was loaded.
template <class Row, class Loaded>
struct FoundRow {
  const Row* row = nullptr;
  Ref<Loaded> loaded;

  const Row* operator->() const noexcept { return row; }
  explicit operator bool() const noexcept { return row != nullptr; }
};
using FoundModel = FoundRow<ModelRow, LoadedModel>;
using FoundSurrogate = FoundRow<SurrogateRow, LoadedSurrogate>;
FoundModel find_model(int32_t id);
FoundSurrogate find_surrogate(int32_t id);
// Looks in the lists, then among those loaded into the context.
FoundModel find_model(std::string_view name, const Context& context);
FoundSurrogate find_surrogate(std::string_view name, const Context& context);

// Registers a model and returns its id. Throws INVALID_ARGUMENT if the context or the lists have one of this name.
int32_t enroll(LoadedModel& model);
int32_t enroll(LoadedSurrogate& surrogate);
void strike_off(const LoadedModel& model) noexcept;
void strike_off(const LoadedSurrogate& surrogate) noexcept;
// Its handle is destroyed: another model may take its name. Its id stays valid for its users.
void free_name(const LoadedModel& model) noexcept;
void free_name(const LoadedSurrogate& surrogate) noexcept;

// Throws INVALID_ARGUMENT if the code belongs to another context; `field` is the caller's name for it.
void check_loaded(const LoadedCode* code, const Context& context, int32_t id, const char* field);

}  // namespace synfire::core

#endif
