/* nir_nmnist.c - the network for N-MNIST of J. Pedersen et al., "Neuromorphic intermediate representation", Nature
   Communications 2024: sums in place of maxima. SPDX-License-Identifier: MIT */
#include "zoo.h"

/* Neurons of NIR fire above the threshold, not at it. */
#define IF "model=if strict_threshold=1 surrogate=atan"

static void conv(synfire_network n, const char *name, const char *values) {
  stage(n, "conv2d", text("%s-conv", name), "", "%s bias=0", values);
  stage(n, "neurons", name, "", IF);
}

/* The 34 x 34 pixels of a camera become 16 x 16, 8 x 8 and 4 x 4. */
void nir_nmnist(synfire_network n, zoo_size size) {
  stage(n, "input", "events", "", "kind=spikes height=%d width=%d channels=2", size.side, size.side);
  conv(n, "one", text("output_channels=%d kernel=5 stride=2 padding=1", channels(size, 16)));
  conv(n, "two", text("output_channels=%d kernel=3 padding=1", channels(size, 16)));
  stage(n, "pool", "sum", "", "kind=sum window=2");
  conv(n, "three", text("output_channels=%d kernel=3 padding=1", channels(size, 8)));
  stage(n, "pool", "sum2", "", "kind=sum window=2");
  stage(n, "flatten", "flat", "", "");
  dense(n, "hidden", "", channels(size, 256), IF);
  dense(n, "classes", "", 10, IF);
  stage(n, "readout", "rates", "", "reduction=mean of_spikes=1");
  classify(n, "rates");
}
