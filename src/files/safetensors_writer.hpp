// Writes safetensors. The bytes depend on names, types, shapes, values and metadata only, not on the order of the
// calls: metadata are sorted by key; tensors by the size of their elements, largest first, so that each lies aligned to
// its elements, then by name. The header is padded with spaces to a multiple of 8 bytes. There are no time stamps.
#ifndef SYNFIRE_FILES_SAFETENSORS_WRITER_HPP
#define SYNFIRE_FILES_SAFETENSORS_WRITER_HPP

#include "dtype.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace synfire::files {

// Every function throws a Failure and is then without effect, except on memory that it was to write.
class SafetensorsWriter {
 public:
  // Puts the bytes of a tensor, row-major and little-endian, into memory of their size.
  using Fill = std::function<void(std::span<std::byte>)>;

  // The bytes are read whenever the file is written, and must remain. Computed floating-point numbers should have
  // passed canonicalize_nans().
  void add(std::string_view name, Dtype dtype, std::span<const int64_t> shape, std::span<const std::byte> bytes);
  // For tensors that lie elsewhere: `fill` is called whenever the file is written. What it throws is passed on.
  void add_filled(std::string_view name, Dtype dtype, std::span<const int64_t> shape, Fill fill);
  void set_metadata(std::string_view key, std::string_view value);

  // Of the file, in bytes. Needs no tensor's bytes.
  uint64_t size() const;
  // Into the first size() bytes of the memory.
  void write(std::span<std::byte> memory) const;
  std::vector<std::byte> bytes() const;
  // Replaces the file as a whole, or not at all. Needs memory for the largest tensor that is filled.
  void write_file(const char* path) const;

 private:
  struct Tensor {
    Dtype dtype;
    std::vector<int64_t> shape;
    uint64_t size;
    std::span<const std::byte> bytes;
    Fill fill;  // if set, in place of bytes
  };
  struct Layout;

  void insert(std::string_view name, Tensor tensor);
  Layout layout() const;

  std::map<std::string, Tensor, std::less<>> tensors_;
  std::map<std::string, std::string, std::less<>> metadata_;
  uint64_t total_ = 0;  // bytes of all tensors
};

}  // namespace synfire::files

#endif
