// Files that are written and read again: their bytes, every type and shape, and the order in which tensors are added.
#include "support.hpp"

#include <algorithm>
#include <bit>
#include <random>

namespace synfire::files {
namespace {

TEST(FileRoundTrip, AnEmptyFile) {
  const SafetensorsWriter writer;
  const Bytes file = writer.bytes();
  EXPECT_EQ(file, bytes_of_text(laid_out("{}      ", "")));
  const SafetensorsFile read = SafetensorsFile::from_memory(file);
  EXPECT_TRUE(read.tensors().empty());
  EXPECT_TRUE(read.metadata().empty());
  EXPECT_EQ(read.find(""), nullptr);
}

// Keys, their order, the padding, and the same content added in another order, once from memory and once filled.
TEST(FileRoundTrip, TheBytesAreOnRecord) {
  const Bytes letters = bytes_of_text("xyz");
  const std::vector<float> numbers = {1, 2};
  const std::vector<uint64_t> step = {7};
  SafetensorsWriter writer, other;
  writer.add("b", Dtype::u8, Shape{3}, letters);
  writer.add("z", Dtype::f32, Shape{1, 2}, bytes_of_values(numbers));
  writer.set_metadata("format", "synfire");
  writer.add("step", Dtype::u64, Shape{}, bytes_of_values(step));
  writer.set_metadata("a \"quoted\" key\\", "line\nbreak\x01");
  other.add("step", Dtype::u64, Shape{}, bytes_of_values(step));
  other.set_metadata("a \"quoted\" key\\", "line\nbreak\x01");
  other.set_metadata("format", "synfire");
  other.add("z", Dtype::f32, Shape{1, 2}, bytes_of_values(numbers));
  other.add_filled("b", Dtype::u8, Shape{3}, [&](std::span<std::byte> to) { std::ranges::copy(letters, to.begin()); });

  std::string header = R"({"__metadata__":{"a \"quoted\" key\\":"line\u000abreak\u0001","format":"synfire"},)"
                       R"("step":{"dtype":"U64","shape":[],"data_offsets":[0,8]},)"
                       R"("z":{"dtype":"F32","shape":[1,2],"data_offsets":[8,16]},)"
                       R"("b":{"dtype":"U8","shape":[3],"data_offsets":[16,19]}})";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const std::string data("\x07\0\0\0\0\0\0\0\0\0\x80\x3F\0\0\0\x40xyz", 19);
  EXPECT_EQ(writer.bytes(), bytes_of_text(laid_out(header, data)));
  EXPECT_EQ(other.bytes(), writer.bytes());
  EXPECT_EQ(writer.size(), 8 + header.size() + data.size());

  const Bytes file = other.bytes();
  const SafetensorsFile read = SafetensorsFile::from_memory(file);
  EXPECT_EQ(read.metadata().at("a \"quoted\" key\\"), "line\nbreak\x01");
}

TEST(FileRoundTrip, EveryTypeAndShape) {
  constexpr Dtype dtypes[] = {Dtype::boolean, Dtype::u8,  Dtype::i8,  Dtype::u16, Dtype::i16, Dtype::f16, Dtype::bf16,
                              Dtype::u32,     Dtype::i32, Dtype::f32, Dtype::u64, Dtype::i64, Dtype::f64};
  const Shape shapes[] = {{}, {0}, {1}, {3}, {2, 3}, {0, 5}, {3, 0, 2}, {1, 1, 1, 1, 1, 1, 7}};
  std::mt19937 random(1);
  std::map<std::string, Bytes> contents;
  SafetensorsWriter writer;
  for (const Dtype dtype : dtypes)
    for (const Shape& shape : shapes) {
      uint64_t size = bytes_of(dtype);
      for (const int64_t length : shape) size *= static_cast<uint64_t>(length);
      const std::string name = std::string(name_of(dtype)) + "." + std::to_string(contents.size());
      Bytes& bytes = contents[name];
      for (uint64_t i = 0; i < size; ++i) bytes.push_back(static_cast<std::byte>(random()));
      writer.add(name, dtype, shape, bytes);
    }
  const Bytes file = writer.bytes();
  const SafetensorsFile read = SafetensorsFile::from_memory(file);
  ASSERT_EQ(read.tensors().size(), contents.size());
  for (const auto& tensor : read.tensors()) {
    EXPECT_EQ(tensor.dtype_name, name_of(tensor.dtype));
    EXPECT_EQ(dtype_named(tensor.dtype_name), tensor.dtype);
    EXPECT_TRUE(std::ranges::equal(read.bytes(tensor.name, tensor.dtype, tensor.shape), contents.at(tensor.name)));
    if (!tensor.bytes.empty()) {
      EXPECT_EQ((tensor.bytes.data() - file.data()) % static_cast<int64_t>(bytes_of(tensor.dtype)), 0)
          << "tensors lie aligned to their elements";
    }
  }
}

