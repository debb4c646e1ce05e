// Integers of 128 bits, up to the largest that sums of a normalisation reach: a channel with 2^32 elements takes
// more memory than a test has. The compiler's own integers are the reference.
#include <gtest/gtest.h>

#include <operations/normalize/wide_integer.hpp>

#include <random>
#include <vector>

namespace synfire::operations {
namespace {

__extension__ typedef __int128 Whole;               // NOLINT(modernize-use-using): an extension
__extension__ typedef unsigned __int128 Magnitude;  // NOLINT(modernize-use-using): an extension

Whole whole_of(const WideInteger& x) {
  return static_cast<Whole>(static_cast<Magnitude>(x.high) << 64 | x.low);
}

// Integers of every size, and those at the borders of words.
std::vector<s64> samples() {
  std::vector<s64> found = {0, 1, -1, 0xFFFFFFFF, 0x100000000, -0x100000000, 0x7FFFFFFFFFFFFFFF, -0x7FFFFFFFFFFFFFFF};
  std::mt19937_64 random(1);
  for (int i = 0; i < 200; ++i) found.push_back(static_cast<s64>(random()) >> (i % 63));
  return found;
}

TEST(WideInteger, ProductsAndDifferences) {
  for (const s64 a : samples())
    for (const s64 b : samples()) {
      const WideInteger product = product_of(a, b);
      ASSERT_TRUE(whole_of(product) == static_cast<Whole>(a) * b) << a << " " << b;
      ASSERT_TRUE(whole_of(product - product_of(b, b)) == static_cast<Whole>(a) * b - static_cast<Whole>(b) * b);
      const auto factor = static_cast<u32>(a);
      const WideInteger sum = wide_of_parts(b >> 5, static_cast<u64>(a));
      ASSERT_TRUE(whole_of(sum) == static_cast<Whole>(b >> 5) * 0x100000000 + static_cast<u64>(a)) << a << " " << b;
      ASSERT_TRUE(whole_of(product_of(sum, factor)) == whole_of(sum) * factor) << a << " " << b;
    }
}

TEST(WideInteger, NearestF64) {
  std::mt19937_64 random(2);
  for (int i = 0; i < 20000; ++i) {
    const auto high = static_cast<u64>(static_cast<s64>(random()) >> (i % 64));
    // Ties, and what is next to them.
    const u64 low = i % 3 == 0 ? random() : (u64{1} << (random() % 64)) - static_cast<u64>(i % 3 == 1);
    const WideInteger x = {high, low};
    ASSERT_EQ(double_of(x), static_cast<double>(whole_of(x))) << high << " " << low;
  }
  EXPECT_EQ(double_of({}), 0.0);
}

// 2^32 - 1 elements: as many of 2^30 - 1 as of its negative, and one 0; then all 2^30, with the most negative dL/dX.
TEST(WideInteger, LargestSums) {
  constexpr u32 n = 0xFFFFFFFFu;
  constexpr s64 largest = s64{1} << 30, gradient = 0x7FFFFFFF;
  constexpr s64 squares = (largest - 1) * (largest - 1), n_squares = s64{n} - 1;
  const WideInteger sum =
      wide_of_parts((squares >> 32) * n_squares, static_cast<u64>(squares & 0xFFFFFFFF) * static_cast<u64>(n_squares));
  const WideInteger spread = product_of(sum, n) - product_of(s64{0}, s64{0});
  EXPECT_TRUE(whole_of(spread) == static_cast<Whole>(squares) * n_squares * n);
  const s64 product = -largest * gradient, total = largest * n, totals = -gradient * n;
  const WideInteger products =
      wide_of_parts((product >> 32) * n, static_cast<u64>(product & 0xFFFFFFFF) * static_cast<u64>(n));
  EXPECT_TRUE(whole_of(products) == static_cast<Whole>(product) * n);
  EXPECT_TRUE(whole_of(product_of(products, n) - product_of(total, -totals)) ==
              static_cast<Whole>(product) * n * n - static_cast<Whole>(total) * -totals);
}

}  // namespace
}  // namespace synfire::operations
