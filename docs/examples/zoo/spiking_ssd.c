/* spiking_ssd.c - L. Cordone et al., "Object detection with spiking neural networks on automotive event data", IJCNN
   2022: a MobileNet or a DenseNet under SSD heads, for events. Boxes, and their loss, are the program's.
   SPDX-License-Identifier: MIT */
#include "zoo.h"

#define PLIF "model=plif surrogate=atan detach_reset=1"
#define OUTPUTS 24 /* six boxes of a place and its classes */

/* A kernel for each channel, then 1 x 1. */
static const char *separable(synfire_network n, const char *name, const char *reads, int from, int width, int stride) {
  layer(n, text("%s-each", name), reads,
        text("output_channels=%d kernel=3 padding=1 stride=%d groups=%d", from, stride, from), PLIF);
  layer(n, name, "", text("output_channels=%d", width), PLIF);
  return name;
}
/* Each layer concatenates its spikes to those that it reads. Returns the number of channels. */
static int dense_block(synfire_network n, const char *name, const char *reads, int from, int growth, int n_layers) {
  const char *last = reads;
  int i;
  for (i = 0; i < n_layers; ++i) {
    const char *const made = text("%s-%d", name, i), *const joined =
                                                         i + 1 == n_layers ? name : text("%s-join%d", name, i);
    layer(n, made, last, text("output_channels=%d kernel=3 padding=1", growth), PLIF);
    stage(n, "concatenate", joined, text("%s %s", last, made), "");
    last = joined;
  }
  return from + n_layers * growth;
}
/* Three maps, each half as large as the one before, with a head each. */
static void heads(synfire_network n, const char *reads, int width) {
  int i;
  for (i = 0; i < 3; ++i) {
    head(n, text("head%d", i), reads, text("output_channels=%d kernel=3 padding=1", OUTPUTS));
    if (i == 2) break;
    layer(n, text("narrow%d", i), reads, text("output_channels=%d", width / 2), PLIF);
    layer(n, text("extra%d", i), "", text("output_channels=%d kernel=3 padding=1 stride=2", width), PLIF);
    reads = text("extra%d", i);
  }
  stage(n, "optimizer", "adam", "", "kind=adamw learning_rate=0.001");
}

void spiking_mobilenet_ssd(synfire_network n, zoo_size size) {
  const int width = channels(size, 64);
  stage(n, "input", "events", "", "kind=spikes height=%d width=%d channels=4", size.side, size.side);
  layer(n, "stem", "", text("output_channels=%d kernel=3 padding=1 stride=2", width), PLIF);
  separable(n, "one", "stem", width, 2 * width, 1);
  separable(n, "two", "one", 2 * width, 2 * width, 2);
  separable(n, "three", "two", 2 * width, 4 * width, 1);
  heads(n, "three", 4 * width);
}

void spiking_densenet_ssd(synfire_network n, zoo_size size) {
  int width = channels(size, 64);
  const int growth = channels(size, 16);
  stage(n, "input", "events", "", "kind=spikes height=%d width=%d channels=4", size.side, size.side);
  layer(n, "stem", "", text("output_channels=%d kernel=3 padding=1", width), PLIF);
  stage(n, "pool", "stem-pool", "", "kind=max window=3 stride=2 padding=1");
  width = dense_block(n, "one", "stem-pool", width, growth, 3);
  layer(n, "between", "one", text("output_channels=%d", width), PLIF);
  stage(n, "pool", "half", "", "kind=max window=3 stride=2 padding=1");
  width = dense_block(n, "two", "half", width, growth, 3);
  heads(n, "two", width);
}
