// Texts of words "key=value" with spaces between them. Numbers have the fewest digits that give the same number again.
#ifndef SYNFIRE_NETWORK_KEY_VALUES_HPP
#define SYNFIRE_NETWORK_KEY_VALUES_HPP

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace synfire::network {

std::string text_of(double value);
inline std::string text_of(uint64_t value) {
  return std::to_string(value);
}

class KeyValueWriter {
 public:
  void add(std::string_view key, std::string_view value);
  void add_number(std::string_view key, double value) { add(key, text_of(value)); }
  void add_whole(std::string_view key, uint64_t value) { add(key, text_of(value)); }
  void add_all(const KeyValueWriter& other);
  const std::string& text() const noexcept { return text_; }

 private:
  std::string text_;
};

class KeyValueReader {
 public:
  KeyValueReader(std::string_view text_name, std::string_view text);

  // Each takes a word out. The first must be there, the second gives `absent` if it is not.
  std::string take(std::string_view key);
  std::string take(std::string_view key, std::string_view absent);
  double take_number(std::string_view key);
  uint64_t take_whole(std::string_view key, uint64_t most);
  uint64_t take_whole(std::string_view key, uint64_t most, uint64_t absent);
  bool has(std::string_view key) const;
  // The first remaining word whose key begins like this, without the beginning; or an empty key.
  struct KeyValue {
    std::string key, value;
  };
  KeyValue take_first(std::string_view prefix);
  void end() const;

  double number(std::string_view key, std::string_view text) const;
  [[noreturn]] void fail(std::string_view key, std::string_view value, const char* needed) const;

 private:
  std::string name_;
  std::vector<KeyValue> words_;
};

}  // namespace synfire::network

#endif
