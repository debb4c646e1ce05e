// The library's own operator new: what its containers allocate comes from where all of its memory comes from. Only in a
// shared library that has a C++ runtime of its own, where the operators are not exported and the program's are others.
#include <base/heap.hpp>

#include <new>

namespace {

using synfire::core::heap_alignment;
using synfire::core::heap_allocate;
using synfire::core::heap_allocate_or_null;
using synfire::core::heap_release;

// Before anything is allocated: constructors of static objects of the library allocate nothing.
[[maybe_unused]] const bool serves = (synfire::core::heap_serves_containers(), true);

std::size_t number(std::align_val_t alignment) noexcept {
  return static_cast<std::size_t>(alignment);
}

}  // namespace

void* operator new(std::size_t bytes) {
  return heap_allocate(bytes, heap_alignment);
}
void* operator new[](std::size_t bytes) {
  return heap_allocate(bytes, heap_alignment);
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return heap_allocate_or_null(bytes, heap_alignment);
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return heap_allocate_or_null(bytes, heap_alignment);
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return heap_allocate(bytes, number(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment) {
  return heap_allocate(bytes, number(alignment));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return heap_allocate_or_null(bytes, number(alignment));
}
void* operator new[](std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return heap_allocate_or_null(bytes, number(alignment));
}

void operator delete(void* memory) noexcept {
  heap_release(memory);
}
void operator delete[](void* memory) noexcept {
  heap_release(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  heap_release(memory);
}
void operator delete[](void* memory, std::size_t) noexcept {
  heap_release(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  heap_release(memory);
}
void operator delete[](void* memory, const std::nothrow_t&) noexcept {
  heap_release(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  heap_release(memory);
}
void operator delete[](void* memory, std::align_val_t) noexcept {
  heap_release(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  heap_release(memory);
}
void operator delete[](void* memory, std::size_t, std::align_val_t) noexcept {
  heap_release(memory);
}
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  heap_release(memory);
}
void operator delete[](void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  heap_release(memory);
}
