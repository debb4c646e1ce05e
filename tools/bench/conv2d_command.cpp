// conv2d_command.cpp - `synfire-bench conv2d`: the product of a convolution and its two gradients, each alone.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "commands.hpp"
#include "inputs.hpp"
#include "machine.hpp"
#include "record.hpp"
#include "timing.hpp"

namespace synfire_bench {
namespace {

constexpr std::uint64_t seed_of_spikes = 21, seed_of_gradients = 22, seed_of_weights = 23;
constexpr std::uint64_t passes_alone = 4;        // of one operation in its graph
constexpr double most_multiply_adds_host = 4e9;  // of the shapes that the host measures unasked

constexpr Column columns[] = {
    {"library", nullptr},
    {"device", nullptr},
    {"shape", "shape", 0, 9},
    {"map", "map", 0, 11},
    {"output", "output", 0, 11},
    {"kernel", "kernel", 0, 6},
    {"stride", "stride", 0, 6},
    {"groups", "groups", 0, 6},
    {"steps", "T"},
    {"batch", "B"},
    {"operation", "operation", 0, 15},
    {"median_us", "median us", 2, 10},
    {"min_us", "min", 2, 9},
    {"max_us", "max", 2, 9},
    {"giga_multiply_adds_per_s", "G madd/s", 0, 9},
    {"bytes", nullptr},
    {"gb_per_s", "GB/s", 1, 8},
    {"copy_gb_per_s", nullptr},
};

std::int64_t count(std::uint64_t number) {
  return static_cast<std::int64_t>(number);
}

std::string map_text(std::uint64_t height, std::uint64_t width, std::uint64_t channels) {
  return std::to_string(height) + "x" + std::to_string(width) + "x" + std::to_string(channels);
}

// A convolution of spikes with its arrays, and graphs of one operation each.
class Convolution {
 public:
  Convolution(const Machine& machine, const Conv2dShape& shape, double rate) : machine_(machine), shape_(shape) {
    synfire_conv2d_desc desc = SYNFIRE_CONV2D_DESC_INIT;
    desc.height = count(shape.height);
    desc.width = count(shape.width);
    desc.channels = count(shape.channels);
    desc.output_channels = count(shape.output_channels);
    desc.kernel_height = desc.kernel_width = count(shape.kernel);
    desc.stride_y = desc.stride_x = count(shape.stride);
    desc.padding_y = desc.padding_x = count(shape.padding);
    desc.groups = count(shape.groups);
    desc.bias = 1;
    desc.seed = seed_of_weights;
    synfire_synapse synapse = nullptr;
    check(synfire_synapse_create_conv2d(machine.context(), &desc, &synapse), "synfire_synapse_create_conv2d");
    synapse_.reset(synapse);
    machine.require_memory(static_cast<double>(shape.rows() * (4 * shape.inputs() + 8 * shape.outputs())));
    make_arrays(rate);
  }

  /// `bytes` must move once, weights not counted: spikes in bits, outputs and gradients in f32.
  struct Measured {
    const char* name;
    Owned<synfire_graph> graph;
    double bytes;
  };
  std::vector<Measured> operations() const {
    const std::uint64_t row = 4 * shape_.rows();
    const auto spikes = static_cast<double>(row * words()), outputs = static_cast<double>(row * shape_.outputs()),
               inputs = static_cast<double>(row * shape_.inputs());
    std::vector<Measured> list;
    list.push_back({"product", graph_of(Pass::product), spikes + outputs});
    list.push_back({"weight gradient", graph_of(Pass::weight_gradient), spikes + outputs});
    list.push_back({"input gradient", graph_of(Pass::input_gradient), inputs + outputs});
    return list;
  }

 private:
  enum class Pass { product, weight_gradient, input_gradient };

  std::uint64_t words() const { return (shape_.inputs() + 31) / 32; }

  Owned<synfire_buffer> make_buffer(std::int32_t dtype, std::uint64_t elements) const {
    synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
    desc.dtype = dtype;
    desc.n_elements = elements;
    synfire_buffer buffer = nullptr;
    check(synfire_buffer_create(machine_.context(), &desc, &buffer), "synfire_buffer_create");
    return Owned<synfire_buffer>(buffer);
  }

