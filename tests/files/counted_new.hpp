// Counts what operator new has allocated on this thread, and lets it fail. In a source file of its own, because
// compilers that see what new and delete do warn of the blocks' hidden fronts.
#ifndef SYNFIRE_TESTS_FILES_COUNTED_NEW_HPP
#define SYNFIRE_TESTS_FILES_COUNTED_NEW_HPP

#include <cstddef>

namespace synfire::files {

struct CountedNew {
  size_t live_bytes = 0, most_live_bytes = 0;
  long allocations_left = -1;  // until one fails; negative: unlimited
};
CountedNew& counted_new() noexcept;  // of this thread

}  // namespace synfire::files

#endif
