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

// Throws a Failure with a printf-style text.
[[noreturn, gnu::format(printf, 3, 4)]] void fail(synfire_status status, const char* rule, const char* format, ...);

// Throws ::SYNFIRE_ERROR_INVALID_ARGUMENT.
[[noreturn, gnu::format(printf, 2, 3)]] void fail_argument(const char* rule, const char* format, ...);

}  // namespace synfire::core

#endif
