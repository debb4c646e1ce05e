#include "check_elements.hpp"
#include "check_elements_kernels.hpp"
#include "chunks.hpp"

#include <backends/cuda/cuda_launcher.hpp>

#include <algorithm>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

namespace {

// One search covers 256 MiB, so that its two launches take a small part of the time.
constexpr int64_t chunks_at_once = int64_t{1} << 24;

}  // namespace

Hints hints(const CheckElements&, const GpuShape&) {
  return {};
}

void enqueue(const CheckElements& op, Launcher& launcher) {
  const CheckElementsArguments arguments = arguments_of(op);
  const int64_t n_chunks = chunks_of(arguments);
  for (int64_t first = 0; first < n_chunks; first += chunks_at_once) {
    const CheckElementsLaunch launch = {arguments, first,
                                        static_cast<int32_t>(std::min(n_chunks - first, chunks_at_once)), first == 0,
                                        static_cast<uint64_t*>(op.found.data)};
    launcher.call_library("cub::DeviceReduce::Reduce", [&](cudaStream_t stream) {
      return find_refused(launch, op.workspace.data, op.workspace.bytes, stream);
    });
  }
}

}  // namespace synfire::operations
