// change_costs.cpp - the host time of a change between replays, and of the launch after it.
//
// SPDX-License-Identifier: MIT
#include "change_costs.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "distribution.hpp"
#include "replays.hpp"
#include "timing.hpp"

namespace synfire_bench {
namespace {

template <typename Change>
Cost cost_of(synfire_graph graph, std::uint64_t count, Change change) {
  std::vector<double> calls, launches;
  const double limit = now() + 0.2;
  for (std::uint64_t i = 0; i < count + count / 10; ++i) {
    std::uint64_t ticket = 0;
    const double begin = now();
    if (i > 0 && begin > limit) break;
    change(i);
    const double changed = now();
    check(synfire_graph_launch(graph, nullptr, &ticket), "synfire_graph_launch");
    const double launched = now();
    wait_for(graph, ticket, SYNFIRE_WAIT_SPIN);
    if (i < count / 10) continue;
    calls.push_back((changed - begin) * 1e9);
    launches.push_back((launched - changed) * 1e9);
  }
  return {Distribution(std::move(calls)).percentile(0.5), Distribution(std::move(launches)).percentile(0.5)};
}

// The graph with the value to change: one fill with one number.
struct Filling {
  Owned<synfire_buffer> buffer;
  Owned<synfire_graph> graph;
  std::int32_t operation = -1;

  explicit Filling(const Machine& machine) {
    synfire_buffer_desc memory = SYNFIRE_BUFFER_DESC_INIT;
    memory.n_elements = 1;
    synfire_buffer made = nullptr;
    check(synfire_buffer_create(machine.context(), &memory, &made), "synfire_buffer_create");
    buffer.reset(made);
    graph = make_graph(machine);
    synfire_graph const recorded = graph.get();
    synfire_fill_desc fill = SYNFIRE_FILL_DESC_INIT;
    fill.buffer = made;
    check(synfire_graph_record_fill(recorded, &fill), "synfire_graph_record_fill");
    check(synfire_graph_get_last_operation(recorded, &operation), "synfire_graph_get_last_operation");
    check(synfire_graph_instantiate(recorded), "synfire_graph_instantiate");
  }
};

}  // namespace

Costs measure_costs(const Machine& machine, const Chain& chain, std::uint64_t replays) {
  const std::uint64_t count = std::clamp<std::uint64_t>(replays / 50, 1, 2000);
  Costs costs;
  const double taus[] = {2.0, 3.0};
  costs.parameter = cost_of(chain.graph(), count, [&](std::uint64_t i) {
    check(synfire_layer_set_parameter(chain.first_layer(), "tau", &taus[(i + 1) % 2], 1),
          "synfire_layer_set_parameter");
  });
  check(synfire_layer_set_parameter(chain.first_layer(), "tau", &taus[0], 1), "synfire_layer_set_parameter");
  // Two calls, off and on again; the result is per call.
  costs.enabled = cost_of(chain.graph(), count, [&](std::uint64_t) {
    check(synfire_graph_set_enabled(chain.graph(), chain.last_operation(), 0), "synfire_graph_set_enabled");
    check(synfire_graph_set_enabled(chain.graph(), chain.last_operation(), 1), "synfire_graph_set_enabled");
  });
  costs.enabled.call /= 2;
  const Filling filling(machine);
  costs.value = cost_of(filling.graph.get(), count, [&](std::uint64_t i) {
    check(synfire_graph_set_value(filling.graph.get(), filling.operation, "value", static_cast<double>(i % 7)),
          "synfire_graph_set_value");
  });
  std::vector<double> of_neurons(chain.shape().neurons, taus[0]);
  costs.neurons = cost_of(chain.graph(), count, [&](std::uint64_t i) {
    of_neurons[i % of_neurons.size()] = taus[i % 2];
    check(synfire_layer_set_parameter(chain.first_layer(), "tau", of_neurons.data(), of_neurons.size()),
          "synfire_layer_set_parameter");
  });
  check(synfire_layer_set_parameter(chain.first_layer(), "tau", &taus[0], 1), "synfire_layer_set_parameter");
  return costs;
}

}  // namespace synfire_bench
