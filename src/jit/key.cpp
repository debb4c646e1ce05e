#include "key.hpp"

#include "embedded.hpp"

#include <synfire/synfire.h>

#include <cstdio>

namespace synfire::jit {

// FNV-1a in one half; a multiplication and a rotation in the other, so that both do not collide together.
void Key::add_byte(unsigned char byte) noexcept {
  low_ = (low_ ^ byte) * 0x100000001B3u;
  high_ = (high_ ^ byte) * 0xFF51AFD7ED558CCDu;
  high_ = (high_ << 23) | (high_ >> 41);
}

void Key::add(uint64_t number) noexcept {
  for (int i = 0; i < 8; ++i) add_byte(static_cast<unsigned char>(number >> (8 * i)));
}

void Key::add(std::string_view text) noexcept {
  add(uint64_t{text.size()});
  for (const char c : text) add_byte(static_cast<unsigned char>(c));
}

std::string Key::text() const {
  char digits[40];
  std::snprintf(digits, sizeof digits, "%016llx%016llx", static_cast<unsigned long long>(high_),
                static_cast<unsigned long long>(low_));
  return digits;
}

const Key& key_of_library() noexcept {
  static const Key key = [] {
    Key made;
    made.add(SYNFIRE_JIT_BUILD);
    made.add(uint64_t{SYNFIRE_ABI_VERSION});
    for (const EmbeddedFile& file : embedded_files()) {
      made.add(file.path);
      made.add(file.text);
    }
    return made;
  }();
  return key;
}

}  // namespace synfire::jit
