// picture.hpp - what the network hears and what it says: spikes, and above them the words.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "learner.hpp"

namespace digits {

/// Draws the digits of the first voice that is not learnt, as SVG. Throws std::runtime_error.
void draw_picture(const std::string& path, Learner& learner);

}  // namespace digits
