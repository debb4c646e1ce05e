/* popsan.c - the actor of G. Tang et al., "Deep reinforcement learning with population-coded spiking neural network for
   continuous control", CoRL 2020, with the numbers of HalfCheetah. The loss is the program's.
   SPDX-License-Identifier: MIT */
#include "zoo.h"

#define LIF "model=cuba_lif tau=4 tau_syn=2 undecayed_input=1 v_threshold=0.5 strict_threshold=1 surrogate=rect"

/* 17 observations, each with 10 cells, stay for 5 steps; 6 actions are the means of 10 neurons each. */
void popsan(synfire_network n, zoo_size size) {
  stage(n, "input", "observation", "", "kind=values n_features=17 n_steps=1");
  stage(n, "population", "cells", "", "n_cells=10 sigma=0.387");
  stage(n, "neurons", "encoder", "", "model=if reset=soft v_threshold=0.999 strict_threshold=1 surrogate=rect");
  dense(n, "first", "", channels(size, 256), LIF);
  dense(n, "second", "", channels(size, 256), LIF);
  dense(n, "populations", "", 6 * 10, LIF);
  stage(n, "readout", "rates", "", "reduction=mean of_spikes=1");
  stage(n, "scale", "weights", "", "scope=neuron bias=1");
  stage(n, "group_mean", "actions", "", "group_size=10");
  stage(n, "optimizer", "adam", "", "kind=adam learning_rate=0.0001");
}
