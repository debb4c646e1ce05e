#include "safetensors_file.hpp"

#include "file_io.hpp"
#include "json_reader.hpp"
#include "layout.hpp"
#include "shard_index.hpp"

#include <base/error.hpp>
#include <base/host_memory.hpp>
#include <base/text.hpp>

#include <algorithm>
#include <cstring>
#include <iterator>

namespace synfire::files {
namespace {

using Tensor = SafetensorsFile::Tensor;
using Metadata = SafetensorsFile::Metadata;

unsigned long long number(uint64_t value) {
  return value;
}

void check_size(uint64_t file_size) {
  if (file_size < length_bytes)
    core::fail_argument("SYN-FILE-LENGTH", "the file has %llu bytes; it begins with 8, the length of its header",
                        number(file_size));
}

uint64_t header_length(std::span<const std::byte, length_bytes> first, uint64_t file_size) {
  uint64_t length = 0;
  std::memcpy(&length, first.data(), sizeof length);
  const uint64_t most = std::min(file_size - length_bytes, longest_header);
  if (length < 2 || length > most)
    core::fail_argument("SYN-FILE-LENGTH",
                        "the file's first 8 bytes say that its header has %llu bytes; 2 to %llu are possible in a file "
                        "of %llu bytes",
                        number(length), number(most), number(file_size));
  return length;
}

// Reads the JSON of a header. Texts of refusals name the tensor that is being read.
class HeaderReader {
 public:
  explicit HeaderReader(std::string_view header) : header_(header), json_(header) {}

  void read(std::vector<Tensor>& tensors, Metadata& metadata);

 private:
  void read_members(std::vector<Tensor>& tensors, Metadata& metadata);
  void read_metadata(Metadata& metadata);
  void read_tensor(Tensor& tensor);
  void read_offsets(Tensor& tensor);
  [[noreturn]] void fail_json(const JsonError& error) const;

