// stream.hpp - words named from a stream, as `hear` hears a microphone: frame by frame, without knowing when a word
// begins.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "learner.hpp"

namespace digits {

struct Streamed {
  std::size_t spoken = 0, right = 0, wrong = 0, missed = 0;
  std::size_t invented = 0;  // words named while nobody spoke
};

/// Hears all that is said, one word after the other with pauses of 0.3 s, with the network of a file, one frame at a
/// time.
Streamed name_stream(const synfire::Context& context, const std::string& file,
                     const std::vector<const Utterance*>& said);

/// A hash of the bits of all weights and delays: the same on every machine that learnt the same.
std::uint64_t hash_weights(const synfire::Network& network, const Plan& plan);

}  // namespace digits
