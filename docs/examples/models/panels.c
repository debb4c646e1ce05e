/* panels.c - see panels.h.
 *
 * SPDX-License-Identifier: MIT */
#include "panels.h"

#include <math.h>

enum { WIDTH = 480, LEFT = 48, RIGHT = 466 };

static double at_step(const Panel *panel, double step) {
  return LEFT + step / panel->n_steps * (RIGHT - LEFT);
}

static double at_value(const Panel *panel, double value) {
  return panel->top + (panel->high - value) / (panel->high - panel->low) * panel->height;
}

/* 1, 2 or 5 times a power of ten: a range has two to six of them. */
static double spacing_of(double range) {
  const double rough = range / 4, unit = pow(10, floor(log10(rough)));
  return (rough / unit < 1.5 ? 1 : rough / unit < 3.5 ? 2 : rough / unit < 7.5 ? 5 : 10) * unit;
}

Panel panel_for(double top, double height, int n_steps, const double *values, int n_values) {
  Panel panel;
  double low = 0, high = 0;
  int i;
  for (i = 0; i < n_values; ++i) {
    if (values[i] < low) low = values[i];
    if (values[i] > high) high = values[i];
  }
  if (low == high) high = low + 1;
  panel.top = top;
  panel.height = height;
  panel.low = low - 0.08 * (high - low);
  panel.high = high + 0.12 * (high - low);
  panel.n_steps = n_steps;
  return panel;
}

void picture_begin(FILE *out, int height, const char *title, const char *subtitle) {
  fprintf(out,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
          "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"13\" fill=\"#333333\">\n<title>%s</title>\n"
          "<style>.title{font-size:17px;font-weight:bold}.sub{fill:#666666}.panel{font-weight:bold}"
          ".middle{text-anchor:middle}.end{text-anchor:end}.grid{stroke:#e4e4e4}.frame{fill:none;stroke:#999999}"
          ".level{stroke:#999999;stroke-dasharray:5 4}</style>\n"
          "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
          "<text x=\"14\" y=\"25\" class=\"title\">%s</text>\n<text x=\"14\" y=\"45\" class=\"sub\">%s</text>\n",
          WIDTH, height, WIDTH, height, title, title, subtitle);
}

void picture_end(FILE *out) {
  fprintf(out, "</svg>\n");
}

void panel_frame(FILE *out, const Panel *panel, const char *title) {
  fprintf(out, "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%.1f\" class=\"frame\"/>\n", LEFT, panel->top,
          RIGHT - LEFT, panel->height);
  fprintf(out, "<text x=\"%d\" y=\"%.1f\" class=\"panel\">%s</text>\n", LEFT, panel->top - 6, title);
}

void panel_values(FILE *out, const Panel *panel) {
  const double spacing = spacing_of((panel->high - panel->low) * (panel->height < 100 ? 1.6 : 1));
  double k;
  for (k = ceil(panel->low / spacing); k * spacing <= panel->high; ++k) {
    const double y = at_value(panel, k * spacing);
    fprintf(out, "<path d=\"M%d %.1fH%d\" class=\"grid\"/>\n<text x=\"%d\" y=\"%.1f\" class=\"end\">%g</text>\n", LEFT,
            y, RIGHT, LEFT - 6, y + 4.5, k == 0 ? 0.0 : k * spacing);
  }
}

void panel_steps(FILE *out, const Panel *panel) {
  const double bottom = panel->top + panel->height;
  int i;
  for (i = 0; i <= 5; ++i)
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"middle\">%d</text>\n", at_step(panel, i * panel->n_steps / 5.0),
            bottom + 17, i * panel->n_steps / 5);
  fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" class=\"middle\">step t</text>\n", (LEFT + RIGHT) / 2.0, bottom + 34);
}

void panel_level(FILE *out, const Panel *panel, double value) {
  fprintf(out, "<path d=\"M%d %.1fH%d\" class=\"level\"/>\n", LEFT, at_value(panel, value), RIGHT);
}

void panel_line(FILE *out, const Panel *panel, const double *steps, const double *values, int n, const char *color) {
  int i;
  fprintf(out, "<polyline fill=\"none\" stroke-linejoin=\"round\" stroke=\"%s\" stroke-width=\"2\" points=\"", color);
  for (i = 0; i < n; ++i)
    fprintf(out, "%s%.1f,%.1f", i ? " " : "", at_step(panel, steps[i]), at_value(panel, values[i]));
  fprintf(out, "\"/>\n");
}

void panel_spikes(FILE *out, const Panel *panel, const double *spikes, const char *color) {
  int t;
  for (t = 0; t < panel->n_steps; ++t)
    if (spikes[t] != 0)
      fprintf(out, "<path d=\"M%.1f %.1fv%.1f\" stroke=\"%s\" stroke-width=\"2\"/>\n", at_step(panel, t), panel->top,
              panel->height, color);
}
