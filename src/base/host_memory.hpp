// Memory of the host that a caller decides the size of. Where the operating system promises more than it has, it grants
// any size and ends the process when the pages are touched; so what cannot be had is refused here, before.
#ifndef SYNFIRE_BASE_HOST_MEMORY_HPP
#define SYNFIRE_BASE_HOST_MEMORY_HPP

#include "physical_memory.hpp"

namespace synfire::core {

// Throws OUT_OF_MEMORY when so much is certainly not to be had now. Cheap for small sizes, which are not looked at.
void require_host_memory(uint64_t bytes, Paging paging);

// Zero-filled, aligned to 256 bytes; throws OUT_OF_MEMORY. The pages of large blocks are given by the operating system
// when they are first touched; until then they count as promised.
void* allocate_host(uint64_t bytes);
void release_host(void* data) noexcept;

}  // namespace synfire::core

#endif
