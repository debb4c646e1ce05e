// Files by their names on every system: spaces, letters beyond ASCII, long paths, and what cannot be opened or
// replaced.
#include "support.hpp"

#include <filesystem>
#include <fstream>

namespace synfire::files {
namespace {

namespace fs = std::filesystem;

class Paths : public testing::Test {
 protected:
  Paths() : folder_(fs::temp_directory_path() / fs::u8path(u8"synfire é 音 test")) {
    // Tests run beside each other, each in a process of its own.
    const fs::path base = folder_;
    std::error_code exists;
    for (int i = 0; i < 1000 && !fs::create_directory(folder_, exists); ++i) {
      folder_ = base;
      folder_ += std::string(" ").append(std::to_string(i));
    }
  }
  ~Paths() override {
    std::error_code ignored;
    fs::remove_all(folder_, ignored);
  }

  static std::string utf8(const fs::path& path) {
    const std::u8string text = path.u8string();
    return {text.begin(), text.end()};
  }
  std::string path(const char8_t* name) const { return utf8(folder_ / name); }
  static void save(const std::string& path, uint8_t value) {
    const std::vector<uint8_t> bytes(1000, value);
    SafetensorsWriter writer;
    writer.add("x", Dtype::u8, Shape{1000}, bytes_of_values(bytes));
    writer.write_file(path.c_str());
  }
  static int value_in(const std::string& path) {
    const SafetensorsFile file = SafetensorsFile::from_file(path.c_str());
    return std::to_integer<int>(file.bytes("x", Dtype::u8, Shape{1000})[999]);
  }
  size_t n_files() const {
    return static_cast<size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  fs::path folder_;
};

TEST_F(Paths, AnyNameIsWrittenReadAndReplaced) {
  for (const char8_t* const name : {u8"plain.safetensors", u8"two words.safetensors", u8"Zählung 数.safetensors"}) {
    save(path(name), 1);
    EXPECT_EQ(value_in(path(name)), 1);
    save(path(name), 2);
    EXPECT_EQ(value_in(path(name)), 2);
  }
  EXPECT_EQ(n_files(), 3u);
}

TEST_F(Paths, ALongPath) {
  fs::path folder = folder_;
  for (int i = 0; i < 2; ++i) folder /= std::string(100, 'f');
  fs::create_directories(folder);
  const std::string name = utf8(folder / "x");
  save(name, 3);
  EXPECT_EQ(value_in(name), 3);
}

TEST_F(Paths, WhatIsAbsentOrNoFileIsRefused) {
  const std::string absent = path(u8"absent"), inside = path(u8"no folder/x"), folder = utf8(folder_);
  EXPECT_TRUE(
      refuses("[SYN-FILE-OPEN]", {"absent", "No such file"}, [&] { SafetensorsFile::from_file(absent.c_str()); }));
  EXPECT_TRUE(refuses("[SYN-FILE-WRITE]", {"no folder", "No such file"}, [&] { save(inside, 1); }));
  EXPECT_TRUE(refuses("[SYN-FILE-OPEN]", {"is a folder"}, [&] { SafetensorsFile::from_file(folder.c_str()); }));
  EXPECT_TRUE(refuses("[SYN-FILE-WRITE]", {"is a folder"}, [&] { save(folder, 1); }));
  EXPECT_TRUE(refuses("[SYN-FILE-OPEN]", {}, [&] { SafetensorsFile::from_file(""); }));
  EXPECT_TRUE(refuses("[SYN-FILE-WRITE]", {}, [&] { save("", 1); }));
  EXPECT_EQ(n_files(), 0u);
}

TEST_F(Paths, AFileThatSomebodyReadsIsReplacedOrKept) {
  const std::string name = path(u8"read");
  save(name, 1);
  {
    std::ifstream reading(fs::u8path(name), std::ios::binary);
    ASSERT_TRUE(reading.is_open());
    int expected = 2;
    try {
      save(name, 2);
    } catch (
        const core::Failure& failure) {  // Windows replaces no file that another program has opened in its usual way
      EXPECT_STREQ(failure.rule, "SYN-FILE-WRITE");
      expected = 1;
    }
    EXPECT_EQ(value_in(name), expected);
  }
  EXPECT_EQ(n_files(), 1u);
}

}  // namespace
}  // namespace synfire::files
