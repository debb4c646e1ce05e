#include "data_files.hpp"

#include "data_set.hpp"

#include <base/error.hpp>
#include <base/text.hpp>
#include <files/layout.hpp>
#include <files/npy_file.hpp>
#include <files/safetensors_file.hpp>
#include <files/shard_index.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <utility>

namespace synfire::network {

using namespace synfire::core;

namespace {

using files::Dtype;
using files::InputFile;
using files::SafetensorsFile;
using files::ShardIndex;

constexpr std::string_view npy_ending = ".npy";

// The type of elements in files, where packed spikes are words.
Dtype dtype_in_file(int32_t dtype) noexcept {
  switch (dtype) {
    case SYNFIRE_DTYPE_F32:
      return Dtype::f32;
    case SYNFIRE_DTYPE_F16:
      return Dtype::f16;
    case SYNFIRE_DTYPE_BF16:
      return Dtype::bf16;
    case SYNFIRE_DTYPE_F64:
      return Dtype::f64;
    case SYNFIRE_DTYPE_U8:
      return Dtype::u8;
    default:
      return Dtype::u32;
  }
}

// A tensor of a file.
struct FoundArray {
  std::shared_ptr<const InputFile> file;
  Dtype dtype;
  std::string dtype_name;
  std::vector<int64_t> shape;
  uint64_t begin;
};

// Opens each file once, and reads its header once.
class OpenedFiles {
 public:
  FoundArray find(const std::string& path, const char* tensor) {
    if (path.ends_with(npy_ending)) return find_npy(path, tensor);
    if (!tensor)
      fail_argument("SYN-NETWORK-TENSOR", "tensor is null; only a file that ends in \".npy\" has one array alone");
    if (!ShardIndex::is_index(path)) return find_tensor(path, tensor);
    const auto [at, is_new] = indexes_.try_emplace(path);
    if (is_new) at->second = ShardIndex::from_file(path.c_str());
    const auto file = at->second.files.find(std::string_view(tensor));
    if (file == at->second.files.end())
      fail_argument("SYN-FILE-TENSOR", "the index has no tensor %s among its %zu", files::shown(tensor).c_str(),
                    at->second.files.size());
    const std::string shard = ShardIndex::beside(path, file->second);
    at->second.check_set(opened(shard).header->metadata());
    return find_tensor(shard, tensor);
  }

 private:
  struct Opened {
    std::shared_ptr<InputFile> file;
    std::optional<SafetensorsFile> header;
  };

  const Opened& opened(const std::string& path) {
    Opened& one = files_[path];  // an array of NumPy, perhaps, that an index calls a shard
    if (!one.file) one.file = std::make_shared<InputFile>(path.c_str());
    if (!one.header) one.header = SafetensorsFile::header_of(*one.file);
    return one;
  }

  FoundArray find_tensor(const std::string& path, const char* name) {
    const Opened& from = opened(path);
    const SafetensorsFile::Tensor* const tensor = from.header->find(name);
    if (!tensor) {
      std::vector<std::string_view> known;
      for (const SafetensorsFile::Tensor& one : from.header->tensors()) known.emplace_back(one.name);
      fail_argument("SYN-FILE-TENSOR", "the file has no tensor %s%s among its %zu", files::shown(name).c_str(),
                    suggestion(name, known).c_str(), known.size());
    }
    return {from.file, tensor->dtype, tensor->dtype_name, tensor->shape, from.header->data_begin() + tensor->begin};
  }

  FoundArray find_npy(const std::string& path, const char* tensor) {
    if (tensor)
      fail_argument("SYN-NETWORK-TENSOR", "tensor is %s; a file that ends in \".npy\" has one array, without a name",
                    files::shown(tensor).c_str());
    std::shared_ptr<InputFile>& file = files_[path].file;
    if (!file) file = std::make_shared<InputFile>(path.c_str());
    files::NpyArray array = files::read_npy(*file);
    return {file, array.dtype, std::move(array.descr), std::move(array.shape), array.begin};
  }

