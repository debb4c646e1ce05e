/* tiny_snn.c - the controller of a drone that lands by optical flow of J. Hagenaars et al., "Evolved neuromorphic
   control for high speed divergence-based landings of MAVs", IEEE Robotics and Automation Letters 2020, which TinySNN
   runs on board. The loss is the program's. SPDX-License-Identifier: MIT */
#include "zoo.h"

/* Each neuron has a decay and a threshold of its own, which adapts to its spikes. Evolution found them; chosen here are
 * numbers to begin with, and gradients train them. */
#define LIF "model=alif tau=5 rho=0.9 beta_a=1 v_threshold=0.5 strict_threshold=1 surrogate=atan"

/* The paper compares several sizes. Chosen here are the divergence and its rate, 20 hidden neurons, and the rate of
 * one, the thrust, over 10 steps. */
void tiny_snn(synfire_network n, zoo_size size) {
  const char *const names[] = {"hidden", "motor"}, *const learnt[] = {"tau", "rho", "beta_a", "v_threshold"};
  int i;
  stage(n, "input", "flow", "", "kind=values n_features=2");
  dense(n, names[0], "", channels(size, 20), LIF);
  dense(n, names[1], "", 1, LIF);
  for (i = 0; i < 8; ++i) learn(n, names[i / 4], learnt[i % 4], SYNFIRE_SCOPE_NEURON);
  stage(n, "readout", "thrust", "motor", "reduction=mean of_spikes=1");
  stage(n, "optimizer", "adam", "", "kind=adam learning_rate=0.001");
}
