// A libFuzzer target over the reader. CTest gives it some seconds; to look for longer:
//
//   synfire-fuzz-safetensors -dict=tests/files/header.dict -max_len=2048 CORPUS_FOLDER
#include "sound_reading.hpp"

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

}  // namespace

// Each input is read as a file, and as a header after a byte that says how many bytes of tensors follow the header.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::span<const std::byte> input = std::as_bytes(std::span(data, size));
  require_soundness(input);
  if (size == 0) return 0;
  const uint64_t length = size - 1;
  std::vector<std::byte> file(8 + length + data[0]);
  std::memcpy(file.data(), &length, sizeof length);
  std::ranges::copy(input.subspan(1), file.begin() + 8);
  require_soundness(file);
  return 0;
}
