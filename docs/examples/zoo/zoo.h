/* zoo.h - what the definitions of published networks share. SPDX-License-Identifier: MIT */
#ifndef SYNFIRE_EXAMPLES_ZOO_H
#define SYNFIRE_EXAMPLES_ZOO_H
#include <synfire/synfire.h>
#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(modernize-use-using): C has no other way. */
/* How large a network is: the side of its map, and by what its numbers of channels are divided. */
typedef struct zoo_size {
  int side, divisor;
} zoo_size;

/* Adds the stages of a network that has none. Those without a loss are trained by a gradient that the program writes.
 */
typedef void zoo_describe(synfire_network network, zoo_size size);
typedef struct zoo_entry {
  const char *name, *what;
  const char *heads; /* the outputs that have a gradient of the program's; "": there is a loss */
  int n_steps;
  zoo_describe *describe;
  zoo_size published, small;
} zoo_entry;
/* NOLINTEND(modernize-use-using) */
extern const zoo_entry zoo[];
extern const int n_zoo;

/* Adds a stage. `reads` has the names of stages, with spaces between them, each with ":v" for the V of neurons or
 * "@1" for their spikes of the step before; "" is the stage before. `values` are values by their names, "kernel=3
 * model=lif", in the format of printf. Ends the program with a text if that fails, as all functions here do. */
void stage(synfire_network network, const char *kind, const char *name, const char *reads, const char *values, ...);
/* A convolution without a bias, its normalisation "NAME-norm" and the neurons NAME. */
void layer(synfire_network network, const char *name, const char *reads, const char *convolution, const char *neurons);
/* A convolution whose mean over the steps is the output NAME. */
void head(synfire_network network, const char *name, const char *reads, const char *convolution);
/* A dense synapse of spikes or counts, and its neurons NAME. */
void dense(synfire_network network, const char *name, const char *reads, int n_outputs, const char *neurons);
/* Recurrent neurons NAME: they add up what a synapse, or convolution, of the stage before gives and, last, one of their
 * own spikes of the step before. */
void recurrent(synfire_network network, const char *name, const char *kind, const char *synapse, const char *back,
               const char *neurons);
/* Trains a parameter of neurons: one number for each of SYNFIRE_SCOPE_*. */
void learn(synfire_network network, const char *name, const char *parameter, int32_t scope);
/* A cross-entropy of a readout, and Adam. */
void classify(synfire_network network, const char *readout);
/* A text in the format of printf; the last 64 are kept. */
const char *text(const char *format, ...);
/* A number of channels, at least 1. */
int channels(zoo_size size, int published);
void check(synfire_status status);

#ifdef __cplusplus
}
#endif
#endif
