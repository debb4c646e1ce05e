// The recorded operations that write objects with versions (base/versioned.hpp), and the writes that a launch counts.
#ifndef SYNFIRE_GRAPH_RECORDED_WRITES_HPP
#define SYNFIRE_GRAPH_RECORDED_WRITES_HPP

#include "address_index.hpp"

#include <base/versioned.hpp>

#include <optional>
#include <span>

namespace synfire::core {

struct OperationSpan {
  uint32_t first = 0, last = 0;
  bool any = false;

  void add(uint32_t operation) noexcept {
    first = any && first < operation ? first : operation;
    last = any && last > operation ? last : operation;
    any = true;
  }
  bool before(uint32_t operation) const noexcept { return any && first < operation; }
  bool after(uint32_t operation) const noexcept { return any && last > operation; }
};

// A launch counts one write of an object, however many of its operations write it.
struct CountedWrite {
  WriteCount* count;
  bool owned;  // the graph has its own part of the count

  void add() const noexcept {
    if (owned)
      count->add_as_owner();
    else
      count->add();
  }
};

class RecordedWrites {
 public:
  // ---- recording, and what changes between replays. Nothing here fails within the room that was made.
  void make_room(size_t n_more);
  // `always`: launches count it even while the operation is disabled.
  void add(Versioned& object, uint32_t operation, bool always) noexcept;
  // Operations that wrote `before` write `now`, which others may write already. Needs room for one more.
  void rebind(Versioned& before, Versioned& now) noexcept;
  // Gives the graph its own part of each count that has no owner yet.
  void claim(const void* graph) noexcept;
  void give_up() noexcept;
  size_t n_objects() const noexcept { return objects_.size(); }
  // Lists the writes that launches count, given the operations that are enabled. Does not allocate if `counted` has
  // room for n_objects().
  void plan(std::span<const uint8_t> enabled, std::vector<CountedWrite>& counted) noexcept;

  // ---- seeing what was recorded. An object may be null.
  bool any(const Versioned* object) const noexcept { return find(object) != nullptr; }
  bool any_after(const Versioned* object, uint32_t operation) const noexcept;
  // True if an enabled operation between two others writes the object.
  bool any_between(const Versioned* object, uint32_t after, uint32_t before,
                   std::span<const uint8_t> enabled) const noexcept;
  // The first operation that writes the object, or the first one after another.
  std::optional<uint32_t> first(const Versioned* object, std::optional<uint32_t> after) const noexcept;
  // The operations that are enabled and write an object that is not always counted.
  OperationSpan enabled(const Versioned* object) const noexcept;

 private:
  struct Write {
    uint32_t operation, previous;  // the write of the object before it, or AddressIndex::none
  };
  struct OfObject {
    Versioned* object;
    uint32_t newest;
    bool always, owned;
    OperationSpan enabled;
  };
  const OfObject* find(const Versioned* object) const noexcept;
  uint32_t merged(uint32_t a, uint32_t b) noexcept;

  std::vector<Write> writes_;
  std::vector<OfObject> objects_;
  AddressIndex at_;                // where objects_ has an object
  const void* claimed_ = nullptr;  // for this graph
};

}  // namespace synfire::core

#endif
