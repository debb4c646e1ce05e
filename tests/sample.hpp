// A seeded sample of the cases that a test enumerates.
//
// The full build runs every case. A build that is there for another compiler, processor or sanitizer has the same
// sources and needs each kind of case, but not each case. Such a build sets SYNFIRE_TEST_SAMPLE=K in the environment
// of its tests: about one case of K is run, and always the first. The choice depends on the seed and the case's index
// alone, hence every machine, compiler and order of running makes the same one. SYNFIRE_TEST_SAMPLE_SEED, 1 by default,
// makes another. A case that was skipped counts as passed, so a test must show something with its first case alone.
#ifndef SYNFIRE_TESTS_SAMPLE_HPP
#define SYNFIRE_TESTS_SAMPLE_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace synfire_test {

// A positive integer out of the environment; `absent` where the variable is unset or empty. Any other text ends the
// program: a sample that nobody asked for would hide the cases that it leaves out.
inline std::uint64_t sample_setting(const char* name, std::uint64_t absent) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return absent;
  char* end = nullptr;
  const unsigned long long value = std::strtoull(text, &end, 10);
  if (*text < '0' || *text > '9' || *end != '\0' || value == 0) {
    std::fprintf(stderr, "%s must be a positive integer, not \"%s\"\n", name, text);
    std::exit(2);
  }
  return value;
}

// One case of how many is run: K.
inline std::uint64_t sample_interval() {
  static const std::uint64_t interval = sample_setting("SYNFIRE_TEST_SAMPLE", 1);
  return interval;
}

inline std::uint64_t sample_seed() {
  static const std::uint64_t seed = sample_setting("SYNFIRE_TEST_SAMPLE_SEED", 1);
  return seed;
}

// True if the case of this index is run where one of `interval` is. The finalizer of SplitMix64 makes neighbours
// independent, so that a sample hits every value of every inner loop over the indices.
constexpr bool sampled_of(std::uint64_t index, std::uint64_t interval, std::uint64_t seed) {
  if (interval <= 1 || index == 0) return true;
  std::uint64_t bits = index + seed * 0x9e3779b97f4a7c15ULL;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9ULL;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebULL;
  bits ^= bits >> 31;
  return bits % interval == 0;
}

// True if the case of this index is run: `if (synfire_test::sampled(i))`.
inline bool sampled(std::uint64_t index) {
  return sampled_of(index, sample_interval(), sample_seed());
}

// Counts the cases of nested loops whose indices are not at hand: `Sample sample; for (...) for (...) if
// (sample.next())`.
class Sample {
 public:
  bool next() { return sampled(index_++); }

 private:
  std::uint64_t index_ = 0;
};

// The cases of `all` that are run, in their order, for a loop over a list. Not for INSTANTIATE_TEST_SUITE_P: a test's
// name holds its index, and the list of names is made without the variable.
template <class Container>
Container sample_of(const Container& all) {
  Container chosen;
  std::uint64_t index = 0;
  for (const auto& one : all)
    if (sampled(index++)) chosen.push_back(one);
  return chosen;
}

}  // namespace synfire_test

#endif  // SYNFIRE_TESTS_SAMPLE_HPP
