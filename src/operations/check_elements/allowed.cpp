#include "allowed.hpp"

#include <base/dtype.hpp>

#include <algorithm>

namespace synfire::operations {

using namespace synfire::core;

namespace {

constexpr uint64_t all_ones = ~uint64_t{0};

// All bits below the sign; bytes have none.
uint64_t magnitude_of(int32_t dtype) {
  const uint64_t n_bits = 8 * bytes_of_dtype(dtype);
  return all_ones >> (n_bits == 8 ? 56 : 64 - n_bits + 1);
}

AllowedElements with_numbers(int32_t dtype, bool or_not_finite, uint64_t most, uint64_t also) {
  const uint64_t negative_zero = is_number(dtype) ? magnitude_of(dtype) + 1 : 0;
  const bool any = or_not_finite && is_number(dtype);
  return {all_ones, most, {also, negative_zero}, magnitude_of(dtype), any ? exponent_bits(dtype) - 1 : all_ones};
}

}  // namespace

AllowedElements allowed_labels(uint64_t n_classes, const uint32_t* ignored) {
  const uint64_t most = std::min(n_classes - 1, uint64_t{0xFFFFFFFF}), also = ignored ? *ignored : 0;
  return {all_ones, most, {also, also}, all_ones, all_ones};
}

AllowedElements allowed_spikes(int32_t dtype, bool or_not_finite) {
  return with_numbers(dtype, or_not_finite, 0, element_bits(dtype, 1));
}

AllowedElements allowed_counts(int32_t bound) {
  return {all_ones, static_cast<uint64_t>(bound), {0, 0}, all_ones, all_ones};
}

// Numbers from 0 to 1 are in the order of their bits.
AllowedElements allowed_rates(int32_t dtype, bool or_not_finite) {
  return with_numbers(dtype, or_not_finite, element_bits(dtype, 1), 0);
}

AllowedElements allowed_finite(int32_t dtype) {
  const uint64_t most = is_number(dtype) ? exponent_bits(dtype) - 1 : all_ones;
  return {magnitude_of(dtype), most, {0, 0}, all_ones, all_ones};
}

}  // namespace synfire::operations
