// Sums that pass 64 bits (grid.hpp): their two parts against integers of 128 bits.
#include <synfire/model/grid.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <random>

namespace {

__extension__ typedef __int128 Wide;                   // NOLINT(modernize-use-using): an extension
__extension__ typedef unsigned __int128 UnsignedWide;  // NOLINT(modernize-use-using)

using namespace synfire::model;

double of_parts(Wide value) {
  return double_of_parts(static_cast<int64_t>(value >> 32), static_cast<int64_t>(value & 0xFFFFFFFF));
}

TEST(WideSums, AreRoundedOnceToEven) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 1000000; ++i) {
    Wide value = static_cast<Wide>((static_cast<UnsignedWide>(random()) << 64 | random()) >> (33 + random() % 94));
    const auto zeros = static_cast<int>(random() % 40);
    if (i % 4 == 1) value |= 1;                       // sticky bits
    if (i % 4 == 2) value = value >> zeros << zeros;  // ties
    if (i % 2 == 0) value = -value;
    ASSERT_EQ(of_parts(value), static_cast<double>(value)) << i;
  }
}

TEST(WideSums, AtTheirEdges) {
  for (int bit = 0; bit < 94; ++bit)
    for (int offset = -3; offset <= 3; ++offset)
      for (const int sign : {-1, 1}) {
        const Wide value = sign * ((static_cast<Wide>(1) << bit) + offset);
        ASSERT_EQ(of_parts(value), static_cast<double>(value)) << bit << " " << offset << " " << sign;
      }
  EXPECT_FALSE(std::signbit(of_parts(0)));
}

// Low parts are added without carries: they may pass 32 bits, and the high parts may be negative.
TEST(WideSums, OfTermsDividedEach) {
  std::mt19937_64 random(2);
  for (int repeat = 0; repeat < 100; ++repeat) {
    Wide sum = 0;
    s64 high = 0, low = 0;
    for (int i = 0; i < 3000; ++i) {
      const s64 term = static_cast<s64>(random()) >> (random() % 20);
      sum += term;
      high += high_part(term);
      low += low_part(term);
    }
    ASSERT_EQ(double_of_parts(high, low), static_cast<double>(sum));
  }
}

TEST(SumsOnTheGridOfTheirLargest, AreZerosOrNaNWhereItIsNotFinite) {
  EXPECT_EQ(grid_of_sum(0x7F800000u, largest_on_grid_32), grid_of_zeros);
  EXPECT_TRUE(std::isnan(from_sum(0, 0x7F800000u)));
  EXPECT_TRUE(std::isnan(from_sum(5, 0x7FC00000u)));
  EXPECT_EQ(from_sum(0, 0), 0.0);
  EXPECT_EQ(from_sum(-3, magnitude_bits(-1.0f)), std::ldexp(-3.0, -30));
  EXPECT_EQ(on_grid(3.4028234663852886e38f, grid_of_sum(magnitude_bits(3.4028234663852886e38f), largest_on_grid_32)),
            0x7FFFFF80);
}

}  // namespace
