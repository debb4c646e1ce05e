#include "safetensors_writer.hpp"

#include "file_io.hpp"
#include "layout.hpp"

#include <base/error.hpp>
#include <base/text.hpp>

#include <algorithm>
#include <cstring>

namespace synfire::files {
namespace {

void check_text(const char* what, std::string_view text) {
  if (!core::is_utf8(text)) core::fail_argument("SYN-FILE-NAME", "%s %s is not UTF-8", what, shown(text).c_str());
}

void append_string(std::string& json, std::string_view text) {
  constexpr std::string_view digits = "0123456789abcdef";
  json.push_back('"');
  for (const char character : text) {
    const auto byte = static_cast<unsigned char>(character);
    if (byte < 0x20) {
      json.append("\\u00").append({digits[byte >> 4], digits[byte & 15]});
      continue;
    }
    if (character == '"' || character == '\\') json.push_back('\\');
    json.push_back(character);
  }
  json.push_back('"');
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
    append_string(json, metadata_name);
    json.append(":{");
    for (const auto& [key, value] : metadata_) {
      separate();
      append_string(json, key);
      json.push_back(':');
      append_string(json, value);
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
    append_string(json, name);
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
  uint64_t largest = 0;
  for (const Tensor* tensor : layout.tensors)
    if (tensor->fill) largest = std::max(largest, tensor->size);
  std::vector<std::byte> filled(largest);
  ReplacementFile file(path);
  file.write(std::as_bytes(std::span(layout.header)));
  for (const Tensor* tensor : layout.tensors) {
    if (tensor->fill) tensor->fill(std::span(filled).first(tensor->size));
    file.write(tensor->fill ? std::span<const std::byte>(filled).first(tensor->size) : tensor->bytes);
  }
  file.commit();
}

}  // namespace synfire::files
