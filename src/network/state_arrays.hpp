// The arrays of a network that its file has as tensors: what is learnt, what neurons and the optimiser remember.
#ifndef SYNFIRE_NETWORK_STATE_ARRAYS_HPP
#define SYNFIRE_NETWORK_STATE_ARRAYS_HPP

#include "parts.hpp"

#include <files/dtype.hpp>

#include <functional>
#include <string>
#include <vector>

namespace synfire::network {

struct StateArray {
  enum class Numbers { any, finite, from_0, from_0_to_1 };

  std::string name;  // of the tensor
  files::Dtype dtype;
  std::vector<int64_t> shape;
  Numbers numbers;
  bool of_rows = false;  // its shape depends on the batch
  // Between the device and memory of exactly the array's bytes.
  std::function<void(void*)> read = {};
  std::function<void(const void*)> write = {};

  uint64_t bytes() const noexcept;
};

// A parameter of neurons is one number, of shape [], or one for each neuron, of shape [N]. The parameters of a layer
// are set together, so they cannot be written one by one.
struct ParameterArray {
  std::string name;
  core::Layer* layer;
  uint32_t index;  // of the parameter
};

struct StateArrays {
  std::vector<StateArray> arrays;
  std::vector<ParameterArray> parameters;  // those of a layer follow each other

  explicit StateArrays(Parts& parts);
};

}  // namespace synfire::network

#endif
