// Failures below the C ABI: code throws Failure; only the ABI's guard turns it into a status and the caller's text.
#ifndef SYNFIRE_BASE_ERROR_HPP
#define SYNFIRE_BASE_ERROR_HPP

#include <synfire/synfire.h>

#include <string>

namespace synfire::core {

struct Failure {
  synfire_status status;
  int32_t cuda_error;
  const char* rule;  // stable id, e.g. "SYN-BUFFER-SIZE"; one per requirement
  std::string text;  // names the argument, the value received and what is allowed
};

// Lets the compiler check arguments like printf's. GCC on Windows takes "printf" for that of Microsoft's library, which
// lacks %zu; mingw-w64's own functions, which are called here, have all of C's formats.
#if defined(__MINGW32__) && !defined(__clang__)
#define SYNFIRE_PRINTF(text, arguments) gnu::format(gnu_printf, text, arguments)
#else
#define SYNFIRE_PRINTF(text, arguments) gnu::format(printf, text, arguments)
#endif

[[noreturn, SYNFIRE_PRINTF(3, 4)]] void fail(synfire_status status, const char* rule, const char* format, ...);

[[noreturn, SYNFIRE_PRINTF(2, 3)]] void fail_argument(const char* rule, const char* format, ...);

// Throws INVALID_ARGUMENT with this rule unless the value is 0 or 1.
void check_flag(int32_t value, const char* rule, const char* name, const char* allowed = "0 and 1");

}  // namespace synfire::core

#endif
