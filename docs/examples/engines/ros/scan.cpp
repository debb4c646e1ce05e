// scan.cpp - see scan.hpp.
//
// SPDX-License-Identifier: MIT
#include "scan.hpp"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <string>

namespace robot {

void take_scan(const float* ranges, std::size_t n, double first, double step, Scan& scan) {
  constexpr double tolerance = 1e-3;
  if (n != n_beams || !(std::abs(first - first_angle) < tolerance) || !(std::abs(step - angle_step) < tolerance))
    throw std::runtime_error("the scan has " + std::to_string(n) + " beams from " + std::to_string(first) +
                             " rad on, " + std::to_string(step) + " apart; the network reads " +
                             std::to_string(n_beams) + " from " + std::to_string(first_angle) + " on, " +
                             std::to_string(angle_step) + " apart");
  for (std::size_t i = 0; i < n; ++i)
    if (!std::isnan(ranges[i])) scan.at(i) = std::clamp(ranges[i], 0.0F, static_cast<float>(farthest));
}

}  // namespace robot
