// Reads safetensors from any writer: keys in any order, any padding, metadata, unknown types. The header is checked
// against the size of the file before memory is allocated.
#ifndef SYNFIRE_FILES_SAFETENSORS_FILE_HPP
#define SYNFIRE_FILES_SAFETENSORS_FILE_HPP

#include "file_dtype.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace synfire::files {

class InputFile;

class SafetensorsFile {
 public:
  struct Tensor {
    std::string name;
    Dtype dtype = Dtype::unknown;
    std::string dtype_name;  // as in the file
    std::vector<int64_t> shape;
    uint64_t begin = 0, end = 0;       // among the bytes of all tensors
    std::span<const std::byte> bytes;  // row-major, little-endian; not necessarily aligned
  };
  using Metadata = std::map<std::string, std::string, std::less<>>;

  // All throw unless the file is complete and valid. The memory must outlive the result; a file is read and closed.
  static SafetensorsFile from_memory(std::span<const std::byte> file);
  static SafetensorsFile from_file(const char* path);
  // The tensors of all files of an index (shard_index.hpp), as those of one file.
  static SafetensorsFile from_shards(const char* index_path);
  // The header alone: no tensor has bytes.
  static SafetensorsFile header_of(InputFile& file);

  uint64_t data_begin() const noexcept { return data_begin_; }  // of the bytes of all tensors, in the file of a header
  const std::vector<Tensor>& tensors() const noexcept { return tensors_; }  // sorted by name
  const Metadata& metadata() const noexcept { return metadata_; }
  const Tensor* find(std::string_view name) const noexcept;
  // Throws unless the file has the tensor with this type and shape.
  std::span<const std::byte> bytes(std::string_view name, Dtype dtype, std::span<const int64_t> shape) const;

 private:
  struct Release {
    void operator()(std::byte* data) const noexcept;
  };
  SafetensorsFile() = default;
  void read_header(std::string_view header, uint64_t data_size);
  void check_offsets(uint64_t data_size) const;
  void attach(std::span<const std::byte> data) noexcept;
  void take_shard(SafetensorsFile&& shard, std::span<const std::string> names);

  std::vector<Tensor> tensors_;
  Metadata metadata_;
  uint64_t data_begin_ = 0;
  std::vector<std::unique_ptr<std::byte, Release>> data_;  // of files on the disk
};

}  // namespace synfire::files

#endif
