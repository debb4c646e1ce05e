// inputs.cpp - random arrays.
//
// SPDX-License-Identifier: MIT
#include "inputs.hpp"

#include <algorithm>

namespace synfire_bench {
namespace {

std::uint64_t mix(std::uint64_t z) {  // splitmix64's output function: a good hash of a counter
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
  return z ^ (z >> 31);
}

}  // namespace

std::vector<float> random_numbers(std::uint64_t count, float low, float high, std::uint64_t seed) {
  std::vector<float> numbers(count);
  const double step = (static_cast<double>(high) - low) / 16777216.0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const std::uint64_t bits = mix((seed << 40 | (i / 2 + 1)) * 0x9e3779b97f4a7c15U) >> (i % 2 == 0 ? 40 : 8);
    const double k = static_cast<double>(bits & 0xffffffU);
    const auto value = static_cast<float>(low + (k + 0.5) * step);
    numbers[i] = value != 0.0F ? value : static_cast<float>(step);
  }
  return numbers;
}

void fill_random(const Machine& machine, synfire_buffer buffer, const Dtype& dtype, const Dtype& inputs_as,
                 std::uint64_t count, float low, float high, std::uint64_t seed) {
  const std::uint64_t block = std::min(count, random_period);
  std::vector<float> numbers = random_numbers(block, low, high, seed);
  if (inputs_as.bytes < sizeof(float)) {
    std::uint64_t stored = 0;
    double value = 0;
    for (float& number : numbers) {
      inputs_as.store(&number, &stored, 1);
      inputs_as.load(&stored, &value, 1);
      number = static_cast<float>(value);
    }
  }
  // Uploads from page-locked memory run at full bus speed.
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  desc.memory = SYNFIRE_MEMORY_PINNED;
  desc.dtype = dtype.id;
  desc.n_elements = block;
  synfire_buffer made = nullptr;
  check(synfire_buffer_create(machine.context(), &desc, &made), "synfire_buffer_create");
  const Owned<synfire_buffer> staging(made);
  void* data = nullptr;
  check(synfire_buffer_get_data(made, &data, nullptr), "synfire_buffer_get_data");
  dtype.store(numbers.data(), data, block);
  for (std::uint64_t begin = 0; begin < count; begin += block) {
    const std::uint64_t part = std::min(block, count - begin);
    check(synfire_buffer_upload(buffer, begin * dtype.bytes, data, part * dtype.bytes), "synfire_buffer_upload");
  }
}

}  // namespace synfire_bench
