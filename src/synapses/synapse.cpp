#include "synapse.hpp"

#include <base/dtype.hpp>
#include <base/error.hpp>
#include <base/make_room.hpp>
#include <base/shape.hpp>
#include <base/text.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <mutex>
#include <string_view>

namespace synfire::core {
namespace {

constexpr std::string_view gradient_suffix = "_gradient";

// ["weight", "bias"]: "\"weight\", \"bias\", \"weight_gradient\" and \"bias_gradient\"".
std::string listed(std::span<const std::string> names) {
  std::string text;
  for (size_t i = 0; i < names.size(); ++i)
    text.append(i == 0 ? "" : i + 1 == names.size() ? " and " : ", ").append("\"").append(names[i]).append("\"");
  return text;
}

template <class R>
void check_finite(const char* name, const void* values, uint64_t bytes) {
  for (uint64_t i = 0; i < bytes / sizeof(R); ++i) {
    R value;
    std::memcpy(&value, static_cast<const char*>(values) + i * sizeof(R), sizeof(R));
    if (!std::isfinite(value))
      fail_argument("SYN-SYNAPSE-FINITE", "values[%llu] of \"%s\" is %g; it must be finite",
                    static_cast<unsigned long long>(i), name, static_cast<double>(value));
  }
}

}  // namespace

int64_t SynapseArray::count() const noexcept {
  int64_t elements = 1;
  for (const int64_t length : lengths()) elements *= length;
  return elements;
}

std::string shape_text(const SynapseArray& array) {
  return std::string(name_of_dtype(array.dtype)).append(" ").append(lengths_text(array.lengths()));
}

// ---- memory ---------------------------------------------------------------------------------------------------------

Synapse::Synapse(Context& context, const SynapseKind& kind, const SynapseShape& shape, size_t most_arrays,
                 Synapse* lender)
    : SharedObject(ObjectType::synapse, context, {"SYN-SYNAPSE-SHARED", "a synapse"}),
      kind_(kind),
      shape_(shape),
      lender_(lender) {
  arrays_.reserve(most_arrays);
}

Synapse::~Synapse() {
  for (void* memory : memory_) device().release(SYNFIRE_MEMORY_DEVICE, memory);
}

void* Synapse::allocate(uint64_t bytes) {
  if (bytes == 0) return nullptr;
  make_room(memory_, 1);
  return memory_.emplace_back(device().allocate(SYNFIRE_MEMORY_DEVICE, bytes));
}

View Synapse::own(void* data, uint64_t bytes, int32_t dtype) noexcept {
  View view;
  view.data = data;
  view.bytes = data ? bytes : 0;
  view.dtype = dtype;
  view.owner = this;
  return view;
}

SynapseArray& Synapse::add_array(const char* name, const char* file_name, bool trained,
                                 std::initializer_list<int64_t> lengths) {
  SynapseArray array = {name, file_name, shape_.dtype, trained, 0, {}, {}, {}};
  for (const int64_t length : lengths) array.shape[array.rank++] = length;
  const uint64_t bytes = static_cast<uint64_t>(array.count()) * bytes_of_dtype(array.dtype);
  array.values = own(allocate(bytes), bytes, array.dtype);
  array.gradient = own(nullptr, bytes, array.dtype);
  return arrays_.emplace_back(array);
}

void Synapse::prepare_gradients() {
  if (lender_) return lender_->prepare_gradients();
  if (shape_.frozen)
    fail(SYNFIRE_ERROR_WRONG_ORDER, "SYN-SYNAPSE-FROZEN",
         "the synapse is frozen (desc.frozen was 1), so it has no gradients of weights and bias");
  const std::lock_guard lock(gradients_mutex_);
  if (has_gradients_) return;
  const size_t n_before = memory_.size();
  make_room(memory_, arrays_.size());
  try {
    for (const SynapseArray& array : arrays_)
      if (array.trained) allocate(array.bytes());
  } catch (...) {
    for (; memory_.size() > n_before; memory_.pop_back()) device().release(SYNFIRE_MEMORY_DEVICE, memory_.back());
    throw;
  }
  size_t next = n_before;
  for (SynapseArray& array : arrays_)
    if (array.trained) array.gradient = own(memory_[next++], array.bytes(), array.dtype);
  has_gradients_ = true;
}

bool Synapse::counts(const View& memory) const noexcept {
  for (const SynapseArray& array : arrays_)
    if (array.gradient && memory.data == array.gradient.data) return false;
  return true;
}

// ---- by name --------------------------------------------------------------------------------------------------------

SynapseArray* Synapse::find_array(const char* name) noexcept {
  const std::string_view wanted = name;
  for (SynapseArray& array : arrays_)
    if (wanted == array.name || wanted == array.file_name) return &array;
  return nullptr;
}

void Synapse::fail_array(const char* name) const {
  std::string_view wanted = name;
  if (wanted.ends_with(gradient_suffix)) wanted.remove_suffix(gradient_suffix.size());
  std::vector<std::string> names;
  for (const SynapseArray& array : arrays_) {
    if (wanted == array.name && !array.trained)
      fail_argument("SYN-SYNAPSE-NAME", "name is \"%.64s\"; \"%s\" of this synapse is not trained and has no gradient",
                    name, array.name);
    names.emplace_back(array.name);
  }
  for (const char* const of_kind : kind_.arrays)
    if (wanted == of_kind && std::find(names.begin(), names.end(), of_kind) == names.end())
      fail_argument("SYN-SYNAPSE-NAME", "name is \"%.64s\"; this synapse has no %s: it was created without one", name,
                    of_kind);
  for (const SynapseArray& array : arrays_)
    if (array.trained) names.push_back(std::string(array.name).append(gradient_suffix));
  const std::vector<std::string_view> known(names.begin(), names.end());
  fail_argument("SYN-SYNAPSE-NAME", "name is \"%.64s\"%s; this synapse has %s", name, suggestion(name, known).c_str(),
                listed(names).c_str());
}

View Synapse::find(const char* name, const void* values, uint64_t bytes) {
  const std::string_view wanted = name;
  const SynapseArray* array = find_array(name);
  const bool is_gradient = !array && wanted.ends_with(gradient_suffix);
  if (is_gradient) {
    array = find_array(std::string(wanted.substr(0, wanted.size() - gradient_suffix.size())).c_str());
    if (array && (!array->trained || wanted.substr(0, wanted.size() - gradient_suffix.size()) != array->name))
      array = nullptr;
  }
  if (!array) fail_array(name);
  if (is_gradient) prepare_gradients();
  if (!values) fail_argument("SYN-ARGUMENT-NULL", "values is null");
  if (bytes != array->bytes())
    fail_argument("SYN-SYNAPSE-SIZE", "bytes is %llu; exactly %llu, %s, are needed",
                  static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(array->bytes()),
                  shape_text(*array).c_str());
  return is_gradient ? array->gradient : array->values;
}

void Synapse::read(const char* name, void* values, uint64_t bytes) {
  const View found = find(name, values, bytes);
  order().wait();
  device().download(values, found.data, bytes);
}

void Synapse::write(const char* name, const void* values, uint64_t bytes) {
  const View found = find(name, values, bytes);
  if (found.dtype == SYNFIRE_DTYPE_F64)
    check_finite<double>(name, values, bytes);
  else
    check_finite<float>(name, values, bytes);
  if (const SynapseArray* const array = find_array(name)) check_values(*array, values);
  order().wait();
  const bool is_read = counts(found);
  if (is_read) mark_written();
  device().upload(found.data, values, bytes);
  if (is_read) derive();
}

void Synapse::derive() {
  const OperationList operations = kind_.derive(*this);
  if (operations.empty()) return;
  device().execute(operations, nullptr);
  device().synchronize();
}

std::optional<Rounding> Synapse::rounding(int64_t output) {
  if (output < -1 || output >= n_outputs())
    fail_argument("SYN-SYNAPSE-OUTPUT",
                  "output is %lld; this synapse has %lld outputs, from 0 on, and -1 is all of them",
                  static_cast<long long>(output), static_cast<long long>(n_outputs()));
  if (!kind_.rounding) return std::nullopt;
  order().wait();
  return output == -1 ? kind_.rounding(*this, 0, n_outputs()) : kind_.rounding(*this, output, 1);
}

void Synapse::read_integers(const char* name, std::span<int32_t> values) {
  order().wait();
  if (!kind_.read_integers || !kind_.read_integers(*this, name, values))
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-SYNAPSE-INTEGERS",
         "the weights of this synapse, of the kind \"%s\" in %s, have no grid, so there are no integers", kind_.name,
         name_of_dtype(shape_.dtype));
}

}  // namespace synfire::core
