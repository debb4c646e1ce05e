// picture.hpp - the paths of drives as an SVG.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "drive.hpp"

namespace robot {

/// The drives side by side, each in its rooms; they have the seeds from the first one on.
void draw_paths(const std::string& path, const std::vector<Drive>& drives, std::uint64_t first_seed);

}  // namespace robot
