// speech.hpp - words spoken by espeak-ng.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "voices.hpp"

namespace digits {

struct Speech {
  std::vector<float> samples;  // without the silence around the word
  std::uint32_t rate = 0;
};

/// Lets espeak-ng speak a word. `scratch` is the name of a sound file that is written and removed. Throws
/// std::runtime_error.
Speech speak(const Voice& voice, const Manner& manner, const char* word, const std::string& scratch);

}  // namespace digits
