// The rules that the reader keeps for any bytes: it refuses them by a rule of its own, or what it returns lies inside
// them, and written again it is the same file. For the tests of damaged files and for the fuzzer.
#ifndef SYNFIRE_TESTS_FILES_SOUND_READING_HPP
#define SYNFIRE_TESTS_FILES_SOUND_READING_HPP

#include <files/safetensors_file.hpp>
#include <files/safetensors_writer.hpp>

#include <base/error.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace synfire::files {

struct Reading {
  std::string rule;     // of the refusal; empty if the file was read
  std::string problem;  // what does not hold; empty if all does
};

// The tensors that were read, without those of unknown types.
inline std::vector<std::byte> written_again(const SafetensorsFile& file) {
  SafetensorsWriter writer;
  for (const auto& tensor : file.tensors())
    if (tensor.dtype != Dtype::unknown) writer.add(tensor.name, tensor.dtype, tensor.shape, tensor.bytes);
  for (const auto& [key, value] : file.metadata()) writer.set_metadata(key, value);
  return writer.bytes();
}

inline std::string problem_of(const SafetensorsFile& read, std::span<const std::byte> file) {
  uint64_t n_bytes = 0;
  for (const auto& tensor : read.tensors()) {
    n_bytes += tensor.bytes.size();
    if (tensor.bytes.data() < file.data() || tensor.bytes.data() + tensor.bytes.size() > file.data() + file.size())
      return "tensor " + tensor.name + " lies outside the file";
    if (read.find(tensor.name) != &tensor) return "tensor " + tensor.name + " is not found";
    if (tensor.dtype != Dtype::unknown &&
        read.bytes(tensor.name, tensor.dtype, tensor.shape).data() != tensor.bytes.data())
      return "tensor " + tensor.name + " has other bytes when it is asked for";
  }
  if (n_bytes > file.size() - 8) return "there are more bytes than the file has";
  const std::vector<std::byte> again = written_again(read);
  const SafetensorsFile second = SafetensorsFile::from_memory(again);
  if (second.metadata() != read.metadata()) return "the metadata change when they are written and read";
  for (const auto& tensor : second.tensors()) {
    const auto* const first = read.find(tensor.name);
    if (!first || first->dtype != tensor.dtype || first->shape != tensor.shape ||
        !std::ranges::equal(first->bytes, tensor.bytes))
      return "tensor " + tensor.name + " changes when it is written and read";
  }
  return written_again(second) == again ? "" : "the same content has other bytes";
}

inline Reading read_soundly(std::span<const std::byte> bytes) {
  // A copy without room after it, so that sanitizers see every byte too many.
  const std::vector<std::byte> file(bytes.begin(), bytes.end());
  try {
    return {"", problem_of(SafetensorsFile::from_memory(file), file)};
  } catch (const core::Failure& failure) {
    const bool sound = std::string_view(failure.rule).starts_with("SYN-FILE-") && !failure.text.empty() &&
                       failure.status == SYNFIRE_ERROR_INVALID_ARGUMENT;
    return {failure.rule, sound ? "" : "refused by " + std::string(failure.rule) + ": " + failure.text};
  }
}

}  // namespace synfire::files

#endif
