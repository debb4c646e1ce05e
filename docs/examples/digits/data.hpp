// data.hpp - the spikes of spoken digits: made with espeak-ng, kept in one file.
//
// The file `digits.spikes`, all numbers little-endian u32: the eight letters "DIGITS01", the numbers of fibres, of
// frames F and of utterances, the hash of the rest (two numbers, the lower first); then for each utterance its voice,
// digit, manner and number of frames, and its spikes [F, ceil(fibres / 32)].
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "nerve.h"

namespace digits {

/// The frames of an utterance, of 10 ms each: no digit is longer.
inline constexpr std::size_t max_frames = 100;

struct Utterance {
  std::uint32_t voice;   // of `voices`
  std::uint32_t digit;   // of `words`
  std::uint32_t manner;  // of `manners`
  std::uint32_t frames;  // the word, and the time that the cochlea still rings after it
  std::array<std::uint32_t, max_frames * NERVE_WORDS> spikes;
};

struct Data {
  std::vector<Utterance> utterances;
  std::uint64_t hash = 0;
};

/// Lets espeak-ng speak everything in the first manners, and writes the file to the folder, which is created if needed.
/// Without espeak-ng, or if anything else fails: throws std::runtime_error, which says what.
void make_data(const std::string& folder, std::size_t n_manners);

/// Reads the file from the folder. Throws std::runtime_error unless all of it is as it should be.
Data read_data(const std::string& folder);

}  // namespace digits
