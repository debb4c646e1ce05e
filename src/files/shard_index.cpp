#include "shard_index.hpp"

#include "file_io.hpp"
#include "json_reader.hpp"
#include "json_text.hpp"
#include "layout.hpp"

#include <base/error.hpp>
#include <base/text.hpp>

namespace synfire::files {
namespace {

constexpr std::string_view map_key = "weight_map", metadata_key = "metadata";

// A name of a file that cannot lead to another folder, on any system.
void check_file_name(const std::string& tensor, const std::string& file) {
  constexpr size_t longest = 255;
  const bool leads_elsewhere = file.find_first_of("/\\:") != std::string::npos || file == "." || file == "..";
  if (leads_elsewhere || file.empty() || file.size() > longest || file.find('\0') != std::string::npos)
    core::fail_argument("SYN-FILE-INDEX",
                        "tensor %s is in the file %s; the name of a file in the folder of the index is needed, without "
                        "'/', '\\' and ':'",
                        shown(tensor).c_str(), shown(file).c_str());
}

void read_map(JsonReader& json, ShardIndex& index) {
  json.object([&](const std::string& tensor) {
    std::string file = json.string();
    check_file_name(tensor, file);
    if (!index.files.try_emplace(tensor, std::move(file)).second)
      core::fail_argument("SYN-FILE-TWICE", "tensor %s is in the index twice", shown(tensor).c_str());
  });
}

void read_index(JsonReader& json, ShardIndex& index) {
  bool has_map = false;
  json.object([&](const std::string& member) {
    if (member == map_key) {
      if (has_map) core::fail_argument("SYN-FILE-TWICE", "the index has \"weight_map\" twice");
      has_map = true;
      read_map(json, index);
    } else if (member == metadata_key) {
      json.object([&](const std::string& key) {
        if (key == shard_set_key)
          index.set = json.string();
        else
          json.skip();
      });
    } else {
      json.skip();
    }
  });
  json.end();
  if (!has_map)
    core::fail_argument("SYN-FILE-INDEX", "the index has no \"weight_map\", which says where each tensor is");
}

}  // namespace

ShardIndex ShardIndex::from_text(std::string_view json) {
  ShardIndex index;
  try {
    JsonReader reader(json);
    read_index(reader, index);
  } catch (const JsonError& error) {
    const std::string found = error.at < json.size() ? core::quoted(json.substr(error.at), 16) : "its end";
    core::fail_argument("SYN-FILE-JSON", "at byte %zu of the index is %s; %s is needed", error.at, found.c_str(),
                        error.expected);
  }
  return index;
}

ShardIndex ShardIndex::from_file(const char* path) {
  InputFile file(path);
  if (file.size() > longest_header)
    core::fail_argument("SYN-FILE-LENGTH", "the index has %llu bytes; at most %llu are allowed",
                        static_cast<unsigned long long>(file.size()), static_cast<unsigned long long>(longest_header));
  std::string text(file.size(), ' ');
  file.read(std::as_writable_bytes(std::span(text)));
  return from_text(text);
}

std::string_view ShardIndex::name_of(std::string_view path) noexcept {
#if defined(_WIN32)
  constexpr std::string_view separators = "/\\:";
#else
  constexpr std::string_view separators = "/";
#endif
  return path.substr(path.find_last_of(separators) + 1);
}

std::string ShardIndex::beside(std::string_view path, std::string_view file) {
  return std::string(path.substr(0, path.size() - name_of(path).size())).append(file);
}

void ShardIndex::check_set(const std::map<std::string, std::string, std::less<>>& metadata) const {
  const auto at = metadata.find(shard_set_key);
  const std::string_view here = at == metadata.end() ? std::string_view() : at->second;
  if (!set.empty() && here != set)
    core::fail_argument("SYN-FILE-SHARD",
                        "it is of the save %s, and the index of %s; save again, because one of the two was "
                        "interrupted",
                        shown(here).c_str(), shown(set).c_str());
}

std::string ShardIndex::text(uint64_t total_size) const {
  std::string json = "{\"metadata\":{";
  append_json_string(json, shard_set_key);
  json.push_back(':');
  append_json_string(json, set);
  json.append(",\"total_size\":").append(std::to_string(total_size)).append("},\"weight_map\":{");
  for (const auto& [tensor, file] : files) {
    if (json.back() != '{') json.push_back(',');
    append_json_string(json, tensor);
    json.push_back(':');
    append_json_string(json, file);
  }
  return json.append("}}\n");
}

}  // namespace synfire::files
