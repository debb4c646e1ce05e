// Writes safetensors. The bytes depend on names, types, shapes, values and metadata only, not on the order of the
// calls: metadata are sorted by key, tensors by decreasing size of their elements, which aligns each, then by name. The
// header is padded with spaces to a multiple of 8 bytes.
#ifndef SYNFIRE_FILES_SAFETENSORS_WRITER_HPP
#define SYNFIRE_FILES_SAFETENSORS_WRITER_HPP

#include "file_dtype.hpp"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace synfire::files {

class ReplacementFile;

// A function that throws has no effect, except on memory that it was to write.
class SafetensorsWriter {
 public:
  // Writes the bytes of a tensor, row-major and little-endian.
  using Fill = std::function<void(std::span<std::byte>)>;

  // The bytes are read whenever the file is written, and must remain. Pass computed floating-point numbers through
  // canonicalize_nans() first.
  void add(std::string_view name, Dtype dtype, std::span<const int64_t> shape, std::span<const std::byte> bytes);
  // `fill` is called whenever the file is written. Its exceptions are passed on.
  void add_filled(std::string_view name, Dtype dtype, std::span<const int64_t> shape, Fill fill);
  void set_metadata(std::string_view key, std::string_view value);

  // Bytes of the file. Needs no tensor's bytes.
  uint64_t size() const;
  // Writes to the first size() bytes of the memory.
  void write(std::span<std::byte> memory) const;
  std::vector<std::byte> bytes() const;
  // Replaces the file as a whole, or not at all. Needs memory for the largest filled tensor.
  void write_file(const char* path) const;
  // Writes that file if its tensors have at most `shard_bytes` bytes, else files of at most as many, or of one larger
  // tensor, and their index (shard_index.hpp). All are on the disk before the first one is replaced, and the index is
  // replaced last. Returns how many there are.
  uint64_t write_shards(const char* path, uint64_t shard_bytes) const;

 private:
  struct Tensor {
    Dtype dtype;
    std::vector<int64_t> shape;
    uint64_t size;
    std::span<const std::byte> bytes;
    Fill fill;  // if set, in place of bytes

    // The bytes, which may be in this memory.
    std::span<const std::byte> filled_in(std::span<std::byte> memory) const;
  };
  struct Layout;

  void insert(std::string_view name, Tensor tensor);
  Layout layout() const;
  uint64_t largest_filled() const noexcept;
  void write_to(ReplacementFile& file, const Layout& layout, std::span<std::byte> filled) const;
  std::list<SafetensorsWriter> shards(uint64_t shard_bytes) const;

  std::map<std::string, Tensor, std::less<>> tensors_;
  std::map<std::string, std::string, std::less<>> metadata_;
  uint64_t total_ = 0;  // bytes of all tensors
};

}  // namespace synfire::files

#endif