  std::map<std::string, Opened> files_;  // by their paths
  std::map<std::string, ShardIndex> indexes_;
};

// True if the axes after the rows are those of the steps, then those of the elements.
bool has_rows_of(std::span<const int64_t> shape, const RowShape& row) {
  if (shape.empty()) return false;
  int64_t product = 1;
  size_t axis = 1;
  const auto take_up_to = [&](int64_t wanted) {
    for (product = 1; axis < shape.size() && shape[axis] > 0 && product <= wanted / shape[axis]; ++axis) {
      if (product == wanted && shape[axis] != 1) break;
      product *= shape[axis];
    }
    return product == wanted;
  };
  return take_up_to(row.stored_steps()) && take_up_to(row.stored_width()) && axis == shape.size();
}

void check_array(const FoundArray& found, const RowShape& row) {
  const Dtype needed = dtype_in_file(row.dtype);
  if (found.dtype != needed)
    fail_argument("SYN-FILE-DTYPE", "the array has the type %s; %s is needed", files::shown(found.dtype_name).c_str(),
                  files::name_of(needed));
  if (!has_rows_of(found.shape, row))
    fail_argument("SYN-FILE-SHAPE", "the array has the shape %s; after the number of rows, [%lld, %lld] is needed",
                  files::shown(found.shape).c_str(), static_cast<long long>(row.stored_steps()),
                  static_cast<long long>(row.stored_width()));
}

}  // namespace

DataFiles::DataFiles(const Design& design, std::span<const GivenFile> given) {
  for (const DataNeed& need : design.data_needs()) arrays_.push_back({need.row});
  lengths_.row = length_row();
  sample_weights_.row = weight_row();
  const std::vector<ArrayPlace> places = data_places(design);
  OpenedFiles opened;
  for (size_t i = 0; i < given.size(); ++i) {
    const GivenFile& one = given[i];
    const size_t place = place_of(design, {one.stage, one.role, nullptr}, {"files", i}, places);
    Array& array = place < arrays_.size() ? arrays_[place] : one.role == DataRole::lengths ? lengths_ : sample_weights_;
    try {
      FoundArray found = opened.find(one.path, one.tensor);
      check_array(found, array.row);
      if (__builtin_add_overflow(array.n_rows, found.shape.front(), &array.n_rows))
        fail_argument("SYN-NETWORK-DATA", "the rows cannot be counted in 63 bits");
      array.pieces.push_back(
          {std::move(found.file), found.begin, array.n_rows - found.shape.front(), found.shape.front()});
    } catch (Failure& failure) {
      failure.text = "files[" + std::to_string(i) + "], " + quoted(one.path, 400) + ": " + failure.text;
      throw;
    }
  }
  for (size_t i = 0; i < arrays_.size(); ++i)
    if (arrays_[i].pieces.empty()) fail_missing(design, "files", places[i]);
  n_rows_ = arrays_.front().n_rows;
  for (const Array& array : arrays_) check_rows(n_rows_, array.row);
  const auto check = [&](const Array& array, DataRole role) {
    if (!array.pieces.empty() && array.n_rows != n_rows_)
      fail_argument("SYN-NETWORK-DATA", "the files have %lld rows of %s and %lld of %s; as many are needed",
                    static_cast<long long>(n_rows_), name_of(places.front().role), static_cast<long long>(array.n_rows),
                    name_of(role));
  };
  for (size_t i = 0; i < arrays_.size(); ++i) check(arrays_[i], places[i].role);
  check(lengths_, DataRole::lengths);
  check(sample_weights_, DataRole::sample_weights);
}

void DataFiles::read(const Array& array, int64_t first_row, int64_t n_rows, void* to) {
  const uint64_t row_bytes = array.row.bytes();
  auto* at = static_cast<std::byte*>(to);
  auto piece = std::ranges::upper_bound(array.pieces, first_row, {}, &Piece::first_row) - 1;
  while (n_rows > 0) {
    const int64_t in_piece = first_row - piece->first_row, n = std::min(n_rows, piece->n_rows - in_piece);
    const uint64_t bytes = static_cast<uint64_t>(n) * row_bytes;
    piece->file->read_at(piece->begin + static_cast<uint64_t>(in_piece) * row_bytes, {at, bytes});
    at += bytes;
    first_row += n;
    n_rows -= n;
    ++piece;
  }
}

}  // namespace synfire::network
