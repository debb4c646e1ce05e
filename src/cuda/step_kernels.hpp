// The kernels between the passes of a step, as the host code sees them: values that change between replays,
// scale-and-add, rows of state, parameters that replays update. A launch with a count of 0 touches no data.
#ifndef SYNFIRE_CUDA_STEP_KERNELS_HPP
#define SYNFIRE_CUDA_STEP_KERNELS_HPP

#include <core/update_arguments.hpp>

namespace synfire::cuda {

inline constexpr int step_threads = 128;

// E is an unsigned integer of the element's size.
template <class E>
struct FillValueLaunch {
  E* data;
  int64_t count;
  const uint64_t* bits;
};

// Where a value pointer is null, the number beside it counts.
struct ScaleAddLaunch {
  const void* source;
  void* destination;
  int64_t count;
  double scale, keep;
  const double* scale_value;
  const double* keep_value;
};

template <class R>
struct ResetRowsLaunch {
  const core::ParameterBlock<R>* parameters;
  const unsigned char* mask;  // of the first row, or null
  int64_t n_rows;             // 0 touches no data
  int64_t n_neurons;
  bool soft_reset;
  R* v;  // of the first row
  R* w;  // null in models with one variable
};

// Words of 4 bytes.
struct GuardedCopyLaunch {
  uint32_t* destination;
  const uint32_t* source;
  int64_t count;
  const unsigned char* guard;
  int32_t n_expected;
  unsigned char expected[128];
};

template <class R>
struct SetParametersLaunch {
  core::SetParametersArguments<R> arguments;
  int64_t count;  // neurons to go through: 1 when nothing is per neuron
};

template <class R>
struct UpdateParameterLaunch {
  core::UpdateParameterArguments<R> arguments;
  bool runs;  // false touches no data
};

template <class E>
const void* fill_value_kernel();
// Of dtypes f32, f16, bf16 in any combination, or f64 with f64.
const void* scale_add_kernel(int32_t source, int32_t destination);
template <class R>
const void* reset_rows_kernel();
const void* guarded_copy_kernel();
template <class R>
const void* set_parameters_kernel();
template <class R>
const void* update_parameter_kernel();

}  // namespace synfire::cuda

#endif
