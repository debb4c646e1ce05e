#include "error.hpp"

#include <cstdarg>
#include <cstdio>

namespace synfire::core {
namespace {

[[SYNFIRE_PRINTF(1, 0)]] std::string formatted(const char* format, va_list arguments) {
  char text[1024];
  std::vsnprintf(text, sizeof text, format, arguments);
  return text;
}

}  // namespace

void fail(synfire_status status, const char* rule, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::string text = formatted(format, arguments);
  va_end(arguments);
  throw Failure{status, 0, rule, std::move(text)};
}

void fail_argument(const char* rule, const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  std::string text = formatted(format, arguments);
  va_end(arguments);
  throw Failure{SYNFIRE_ERROR_INVALID_ARGUMENT, 0, rule, std::move(text)};
}

void check_flag(int32_t value, const char* rule, const char* name, const char* allowed) {
  if (value != 0 && value != 1) fail_argument(rule, "%s is %d; allowed are %s", name, value, allowed);
}

}  // namespace synfire::core
