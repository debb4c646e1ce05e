// Allocations of a reader are bounded by the bytes that are there, whatever they claim; and an allocation that fails
// leaves nothing behind.
#include "counted_new.hpp"
#include "support.hpp"

#include <filesystem>
#include <fstream>
#include <functional>
#include <new>

namespace synfire::files {
namespace {

// The most bytes that were allocated at a time, beyond what was before.
template <class Call>
size_t peak_of(Call call) {
  const size_t before = counted_new().live_bytes;
  counted_new().most_live_bytes = before;
  call();
  EXPECT_EQ(counted_new().live_bytes, before) << "nothing is left";
  return counted_new().most_live_bytes - before;
}

size_t peak_of_reading(const std::string& file) {
  return peak_of([&] {
    try {
      parsed(file);
    } catch (const core::Failure&) {
    }
  });
}

std::string many(size_t n, std::string_view start, const std::function<std::string(size_t)>& piece,
                 std::string_view end) {
  std::string text(start);
  for (size_t i = 0; i < n; ++i) text.append(i == 0 ? "" : ",").append(piece(i));
  return text.append(end);
}

TEST(FileAllocation, IsBoundedByTheBytesThatAreThere) {
  const auto tensor = [](size_t i) {
    return std::to_string(i).insert(0, 1, '"').append(R"(":{"dtype":"","shape":[],"data_offsets":[0,0]})");
  };
  const auto key = [](size_t i) { return std::to_string(i).insert(0, 1, '"').append("\":\"\""); };
  const auto zero = [](size_t) { return std::string("0"); };
  const auto escape = [](size_t) { return std::string("\\u20ac"); };
  const struct {
    const char* what;
    std::string header;
  } cases[] = {
      {"tensors", many(20'000, "{", tensor, "}")},
      {"tensors without end", many(20'000, "{", tensor, "")},
      {"metadata", many(100'000, R"({"__metadata__":{)", key, "}}")},
      {"lengths", many(500'000, R"({"w":{"dtype":"U8","data_offsets":[0,0],"shape":[)", zero, "]}}")},
      {"offsets", many(500'000, R"({"w":{"data_offsets":[)", zero, "]}}")},
      {"a name", "{\"" + std::string(1'000'000, 'n') + "\":{\"dtype\":1}}"},
      {"escapes", many(100'000, "{\"", escape, "")},
      {"a type", R"({"w":{"shape":[],"data_offsets":[0,0],"dtype":")" + std::string(1'000'000, 'n') + "\"}}"},
      {"brackets", std::string(1'000'000, '{')},
      {"claims", R"({"w":{"dtype":"U8","shape":[4611686018427387904],"data_offsets":[0,4611686018427387904]}})"},
  };
  for (const auto& one : cases) {
    const std::string file = laid_out(one.header, "");
    const size_t peak = peak_of_reading(file);
    EXPECT_LE(peak, 12 * file.size() + 16'384) << one.what << ": " << file.size() << " bytes";
  }
}

TEST(FileAllocation, LengthsThatAreNotThereCostNothing) {
  for (const uint64_t length : {uint64_t{99'999'999}, uint64_t{1} << 40, UINT64_MAX}) {
    std::string file = laid_out("{}", "");
    std::memcpy(file.data(), &length, sizeof length);
    EXPECT_LE(peak_of_reading(file), 16'384u) << length;
  }
}

// Each allocation fails in turn, until the call succeeds; returns how many did.
template <class Call>
long count_failing(Call call) {
  for (long n = 0;; ++n) {
    const size_t before = counted_new().live_bytes;
    bool failed = false;
    counted_new().allocations_left = n;
    try {
      call();
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    counted_new().allocations_left = -1;
    EXPECT_EQ(counted_new().live_bytes, before) << "allocation " << n;
    if (!failed) return n;
  }
}

TEST(FileAllocation, EachThatFailsLeavesNothing) {
  const std::vector<float> values(30, 1);
  const std::string folder = testing::TempDir() + "synfire-files-allocation";
  std::filesystem::create_directory(folder);
  const std::string path = folder + "/a rather long name, which takes an allocation.safetensors";
  const auto text = [&] {
    std::ifstream file(path, std::ios::binary);
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  std::ofstream(path) << "old";
  const long n = count_failing([&] {
    SafetensorsWriter writer;
    writer.add("a name that takes an allocation", Dtype::f32, Shape{5, 6}, bytes_of_values(values));
    writer.add_filled("and another one, filled", Dtype::u8, Shape{1},
                      [](std::span<std::byte> to) { to[0] = std::byte{3}; });
    writer.set_metadata("a key that takes an allocation", "a value that takes an allocation");
    writer.write_file(path.c_str());
  });
  EXPECT_GT(n, 15);
  EXPECT_GT(count_failing([&] { SafetensorsFile::from_file(path.c_str()); }), 8);
  const std::string file = text();
  EXPECT_GT(count_failing([&] { parsed(file); }), 8);
  EXPECT_GT(count_failing([&] {
              const auto refused = refuses("[SYN-FILE-TENSOR]", {}, [&] { parsed(file).bytes("x", Dtype::u8, {}); });
              if (!refused) throw std::bad_alloc();
            }),
            10);
  size_t n_files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) n_files += entry.is_regular_file() ? 1 : 0;
  EXPECT_EQ(n_files, 1u) << "no temporary file is left";
  std::filesystem::remove_all(folder);
}

// A writer from which an addition failed has the content that it had.
TEST(FileAllocation, AWriterIsUnchangedByAnAdditionThatFails) {
  const std::vector<float> values(30, 1);
  SafetensorsWriter writer;
  writer.add("first", Dtype::f32, Shape{30}, bytes_of_values(values));
  const Bytes before = writer.bytes();
  long n = 0;
  for (bool failed = true; failed; ++n) {
    failed = false;
    counted_new().allocations_left = n;
    try {
      writer.add("a name that takes an allocation", Dtype::f32, Shape{5, 6}, bytes_of_values(values));
    } catch (const std::bad_alloc&) {
      failed = true;
    }
    counted_new().allocations_left = -1;
    if (failed) {
      EXPECT_EQ(writer.bytes(), before) << "allocation " << n;
    }
  }
  EXPECT_GE(n, 4);
}

}  // namespace
}  // namespace synfire::files
