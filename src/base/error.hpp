// How code below the C ABI reports a failure: by throwing Failure, which the ABI's guard turns into a status and a
// text. Only the guard writes the error text that the caller sees.
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

// Lets the compiler check the arguments of a function like printf. To GCC on Windows, "printf" is that of Microsoft's
// library, which knows no %zu; the functions called here are mingw-w64's own, which know all of C's formats.
#if defined(__MINGW32__) && !defined(__clang__)
#define SYNFIRE_PRINTF(text, arguments) gnu::format(gnu_printf, text, arguments)
#else
#define SYNFIRE_PRINTF(text, arguments) gnu::format(printf, text, arguments)
#endif

// Throws a Failure with a printf-style text.
[[noreturn, SYNFIRE_PRINTF(3, 4)]] void fail(synfire_status status, const char* rule, const char* format, ...);

// Throws ::SYNFIRE_ERROR_INVALID_ARGUMENT.
[[noreturn, SYNFIRE_PRINTF(2, 3)]] void fail_argument(const char* rule, const char* format, ...);

}  // namespace synfire::core

#endif
