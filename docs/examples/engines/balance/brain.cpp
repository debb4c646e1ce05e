// brain.cpp - see brain.hpp.
//
// SPDX-License-Identifier: MIT
#include "brain.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

namespace balance {
namespace {

// A position of 0.8 m, or of 0.4 rad, is a 1.
constexpr std::array<double, BODY_POSITIONS> unit = {0.8, 0.4};

synfire_network_file_desc one_step(std::size_t carts) {
  synfire_network_file_desc desc = SYNFIRE_NETWORK_FILE_DESC_INIT;
  desc.inference = 1;
  desc.n_steps = 1;
  desc.batch = static_cast<std::int64_t>(carts);
  return desc;
}

synfire::Context context_of_one_thread() {
  return synfire::Context(synfire::context_desc(SYNFIRE_BACKEND_HOST, 1));
}

bool has_floats(const synfire::Buffer& buffer, std::size_t n) {
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  synfire::check(synfire_buffer_get_desc(buffer, &desc));
  return desc.dtype == SYNFIRE_DTYPE_F32 && buffer.size() == n;
}

}  // namespace

void write_input(const State& state, float* input) {
  for (std::size_t i = 0; i < BODY_POSITIONS; ++i) {
    const double position = state.at(i) / unit.at(i);
    input[2 * i] = static_cast<float>(position);
    input[2 * i + 1] = static_cast<float>(std::clamp(5 * position, -1.0, 1.0));
  }
}

double to_force(float output) {
  return std::clamp(10 * static_cast<double>(output), -strongest, strongest);
}

float to_output(double force) {
  return static_cast<float>(force / 10);
}

// [open]
Brain::Brain(const std::string& file)
    : context_(context_of_one_thread()), network_(synfire::network_from_file(context_, file.c_str(), one_step(1))) {
  open(file, 1);
}

Brain::Brain(const std::vector<unsigned char>& bytes, std::size_t carts)
    : context_(context_of_one_thread()), network_(synfire::network_from_memory(context_, bytes, one_step(carts))) {
  open("a network in memory", carts);
}

void Brain::open(const std::string& name, std::size_t carts) {
  graph_ = network_.graph(SYNFIRE_NETWORK_GRAPH_INFERENCE);
  input_ = network_.buffer("input");
  output_ = network_.buffer("output");
  if (!has_floats(input_, carts * n_seen) || !has_floats(output_, carts))
    throw std::runtime_error(name + ": the network does not read the 4 numbers of two positions and write a force");
  in_ = input_.data<float>().data();
  out_ = output_.data<float>().data();
  reset();
}
// [open]

// [step]
double Brain::step(const State& state) {
  write_input(state, in_);
  return to_force(*step());
}

const float* Brain::step() {
  graph_.wait(graph_.launch());
  return out_;
}
// [step]

void Brain::reset() {
  network_.reset_state();
}

void Brain::reset(std::size_t cart) {
  synfire::check(synfire_network_reset_rows(network_, static_cast<std::int64_t>(cart), 1));
}

}  // namespace balance
