// commands.hpp - the commands of synfire-bench, one function each.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_COMMANDS_HPP
#define SYNFIRE_TOOLS_BENCH_COMMANDS_HPP

#include "options.hpp"

namespace synfire_bench {

void run_layer(const Options& options);
void run_sweep(const Options& options);
void run_tutorial(const Options& options);
void run_latency(const Options& options);
void run_network_latency(const Options& options);
void run_plot(const Options& options);
void run_context(const Options& options);
void run_data(const Options& options);
void run_events(const Options& options);
void run_network(const Options& options);
void run_conv2d(const Options& options);
void run_shapes(const Options& options);
void run_loaded(const Options& options);

}  // namespace synfire_bench

#endif
