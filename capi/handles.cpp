#include "handles.hpp"

#include <base/error.hpp>
#include <base/mutex.hpp>

#include <cstdlib>
#include <memory>
#include <mutex>
#include <new>

namespace synfire::capi {

constexpr uint32_t no_slot = 0xFFFFFFFFu;

struct alignas(32) Slot {  // never across two cache lines
  std::atomic<uint64_t> state{uint64_t{1} << 32};
  core::Object* object = nullptr;
  std::atomic<uint32_t> next_free{no_slot};
  uint32_t index = 0;  // of the slot itself, set once
};

namespace {

// Handle: bits 63..56 type tag (0x50 + type: never a canonical address, never all ones), 55..32 slot, 31..0 generation.
constexpr uint64_t tag_base = 0x50;
constexpr uint32_t slots_per_chunk = 4096;
constexpr uint32_t n_chunks = 4096;

// Slot state: bits 63..32 generation, bit 31 alive, bits 30..27 the object's type, bits 26..0 holds. In one word, so
// that a lookup is atomic: a handle with another type's tag holds nothing.
constexpr uint64_t alive_bit = uint64_t{1} << 31;
constexpr int type_shift = 27;
constexpr uint64_t pin_mask = (uint64_t{1} << type_shift) - 1;
static_assert(static_cast<uint64_t>(core::ObjectType::surrogate) < 16, "a type has four bits of a slot's state");

struct Chunk {
  Slot slots[slots_per_chunk];
};

// Chunks are never moved or freed, so a lookup needs no lock. They come from the C library, not from the program's
// functions for memory: those may change when nothing is alive. Constant-initialised and trivially destructible.
constinit std::atomic<Chunk*> chunks[n_chunks] = {};
constinit std::atomic<uint32_t> first_free{no_slot};
constinit uint32_t n_slots = 0;  // guarded by allocation_mutex
constinit core::Mutex allocation_mutex;

Chunk* new_chunk() {
  std::size_t room = sizeof(Chunk) + alignof(Chunk);
  void* memory = std::malloc(room);
  if (!memory) throw std::bad_alloc();
  return new (std::align(alignof(Chunk), sizeof(Chunk), memory, room)) Chunk;
}

Slot& slot_at(uint32_t index) noexcept {
  return chunks[index / slots_per_chunk].load(std::memory_order_acquire)->slots[index % slots_per_chunk];
}

// Pops a free slot or opens a new one. Only one thread pops at a time, so a concurrent push cannot confuse it.
uint32_t take_slot() {
  // Its data is consistent at every moment: if a fork abandons the lock, at most one slot is lost.
  allocation_mutex.take_over();
  const std::lock_guard lock(allocation_mutex, std::adopt_lock);
  uint32_t index = first_free.load(std::memory_order_acquire);
  while (index != no_slot) {
    const uint32_t next = slot_at(index).next_free.load(std::memory_order_relaxed);
    if (first_free.compare_exchange_weak(index, next, std::memory_order_acq_rel)) return index;
  }
  if (n_slots == slots_per_chunk * n_chunks)
    core::fail(SYNFIRE_ERROR_OUT_OF_MEMORY, "SYN-HANDLE-LIMIT", "%u handles are in use, the most there can be",
               n_slots);
  auto& chunk = chunks[n_slots / slots_per_chunk];
  if (!chunk.load(std::memory_order_relaxed)) chunk.store(new_chunk(), std::memory_order_release);
  slot_at(n_slots).index = n_slots;
  return n_slots++;
}

// Invalidates every copy of the handle, returns the slot and drops the table's reference. Lock-free.
void retire(Slot& slot, uint64_t generation) noexcept {
  core::Object* const object = slot.object;
  slot.object = nullptr;
  const uint64_t next_generation = (generation & 0xFFFFFFFFu) == 0xFFFFFFFFu ? 1 : generation + 1;
  slot.state.store(next_generation << 32, std::memory_order_release);
  uint32_t head = first_free.load(std::memory_order_relaxed);
  do {
    slot.next_free.store(head, std::memory_order_relaxed);
  } while (!first_free.compare_exchange_weak(head, slot.index, std::memory_order_release, std::memory_order_relaxed));
  object->release();
}

Slot* locate(uint64_t handle, core::ObjectType type) noexcept {
  if (handle >> 56 != tag_base + static_cast<uint64_t>(type)) return nullptr;
  const uint32_t index = static_cast<uint32_t>(handle >> 32) & 0xFFFFFFu;
  Chunk* const chunk = chunks[index / slots_per_chunk].load(std::memory_order_acquire);
  return chunk ? &chunk->slots[index % slots_per_chunk] : nullptr;
}

// The state, without holds, of a slot that holds this object. Bits of a handle above the generation do not matter.
uint64_t live_state(uint64_t generation, core::ObjectType type) noexcept {
  return generation << 32 | alive_bit | static_cast<uint64_t>(type) << type_shift;
}

// True if this is the state of a slot with the object of this handle.
bool names(uint64_t state, uint64_t handle, core::ObjectType type) noexcept {
  return (state & ~pin_mask) == live_state(handle, type);
}

}  // namespace

uint64_t register_object(core::Object* object) {
  const uint32_t index = take_slot();
  Slot& slot = slot_at(index);
  slot.object = object;
  const uint64_t generation = slot.state.load(std::memory_order_relaxed) >> 32;
  slot.state.store(live_state(generation, object->type()), std::memory_order_release);
  return (tag_base + static_cast<uint64_t>(object->type())) << 56 | uint64_t{index} << 32 | generation;
}

[[gnu::hot]] Hold hold(uint64_t handle, core::ObjectType type) noexcept {
  Slot* const slot = locate(handle, type);
  if (!slot) [[unlikely]]
    return {};
  uint64_t state = slot->state.load(std::memory_order_acquire);
  while (names(state, handle, type)) {
    if (slot->state.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel)) return {slot->object, slot};
  }
  return {};
}

[[gnu::hot]] void end_hold(Slot& slot) noexcept {
  const uint64_t before = slot.state.fetch_sub(1, std::memory_order_acq_rel);
  if (!(before & alive_bit) && (before & pin_mask) == 1) [[unlikely]]
    retire(slot, before >> 32);
}

bool remove(uint64_t handle, core::ObjectType type) noexcept {
  Slot* const slot = locate(handle, type);
  if (!slot) return false;
  uint64_t state = slot->state.load(std::memory_order_acquire);
  do {
    if (!names(state, handle, type)) return false;
  } while (!slot->state.compare_exchange_weak(state, (state & ~alive_bit) + 1, std::memory_order_acq_rel));
  slot->object->abandon();
  end_hold(*slot);
  return true;
}

}  // namespace synfire::capi
