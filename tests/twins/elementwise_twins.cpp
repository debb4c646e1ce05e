#include "twin.hpp"

#include <base/dtype.hpp>
#include <operations/elementwise/elementwise_kernels.hpp>

#include <synfire/synfire.h>
#include <synfire/model/platform.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

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
float decoded(Bf16 stored) {
  return model::from_bits(static_cast<uint32_t>(stored.bits) << 16);
}
float decoded(F16 stored) {
  const float magnitude =
      (stored.bits & 0x7C00) == 0x7C00 ? ((stored.bits & 0x3FF) != 0 ? std::numeric_limits<float>::quiet_NaN()
                                                                     : std::numeric_limits<float>::infinity())
      : (stored.bits & 0x7C00) == 0
          ? std::ldexp(static_cast<float>(stored.bits & 0x3FF), -24)
          : std::ldexp(static_cast<float>((stored.bits & 0x3FF) | 0x400), (stored.bits >> 10 & 31) - 25);
  return (stored.bits & 0x8000) != 0 ? -magnitude : magnitude;
}
void encode(float& to, float value) {
  to = value;
}
void encode(double& to, double value) {
  to = value;
}
void encode(F16& to, float value) {
  to.bits = static_cast<uint16_t>(core::element_bits(SYNFIRE_DTYPE_F16, static_cast<double>(value)));
}
void encode(Bf16& to, float value) {
  to.bits = static_cast<uint16_t>(core::element_bits(SYNFIRE_DTYPE_BF16, static_cast<double>(value)));
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
template <class From>
const void* scale_add_from(int32_t destination) {
  switch (destination) {
    case SYNFIRE_DTYPE_F16:
      return scale_add_of<From, F16>();
    case SYNFIRE_DTYPE_BF16:
      return scale_add_of<From, Bf16>();
    default:
      return scale_add_of<From, float>();
  }
}

}  // namespace

const void* scale_add_kernel(int32_t source, int32_t destination) {
  switch (source) {
    case SYNFIRE_DTYPE_F64:
      return scale_add_of<double, double>();
    case SYNFIRE_DTYPE_F16:
      return scale_add_from<F16>(destination);
    case SYNFIRE_DTYPE_BF16:
      return scale_add_from<Bf16>(destination);
    default:
      return scale_add_from<float>(destination);
  }
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
