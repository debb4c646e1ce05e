#include "elementwise_kernels.hpp"

#include <backends/cuda/cuda_storage.cuh>

#include <synfire/synfire.h>

namespace synfire::cuda {
namespace {

using namespace synfire::model;

// One access per thread, with streaming hints, is faster than loops and copy nodes (docs/pages/tuning.md).
template <class Unit>
__global__ void __launch_bounds__(copy_threads) copy(const __grid_constant__ CopyLaunch launch) {
  wait_for_previous();
  const int64_t i = static_cast<int64_t>(blockIdx.x) * copy_threads + threadIdx.x;
  if (i >= launch.count) return;
  __stcs(static_cast<Unit*>(launch.destination) + i, __ldcs(static_cast<const Unit*>(launch.source) + i));
}

template <class E>
__global__ void __launch_bounds__(threads_per_block) fill(const __grid_constant__ FillLaunch<E> launch) {
  wait_for_previous();
  for (int64_t i = first_element(); i < launch.count; i += stride()) launch.data[i] = launch.value;
}

template <class E>
__global__ void __launch_bounds__(threads_per_block) fill_value(const __grid_constant__ FillValueLaunch<E> launch) {
  wait_for_previous();
  const E value = static_cast<E>(*launch.bits);
  for (int64_t i = first_element(); i < launch.count; i += stride()) launch.data[i] = value;
}

template <class From, class To>
__global__ void __launch_bounds__(threads_per_block) scale_add(const __grid_constant__ ScaleAddLaunch launch) {
  wait_for_previous();
  using R = Arithmetic<To>;
  const R scale = static_cast<R>(launch.scale_value ? *launch.scale_value : launch.scale);
  const R keep = static_cast<R>(launch.keep_value ? *launch.keep_value : launch.keep);
  const auto* const source = static_cast<const From*>(launch.source);
  auto* const destination = static_cast<To*>(launch.destination);
  for (int64_t i = first_element(); i < launch.count; i += stride()) {
    const R kept = keep == R(0) ? R(0) : keep * static_cast<R>(decode(destination[i]));
    destination[i] = encode<To, R>(fma(scale, static_cast<R>(decode(source[i])), kept));
  }
}

}  // namespace

const void* copy_kernel(int unit_bytes) {
  switch (unit_bytes) {
    case 16:
      return address(copy<uint4>);
    case 4:
      return address(copy<uint32_t>);
    default:
      return address(copy<uint8_t>);
  }
}
template <class E>
const void* fill_kernel() {
  return address(fill<E>);
}
template <class E>
const void* fill_value_kernel() {
  return address(fill_value<E>);
}
const void* scale_add_kernel(int32_t source, int32_t destination) {
  return core::with_element_type(NumberTypes{}, source, [=](auto from) {
    using From = typename decltype(from)::Type;
    return core::with_element_type(NumberTypesBeside<Arithmetic<From>>{}, destination,
                                   [](auto to) { return address(scale_add<From, typename decltype(to)::Type>); });
  });
}
template const void* fill_kernel<uint8_t>();
template const void* fill_kernel<uint16_t>();
template const void* fill_kernel<uint32_t>();
template const void* fill_kernel<uint64_t>();
template const void* fill_value_kernel<uint8_t>();
template const void* fill_value_kernel<uint16_t>();
template const void* fill_value_kernel<uint32_t>();
template const void* fill_value_kernel<uint64_t>();

}  // namespace synfire::cuda
