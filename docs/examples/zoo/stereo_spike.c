/* stereo_spike.c - U. Rancon et al., "StereoSpike: depth learning with a spiking neural network", IEEE Access 2022: a
   U-Net of integrate-and-fire neurons, whose output is a sum of depths at four sizes. The loss is the program's.
   SPDX-License-Identifier: MIT */
#include "zoo.h"

#define IF "model=if surrogate=atan detach_reset=1"

/* A convolution, whose result is multiplied by a number before it reaches the neurons. */
static void fire(synfire_network n, const char *name, const char *reads, const char *convolution) {
  stage(n, "conv2d", text("%s-conv", name), reads, "%s bias=0", convolution);
  stage(n, "scale", text("%s-scale", name), "", "scope=layer initial_weight=10 frozen=1");
  stage(n, "neurons", name, "", IF);
}
static void predict(synfire_network n, int i, const char *reads, int enlarges) {
  stage(n, "upsample", text("large%d", i), reads, "scale=%d", enlarges);
  stage(n, "conv2d", text("depth%d", i), "", "output_channels=1 kernel=5 padding=2 bias=0");
}

void stereo_spike(synfire_network n, zoo_size size) {
  int i, width = channels(size, 32);
  /* Two cameras, each with events of both signs. */
  stage(n, "input", "events", "", "kind=spikes height=%d width=%d channels=4", size.side, size.side);
  fire(n, "down0", "", text("output_channels=%d kernel=5 padding=2", width));
  for (i = 1; i < 5; ++i)
    fire(n, text("down%d", i), "", text("output_channels=%d kernel=5 padding=2 stride=2", width << i));
  /* A block with a shortcut at the bottom. */
  fire(n, "first", "", text("output_channels=%d kernel=3 padding=1", width << 4));
  fire(n, "second", "", text("output_channels=%d kernel=3 padding=1", width << 4));
  stage(n, "sum", "up4", "second down4", "");
  for (i = 3; i >= 0; --i) {
    stage(n, "upsample", text("larger%d", i), text("up%d", i + 1), "");
    fire(n, text("spikes%d", i), "", text("output_channels=%d kernel=5 padding=2", width << i));
    stage(n, "sum", text("up%d", i), text("spikes%d down%d", i, i), "");
    predict(n, i, text("up%d", i), 1 << i);
  }
  stage(n, "sum", "depth", "depth3 depth2 depth1 depth0", "");
  /* Neurons that add up, all but forget nothing, and never fire. */
  stage(n, "neurons", "potential", "depth", "model=li tau=1e9 undecayed_input=1");
  stage(n, "readout", "map", "", "reduction=last");
  stage(n, "optimizer", "adam", "", "kind=adam learning_rate=0.0002");
}
