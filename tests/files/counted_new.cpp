#include "counted_new.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

namespace synfire::files {
namespace {

constexpr size_t front = 16;  // of each block, for its size

thread_local constinit CountedNew counted;

void* allocate(size_t size) noexcept {
  if (counted.allocations_left >= 0 && counted.allocations_left-- == 0) return nullptr;
  auto* const block = static_cast<char*>(std::malloc(size + front));
  if (!block) return nullptr;
  std::memcpy(block, &size, sizeof size);
  counted.live_bytes += size;
  counted.most_live_bytes = std::max(counted.most_live_bytes, counted.live_bytes);
  return block + front;
}

void release(void* data) noexcept {
  if (!data) return;
  char* const block = static_cast<char*>(data) - front;
  size_t size = 0;
  std::memcpy(&size, block, sizeof size);
  counted.live_bytes -= size;
  std::free(block);
}

}  // namespace

CountedNew& counted_new() noexcept {
  return counted;
}

}  // namespace synfire::files

void* operator new(size_t size) {
  if (void* const data = synfire::files::allocate(size)) return data;
  throw std::bad_alloc();
}
void* operator new(size_t size, const std::nothrow_t&) noexcept {
  return synfire::files::allocate(size);
}
void operator delete(void* data) noexcept {
  synfire::files::release(data);
}
void operator delete(void* data, size_t) noexcept {
  synfire::files::release(data);
}
