#include "safetensors_writer.hpp"

#include "file_io.hpp"
#include "json_text.hpp"
#include "layout.hpp"
#include "shard_index.hpp"

#include <base/error.hpp>
#include <base/text.hpp>

#include <algorithm>
#include <bit>
#include <cstdio>
#include <cstring>
#include <list>

namespace synfire::files {
namespace {

void check_text(const char* what, std::string_view text) {
  if (!core::is_utf8(text)) core::fail_argument("SYN-FILE-NAME", "%s %s is not UTF-8", what, shown(text).c_str());
}

}  // namespace

// The header with its length and padding, and the tensors in the order of their bytes.
struct SafetensorsWriter::Layout {
  std::string header;
  std::vector<const Tensor*> tensors;
};

void SafetensorsWriter::insert(std::string_view name, Tensor tensor) {
  check_text("the tensor's name", name);
  if (name == metadata_name)
    core::fail_argument("SYN-FILE-NAME", "a tensor is named %s, which the format keeps for metadata",
                        shown(name).c_str());
  for (const int64_t length : tensor.shape)
    if (length < 0)
      core::fail_argument("SYN-FILE-SIZE", "tensor %s has the shape %s; lengths are at least 0", shown(name).c_str(),
                          shown(tensor.shape).c_str());
  if (bytes_of(tensor.dtype) == 0)
    core::fail_argument("SYN-FILE-DTYPE", "tensor %s has the unknown type %d", shown(name).c_str(),
                        static_cast<int>(tensor.dtype));
  tensor.size = checked_size(name, tensor.dtype, tensor.shape);
  if (!tensor.fill && tensor.bytes.size() != tensor.size)
    core::fail_argument("SYN-FILE-SIZE", "tensor %s has %llu bytes; its type %s and shape %s need %llu",
                        shown(name).c_str(), static_cast<unsigned long long>(tensor.bytes.size()),
                        name_of(tensor.dtype), shown(tensor.shape).c_str(),
                        static_cast<unsigned long long>(tensor.size));
  constexpr uint64_t most = uint64_t{1} << 62;  // leaves room for the header
  if (tensor.size > most - total_)
    core::fail_argument("SYN-FILE-OVERFLOW", "with tensor %s the file has more than 2^62 bytes", shown(name).c_str());
  const uint64_t size = tensor.size;
  if (!tensors_.try_emplace(std::string(name), std::move(tensor)).second)
    core::fail_argument("SYN-FILE-TWICE", "tensor %s was added already", shown(name).c_str());
  total_ += size;
}

void SafetensorsWriter::add(std::string_view name, Dtype dtype, std::span<const int64_t> shape,
                            std::span<const std::byte> bytes) {
  insert(name, Tensor{dtype, {shape.begin(), shape.end()}, 0, bytes, nullptr});
}

void SafetensorsWriter::add_filled(std::string_view name, Dtype dtype, std::span<const int64_t> shape, Fill fill) {
  insert(name, Tensor{dtype, {shape.begin(), shape.end()}, 0, {}, std::move(fill)});
}

void SafetensorsWriter::set_metadata(std::string_view key, std::string_view value) {
  check_text("the key", key);
  check_text("the metadata", value);
  if (!metadata_.try_emplace(std::string(key), value).second)
    core::fail_argument("SYN-FILE-TWICE", "metadata %s were set already", shown(key).c_str());
}

SafetensorsWriter::Layout SafetensorsWriter::layout() const {
  Layout layout = {std::string(length_bytes, '\0') + "{", {}};
  std::string& json = layout.header;
  const auto separate = [&] {
    if (json.back() != '{') json.push_back(',');
  };
  if (!metadata_.empty()) {
    append_json_string(json, metadata_name);
    json.append(":{");
    for (const auto& [key, value] : metadata_) {
      separate();
      append_json_string(json, key);
      json.push_back(':');
      append_json_string(json, value);
    }
    json.push_back('}');
  }
  std::vector<const std::pair<const std::string, Tensor>*> sorted;
  for (const auto& entry : tensors_) sorted.push_back(&entry);
  std::ranges::stable_sort(sorted, std::ranges::greater(),
                           [](const auto* entry) { return bytes_of(entry->second.dtype); });
  uint64_t offset = 0;
  for (const auto* entry : sorted) {
    const auto& [name, tensor] = *entry;
    separate();
    append_json_string(json, name);
    json.append(":{\"dtype\":\"").append(name_of(tensor.dtype)).append("\",\"shape\":[");
    for (const int64_t& length : tensor.shape)
      json.append(&length == tensor.shape.data() ? "" : ",").append(std::to_string(length));
    json.append("],\"data_offsets\":[").append(std::to_string(offset)).append(",");
    offset += tensor.size;
    json.append(std::to_string(offset)).append("]}");
    layout.tensors.push_back(&tensor);
  }
  json.push_back('}');
  json.resize((json.size() + 7) / 8 * 8, ' ');
  const uint64_t length = json.size() - length_bytes;
  if (length > longest_header)
    core::fail_argument("SYN-FILE-LENGTH", "the header would have %llu bytes; at most %llu are allowed",
                        static_cast<unsigned long long>(length), static_cast<unsigned long long>(longest_header));
  std::memcpy(json.data(), &length, sizeof length);
  return layout;
}

uint64_t SafetensorsWriter::size() const {
  return layout().header.size() + total_;
}

void SafetensorsWriter::write(std::span<std::byte> memory) const {
  const Layout layout = this->layout();
  const uint64_t size = layout.header.size() + total_;
  if (memory.size() < size)
    core::fail_argument("SYN-FILE-CAPACITY", "the memory has %llu bytes; the file has %llu",
                        static_cast<unsigned long long>(memory.size()), static_cast<unsigned long long>(size));
  const auto put = [&](std::span<const std::byte> bytes) {
    std::ranges::copy(bytes, memory.begin());
    memory = memory.subspan(bytes.size());
  };
  put(std::as_bytes(std::span(layout.header)));
  for (const Tensor* tensor : layout.tensors)
    if (tensor->fill) {
      tensor->fill(memory.first(tensor->size));
      memory = memory.subspan(tensor->size);
    } else {
      put(tensor->bytes);
    }
}

std::vector<std::byte> SafetensorsWriter::bytes() const {
  std::vector<std::byte> memory(size());
  write(memory);
  return memory;
}

void SafetensorsWriter::write_file(const char* path) const {
  const Layout layout = this->layout();
  std::vector<std::byte> filled(largest_filled());
  ReplacementFile file(path);  // last: without memory for its name, Windows keeps it
  write_to(file, layout, filled);
  file.commit();
}

void SafetensorsWriter::write_to(ReplacementFile& file, const Layout& layout, std::span<std::byte> filled) const {
  file.write(std::as_bytes(std::span(layout.header)));
  for (const Tensor* tensor : layout.tensors) file.write(tensor->filled_in(filled));
}

uint64_t SafetensorsWriter::largest_filled() const noexcept {
  uint64_t largest = 0;
  for (const auto& [name, tensor] : tensors_)
    if (tensor.fill) largest = std::max(largest, tensor.size);
  return largest;
}

std::span<const std::byte> SafetensorsWriter::Tensor::filled_in(std::span<std::byte> memory) const {
  if (!fill) return bytes;
  fill(memory.first(size));
  return memory.first(size);
}

// ---- shards ---------------------------------------------------------------------------------------------------------

namespace {

// A number that other contents hardly have. Whoever wants the same number can have it.
class ContentHash {
 public:
  void add(std::span<const std::byte> bytes) noexcept {
    mix(bytes.size());
    while (!bytes.empty()) {
      uint64_t word = 0;
      const size_t n = std::min(bytes.size(), sizeof word);
      std::memcpy(&word, bytes.data(), n);
      mix(word);
      bytes = bytes.subspan(n);
    }
  }
  void add(std::string_view text) noexcept { add(std::as_bytes(std::span(text))); }
  std::string text() const {
    char digits[17];
    std::snprintf(digits, sizeof digits, "%016llx", static_cast<unsigned long long>(hash_ ^ hash_ >> 32));
    return digits;
  }

