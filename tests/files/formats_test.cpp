// Headers of arrays of NumPy, and indexes of shards: what is read, and each reason for which one is refused.
#include "support.hpp"

#include <files/npy_file.hpp>
#include <files/shard_index.hpp>

namespace synfire::files {
namespace {

// ---- arrays of NumPy ------------------------------------------------------------------------------------------------

std::string npy(const std::string& dictionary, size_t n_bytes, char version = 1) {
  std::string file("\x93NUMPY", 6);
  file.append({version, '\0', static_cast<char>(dictionary.size() & 255), static_cast<char>(dictionary.size() >> 8)});
  if (version > 1) file.append(2, '\0');
  return file.append(dictionary).append(n_bytes, 'x');
}

NpyArray read_array(const std::string& file) {
  return read_npy(file.size(), [&](uint64_t offset, std::span<std::byte> to) {
    ASSERT_LE(offset + to.size(), file.size());
    std::memcpy(to.data(), file.data() + offset, to.size());
  });
}

TEST(NpyFiles, HaveATypeAndAShape) {
  const std::string usual = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }   \n";
  NpyArray array = read_array(npy(usual, 48));
  EXPECT_EQ(array.dtype, Dtype::f32);
  EXPECT_EQ(array.shape, (Shape{3, 4}));
  EXPECT_EQ(array.begin, 10 + usual.size());
  EXPECT_EQ(read_array(npy(usual, 48, 3)).begin, 12 + usual.size());
  array = read_array(npy("{\"shape\":(5,),\"fortran_order\":True,\"descr\":\"|u1\"}", 5));
  EXPECT_EQ(array.dtype, Dtype::u8);
  EXPECT_EQ(array.shape, Shape{5});
  EXPECT_EQ(read_array(npy("{'descr':'<u4','fortran_order':False,'shape':()}", 4)).shape, Shape{});
  array = read_array(npy("{'descr':'>f4','fortran_order':False,'shape':(1,)}", 4));
  EXPECT_EQ(array.dtype, Dtype::unknown);
  EXPECT_EQ(array.descr, ">f4");
}

TEST(NpyFiles, AreRefusedForAReason) {
  const struct {
    std::string file;
    std::initializer_list<std::string_view> words;
  } cases[] = {
      {"", {"does not begin"}},
      {"\x93NUMPY\x01", {"does not begin"}},
      {std::string(64, 'x'), {"does not begin"}},
      {npy("{}", 64, 4), {"version 4"}},
      {npy("{}", 64).replace(8, 2, "\xFF\xFF"), {"65535 bytes"}},
      {npy("", 64), {"its end", "'{'"}},
      {npy("{}", 64), {"no 'descr'"}},
      {npy("{'descr': '<f4', 'shape': (1,)}", 4), {"no 'fortran_order'"}},
      {npy("{'descr': '<f4', 'fortran_order': False}", 4), {"no 'shape'"}},
      {npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,)}", 4), {"a string is needed"}},
      {npy("{'descr': '<f\\x34', 'fortran_order': False, 'shape': (1,)}", 4), {"without escapes"}},
      {npy("{'descr': '<f4", 4), {"without escapes"}},
      {npy("{'descr': '<f4', 'descr': '<f4'}", 4), {"each once"}},
      {npy("{'other': 1}", 4), {"each once"}},
      {npy("{'fortran_order': 1}", 4), {"True or False"}},
      {npy("{'shape': 3}", 4), {"'('"}},
      {npy("{'shape': (-3,)}", 4), {"an integer"}},
      {npy("{'shape': (9223372036854775808,)}", 4), {"an integer"}},
      {npy("{'shape': (3 4)}", 4), {"')'"}},
      {npy("{'shape': (3,", 4), {"an integer"}},
      {npy("{'descr': '<f4' 'shape': (1,)}", 4), {"'}'"}},
      {npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1,)} x", 4), {"white space"}},
      {npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 2)}", 16), {"Fortran order", "ascontiguousarray"}},
  };
  for (const auto& one : cases)
    EXPECT_TRUE(refuses("[SYN-FILE-NPY]", one.words, [&] { read_array(one.file); })) << one.file;
  const std::string shape = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4)}";
  EXPECT_TRUE(refuses("[SYN-FILE-SIZE]", {"47 bytes", "need 48"}, [&] { read_array(npy(shape, 47)); }));
  EXPECT_TRUE(refuses("[SYN-FILE-SIZE]", {"49 bytes"}, [&] { read_array(npy(shape, 49)); }));
  EXPECT_TRUE(refuses("[SYN-FILE-OVERFLOW]", {"2^63"}, [&] {
    read_array(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 2)}", 4));
  }));
}

