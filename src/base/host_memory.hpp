// Host memory whose size the caller chooses. An operating system that overcommits grants any size and ends the process
// when the pages are touched. So requests that cannot be met are refused here.
#ifndef SYNFIRE_BASE_HOST_MEMORY_HPP
#define SYNFIRE_BASE_HOST_MEMORY_HPP

#include "physical_memory.hpp"

namespace synfire::core {

// Throws OUT_OF_MEMORY if this much memory is certainly not available now. Small sizes are not checked.
void require_host_memory(uint64_t bytes, Paging paging);

// Zero-filled, aligned to 256 bytes; throws OUT_OF_MEMORY. The operating system provides the pages of large blocks at
// the first touch; until then they count as promised.
void* allocate_host(uint64_t bytes);
// The same with any contents, for what is written before it is read: smaller blocks are not touched.
void* allocate_host_scratch(uint64_t bytes);
void release_host(void* data) noexcept;

}  // namespace synfire::core

#endif
