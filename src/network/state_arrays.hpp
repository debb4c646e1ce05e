// The arrays of a network that are tensors of its file: weights, and the states of neurons and of the optimiser.
#ifndef SYNFIRE_NETWORK_STATE_ARRAYS_HPP
#define SYNFIRE_NETWORK_STATE_ARRAYS_HPP

#include "parts.hpp"

#include <files/file_dtype.hpp>

#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace synfire::network {

struct StateArray {
  enum class Numbers { any, finite, from_0, from_0_to_1 };

  std::string name;  // of the tensor
  files::Dtype dtype;
  std::vector<int64_t> shape;
  Numbers numbers;
  bool of_rows = false;        // its shape depends on the batch
  bool may_lack = false;       // a file may lack it: it is then 0
  uint64_t most = UINT64_MAX;  // of an integer
  bool is_state = true;        // files without the rest of the network do not have it
  std::vector<ArrayLayout> layouts = {};
  // Copies between the device and memory of exactly the array's bytes.
  std::function<void(void*)> read = {};
  std::function<void(const void*)> write = {};
  // Throws INVALID_ARGUMENT for elements that the array cannot have. Empty: `numbers` says all.
  std::function<void(std::span<const std::byte>)> check = {};

  uint64_t bytes() const noexcept;
};

// Parameters of neurons, which must be set together. Each has shape [], one number, [C], one for each channel, or [N],
// one for each neuron.
struct ParameterGroup {
  using Values = std::vector<std::vector<double>>;  // one list for each name

  std::vector<std::string> names;  // of tensors
  int64_t n_neurons, n_channels;
  std::function<std::vector<double>(uint32_t)> read;
  std::function<bool(uint32_t)> keeps_length;  // true: replays update as many numbers as it has
  std::function<void(const Values&)> check;
  std::function<void(const Values&)> write;
};

struct StateArrays {
  std::vector<StateArray> arrays;
  std::vector<ParameterGroup> parameters;

  explicit StateArrays(const Parts& parts);
};

// The type of numbers in f64, or in f32.
files::Dtype file_type_of(int32_t dtype) noexcept;

}  // namespace synfire::network

#endif
