/* vggsnn.c - VGGSNN of S. Deng et al., "Temporal efficient training of spiking neural network via gradient
   re-weighting", ICLR 2022, for CIFAR10-DVS. SPDX-License-Identifier: MIT */
#include "zoo.h"

void vggsnn(synfire_network n, zoo_size size) {
  static const int widths[] = {64, 128, 0, 256, 256, 0, 512, 512, 0, 512, 512, 0}; /* 0: a pool */
  int i;
  stage(n, "input", "events", "", "kind=spikes height=%d width=%d channels=2", size.side, size.side);
  for (i = 0; i < 12; ++i) {
    if (widths[i] == 0) {
      stage(n, "pool", text("pool%d", i), "", "kind=mean window=2");
      continue;
    }
    stage(n, "conv2d", text("conv%d", i), "", "output_channels=%d kernel=3 padding=1", channels(size, widths[i]));
    stage(n, "normalization", text("norm%d", i), "", "");
    stage(n, "neurons", text("lif%d", i), "", "model=lif tau=2 undecayed_input=1 surrogate=piecewise_quadratic");
  }
  stage(n, "flatten", "flat", "", "");
  /* The scores of each step; their mean is the output. */
  stage(n, "synapse", "classifier", "", "n_outputs=10");
  stage(n, "flatten", "scores", "", "");
  stage(n, "readout", "mean", "", "reduction=mean");
  classify(n, "mean");
}
