// Compiled code on disk, shared by all processes of a user. An entry appears whole or not at all, carries a sum over
// its bytes, and is taken only from a folder and a file that belong to this user; whatever else is found there is
// compiled again.
#ifndef SYNFIRE_JIT_CACHE_HPP
#define SYNFIRE_JIT_CACHE_HPP

#include "key.hpp"

#include <optional>
#include <string>

namespace synfire::jit {

class Cache {
 public:
  // No cache.
  Cache() = default;
  // `wanted` is the caller's folder: one that cannot be used throws SYN-MODEL-CACHE. Null: the folder of the
  // environment, or no cache if that cannot be used.
  static Cache open(const char* wanted, uint64_t most_bytes);

  explicit operator bool() const noexcept { return !folder_.empty(); }
  const std::string& folder() const noexcept { return folder_; }
  std::optional<std::string> find(const Key& key) const;
  // Removes the entries that were not used for the longest time, until the others fit. Throws SYN-MODEL-CACHE if the
  // caller named the folder and it does not take the entry.
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
