// machine.hpp - a context, the machine it runs on, and handles with an owner.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_MACHINE_HPP
#define SYNFIRE_TOOLS_BENCH_MACHINE_HPP

#include <synfire/synfire.h>

#include <cstdint>
#include <memory>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace synfire_bench {

/// A failed call of the library, with the library's own text.
struct CallFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The requested backend is not available.
struct NoBackend : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Throws CallFailed unless `status` is a success.
void check(synfire_status status, const char* call);

struct Destroy {
  void operator()(synfire_context context) const { synfire_context_destroy(context); }
  void operator()(synfire_layer layer) const { synfire_layer_destroy(layer); }
  void operator()(synfire_buffer buffer) const { synfire_buffer_destroy(buffer); }
  void operator()(synfire_graph graph) const { synfire_graph_destroy(graph); }
  void operator()(synfire_synapse synapse) const { synfire_synapse_destroy(synapse); }
  void operator()(synfire_model model) const { synfire_model_destroy(model); }
  void operator()(synfire_optimizer optimizer) const { synfire_optimizer_destroy(optimizer); }
  void operator()(synfire_network network) const { synfire_network_destroy(network); }
};
template <typename Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy>;

class Machine {
 public:
  /// Throws NoBackend. Reports a fallback to the host, with its reason, on standard error.
  Machine(std::int32_t backend, std::uint32_t threads, std::int32_t stream_priority = 0);

  synfire_context context() const { return context_.get(); }
  bool is_host() const { return properties_.backend == SYNFIRE_BACKEND_HOST; }
  const synfire_context_properties& properties() const { return properties_; }

  /// Arrays of this total size do not stay in any cache: three times the last-level cache, or more.
  std::uint64_t cold_bytes() const { return cold_bytes_; }
  /// The most memory that the arrays of a sweep may take: 32 GiB on CUDA, 24 GiB on the host, or what is available.
  std::uint64_t memory_limit() const { return memory_limit_; }
  /// Throws if arrays would take more than nine tenths of a GPU's memory, or of the available host memory: systems
  /// that overcommit memory kill a program that uses too much of it.
  void require_memory(double bytes) const;

  /// One line: library, device, driver.
  std::string description() const;

  /// Frees the memory of destroyed objects.
  void reclaim() const { check(synfire_context_reclaim(context(), nullptr), "synfire_context_reclaim"); }

 private:
  Owned<synfire_context> context_;
  synfire_context_properties properties_ = SYNFIRE_CONTEXT_PROPERTIES_INIT;
  std::uint64_t cold_bytes_ = 0;
  std::uint64_t memory_limit_ = 0;
};

/// A layer, and an empty graph.
Owned<synfire_layer> make_layer(const Machine& machine, const synfire_layer_desc& desc);
Owned<synfire_graph> make_graph(const Machine& machine);

/// Available host memory in bytes; 8 GiB if the system does not report it.
std::uint64_t available_host_memory();

}  // namespace synfire_bench

#endif
