/* ems_yolo.c - EMS-YOLO of Q. Su et al., "Deep directly-trained spiking neural networks for object detection", ICCV
   2023: blocks with shortcuts of potentials, and two heads of a detector. Boxes, and their loss, are the program's.
   SPDX-License-Identifier: MIT */
#include "zoo.h"

#define LIF "model=lif tau=1.3333333333333333 undecayed_input=1 v_threshold=0.5 surrogate=rect"
#define OUTPUTS 24 /* three anchors: a box, an object, classes */

/* Neurons, a convolution, a normalisation. */
static const char *unit(synfire_network n, const char *name, const char *reads, const char *convolution) {
  stage(n, "neurons", text("%s-lif", name), reads, LIF);
  stage(n, "conv2d", text("%s-conv", name), "", "%s bias=0", convolution);
  stage(n, "normalization", name, "", "threshold=0.5");
  return text("%s", name);
}
/* The shortcut shrinks by a maximum, and what is new is concatenated to it. */
static const char *block(synfire_network n, int i, const char *reads, int from, int width) {
  const char *shortcut;
  unit(n, text("a%d", i), reads, text("output_channels=%d kernel=3 padding=1 stride=2", width));
  unit(n, text("b%d", i), "", text("output_channels=%d kernel=3 padding=1", width));
  stage(n, "pool", text("half%d", i), reads, "kind=max window=2");
  shortcut = unit(n, text("c%d", i), "", text("output_channels=%d", width - from));
  stage(n, "concatenate", text("both%d", i), text("half%d %s", i, shortcut), "");
  stage(n, "sum", text("add%d", i), text("b%d both%d", i, i), "");
  return text("add%d", i);
}

void ems_yolo(synfire_network n, zoo_size size) {
  const char *fine, *coarse = "stem";
  int i, width = channels(size, 64);
  stage(n, "input", "image", "", "kind=values height=%d width=%d channels=3", size.side, size.side);
  stage(n, "conv2d", "stem-conv", "", "output_channels=%d kernel=3 padding=1 bias=0", width);
  stage(n, "normalization", "stem", "", "threshold=0.5");
  fine = coarse;
  for (i = 0; i < 3; ++i) {
    fine = coarse;
    coarse = block(n, i, coarse, width, 2 * width);
    width *= 2;
  }
  unit(n, "neck", coarse, text("output_channels=%d", width / 2));
  stage(n, "neurons", "coarse-lif", "neck", LIF);
  head(n, "coarse", "", text("output_channels=%d", OUTPUTS));
  unit(n, "up", "neck", text("output_channels=%d", width / 4));
  stage(n, "upsample", "larger", "", "");
  stage(n, "concatenate", "route", text("larger %s", fine), "");
  unit(n, "fine-neck", "", text("output_channels=%d kernel=3 padding=1", width / 2));
  stage(n, "neurons", "fine-lif", "", LIF);
  head(n, "fine", "", text("output_channels=%d", OUTPUTS));
  stage(n, "optimizer", "sgd", "", "kind=sgd learning_rate=0.01 momentum=0.9");
}
