// Models are not compiled on Windows: no compiler is part of the system, and what the library would load is bound to
// the compiler that built it. host_compiler.cpp says so before it gets here.
#include "process.hpp"

namespace synfire::jit {

ProcessResult run_process(const std::vector<std::string>&, const std::vector<std::string>&, std::chrono::nanoseconds,
                          core::FunctionRef<bool()>) {
  return {ProcessResult::End::not_started, 0, {}, {}, false};
}

std::string find_program(const std::string&) {
  return {};
}

}  // namespace synfire::jit
