// Writes strings of JSON.
#ifndef SYNFIRE_FILES_JSON_TEXT_HPP
#define SYNFIRE_FILES_JSON_TEXT_HPP

#include <string>
#include <string_view>

namespace synfire::files {

// The text must be UTF-8.
inline void append_json_string(std::string& json, std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  json.push_back('"');
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte < 0x20) {
      json.append("\\u00").append({digits[byte >> 4], digits[byte & 15]});
      continue;
    }
    if (character == '"' || character == '\\') json.push_back('\\');
    json.push_back(character);
  }
  json.push_back('"');
}

}  // namespace synfire::files

#endif
