/* neurobench_speech.c - the network for keyword spotting of NeuroBench (J. Yik et al., 2023): 20 cochlear channels,
   three hidden layers. SPDX-License-Identifier: MIT */
#include "zoo.h"

#define LIF "model=lif tau=10 undecayed_input=1 reset=soft_delayed strict_threshold=1 surrogate=super_spike"

void neurobench_speech(synfire_network n, zoo_size size) {
  int i;
  stage(n, "input", "cochlea", "", "kind=spikes n_features=20");
  for (i = 0; i < 3; ++i) dense(n, text("hidden%d", i), "", channels(size, 256), LIF);
  dense(n, "classes", "", 35, LIF);
  stage(n, "readout", "rates", "", "reduction=mean of_spikes=1");
  classify(n, "rates");
}
