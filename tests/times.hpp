// Verdicts on times. A test's verdict does not depend on how fast the machine is, unless somebody asks for that on a
// machine that is quiet: with SYNFIRE_TEST_TIMES=1, tests also judge what they measure (docs/pages/benchmarking.md).
#ifndef SYNFIRE_TESTS_TIMES_HPP
#define SYNFIRE_TESTS_TIMES_HPP

#include <cstdlib>
#include <cstring>

namespace synfire_test {

inline bool judges_times() {
  const char* const wanted = std::getenv("SYNFIRE_TEST_TIMES");
  return wanted != nullptr && std::strcmp(wanted, "1") == 0;
}

}  // namespace synfire_test

#endif  // SYNFIRE_TESTS_TIMES_HPP
