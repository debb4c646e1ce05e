// Text that may hold bytes of the caller's: names, and what a damaged snapshot calls its model. What is shown of it is
// UTF-8 without control characters, so that no terminal obeys it and every language can read it.
#ifndef SYNFIRE_BASE_TEXT_HPP
#define SYNFIRE_BASE_TEXT_HPP

#include <cstddef>
#include <string>
#include <string_view>

namespace synfire::core {

// Copies `text` to `out` with every control character, and every byte that belongs to no character, as \x1b and the
// like. Cut where it does not fit, never inside a character, and null-terminated.
void copy_printable(std::string_view text, char* out, size_t capacity) noexcept;
std::string printable(std::string_view text);

}  // namespace synfire::core

#endif
