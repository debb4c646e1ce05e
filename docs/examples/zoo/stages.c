/* stages.c - stages of the networks of the zoo from short texts. SPDX-License-Identifier: MIT */
#include "zoo.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void check(synfire_status status) {
  char words[512];
  if (status < 0 && synfire_last_error(words, sizeof words, NULL) > 0) fprintf(stderr, "%s\n", words);
  if (status < 0) exit(EXIT_FAILURE);
}

const char *text(const char *format, ...) {
  static char texts[64][96];
  static int last;
  va_list arguments;
  last = (last + 1) % 64;
  va_start(arguments, format);
  vsnprintf(texts[last], sizeof texts[last], format, arguments);
  va_end(arguments);
  return texts[last];
}

int channels(zoo_size size, int published) {
  return published > size.divisor ? published / size.divisor : 1;
}

void stage(synfire_network network, const char *kind, const char *name, const char *reads, const char *values, ...) {
  char of_inputs[256], of_values[256], *next, *end;
  synfire_stage_input inputs[16];
  synfire_stage_value given[16];
  synfire_stage_desc desc = SYNFIRE_STAGE_DESC_INIT;
  va_list arguments;
  va_start(arguments, values);
  vsnprintf(of_values, sizeof of_values, values, arguments);
  va_end(arguments);
  snprintf(of_inputs, sizeof of_inputs, "%s", reads);
  desc.kind = kind;
  desc.name = name;
  desc.inputs = inputs;
  desc.values = given;
  for (next = strtok(of_inputs, " "); next && desc.n_inputs < 16; next = strtok(NULL, " ")) {
    synfire_stage_input *const input = &inputs[desc.n_inputs++];
    char *const delay = strchr(next, '@'), *const port = strchr(next, ':');
    if (delay) *delay = 0;
    if (port) *port = 0;
    input->stage = next;
    input->port = port ? port + 1 : NULL;
    input->delay = delay ? strtol(delay + 1, NULL, 10) : 0;
  }
  for (next = strtok(of_values, " "); next && desc.n_values < 16; next = strtok(NULL, " ")) {
    synfire_stage_value *const value = &given[desc.n_values++];
    char *const is = strchr(next, '=');
    *is = 0;
    value->name = next;
    value->number = strtod(is + 1, &end);
    value->text = *end ? is + 1 : NULL;
  }
  check(synfire_network_add_stage(network, &desc));
}

void layer(synfire_network network, const char *name, const char *reads, const char *convolution, const char *neurons) {
  stage(network, "conv2d", text("%s-conv", name), reads, "%s bias=0", convolution);
  stage(network, "normalization", text("%s-norm", name), "", "");
  stage(network, "neurons", name, "", "%s", neurons);
}

void head(synfire_network network, const char *name, const char *reads, const char *convolution) {
  stage(network, "conv2d", text("%s-conv", name), reads, "%s", convolution);
  stage(network, "flatten", text("%s-map", name), "", "");
  stage(network, "readout", name, "", "reduction=mean");
}

void dense(synfire_network network, const char *name, const char *reads, int n_outputs, const char *neurons) {
  stage(network, "synapse", text("%s-synapse", name), reads, "n_outputs=%d", n_outputs);
  stage(network, "neurons", name, "", "%s", neurons);
}

void recurrent(synfire_network network, const char *name, const char *kind, const char *synapse, const char *back,
               const char *neurons) {
  stage(network, kind, text("%s-in", name), "", "%s", synapse);
  stage(network, kind, text("%s-back", name), text("%s@1", name), "%s", back);
  stage(network, "sum", text("%s-x", name), text("%s-in %s-back", name, name), "");
  stage(network, "neurons", name, "", "%s", neurons);
}

void learn(synfire_network network, const char *name, const char *parameter, int32_t scope) {
  check(synfire_network_set_scope(network, name, parameter, scope));
  check(synfire_network_train_parameter(network, name, parameter, scope == SYNFIRE_SCOPE_NEURON, 1.0, 0.0, NAN, NAN));
}

void classify(synfire_network network, const char *readout) {
  stage(network, "loss", "loss", readout, "kind=cross_entropy");
  stage(network, "optimizer", "adam", "", "kind=adam learning_rate=0.001");
}
