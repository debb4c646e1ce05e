// bare.hpp - CUDA without Synfire, for comparison: the same kernels as a plain CUDA graph, and kernels that load the
// GPU.
//
// Implemented by bare_cuda.cu if the library has its CUDA backend, else by bare_none.cpp, which creates nothing.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_BARE_HPP
#define SYNFIRE_TOOLS_BENCH_BARE_HPP

#include <cstdint>
#include <memory>

#include "chain.hpp"
#include "machine.hpp"

namespace synfire_bench {

/// How the host detects the end of a bare graph. Both ways spin.
enum class Seen {
  query,   ///< cudaStreamQuery
  counter  ///< a number in mapped memory, written by an extra kernel at the end of the graph
};

/// The kernels of a chain, captured from its eager calls and instantiated by CUDA alone.
class BareGraph {
 public:
  /// `priority` is the stream's, which the nodes inherit.
  BareGraph(const Machine& machine, const Chain& chain, Seen seen, int priority);
  ~BareGraph();
  BareGraph(const BareGraph&) = delete;
  BareGraph& operator=(const BareGraph&) = delete;

  void launch();
  void wait();

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

/// The highest priority that the device has.
int highest_priority(const Machine& machine);

/// The priority of all kernels of an instantiated graph. Throws std::runtime_error if they differ.
int priority_of_nodes(const Machine& machine, const Chain& chain);

/// While it lives, it runs one kernel after another on a stream of priority 0. The kernels copy memory and occupy all
/// multiprocessors.
class Load {
 public:
  explicit Load(const Machine& machine);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  /// The number of kernels that have run so far. Throws std::runtime_error if one failed.
  std::uint64_t kernels() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace synfire_bench

#endif
