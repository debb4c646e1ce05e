// report.hpp - the results of `gestures` on stdout.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <vector>

#include "film.hpp"
#include "learner.hpp"
#include "picture.hpp"

namespace gestures {

void report_films(const char* what, const std::vector<Film>& films);
void report_epoch(const Epoch& epoch);
void report_confusion(const Confusion& counts);

void report_weights(std::uint64_t hash);

}  // namespace gestures
