// Messages to the program: warnings, and what was chosen. Never on the path of a launch.
#ifndef SYNFIRE_BASE_LOG_HPP
#define SYNFIRE_BASE_LOG_HPP

#include "error.hpp"

namespace synfire::core {

// True if somebody hears messages of this level, for texts that cost something to make.
bool is_logged(int32_t level) noexcept;
// One line, which begins with the kind of object. Allocates nothing.
[[SYNFIRE_PRINTF(2, 3)]] void log_message(int32_t level, const char* format, ...) noexcept;

// When it returns, nobody is in the function before.
void set_log(const synfire_log_desc& desc) noexcept;

}  // namespace synfire::core

#endif
