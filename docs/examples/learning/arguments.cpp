// arguments.cpp - see arguments.hpp.
//
// SPDX-License-Identifier: MIT
#include "arguments.hpp"

#include <synfire/synfire.h>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "message.h"

namespace learning {

bool read_whole(const char* name, const char* text, long least, long most, long& value) {
  char* end = nullptr;
  errno = 0;
  value = std::strtol(text, &end, 10);
  if (end == text || *end != '\0' || errno != 0 || value < least || value > most)
    return complain("%s %s: allowed: an integer from %ld to %ld", name, text, least, most);
  return true;
}

bool read_backend(const char* text, std::int32_t& backend) {
  const std::string_view name = text;
  if (name == "auto")
    backend = SYNFIRE_BACKEND_AUTO;
  else if (name == "host")
    backend = SYNFIRE_BACKEND_HOST;
  else if (name == "cuda")
    backend = SYNFIRE_BACKEND_CUDA;
  else
    return complain("--backend: allowed: auto, host, cuda");
  return true;
}

bool read_name(const char* name, const char* text, const char* what, std::string& value) {
  value = text;
  return !value.empty() || complain("%s: allowed: the name of a %s", name, what);
}

}  // namespace learning
