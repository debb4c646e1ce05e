// data_command.cpp - `synfire-bench data`: how long setting a network's data takes, from memory of each kind.
//
// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <vector>

#include "commands.hpp"
#include "machine.hpp"
#include "record.hpp"
#include "timing.hpp"

namespace synfire_bench {
namespace {

constexpr std::int64_t n_inputs = 4096, n_classes = 10;

constexpr Column columns[] = {
    {"inputs", "inputs", 0, 10},     {"memory", "memory", 0, 8},     {"mib", "MiB", 0, 6},
    {"first_ms", "first ms", 2, 9},  {"again_ms", "again ms", 2, 9}, {"check_ms", "check ms", 3, 9},
    {"check_gb_per_s", "GB/s", 1, 7}};

// Inputs of a type of which the last element can be made one that is refused.
struct Inputs {
  const char* name;
  std::int32_t input, dtype;
  std::uint64_t element_bytes;
  std::vector<unsigned char> refused;
};

struct Memory {
  const char* name;
  std::int32_t id;
};
constexpr Memory memories[] = {
    {"device", SYNFIRE_MEMORY_DEVICE}, {"pinned", SYNFIRE_MEMORY_PINNED}, {"host", SYNFIRE_MEMORY_HOST}};

Owned<synfire_network> make_network(const Machine& machine, const Inputs& inputs) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = 1;
  desc.batch = 256;
  synfire_network made = nullptr;
  check(synfire_network_create(machine.context(), &desc, &made), "synfire_network_create");
  Owned<synfire_network> network(made);
  check(synfire_network_add_input(made, "in", inputs.input, n_inputs), "synfire_network_add_input");
  check(synfire_network_set_value(made, "in", "dtype", inputs.dtype), "synfire_network_set_value");
  check(synfire_network_add_synapse(made, "synapse", n_classes), "synfire_network_add_synapse");
  check(synfire_network_add_neurons(made, "neurons", SYNFIRE_MODEL_LI), "synfire_network_add_neurons");
  check(synfire_network_add_readout(made, "readout", SYNFIRE_READOUT_MEAN, 0), "synfire_network_add_readout");
  check(synfire_network_add_loss(made, "loss", SYNFIRE_LOSS_CROSS_ENTROPY), "synfire_network_add_loss");
  check(synfire_network_build(made), "synfire_network_build");
  return network;
}

// The memory is all zeros: valid labels, spikes and values.
Owned<synfire_buffer> make_buffer(const Machine& machine, std::int32_t memory, std::int32_t dtype,
                                  std::uint64_t n_elements) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = memory;
  desc.dtype = dtype;
  desc.n_elements = n_elements;
  synfire_buffer buffer = nullptr;
  check(synfire_buffer_create(machine.context(), &desc, &buffer), "synfire_buffer_create");
  return Owned<synfire_buffer>(buffer);
}

// Writes zeros once, so that a measurement does not wait for the system's pages.
void touch(synfire_buffer buffer, std::uint64_t bytes) {
  const std::vector<unsigned char> zeros(std::uint64_t{1} << 22);
  for (std::uint64_t at = 0; at < bytes; at += zeros.size())
    check(synfire_buffer_upload(buffer, at, zeros.data(), std::min<std::uint64_t>(zeros.size(), bytes - at)),
          "synfire_buffer_upload");
}

double median_of(std::uint32_t rounds, const auto& work) {
  std::vector<double> seconds;
  for (std::uint32_t i = 0; i < rounds; ++i) {
    const double start = now();
    work();
    seconds.push_back(now() - start);
  }
  std::sort(seconds.begin(), seconds.end());
  return quantile(seconds, 0.5);
}

void measure(const Machine& machine, const Inputs& inputs, const Memory& memory, std::uint64_t mib,
             std::uint32_t rounds, Writer& writer) {
  const auto n_rows =
      static_cast<std::int64_t>(std::max<std::uint64_t>((mib << 20) / (n_inputs * inputs.element_bytes), 1));
  const std::uint64_t bytes = static_cast<std::uint64_t>(n_rows * n_inputs) * inputs.element_bytes;
  const Owned<synfire_buffer> data =
      make_buffer(machine, memory.id, inputs.dtype, static_cast<std::uint64_t>(n_rows * n_inputs));
  const Owned<synfire_buffer> labels =
      make_buffer(machine, memory.id, SYNFIRE_DTYPE_U32, static_cast<std::uint64_t>(n_rows));
  touch(data.get(), bytes);
  const Owned<synfire_network> network = make_network(machine, inputs);
  const auto set_data = [&] {
    return synfire_network_set_data(network.get(), SYNFIRE_DATA_EVALUATION, n_rows, data.get(), labels.get(), nullptr,
                                    nullptr, nullptr);
  };
  const auto set = [&] { check(set_data(), "synfire_network_set_data"); };
  const double first = median_of(1, set), again = median_of(rounds, set);
  check(synfire_buffer_upload(data.get(), bytes - inputs.refused.size(), inputs.refused.data(), inputs.refused.size()),
        "synfire_buffer_upload");
  const double checked = median_of(rounds, [&] {
    if (set_data() != SYNFIRE_ERROR_INVALID_ARGUMENT) throw CallFailed("an element that is not allowed was taken");
  });
  writer.row({std::string(inputs.name), std::string(memory.name), bytes >> 20, first * 1e3, again * 1e3, checked * 1e3,
              static_cast<double>(bytes) / checked * 1e-9});
}

}  // namespace

void run_data(const Options& options) {
  const Machine machine(options.backend->id, options.threads);
  const std::uint64_t mib = options.data_mib != 0 ? options.data_mib : machine.is_host() ? 64 : 512;
  machine.require_memory(3.0 * static_cast<double>(mib << 20));
  const Inputs all[] = {{"f32 values", SYNFIRE_NETWORK_INPUT_VALUES, SYNFIRE_DTYPE_F32, 4, {0, 0, 0xC0, 0x7F}},
                        {"u8 spikes", SYNFIRE_NETWORK_INPUT_SPIKES, SYNFIRE_DTYPE_U8, 1, {2}}};
  Writer writer(stdout, options.format, columns);
  for (const Inputs& inputs : all)
    for (const Memory& memory : memories) {
      measure(machine, inputs, memory, mib, options.rounds, writer);
      machine.reclaim();
    }
  writer.finish();
  if (options.format != Format::text) return;
  std::printf(
      "\n%s\nfirst: new memory, with the recording of the graph; again: the same memory (median of %u); check: data "
      "that "
      "are refused because of their last element, with GB/s\n",
      machine.description().c_str(), options.rounds);
}

}  // namespace synfire_bench
