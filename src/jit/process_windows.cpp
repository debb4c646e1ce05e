// Models are not compiled on Windows: it has no compiler of its own, and code would have to match the compiler that
// built the library. host_compiler.cpp reports this before it gets here.
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
