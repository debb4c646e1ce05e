// One element at a time.
#include "twin.hpp"

#include <base/dtype.hpp>
#include <operations/combine/combine_kernels.hpp>
#include <operations/spikes/one_spike.hpp>

#include <cstring>

namespace synfire::cuda {
namespace {

using operations::CombineArrays;
using operations::CombineGradientArrays;
using operations::CombineKind;
using operations::CombineSource;
using operations::SpikeStorage;

double element_of(int32_t dtype, const void* data, int64_t at) {
  const uint64_t size = core::bytes_of_dtype(dtype);
  uint64_t bits = 0;
  std::memcpy(&bits, static_cast<const char*>(data) + static_cast<uint64_t>(at) * size, size);
  return core::element_value(dtype, bits);
}
void set_element(int32_t dtype, void* data, int64_t at, double value) {
  const uint64_t size = core::bytes_of_dtype(dtype), bits = core::element_bits(dtype, value);
  std::memcpy(static_cast<char*>(data) + static_cast<uint64_t>(at) * size, &bits, size);
}

double number_of(const CombineSource& source, int64_t t, int64_t b, int64_t n) {
  if (source.is_number) return element_of(source.dtype, source.array.data, source.dense(t, b, n));
  if (source.storage == SpikeStorage::bytes1) {
    const int count = static_cast<const uint8_t*>(source.array.data)[source.dense(t, b, n)];
    return count < source.bound ? count : source.bound;
  }
  return OneSpike{source.array, source.storage, {1, 1, source.n_neurons}}.get(t, b, n) ? 1 : 0;
}

// The element of the destination.
template <class R>
double combined(const CombineArrays& arrays, int64_t t, int64_t b, int64_t n) {
  if (arrays.kind == CombineKind::concatenate) {
    const int64_t position = n / arrays.channels, channel = n % arrays.channels;
    for (int32_t k = 0; k < arrays.n_sources; ++k) {
      const CombineSource& source = arrays.sources[k];
      if (channel < source.first + source.channels)
        return number_of(source, t, b, position * source.channels + channel - source.first);
    }
  }
  R value = static_cast<R>(number_of(arrays.sources[0], t, b, n));
  for (int32_t k = 1; k < arrays.n_sources; ++k) {
    const R other = static_cast<R>(number_of(arrays.sources[k], t, b, n));
    value = arrays.kind == CombineKind::sum    ? value + other
            : arrays.kind == CombineKind::both ? value * other
                                               : value * (R(1) - other);
  }
  return static_cast<double>(value);
}

template <class R>
void combine(const CombineArrays& arrays) {
  const OneSpike spikes = {arrays.destination, arrays.storage, arrays.extents};
  for_each_spike(arrays.extents, [&](int64_t t, int64_t b, int64_t n) {
    const double value = combined<R>(arrays, t, b, n);
    if (core::is_packed(arrays.dtype))
      spikes.set(t, b, n, value != 0);
    else
      set_element(arrays.dtype, arrays.destination.data,
                  t * arrays.destination.pitch + b * arrays.extents.n_neurons + n, value);
  });
}

template <class R>
void write_gradient(const CombineGradientArrays& arrays) {
  for_each_spike(arrays.extents, [&](int64_t t, int64_t b, int64_t n) {
    R gradient = static_cast<R>(element_of(arrays.from_dtype, arrays.from,
                                           t * arrays.from_pitch + b * arrays.from_neurons + arrays.from_element(n)));
    if (arrays.kind == CombineKind::both || arrays.kind == CombineKind::first_alone) {
      const R other = static_cast<R>(number_of(arrays.other, t, b, n));
      gradient = arrays.kind == CombineKind::both ? gradient * other
                 : arrays.of_second               ? -gradient * other
                                                  : gradient * (R(1) - other);
    }
    const int64_t at = t * arrays.to_pitch + b * arrays.extents.n_neurons + n;
    if (arrays.add) gradient = static_cast<R>(element_of(arrays.to_dtype, arrays.to, at)) + gradient;
    set_element(arrays.to_dtype, arrays.to, at, static_cast<double>(gradient));
  });
}

const void* combine_kernel(int64_t key) {
  return twin<CombineLaunch>({key}, [](const CombineLaunch& launch) {
    if (launch.arrays.dtype == SYNFIRE_DTYPE_F64) return combine<double>(launch.arrays);
    combine<float>(launch.arrays);
  });
}

}  // namespace

const void* combine_numbers_kernel(int32_t dtype) {
  return combine_kernel(dtype);
}
const void* combine_bytes_kernel() {
  return combine_kernel(SYNFIRE_DTYPE_U8);
}
const void* combine_bits_kernel() {
  return combine_kernel(SYNFIRE_DTYPE_BITS);
}
const void* combine_time_bits_kernel() {
  return combine_kernel(SYNFIRE_DTYPE_TIME_BITS);
}
const void* combine_gradient_kernel(int32_t dtype) {
  return twin<CombineGradientLaunch>({dtype}, [](const CombineGradientLaunch& launch) {
    if (launch.arrays.to_dtype == SYNFIRE_DTYPE_F64) return write_gradient<double>(launch.arrays);
    write_gradient<float>(launch.arrays);
  });
}

}  // namespace synfire::cuda
