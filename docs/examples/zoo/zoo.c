/* zoo.c - networks that people have published, described with synfire_network_add_stage().
 *
 *   zoo               lists them
 *   zoo NAME          prints the summary of one, in its published size
 *   zoo NAME small    makes it in a small size, computes a step of training, and prints what came of it
 *
 * SPDX-License-Identifier: MIT */
#include "zoo.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static synfire_network made(synfire_context context, const zoo_entry *entry, zoo_size size, int batch) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  synfire_network network;
  desc.n_steps = entry->n_steps;
  desc.batch = batch;
  desc.own_loss = SYNFIRE_OWN_LOSS_STARTS;
  check(synfire_network_create(context, &desc, &network));
  entry->describe(network, size);
  return network;
}

static void print_summary(synfire_network network) {
  uint64_t bytes = 0;
  char *summary;
  check(synfire_network_write_summary(network, NULL, &bytes));
  summary = malloc((size_t)bytes);
  if (!summary) exit(EXIT_FAILURE);
  check(synfire_network_write_summary(network, summary, &bytes));
  fputs(summary, stdout);
  free(summary);
}

static void replay(synfire_network network, int32_t kind) {
  synfire_graph graph;
  uint64_t ticket;
  check(synfire_network_get_graph(network, kind, &graph));
  check(synfire_graph_launch(graph, NULL, &ticket));
  check(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_BLOCK, -1));
  synfire_graph_destroy(graph);
}

int main(int argc, char **argv) {
  const zoo_entry *entry = NULL;
  synfire_context context;
  synfire_network network;
  int i;
  for (i = 0; i < n_zoo; ++i) {
    if (argc < 2) printf("%-22s %s\n", zoo[i].name, zoo[i].what);
    if (argc > 1 && strcmp(argv[1], zoo[i].name) == 0) entry = &zoo[i];
  }
  if (argc > 1 && !entry) fprintf(stderr, "there is no network \"%s\"\n", argv[1]);
  if (!entry) return argc > 1 ? EXIT_FAILURE : EXIT_SUCCESS;
  check(synfire_context_create(NULL, &context)); /* a GPU if there is one, else the host */
  network = made(context, entry, argc > 2 ? entry->small : entry->published, argc > 2 ? 2 : 1);
  print_summary(network);
  if (argc > 2) {
    check(synfire_network_build(network));
    replay(network, SYNFIRE_NETWORK_GRAPH_FORWARD); /* of zeros: nothing was written to the input */
    replay(network, SYNFIRE_NETWORK_GRAPH_BACKWARD);
    printf("%s: one step of training\n", entry->name);
  }
  synfire_network_destroy(network);
  synfire_context_destroy(context);
  return EXIT_SUCCESS;
}
