// Text that may contain bytes from the caller, shown as UTF-8 without control characters: it cannot control a terminal,
// and every language can decode it.
#ifndef SYNFIRE_BASE_TEXT_HPP
#define SYNFIRE_BASE_TEXT_HPP

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace synfire::core {

// Copies `text` to `out` with control characters and invalid bytes as escapes such as \x1b, null-terminated and cut at
// a character boundary if it does not fit.
void copy_printable(std::string_view text, char* out, size_t capacity) noexcept;
std::string printable(std::string_view text);

// Printable and in quotes, cut after `longest` bytes.
std::string quoted(std::string_view text, size_t longest);

// The bytes of the first UTF-8 character of `text`, which is not empty; 0 if it is invalid.
size_t utf8_length(std::string_view text) noexcept;
bool is_utf8(std::string_view text) noexcept;

// The known name closest to a misspelt one, without regard to case; empty if none is close.
std::string_view closest_name(std::string_view name, std::span<const std::string_view> known);

// " (did you mean \"tau\"?)" for an error text, or nothing.
std::string suggestion(std::string_view name, std::span<const std::string_view> known);

}  // namespace synfire::core

#endif
