// picture.hpp - runs as SVGs.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <string>

#include "loop.hpp"
#include "run.hpp"

namespace balance {

/// The angle, the place and the force over the time, with the pushes.
void draw_plot(const std::string& path, const Run& run);

/// The cart and its pole as they move, in true time: at most the first 20 s, again and again.
void draw_film(const std::string& path, const Run& run);

/// How many steps took how long, with the end of a step's time.
void draw_latency(const std::string& path, const Pace& pace);

}  // namespace balance
