// picture.cpp - see picture.hpp.
//
// SPDX-License-Identifier: MIT
#include "picture.hpp"

#include <cstdio>
#include <stdexcept>

#include "plots.h"
#include "svg.h"
#include "voices.hpp"

namespace digits {
namespace {

// The page, in pixels.
constexpr int width = 1200, height = 420, left = 70, right = 1180, top = 100, bottom = 370;
constexpr std::size_t pause = 14;  // frames between two words

}  // namespace

void draw_picture(const std::string& path, Learner& learner) {
  std::vector<const Utterance*> rows;
  for (const Utterance* const one : learner.unheard())
    if (one->voice == learner.unheard().front()->voice && one->manner == 0) rows.push_back(one);
  const std::vector<std::uint32_t> names = learner.name(rows);
  std::vector<plots_spikes> spikes;
  spikes.reserve(rows.size());
  for (const Utterance* const one : rows) spikes.push_back({one->spikes.data(), one->frames, NERVE_WORDS});
  const std::size_t frames = plots_steps(spikes.data(), spikes.size(), pause);
  const double frame_width = static_cast<double>(right - left) / static_cast<double>(frames);

  std::FILE* const out = svg_open(path.c_str(), width, height, "Spoken digits as spikes, and what the network names");
  if (out == nullptr) throw std::runtime_error(path + ": the picture cannot be written");
  const Voice& voice = voices.at(rows.front()->voice);
  std::fprintf(out,
               "<text x=\"%d\" y=\"36\" font-size=\"21\" font-weight=\"600\">Named by spiking neurons that never heard "
               "this voice</text>\n<text x=\"%d\" y=\"36\" text-anchor=\"end\" fill=\"" SVG_FAINT
               "\">espeak-ng, %s+%s</text>\n",
               left, right, voice.accent, voice.speaker);
  svg_time_axis(out, static_cast<double>(frames) / int{NERVE_FRAMES_PER_SECOND}, left, right, top, bottom, bottom + 20);
  plots_write_spikes(out, spikes.data(), spikes.size(), NERVE_FIBRES, pause, left, top, right, bottom);
  std::size_t start = pause;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const double middle = left + frame_width * (static_cast<double>(start) + 0.5 * rows[i]->frames);
    std::fprintf(out,
                 "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\" font-size=\"19\" font-weight=\"600\" fill=\"%s\">",
                 middle, top - 18, names[i] == rows[i]->digit ? SVG_INK : "#cd2828");
    svg_text(out, words.at(names[i]));
    std::fputs("</text>\n", out);
    start += rows[i]->frames + pause;
  }
  std::fprintf(out,
               "<text transform=\"translate(30 %d) rotate(-90)\" text-anchor=\"middle\" fill=\"" SVG_FAINT
               "\">64 fibres, low to high</text>\n",
               (top + bottom) / 2);
  if (!svg_close(out, path.c_str())) throw std::runtime_error(path + ": the picture cannot be written");
}

}  // namespace digits
