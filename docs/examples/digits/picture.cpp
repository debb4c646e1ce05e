// picture.cpp - see picture.hpp.
//
// SPDX-License-Identifier: MIT
#include "picture.hpp"

#include <cstdio>
#include <stdexcept>

#include "colour.hpp"
#include "svg.h"
#include "voices.hpp"

namespace digits {
namespace {

// The page, in pixels.
constexpr int width = 1200, height = 420, left = 70, right = 1180, top = 100, bottom = 370;
constexpr int fibres = NERVE_FIBRES;
constexpr std::size_t pause = 14;  // frames between two words

bool fires(const Utterance& one, std::size_t frame, std::size_t fibre) {
  return (one.spikes.at(frame * NERVE_WORDS + fibre / 32) >> fibre % 32 & 1U) != 0;
}

// One path per fibre, a dash for each spike. Units: one frame by one fibre.
void write_spikes(std::FILE* out, const std::vector<const Utterance*>& rows, double frame_width) {
  std::fprintf(out, "<g transform=\"translate(%d %d) scale(%.5f %.5f)\" fill=\"none\" stroke-width=\"0.8\">\n", left,
               bottom, frame_width, -static_cast<double>(bottom - top) / fibres);
  for (std::size_t fibre = 0; fibre < NERVE_FIBRES; ++fibre) {
    std::fputs("<path stroke=\"", out);
    learning::write_colour(out, static_cast<double>(fibre) / (fibres - 1));
    std::fputs("\" d=\"", out);
    std::size_t start = pause;
    for (const Utterance* const one : rows) {
      for (std::size_t frame = 0; frame < one->frames; ++frame)
        if (fires(*one, frame, fibre)) std::fprintf(out, "M%zu %zu.5h0.85", start + frame, fibre);
      start += one->frames + pause;
    }
    std::fputs("\"/>\n", out);
  }
  std::fputs("</g>\n", out);
}

}  // namespace

void draw_picture(const std::string& path, Learner& learner) {
  std::vector<const Utterance*> rows;
  for (const Utterance* const one : learner.unheard())
    if (one->voice == learner.unheard().front()->voice && one->manner == 0) rows.push_back(one);
  const std::vector<std::uint32_t> names = learner.name(rows);
  std::size_t frames = pause;
  for (const Utterance* const one : rows) frames += one->frames + pause;
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
  write_spikes(out, rows, frame_width);
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
