#include "key_values.hpp"

#include <base/error.hpp>
#include <base/text.hpp>

#include <algorithm>
#include <charconv>

namespace synfire::network {

using core::fail_argument;
using core::quoted;

namespace {

constexpr std::string_view spaces = " \t\r\n";
constexpr size_t longest_shown = 80;
constexpr size_t most_words = 256;  // more than any stage has; looking for a word takes time

}  // namespace

std::string text_of(double value) {
  char text[32];
  const auto [end, error] = std::to_chars(text, text + sizeof text, value);
  return {text, end};
}

void KeyValueWriter::add(std::string_view key, std::string_view value) {
  if (!text_.empty()) text_.push_back(' ');
  text_.append(key).append("=").append(value);
}

void KeyValueWriter::add_all(const KeyValueWriter& other) {
  if (other.text_.empty()) return;
  if (!text_.empty()) text_.push_back(' ');
  text_.append(other.text_);
}

KeyValueReader::KeyValueReader(std::string_view text_name, std::string_view text) : name_(text_name) {
  while (true) {
    const size_t begin = text.find_first_not_of(spaces);
    if (begin == std::string_view::npos) return;
    text.remove_prefix(begin);
    const std::string_view word = text.substr(0, text.find_first_of(spaces));
    text.remove_prefix(word.size());
    const size_t equals = word.find('=');
    if (equals == 0 || equals == std::string_view::npos)
      fail_argument("SYN-NETWORK-FILE", "metadata \"%s\" have the word %s; words are KEY=VALUE", name_.c_str(),
                    quoted(word, longest_shown).c_str());
    KeyValue next = {std::string(word.substr(0, equals)), std::string(word.substr(equals + 1))};
    if (has(next.key))
      fail_argument("SYN-NETWORK-FILE", "metadata \"%s\" have %s twice", name_.c_str(),
                    quoted(next.key, longest_shown).c_str());
    if (words_.size() == most_words)
      fail_argument("SYN-NETWORK-FILE", "metadata \"%s\" have more than %zu words", name_.c_str(), most_words);
    words_.push_back(std::move(next));
  }
}

void KeyValueReader::fail(std::string_view key, std::string_view value, const char* needed) const {
  fail_argument("SYN-NETWORK-FILE", "metadata \"%s\" have %s for %s; %s is needed", name_.c_str(),
                quoted(value, longest_shown).c_str(), quoted(key, longest_shown).c_str(), needed);
}

bool KeyValueReader::has(std::string_view key) const {
  return std::ranges::find(words_, key, &KeyValue::key) != words_.end();
}

std::string KeyValueReader::take(std::string_view key) {
  if (!has(key))
    fail_argument("SYN-NETWORK-FILE", "metadata \"%s\" have no %s", name_.c_str(), quoted(key, longest_shown).c_str());
  return take(key, {});
}

std::string KeyValueReader::take(std::string_view key, std::string_view absent) {
  const auto at = std::ranges::find(words_, key, &KeyValue::key);
  if (at == words_.end()) return std::string(absent);
  std::string value = std::move(at->value);
  words_.erase(at);
  return value;
}

double KeyValueReader::number(std::string_view key, std::string_view text) const {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value != value) fail(key, text, "a number");
  return value;
}

double KeyValueReader::take_number(std::string_view key) {
  return number(key, take(key));
}

uint64_t KeyValueReader::take_whole(std::string_view key, uint64_t most) {
  const std::string text = take(key);
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value > most)
    fail(key, text, ("an integer from 0 to " + text_of(most)).c_str());
  return value;
}

uint64_t KeyValueReader::take_whole(std::string_view key, uint64_t most, uint64_t absent) {
  return has(key) ? take_whole(key, most) : absent;
}

KeyValueReader::KeyValue KeyValueReader::take_first(std::string_view prefix) {
  const auto at = std::ranges::find_if(words_, [&](const KeyValue& word) { return word.key.starts_with(prefix); });
  if (at == words_.end()) return {};
  KeyValue word = {at->key.substr(prefix.size()), std::move(at->value)};
  words_.erase(at);
  return word;
}

void KeyValueReader::end() const {
  if (!words_.empty())
    fail_argument("SYN-NETWORK-FILE", "metadata \"%s\" have %s, which this version of the format does not know",
                  name_.c_str(), quoted(words_.front().key, longest_shown).c_str());
}

}  // namespace synfire::network
