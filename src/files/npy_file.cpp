#include "npy_file.hpp"

#include "file_io.hpp"
#include "layout.hpp"

#include <base/error.hpp>
#include <base/text.hpp>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <string_view>

namespace synfire::files {
namespace {

constexpr std::string_view magic = "\x93NUMPY";
constexpr uint64_t first_bytes = 12;              // up to the header of version 2
constexpr uint64_t longest_dictionary = 1 << 20;  // NumPy itself stays below 2^16

struct Word {
  std::string_view descr;
  Dtype dtype;
};
constexpr Word words[] = {{"|b1", Dtype::boolean}, {"|u1", Dtype::u8},  {"|i1", Dtype::i8},  {"<u2", Dtype::u16},
                          {"<i2", Dtype::i16},     {"<f2", Dtype::f16}, {"<u4", Dtype::u32}, {"<i4", Dtype::i32},
                          {"<f4", Dtype::f32},     {"<u8", Dtype::u64}, {"<i8", Dtype::i64}, {"<f8", Dtype::f64}};

// Reads "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }": the part of Python that NumPy writes.
class DictionaryReader {
 public:
  explicit DictionaryReader(std::string_view text) noexcept : text_(text) {}

  NpyArray read() {
    NpyArray array;
    std::optional<bool> is_fortran;
    bool has_descr = false, has_shape = false;
    require('{');
    while (!take('}')) {
      const std::string key = quoted_text();
      require(':');
      if (key == "descr" && !has_descr) {
        array.descr = quoted_text();
        has_descr = true;
      } else if (key == "fortran_order" && !is_fortran) {
        is_fortran = truth();
      } else if (key == "shape" && !has_shape) {
        array.shape = tuple();
        has_shape = true;
      } else {
        fail("one of 'descr', 'fortran_order' and 'shape', each once");
      }
      if (!take(',')) {
        require('}');
        break;
      }
    }
    skip_space();
    if (at_ < text_.size()) fail("nothing but white space after the end");
    if (!has_descr || !has_shape || !is_fortran)
      core::fail_argument("SYN-FILE-NPY", "the header has no '%s'",
                          !has_descr   ? "descr"
                          : !has_shape ? "shape"
                                       : "fortran_order");
    if (*is_fortran && array.shape.size() > 1)
      core::fail_argument("SYN-FILE-NPY", "the array is in Fortran order; C order is needed (numpy.ascontiguousarray)");
    return array;
  }

 private:
  [[noreturn]] void fail(const char* expected) const {
    const std::string found = at_ < text_.size() ? core::quoted(text_.substr(at_), 16) : "its end";
    core::fail_argument("SYN-FILE-NPY", "at byte %zu of the header is %s; %s is needed", at_, found.c_str(), expected);
  }
  void skip_space() noexcept { at_ = std::min(text_.size(), text_.find_first_not_of(" \t\n\r", at_)); }
  bool take(char character) noexcept {
    skip_space();
    if (at_ == text_.size() || text_[at_] != character) return false;
    ++at_;
    return true;
  }
  void require(char character) {
    const char expected[] = {'\'', character, '\'', '\0'};
    if (!take(character)) fail(expected);
  }
  // Without escapes, which no name of a type needs.
  std::string quoted_text() {
    skip_space();
    const char quote = at_ < text_.size() ? text_[at_] : '\0';
    if (quote != '\'' && quote != '"') fail("a string");
    const size_t end = text_.find_first_of(std::string{quote, '\\'}, at_ + 1);
    if (end == std::string_view::npos || text_[end] != quote) fail("a string without escapes");
    std::string text(text_.substr(at_ + 1, end - at_ - 1));
    at_ = end + 1;
    return text;
  }
  bool truth() {
    skip_space();
    for (const std::string_view word : {"True", "False"})
      if (text_.substr(at_, word.size()) == word) {
        at_ += word.size();
        return word == "True";
      }
    fail("True or False");
  }
  std::vector<int64_t> tuple() {
    std::vector<int64_t> lengths;
    require('(');
    while (!take(')')) {
      skip_space();
      int64_t length = 0;
      const char* const begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), length);
      if (error != std::errc() || *begin == '-') fail("an integer from 0 to 2^63 - 1");
      at_ += static_cast<size_t>(end - begin);
      lengths.push_back(length);
      if (!take(',')) {
        require(')');
        break;
      }
    }
    return lengths;
  }

  std::string_view text_;
  size_t at_ = 0;
};

}  // namespace

NpyArray read_npy(uint64_t file_size, core::FunctionRef<void(uint64_t, std::span<std::byte>)> read_at) {
  unsigned char first[first_bytes] = {};
  if (file_size >= first_bytes) read_at(0, std::as_writable_bytes(std::span(first)));
  if (!std::equal(magic.begin(), magic.end(), first, [](char a, unsigned char b) { return a == static_cast<char>(b); }))
    core::fail_argument("SYN-FILE-NPY", "the file does not begin with \"\\x93NUMPY\", as an array of NumPy does");
  const int version = first[6];
  if (version < 1 || version > 3)
    core::fail_argument("SYN-FILE-NPY", "the file has version %d of the format; 1 to 3 are known", version);
  uint64_t length = first[8] + (uint64_t{first[9]} << 8);
  if (version > 1) length += (uint64_t{first[10]} << 16) + (uint64_t{first[11]} << 24);
  const uint64_t header = version > 1 ? first_bytes : first_bytes - 2;
  if (length > std::min(file_size - header, longest_dictionary))
    core::fail_argument("SYN-FILE-NPY", "the header has %llu bytes, in a file of %llu; at most %llu are allowed",
                        static_cast<unsigned long long>(length), static_cast<unsigned long long>(file_size),
                        static_cast<unsigned long long>(longest_dictionary));
  std::string text(length, ' ');
  read_at(header, std::as_writable_bytes(std::span(text)));
  NpyArray array = DictionaryReader(text).read();
  array.begin = header + length;
  for (const Word& word : words)
    if (array.descr == word.descr) array.dtype = word.dtype;
  const uint64_t size = checked_size("of the file", array.dtype, array.shape);
  if (array.dtype != Dtype::unknown && size != file_size - array.begin)
    core::fail_argument("SYN-FILE-SIZE", "the file has %llu bytes after its header; its type %s and shape %s need %llu",
                        static_cast<unsigned long long>(file_size - array.begin), shown(array.descr).c_str(),
                        shown(array.shape).c_str(), static_cast<unsigned long long>(size));
  return array;
}

NpyArray read_npy(const InputFile& file) {
  return read_npy(file.size(), [&](uint64_t offset, std::span<std::byte> to) { file.read_at(offset, to); });
}

}  // namespace synfire::files
