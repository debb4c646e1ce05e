// The key of compiled code in the cache: a 128-bit hash of everything that the code depends on.
#ifndef SYNFIRE_JIT_KEY_HPP
#define SYNFIRE_JIT_KEY_HPP

#include <cstdint>
#include <string>
#include <string_view>

namespace synfire::jit {

class Key {
 public:
  // Marks the end of each text: two never run into one another.
  void add(std::string_view text) noexcept;
  void add(uint64_t number) noexcept;
  std::string text() const;  // 32 hexadecimal digits
  uint64_t low() const noexcept { return low_; }
  uint64_t high() const noexcept { return high_; }

 private:
  void add_byte(unsigned char byte) noexcept;
  uint64_t low_ = 0xCBF29CE484222325u, high_ = 0x9AE16A3B2F90404Fu;
};

// The key of the library: its version and the text that it contains.
const Key& key_of_library() noexcept;

}  // namespace synfire::jit

#endif
