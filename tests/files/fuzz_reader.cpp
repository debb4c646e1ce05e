// A libFuzzer target over the reader. CTest gives it some seconds; to look for longer:
//
//   synfire-fuzz-safetensors -dict=tests/files/header.dict -max_len=2048 CORPUS_FOLDER
#include "sound_reading.hpp"

#include <files/npy_file.hpp>
#include <files/shard_index.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

void require_soundness(std::span<const std::byte> file) {
  const synfire::files::Reading reading = synfire::files::read_soundly(file);
  if (reading.problem.empty()) return;
  std::fprintf(stderr, "%s\n", reading.problem.c_str());
  std::abort();
}

// An index that is written again is the same one.
void require_sound_index(std::span<const std::byte> file) {
  try {
    const auto index = synfire::files::ShardIndex::from_text({reinterpret_cast<const char*>(file.data()), file.size()});
    const auto again = synfire::files::ShardIndex::from_text(index.text(0));
    if (again.files != index.files || again.set != index.set) std::abort();
  } catch (const synfire::core::Failure&) {
  }
}

// Reads nothing beyond the file, and finds no elements there.
void require_sound_npy(std::span<const std::byte> file) {
  try {
    const auto array = synfire::files::read_npy(file.size(), [&](uint64_t offset, std::span<std::byte> to) {
      if (offset > file.size() || to.size() > file.size() - offset) std::abort();
      std::ranges::copy(file.subspan(offset, to.size()), to.begin());
    });
    if (array.begin > file.size()) std::abort();
  } catch (const synfire::core::Failure&) {
  }
}

}  // namespace

// Each input is read as a file, as an index, as an array of NumPy, and as a header after a byte that says how many
// bytes of tensors follow the header.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> input = std::as_bytes(std::span(data, size));
  require_soundness(input);
  require_sound_index(input);
  require_sound_npy(input);
  if (size == 0) return 0;
  const uint64_t length = size - 1;
  std::vector<std::byte> file(8 + length + data[0]);
  std::memcpy(file.data(), &length, sizeof length);
  std::ranges::copy(input.subspan(1), file.begin() + 8);
  require_soundness(file);
  return 0;
}
