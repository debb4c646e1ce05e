#include "host_memory.hpp"

#include "error.hpp"
#include "heap.hpp"

#include <atomic>
#include <cstring>
#include <new>
#include <string>

namespace synfire::core {
namespace {

constexpr uint64_t host_alignment = 256;

// Blocks of at least this size consist of untouched pages, and the limits are checked for each. Smaller ones are
// touched at once, so that control loops have no page faults, and are checked each time their sizes add up to this.
constexpr uint64_t large_bytes = uint64_t{16} << 20;

// Bytes of the live large blocks of this process.
constinit std::atomic<uint64_t> promised{0};
// Bytes of all smaller blocks requested so far.
constinit std::atomic<uint64_t> asked{0};

[[noreturn]] void fail_bytes(uint64_t bytes, const std::string& why) {
  fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-MEMORY-HOST", "%llu bytes of host memory were requested; %s",
       static_cast<unsigned long long>(bytes), why.c_str());
}

// `earlier` bytes are already promised. Touched ones are no longer part of the available memory; this process has
// touched at most as many as it has touched in total.
void check_limits(uint64_t bytes, uint64_t earlier, Paging paging) {
  const PhysicalMemory memory = read_physical_memory(paging);
  const auto owner = [](const MemoryBound& bound) {
    return bound.of_group ? "the control group of this process" : "this machine";
  };
  const std::string promises = earlier > 0 ? " and " + std::to_string(earlier) + " are promised already" : "";
  if (bytes > memory.total.bytes || earlier > memory.total.bytes - bytes)
    fail_bytes(bytes, std::string(owner(memory.total)) + " has " + std::to_string(memory.total.bytes) + promises);
  const uint64_t untouched = earlier > memory.resident ? earlier - memory.resident : 0;
  if (bytes > memory.available.bytes || untouched > memory.available.bytes - bytes)
    fail_bytes(bytes, std::string(owner(memory.available)) + " has at most " + std::to_string(memory.available.bytes) +
                          " of " + std::to_string(memory.total.bytes) + " left" + promises);
}

// True if this request makes the requests add up to another `large_bytes`.
bool is_due(uint64_t bytes) {
  if (bytes >= large_bytes) return true;
  const uint64_t before = asked.fetch_add(bytes, std::memory_order_relaxed);
  return before / large_bytes != (before + bytes) / large_bytes;
}

void* allocate(uint64_t bytes, bool zeros) {
  const bool large = bytes >= large_bytes;
  const auto give_up = [&] {
    if (large) promised.fetch_sub(bytes, std::memory_order_relaxed);
  };
  const uint64_t earlier =
      large ? promised.fetch_add(bytes, std::memory_order_relaxed) : promised.load(std::memory_order_relaxed);
  try {
    if (is_due(bytes)) check_limits(bytes, earlier, Paging::pageable);
    if (large) return heap_allocate_zeros(bytes, host_alignment);
    void* const data = heap_allocate(bytes, host_alignment);
    if (zeros) std::memset(data, 0, bytes);
    return data;
  } catch (const MisalignedMemory&) {
    give_up();
    throw;
  } catch (const std::bad_alloc&) {
    give_up();
    fail_bytes(bytes, "they are not available");
  } catch (...) {
    give_up();
    throw;
  }
}

}  // namespace

void require_host_memory(uint64_t bytes, Paging paging) {
  if (is_due(bytes)) check_limits(bytes, promised.load(std::memory_order_relaxed), paging);
}

void* allocate_host(uint64_t bytes) {
  return allocate(bytes, true);
}
void* allocate_host_scratch(uint64_t bytes) {
  return allocate(bytes, false);
}

void release_host(void* data) noexcept {
  const uint64_t bytes = heap_bytes(data);
  if (bytes >= large_bytes) promised.fetch_sub(bytes, std::memory_order_relaxed);
  heap_release(data);
}

}  // namespace synfire::core
