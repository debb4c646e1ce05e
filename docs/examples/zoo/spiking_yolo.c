/* spiking_yolo.c - a converted YOLOv3, as in S. Kim et al., "Spiking-YOLO: spiking neural network for energy-efficient
   object detection", AAAI 2020: integrate-and-fire neurons with a soft reset, in the shape of the tiny YOLOv3. Boxes,
   and their loss, are the program's. SPDX-License-Identifier: MIT */
#include "zoo.h"

#define IF "model=if reset=soft surrogate=atan"
#define OUTPUTS 75 /* three anchors: a box, an object, 20 classes */

static void conv(synfire_network n, const char *name, const char *reads, int width, int kernel) {
  stage(n, "conv2d", text("%s-conv", name), reads, "output_channels=%d kernel=%d padding=%d", width, kernel,
        kernel / 2);
  stage(n, "neurons", name, "", IF);
}

void spiking_yolo(synfire_network n, zoo_size size) {
  int i;
  /* A constant current for all steps: the convolution of the image is computed once. */
  stage(n, "input", "image", "", "kind=values height=%d width=%d channels=3 n_steps=1", size.side, size.side);
  for (i = 0; i < 5; ++i) {
    conv(n, text("conv%d", i), "", channels(size, 16 << i), 3);
    if (i < 4) stage(n, "pool", text("pool%d", i), "", "kind=max window=2");
  }
  stage(n, "pool", "pool4", "", "kind=max window=2");
  conv(n, "conv5", "", channels(size, 512), 3);
  stage(n, "pad", "border", "", "right=1 bottom=1");
  stage(n, "pool", "pool5", "", "kind=max window=2 stride=1");
  conv(n, "conv6", "", channels(size, 1024), 3);
  conv(n, "neck", "", channels(size, 256), 1);
  conv(n, "conv7", "", channels(size, 512), 3);
  head(n, "coarse", "", text("output_channels=%d", OUTPUTS));
  conv(n, "route", "neck", channels(size, 128), 1);
  stage(n, "upsample", "larger", "", "");
  stage(n, "concatenate", "both", "larger conv4", "");
  conv(n, "conv8", "", channels(size, 256), 3);
  head(n, "fine", "", text("output_channels=%d", OUTPUTS));
  stage(n, "optimizer", "sgd", "", "kind=sgd learning_rate=0.001");
}
