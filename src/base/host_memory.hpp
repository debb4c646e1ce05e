// Host memory whose size the caller chooses. A system that overcommits grants any size and ends the process when pages
// are touched, so requests that cannot be met are refused here.
#ifndef SYNFIRE_BASE_HOST_MEMORY_HPP
#define SYNFIRE_BASE_HOST_MEMORY_HPP

#include <platform/physical_memory.hpp>

namespace synfire::core {

// Throws OUT_OF_MEMORY if this much memory is certainly not available. Small sizes are not checked.
void require_host_memory(uint64_t bytes, Paging paging);

// Zero-filled, aligned to 256 bytes; throws OUT_OF_MEMORY. Large blocks count as promised until their first touch.
void* allocate_host(uint64_t bytes);
// As allocate_host(), with any contents: smaller blocks are not touched.
void* allocate_host_scratch(uint64_t bytes);
void release_host(void* data) noexcept;

}  // namespace synfire::core

#endif