// ---- indexes --------------------------------------------------------------------------------------------------------

TEST(ShardIndexes, SayWhereTensorsAre) {
  const ShardIndex index =
      ShardIndex::from_text(R"({"metadata": {"total_size": -1.5e3, "x": [1, {"y": null}, true]}, "more": false,)"
                            R"( "weight_map": {"b": "two.safetensors", "a": "one"}} )");
  EXPECT_EQ(index.files.size(), 2u);
  EXPECT_EQ(index.files.at("b"), "two.safetensors");
  EXPECT_EQ(index.set, "");
  const ShardIndex again = ShardIndex::from_text(index.text(7));
  EXPECT_EQ(again.files, index.files);
  ShardIndex of_set = index;
  of_set.set = "\"quoted\"";
  EXPECT_EQ(ShardIndex::from_text(of_set.text(7)).set, of_set.set);
  EXPECT_EQ(ShardIndex::beside("a/b/index.json", "one"), "a/b/one");
  EXPECT_EQ(ShardIndex::beside("index.json", "one"), "one");
  EXPECT_TRUE(ShardIndex::from_text(R"({"weight_map":{}})").files.empty());
}

TEST(ShardIndexes, AreRefusedForAReason) {
  const auto map_of = [](const std::string& file) { return R"({"weight_map":{"w":")" + file + "\"}}"; };
  for (const char* const file : {"", ".", "..", "../w", "/w", "a/w", "..\\\\w", "a\\\\w", "c:w", "w\\u0000x"})
    EXPECT_TRUE(refuses("[SYN-FILE-INDEX]", {"tensor \"w\"", "folder of the index"}, [&] {
      ShardIndex::from_text(map_of(file));
    })) << file;
  EXPECT_TRUE(refuses("[SYN-FILE-INDEX]", {"folder"}, [&] { ShardIndex::from_text(map_of(std::string(256, 'w'))); }));
  EXPECT_TRUE(refuses("[SYN-FILE-INDEX]", {"no \"weight_map\""}, [] { ShardIndex::from_text("{}"); }));
  EXPECT_TRUE(
      refuses("[SYN-FILE-TWICE]", {"\"w\""}, [] { ShardIndex::from_text(R"({"weight_map":{"w":"a","w":"b"}})"); }));
  EXPECT_TRUE(refuses("[SYN-FILE-TWICE]", {"weight_map"},
                      [] { ShardIndex::from_text(R"({"weight_map":{},"weight_map":{}})"); }));
  std::string deep = "{\"x\":";
  deep.append(40, '[');
  for (const std::string& text :
       {std::string(), std::string("[]"), std::string("{"), std::string(R"({"weight_map":[]})"),
        std::string(R"({"weight_map":{"w":1}})"), std::string(R"({"weight_map":{}}x)"), std::string(R"({"x":})"),
        std::string(R"({"x":nan})"), std::string(R"({"x":-})"), std::string(R"({"metadata":1})"), deep})
    EXPECT_TRUE(refuses("[SYN-FILE-JSON]", {"of the index"}, [&] { ShardIndex::from_text(text); })) << text;
}

}  // namespace
}  // namespace synfire::files
