#include "text.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

namespace synfire::core {

size_t utf8_length(std::string_view text) noexcept {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned lead = byte(0);
  if (lead < 0x80) return 1;
  const size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
  if (lead < 0xC2 || lead > 0xF4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i)
    if ((byte(i) & 0xC0) != 0x80) return 0;
  const unsigned second = byte(1);
  const bool overlong = (lead == 0xE0 && second < 0xA0) || (lead == 0xF0 && second < 0x90);
  const bool surrogate = lead == 0xED && second >= 0xA0;
  const bool too_large = lead == 0xF4 && second >= 0x90;
  return overlong || surrogate || too_large ? 0 : length;
}

bool is_utf8(std::string_view text) noexcept {
  while (!text.empty()) {
    const size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

namespace {

// The length in bytes of the character that `text` begins with; 0 for an invalid or a control character.
size_t character(std::string_view text) noexcept {
  const auto lead = static_cast<unsigned char>(text[0]);
  if (lead < 0x20 || lead == 0x7F) return 0;
  const size_t length = utf8_length(text);
  const bool control = length == 2 && lead == 0xC2 && static_cast<unsigned char>(text[1]) < 0xA0;
  return control ? 0 : length;
}

template <class Put>
void for_each_piece(std::string_view text, Put put) {
  constexpr char digits[] = "0123456789abcdef";
  while (!text.empty()) {
    const size_t length = character(text);
    const auto byte = static_cast<unsigned char>(text[0]);
    const char escaped[] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
    if (!put(length > 0 ? text.substr(0, length) : std::string_view(escaped, sizeof escaped))) return;
    text.remove_prefix(length > 0 ? length : 1);
  }
}

}  // namespace

void copy_printable(std::string_view text, char* out, size_t capacity) noexcept {
  char* at = out;
  for_each_piece(text, [&](std::string_view piece) {
    if (static_cast<size_t>(at - out) + piece.size() >= capacity) return false;
    std::memcpy(at, piece.data(), piece.size());
    at += piece.size();
    return true;
  });
  *at = '\0';
}

std::string printable(std::string_view text) {
  std::string shown;
  for_each_piece(text, [&](std::string_view piece) {
    shown.append(piece);
    return true;
  });
  return shown;
}

std::string quoted(std::string_view text, size_t longest) {
  std::string shown = "\"";
  shown.append(printable(text.substr(0, longest)));
  return shown.append(text.size() > longest ? "...\"" : "\"");
}

namespace {

char lower(char letter) noexcept {
  return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter == '-' ? '_' : letter;
}

// The fewest letters to insert, leave out, replace or swap with their neighbour that turn one name into the other.
size_t distance(std::string_view from, std::string_view to) {
  std::vector<size_t> before(to.size() + 1), above(to.size() + 1), row(to.size() + 1);
  for (size_t j = 0; j <= to.size(); ++j) above[j] = j;
  for (size_t i = 1; i <= from.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= to.size(); ++j) {
      const bool same = lower(from[i - 1]) == lower(to[j - 1]);
      row[j] = std::min({above[j] + 1, row[j - 1] + 1, above[j - 1] + (same ? 0 : 1)});
      if (i > 1 && j > 1 && lower(from[i - 1]) == lower(to[j - 2]) && lower(from[i - 2]) == lower(to[j - 1]))
        row[j] = std::min(row[j], before[j - 2] + 1);
    }
    before.swap(above);
    above.swap(row);
  }
  return above[to.size()];
}

}  // namespace

std::string_view closest_name(std::string_view name, std::span<const std::string_view> known) {
  constexpr size_t longest = 64;  // names of the library are far shorter
  std::string_view closest;
  size_t least = longest;
  if (name.empty() || name.size() > longest) return closest;
  for (const std::string_view one : known) {
    const size_t apart = distance(name, one);
    // Allows one wrong letter in a short name, and one of every three in a longer one.
    if (apart > std::max<size_t>(1, std::min(name.size(), one.size()) / 3) || apart >= least) continue;
    closest = one;
    least = apart;
  }
  return closest;
}

std::string suggestion(std::string_view name, std::span<const std::string_view> known) {
  const std::string_view closest = closest_name(name, known);
  if (closest.empty()) return {};
  return std::string(" (did you mean \"").append(closest).append("\"?)");
}

}  // namespace synfire::core
