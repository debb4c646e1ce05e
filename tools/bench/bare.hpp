// bare.hpp - CUDA without Synfire, for comparison: the same kernels as a graph of CUDA's own, and kernels that fill the
// GPU.
//
// Built from bare_cuda.cu where the library has its CUDA backend, else from bare_none.cpp, where nothing of it can be
// made.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_BARE_HPP
#define SYNFIRE_TOOLS_BENCH_BARE_HPP

#include <cstdint>
#include <memory>

#include "chain.hpp"
#include "machine.hpp"

namespace synfire_bench {

/// How the end of a bare graph is seen, by spinning each time.
enum class Seen {
  query,   ///< cudaStreamQuery
  counter  ///< a number in mapped memory, written by one kernel more at the graph's end
};

/// A chain's kernels, captured from its eager calls and instantiated by CUDA alone.
class BareGraph {
 public:
  /// `priority` is the stream's, and with it the nodes'.
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

/// The most urgent priority that the device has.
int highest_priority(const Machine& machine);

/// The priority that every kernel of an instantiated graph carries; throws std::runtime_error if they differ.
int priority_of_nodes(const Machine& machine, const Chain& chain);

/// While it lives, kernels that copy memory follow each other on a stream of priority 0, with work for all
/// multiprocessors.
class Load {
 public:
  explicit Load(const Machine& machine);
  ~Load();
  Load(const Load&) = delete;
  Load& operator=(const Load&) = delete;

  /// Throws std::runtime_error if a kernel failed; how many have run so far.
  std::uint64_t kernels() const;

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace synfire_bench

#endif
