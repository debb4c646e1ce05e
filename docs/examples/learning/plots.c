/* plots.c - see plots.h.
 *
 * SPDX-License-Identifier: MIT */
#include "plots.h"

#include <float.h>
#include <math.h>

#include "svg.h"

#define RIGHT_INK "#1d62d6"
#define WRONG_INK "#cd2828"

void plots_heading(FILE *out, int left, const char *title) {
  fprintf(out, "<text x=\"%d\" y=\"36\" font-size=\"21\" font-weight=\"600\">", left);
  svg_text(out, title);
  fputs("</text>\n", out);
}

/* ---- curves ---------------------------------------------------------------------------------------------------------
 */

enum { CURVES_WIDTH = 900, CURVES_HEIGHT = 460, LEFT = 80, RIGHT = 700, TOP = 70, BOTTOM = 400 };

/* isfinite() of mingw-w64 converts to float, which is a warning. */
static int is_finite(double value) {
  return value >= -DBL_MAX && value <= DBL_MAX;
}

static double largest_of(const plots_curve *curves, size_t n_curves, size_t count) {
  double largest = 0;
  size_t c, i;
  for (c = 0; c < n_curves; ++c)
    for (i = 0; i < count; ++i)
      if (curves[c].numbers[i] > largest) largest = curves[c].numbers[i];
  return largest > 0 && is_finite(largest) ? largest : 1;
}

/* The place of number i of `count`, counted from 0. */
static double place(size_t i, size_t count) {
  return count < 2 ? LEFT : LEFT + (double)(RIGHT - LEFT) * (double)i / (double)(count - 1);
}

static void write_axes(FILE *out, const char *axis, double most, size_t count) {
  const double step = svg_tick_step(most);
  const int digits = step < 1.0 ? (int)ceil(-log10(step) - 1e-9) : 0;
  const double wide = count < 2 ? 1.0 : svg_tick_step((double)count);
  double at;
  for (at = 0; at <= most * (1 + 1e-9); at += step) {
    const double y = BOTTOM - (BOTTOM - TOP) * at / most;
    fprintf(out, "<path d=\"M%d %.1fH%d\" stroke=\"" SVG_GRID "\"/>\n", (int)LEFT, y, (int)RIGHT);
    fprintf(out, "<text x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%.*f</text>\n", LEFT - 8, y + 4.5, digits, at);
  }
  for (at = wide < 1 ? 1 : wide; at <= (double)count; at += wide < 1 ? 1 : wide)
    fprintf(out, "<text x=\"%.1f\" y=\"%d\" text-anchor=\"middle\">%.0f</text>\n", place((size_t)at - 1, count),
            BOTTOM + 20, at);
  fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"" SVG_FAINT "\">", (LEFT + RIGHT) / 2,
          BOTTOM + 46);
  svg_text(out, axis);
  fputs("</text>\n", out);
}

static void write_curve(FILE *out, const plots_curve *curve, size_t count, double most, double colour, int row) {
  size_t i;
  bool pen_is_down = false;
  fputs("<path fill=\"none\" stroke-width=\"2\" stroke-linecap=\"round\" stroke=\"", out);
  svg_colour(out, colour);
  fputs("\" d=\"", out);
  for (i = 0; i < count; ++i) { /* what is not finite leaves a gap; a number between gaps is a dot */
    if (is_finite(curve->numbers[i]))
      fprintf(out, pen_is_down ? "L%.1f %.1f" : "M%.1f %.1fh0", place(i, count),
              BOTTOM - (BOTTOM - TOP) * curve->numbers[i] / most);
    pen_is_down = is_finite(curve->numbers[i]);
  }
  fprintf(out, "\"/>\n<text x=\"%d\" y=\"%d\" fill=\"", RIGHT + 16, TOP + 8 + 24 * row);
  svg_colour(out, colour);
  fputs("\">", out);
  svg_text(out, curve->name);
  fputs("</text>\n", out);
}

bool plots_curves(const char *path, const char *title, const char *axis, const plots_curve *curves, size_t n_curves,
                  size_t count) {
  const double most = largest_of(curves, n_curves, count);
  FILE *const out = svg_open(path, CURVES_WIDTH, CURVES_HEIGHT, title);
  size_t c;
  if (out == NULL) return false;
  plots_heading(out, LEFT, title);
  write_axes(out, axis, most, count);
  for (c = 0; c < n_curves; ++c)
    write_curve(out, curves + c, count, most, n_curves < 2 ? 0 : (double)c / (double)(n_curves - 1), (int)c);
  return svg_close(out, path);
}

/* ---- spikes ---------------------------------------------------------------------------------------------------------
 */