TEST(FileRoundTrip, TheOrderOfAddingChangesNoByte) {
  struct One {
    std::string name;
    Dtype dtype;
    Bytes bytes;
  };
  std::mt19937 random(2);
  std::vector<One> all;
  constexpr Dtype dtypes[] = {Dtype::u8, Dtype::bf16, Dtype::f32, Dtype::i64};
  for (int i = 0; i < 40; ++i) {
    const Dtype dtype = dtypes[random() % 4];
    all.push_back({"\xC3\xA4" + std::to_string(random()), dtype, Bytes(5 * bytes_of(dtype), std::byte(i))});
  }
  Bytes first;
  for (int round = 0; round < 10; ++round) {
    SafetensorsWriter writer;
    for (const One& one : all) {
      writer.add(one.name, one.dtype, Shape{5}, one.bytes);
      writer.set_metadata(one.name, "value");
    }
    if (round == 0) first = writer.bytes();
    EXPECT_EQ(writer.bytes(), first);
    std::ranges::shuffle(all, random);
  }
}

// In JSON: quotes, backslashes, control characters, and UTF-8 of one to four bytes.
TEST(FileRoundTrip, NamesOfAnyCharacters) {
  std::string every;
  for (char character = 1; character < 127; ++character) every.push_back(character);
  const std::string names[] = {
      "",         std::string("\0", 1),    every, "\x7F", "\xC3\xA9", "\xE2\x82\xAC", "\xF0\x9F\xA7\xA0",
      "a/b.c[0]", std::string(10'000, 'n')};
  const Bytes one(1);
  SafetensorsWriter writer;
  for (const std::string& name : names) {
    writer.add(name, Dtype::u8, Shape{1}, one);
    writer.set_metadata(name, name);
  }
  writer.set_metadata("__metadata__", "a key like any other");
  const Bytes file = writer.bytes();
  const SafetensorsFile read = SafetensorsFile::from_memory(file);
  EXPECT_EQ(read.tensors().size(), std::size(names));
  for (const std::string& name : names) {
    EXPECT_NE(read.find(name), nullptr);
    EXPECT_EQ(read.metadata().at(name), name);
  }
}

// Exceptions of `fill` are passed on.
TEST(FileRoundTrip, AFillMayFail) {
  SafetensorsWriter writer;
  writer.add_filled("w", Dtype::u8, Shape{1}, [](std::span<std::byte>) { throw 7; });
  EXPECT_THROW(writer.bytes(), int);
  EXPECT_GT(writer.size(), 0u) << "the size needs no bytes";
}

// ---- NaNs -----------------------------------------------------------------------------------------------------------

template <class Bits>
void expect_canonical(Dtype dtype, std::vector<Bits> elements, const std::vector<Bits>& expected) {
  canonicalize_nans(dtype, std::as_writable_bytes(std::span(elements)));
  EXPECT_EQ(elements, expected) << name_of(dtype);
}

TEST(FileNans, EveryNanBecomesTheSameAndNothingElseChanges) {
  expect_canonical<uint16_t>(Dtype::f16, {0x0000, 0x8000, 0x7BFF, 0x7C00, 0xFC00, 0x7C01, 0xFC01, 0x7FFF, 0xFFFF},
                             {0x0000, 0x8000, 0x7BFF, 0x7C00, 0xFC00, 0x7E00, 0x7E00, 0x7E00, 0x7E00});
  expect_canonical<uint16_t>(Dtype::bf16, {0x0001, 0x8000, 0x7F7F, 0x7F80, 0xFF80, 0x7F81, 0xFFC0, 0x7FFF, 0xFFFF},
                             {0x0001, 0x8000, 0x7F7F, 0x7F80, 0xFF80, 0x7FC0, 0x7FC0, 0x7FC0, 0x7FC0});
  expect_canonical<uint32_t>(Dtype::f32, {0x80000000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7F800001, 0xFFFFFFFF},
                             {0x80000000, 0x7F7FFFFF, 0x7F800000, 0xFF800000, 0x7FC00000, 0x7FC00000});
  expect_canonical<uint64_t>(
      Dtype::f64, {1, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF0000000000001, UINT64_MAX},
      {1, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0x7FF8000000000000});
  expect_canonical<uint32_t>(Dtype::u32, {0xFFFFFFFF}, {0xFFFFFFFF});
  expect_canonical<uint16_t>(Dtype::i16, {0xFFFF}, {0xFFFF});
  expect_canonical<uint8_t>(Dtype::boolean, {0xFF}, {0xFF});
}

TEST(FileNans, MemoryNeedNotBeAligned) {
  std::byte memory[9] = {};
  const uint32_t nans[] = {0xFFFFFFFF, 0x7FFFFFFF};
  std::memcpy(memory + 1, nans, sizeof nans);
  canonicalize_nans(Dtype::f32, std::span(memory).subspan(1));
  uint32_t found[2];
  std::memcpy(found, memory + 1, sizeof found);
  EXPECT_EQ(found[0], 0x7FC00000u);
  EXPECT_EQ(found[1], 0x7FC00000u);
  EXPECT_EQ(memory[0], std::byte{0});
}

}  // namespace
}  // namespace synfire::files
