// The library's headers of the mathematics and the kernels, as text for compiling loaded models; see embed.cmake.
#ifndef SYNFIRE_JIT_EMBEDDED_HPP
#define SYNFIRE_JIT_EMBEDDED_HPP

#include <span>
#include <string_view>

namespace synfire::jit {

struct EmbeddedFile {
  std::string_view path;  // as other files include it: "synfire/model/dual.hpp", "base/extents.hpp"
  std::string_view text;
};

std::span<const EmbeddedFile> embedded_files() noexcept;

}  // namespace synfire::jit

#endif
