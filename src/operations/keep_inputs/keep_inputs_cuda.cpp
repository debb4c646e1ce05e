#include "keep_inputs_arrays_of.hpp"
#include "keep_inputs_kernels.hpp"

#include <backends/cuda/cuda_launcher.hpp>
#include <operations/spikes/convert_spikes.hpp>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

Hints hints(const KeepInputs&, const GpuShape&) {
  return {};
}

void enqueue(const KeepInputs& op, Launcher& launcher) {
  if (is_converted(op)) enqueue(ConvertSpikes{op.extents, op.input, op.kept}, launcher);
  const KeepInputsArrays arrays = arrays_of(op);
  if (are_words(op))
    launcher.launch(keep_words_kernel(), launcher.over_elements(n_words(arrays)), KeepInputsLaunch{arrays});
  else
    launcher.launch(keep_elements_kernel(bytes_of_dtype(op.kept.dtype)), launcher.over_elements(n_elements(arrays)),
                    KeepInputsLaunch{arrays});
}

}  // namespace synfire::operations
