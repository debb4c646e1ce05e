/* nir_braille.c - the networks that read Braille by touch of J. Pedersen et al., "Neuromorphic intermediate
   representation", Nature Communications 2024. SPDX-License-Identifier: MIT */
#include "zoo.h"

/* The paper searched for the decays of current and membrane. Chosen here is 0.75 for all: time constants of 4 steps. */
#define LIF "model=cuba_lif tau=4 tau_syn=4 undecayed_input=1 strict_threshold=1 surrogate=super_spike"

/* 12 sensors of touch for 256 steps, 7 letters. */
static void braille(synfire_network n, int width, int bias, const char *neurons) {
  const char *const hidden = text("n_outputs=%d bias=%d", width, bias);
  stage(n, "input", "touch", "", "kind=spikes n_features=12");
  recurrent(n, "hidden", "synapse", hidden, hidden, neurons);
  stage(n, "synapse", "letters-synapse", "", "n_outputs=7 bias=%d", bias);
  stage(n, "neurons", "letters", "", "%s", neurons);
  stage(n, "readout", "rates", "", "reduction=mean of_spikes=1");
  classify(n, "rates");
}

/* With biases, and a reset to 0. */
void nir_braille(synfire_network n, zoo_size size) {
  braille(n, channels(size, 38), 1, LIF " reset=hard");
}
/* Without biases, and a reset that takes the threshold off. */
void nir_braille_subtract(synfire_network n, zoo_size size) {
  braille(n, channels(size, 40), 0, LIF " reset=soft");
}
