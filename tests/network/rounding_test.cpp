// How the weights of an output are rounded, also if they are not finite, which no synapse has.
#include <synapses/dense/rounding.hpp>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace synfire_test {
namespace {

using synfire::core::Rounding;
using synfire::operations::add_output;

TEST(RoundingOfOutputs, AnOutputThatIsNotFiniteHasNoGrid) {
  constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  for (const float bad : {infinity, -infinity, nan})
    for (const bool in_bias : {false, true}) {
      Rounding rounding;
      add_output(rounding, 0, std::vector<float>{1, 1e-9F}, 0);
      EXPECT_EQ(rounding.largest_error, 1);
      add_output(rounding, 1, std::vector<float>{1, in_bias ? 1e-9F : bad, 0}, in_bias ? bad : 0.5F);
      add_output(rounding, 2, std::vector<float>{1, 1e-9F}, 0);
      EXPECT_EQ(rounding.n_weights, 6u);
      EXPECT_EQ(rounding.n_lost, 2u);
      EXPECT_TRUE(std::isnan(rounding.largest_error));
      EXPECT_TRUE(std::isnan(rounding.largest_bias_error));
      EXPECT_EQ(rounding.output, 1);
    }
}

TEST(RoundingOfOutputs, TheFirstOfEqualErrorsCounts) {
  Rounding rounding;
  rounding.output = 5;
  add_output(rounding, 5, std::vector<float>{1, 0}, 0);
  EXPECT_EQ(rounding.output, 5);
  for (const int64_t output : {6, 7, 8}) add_output(rounding, output, std::vector<float>{1, 1e-9F}, 0);
  EXPECT_EQ(rounding.output, 6);
  EXPECT_EQ(rounding.n_lost, 3u);
}

}  // namespace
}  // namespace synfire_test
