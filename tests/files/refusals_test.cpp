// Each reason for which a file or a tensor is refused, once or more, with its rule and the words that help.
#include "support.hpp"

#include <files/layout.hpp>

namespace synfire::files {
namespace {

#define EXPECT_FILE_REFUSED(rule, header, data, ...) \
  EXPECT_TRUE(refuses(rule, {__VA_ARGS__}, [&] { parsed(laid_out(header, data)); }))

std::string repeated(std::string_view text, size_t n) {
  std::string all;
  for (size_t i = 0; i < n; ++i) all.append(text);
  return all;
}

// ---- Lengths --------------------------------------------------------------------------------------------------------

TEST(FileRefusals, LengthsThatTheFileDoesNotHave) {
  EXPECT_TRUE(refuses("[SYN-FILE-LENGTH]", {"has 0 bytes", "8"}, [] { parsed(""); }));
  EXPECT_TRUE(refuses("[SYN-FILE-LENGTH]", {"has 7 bytes"}, [] { parsed(std::string(7, '\0')); }));
  // No header, a header of one byte, one byte more than there is, and lengths that wrap when 8 is added.
  for (const uint64_t length : {uint64_t{0}, uint64_t{1}, uint64_t{3}, UINT64_MAX - 7, UINT64_MAX, uint64_t{1} << 63}) {
    std::string file = laid_out("{}", "");
    std::memcpy(file.data(), &length, sizeof length);
    EXPECT_TRUE(refuses("[SYN-FILE-LENGTH]", {std::to_string(length), "2 to 2 "}, [&] { parsed(file); })) << length;
  }
}

TEST(FileRefusals, AHeaderBeyondTheLimitOfTheFormat) {
  std::string header = "{}";
  header.resize(longest_header, ' ');
  EXPECT_TRUE(parsed(laid_out(header, "")).tensors().empty());
  header.push_back(' ');
  EXPECT_FILE_REFUSED("[SYN-FILE-LENGTH]", header, "", "100000001", "2 to 100000000");
  SafetensorsWriter writer;
  writer.set_metadata("long", std::string(longest_header, 'x'));
  EXPECT_TRUE(refuses("[SYN-FILE-LENGTH]", {"100000000"}, [&] { writer.size(); }));
}

// ---- JSON -----------------------------------------------------------------------------------------------------------

TEST(FileRefusals, HeadersThatAreNoJson) {
  const struct {
    const char *header, *expected;
    size_t at;
  } cases[] = {
      {"  {}", "'{'", 0},
      {"[]", "'{'", 0},
      {"{ ", "a string", 2},
      {"{}x", "nothing but white space", 2},
      {"{}{}", "nothing but white space", 2},
      {"{1:2}", "a string", 1},
      {"{'a':1}", "a string", 1},
      {"{\"a\"}", "':'", 4},
      {"{\"a\":}", "an object", 5},
      {"{\"a\":null}", "an object", 5},
      {"{\"a\":[]}", "an object", 5},
      {"{\"a\":{}", "\"dtype\" is missing", 0},
      {"{\"a\":{\"dtype\":\"U8\",}}", "a string", 19},
      {"{\"__metadata__\":{}", "',' or '}'", 18},
      {"{\"__metadata__\":{},}", "a string", 19},
      {"{\"__metadata__\":[]}", "an object", 16},
      {"{\"__metadata__\":\"a\"}", "an object", 16},
      {"{\"__metadata__\":{\"a\":1}}", "a string", 21},
      {"{\"__metadata__\":{\"a\":{}}}", "a string", 21},
      {"{\"__metadata__\":{\"a\":\"b\" \"c\"}}", "',' or '}'", 25},
      {"{\"a\":{\"dtype\":7}}", "a string", 14},
      {"{\"a\":{\"shape\":{}}}", "an array", 14},
      {"{\"a\":{\"shape\":[1 2]}}", "',' or ']'", 17},
      {"{\"a\":{\"shape\":[1,]}}", "integer", 17},
      {"{\"a\":{\"shape\":[,1]}}", "integer", 15},
      {"{\"a\":{\"shape\":[\"1\"]}}", "integer", 15},
      {"{\"a\":{\"shape\":[[1]]}}", "integer", 15},
      {"{\"a\":{\"shape\":[-1]}}", "integer", 15},
      {"{\"a\":{\"shape\":[-0]}}", "integer", 15},
      {"{\"a\":{\"shape\":[+1]}}", "integer", 15},
      {"{\"a\":{\"shape\":[01]}}", "integer", 15},
      {"{\"a\":{\"shape\":[1.0]}}", "integer", 15},
      {"{\"a\":{\"shape\":[1e3]}}", "integer", 15},
      {"{\"a\":{\"shape\":[0x1]}}", "',' or ']'", 16},
      {"{\"a\":{\"shape\":[9223372036854775808]}}", "2^63 - 1", 15},
      {"{\"a\":{\"shape\":[99999999999999999999999999]}}", "2^63 - 1", 15},
      {"{\"a\":{\"shape\":[1", "',' or ']'", 16},
      {"{\"a\":{\"shape\":[", "integer", 15},
      {"{\"a\":{\"data_offsets\":[0,-1]}}", "integer", 24},
      {"{\"a\":{\"data_offsets\":7}}", "an array", 21},
  };
  for (const auto& one : cases) {
    const bool is_entry = std::string_view(one.expected).starts_with('"');
    const std::string at = is_entry ? "" : "at byte " + std::to_string(one.at) + " ";
    EXPECT_FILE_REFUSED(is_entry ? "[SYN-FILE-ENTRY]" : "[SYN-FILE-JSON]", one.header, "", one.expected, at)
        << one.header;
  }
}

TEST(FileRefusals, StringsThatAreNoJson) {
  const struct {
    std::string_view text;
    const char* expected;
  } cases[] = {
      {"\n", "an escape"},
      {std::string_view("\0", 1), "an escape"},
      {"\x1f", "an escape"},
      {"\\x", "one of"},
      {"\\", "the end of a string"},  // escapes the quote that follows
      {"\\u12", "a hexadecimal digit"},
      {"\\u12g4", "a hexadecimal digit"},
      {"\\u-123", "a hexadecimal digit"},
      {"\\ud800", "a whole surrogate pair"},
      {"\\ud800\\n", "a whole surrogate pair"},
      {"\\ud800\\u0041", "a whole surrogate pair"},
      {"\\ud800\\ud800", "a whole surrogate pair"},
      {"\\udc00", "a whole surrogate pair"},
      {"\\udc00\\udc00", "a whole surrogate pair"},
      {"\x80", "UTF-8"},
      {"\xC0\x80", "UTF-8"},
      {"\xC3", "UTF-8"},
      {"\xE0\x80\x80", "UTF-8"},
      {"\xED\xA0\x80", "UTF-8"},
      {"\xF4\x90\x80\x80", "UTF-8"},
      {"\xFF", "UTF-8"},
  };
  for (const auto& one : cases) {
    const std::string header = "{\"__metadata__\":{\"key\":\"" + std::string(one.text) + "\"}}";
    EXPECT_FILE_REFUSED("[SYN-FILE-JSON]", header, "", "metadata: at byte ", one.expected) << one.text;
  }
  EXPECT_FILE_REFUSED("[SYN-FILE-JSON]", "{\"\\u00", "", "its end", "a hexadecimal digit");
  EXPECT_FILE_REFUSED("[SYN-FILE-JSON]", "{\"\\", "", "its end", "one of");
  EXPECT_FILE_REFUSED("[SYN-FILE-JSON]", "{\"abc", "", "its end", "the end of a string");
}

TEST(FileRefusals, NestingTakesNoStack) {
  constexpr size_t deep = 1'000'000;
  EXPECT_FILE_REFUSED("[SYN-FILE-ENTRY]", repeated("{\"\":", deep), "", "not a member");
  EXPECT_FILE_REFUSED("[SYN-FILE-JSON]", "{\"a\":{\"shape\":" + repeated("[", deep), "", "tensor \"a\": at byte 15 ");
}

// ---- Entries --------------------------------------------------------------------------------------------------------

TEST(FileRefusals, EntriesThatAreNotWhatTheFormatHas) {
  EXPECT_FILE_REFUSED("[SYN-FILE-ENTRY]", R"({"a":{"shape":[],"data_offsets":[0,4]}})", "1234", "tensor \"a\"",
                      "\"dtype\" is missing");
  EXPECT_FILE_REFUSED("[SYN-FILE-ENTRY]", R"({"a":{"dtype":"F32","data_offsets":[0,4]}})", "1234", "tensor \"a\"",
                      "\"shape\" is missing");
  EXPECT_FILE_REFUSED("[SYN-FILE-ENTRY]", R"({"a":{"dtype":"F32","shape":[]}})", "1234", "tensor \"a\"",
                      "\"data_offsets\" is missing");
  EXPECT_FILE_REFUSED("[SYN-FILE-ENTRY]", R"({"a":{"dtype":"F32","shape":[],"strides":[]}})", "", "tensor \"a\"",
                      "\"strides\" is not a member");
  for (const char* offsets : {"[]", "[0]", "[0,4,4]"})
    EXPECT_FILE_REFUSED("[SYN-FILE-ENTRY]",
                        std::string(R"({"a":{"dtype":"F32","shape":[],"data_offsets":)") + offsets + "}}", "1234",
                        "tensor \"a\"", "2 are needed");
}

TEST(FileRefusals, NamesThatAreThereTwice) {
  const std::string entry = R"({"dtype":"U8","shape":[1],"data_offsets":[0,1]})";
  const std::string next = R"({"dtype":"U8","shape":[1],"data_offsets":[1,2]})";
  EXPECT_FILE_REFUSED("[SYN-FILE-TWICE]", "{\"a\":" + entry + ",\"a\":" + next + "}", "12", "tensor \"a\"");
  EXPECT_FILE_REFUSED("[SYN-FILE-TWICE]", "{\"a\":" + entry + ",\"a\":" + entry + "}", "1", "tensor \"a\"");
  EXPECT_FILE_REFUSED("[SYN-FILE-TWICE]", "{\"a\":" + entry + ",\"\\u0061\":" + next + "}", "12", "tensor \"a\"");
  EXPECT_FILE_REFUSED("[SYN-FILE-TWICE]", R"({"a":{"dtype":"U8","dtype":"U8"}})", "", "tensor \"a\"", "\"dtype\"");
  EXPECT_FILE_REFUSED("[SYN-FILE-TWICE]", R"({"a":{"shape":[1],"shape":[1]}})", "", "tensor \"a\"", "\"shape\"");
  EXPECT_FILE_REFUSED("[SYN-FILE-TWICE]", R"({"__metadata__":{},"__metadata__":{}})", "", "\"__metadata__\"");
  EXPECT_FILE_REFUSED("[SYN-FILE-TWICE]", R"({"__metadata__":{"k":"1","\u006b":"1"}})", "", "metadata \"k\"");
}

// ---- Sizes and offsets ----------------------------------------------------------------------------------------------

std::string entry(std::string_view name, std::string_view dtype, std::string_view shape, std::string_view offsets) {
  return "\"" + std::string(name) + "\":{\"dtype\":\"" + std::string(dtype) + "\",\"shape\":[" + std::string(shape) +
         "],\"data_offsets\":[" + std::string(offsets) + "]}";
}

TEST(FileRefusals, ShapesWhoseProductWraps) {
  for (const char* shape : {"4611686018427387904,4", "4294967296,4294967296", "9223372036854775807,2",
                            "2305843009213693952", "0,4294967296,4294967296", "4294967296,4294967296,0"})
    EXPECT_FILE_REFUSED("[SYN-FILE-OVERFLOW]", "{" + entry("w", "F32", shape, "0,0") + "}", "", "tensor \"w\"",
                        "below 2^63", "[");
  EXPECT_FILE_REFUSED("[SYN-FILE-OVERFLOW]", "{" + entry("w", "NEW", "4294967296,4294967296", "0,0") + "}", "");
  std::string many = "2";
  for (int i = 0; i < 99; ++i) many.append(",2");
  EXPECT_FILE_REFUSED("[SYN-FILE-OVERFLOW]", "{" + entry("w", "U8", many, "0,0") + "}", "", "... 100 lengths]");
}

TEST(FileRefusals, BytesThatShapeAndTypeDoNotNeed) {
  EXPECT_FILE_REFUSED("[SYN-FILE-SIZE]", "{" + entry("w", "F32", "2,3", "0,23") + "}", std::string(23, 'x'),
                      "tensor \"w\" has 23 bytes", "F32", "[2, 3]", "24");
  EXPECT_FILE_REFUSED("[SYN-FILE-SIZE]", "{" + entry("w", "F32", "", "0,8") + "}", "12345678", "need 4");
  EXPECT_FILE_REFUSED("[SYN-FILE-SIZE]", "{" + entry("w", "U8", "0", "0,1") + "}", "1", "need 0");
  EXPECT_FILE_REFUSED("[SYN-FILE-SIZE]", "{" + entry("w", "F64", "1", "0,0") + "}", "", "need 8");
}

TEST(FileRefusals, OffsetsThatOverlapLeaveHolesOrWrap) {
  const auto pair = [](const char* first, const char* second) {
    return "{" + entry("a", "U8", "2", first) + "," + entry("b", "U8", "2", second) + "}";
  };
  EXPECT_FILE_REFUSED("[SYN-FILE-OFFSETS]", pair("0,2", "1,3"), "1234", "tensor \"b\"", "[1, 3]", "overlap");
  EXPECT_FILE_REFUSED("[SYN-FILE-OFFSETS]", pair("0,2", "0,2"), "1234", "tensor ", "[0, 2]", "overlap");
  EXPECT_FILE_REFUSED("[SYN-FILE-OFFSETS]", pair("3,5", "0,2"), "12345", "tensor \"a\"", "[3, 5]", "holes");
  EXPECT_FILE_REFUSED("[SYN-FILE-OFFSETS]", pair("1,3", "3,5"), "12345", "tensor \"a\"", "[1, 3]", "holes");
  EXPECT_FILE_REFUSED("[SYN-FILE-OFFSETS]", pair("0,2", "2,4"), "123", "tensor \"b\"", "beyond the end of the file",
                      "at 3");
  EXPECT_FILE_REFUSED("[SYN-FILE-OFFSETS]", pair("0,2", "2,4"), "12345", "end at 4", "at 5 bytes");
  EXPECT_FILE_REFUSED("[SYN-FILE-OFFSETS]", pair("2,0", "2,4"), "1234", "tensor \"a\"", "ends before it begins");
  EXPECT_FILE_REFUSED("[SYN-FILE-OFFSETS]", pair("0,2", "2,9223372036854775807"), "1234", "beyond the end of the file");
  EXPECT_FILE_REFUSED("[SYN-FILE-OFFSETS]", "{" + entry("a", "NEW", "2", "1,2") + "}", "12", "holes");
  EXPECT_FILE_REFUSED("[SYN-FILE-OFFSETS]", "{}", "1", "end at 0", "at 1 bytes");
}

// ---- Asking for a tensor --------------------------------------------------------------------------------------------

TEST(FileRefusals, TensorsThatAreNotWhatIsNeeded) {
  const std::string text =
      laid_out("{" + entry("w", "F32", "1,2", "0,8") + "," + entry("q", "F4", "2", "8,9") + "}", "123456789");
  const SafetensorsFile file = parsed(text);
  EXPECT_TRUE(refuses("[SYN-FILE-TENSOR]", {"\"v\"", "2"}, [&] { file.bytes("v", Dtype::f32, Shape{1, 2}); }));
  EXPECT_TRUE(refuses("[SYN-FILE-DTYPE]", {"\"w\"", "\"F32\"", "F64"}, [&] { file.bytes("w", Dtype::f64, Shape{1}); }));
  EXPECT_TRUE(refuses("[SYN-FILE-DTYPE]", {"\"q\"", "\"F4\"", "U8"}, [&] { file.bytes("q", Dtype::u8, Shape{1}); }));
  EXPECT_TRUE(refuses("[SYN-FILE-DTYPE]", {"\"q\""}, [&] { file.bytes("q", Dtype::unknown, Shape{2}); }));
  EXPECT_TRUE(refuses("[SYN-FILE-SHAPE]", {"\"w\"", "[1, 2]", "[2, 1]"}, [&] {
    file.bytes("w", Dtype::f32, Shape{2, 1});
  }));
  EXPECT_TRUE(refuses("[SYN-FILE-SHAPE]", {"[2]"}, [&] { file.bytes("w", Dtype::f32, Shape{2}); }));
  EXPECT_EQ(file.bytes("w", Dtype::f32, Shape{1, 2}).size(), 8u);
}

TEST(FileRefusals, LongNamesAreCutAndStrangeOnesEscaped) {
  const std::string name = "\x1b[31m" + std::string(5000, 'n');
  const SafetensorsFile file = parsed(laid_out("{}", ""));
  try {
    file.bytes(name, Dtype::u8, Shape{});
    FAIL();
  } catch (const core::Failure& failure) {
    EXPECT_LT(failure.text.size(), 400u);
    EXPECT_NE(failure.text.find("\\x1b[31mnnn"), std::string::npos) << failure.text;
    EXPECT_NE(failure.text.find("n...\""), std::string::npos) << failure.text;
  }
}

// ---- Writing --------------------------------------------------------------------------------------------------------

TEST(FileRefusals, WhatCannotBeWritten) {
  SafetensorsWriter writer;
  const Bytes four = bytes_of_text("1234");
  writer.add("a", Dtype::f32, Shape{1}, four);
  writer.set_metadata("k", "v");
  const Bytes before = writer.bytes();
  const auto refuses_add = [&](std::string_view rule, std::initializer_list<std::string_view> words,
                               std::string_view name, Dtype dtype, const Shape& shape) {
    return refuses(rule, words, [&] { writer.add(name, dtype, shape, four); });
  };
  EXPECT_TRUE(refuses_add("[SYN-FILE-TWICE]", {"\"a\""}, "a", Dtype::f32, {1}));
  EXPECT_TRUE(refuses_add("[SYN-FILE-TWICE]", {"\"a\""}, "a", Dtype::u8, {4}));
  EXPECT_TRUE(refuses_add("[SYN-FILE-NAME]", {"\"__metadata__\""}, "__metadata__", Dtype::f32, {1}));
  EXPECT_TRUE(refuses_add("[SYN-FILE-NAME]", {"UTF-8", "\"b\\xff\""}, "b\xff", Dtype::f32, {1}));
  EXPECT_TRUE(refuses_add("[SYN-FILE-DTYPE]", {"\"b\""}, "b", Dtype::unknown, {4}));
  EXPECT_TRUE(refuses_add("[SYN-FILE-DTYPE]", {"\"b\"", "99"}, "b", static_cast<Dtype>(99), {4}));
  EXPECT_TRUE(refuses_add("[SYN-FILE-SIZE]", {"\"b\"", "4 bytes", "[2]", "need 8"}, "b", Dtype::f32, {2}));
  EXPECT_TRUE(refuses_add("[SYN-FILE-SIZE]", {"\"b\"", "[-1]"}, "b", Dtype::f32, {-1}));
  EXPECT_TRUE(refuses_add("[SYN-FILE-SIZE]", {"\"b\"", "[-2, -2]"}, "b", Dtype::u8, {-2, -2}));
  EXPECT_TRUE(refuses_add("[SYN-FILE-OVERFLOW]", {"\"b\""}, "b", Dtype::f32, {int64_t{1} << 62}));
  EXPECT_TRUE(refuses("[SYN-FILE-TWICE]", {"\"k\""}, [&] { writer.set_metadata("k", "w"); }));
  EXPECT_TRUE(refuses("[SYN-FILE-NAME]", {"key"}, [&] { writer.set_metadata("\x80", "w"); }));
  EXPECT_TRUE(refuses("[SYN-FILE-NAME]", {"metadata"}, [&] { writer.set_metadata("l", "\xC3"); }));
  EXPECT_EQ(writer.bytes(), before) << "a refusal changes nothing";
}

TEST(FileRefusals, MoreBytesThanAFileCanHave) {
  SafetensorsWriter writer;
  const auto fill = [](std::span<std::byte>) {};
  writer.add_filled("a", Dtype::u8, Shape{int64_t{1} << 61}, fill);
  writer.add_filled("b", Dtype::u8, Shape{int64_t{1} << 61}, fill);
  EXPECT_TRUE(
      refuses("[SYN-FILE-OVERFLOW]", {"\"c\"", "2^62"}, [&] { writer.add_filled("c", Dtype::u8, Shape{1}, fill); }));
  EXPECT_GT(writer.size(), uint64_t{1} << 62);
}

TEST(FileRefusals, MemoryThatIsTooSmall) {
  SafetensorsWriter writer;
  const Bytes four = bytes_of_text("1234");
  writer.add("a", Dtype::f32, Shape{1}, four);
  Bytes memory(writer.size(), std::byte{7});
  const Bytes untouched = memory;
  const auto cut = std::span(memory).first(memory.size() - 1);
  EXPECT_TRUE(refuses("[SYN-FILE-CAPACITY]", {std::to_string(cut.size()), std::to_string(memory.size())},
                      [&] { writer.write(cut); }));
  EXPECT_EQ(memory, untouched);
  writer.write(memory);
  EXPECT_EQ(memory, writer.bytes());
}

}  // namespace
}  // namespace synfire::files
