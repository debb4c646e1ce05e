// Every kernel that the library asks for by a template's argument, for files that stand for the GPU's kernels: written
// in namespace synfire::cuda, behind the definitions.
#ifndef SYNFIRE_TESTS_FAULT_KERNEL_INSTANCES_HPP
#define SYNFIRE_TESTS_FAULT_KERNEL_INSTANCES_HPP

#include <cuda/kernels.hpp>
#include <cuda/spike_kernels.hpp>
#include <cuda/step_kernels.hpp>

#define SYNFIRE_TEST_KERNEL_INSTANCES                                                      \
  template const void* forward_kernel<float>(int32_t, int, ForwardOutputs);                \
  template const void* forward_kernel<double>(int32_t, int, ForwardOutputs);               \
  template const void* forward_kernel<F16>(int32_t, int, ForwardOutputs);                  \
  template const void* forward_kernel<Bf16>(int32_t, int, ForwardOutputs);                 \
  template const void* forward_kernel<AnyStorage>(int32_t, int, ForwardOutputs);           \
  template const void* backward_kernel<float>(int32_t, int32_t, int, BackwardInputs);      \
  template const void* backward_kernel<double>(int32_t, int32_t, int, BackwardInputs);     \
  template const void* backward_kernel<F16>(int32_t, int32_t, int, BackwardInputs);        \
  template const void* backward_kernel<Bf16>(int32_t, int32_t, int, BackwardInputs);       \
  template const void* backward_kernel<AnyStorage>(int32_t, int32_t, int, BackwardInputs); \
  template const void* reset_rows_kernel<float>();                                         \
  template const void* reset_rows_kernel<double>();                                        \
  template const void* reduce_batch_kernel<float>();                                       \
  template const void* reduce_batch_kernel<double>();                                      \
  template const void* reduce_total_kernel<float>();                                       \
  template const void* reduce_total_kernel<double>();                                      \
  template const void* set_parameters_kernel<float>();                                     \
  template const void* set_parameters_kernel<double>();                                    \
  template const void* update_parameter_kernel<float>();                                   \
  template const void* update_parameter_kernel<double>();                                  \
  template const void* fill_kernel<uint8_t>();                                             \
  template const void* fill_kernel<uint16_t>();                                            \
  template const void* fill_kernel<uint32_t>();                                            \
  template const void* fill_kernel<uint64_t>();                                            \
  template const void* fill_value_kernel<uint8_t>();                                       \
  template const void* fill_value_kernel<uint16_t>();                                      \
  template const void* fill_value_kernel<uint32_t>();                                      \
  template const void* fill_value_kernel<uint64_t>();                                      \
  template const void* count_spikes_kernel<uint32_t>(core::SpikeStorage);                  \
  template const void* count_spikes_kernel<uint64_t>(core::SpikeStorage);

#endif
