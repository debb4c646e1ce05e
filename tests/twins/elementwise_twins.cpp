#include "twin.hpp"

#include <base/dtype.hpp>
#include <operations/elementwise/elementwise_kernels.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>

namespace synfire::cuda {

const void* copy_kernel(int unit_bytes) {
  return twin<CopyLaunch>({unit_bytes}, [=](const CopyLaunch& launch) {
    std::memcpy(launch.destination, launch.source, static_cast<size_t>(launch.count) * static_cast<size_t>(unit_bytes));
  });
}

template <class E>
const void* fill_kernel() {
  return twin<FillLaunch<E>>({},
                             [](const FillLaunch<E>& launch) { std::fill_n(launch.data, launch.count, launch.value); });
}

template <class E>
const void* fill_value_kernel() {
  return twin<FillValueLaunch<E>>({}, [](const FillValueLaunch<E>& launch) {
    std::fill_n(launch.data, launch.count, static_cast<E>(*launch.bits));
  });
}

// ---- scale and add: 16-bit numbers one at a time --------------------------------------------------------------------

namespace {

float decoded(float stored) {
  return stored;
}
double decoded(double stored) {
  return stored;
}
template <class E>
float decoded(E stored) {
  return static_cast<float>(core::element_value(E::dtype, stored.bits));
}
void encode(float& to, float value) {
  to = value;
}
void encode(double& to, double value) {
  to = value;
}
template <class E>
void encode(E& to, float value) {
  to.bits = static_cast<uint16_t>(core::element_bits(E::dtype, static_cast<double>(value)));
}

template <class From, class To>
const void* scale_add_of() {
  return twin<ScaleAddLaunch>({}, [](const ScaleAddLaunch& launch) {
    using R = Arithmetic<To>;
    const R scale = static_cast<R>(launch.scale_value ? *launch.scale_value : launch.scale);
    const R keep = static_cast<R>(launch.keep_value ? *launch.keep_value : launch.keep);
    const auto* const source = static_cast<const From*>(launch.source);
    auto* const destination = static_cast<To*>(launch.destination);
    for (int64_t i = 0; i < launch.count; ++i) {
      const R kept = keep == R(0) ? R(0) : keep * static_cast<R>(decoded(destination[i]));
      encode(destination[i], std::fma(scale, static_cast<R>(decoded(source[i])), kept));
    }
  });
}
}  // namespace

const void* scale_add_kernel(int32_t source, int32_t destination) {
  return core::with_element_type(NumberTypes{}, source, [=](auto from) {
    using From = typename decltype(from)::Type;
    return core::with_element_type(NumberTypesBeside<Arithmetic<From>>{}, destination,
                                   [](auto to) { return scale_add_of<From, typename decltype(to)::Type>(); });
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
