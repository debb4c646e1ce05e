// Runs another program, without a shell, until it ends or its time is over: processor time of the program and its
// children, and time in which all are idle, but not time in which they wait for a processor.
#ifndef SYNFIRE_JIT_PROCESS_HPP
#define SYNFIRE_JIT_PROCESS_HPP

#include <base/function_ref.hpp>

#include <chrono>
#include <string>
#include <vector>

namespace synfire::jit {

struct ProcessResult {
  enum class End { exited, signalled, out_of_time, cancelled, not_started };
  End end;
  int code;                            // the exit status, the signal, or errno
  std::string output;                  // standard output and error together, at most 256 KiB from the start
  std::chrono::nanoseconds used = {};  // processor time and idle time, as the limit counts them
  bool idle = false;                   // most of it was idle time
};

// The first argument is the program's path. `environment` entries ("NAME=value") replace or extend those of this
// process. The program has its own process group, which is killed when its time is over or `cancelled`, called a few
// times a second, returns true. Throws OUT_OF_MEMORY only.
ProcessResult run_process(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                          std::chrono::nanoseconds limit, core::FunctionRef<bool()> cancelled);

// The path of an executable program: `name` itself if it has a slash, else the first in PATH; empty if there is none.
std::string find_program(const std::string& name);

}  // namespace synfire::jit

#endif
