/* timeline.c - see timeline.h.
 *
 * SPDX-License-Identifier: MIT */
#include "timeline.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "files.h"
#include "message.h"
#include "svg.h"

/* The page, in pixels. */
enum { WIDTH = 1200, HEIGHT = 460, LEFT = 84, RIGHT = 1176, TOP = 64, BOTTOM = 396 };

static const char WHOLE_COLOUR[] = "#b9c0cc";
static const char REPLAY_COLOUR[] = "#1d62d6";
static const char MISSED_COLOUR[] = "#cd2828";

bool timeline_init(timeline *self, size_t capacity, int64_t deadline) {
  self->count = 0;
  self->capacity = capacity;
  self->deadline = deadline;
  self->moments = capacity <= SIZE_MAX / sizeof *self->moments ? malloc(capacity * sizeof *self->moments) : NULL;
  if (self->moments == NULL) return complain("no memory for the times of %lu frames", (unsigned long)capacity);
  memset(self->moments, 0, capacity * sizeof *self->moments);
  return true;
}

void timeline_add(timeline *self, const moment *frame) {
  if (self->count < self->capacity) self->moments[self->count++] = *frame;
}

const char *timeline_cause(const timeline *self, size_t frame) {
  for (;; --frame) {
    const moment *const m = &self->moments[frame];
    const int64_t overslept = m->woke - m->behind, work = m->input > m->replay ? m->input : m->replay;
    if (m->behind > overslept && m->behind > work && frame > 0) continue;
    if (overslept >= work) return "woke late";
    return m->input >= m->replay ? "input" : "replay";
  }
}

static double microseconds(int64_t nanoseconds) {
  return (double)nanoseconds / 1000.0;
}

void timeline_print_missed(const timeline *self, FILE *out, size_t most) {
  size_t i, missed = 0;
  for (i = 0; i < self->count; ++i) {
    const moment *const frame = &self->moments[i];
    if (!frame->missed || ++missed > most) continue;
    fprintf(out, "missed: %-9s frame %lu at %.3f s: woke %.1f us late, input %.1f us, replay %.1f us",
            timeline_cause(self, i), (unsigned long)i, (double)frame->due / 1e9, microseconds(frame->woke),
            microseconds(frame->input), microseconds(frame->replay));
    if (frame->behind > 0) fprintf(out, "; %.1f us behind from the frame before", microseconds(frame->behind));
    if (frame->preempted >= 0) fprintf(out, "; preempted %lld x", (long long)frame->preempted);
    fputc('\n', out);
  }
  if (missed > most) fprintf(out, "missed: %lu frames more\n", (unsigned long)(missed - most));
}

static FILE *open_file(const char *path) {
  FILE *out;
  errno = 0;
  out = files_open(path, "wb");
  if (out == NULL) complain("%s: cannot be written: %s", path, strerror(errno));
  return out;
}

bool timeline_can_write(const char *path) {
  FILE *out;
  if (path == NULL) return true;
  out = open_file(path);
  if (out == NULL) return false;
  fclose(out);
  return true;
}

bool timeline_write_csv(const timeline *self, const char *path) {
  FILE *const out = open_file(path);
  bool good;
  size_t i;
  if (out == NULL) return false;
  fputs("frame,due_us,woke_late_us,behind_us,input_us,replay_us,whole_us,missed,preempted\n", out);
  for (i = 0; i < self->count; ++i) {
    const moment *const frame = &self->moments[i];
    fprintf(out, "%lu,%.3f,%.3f,%.3f,%.3f,%.3f,%.3f,%d,", (unsigned long)i, microseconds(frame->due),
            microseconds(frame->woke), microseconds(frame->behind), microseconds(frame->input),
            microseconds(frame->replay), microseconds(frame->whole), (int)frame->missed);
    if (frame->preempted >= 0) fprintf(out, "%lld", (long long)frame->preempted);
    fputc('\n', out);
  }
  good = !ferror(out);
  if (fclose(out) != 0) good = false; /* a full disk may be detected only here */
  return good || complain("%s: cannot be written: %s", path, errno != 0 ? strerror(errno) : "output error");
}

/* ---- The picture ----------------------------------------------------------------------------------------------- */

typedef struct scale {
  double seconds;     /* of the whole width */
  double least, most; /* microseconds at the bottom and at the top: powers of ten */
} scale;

static double height_of(const scale *axes, double value) {
  const double at = log(value < axes->least ? 1.0 : value / axes->least) / log(axes->most / axes->least);
  return BOTTOM - (BOTTOM - TOP) * (at > 1.0 ? 1.0 : at);
}

static scale fit(const timeline *self) {
  scale axes;
  double least = microseconds(self->deadline), most = least;
  size_t i;
  for (i = 0; i < self->count; ++i) {
    const double replay = microseconds(self->moments[i].replay), whole = microseconds(self->moments[i].whole);
    if (replay > 0.0 && replay < least) least = replay;
    if (whole > most) most = whole;
  }
  axes.least = pow(10.0, floor(log10(least < 0.1 ? 0.1 : least)));
  axes.most = pow(10.0, ceil(log10(most * 1.01)));
  axes.seconds = (double)self->count * (double)self->deadline / 1e9;
  return axes;
}

