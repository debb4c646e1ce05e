# Writes the files that the library contains as text (embedded.hpp).
#
#   cmake -D OUTPUT=embedded.cpp -D "FILES=root|path;root|path..." -P embed.cmake
cmake_minimum_required(VERSION 3.22)
set(text "// Written by src/jit/embed.cmake.
#include <jit/embedded.hpp>

#include <string_view>

namespace synfire::jit {

using namespace std::string_view_literals;  // have a length that no compiler counts

std::span<const EmbeddedFile> embedded_files() noexcept {
  static constexpr EmbeddedFile files[] = {
")
foreach(entry IN LISTS FILES)
  string(REPLACE "|" ";" parts "${entry}")
  list(GET parts 0 root)
  list(GET parts 1 path)
  file(READ "${root}/${path}" content)
  string(APPEND text "      {\"${path}\"sv, R\"synfire(${content})synfire\"sv},\n")
endforeach()
string(APPEND text "  };
  return files;
}

}  // namespace synfire::jit
")
file(WRITE "${OUTPUT}" "${text}")
