// Reads the header of an array of NumPy, a ".npy" file: 6 bytes "\x93NUMPY", the version (2 bytes), the length of the
// header (2 bytes of version 1, else 4, little-endian), the header, a dictionary of Python, and the elements.
#ifndef SYNFIRE_FILES_NPY_FILE_HPP
#define SYNFIRE_FILES_NPY_FILE_HPP

#include "file_dtype.hpp"

#include <base/function_ref.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace synfire::files {

class InputFile;

struct NpyArray {
  Dtype dtype = Dtype::unknown;
  std::string descr;  // as in the file: "<f4"
  std::vector<int64_t> shape;
  uint64_t begin = 0;  // of the elements, row-major, in the file
};

// Throws unless the file has one array in C order and nothing after it. `read_at` fills memory from this place on.
NpyArray read_npy(uint64_t file_size, core::FunctionRef<void(uint64_t, std::span<std::byte>)> read_at);
NpyArray read_npy(const InputFile& file);

}  // namespace synfire::files

#endif
