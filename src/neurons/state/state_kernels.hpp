// The kernels that reset and restore rows of a state, as the host code sees them.
#ifndef SYNFIRE_NEURONS_STATE_STATE_KERNELS_HPP
#define SYNFIRE_NEURONS_STATE_STATE_KERNELS_HPP

#include <backends/cuda/device_types.hpp>
#include <neurons/parameter_block.hpp>

#include <synfire/model/platform.hpp>

namespace synfire::cuda {

template <class R>
struct ResetRowsLaunch {
  const core::ParameterBlock<R>* parameters;
  const unsigned char* mask;  // of the first row, or null
  int64_t n_rows;
  int64_t n_neurons;
  bool soft_reset;
  R* v;                             // of the first row
  R* w[model::max_further_states];  // null for variables that the model does not have
};

// Words of 4 bytes; a step of the destination has step_words of them, and the next one begins after `pitch` words.
struct GuardedCopyLaunch {
  uint32_t* destination;
  const uint32_t* source;
  int64_t count;
  int64_t step_words, pitch;
  const unsigned char* guard;
  int32_t n_expected;
  unsigned char expected[128];
};

SYNFIRE_MODEL_FN void copy_word(const GuardedCopyLaunch& launch, int64_t i) {
  launch.destination[i / launch.step_words * launch.pitch + i % launch.step_words] = launch.source[i];
}

template <class R>
const void* reset_rows_kernel();
const void* guarded_copy_kernel();

}  // namespace synfire::cuda

#endif
