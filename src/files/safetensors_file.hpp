// Reads safetensors, written by anyone: header keys in any order, any padding, metadata, types that are not known here.
// Everything that the header says is checked against the size of the file before memory is allocated for it.
#ifndef SYNFIRE_FILES_SAFETENSORS_FILE_HPP
#define SYNFIRE_FILES_SAFETENSORS_FILE_HPP

#include "dtype.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace synfire::files {

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

  // Both throw a Failure unless the file is whole and what the format says. The memory must remain; a file is read
  // completely and closed.
  static SafetensorsFile from_memory(std::span<const std::byte> file);
  static SafetensorsFile from_file(const char* path);

  const std::vector<Tensor>& tensors() const noexcept { return tensors_; }  // sorted by name
  const Metadata& metadata() const noexcept { return metadata_; }
  // Null if there is none.
  const Tensor* find(std::string_view name) const noexcept;
  // The bytes of a tensor; throws a Failure unless the file has it with this type and shape.
  std::span<const std::byte> bytes(std::string_view name, Dtype dtype, std::span<const int64_t> shape) const;

 private:
  struct Release {
    void operator()(std::byte* data) const noexcept;
  };
  SafetensorsFile() = default;
  // The header of a file with `data_size` bytes behind it.
  void read_header(std::string_view header, uint64_t data_size);
  void check_offsets(uint64_t data_size) const;
  void attach(std::span<const std::byte> data) noexcept;

  std::vector<Tensor> tensors_;
  Metadata metadata_;
  std::unique_ptr<std::byte, Release> data_;  // of a file on the disk
};

}  // namespace synfire::files

#endif
