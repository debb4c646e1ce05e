// Damaged files: cut off at any length, changed in any byte, and changed at random in ways that come past the first
// checks.
#include "../sample.hpp"
#include "sound_reading.hpp"
#include "support.hpp"

#include <cstdint>
#include <random>
#include <set>

namespace synfire::files {
namespace {

// Several types, an empty tensor, a scalar, metadata, escapes.
std::string example() {
  const Bytes bytes(24, std::byte{0x41});
  const auto first = [&](size_t n) { return std::span(bytes).first(n); };
  SafetensorsWriter writer;
  writer.add("0.weight", Dtype::f32, Shape{2, 3}, first(24));
  writer.add("0.bias \xC3\xA9\n", Dtype::f16, Shape{3}, first(6));
  writer.add("empty", Dtype::i64, Shape{0, 2}, {});
  writer.add("step", Dtype::u64, Shape{}, first(8));
  writer.add("mask", Dtype::boolean, Shape{5}, first(5));
  writer.set_metadata("format", "synfire");
  writer.set_metadata("\"", "\\");
  const Bytes file = writer.bytes();
  return {reinterpret_cast<const char*>(file.data()), file.size()};
}

Reading reading_of(const std::string& file) {
  return read_soundly(std::as_bytes(std::span(file)));
}

uint64_t header_end(const std::string& file) {
  uint64_t length = 0;
  std::memcpy(&length, file.data(), sizeof length);
  return 8 + length;
}

TEST(DamagedFiles, EveryLengthButTheRightOneIsRefused) {
  const std::string file = example();
  for (size_t length = 0; length < file.size(); ++length) {
    const Reading reading = reading_of(file.substr(0, length));
    EXPECT_EQ(reading.rule, length < header_end(file) ? "SYN-FILE-LENGTH" : "SYN-FILE-OFFSETS") << length;
    EXPECT_EQ(reading.problem, "") << length;
  }
  EXPECT_EQ(reading_of(file).rule, "");
  EXPECT_EQ(reading_of(file).problem, "");
  EXPECT_EQ(reading_of(file + "\n").rule, "SYN-FILE-OFFSETS");
}

TEST(DamagedFiles, EveryHeaderThatIsCutOffIsRefused) {
  const std::string file = example();
  const std::string header = file.substr(8, file.find_last_of('}') - 8 + 1);
  for (size_t length = 0; length < header.size(); ++length) {
    const Reading reading = reading_of(laid_out(header.substr(0, length), file.substr(header_end(file))));
    EXPECT_EQ(reading.rule, length < 2 ? "SYN-FILE-LENGTH" : "SYN-FILE-JSON") << length;
    EXPECT_EQ(reading.problem, "") << length;
  }
}

// Any value in place of any byte. A length that changed is always noticed.
TEST(DamagedFiles, EveryByteWithEveryValue) {
  const std::string file = example();
  size_t n_refused = 0, n_header = 0;
  synfire_test::Sample cases;
  for (size_t at = 0; at < file.size(); ++at)
    for (int value = 1; value < 256; ++value) {
      if (!cases.next()) continue;
      n_header += at < header_end(file) ? 1 : 0;
      std::string damaged = file;
      damaged[at] = static_cast<char>(damaged[at] ^ value);
      const Reading reading = reading_of(damaged);
      ASSERT_EQ(reading.problem, "") << "byte " << at << ", changed by " << value;
      n_refused += reading.rule.empty() ? 0 : 1;
      if (at < 8) {
        EXPECT_NE(reading.rule, "") << "byte " << at << ", changed by " << value;
      }
      if (at >= header_end(file)) {
        EXPECT_EQ(reading.rule, "") << "values are not checked: byte " << at;
      }
    }
  EXPECT_GT(n_refused, n_header / 2) << "most changes of a header are noticed";
}

// ---- At random ------------------------------------------------------------------------------------------------------

class Mutator {
 public:
  explicit Mutator(unsigned seed) : random_(seed) {}

  std::string mutated(std::string file) {
    const uint64_t end = header_end(file);
    std::string header = file.substr(8, end - 8), data = file.substr(end);
    for (size_t n = 1 + below(4); n > 0; --n) change(header);
    if (below(4) == 0) data.resize(below(2 * data.size() + 2));
    std::string mutated = laid_out(header, data);
    if (below(16) == 0) mutated[below(8)] = static_cast<char>(below(256));
    return mutated;
  }

 private:
  size_t below(size_t n) { return static_cast<size_t>(random_() % n); }

  void change(std::string& text) {
    static constexpr std::string_view pieces[] = {"\"",
                                                  "{",
                                                  "}",
                                                  "[",
                                                  "]",
                                                  ",",
                                                  ":",
                                                  "\\",
                                                  "\\u0000",
                                                  "\\ud83e\\udde0",
                                                  "\\udfff",
                                                  "-",
                                                  "0",
                                                  "1",
                                                  "99",
                                                  " ",
                                                  "\t",
                                                  "4294967296",
                                                  "9223372036854775807",
                                                  "18446744073709551616",
                                                  "1e9",
                                                  "\"U8\"",
                                                  "\"F64\"",
                                                  "\"NEW\"",
                                                  "[0,0]",
                                                  "\"__metadata__\"",
                                                  "\"dtype\"",
                                                  "\"shape\"",
                                                  "\"data_offsets\"",
                                                  "{}",
                                                  "null",
                                                  "\xC3",
                                                  "\xF0\x9F",
                                                  ",\"a\":{}"};
    const size_t at = below(text.size() + 1), n = below(text.size() - at + 1);
    switch (below(6)) {
      case 0:
        if (at < text.size()) text[at] = static_cast<char>(text[at] ^ 1 << below(8));
        break;
      case 1:
        text.erase(at, std::min<size_t>(n, 1 + below(40)));
        break;
      case 2:
        text.insert(at, text.substr(below(text.size() + 1), below(120)));
        break;
      case 3:
        text.insert(at, pieces[below(std::size(pieces))]);
        break;
      case 4: {  // another number in place of one
        const size_t digit = text.find_first_of("0123456789", at);
        if (digit == std::string::npos) break;
        text.replace(digit, 1, below(8) == 0 ? "4611686018427387904,4" : std::to_string(below(30)));
        break;
      }
      default: {  // an entry once more, elsewhere
        const size_t from = text.find('"', at), to = text.find('}', at);
        if (from == std::string::npos || to == std::string::npos || to < from) break;
        text.insert(text.find('"'), text.substr(from, to - from + 1) + ",");
      }
    }
  }

  std::mt19937 random_;
};

TEST(DamagedFiles, ChangedAtRandom) {
  const std::string file = example();
  Mutator mutator(1);
  std::set<std::string> rules;
  const auto n_files = static_cast<int>(100'000 / std::min<uint64_t>(synfire_test::sample_interval(), 10));
  for (int i = 0; i < n_files; ++i) {
    const std::string mutated = mutator.mutated(file);
    const Reading reading = reading_of(mutated);
    ASSERT_EQ(reading.problem, "") << "file " << i << ": " << mutated;
    rules.insert(reading.rule);
  }
  EXPECT_EQ(rules, (std::set<std::string>{"", "SYN-FILE-LENGTH", "SYN-FILE-JSON", "SYN-FILE-ENTRY", "SYN-FILE-TWICE",
                                          "SYN-FILE-OVERFLOW", "SYN-FILE-SIZE", "SYN-FILE-OFFSETS"}))
      << "every check was reached, and some files were read";
}

}  // namespace
}  // namespace synfire::files
