// arguments.hpp - values of a command line, which the programs read alike.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>

namespace learning {

/// Each returns false, with the error on stderr, if the text is not a value of the option `name`.
bool read_whole(const char* name, const char* text, long least, long most, long& value);
bool read_backend(const char* text, std::int32_t& backend);  // SYNFIRE_BACKEND_*
bool read_name(const char* name, const char* text, const char* what, std::string& value);

}  // namespace learning
