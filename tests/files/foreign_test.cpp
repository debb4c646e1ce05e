// Files as other tools may lay them out, by the format's description: keys and tensors in any order, white space,
// escapes, padding of any length, metadata, and types that are not known here.
#include "support.hpp"

namespace synfire::files {
namespace {

std::string text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST(ForeignFiles, AnyOrderOfKeysAndTensors) {
  const std::string file = laid_out(R"({"b":{"data_offsets":[3,5],"shape":[2],"dtype":"U8"},)"
                                    R"("a":{"shape":[3],"data_offsets":[0,3],"dtype":"I8"},)"
                                    R"("c":{"dtype":"F32","data_offsets":[5,9],"shape":[1,1]}})",
                                    "aaabbcccc");
  const SafetensorsFile read = parsed(file);
  ASSERT_EQ(read.tensors().size(), 3u);
  EXPECT_EQ(text_of(read.bytes("a", Dtype::i8, Shape{3})), "aaa");
  EXPECT_EQ(text_of(read.bytes("b", Dtype::u8, Shape{2})), "bb");
  EXPECT_EQ(text_of(read.bytes("c", Dtype::f32, Shape{1, 1})), "cccc") << "aligned or not";
  EXPECT_EQ(read.tensors()[0].name, "a");
  EXPECT_EQ(read.tensors()[2].name, "c");
}

TEST(ForeignFiles, WhiteSpaceWhereverJsonAllowsIt) {
  const std::string file = laid_out(
      "{ \n\t\r\"a\" : { \"dtype\" : \"U8\" ,\n \"shape\" : [ 1 , 2 ] , \"data_offsets\" : [ 0\t,\t2 ] } , "
      "\"__metadata__\" : { \"k\" : \"v\" } } \r\n\t ",
      "ab");
  const SafetensorsFile read = parsed(file);
  EXPECT_EQ(text_of(read.bytes("a", Dtype::u8, Shape{1, 2})), "ab");
  EXPECT_EQ(read.metadata().at("k"), "v");
}

TEST(ForeignFiles, PaddingOfAnyLength) {
  for (size_t padding = 0; padding < 40; ++padding) {
    const std::string header = R"({"a":{"dtype":"U8","shape":[],"data_offsets":[0,1]}})" + std::string(padding, ' ');
    const std::string file = laid_out(header, "x");
    EXPECT_EQ(text_of(parsed(file).bytes("a", Dtype::u8, Shape{})), "x");
  }
}

TEST(ForeignFiles, EscapesOfEveryKind) {
  const std::string file = laid_out(
      R"({"\u0061\n\"\\\/\b\f\r\t\u00e9\u20AC\ud83e\udde0":{"\u0064type":"\u00558","shape":[0],"data_offsets":[0,0]},)"
      R"("\u005f_metadata__":{"\u0000":"\u0000"}})",
      "");
  const SafetensorsFile read = parsed(file);
  EXPECT_NE(read.find("a\n\"\\/\b\f\r\t\xC3\xA9\xE2\x82\xAC\xF0\x9F\xA7\xA0"), nullptr) << read.tensors()[0].name;
  EXPECT_EQ(read.metadata().at(std::string("\0", 1)), std::string("\0", 1));
}

TEST(ForeignFiles, EmptyTensorsAndMetadata) {
  const std::string file = laid_out(R"({"__metadata__":{},"a":{"dtype":"F64","shape":[0,7],"data_offsets":[2,2]},)"
                                    R"("b":{"dtype":"U8","shape":[2],"data_offsets":[0,2]},)"
                                    R"("c":{"dtype":"F16","shape":[0],"data_offsets":[0,0]}})",
                                    "ab");
  const SafetensorsFile read = parsed(file);
  EXPECT_TRUE(read.metadata().empty());
  EXPECT_TRUE(read.bytes("a", Dtype::f64, Shape{0, 7}).empty());
  EXPECT_TRUE(read.bytes("c", Dtype::f16, Shape{0}).empty());
}

// Elements of less than a byte, and whatever comes: what is known of the file is read all the same.
TEST(ForeignFiles, TypesThatAreNotKnown) {
  const std::string file = laid_out(R"({"a":{"dtype":"F4","shape":[4],"data_offsets":[0,2]},)"
                                    R"("b":{"dtype":"U8","shape":[1],"data_offsets":[2,3]},)"
                                    R"("c":{"dtype":"","shape":[],"data_offsets":[3,3]}})",
                                    "aab");
  const SafetensorsFile read = parsed(file);
  EXPECT_EQ(text_of(read.bytes("b", Dtype::u8, Shape{1})), "b");
  ASSERT_NE(read.find("a"), nullptr);
  EXPECT_EQ(read.find("a")->dtype, Dtype::unknown);
  EXPECT_EQ(read.find("a")->dtype_name, "F4");
  EXPECT_EQ(text_of(read.find("a")->bytes), "aa");
}

// The largest numbers that are allowed, where they name nothing.
TEST(ForeignFiles, LargeLengthsOfEmptyTensors) {
  const std::string file = laid_out(R"({"a":{"dtype":"U8","shape":[9223372036854775807,0],"data_offsets":[0,0]}})", "");
  EXPECT_TRUE(parsed(file).bytes("a", Dtype::u8, Shape{INT64_MAX, 0}).empty());
}

}  // namespace
}  // namespace synfire::files
