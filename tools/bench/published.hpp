// published.hpp - networks that people have published, as docs/examples/zoo describes them, and networks of files.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_PUBLISHED_HPP
#define SYNFIRE_TOOLS_BENCH_PUBLISHED_HPP

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "machine.hpp"
#include "options.hpp"

namespace synfire_bench {

/// A description, and the size that is measured unless the command line says otherwise.
struct Published {
  std::string_view name;
  void (*describe)(synfire_network network, int side, int divisor);
  int side;
  std::uint64_t steps, batch;
};
std::span<const Published> published_networks();

/// Returns true if --network names a file that synfire_network_save() has written.
bool is_network_file(std::string_view name);

/// A network with random inputs and the graph of one mode: inference, or a step of training.
class PublishedNetwork {
 public:
  PublishedNetwork(const Machine& machine, const Published& published, const NetworkChoice& choice, bool training);
  PublishedNetwork(const Machine& machine, const std::string& file, const NetworkChoice& choice, bool training);

  std::uint64_t steps() const { return steps_; }
  std::uint64_t batch() const { return batch_; }
  const std::string& input() const { return input_; }  ///< "48x48x2"
  synfire_graph graph() const { return graph_.get(); }
  /// The graph's operations, as synfire_graph_write_dot() names them.
  std::vector<std::string> operations() const;
  void enable(std::size_t operation, bool enabled) const;
  /// Enables this operation of a graph whose operations are all disabled, and those without which it cannot run: those
  /// that write transient arrays for it, forwards before backwards, and what these need. Returns these others.
  std::vector<std::size_t> enable_with_needs(std::size_t operation) const;
  double device_mib() const;
  /// The share of neurons that spiked in the last step of training, over all steps, rows and layers.
  double spike_rate() const;

 private:
  struct StageLine {
    std::string name, kind, shape;
  };
  std::string summary() const;
  std::vector<StageLine> stages() const;
  Owned<synfire_buffer> buffer(const std::string& name) const;
  void begin(const Machine& machine, double input_percent, bool training);
  void set_data(const Machine& machine, const synfire_buffer_desc& input, double input_percent);

  Owned<synfire_network> network_;
  Owned<synfire_graph> graph_;
  std::uint64_t steps_ = 0, batch_ = 0;
  std::string input_;
};

}  // namespace synfire_bench

#endif