  std::string_view header_;
  JsonReader json_;
  std::string within_;  // "tensor \"w\": "
};

void HeaderReader::read(std::vector<Tensor>& tensors, Metadata& metadata) {
  if (header_.front() != '{') fail_json({0, "'{'"});
  try {
    read_members(tensors, metadata);
    json_.end();
  } catch (const JsonError& error) {
    fail_json(error);
  }
}

void HeaderReader::fail_json(const JsonError& error) const {
  const std::string found = error.at < header_.size() ? core::quoted(header_.substr(error.at), 16) : "its end";
  core::fail_argument("SYN-FILE-JSON", "%sat byte %llu of the header is %s; %s is needed", within_.c_str(),
                      number(error.at), found.c_str(), error.expected);
}

void HeaderReader::read_members(std::vector<Tensor>& tensors, Metadata& metadata) {
  bool has_metadata = false;
  json_.object([&](std::string name) {
    if (name == metadata_name) {
      if (has_metadata) core::fail_argument("SYN-FILE-TWICE", "the header has \"__metadata__\" twice");
      has_metadata = true;
      within_ = "metadata: ";
      read_metadata(metadata);
    } else {
      within_ = "tensor " + shown(name) + ": ";
      tensors.emplace_back().name = std::move(name);
      read_tensor(tensors.back());
    }
    within_.clear();
  });
}

void HeaderReader::read_metadata(Metadata& metadata) {
  json_.object([&](std::string key) {
    const auto [at, is_new] = metadata.try_emplace(std::move(key));
    if (!is_new) core::fail_argument("SYN-FILE-TWICE", "metadata %s are there twice", shown(at->first).c_str());
    at->second = json_.string();
  });
}

void HeaderReader::read_tensor(Tensor& tensor) {
  static constexpr const char* needed[] = {"dtype", "shape", "data_offsets"};
  bool seen[std::size(needed)] = {};
  json_.object([&](const std::string& member) {
    const auto which = static_cast<size_t>(std::ranges::find(needed, member) - needed);
    if (which == std::size(needed))  // it might say what the bytes mean
      core::fail_argument("SYN-FILE-ENTRY",
                          "%s%s is not a member that the format has; it has \"dtype\", \"shape\" and "
                          "\"data_offsets\"",
                          within_.c_str(), shown(member).c_str());
    if (seen[which]) core::fail_argument("SYN-FILE-TWICE", "%s\"%s\" is there twice", within_.c_str(), member.c_str());
    seen[which] = true;
    if (which == 0)
      tensor.dtype_name = json_.string();
    else if (which == 1)
      json_.array([&] { tensor.shape.push_back(json_.length()); });
    else
      read_offsets(tensor);
  });
  for (size_t i = 0; i < std::size(needed); ++i)
    if (!seen[i])
      core::fail_argument("SYN-FILE-ENTRY", "%s\"%s\" is missing; \"dtype\", \"shape\" and \"data_offsets\" are needed",
                          within_.c_str(), needed[i]);
  tensor.dtype = dtype_named(tensor.dtype_name);
}

void HeaderReader::read_offsets(Tensor& tensor) {
  size_t n = 0;
  json_.array([&] {
    const auto offset = static_cast<uint64_t>(json_.length());
    if (n == 0) tensor.begin = offset;
    if (n == 1) tensor.end = offset;
    ++n;
  });
  if (n != 2)
    core::fail_argument("SYN-FILE-ENTRY", "%s\"data_offsets\" has %llu numbers; 2 are needed", within_.c_str(),
                        number(n));
}

}  // namespace

void SafetensorsFile::Release::operator()(std::byte* data) const noexcept {
  core::release_host(data);
}

// Tensors follow each other without gaps, from the first byte to the last.
void SafetensorsFile::check_offsets(uint64_t data_size) const {
  std::vector<const Tensor*> in_place;
  for (const Tensor& tensor : tensors_) in_place.push_back(&tensor);
  std::ranges::sort(in_place, {}, [](const Tensor* tensor) { return std::pair(tensor->begin, tensor->end); });
  uint64_t at = 0;
  for (const Tensor* const one : in_place) {
    const Tensor& tensor = *one;
    const auto fail = [&](const char* why) {
      core::fail_argument("SYN-FILE-OFFSETS",
                          "tensor %s has the offsets [%llu, %llu], and the tensors before it end at %llu, those of the "
                          "file at %llu: %s",
                          shown(tensor.name).c_str(), number(tensor.begin), number(tensor.end), number(at),
                          number(data_size), why);
    };
    if (tensor.end < tensor.begin) fail("it ends before it begins");
    if (tensor.end > data_size) fail("it ends beyond the end of the file");
    if (tensor.begin < at) fail("tensors must not overlap");
    if (tensor.begin > at) fail("there must be no holes");
    at = tensor.end;
  }
  if (at != data_size)
    core::fail_argument("SYN-FILE-OFFSETS", "the tensors end at %llu, the file at %llu bytes after its header",
                        number(at), number(data_size));
}

void SafetensorsFile::read_header(std::string_view header, uint64_t data_size) {
  HeaderReader(header).read(tensors_, metadata_);
  std::ranges::sort(tensors_, {}, &Tensor::name);
  const auto twice = std::ranges::adjacent_find(tensors_, {}, &Tensor::name);
  if (twice != tensors_.end())
    core::fail_argument("SYN-FILE-TWICE", "tensor %s is there twice", shown(twice->name).c_str());
  check_offsets(data_size);
  for (const Tensor& tensor : tensors_) {
    const uint64_t size = checked_size(tensor.name, tensor.dtype, tensor.shape);
    if (tensor.dtype != Dtype::unknown && size != tensor.end - tensor.begin)
      core::fail_argument("SYN-FILE-SIZE", "tensor %s has %llu bytes; its type %s and shape %s need %llu",
                          shown(tensor.name).c_str(), number(tensor.end - tensor.begin), tensor.dtype_name.c_str(),
                          shown(tensor.shape).c_str(), number(size));
  }
}

void SafetensorsFile::attach(std::span<const std::byte> data) noexcept {
  for (Tensor& tensor : tensors_) tensor.bytes = data.subspan(tensor.begin, tensor.end - tensor.begin);
}

SafetensorsFile SafetensorsFile::from_memory(std::span<const std::byte> file) {
  check_size(file.size());
  const uint64_t length = header_length(file.first<length_bytes>(), file.size());
  const std::span<const std::byte> header = file.subspan(length_bytes, length);
  const std::span<const std::byte> data = file.subspan(length_bytes + length);
  SafetensorsFile read;
  read.read_header({reinterpret_cast<const char*>(header.data()), header.size()}, data.size());
  read.attach(data);
  return read;
}

SafetensorsFile SafetensorsFile::header_of(InputFile& file) {
  check_size(file.size());
  std::byte first[length_bytes];
  file.read(first);
  std::string header(header_length(first, file.size()), ' ');
  file.read(std::as_writable_bytes(std::span(header)));
  SafetensorsFile read;
  read.data_begin_ = length_bytes + header.size();
  read.read_header(header, file.size() - read.data_begin_);
  return read;
}

SafetensorsFile SafetensorsFile::from_file(const char* path) {
  InputFile file(path);
  SafetensorsFile read = header_of(file);
  const uint64_t size = file.size() - read.data_begin_;
  std::unique_ptr<std::byte, Release> held(static_cast<std::byte*>(core::allocate_host(size)));
  const std::span<std::byte> data(held.get(), size);
  read.data_.push_back(std::move(held));
  file.read(data);
  read.attach(data);
  return read;
}

void SafetensorsFile::take_shard(SafetensorsFile&& shard, std::span<const std::string> names) {
  for (const std::string& name : names) {
    const Tensor* const tensor = shard.find(name);
    if (!tensor)
      core::fail_argument("SYN-FILE-SHARD", "it has no tensor %s, which is in it by the index", shown(name).c_str());
    tensors_.push_back(*tensor);
  }
  shard.metadata_.erase(std::string(shard_set_key));
  metadata_.merge(shard.metadata_);
  std::ranges::move(shard.data_, std::back_inserter(data_));
}

SafetensorsFile SafetensorsFile::from_shards(const char* index_path) {
  const ShardIndex index = ShardIndex::from_file(index_path);
  std::map<std::string, std::vector<std::string>> names;  // of the tensors, by files
  for (const auto& [tensor, file] : index.files) names[file].push_back(tensor);
  SafetensorsFile whole;
  for (const auto& [file, tensors] : names) {
    try {
      SafetensorsFile shard = from_file(ShardIndex::beside(index_path, file).c_str());
      index.check_set(shard.metadata_);
      whole.take_shard(std::move(shard), tensors);
    } catch (core::Failure& failure) {
      failure.text = "shard " + shown(file) + ": " + failure.text;
      throw;
    }
  }
  std::ranges::sort(whole.tensors_, {}, &Tensor::name);
  return whole;
}

const Tensor* SafetensorsFile::find(std::string_view name) const noexcept {
  const auto at = std::ranges::lower_bound(tensors_, name, {},
                                           [](const Tensor& tensor) -> std::string_view { return tensor.name; });
  return at != tensors_.end() && at->name == name ? &*at : nullptr;
}

std::span<const std::byte> SafetensorsFile::bytes(std::string_view name, Dtype dtype,
                                                  std::span<const int64_t> shape) const {
  const Tensor* tensor = find(name);
  if (!tensor)
    core::fail_argument("SYN-FILE-TENSOR", "the file has no tensor %s among its %llu", shown(name).c_str(),
                        number(tensors_.size()));
  if (dtype == Dtype::unknown || tensor->dtype != dtype)
    core::fail_argument("SYN-FILE-DTYPE", "tensor %s has the type %s; %s is needed", shown(name).c_str(),
                        shown(tensor->dtype_name).c_str(), name_of(dtype));
  if (!std::ranges::equal(tensor->shape, shape))
    core::fail_argument("SYN-FILE-SHAPE", "tensor %s has the shape %s; %s is needed", shown(name).c_str(),
                        shown(tensor->shape).c_str(), shown(shape).c_str());
  return tensor->bytes;
}

}  // namespace synfire::files
