// picture.hpp - what the network sees, what its neurons do, and what it takes for what, as SVG.
//
// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "film.hpp"
#include "learner.hpp"

namespace gestures {

/// How often which motion got which name.
using Confusion = std::array<std::array<std::size_t, names.size()>, names.size()>;

Confusion confuse(const std::vector<Film>& films, const std::vector<std::uint32_t>& named);

/// These throw std::runtime_error. The first draws a film of each gesture: where there were events, and when.
void draw_events(const std::string& path, const std::vector<Film>& films, const std::vector<std::uint32_t>& named);

/// The spikes of all layers, step by step, while the network sees a film, and the potentials of the names.
void draw_spikes(const std::string& path, const Film& film, const Inside& inside);

void draw_confusion(const std::string& path, const Confusion& counts);

}  // namespace gestures
