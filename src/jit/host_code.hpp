// Compiles a text for the host with the C++ compiler of the system, and loads the result.
#ifndef SYNFIRE_JIT_HOST_CODE_HPP
#define SYNFIRE_JIT_HOST_CODE_HPP

#include "cache.hpp"
#include "model_text.hpp"
#include "progress.hpp"

#include <neurons/passes/loaded/loaded_code.hpp>

namespace synfire::jit {

// Machine code that was loaded into the process; unloaded with the object.
class HostCode {
 public:
  HostCode() = default;
  explicit HostCode(const std::string& object);
  HostCode(HostCode&& other) noexcept;
  HostCode& operator=(HostCode&& other) noexcept;
  ~HostCode();

  const operations::LoadedTable& table() const noexcept { return *table_; }

 private:
  void* library_ = nullptr;
  int file_ = -1;  // in memory, as long as the library is loaded: its name has the number
  const operations::LoadedTable* table_ = nullptr;
};

// The parts of a text that are compiled for the host: everything for layers on the host. Layers on a GPU need only its
// description and the formula of its parameters, which compile much faster.
enum class HostParts { formula, formula_and_kernels };

// How many loops over neurons the compiler vectorised.
struct Vectorized {
  int n_loops = 0, n_vectorized = 0;
  std::string text;  // which are not
};

struct CompiledHostCode {
  HostCode code;
  bool from_cache;
  Vectorized loops;  // the compiler's remarks are in the cache beside the code
};

// Throws a Failure with a rule SYN-MODEL-*.
CompiledHostCode compile_for_host(const ModelText& text, HostParts parts, const Cache& cache, Progress& progress);

}  // namespace synfire::jit

#endif
