// The elements that a data set may have are told by their bits: for every pattern of bits of the small types, and for
// many of the large ones, that is what their numbers say.
#include <base/dtype.hpp>
#include <operations/check_elements/allowed.hpp>

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include <synfire/synfire.h>

namespace {

using namespace synfire;
using operations::AllowedElements;
using operations::AllowedWords;

double half(uint16_t bits) {
  const int exponent = bits >> 10 & 31, fraction = bits & 1023;
  const double magnitude = exponent == 31  ? (fraction != 0 ? std::numeric_limits<double>::quiet_NaN()
                                                            : std::numeric_limits<double>::infinity())
                           : exponent == 0 ? std::ldexp(fraction, -24)
                                           : std::ldexp(1024 + fraction, exponent - 25);
  return (bits & 0x8000) != 0 ? -magnitude : magnitude;
}
double number_of(int32_t dtype, uint64_t bits) {
  switch (dtype) {
    case SYNFIRE_DTYPE_F64:
      return std::bit_cast<double>(bits);
    case SYNFIRE_DTYPE_F32:
      return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits)));
    case SYNFIRE_DTYPE_BF16:
      return static_cast<double>(std::bit_cast<float>(static_cast<uint32_t>(bits << 16)));
    case SYNFIRE_DTYPE_F16:
      return half(static_cast<uint16_t>(bits));
    default:
      return static_cast<double>(bits);
  }
}

bool has(const AllowedElements& allowed, int32_t dtype, uint64_t bits) {
  switch (core::bytes_of_dtype(dtype)) {
    case 1:
      return AllowedWords<uint8_t>(allowed).has(static_cast<uint8_t>(bits));
    case 2:
      return AllowedWords<uint16_t>(allowed).has(static_cast<uint16_t>(bits));
    case 4:
      return AllowedWords<uint32_t>(allowed).has(static_cast<uint32_t>(bits));
    default:
      return AllowedWords<uint64_t>(allowed).has(bits);
  }
}

// All of 8 and 16 bits; of more those around what matters, and random ones.
std::vector<uint64_t> patterns(int32_t dtype) {
  const uint64_t n_bits = 8 * core::bytes_of_dtype(dtype), all = ~uint64_t{0} >> (64 - n_bits);
  std::vector<uint64_t> bits;
  if (n_bits <= 16) {
    for (uint64_t i = 0; i <= all; ++i) bits.push_back(i);
    return bits;
  }
  const uint64_t sign = uint64_t{1} << (n_bits - 1);
  for (const double value : {0.0, 0.5, 1.0, 2.0, 5.0, 1e30, std::numeric_limits<double>::infinity()})
    for (int near = -3; near <= 3; ++near)
      for (const uint64_t negative : {uint64_t{0}, sign}) {
        const uint64_t of_value =
            value > 1e300 ? (n_bits == 64 ? 0x7FF0000000000000 : 0x7F800000) : core::element_bits(dtype, value);
        bits.push_back(((of_value + static_cast<uint64_t>(near)) ^ negative) & all);
      }
  std::mt19937_64 random(7);
  for (int i = 0; i < 100000; ++i) bits.push_back(random() & all);
  return bits;
}

TEST(AllowedElements, NumbersAreToldByTheirBits) {
  for (const int32_t dtype :
       {SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16, SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64})
    for (const bool or_not_finite : {false, true}) {
      const AllowedElements spikes = operations::allowed_spikes(dtype, or_not_finite),
                            rates = operations::allowed_rates(dtype, or_not_finite),
                            finite = operations::allowed_finite(dtype);
      for (const uint64_t bits : patterns(dtype)) {
        const double number = number_of(dtype, bits);
        const bool any = or_not_finite && !std::isfinite(number);
        ASSERT_EQ(has(spikes, dtype, bits), number == 0 || number == 1 || any) << dtype << " " << bits;
        ASSERT_EQ(has(rates, dtype, bits), (number >= 0 && number <= 1) || any) << dtype << " " << bits;
        ASSERT_EQ(has(finite, dtype, bits), std::isfinite(number)) << dtype << " " << bits;
      }
    }
}

TEST(AllowedElements, LabelsAreClassesOrTheIgnoredOne) {
  const uint32_t ignored_labels[] = {0, 1, 9, 255, 0xFFFFFFFF};
  for (const uint64_t n_classes :
       {uint64_t{1}, uint64_t{2}, uint64_t{10}, uint64_t{0xFFFFFFFF}, uint64_t{1} << 32, uint64_t{1} << 40}) {
    const AllowedElements classes = operations::allowed_labels(n_classes, nullptr);
    for (const uint64_t label : {uint64_t{0}, uint64_t{1}, uint64_t{2}, uint64_t{9}, uint64_t{10}, uint64_t{255},
                                 uint64_t{0x80000000}, uint64_t{0xFFFFFFFE}, uint64_t{0xFFFFFFFF}}) {
      EXPECT_EQ(has(classes, SYNFIRE_DTYPE_U32, label), label < n_classes) << n_classes << " " << label;
      for (const uint32_t& ignored : ignored_labels)
        EXPECT_EQ(has(operations::allowed_labels(n_classes, &ignored), SYNFIRE_DTYPE_U32, label),
                  label < n_classes || label == ignored)
            << n_classes << " " << label << " " << ignored;
    }
  }
}

}  // namespace
