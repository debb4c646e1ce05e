/* ms_resnet.c - MS-ResNet of Y. Hu et al., "Advancing spiking neural networks toward deep residual learning", IEEE
   TNNLS 2024: shortcuts add potentials, and normalisations begin at the threshold. SPDX-License-Identifier: MIT */
#include "zoo.h"

/* V decays to a quarter in a step, and the input is added to it as it is. */
#define LIF "model=lif tau=1.3333333333333333 undecayed_input=1 v_threshold=0.5 surrogate=rect"

static void conv(synfire_network n, const char *name, const char *reads, const char *values) {
  stage(n, "conv2d", text("%s-conv", name), reads, "%s bias=0", values);
  stage(n, "normalization", name, "", "threshold=0.5");
}

/* Neurons come first, and the sum is a potential. Returns what the next one reads. */
static const char *block(synfire_network n, int i, const char *reads, int width, int shrinks) {
  const char *shortcut = reads;
  stage(n, "neurons", text("lif%d", i), reads, LIF);
  conv(n, text("first%d", i), "", text("output_channels=%d kernel=3 padding=1 stride=%d", width, shrinks ? 2 : 1));
  stage(n, "neurons", text("lif-in%d", i), "", LIF);
  conv(n, text("second%d", i), "", text("output_channels=%d kernel=3 padding=1", width));
  if (shrinks) {
    stage(n, "pool", text("half%d", i), reads, "kind=mean window=2");
    shortcut = text("down%d", i);
    conv(n, shortcut, "", text("output_channels=%d", width));
  }
  stage(n, "sum", text("add%d", i), text("second%d %s", i, shortcut), "");
  return text("add%d", i);
}

void ms_resnet(synfire_network n, zoo_size size) {
  const char *last = "stem";
  int i;
  stage(n, "input", "image", "", "kind=values height=%d width=%d channels=3", size.side, size.side);
  conv(n, "stem", "", text("output_channels=%d kernel=3 padding=1", channels(size, 64)));
  for (i = 0; i < 8; ++i) last = block(n, i, last, channels(size, 64 << i / 2), i > 0 && i % 2 == 0);
  stage(n, "neurons", "lif-last", last, LIF);
  stage(n, "pool", "average", "", "kind=mean");
  stage(n, "flatten", "flat", "", "");
  stage(n, "synapse", "classifier", "", "n_outputs=10");
  stage(n, "flatten", "scores", "", "");
  stage(n, "readout", "mean", "", "reduction=mean");
  classify(n, "mean");
}
