// Numbers that operations read from device memory, so that they can change between replays: the value of a fill,
// factors, learning rates. Changes reach the device together at the next launch, in stream order; replays in flight
// keep the old values.
#ifndef SYNFIRE_GRAPH_GRAPH_VALUES_HPP
#define SYNFIRE_GRAPH_GRAPH_VALUES_HPP

#include <base/device.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace synfire::core {

// An integer that an operation reads from device memory and that every replay advances.
struct CountedValue {
  const uint64_t* set = nullptr;  // the number, and how often it was set
  uint64_t* state = nullptr;      // of which setting it is, how far replays have come since, and a word for the kernel
  explicit operator bool() const noexcept { return state != nullptr; }
};

class GraphValues {
 public:
  enum class Kind { fill, number, magnitude, fraction, probability, choice, count, whole, counted, times_set };

  explicit GraphValues(Device& device) : device_(device) {}
  ~GraphValues();
  GraphValues(const GraphValues&) = delete;
  GraphValues& operator=(const GraphValues&) = delete;

  // Adds a value of the operation that will get this number; `name` is a literal. Returns its address on the device:
  // the bits of an element of `dtype` (fill) or a double (number; magnitude: at least 0; fraction: from 0 to 1;
  // probability: from 0 to less than 1; choice: 0, 1 or 2; count: an integer from 0 to 2^53).
  const uint64_t* add(uint32_t operation, const char* name, Kind kind, int32_t dtype, double value);
  // Integers: of any 64 bits now, and up to 2^53 when they are set, as doubles.
  const uint64_t* add_whole(uint32_t operation, const char* name, uint64_t value);
  CountedValue add_counted(uint32_t operation, const char* name, uint64_t value);
  // Drops the values of operations from this number on, which were not recorded after all.
  void drop_from(uint32_t operation) noexcept;
  // Throws INVALID_ARGUMENT for an unknown name and for an invalid value.
  void set(uint32_t operation, std::string_view name, double value);
  // Sets an integer, or a counted one, of any 64 bits.
  void set_whole(uint32_t operation, std::string_view name, uint64_t value);
  // A counted number after all replays that are done. Throws INVALID_ARGUMENT for other names.
  uint64_t counted(uint32_t operation, std::string_view name) const;
  bool has_changed() const noexcept { return changed_; }
  // Updates the device in stream order. Neither allocates nor locks.
  void refresh(synfire_stream stream) {
    if (changed_) upload(stream);
  }

 private:
  static constexpr uint32_t chunk_values = 64;  // 512 bytes: one small write
  struct Chunk {
    uint64_t* device;
    bool changed;
    uint64_t values[chunk_values];
  };
  struct Named {
    uint32_t operation;
    const char* name;
    Kind kind;
    int32_t dtype;
    const uint64_t* state;  // of a counted number
  };
  const uint64_t* add_bits(uint32_t operation, const char* name, Kind kind, int32_t dtype, uint64_t bits,
                           const uint64_t* state = nullptr);
  uint64_t& bits_at(size_t index) noexcept;
  size_t find(uint32_t operation, std::string_view name) const;
  void set_bits(size_t index, uint64_t bits) noexcept;
  static uint64_t bits_of(Kind kind, int32_t dtype, double value, const char* name);
  void upload(synfire_stream stream);
  [[noreturn]] void fail_unknown(uint32_t operation, std::string_view name) const;

  bool changed_ = false;
  Device& device_;
  std::vector<std::unique_ptr<Chunk>> chunks_;
  std::vector<Named> named_;       // value i is in chunk i / chunk_values; those of an operation follow each other
  std::vector<uint64_t*> states_;  // of counted values
};

}  // namespace synfire::core

#endif
