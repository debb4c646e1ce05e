/* srnn.c - the network for the Spiking Heidelberg Digits of B. Yin, F. Corradi and S. Bohte, "Accurate and efficient
   time-domain classification with adaptive spiking recurrent neural networks", Nature Machine Intelligence 2021.
   SPDX-License-Identifier: MIT */
#include "zoo.h"

/* The paper has the rules of the neurons, beta and the surrogate, which its program multiplies by a further 0.5. Chosen
 * here are b0 = 0.01 and the time constants to begin with: 20 steps of the membrane, 1/(1 - exp(-1/20)), and 150 of the
 * threshold, exp(-1/150). */
#define ALIF                                                                                              \
  "model=alif tau=20.5042 rho=0.993356 beta_a=1.8 v_threshold=0.01 reset=soft_delayed strict_threshold=1" \
  " surrogate=multi_gaussian"

/* A cochlea of 700 channels. The paper has several sizes; chosen here are 250 steps of 4 ms and two recurrent layers of
 * 128. Each neuron learns its time constants. */
void srnn_shd(synfire_network n, zoo_size size) {
  int i;
  const char *const outputs = text("n_outputs=%d", channels(size, 128));
  stage(n, "input", "cochlea", "", "kind=spikes n_features=700");
  for (i = 0; i < 2; ++i) {
    const char *const name = text("hidden%d", i);
    recurrent(n, name, "synapse", outputs, outputs, ALIF);
    learn(n, name, "tau", SYNFIRE_SCOPE_NEURON);
    learn(n, name, "rho", SYNFIRE_SCOPE_NEURON);
  }
  dense(n, "classes", "", 20, "model=li tau=20.5042");
  learn(n, "classes", "tau", SYNFIRE_SCOPE_NEURON);
  stage(n, "readout", "potentials", "", "reduction=mean");
  classify(n, "potentials");
}