  void make_arrays(double rate) {
    const std::uint64_t inputs = shape_.inputs(), outputs = shape_.outputs();
    spikes_ = make_buffer(SYNFIRE_DTYPE_BITS, shape_.rows() * words());
    output_ = make_buffer(SYNFIRE_DTYPE_F32, shape_.rows() * outputs);
    grad_input_ = make_buffer(SYNFIRE_DTYPE_F32, shape_.rows() * inputs);
    grad_output_ = make_buffer(SYNFIRE_DTYPE_F32, shape_.rows() * outputs);
    fill_random(machine_, grad_output_.get(), dtypes[0], dtypes[0], shape_.rows() * outputs, -1, 1, seed_of_gradients);
    const Owned<synfire_buffer> rates = make_buffer(SYNFIRE_DTYPE_F32, shape_.batch * inputs);
    check(synfire_buffer_fill(rates.get(), rate), "synfire_buffer_fill");
    synfire_encode_bernoulli_desc encode = SYNFIRE_ENCODE_BERNOULLI_DESC_INIT;
    encode.n_steps = count(shape_.steps);
    encode.batch = count(shape_.batch);
    encode.n_neurons = count(inputs);
    encode.rates = rates.get();
    encode.spikes = spikes_.get();
    encode.seed = seed_of_spikes;
    check(synfire_encode_bernoulli(machine_.context(), &encode, nullptr), "synfire_encode_bernoulli");
    check(synfire_context_synchronize(machine_.context()), "synfire_context_synchronize");
  }

  Owned<synfire_graph> graph_of(Pass pass) const {
    Owned<synfire_graph> graph = make_graph(machine_);
    for (std::uint64_t i = 0; i < passes_alone; ++i) record(graph.get(), pass);
    check(synfire_graph_instantiate(graph.get()), "synfire_graph_instantiate");
    return graph;
  }

  void record(synfire_graph graph, Pass pass) const {
    if (pass == Pass::product) {
      synfire_synapse_forward_desc desc = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
      desc.n_steps = count(shape_.steps);
      desc.batch = count(shape_.batch);
      desc.input = spikes_.get();
      desc.output = output_.get();
      return check(synfire_graph_record_synapse_forward(graph, synapse_.get(), &desc),
                   "synfire_graph_record_synapse_forward");
    }
    synfire_synapse_backward_desc desc = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
    desc.n_steps = count(shape_.steps);
    desc.batch = count(shape_.batch);
    desc.grad_output = grad_output_.get();
    if (pass == Pass::weight_gradient)
      desc.input = spikes_.get();
    else
      desc.grad_input = grad_input_.get();
    check(synfire_graph_record_synapse_backward(graph, synapse_.get(), &desc), "synfire_graph_record_synapse_backward");
  }

  const Machine& machine_;
  const Conv2dShape shape_;
  Owned<synfire_synapse> synapse_;
  Owned<synfire_buffer> spikes_, output_, grad_output_, grad_input_;
};

void measure(const Machine& machine, const NamedConv2d& named, const Options& options, const Copy& copy,
             Writer& writer) {
  const Conv2dShape& shape = named.shape;
  const Convolution convolution(machine, shape, options.conv2d.input_percent / 100);
  for (const Convolution::Measured& operation : convolution.operations()) {
    const Summary summary =
        measure_passes({{operation.graph.get()}, operation.graph.get(), passes_alone, nullptr}, options.rounds);
    writer.row({synfire_version_string(), machine.properties().name, std::string(named.name),
                map_text(shape.height, shape.width, shape.channels),
                map_text(shape.output_height(), shape.output_width(), shape.output_channels), shape.kernel,
                shape.stride, shape.groups, shape.steps, shape.batch, std::string(operation.name), summary.median * 1e6,
                summary.min * 1e6, summary.max * 1e6, shape.multiply_adds() / summary.median / 1e9, operation.bytes,
                operation.bytes / summary.median / 1e9, copy.bytes_per_second / 1e9});
  }
}

}  // namespace

void run_conv2d(const Options& options) {
  const Machine machine(options.backend->id, options.threads);
  const Copy copy = measure_copy(machine, options.copy_mib, options.rounds);
  Writer writer(stdout, options.format, columns);
  if (options.format == Format::text)
    std::printf("%s\ncopy: %.0f GB/s, read and written\n\n", machine.description().c_str(),
                copy.bytes_per_second / 1e9);
  for (const NamedConv2d& named : conv2d_shapes) {
    const NamedConv2d* const chosen = options.conv2d.shape;
    if (chosen != nullptr && chosen != &named) continue;
    if (chosen == nullptr && machine.is_host() && named.shape.multiply_adds() > most_multiply_adds_host) continue;
    measure(machine, named, options, copy, writer);
    machine.reclaim();
  }
  writer.finish();
}

}  // namespace synfire_bench
