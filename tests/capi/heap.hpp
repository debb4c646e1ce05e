// How much memory the program has on the heap, where the C library says.
#ifndef SYNFIRE_TESTS_CAPI_HEAP_HPP
#define SYNFIRE_TESTS_CAPI_HEAP_HPP

#include "support.hpp"

#include <cstdint>
#include <cstdlib>
#include <cstring>

#if defined(__GLIBC__) && defined(__GLIBC_PREREQ)
#if __GLIBC_PREREQ(2, 33)
#include <malloc.h>
#define SYNFIRE_TEST_KNOWS_HEAP 1

namespace synfire_test {

// A sanitizer's allocator takes the place of the C library's, which then counts nothing.
#define SYNFIRE_SKIP_WITHOUT_HEAP() \
  if (is_sanitized()) GTEST_SKIP() << "the heap is a sanitizer's"

inline uint64_t heap_in_use() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

// The C library counts freed memory that its cache for the thread keeps as used: some KiB, and more with each call
// until the cache is full. CTest runs the tests without that cache, and the numbers are exact.
inline uint64_t most_cached() {
  const char* const tunables = std::getenv("GLIBC_TUNABLES");
  return tunables && std::strstr(tunables, "tcache_count=0") ? 0 : 65536;
}

}  // namespace synfire_test
#endif
#endif

#endif
