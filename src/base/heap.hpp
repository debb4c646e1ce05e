// Where all host memory of the library comes from: the program's functions if it has set them, else the C library. Each
// block has a header, which says what it is charged to, so that it is given back with the size, the alignment and the
// tag with which it was asked for.
#ifndef SYNFIRE_BASE_HEAP_HPP
#define SYNFIRE_BASE_HEAP_HPP

#include <synfire/synfire.h>

#include <cstddef>
#include <cstdint>
#include <new>

namespace synfire::core {

// The least alignment of a block.
constexpr uint64_t heap_alignment = 16;

// The program's function returned memory that is not aligned.
class MisalignedMemory : public std::bad_alloc {
 public:
  const char* what() const noexcept override;
};

// Throws bad_alloc, or MisalignedMemory. Any contents.
void* heap_allocate(uint64_t bytes, uint64_t alignment);
// Null if there is none.
void* heap_allocate_or_null(uint64_t bytes, uint64_t alignment) noexcept;
// Zero-filled. Pages are touched only if the program's functions gave them.
void* heap_allocate_zeros(uint64_t bytes, uint64_t alignment);
// Null is allowed.
void heap_release(void* memory) noexcept;
// The size for which a block was asked, at least 1.
uint64_t heap_bytes(const void* memory) noexcept;

// True if operator new comes here too, so that containers count.
bool heap_has_containers() noexcept;
// Called by the file that replaces operator new.
void heap_serves_containers() noexcept;

// Throws WRONG_ORDER while a block lives.
void set_heap_functions(const synfire_memory_desc& desc);

}  // namespace synfire::core

#endif
