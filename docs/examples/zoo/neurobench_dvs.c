/* neurobench_dvs.c - the network for DVS Gesture of NeuroBench: J. Yik et al., "NeuroBench: advancing neuromorphic
   computing through collaborative, fair and representative benchmarking", 2023. SPDX-License-Identifier: MIT */
#include "zoo.h"

#define LIF "model=lif tau=10 undecayed_input=1 reset=soft_delayed strict_threshold=1 surrogate=super_spike"

/* Neurons are those of snnTorch: the step after a spike takes the threshold off. The maximum is that of potentials: the
 * pool comes before the neurons. */
void neurobench_dvs(synfire_network n, zoo_size size) {
  int i;
  stage(n, "input", "events", "", "kind=spikes height=%d width=%d channels=2", size.side, size.side);
  for (i = 0; i < 3; ++i) {
    stage(n, "conv2d", text("conv%d", i), "", "output_channels=%d kernel=5 padding=2", channels(size, 16 << i));
    stage(n, "pool", text("pool%d", i), "", "kind=max window=2");
    stage(n, "neurons", text("lif%d", i), "", LIF);
  }
  stage(n, "flatten", "flat", "", "");
  dense(n, "classes", "", 11, LIF);
  stage(n, "readout", "rates", "", "reduction=mean of_spikes=1");
  classify(n, "rates");
}
