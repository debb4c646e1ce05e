// Captures an operation list on a private stream, and checks the result.
#ifndef SYNFIRE_BACKENDS_CUDA_CAPTURE_HPP
#define SYNFIRE_BACKENDS_CUDA_CAPTURE_HPP

#include "device_state.hpp"
#include "machine_kernels.hpp"

#include <graph/replayed_numbers.hpp>

#include <vector>

namespace synfire::cuda {

using Nodes = std::vector<cudaGraphNode_t>;

// A graph ready to be instantiated. Its holder destroys `graph`.
struct CapturedGraph {
  cudaGraph_t graph = nullptr;
  std::vector<Nodes> nodes;          // of each entry of the list
  cudaGraphNode_t signal = nullptr;  // the kernel after them, which counts replays
};

// Captures a list whose kernels are loaded, followed by the signal. Throws CALLBACK if a native node's callback fails
// or breaks the capture, and CAPTURING inside such a callback. A failed capture leaves nothing behind.
CapturedGraph capture(DeviceState& device, const core::OperationList& operations, const core::ReplayedNumbers& numbers,
                      uint32_t slot, const SignalLaunch& signal);

cudaGraphNodeType type_of(DeviceState& device, cudaGraphNode_t node);

}  // namespace synfire::cuda

#endif
