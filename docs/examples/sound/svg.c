/* svg.c - see svg.h.
 *
 * SPDX-License-Identifier: MIT */
#include "svg.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "files.h"
#include "message.h"

FILE *svg_open(const char *path, int width, int height, const char *title) {
  FILE *out;
  errno = 0;
  out = files_open(path, "wb");
  if (out == NULL) {
    complain("%s: cannot be written: %s", path, strerror(errno));
    return NULL;
  }
  fprintf(out,
          "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" "
          "font-family=\"system-ui, 'Segoe UI', Roboto, Helvetica, Arial, sans-serif\" font-size=\"14\" fill=\"" SVG_INK
          "\">\n<title>",
          width, height, width, height);
  svg_text(out, title);
  fputs("</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n", out);
  return out;
}

void svg_text(FILE *out, const char *text) {
  for (; *text != '\0'; ++text) switch (*text) {
      case '&':
        fputs("&amp;", out);
        break;
      case '<':
        fputs("&lt;", out);
        break;
      case '>':
        fputs("&gt;", out);
        break;
      default:
        fputc(*text >= 0x20 && *text < 0x7F ? *text : '?', out);
    }
}

void svg_colour(FILE *out, double at) {
  static const double anchors[5][3] = {{91, 33, 182}, {29, 98, 214}, {9, 134, 126}, {196, 118, 4}, {205, 40, 40}};
  const int from = at < 0.25 ? 0 : at < 0.5 ? 1 : at < 0.75 ? 2 : 3;
  const double share = 4.0 * at - from;
  int i;
  fputc('#', out);
  for (i = 0; i < 3; ++i)
    fprintf(out, "%02x", (unsigned)lround(anchors[from][i] + share * (anchors[from + 1][i] - anchors[from][i])));
}

double svg_tick_step(double range) {
  const double decade = pow(10.0, floor(log10(range / 5.0)));
  const double rest = range / 5.0 / decade;
  return decade * (rest < 2.0 ? 1.0 : rest < 5.0 ? 2.0 : 5.0);
}

void svg_time_axis(FILE *out, double seconds, double left, double right, double top, double bottom, double y) {
  const double step = svg_tick_step(seconds);
  const int digits = step < 1.0 ? (int)ceil(-log10(step) - 1e-9) : 0;
  int i;
  for (i = 0; (double)i * step <= seconds * (1.0 + 1e-9); ++i) {
    const double x = left + (right - left) * (double)i * step / seconds;
    fprintf(out, "<path d=\"M%.1f %gV%g\" stroke=\"" SVG_GRID "\"/>\n", x, top, bottom);
    fprintf(out, "<text x=\"%.1f\" y=\"%g\" text-anchor=\"middle\">%.*f</text>\n", x, y, digits, (double)i * step);
  }
  fprintf(out, "<text x=\"%g\" y=\"%g\" text-anchor=\"middle\" fill=\"" SVG_FAINT "\">time (s)</text>\n",
          (left + right) / 2.0, y + 26.0);
}

bool svg_close(FILE *out, const char *path) {
  bool good;
  fputs("</svg>\n", out);
  good = !ferror(out);
  if (fclose(out) != 0) good = false; /* a full disk may be detected only here */
  return good || complain("%s: cannot be written: %s", path, errno != 0 ? strerror(errno) : "output error");
}
