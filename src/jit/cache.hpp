// Compiled code on disk, shared by all processes of a user. An entry appears whole or not at all, carries a checksum,
// and is used only if the folder and the file belong to this user; anything else is compiled again.
#ifndef SYNFIRE_JIT_CACHE_HPP
#define SYNFIRE_JIT_CACHE_HPP

#include "key.hpp"

#include <optional>
#include <string>

namespace synfire::jit {

class Cache {
 public:
  Cache() = default;
  // Opens the caller's folder `wanted`, or throws SYN-MODEL-CACHE. Null: the environment's folder, or none if unusable.
  static Cache open(const char* wanted, uint64_t most_bytes);

  explicit operator bool() const noexcept { return !folder_.empty(); }
  const std::string& folder() const noexcept { return folder_; }
  std::optional<std::string> find(const Key& key) const;
  // Then removes the entries that were used least recently until the others fit. Throws SYN-MODEL-CACHE if the caller
  // named the folder and it does not take the entry.
  void store(const Key& key, const std::string& bytes) const;

 private:
  std::string path_of(const Key& key) const { return folder_ + "/" + key.text() + ".synfire"; }
  void make_room() const noexcept;

  std::string folder_;
  uint64_t most_bytes_ = 0;
  bool wanted_ = false;
};

}  // namespace synfire::jit

#endif
