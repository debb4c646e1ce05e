// Support for the tests of src/files: bytes, files laid out by hand, and refusals.
#ifndef SYNFIRE_TESTS_FILES_SUPPORT_HPP
#define SYNFIRE_TESTS_FILES_SUPPORT_HPP

#include <files/safetensors_file.hpp>
#include <files/safetensors_writer.hpp>

#include <base/error.hpp>

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace synfire::files {

using Bytes = std::vector<std::byte>;
using Shape = std::vector<int64_t>;

inline Bytes bytes_of_text(std::string_view text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

template <class T>
std::span<const std::byte> bytes_of_values(const std::vector<T>& values) {
  return std::as_bytes(std::span(values));
}

// A file as the format describes it: the length of the header, the header, the bytes of the tensors.
inline std::string laid_out(std::string_view header, std::string_view data) {
  const uint64_t length = header.size();
  std::string file(reinterpret_cast<const char*>(&length), sizeof length);
  return file.append(header).append(data);
}

// A refusal begins with its rule and has these words; anything else is a failure of the test. Rules are written in
// brackets.
template <class Call>
testing::AssertionResult refuses(std::string_view rule, std::initializer_list<std::string_view> words, Call call) {
  try {
    call();
  } catch (const core::Failure& failure) {
    const std::string text = "[" + std::string(failure.rule) + "] " + failure.text;
    if (!text.starts_with(rule)) return testing::AssertionFailure() << text << "\nis not of rule " << rule;
    for (const std::string_view word : words)
      if (text.find(word) == std::string::npos)
        return testing::AssertionFailure() << text << "\nlacks \"" << word << '"';
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "nothing was refused; expected " << rule;
}

inline SafetensorsFile parsed(const std::string& file) {
  return SafetensorsFile::from_memory(std::as_bytes(std::span(file)));
}

}  // namespace synfire::files

#endif
