#include "heap.hpp"

#include "account.hpp"
#include "error.hpp"

#include <platform/float_environment.hpp>

#include <atomic>
#include <bit>
#include <cstdlib>
#include <cstring>
#include <thread>

namespace synfire::core {
namespace {

// Right before a block.
struct Header {
  Account* account;
  uint64_t word;
};
static_assert(sizeof(Header) == heap_alignment);

// The word of a header: bits 0..43 the bytes of the whole request, 44..48 the logarithm of its
// alignment, 49..59 where the block begins in it, in units of the header's size, 60..63 the tag.
struct Request {
  uint64_t bytes, alignment, offset;
  int32_t tag;

  uint64_t word() const noexcept {
    return bytes | static_cast<uint64_t>(std::countr_zero(alignment)) << 44 | offset / sizeof(Header) << 49 |
           static_cast<uint64_t>(tag) << 60;
  }
  static Request of(uint64_t word) noexcept {
    return {word & ((uint64_t{1} << 44) - 1), uint64_t{1} << (word >> 44 & 31), (word >> 49 & 2047) * sizeof(Header),
            static_cast<int32_t>(word >> 60)};
  }
};
static_assert(Account::n_tags <= 16, "a tag has four bits of a header");

constexpr uint64_t most_block_bytes = uint64_t{1} << 43;
constexpr uint64_t most_alignment = uint64_t{1} << 14;

Header header_of(const void* memory) noexcept {
  Header header = {};
  std::memcpy(&header, static_cast<const char*>(memory) - sizeof header, sizeof header);
  return header;
}

struct HeapFunctions {
  synfire_allocate_callback allocate;
  synfire_release_memory_callback release;
  void* user;
};
// Changed only while no block lives and none is being made.
constinit HeapFunctions heap_functions = {};
// Twice the number of blocks; the lowest bit is set while the functions are changed.
constinit std::atomic<uint64_t> in_use{0};
constinit std::atomic<bool> has_containers{false};

enum class Refusal : uint8_t { none, no_memory, misaligned };

void begin_block() noexcept {
  uint64_t state = in_use.fetch_add(2, std::memory_order_acquire);
  while (state & 1) {
    std::this_thread::yield();
    state = in_use.load(std::memory_order_acquire);
  }
}
void end_block() noexcept {
  in_use.fetch_sub(2, std::memory_order_release);
}

char* ask_the_program(uint64_t bytes, uint64_t alignment, int32_t tag, Refusal& refusal) noexcept {
  const CallersFloatEnvironment theirs;
  void* const given = heap_functions.allocate(heap_functions.user, bytes, alignment, tag);
  if (!given) {
    refusal = Refusal::no_memory;
    return nullptr;
  }
  if (reinterpret_cast<uintptr_t>(given) % alignment != 0) {
    heap_functions.release(heap_functions.user, given, bytes, alignment, tag);
    refusal = Refusal::misaligned;
    return nullptr;
  }
  return static_cast<char*>(given);
}

char* ask_the_c_library(uint64_t bytes, uint64_t alignment, bool zeros, uint64_t& offset, Refusal& refusal) noexcept {
  // Its memory is aligned to 16 bytes.
  const uint64_t more = alignment > heap_alignment ? heap_alignment : 0;
  auto* const given = static_cast<char*>(zeros ? std::calloc(1, bytes + more) : std::malloc(bytes + more));
  if (!given) {
    refusal = Refusal::no_memory;
    return nullptr;
  }
  const uint64_t first = reinterpret_cast<uintptr_t>(given) + sizeof(Header);
  offset = sizeof(Header) + (alignment - first % alignment) % alignment;
  return given;
}

void* allocate_block(uint64_t bytes, uint64_t alignment, bool zeros, Refusal& refusal) noexcept {
  alignment = alignment < heap_alignment ? heap_alignment : alignment;
  refusal = Refusal::no_memory;
  if (bytes > most_block_bytes || alignment > most_alignment) return nullptr;
  refusal = Refusal::none;
  const Charge charge = Charge::current();
  const uint64_t whole = (bytes == 0 ? 1 : bytes) + alignment;
  uint64_t offset = alignment;
  begin_block();
  const bool asks_program = heap_functions.allocate != nullptr;
  char* const given = asks_program ? ask_the_program(whole, alignment, charge.tag(), refusal)
                                   : ask_the_c_library(whole, alignment, zeros, offset, refusal);
  if (!given) {
    end_block();
    return nullptr;
  }
  charge.account().retain();
  charge.account().charge(MemoryKind::host, charge.tag(), static_cast<int64_t>(whole));
  const Header header = {&charge.account(), Request{whole, alignment, offset, charge.tag()}.word()};
  char* const data = given + offset;
  std::memcpy(data - sizeof header, &header, sizeof header);
  if (zeros && asks_program) std::memset(data, 0, bytes);
  return data;
}

void* allocate_or_throw(uint64_t bytes, uint64_t alignment, bool zeros) {
  Refusal refusal = {};
  if (void* const data = allocate_block(bytes, alignment, zeros, refusal)) return data;
  if (refusal == Refusal::misaligned) throw MisalignedMemory();
  throw std::bad_alloc();
}

}  // namespace

const char* MisalignedMemory::what() const noexcept {
  return "the program's function for host memory returned an address that is not a multiple of the alignment asked for";
}

void* heap_allocate(uint64_t bytes, uint64_t alignment) {
  return allocate_or_throw(bytes, alignment, false);
}
void* heap_allocate_or_null(uint64_t bytes, uint64_t alignment) noexcept {
  Refusal refusal = {};
  return allocate_block(bytes, alignment, false, refusal);
}
void* heap_allocate_zeros(uint64_t bytes, uint64_t alignment) {
  return allocate_or_throw(bytes, alignment, true);
}

void heap_release(void* memory) noexcept {
  if (!memory) return;
  const Header header = header_of(memory);
  const Request request = Request::of(header.word);
  char* const given = static_cast<char*>(memory) - request.offset;
  header.account->charge(MemoryKind::host, request.tag, -static_cast<int64_t>(request.bytes));
  if (heap_functions.release) {
    const CallersFloatEnvironment theirs;
    heap_functions.release(heap_functions.user, given, request.bytes, request.alignment, request.tag);
  } else {
    std::free(given);
  }
  end_block();
  header.account->release();
}

uint64_t heap_bytes(const void* memory) noexcept {
  const Request request = Request::of(header_of(memory).word);
  return request.bytes - request.alignment;
}

bool heap_has_containers() noexcept {
  return has_containers.load(std::memory_order_relaxed);
}
void heap_serves_containers() noexcept {
  has_containers.store(true, std::memory_order_relaxed);
}

void set_heap_functions(const synfire_memory_desc& desc) {
  uint64_t state = 0;
  while (!in_use.compare_exchange_weak(state, 1, std::memory_order_acquire)) {
    if (state > 1) {
      synfire_memory_use use = SYNFIRE_MEMORY_USE_INIT;
      Account::of_library().read(use);
      fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-MEMORY-IN-USE",
           "the library holds %llu bytes of host memory in %llu blocks; the functions can change only when every "
           "object is "
           "destroyed and freed",
           static_cast<unsigned long long>(use.host_bytes), static_cast<unsigned long long>(use.host_blocks));
    }
    state = 0;
  }
  heap_functions = {desc.allocate, desc.release, desc.user};
  in_use.fetch_and(~uint64_t{1}, std::memory_order_release);
}

}  // namespace synfire::core
