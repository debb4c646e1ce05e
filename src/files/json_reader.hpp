// Reads JSON from memory, value by value: the caller says what comes next and gets it, or a JsonError. Memory is
// allocated for one string at a time only.
#ifndef SYNFIRE_FILES_JSON_READER_HPP
#define SYNFIRE_FILES_JSON_READER_HPP

#include <base/function_ref.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace synfire::files {

struct JsonError {
  size_t at;             // byte of the text; its size if it ended too early
  const char* expected;  // "a string"
};

class JsonReader {
 public:
  // The text must outlive the reader. Every function throws a JsonError if something else follows.
  explicit JsonReader(std::string_view text) noexcept : text_(text) {}

  // Calls member(name) for each member; it must read the member's value.
  void object(core::FunctionRef<void(std::string)> member);
  // Calls element() for each element; it must read it.
  void array(core::FunctionRef<void()> element);
  std::string string();
  int64_t length();  // an integer from 0 to 2^63 - 1
  void skip();       // any value, with objects and arrays at most 32 deep
  void end();        // only white space follows

 private:
  [[noreturn]] void fail(const char* expected) const { throw JsonError{at_, expected}; }
  void skip(int depth);
  void skip_number();
  void skip_space() noexcept;
  // Reads the next character after white space if it is this one.
  bool take(char character) noexcept;
  void require(char character, const char* expected);
  void append_escape(std::string& text);
  unsigned hexadecimal();

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace synfire::files

#endif
