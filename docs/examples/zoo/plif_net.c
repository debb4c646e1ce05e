/* plif_net.c - W. Fang et al., "Incorporating learnable membrane time constant to enhance learning of spiking neural
   networks", ICCV 2021: the networks for CIFAR-10, DVS Gesture and CIFAR10-DVS. SPDX-License-Identifier: MIT */
#include "zoo.h"

#include <math.h>

#define PLIF "model=plif surrogate=atan detach_reset=1"

/* The leak of the neurons of a layer is one number, which learns. */
static void learn_leak(synfire_network n, const char *name) {
  check(synfire_network_train_parameter(n, name, "reciprocal_tau", 0, 1, 0, 1e-3, INFINITY));
}
static void block(synfire_network n, int i, const char *reads, int n_channels) {
  layer(n, text("conv%d", i), reads, text("output_channels=%d kernel=3 padding=1", n_channels), PLIF);
  learn_leak(n, text("conv%d", i));
}
/* Ten neurons vote for each class; their rates are the scores. */
static void vote(synfire_network n, int n_hidden, int n_classes) {
  stage(n, "flatten", "flat", "", "");
  stage(n, "dropout", "drop", "", "probability=0.5");
  dense(n, "hidden", "", n_hidden, PLIF);
  learn_leak(n, "hidden");
  stage(n, "dropout", "drop2", "", "probability=0.5");
  dense(n, "voters", "", 10 * n_classes, PLIF);
  learn_leak(n, "voters");
  stage(n, "group_mean", "votes", "", "group_size=10");
  stage(n, "readout", "rates", "", "reduction=mean");
  classify(n, "rates");
}

void plif_net(synfire_network n, zoo_size size) {
  int i;
  stage(n, "input", "image", "", "kind=values height=%d width=%d channels=3 n_steps=1", size.side, size.side);
  for (i = 0; i < 6; ++i) {
    block(n, i, "", channels(size, 256));
    if (i % 3 == 2) stage(n, "pool", text("pool%d", i), "", "kind=max window=2");
  }
  vote(n, channels(size, 2048), 10);
}

static void of_events(synfire_network n, zoo_size size, int n_blocks, int n_classes) {
  int i;
  stage(n, "input", "events", "", "kind=spikes height=%d width=%d channels=2", size.side, size.side);
  for (i = 0; i < n_blocks; ++i) {
    block(n, i, "", channels(size, 128));
    stage(n, "pool", text("pool%d", i), "", "kind=max window=2");
  }
  vote(n, channels(size, 512), n_classes);
}
void dvs_gesture_net(synfire_network n, zoo_size size) {
  of_events(n, size, 5, 11);
}
void cifar10_dvs_net(synfire_network n, zoo_size size) {
  of_events(n, size, 4, 10);
}
