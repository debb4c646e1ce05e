#include "json_reader.hpp"

#include <base/text.hpp>

#include <algorithm>
#include <charconv>

namespace synfire::files {
namespace {

void append_utf8(std::string& text, unsigned code) {
  const unsigned n_following = code < 0x80 ? 0 : code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
  constexpr unsigned marks[] = {0, 0xC0, 0xE0, 0xF0};
  text.push_back(static_cast<char>(marks[n_following] | code >> (6 * n_following)));
  for (unsigned i = n_following; i-- > 0;) text.push_back(static_cast<char>(0x80 | (code >> (6 * i) & 0x3F)));
}

}  // namespace

void JsonReader::skip_space() noexcept {
  at_ = std::min(text_.size(), text_.find_first_not_of(" \t\n\r", at_));
}

bool JsonReader::take(char character) noexcept {
  skip_space();
  if (at_ == text_.size() || text_[at_] != character) return false;
  ++at_;
  return true;
}

void JsonReader::require(char character, const char* expected) {
  if (!take(character)) fail(expected);
}

void JsonReader::object(core::FunctionRef<void(std::string)> member) {
  require('{', "an object");
  if (take('}')) return;
  do {
    std::string name = string();
    require(':', "':'");
    member(std::move(name));
  } while (take(','));
  require('}', "',' or '}'");
}

void JsonReader::array(core::FunctionRef<void()> element) {
  require('[', "an array");
  if (take(']')) return;
  do {
    element();
  } while (take(','));
  require(']', "',' or ']'");
}

std::string JsonReader::string() {
  require('"', "a string");
  std::string read;
  for (;;) {
    if (at_ == text_.size()) fail("the end of a string");
    const auto next = static_cast<unsigned char>(text_[at_]);
    if (next == '"') {
      ++at_;
      return read;
    }
    if (next == '\\') {
      append_escape(read);
      continue;
    }
    if (next < 0x20) fail("an escape in place of a control character");
    const size_t length = core::utf8_length(text_.substr(at_));
    if (length == 0) fail("UTF-8");
    read.append(text_, at_, length);
    at_ += length;
  }
}

// Four digits after "\u".
unsigned JsonReader::hexadecimal() {
  unsigned code = 0;
  for (int i = 0; i < 4; ++i, ++at_) {
    unsigned digit = 0;
    if (at_ == text_.size() || std::from_chars(&text_[at_], &text_[at_] + 1, digit, 16).ec != std::errc())
      fail("a hexadecimal digit");
    code = code * 16 + digit;
  }
  return code;
}

void JsonReader::append_escape(std::string& text) {
  constexpr std::string_view letters = "\"\\/bfnrt", meanings = "\"\\/\b\f\n\r\t";
  ++at_;
  const size_t letter = at_ < text_.size() ? letters.find(text_[at_]) : std::string_view::npos;
  if (letter != std::string_view::npos) {
    text.push_back(meanings[letter]);
    ++at_;
    return;
  }
  if (at_ == text_.size() || text_[at_] != 'u') fail("one of \"\\/bfnrtu");
  ++at_;
  const size_t first = at_;
  unsigned code = hexadecimal();
  if (code >= 0xD800 && code < 0xE000) {  // half of a surrogate pair
    unsigned low = 0;
    if (code < 0xDC00 && text_.substr(at_, 2) == "\\u") {
      at_ += 2;
      low = hexadecimal();
    }
    if (low < 0xDC00 || low >= 0xE000) {
      at_ = first;
      fail("a whole surrogate pair");
    }
    code = 0x10000 + (code - 0xD800) * 0x400 + (low - 0xDC00);
  }
  append_utf8(text, code);
}

int64_t JsonReader::length() {
  skip_space();
  const std::string_view rest = text_.substr(at_);
  int64_t value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  const auto size = static_cast<size_t>(end - rest.data());
  const bool leads_with_zero = size > 1 && rest[0] == '0';
  const bool goes_on = size < rest.size() && std::string_view(".eE").find(rest[size]) != std::string_view::npos;
  if (error != std::errc() || rest[0] == '-' || leads_with_zero || goes_on) fail("an integer from 0 to 2^63 - 1");
  at_ += size;
  return value;
}

void JsonReader::skip() {
  skip(0);
}

void JsonReader::skip(int depth) {
  constexpr int most_depth = 32;
  skip_space();
  const char first = at_ < text_.size() ? text_[at_] : '\0';
  if (first == '{' || first == '[') {
    if (depth == most_depth) fail("at most 32 objects and arrays within each other");
    if (first == '{')
      object([&](const std::string&) { skip(depth + 1); });
    else
      array([&] { skip(depth + 1); });
    return;
  }
  if (first == '"') {
    string();
    return;
  }
  for (const std::string_view word : {"true", "false", "null"})
    if (text_.substr(at_, word.size()) == word) {
      at_ += word.size();
      return;
    }
  skip_number();
}

void JsonReader::skip_number() {
  const std::string_view rest = text_.substr(at_);
  const size_t minus = rest.starts_with('-') ? 1 : 0;
  double value = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
  const bool is_digit = minus < rest.size() && rest[minus] >= '0' && rest[minus] <= '9';  // neither "inf" nor "nan"
  if (!is_digit || error == std::errc::invalid_argument) fail("a value");
  at_ += static_cast<size_t>(end - rest.data());
}

void JsonReader::end() {
  skip_space();
  if (at_ < text_.size()) fail("nothing but white space after the end");
}

}  // namespace synfire::files
