// machine.hpp - a context, what it runs on, and handles that are destroyed by themselves.
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

/// A call of the library that failed; the text is the library's own.
struct CallFailed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// The backend that was asked for does not answer.
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
};
template <typename Handle>
using Owned = std::unique_ptr<std::remove_pointer_t<Handle>, Destroy>;

class Machine {
 public:
  /// Throws NoBackend. A fallback to the host is said on the error output, with its reason.
  Machine(std::int32_t backend, std::uint32_t threads, std::int32_t stream_priority = 0);

  synfire_context context() const { return context_.get(); }
  bool is_host() const { return properties_.backend == SYNFIRE_BACKEND_HOST; }
  const synfire_context_properties& properties() const { return properties_; }

  /// Arrays of this many bytes together are in no cache any more: three times the last cache, or more.
  std::uint64_t cold_bytes() const { return cold_bytes_; }
  /// What arrays of a sweep may take at most: 32 GiB on CUDA, 24 GiB on the host, or what there is.
  std::uint64_t memory_limit() const { return memory_limit_; }
  /// Throws where arrays would take more than nine tenths of a GPU's memory, or of the host memory that is free now:
  /// systems that promise more than there is end a program that uses it, without a word.
  void require_memory(double bytes) const;

  /// One line: library, device, driver.
  std::string description() const;

  /// Frees what was destroyed.
  void reclaim() const { check(synfire_context_reclaim(context(), nullptr), "synfire_context_reclaim"); }

 private:
  Owned<synfire_context> context_;
  synfire_context_properties properties_ = SYNFIRE_CONTEXT_PROPERTIES_INIT;
  std::uint64_t cold_bytes_ = 0;
  std::uint64_t memory_limit_ = 0;
};

/// Bytes of host memory that are free for use; 8 GiB where the system does not tell.
std::uint64_t available_host_memory();

}  // namespace synfire_bench

#endif
