// Which recorded operations write and read the transient buffers of a graph. An operation that reads one which none has
// written would read what others have left in that memory.
#ifndef SYNFIRE_GRAPH_PASSED_ON_HPP
#define SYNFIRE_GRAPH_PASSED_ON_HPP

#include <base/make_room.hpp>

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace synfire::core {

class PassedOn {
 public:
  // An operation that would read what no enabled operation has written.
  struct Missing {
    uint32_t reader;
    std::optional<uint32_t> writer;  // a disabled operation that would have written it
  };

  // For operands of arrays with numbers up to `n_arrays`.
  void make_room(size_t n_more, size_t n_arrays) {
    core::make_room(uses_, n_more);
    if (writers_.size() <= n_arrays) writers_.resize(n_arrays + 1);
  }
  // Within the room that was made: an entry of an operation uses the array of this number. Entries are added in the
  // order in which they run. What an entry both reads and writes, it reads first.
  void add(int32_t array, uint32_t operation, bool reads, bool writes) noexcept {
    uses_.push_back({static_cast<uint32_t>(array), operation, reads, writes});
  }
  void plan(std::span<const uint8_t> enabled) noexcept;
  // As planned last; null: there is none.
  const Missing* missing() const noexcept { return missing_ ? &*missing_ : nullptr; }

 private:
  struct Use {
    uint32_t array, operation;
    bool reads, writes;
  };
  struct Writer {
    std::optional<uint32_t> operation;
    bool enabled = false;
  };

  std::vector<Use> uses_;
  std::vector<Writer> writers_;  // of each array by its number, while a plan is made
  std::optional<Missing> missing_;
};

}  // namespace synfire::core

#endif
