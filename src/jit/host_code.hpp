// Compiles a text for the host, with the C++ compiler that is found, and loads what comes out.
#ifndef SYNFIRE_JIT_HOST_CODE_HPP
#define SYNFIRE_JIT_HOST_CODE_HPP

#include "cache.hpp"
#include "progress.hpp"
#include "text.hpp"

#include <operations/neuron/loaded_code.hpp>

namespace synfire::jit {

// Machine code that was loaded into the process; unloaded with the object.
class HostCode {
 public:
  HostCode() = default;
  // From the bytes of a shared object. Throws SYN-MODEL-LOADED.
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

// What of a text the host needs: everything for layers on the host; for layers on a GPU only its description and the
// formula of its parameters, which take a fraction of the time to compile.
enum class HostParts { formula, formula_and_kernels };

// How many loops over neurons the compiler vectorised; none where there are no kernels.
struct Vectorized {
  int n_loops = 0, n_vectorized = 0;
  std::string text;  // which are not
};

struct CompiledHostCode {
  HostCode code;
  bool from_cache;
  Vectorized loops;  // the compiler's remarks are in the cache beside the code
};

// Throws a Failure with the rules SYN-MODEL-*.
CompiledHostCode compile_for_host(const ModelText& text, HostParts parts, const Cache& cache, Progress& progress);

}  // namespace synfire::jit

#endif
