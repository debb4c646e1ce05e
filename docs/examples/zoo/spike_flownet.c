/* spike_flownet.c - C. Lee et al., "Spike-FlowNet: event-based optical flow estimation with energy-efficient hybrid
   neural networks", ECCV 2020: an encoder of integrate-and-fire neurons, and a decoder of numbers. The loss is the
   program's. SPDX-License-Identifier: MIT */
#include "zoo.h"

#define IF "model=if reset=soft v_threshold=0.75 surrogate=rect"

/* The spikes of a layer add up over all steps, to one step of numbers. */
static void add_up(synfire_network n, const char *name, const char *reads) {
  stage(n, "readout", name, reads, "reduction=sum of_spikes=1");
}
/* Under a constant current, the spikes of such neurons add up to a rectified number. */
static void rectified(synfire_network n, const char *name, const char *reads, const char *convolution) {
  stage(n, "conv2d", text("%s-conv", name), reads, "%s", convolution);
  stage(n, "neurons", text("%s-if", name), "", IF);
  add_up(n, name, "");
}
static void flow(synfire_network n, int i, const char *reads) {
  head(n, text("flow%d", i), reads, "output_channels=2 kernel=3 padding=1");
}

void spike_flownet(synfire_network n, zoo_size size) {
  int i;
  const int width = channels(size, 64);
  /* The events of the former and the latter group, each of both signs. */
  stage(n, "input", "events", "", "kind=spikes height=%d width=%d channels=4", size.side, size.side);
  for (i = 1; i <= 4; ++i) {
    stage(n, "conv2d", text("conv%d", i), "", "output_channels=%d kernel=3 padding=1 stride=2 bias=0",
          width << (i - 1));
    stage(n, "neurons", text("if%d", i), "", IF);
  }
  for (i = 1; i <= 4; ++i) add_up(n, text("sum%d", i), text("if%d:spikes", i));
  rectified(n, "first", "sum4", text("output_channels=%d kernel=3 padding=1", width << 3));
  rectified(n, "second", "first", text("output_channels=%d kernel=3 padding=1", width << 3));
  stage(n, "sum", "up4", "second sum4", "");
  for (i = 3; i >= 1; --i) {
    flow(n, i + 1, text("up%d", i + 1));
    rectified(n, text("larger%d", i), text("up%d", i + 1),
              text("output_channels=%d kernel=4 stride=2 padding=1 transposed=1", width << (i - 1)));
    stage(n, "upsample", text("flow-larger%d", i), text("flow%d-conv", i + 1), "");
    stage(n, "concatenate", text("up%d", i), text("larger%d sum%d flow-larger%d", i, i, i), "");
  }
  flow(n, 1, "up1");
  stage(n, "optimizer", "adam", "", "kind=adam learning_rate=0.0001");
}