size_t plots_steps(const plots_spikes *sequences, size_t n_sequences, size_t pause) {
  size_t steps = pause, i;
  for (i = 0; i < n_sequences; ++i) steps += sequences[i].n_steps + pause;
  return steps;
}

/* One path per neuron, a dash for each spike. Units: one step by one neuron. */
void plots_write_spikes(FILE *out, const plots_spikes *sequences, size_t n_sequences, size_t n_neurons, size_t pause,
                        int left, int top, int right, int bottom) {
  const double step_width = (double)(right - left) / (double)plots_steps(sequences, n_sequences, pause);
  size_t n, i, t;
  fprintf(out, "<g transform=\"translate(%d %d) scale(%.5f %.5f)\" fill=\"none\" stroke-width=\"0.8\">\n", left, bottom,
          step_width, -(double)(bottom - top) / (double)n_neurons);
  for (n = 0; n < n_neurons; ++n) {
    size_t start = pause;
    fputs("<path stroke=\"", out);
    svg_colour(out, n_neurons < 2 ? 0 : (double)n / (double)(n_neurons - 1));
    fputs("\" d=\"", out);
    for (i = 0; i < n_sequences; ++i) {
      for (t = 0; t < sequences[i].n_steps; ++t)
        if ((sequences[i].words[t * sequences[i].stride + n / 32] >> n % 32 & 1U) != 0)
          fprintf(out, "M%lu %lu.5h0.85", (unsigned long)(start + t), (unsigned long)n);
      start += sequences[i].n_steps + pause;
    }
    fputs("\"/>\n", out);
  }
  fputs("</g>\n", out);
}

bool plots_raster(const char *path, const char *title, const plots_spikes *spikes, size_t n_neurons) {
  enum { WIDTH = 900, HEIGHT = 460, NARROW = 40 };
  FILE *const out = svg_open(path, WIDTH, HEIGHT, title);
  if (out == NULL) return false;
  plots_heading(out, NARROW, title);
  plots_write_spikes(out, spikes, 1, n_neurons, 0, NARROW, TOP, WIDTH - 30, BOTTOM);
  fprintf(out, "<path d=\"M%d %dV%dH%d\" fill=\"none\" stroke=\"" SVG_FAINT "\"/>\n", (int)NARROW, (int)TOP,
          (int)BOTTOM, WIDTH - 30);
  fprintf(out, "<text x=\"%d\" y=\"%d\" fill=\"" SVG_FAINT "\">%lu steps of %lu neurons</text>\n", (int)NARROW,
          BOTTOM + 26, (unsigned long)spikes->n_steps, (unsigned long)n_neurons);
  return svg_close(out, path);
}

/* ---- confusion ------------------------------------------------------------------------------------------------------
 */

bool plots_confusion(const char *path, const char *title, const char *legend, const char *const *names, size_t n,
                     const size_t *counts) {
  enum { EDGE = 150, ABOVE = 80, CELL = 52, NARROWEST = 540 }; /* the title has room */
  const int side = CELL * (int)n, width = EDGE + side + 50 < NARROWEST ? NARROWEST : EDGE + side + 50;
  FILE *const out = svg_open(path, width, ABOVE + side + 100, title);
  size_t r, c;
  if (out == NULL) return false;
  plots_heading(out, EDGE, title);
  fprintf(out, "<text x=\"%d\" y=\"60\" fill=\"" SVG_FAINT "\">", (int)EDGE);
  svg_text(out, legend);
  fputs("</text>\n", out);
  for (r = 0; r < n; ++r) {
    const int y = ABOVE + CELL * (int)r;
    size_t sum = 0;
    for (c = 0; c < n; ++c) sum += counts[r * n + c];
    fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"end\">", EDGE - 10, y + 31);
    svg_text(out, names[r]);
    fputs("</text>\n", out);
    for (c = 0; c < n; ++c) {
      const int x = EDGE + CELL * (int)c;
      const double share = sum == 0 ? 0 : (double)counts[r * n + c] / (double)sum;
      fprintf(out, "<rect x=\"%d\" y=\"%d\" width=\"50\" height=\"50\" fill=\"%s\" fill-opacity=\"%.3f\"/>\n", x, y,
              r == c ? RIGHT_INK : WRONG_INK, share);
      fprintf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\" fill=\"%s\">%lu</text>\n", x + 25, y + 31,
              share > 0.5 ? "#ffffff" : SVG_INK, (unsigned long)counts[r * n + c]);
    }
    fprintf(out, "<text transform=\"translate(%d %d) rotate(-35)\" text-anchor=\"end\">", EDGE + 30 + CELL * (int)r,
            ABOVE + side + 16);
    svg_text(out, names[r]);
    fputs("</text>\n", out);
  }
  return svg_close(out, path);
}
