// colour.hpp - the colours of the pictures.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdio>

namespace learning {

/// Writes the colour of a number from 0 to 1: violet (low), blue, teal, amber, red (high).
void write_colour(std::FILE* out, double at);

}  // namespace learning
