/* policy.c - a policy gradient: sixteen carts on a line learn to come to rest in the middle. The loss is the program's
   own. SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <synfire/synfire.h>
enum { CARTS = 16, TICKS = 24, EPISODES = 300 };
static void check(synfire_status status) {
  char text[512];
  if (status < 0 && synfire_last_error(text, sizeof text, NULL) > 0) fprintf(stderr, "%s\n", text);
  if (status < 0) exit(EXIT_FAILURE);
}
/* Numbers from 0 to 1, the same in every language. */
static double drawn(uint32_t *state) {
  *state = *state * 1664525U + 1013904223U;
  return (double)(*state >> 8) / 16777216.0;
}
static void *memory_of(synfire_network network, const char *name) {
  synfire_buffer buffer;
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  check(synfire_network_get_buffer(network, name, &buffer));
  check(synfire_buffer_get_desc(buffer, &desc));
  synfire_buffer_destroy(buffer); /* the network has it */
  return desc.data;
}
static void replay(synfire_graph graph) {
  uint64_t ticket;
  check(synfire_graph_launch(graph, NULL, &ticket));
  check(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_SPIN, -1));
}
/* The probability of a push to the right, and its slope. */
static double right(double z, double *slope) {
  const double size = 1 + (z < 0 ? -z : z);
  *slope = 0.5 / (size * size);
  return 0.5 + 0.5 * (z / size);
}
int main(void) {
  static float frames[TICKS][CARTS * 2];
  static double rewards[TICKS + 1][CARTS], baseline[TICKS];
  static int pushes[TICKS][CARTS];
  const synfire_network_desc desc = {
      .struct_size = sizeof desc, .n_steps = 8, .batch = CARTS, .own_loss = SYNFIRE_OWN_LOSS_STARTS};
  const synfire_stage_value seen[] = {{"kind", "values", 0}, {"n_features", NULL, 2}, {"n_steps", NULL, 1}};
  synfire_stage_desc input = SYNFIRE_STAGE_DESC_INIT;
  synfire_context context;
  synfire_network network;
  synfire_graph forward, backward;
  uint32_t state = 1;
  double sum = 0;
  input.kind = "input", input.name = "cart", input.values = seen, input.n_values = 3;
  check(synfire_context_create(NULL, &context)); /* a GPU if there is one, else the host */
  check(synfire_network_create(context, &desc, &network));
  check(synfire_network_add_stage(network, &input));
  check(synfire_network_add_synapse(network, "first", 32));
  check(synfire_network_set_value(network, "first", "gain", 3));
  check(synfire_network_add_neurons(network, "hidden", SYNFIRE_MODEL_LIF));
  check(synfire_network_add_synapse(network, "second", 1));
  check(synfire_network_add_neurons(network, "potential", SYNFIRE_MODEL_LI));
  check(synfire_network_add_readout(network, "push", SYNFIRE_READOUT_MEAN, 0));
  check(synfire_network_add_optimizer(network, "adam", SYNFIRE_OPTIMIZER_KIND_ADAM, 0.003));
  check(synfire_network_build(network));
  check(synfire_network_get_graph(network, SYNFIRE_NETWORK_GRAPH_FORWARD, &forward));
  check(synfire_network_get_graph(network, SYNFIRE_NETWORK_GRAPH_BACKWARD, &backward));
  float *const in = memory_of(network, "input"), *const out = memory_of(network, "output"),
               *const gradient = memory_of(network, "push.gradient");
  for (int episode = 1; episode <= EPISODES; ++episode) {
    double x[CARTS], v[CARTS], slope;
    for (int i = 0; i < CARTS; ++i) x[i] = 2 * drawn(&state) - 1, v[i] = drawn(&state) - 0.5;
    for (int t = 0; t < TICKS; ++t) {
      for (size_t i = 0; i < CARTS; ++i) in[2 * i] = frames[t][2 * i] = (float)x[i];
      for (size_t i = 0; i < CARTS; ++i) in[2 * i + 1] = frames[t][2 * i + 1] = (float)v[i];
      replay(forward);
      for (int i = 0; i < CARTS; ++i) {
        pushes[t][i] = drawn(&state) < right((double)out[i], &slope);
        v[i] = 0.95 * v[i] + (pushes[t][i] ? 0.15 : -0.15);
        x[i] += 0.2 * v[i];
        rewards[t][i] = -(x[i] * x[i]);
        sum += rewards[t][i];
      }
    }
    for (int t = TICKS - 1; t >= 0; --t) { /* the reward of a push is all that follows it: from the last to the first */
      double mean = 0;
      for (int i = 0; i < CARTS; ++i) rewards[t][i] += 0.8 * rewards[t + 1][i], mean += rewards[t][i] / CARTS;
      baseline[t] = episode == 1 ? mean : 0.9 * baseline[t] + 0.1 * mean;
      for (int i = 0; i < 2 * CARTS; ++i) in[i] = frames[t][i];
      replay(forward);
      for (int i = 0; i < CARTS; ++i) {
        const double p = right((double)out[i], &slope), of_push = pushes[t][i] ? slope / p : -slope / (1 - p);
        gradient[i] = (float)(-(rewards[t][i] - baseline[t]) * of_push / CARTS);
      }
      replay(backward);
    }
    if (episode % 50 == 0) printf("episodes to %d: reward %.9f\n", episode, sum / (50.0 * TICKS * CARTS));
    if (episode % 50 == 0) sum = 0;
  }
  synfire_graph_destroy(forward);
  synfire_graph_destroy(backward);
  synfire_network_destroy(network);
  synfire_context_destroy(context);
}
