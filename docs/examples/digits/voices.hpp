// voices.hpp - who speaks the digits: espeak-ng's accents and voices, their pitches and speeds, and the ways in which
// each of them speaks.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>

#include "word_lists.h"

namespace digits {

inline constexpr std::array<const char*, WORD_LIST_DIGITS_LENGTH> words = WORD_LIST_DIGITS;

/// A voice: an accent (espeak-ng's language) and a speaker (its variant).
struct Voice {
  const char* accent;
  const char* speaker;
  int pitch;    // 0 to 99
  int speed;    // words per minute
  bool tested;  // never learnt
};

/// How a voice speaks: relative to its own pitch and speed, with noise in the room (of full scale).
struct Manner {
  int pitch;
  int speed;  // per cent
  double noise;
};

// No speaker is both learnt and tested.
inline constexpr std::array<Voice, 64> voices = {{
    {"en-us", "m1", 50, 150, false},
    {"en-us", "f1", 40, 165, false},
    {"en-us", "m2", 58, 155, false},
    {"en-us", "f2", 46, 172, false},
    {"en-us", "m3", 54, 160, false},
    {"en-us", "f3", 50, 146, false},
    {"en-us", "m4", 40, 150, false},
    {"en-gb", "m6", 58, 165, false},
    {"en-gb", "f5", 46, 155, false},
    {"en-gb", "m7", 54, 172, false},
    {"en-gb", "Alicia", 50, 160, false},
    {"en-gb", "Alex", 40, 146, false},
    {"en-gb", "Annie", 58, 150, false},
    {"en-gb", "edward", 46, 165, false},
    {"en-gb-scotland", "john", 54, 155, false},
    {"en-gb-scotland", "belinda", 50, 172, false},
    {"en-gb-scotland", "david", 40, 160, false},
    {"en-gb-scotland", "anika", 58, 146, false},
    {"en-gb-scotland", "boris", 46, 150, false},
    {"en-gb-scotland", "aunty", 54, 165, false},
    {"en-gb-scotland", "max", 50, 155, false},
    {"en-gb-x-gbclan", "paul", 40, 172, false},
    {"en-gb-x-gbclan", "shelby", 58, 160, false},
    {"en-gb-x-gbclan", "rob", 46, 146, false},
    {"en-gb-x-gbclan", "f1", 54, 150, false},
    {"en-gb-x-gbclan", "caleb", 50, 165, false},
    {"en-gb-x-gbclan", "f2", 40, 155, false},
    {"en-gb-x-gbclan", "quincy", 58, 172, false},
    {"en-gb-x-rp", "m1", 46, 160, false},
    {"en-gb-x-rp", "f3", 54, 146, false},
    {"en-gb-x-rp", "m2", 50, 150, false},
    {"en-gb-x-rp", "f5", 40, 165, false},
    {"en-gb-x-rp", "m3", 58, 155, false},
    {"en-gb-x-rp", "Alicia", 46, 172, false},
    {"en-gb-x-rp", "m4", 54, 160, false},
    {"en-gb-x-gbcwmd", "m6", 50, 146, false},
    {"en-gb-x-gbcwmd", "Annie", 40, 150, false},
    {"en-gb-x-gbcwmd", "m7", 58, 165, false},
    {"en-gb-x-gbcwmd", "belinda", 46, 155, false},
    {"en-gb-x-gbcwmd", "Alex", 54, 172, false},
    {"en-gb-x-gbcwmd", "anika", 50, 160, false},
    {"en-gb-x-gbcwmd", "edward", 40, 146, false},
    {"en-029", "john", 58, 150, false},
    {"en-029", "aunty", 46, 165, false},
    {"en-029", "david", 54, 155, false},
    {"en-029", "shelby", 50, 172, false},
    {"en-029", "boris", 40, 160, false},
    {"en-029", "f1", 58, 146, false},
    {"en-029", "max", 46, 150, false},
    {"en-us-nyc", "paul", 54, 165, false},
    {"en-us-nyc", "f2", 50, 155, false},
    {"en-us-nyc", "rob", 40, 172, false},
    {"en-us-nyc", "f3", 58, 160, false},
    {"en-us-nyc", "caleb", 46, 146, false},
    {"en-us-nyc", "f5", 54, 150, false},
    {"en-us-nyc", "quincy", 50, 165, false},
    {"en-us", "f4", 50, 150, true},
    {"en-us", "m8", 50, 150, true},
    {"en-gb", "m5", 50, 160, true},
    {"en-gb", "linda", 50, 150, true},
    {"en-gb-scotland", "Andrea", 50, 150, true},
    {"en-gb-x-gbclan", "Michael", 50, 155, true},
    {"en-gb-x-rp", "steph", 50, 150, true},
    {"en-029", "adam", 50, 160, true},
}};

inline constexpr std::array<Manner, 6> manners = {
    {{0, 100, 0.0}, {-12, 92, 0.001}, {12, 108, 0.0}, {-8, 116, 0.002}, {8, 90, 0.0}, {0, 122, 0.001}}};

}  // namespace digits
