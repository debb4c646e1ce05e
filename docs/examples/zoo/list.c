/* list.c - the networks of the zoo. SPDX-License-Identifier: MIT */
#include "zoo.h"

zoo_describe plif_net, dvs_gesture_net, cifar10_dvs_net, vggsnn, sew_resnet_dvs, sew_resnet_dvs_and,
    sew_resnet_dvs_iand, sew_resnet18, ms_resnet, ems_yolo, spiking_mobilenet_ssd, spiking_densenet_ssd, stereo_spike,
    spike_flownet, neurobench_dvs, neurobench_speech, nir_nmnist, popsan, spiking_yolo, srnn_shd, nir_braille,
    nir_braille_subtract, tiny_snn, lif_firenet, lif_ev_flownet;

/* Name, what it is, outputs without a loss, steps, the definition; the side and the divisor of channels as published
 * and small. */
const zoo_entry zoo[] = {
    {"plif-net", "images, PLIF neurons, voting", "", 8, plif_net, {32, 1}, {8, 64}},
    {"dvs-gesture-net", "gestures, PLIF neurons, voting", "", 20, dvs_gesture_net, {128, 1}, {32, 32}},
    {"cifar10-dvs-net", "objects, PLIF neurons, voting", "", 20, cifar10_dvs_net, {128, 1}, {16, 32}},
    {"vggsnn", "objects, mean pools", "", 10, vggsnn, {48, 1}, {16, 32}},
    {"sew-resnet-dvs", "gestures, shortcuts of spikes by ADD", "", 16, sew_resnet_dvs, {128, 1}, {16, 8}},
    {"sew-resnet-dvs-and", "the same by AND", "", 16, sew_resnet_dvs_and, {128, 1}, {8, 8}},
    {"sew-resnet-dvs-iand", "the same by IAND", "", 16, sew_resnet_dvs_iand, {128, 1}, {8, 8}},
    {"sew-resnet18", "ImageNet, shortcuts of spikes by ADD", "", 4, sew_resnet18, {224, 1}, {32, 16}},
    {"ms-resnet", "images, shortcuts of potentials", "", 6, ms_resnet, {32, 1}, {16, 16}},
    {"ems-yolo", "detection, shortcuts of potentials", "coarse fine", 5, ems_yolo, {320, 1}, {16, 16}},
    {"mobilenet-ssd",
     "detection from events, depthwise",
     "head0 head1 head2",
     5,
     spiking_mobilenet_ssd,
     {240, 1},
     {16, 16}},
    {"densenet-ssd",
     "detection from events, concatenations",
     "head0 head1 head2",
     5,
     spiking_densenet_ssd,
     {240, 1},
     {16, 16}},
    {"stereo-spike", "depth from two event cameras", "map", 5, stereo_spike, {256, 1}, {16, 16}},
    {"spike-flownet", "optical flow from events", "flow4 flow3 flow2 flow1", 10, spike_flownet, {256, 1}, {16, 16}},
    {"neurobench-dvs", "gestures, maxima before the neurons", "", 100, neurobench_dvs, {32, 1}, {8, 4}},
    {"neurobench-speech", "keywords, dense", "", 201, neurobench_speech, {1, 1}, {1, 16}},
    {"nir-nmnist", "digits, sums in place of maxima", "", 300, nir_nmnist, {34, 1}, {18, 4}},
    {"popsan", "a robot's actor, population codes", "actions", 5, popsan, {1, 1}, {1, 16}},
    {"spiking-yolo", "detection, converted", "coarse fine", 16, spiking_yolo, {416, 1}, {32, 16}},
    {"srnn-shd", "digits spoken, recurrent, thresholds that adapt", "", 250, srnn_shd, {1, 1}, {1, 8}},
    {"nir-braille", "touch, recurrent, currents", "", 256, nir_braille, {1, 1}, {1, 4}},
    {"nir-braille-subtract", "the same with a soft reset", "", 256, nir_braille_subtract, {1, 1}, {1, 4}},
    {"tiny-snn", "a drone's controller, thresholds that adapt", "thrust", 10, tiny_snn, {1, 1}, {1, 2}},
    {"lif-firenet", "optical flow, recurrent convolutions", "flow", 10, lif_firenet, {128, 1}, {9, 8}},
    {"lif-ev-flownet",
     "optical flow, a recurrent U-Net",
     "flow3 flow2 flow1 flow0",
     10,
     lif_ev_flownet,
     {128, 1},
     {16, 8}}};

const int n_zoo = (int)(sizeof zoo / sizeof *zoo);
