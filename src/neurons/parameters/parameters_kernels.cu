// Instances of the kernels for all models of the lists.
#include "parameters_kernels.cuh"

namespace synfire::cuda {

template <class R>
const void* set_parameters_kernel() {
  return address(set_parameters<R>);
}
template <class R>
const void* update_parameter_kernel() {
  return address(update_parameter<R>);
}
template const void* set_parameters_kernel<float>();
template const void* set_parameters_kernel<double>();
template const void* update_parameter_kernel<float>();
template const void* update_parameter_kernel<double>();

}  // namespace synfire::cuda