static void write_axes(const timeline *self, FILE *out, const scale *axes) {
  const double y = height_of(axes, microseconds(self->deadline));
  double value;
  svg_time_axis(out, axes->seconds, LEFT, RIGHT, TOP, BOTTOM, BOTTOM + 20);
  for (value = axes->least; value <= axes->most * 1.001; value *= 10.0) {
    const double at = height_of(axes, value);
    fprintf(out, "<path d=\"M%d %.1fH%d\" stroke=\"" SVG_GRID "\"/>\n", (int)LEFT, at, (int)RIGHT);
    fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%g</text>\n", LEFT - 8, at + 4.5, value);
  }
  fprintf(out,
          "<text transform=\"translate(24 %d) rotate(-90)\" text-anchor=\"middle\" fill=\"" SVG_FAINT
          "\">latency (us)</text>\n",
          (TOP + BOTTOM) / 2);
  fprintf(out, "<path d=\"M%d %.1fH%d\" stroke=\"" SVG_FAINT "\" stroke-dasharray=\"6 4\"/>\n", (int)LEFT, y,
          (int)RIGHT);
  fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\" fill=\"" SVG_FAINT "\">deadline</text>\n", RIGHT - 4,
          y - 5.0);
}

/* The range of values of the frames of every column of pixels, as strokes. */
static void write_range(const timeline *self, FILE *out, const scale *axes, bool whole, const char *colour) {
  int column;
  fprintf(out, "<path stroke=\"%s\" stroke-width=\"1\" d=\"", colour);
  for (column = 0; column < RIGHT - LEFT; ++column) {
    size_t i = self->count * (size_t)column / (RIGHT - LEFT);
    const size_t end = self->count * (size_t)(column + 1) / (RIGHT - LEFT);
    double least = INFINITY, most = 0.0;
    for (; i < end; ++i) {
      const double value = microseconds(whole ? self->moments[i].whole : self->moments[i].replay);
      if (value < least) least = value;
      if (value > most) most = value;
    }
    if (most > 0.0) /* half a pixel more at each end, so that a single value is visible */
      fprintf(out, "M%.1f %.1fV%.1f", LEFT + column + 0.5, height_of(axes, least) + 0.5, height_of(axes, most) - 0.5);
  }
  fputs("\"/>\n", out);
}

static void write_missed(const timeline *self, FILE *out, const scale *axes) {
  size_t i;
  for (i = 0; i < self->count; ++i)
    if (self->moments[i].missed)
      fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3.5\" fill=\"none\" stroke=\"%s\" stroke-width=\"1.5\"/>\n",
              LEFT + (RIGHT - LEFT) * ((double)i + 0.5) / (double)self->count,
              height_of(axes, microseconds(self->moments[i].whole)), MISSED_COLOUR);
}

static void write_legend(const timeline *self, FILE *out, const char *title) {
  static const char *const texts[3] = {"due to done", "launch to done", "missed"};
  const char *const colours[3] = {WHOLE_COLOUR, REPLAY_COLOUR, MISSED_COLOUR};
  size_t i, missed = 0;
  for (i = 0; i < self->count; ++i) missed += self->moments[i].missed;
  fprintf(out, "<text x=\"%d\" y=\"40\" font-size=\"21\" font-weight=\"600\">", (int)LEFT);
  svg_text(out, title);
  fprintf(out,
          "</text>\n<text x=\"%d\" y=\"40\" text-anchor=\"end\" fill=\"" SVG_FAINT
          "\">%lu of %lu frames missed</text>\n",
          (int)RIGHT, (unsigned long)missed, (unsigned long)self->count);
  for (i = 0; i < 3; ++i)
    fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"12\" height=\"12\" fill=\"%s\"/><text x=\"%d\" y=\"%d\">%s</text>\n",
            LEFT + 12 + (int)i * 150, BOTTOM + 38, colours[i], LEFT + 30 + (int)i * 150, BOTTOM + 49, texts[i]);
}

bool timeline_write_svg(const timeline *self, const char *path, const char *title) {
  FILE *const out = svg_open(path, WIDTH, HEIGHT, "Latency over time");
  if (out == NULL) return false;
  if (self->count > 0) {
    const scale axes = fit(self);
    write_axes(self, out, &axes);
    write_range(self, out, &axes, true, WHOLE_COLOUR);
    write_range(self, out, &axes, false, REPLAY_COLOUR);
    write_missed(self, out, &axes);
  }
  write_legend(self, out, title);
  fprintf(out, "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"" SVG_FAINT "\"/>\n", (int)LEFT, (int)TOP, (int)BOTTOM,
          (int)RIGHT);
  return svg_close(out, path);
}

void timeline_free(timeline *self) {
  free(self->moments);
  self->moments = NULL;
  self->count = self->capacity = 0;
}
