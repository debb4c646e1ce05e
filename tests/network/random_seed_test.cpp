// The seeds from which networks draw: the vectors of docs/pages/networks.md, and no two of them that are equal.
#include <network/random_seed.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "../random_seed.hpp"

namespace synfire_test {
namespace {

namespace inside = synfire::network;

struct Vector {
  uint64_t seed;
  const char *name, *purpose;
  uint64_t result;
};
const Vector vectors[] = {{0, "", "order", 6569424359235503},
                          {0, "first", "weights", 1847604265888154},
                          {1, "first", "weights", 7263798770259931},
                          {0, "second", "weights", 8586947960953389},
                          {7, "rates", "rates", 1360637541498548},
                          {1360637541498548, "rates", "evaluation", 3288048953239622},
                          {UINT64_MAX, "hidden.drop", "dropout", 1914546482948061}};

TEST(RandomSeeds, HaveTheDocumentedValues) {
  for (const Vector& v : vectors) {
    EXPECT_EQ(inside::random_seed(v.seed, v.name, v.purpose), v.result) << v.seed << " " << v.name << " " << v.purpose;
    EXPECT_EQ(random_seed(v.seed, v.name, v.purpose), v.result) << v.seed << " " << v.name << " " << v.purpose;
  }
}

TEST(RandomSeeds, AreIntegersThatADoubleHolds) {
  uint64_t all = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) all |= inside::random_seed(seed, "stage", "weights");
  EXPECT_EQ(all, (uint64_t{1} << 53) - 1);
}

// Names that differ in one letter, that are a part of another, or that continue in the purpose.
TEST(RandomSeeds, DifferForSmallSeedsAllNamesAndPurposes) {
  std::vector<std::string> names = {"", "input", "rates", "first", "second", "hidden", "hidden.drop", "drop"};
  for (const char letter : std::string("abcABCns_-."))
    for (const char* const end : {"", "0", "1", "2", "aa"}) names.push_back(std::string(1, letter) + end);
  std::vector<uint64_t> drawn;
  for (uint64_t seed = 0; seed < 3000; ++seed)
    for (const std::string& name : names)
      for (const std::string_view purpose : {inside::purpose::order, inside::purpose::weights, inside::purpose::dropout,
                                             inside::purpose::rates, inside::purpose::evaluation})
        drawn.push_back(inside::random_seed(seed, name, purpose));
  // Also what an evaluation draws from the seed of a stage.
  for (uint64_t seed = 0; seed < 3000; ++seed)
    for (const char* const name : {"rates", "drop"})
      for (const char* const purpose : {"rates", "dropout"})
        drawn.push_back(inside::random_seed(inside::random_seed(seed, name, purpose), name, "evaluation"));
  std::sort(drawn.begin(), drawn.end());
  EXPECT_EQ(std::adjacent_find(drawn.begin(), drawn.end()), drawn.end());
}

// Each of the 53 bits depends on every bit of the seed and of a name: it changes in about half of all cases.
TEST(RandomSeeds, DependOnEveryBit) {
  const auto expect_mixed = [](const std::string& what, auto changed) {
    int counts[53] = {};
    constexpr int n = 400;
    for (uint64_t seed = 0; seed < n; ++seed) {
      const uint64_t difference = inside::random_seed(seed, "stage", "weights") ^ changed(seed);
      for (int bit = 0; bit < 53; ++bit) counts[bit] += static_cast<int>(difference >> bit & 1);
    }
    for (int bit = 0; bit < 53; ++bit) EXPECT_NEAR(counts[bit], n / 2.0, 60) << what << ", bit " << bit;  // 6 sigma
  };
  for (int bit = 0; bit < 64; ++bit)
    expect_mixed("seed bit " + std::to_string(bit),
                 [&](uint64_t seed) { return inside::random_seed(seed ^ uint64_t{1} << bit, "stage", "weights"); });
  expect_mixed("the first letter", [](uint64_t seed) { return inside::random_seed(seed, "rtage", "weights"); });
  expect_mixed("the last letter", [](uint64_t seed) { return inside::random_seed(seed, "stagd", "weights"); });
  expect_mixed("the purpose", [](uint64_t seed) { return inside::random_seed(seed, "stage", "dropout"); });
}

}  // namespace
}  // namespace synfire_test
