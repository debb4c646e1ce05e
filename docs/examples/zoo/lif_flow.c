/* lif_flow.c - optical flow from events: LIF-FireNet and LIF-EV-FlowNet of J. Hagenaars, F. Paredes-Valles and G. de
   Croon, "Self-supervised learning of event-based optical flow with spiking neural networks", NeurIPS 2021. The loss is
   the program's. SPDX-License-Identifier: MIT */
#include "zoo.h"

/* PLIF's reciprocal_tau is 1 minus the leak. Each channel learns a leak and a threshold; chosen here is that they begin
 * at 0.018 and 0.8. */
#define LIF "model=plif reciprocal_tau=0.982 v_threshold=0.8 strict_threshold=1 detach_reset=1 surrogate=atan"

static void learn_both(synfire_network n, const char *name) {
  learn(n, name, "reciprocal_tau", SYNFIRE_SCOPE_CHANNEL);
  learn(n, name, "v_threshold", SYNFIRE_SCOPE_CHANNEL);
}
static void conv(synfire_network n, const char *name, const char *reads, int width, int stride) {
  stage(n, "conv2d", text("%s-conv", name), reads, "output_channels=%d kernel=3 padding=1 bias=0 stride=%d", width,
        stride);
  stage(n, "neurons", name, "", LIF);
  learn_both(n, name);
}
/* Reads the stage before, and its own spikes of the step before. */
static void remember(synfire_network n, const char *name, int width) {
  const char *const values = text("output_channels=%d kernel=3 padding=1 bias=0", width);
  recurrent(n, name, "conv2d", values, values, LIF);
  learn_both(n, name);
}
/* Two layers and a shortcut of spikes or counts. */
static void residual(synfire_network n, const char *name, const char *reads, int width) {
  conv(n, text("%s-a", name), reads, width, 1);
  conv(n, text("%s-b", name), "", width, 1);
  stage(n, "sum", name, text("%s-b %s", name, reads), "");
}
static void events(synfire_network n, zoo_size size) {
  stage(n, "input", "events", "", "kind=spikes height=%d width=%d channels=2", size.side, size.side);
}
static void optimizer(synfire_network n) {
  stage(n, "optimizer", "adam", "", "kind=adam learning_rate=0.0002");
}

/* Chosen here are windows of 10 steps and the learning rate. The paper's events are counts; here there is one of each
 * sign at most. Its tanh after the flow is left to the program. */
void lif_firenet(synfire_network n, zoo_size size) {
  const int width = channels(size, 32);
  events(n, size);
  conv(n, "first", "", width, 1);
  remember(n, "memory1", width);
  residual(n, "block1", "memory1", width);
  remember(n, "memory2", width);
  residual(n, "block2", "memory2", width);
  head(n, "flow", "block2", "output_channels=2 kernel=1");
  optimizer(n);
}

/* A U-Net with flow at four sizes; chosen here are 32 channels, twice as many at each smaller size. The paper enlarges
 * bilinearly; here neighbours are repeated. */
void lif_ev_flownet(synfire_network n, zoo_size size) {
  const int width = channels(size, 32);
  const char *from = "block2";
  int i;
  events(n, size);
  for (i = 0; i < 4; ++i) {
    conv(n, text("down%d", i), "", width << i, 2);
    remember(n, text("memory%d", i), width << i);
  }
  residual(n, "block1", "memory3", width << 3);
  residual(n, "block2", "block1", width << 3);
  for (i = 3; i >= 0; --i) {
    const char *const flow = i < 3 ? text("flow%d-conv", i + 1) : "";
    stage(n, "concatenate", text("joined%d", i), text("%s memory%d %s", from, i, flow), "");
    stage(n, "upsample", text("larger%d", i), "", "");
    from = text("up%d", i);
    conv(n, from, "", i > 0 ? width << (i - 1) : width / 2 + width % 2, 1);
    head(n, text("flow%d", i), from, "output_channels=2 kernel=1");
  }
  optimizer(n);
}
