// The index of a safetensors file in shards, "NAME.safetensors.index.json": which file beside it has which tensor.
#ifndef SYNFIRE_FILES_SHARD_INDEX_HPP
#define SYNFIRE_FILES_SHARD_INDEX_HPP

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace synfire::files {

inline constexpr std::string_view index_ending = ".json";
// Metadata of an index and of its shards that Synfire has written: the same text in all of them.
inline constexpr std::string_view shard_set_key = "synfire.shards";

struct ShardIndex {
  // Both throw unless every tensor is in a file in the folder of the index itself. Other members are skipped.
  static ShardIndex from_text(std::string_view json);
  static ShardIndex from_file(const char* path);
  static bool is_index(std::string_view path) noexcept { return path.ends_with(index_ending); }
  // The name of the file at a path, and the path of a file beside it.
  static std::string_view name_of(std::string_view path) noexcept;
  static std::string beside(std::string_view path, std::string_view file);

  std::string text(uint64_t total_size) const;
  // Throws if a shard with these metadata is not of the save that the index is of.
  void check_set(const std::map<std::string, std::string, std::less<>>& metadata) const;

  std::map<std::string, std::string, std::less<>> files;  // by the names of the tensors
  std::string set;                                        // empty: of another writer
};

}  // namespace synfire::files

#endif
