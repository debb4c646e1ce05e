/* sew_resnet18.c - SEW ResNet-18 of W. Fang et al., "Deep residual learning in spiking neural networks", NeurIPS 2021,
   for ImageNet. The first convolution reads a still image, so that it is computed once for all steps.
   SPDX-License-Identifier: MIT */
#include "zoo.h"

#define IF "model=if surrogate=atan detach_reset=1"

/* Two layers, and around them a shortcut, of which a 1 x 1 layer changes the shape. Returns what the next one reads. */
static const char *block(synfire_network n, int i, const char *reads, int width, int stride, int changes) {
  const char *shortcut = reads;
  layer(n, text("first%d", i), reads, text("output_channels=%d kernel=3 padding=1 stride=%d", width, stride), IF);
  layer(n, text("second%d", i), "", text("output_channels=%d kernel=3 padding=1", width), IF);
  if (changes) {
    shortcut = text("down%d", i);
    layer(n, shortcut, reads, text("output_channels=%d stride=%d", width, stride), IF);
  }
  stage(n, "sum", text("add%d", i), text("second%d %s", i, shortcut), "");
  return text("add%d", i);
}

void sew_resnet18(synfire_network n, zoo_size size) {
  const char *last;
  int i;
  stage(n, "input", "image", "", "kind=counts bound=255 height=%d width=%d channels=3 n_steps=1", size.side, size.side);
  layer(n, "stem", "", text("output_channels=%d kernel=7 stride=2 padding=3", channels(size, 64)), IF);
  stage(n, "pool", "stem-pool", "", "kind=max window=3 stride=2 padding=1");
  last = "stem-pool";
  for (i = 0; i < 8; ++i)
    last = block(n, i, last, channels(size, 64 << i / 2), i > 0 && i % 2 == 0 ? 2 : 1, i > 0 && i % 2 == 0);
  stage(n, "pool", "average", "", "kind=mean");
  stage(n, "flatten", "flat", "", "");
  stage(n, "synapse", "classifier", "", "n_outputs=%d", channels(size, 1000));
  stage(n, "flatten", "scores", "", "");
  stage(n, "readout", "mean", "", "reduction=mean");
  classify(n, "mean");
}
