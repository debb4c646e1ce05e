// The layout of a safetensors file: the length of the header (8 bytes, little-endian), the header (JSON), and the bytes
// of the tensors, little-endian and end to end.
#ifndef SYNFIRE_FILES_LAYOUT_HPP
#define SYNFIRE_FILES_LAYOUT_HPP

#include "file_dtype.hpp"

#include <span>
#include <string>
#include <string_view>

namespace synfire::files {

inline constexpr uint64_t length_bytes = 8;              // in front of the header
inline constexpr uint64_t longest_header = 100'000'000;  // readers of other projects have this limit too
inline constexpr std::string_view metadata_name = "__metadata__";

// Bytes of a tensor, or elements if the type is unknown. Throws SYN-FILE-OVERFLOW from 2^63 on, even if a length is 0.
uint64_t checked_size(std::string_view name, Dtype dtype, std::span<const int64_t> shape);

// A name or a shape for error texts, cut if it is long.
std::string shown(std::string_view name);
std::string shown(std::span<const int64_t> shape);

}  // namespace synfire::files

#endif
