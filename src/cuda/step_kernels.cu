// The kernels between the passes of a step. The arithmetic of parameters is that of core/update_parameters.hpp and
// model/update.hpp, the same text the host compiles.
#include "kernels.cuh"
#include "step_kernels.hpp"

#include <core/update_parameters.hpp>

namespace synfire::cuda {
namespace {

__device__ __forceinline__ int64_t first_element() {
  return static_cast<int64_t>(blockIdx.x) * step_threads + threadIdx.x;
}
__device__ __forceinline__ int64_t stride() {
  return static_cast<int64_t>(gridDim.x) * step_threads;
}

template <class E>
__global__ void __launch_bounds__(step_threads) fill_value(const __grid_constant__ FillValueLaunch<E> launch) {
  wait_for_previous();
  if (launch.count == 0) return;
  const E value = static_cast<E>(*launch.bits);
  for (int64_t i = first_element(); i < launch.count; i += stride()) launch.data[i] = value;
}

template <class From, class To>
__global__ void __launch_bounds__(step_threads) scale_add(const __grid_constant__ ScaleAddLaunch launch) {
  wait_for_previous();
  using R = Arithmetic<To>;
  if (launch.count == 0) return;
  const R scale = static_cast<R>(launch.scale_value ? *launch.scale_value : launch.scale);
  const R keep = static_cast<R>(launch.keep_value ? *launch.keep_value : launch.keep);
  const auto* const source = static_cast<const From*>(launch.source);
  auto* const destination = static_cast<To*>(launch.destination);
  for (int64_t i = first_element(); i < launch.count; i += stride()) {
    const R kept = keep == R(0) ? R(0) : keep * static_cast<R>(decode(destination[i]));
    destination[i] = encode<To, R>(fma(scale, static_cast<R>(decode(source[i])), kept));
  }
}

template <class R>
__global__ void __launch_bounds__(step_threads) reset_rows(const __grid_constant__ ResetRowsLaunch<R> launch) {
  wait_for_previous();
  const int64_t n = launch.n_neurons, count = launch.n_rows * n;
  for (int64_t i = first_element(); i < count; i += stride()) {
    if (launch.mask && launch.mask[i / n] == 0) continue;
    const auto& p = *launch.parameters;
    const R v_reset = p.per_neuron ? p.per_neuron[constant_v_reset * n + i % n] : p.shared[constant_v_reset];
    launch.v[i] = launch.soft_reset ? R(0) : v_reset;
    if (launch.w) launch.w[i] = R(0);
  }
}

__global__ void __launch_bounds__(step_threads) guarded_copy(const __grid_constant__ GuardedCopyLaunch launch) {
  wait_for_previous();
  __shared__ bool matches;
  if (launch.count == 0) return;
  if (threadIdx.x == 0) {
    bool same = true;
    for (int i = 0; i < launch.n_expected; ++i) same &= launch.guard[i] == launch.expected[i];
    matches = same;
  }
  __syncthreads();
  if (!matches) return;
  for (int64_t i = first_element(); i < launch.count; i += stride()) launch.destination[i] = launch.source[i];
}

template <class R>
__global__ void __launch_bounds__(step_threads) set_parameters(const __grid_constant__ SetParametersLaunch<R> launch) {
  wait_for_previous();
  const auto& a = launch.arguments;
  for (int64_t i = first_element(); i < launch.count; i += stride()) core::set_parameters_of(a, i);
  if (launch.count == 0 || !a.read_number) return;
  // The last block to come here tells the host that what it staged has been read.
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence();
  core::ParameterMaster& master = *a.target.master;
  if (atomicInc(&master.readers_done, gridDim.x - 1) != gridDim.x - 1) return;
  // Whoever writes last writes the highest number, also where two of these run at once.
  auto* const highest = reinterpret_cast<unsigned long long*>(&master.read_number);
  unsigned long long number = a.number;
  for (unsigned long long before = atomicMax(highest, number);; before = atomicMax(highest, number)) {
    if (before > number) number = before;
    *static_cast<volatile uint64_t*>(a.read_number) = number;
    __threadfence_system();
    if (atomicMax(highest, number) == number) return;
  }
}

template <class R>
__global__ void __launch_bounds__(step_threads)
    update_parameter(const __grid_constant__ UpdateParameterLaunch<R> launch) {
  wait_for_previous();
  if (!launch.runs) return;
  const auto& a = launch.arguments;
  core::ParameterMaster& master = *a.target.master;
  const int64_t count = a.block->per_neuron ? a.target.n_neurons : 1;
  const bool shared = master.rows[a.parameter] == nullptr;
  double next = 0;
  for (int64_t i = first_element(); i < count; i += stride()) next = core::update_parameter_of(a, i);
  if (!shared) return;
  // The last block to come here stores the new value: nobody reads the old one any more.
  __syncthreads();
  if (threadIdx.x != 0) return;
  __threadfence();
  if (atomicInc(&master.arrived, gridDim.x - 1) != gridDim.x - 1) return;
  master.shared[a.parameter] = first_element() < count ? next : core::shared_value_of(a);
}

template <class From>
const void* scale_add_from(int32_t destination) {
  switch (destination) {
    case SYNFIRE_DTYPE_F16:
      return address(scale_add<From, F16>);
    case SYNFIRE_DTYPE_BF16:
      return address(scale_add<From, Bf16>);
    default:
      return address(scale_add<From, float>);
  }
}

}  // namespace

template <class E>
const void* fill_value_kernel() {
  return address(fill_value<E>);
}
const void* scale_add_kernel(int32_t source, int32_t destination) {
  switch (source) {
    case SYNFIRE_DTYPE_F64:
      return address(scale_add<double, double>);
    case SYNFIRE_DTYPE_F16:
      return scale_add_from<F16>(destination);
    case SYNFIRE_DTYPE_BF16:
      return scale_add_from<Bf16>(destination);
    default:
      return scale_add_from<float>(destination);
  }
}
template <class R>
const void* reset_rows_kernel() {
  return address(reset_rows<R>);
}
const void* guarded_copy_kernel() {
  return address(guarded_copy);
}
template <class R>
const void* set_parameters_kernel() {
  return address(set_parameters<R>);
}
template <class R>
const void* update_parameter_kernel() {
  return address(update_parameter<R>);
}

template const void* fill_value_kernel<uint8_t>();
template const void* fill_value_kernel<uint16_t>();
template const void* fill_value_kernel<uint32_t>();
template const void* fill_value_kernel<uint64_t>();
template const void* reset_rows_kernel<float>();
template const void* reset_rows_kernel<double>();
template const void* set_parameters_kernel<float>();
template const void* set_parameters_kernel<double>();
template const void* update_parameter_kernel<float>();
template const void* update_parameter_kernel<double>();

}  // namespace synfire::cuda