 private:
  void mix(uint64_t word) noexcept {
    hash_ = std::rotl((hash_ ^ word) * 0x9E3779B97F4A7C15u, 29) * 0xD6E8FEB86659FD93u;
  }

  uint64_t hash_ = 0;
};

constexpr std::string_view file_ending = ".safetensors";

}  // namespace

// All files begin with the metadata of their set, which is a hash of everything: two saves cannot be mixed up. The
// first file has the metadata of the whole.
std::list<SafetensorsWriter> SafetensorsWriter::shards(uint64_t shard_bytes) const {
  ContentHash hash;
  for (const auto& [key, value] : metadata_) {
    hash.add(key);
    hash.add(value);
  }
  std::vector<std::byte> filled(largest_filled());
  std::list<SafetensorsWriter> parts;
  const Layout whole = layout();
  for (const Tensor* tensor : whole.tensors) {
    const auto named = std::ranges::find_if(tensors_, [&](const auto& entry) { return &entry.second == tensor; });
    hash.add(named->first);
    hash.add(tensor->filled_in(filled));
    if (parts.empty() || (parts.back().total_ != 0 && tensor->size > shard_bytes - parts.back().total_))
      parts.emplace_back();
    parts.back().insert(named->first, *tensor);
  }
  for (SafetensorsWriter& part : parts) part.set_metadata(shard_set_key, hash.text());
  for (const auto& [key, value] : metadata_) parts.front().set_metadata(key, value);
  return parts;
}

uint64_t SafetensorsWriter::write_shards(const char* path, uint64_t shard_bytes) const {
  const std::string_view whole = path;
  check_text("the path", whole);
  if (!whole.ends_with(file_ending))
    core::fail_argument("SYN-FILE-NAME", "the path is %s; one that ends in \"%s\" is needed", shown(whole).c_str(),
                        file_ending.data());
  if (total_ <= shard_bytes) {
    write_file(path);
    return 1;
  }
  constexpr uint64_t most_shards = 99'999;
  const std::list<SafetensorsWriter> parts = shards(shard_bytes);
  if (parts.size() > most_shards)
    core::fail_argument("SYN-FILE-SHARD", "%llu bytes in shards of %llu are %zu files; at most %llu are allowed",
                        static_cast<unsigned long long>(total_), static_cast<unsigned long long>(shard_bytes),
                        parts.size(), static_cast<unsigned long long>(most_shards));
  ShardIndex index;
  std::list<ReplacementFile> files;
  for (const SafetensorsWriter& part : parts) {
    char number[32];
    std::snprintf(number, sizeof number, "-%05zu-of-%05zu", files.size() + 1, parts.size());
    const std::string name =
        std::string(whole.substr(0, whole.size() - file_ending.size())).append(number).append(file_ending);
    const Layout layout = part.layout();
    std::vector<std::byte> filled(part.largest_filled());
    part.write_to(files.emplace_back(name.c_str(), static_cast<int>(files.size())), layout, filled);
    files.back().finish();
    for (const auto& [tensor, data] : part.tensors_) index.files.emplace(tensor, ShardIndex::name_of(name));
    index.set = part.metadata_.find(shard_set_key)->second;
  }
  ReplacementFile index_file(std::string(whole).append(".index").append(index_ending).c_str(),
                             static_cast<int>(files.size()));
  const std::string text = index.text(total_);
  index_file.write(std::as_bytes(std::span(text)));
  index_file.finish();
  for (ReplacementFile& file : files) file.commit();
  index_file.commit();
  return files.size();
}

}  // namespace synfire::files
