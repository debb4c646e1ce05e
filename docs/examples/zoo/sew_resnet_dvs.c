/* sew_resnet_dvs.c - the SEW ResNet for DVS Gesture of W. Fang et al., "Deep residual learning in spiking neural
   networks", NeurIPS 2021: seven blocks, whose spikes join the shortcut's by ADD, AND or IAND. SPDX-License-Identifier:
   MIT */
#include "zoo.h"

#define PLIF "model=plif surrogate=atan detach_reset=1"

static void describe(synfire_network n, zoo_size size, const char *join) {
  const int width = channels(size, 32);
  int i;
  stage(n, "input", "events", "", "kind=spikes height=%d width=%d channels=2", size.side, size.side);
  for (i = 0; i < 7; ++i) {
    const char *const conv3 = text("output_channels=%d kernel=3 padding=1", width);
    layer(n, text("up%d", i), "", text("output_channels=%d", width), PLIF); /* 1 x 1 */
    layer(n, text("first%d", i), "", conv3, PLIF);
    layer(n, text("second%d", i), "", conv3, PLIF);
    stage(n, join, text("join%d", i), text("second%d up%d", i, i), "");
    if (size.side >> i > 1) stage(n, "pool", text("pool%d", i), "", "kind=max window=2");
  }
  stage(n, "flatten", "flat", "", "");
  dense(n, "classes", "", 11, "model=li");
  stage(n, "readout", "scores", "", "reduction=mean");
  classify(n, "scores");
}

void sew_resnet_dvs(synfire_network n, zoo_size size) {
  describe(n, size, "sum");
}
void sew_resnet_dvs_and(synfire_network n, zoo_size size) {
  describe(n, size, "and");
}
void sew_resnet_dvs_iand(synfire_network n, zoo_size size) {
  describe(n, size, "iand");
}
