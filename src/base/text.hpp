// Text that may contain bytes from the caller: names, and the model's name in a damaged snapshot. It is shown as UTF-8
// without control characters, so that it cannot control a terminal and every language can decode it.
#ifndef SYNFIRE_BASE_TEXT_HPP
#define SYNFIRE_BASE_TEXT_HPP

#include <cstddef>
#include <string>
#include <string_view>

namespace synfire::core {

// Copies `text` to `out` and writes control characters and invalid bytes as escapes such as \x1b. The result is
// null-terminated and, if it does not fit, cut at a character boundary.
void copy_printable(std::string_view text, char* out, size_t capacity) noexcept;
std::string printable(std::string_view text);

}  // namespace synfire::core

#endif
