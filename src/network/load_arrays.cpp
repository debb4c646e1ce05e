// Single arrays of a network from any safetensors file: named pair by pair, in the types and layouts of other tools.
#include "network.hpp"
#include "state_arrays.hpp"

#include <base/error.hpp>
#include <base/host_memory.hpp>
#include <base/text.hpp>
#include <files/layout.hpp>
#include <platform/float_environment.hpp>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>

namespace synfire::network {

using namespace synfire::core;

namespace {

using Tensor = files::SafetensorsFile::Tensor;

constexpr size_t longest_quoted = 80;

uint64_t elements_of(std::span<const int64_t> shape) {
  return std::accumulate(shape.begin(), shape.end(), uint64_t{1},
                         [](uint64_t product, int64_t length) { return product * static_cast<uint64_t>(length); });
}

// ---- what can be loaded ---------------------------------------------------------------------------------------------

// An array, or a parameter of a group.
struct Target {
  const StateArray* array = nullptr;
  size_t group = 0;
  uint32_t parameter = 0;
};
using Targets = std::map<std::string, Target, std::less<>>;

Targets targets_of(const StateArrays& state) {
  Targets targets;
  for (const StateArray& array : state.arrays)
    if (!array.is_state) targets.emplace(array.name, Target{&array});
  for (size_t group = 0; group < state.parameters.size(); ++group)
    for (uint32_t i = 0; i < state.parameters[group].names.size(); ++i)
      targets.emplace(state.parameters[group].names[i], Target{nullptr, group, i});
  return targets;
}

const Target& find_target(const Targets& targets, const char* name) {
  const auto at = targets.find(std::string_view(name));
  if (at != targets.end()) return at->second;
  std::vector<std::string_view> known;
  std::string list;
  for (const auto& [one, target] : targets) {
    known.emplace_back(one);
    list.append(list.empty() ? "" : ", ").append(quoted(one, longest_quoted));
  }
  fail_argument("SYN-NETWORK-ARRAY", "ours is %s%s; the network has %.600s", quoted(name, longest_quoted).c_str(),
                suggestion(name, known).c_str(), list.c_str());
}

const ArrayLayout& find_layout(const StateArray* array, const char* name, const char* word) {
  const std::span<const ArrayLayout> known = array ? array->layouts : std::span<const ArrayLayout>();
  std::string list;
  for (const ArrayLayout& layout : known) {
    if (std::string_view(word) == layout.word) return layout;
    list.append(list.empty() ? "\"" : ", \"").append(layout.word).append("\"");
  }
  fail_argument("SYN-NETWORK-LAYOUT", "the layout of %s is %s; it can be %s%s", quoted(name, longest_quoted).c_str(),
                quoted(word, longest_quoted).c_str(), list.empty() ? "null" : list.c_str(),
                list.empty() ? ", for the array has one order" : ", or null");
}

// ---- tensors of the file --------------------------------------------------------------------------------------------

// Null if it is left out.
const Tensor* find_tensor(const files::SafetensorsFile& file, const char* name, const std::string& needed,
                          bool leave_out) {
  const Tensor* const tensor = file.find(name);
  if (tensor || leave_out) return tensor;
  std::vector<std::string_view> known;
  for (const Tensor& one : file.tensors()) known.emplace_back(one.name);
  fail_argument("SYN-FILE-TENSOR", "the file has no tensor %s%s among its %zu; one of shape %s is needed",
                files::shown(name).c_str(), suggestion(name, known).c_str(), known.size(), needed.c_str());
}

void check_tensor(const Tensor& tensor) {
  if (files::is_number(tensor.dtype)) return;
  fail_argument("SYN-FILE-DTYPE", "tensor %s has the type %s; F32, F16, BF16 or F64 is needed",
                files::shown(tensor.name).c_str(), files::shown(tensor.dtype_name).c_str());
}

// Another layout in which the tensor would fit, for the text.
std::string other_layout(const StateArray& array, const Tensor& tensor) {
  for (const ArrayLayout& layout : array.layouts)
    if (layout.shape == tensor.shape)
      return std::string("; it fits with the layout \"").append(layout.word).append("\"");
  return {};
}

// How many numbers a parameter can become, in increasing order: one for the layer, for each channel, for each neuron.
std::vector<int64_t> lengths_of(const ParameterGroup& group, uint32_t parameter) {
  if (group.keeps_length(parameter)) return {static_cast<int64_t>(group.read(parameter).size())};
  std::vector<int64_t> lengths = {1};
  for (const int64_t length : {group.n_channels, group.n_neurons})
    if (length > lengths.back()) lengths.push_back(length);
  return lengths;
}
std::string shapes_of(std::span<const int64_t> lengths) {
  std::string text;
  for (size_t i = 0; i < lengths.size(); ++i) {
    text.append(i == 0 ? "" : i + 1 == lengths.size() ? " or " : ", ");
    text.append(lengths[i] == 1 ? "[]" : files::shown(lengths.subspan(i, 1)));
  }
  return text;
}

double element_at(const Tensor& tensor, uint64_t index) {
  return files::number_at(tensor.dtype, tensor.bytes.data() + index * files::bytes_of(tensor.dtype));
}

// ---- numbers of the network -----------------------------------------------------------------------------------------

// Calls the function with the number of each element among those of the file, in the order of the array.
template <class Each>
void for_each_element(const ArrayLayout& layout, Each each) {
  const uint64_t count = elements_of(layout.lengths);
  std::vector<int64_t> at(layout.lengths.size());
  int64_t index = 0;
  for (uint64_t i = 0; i < count; ++i) {
    each(static_cast<uint64_t>(index));
    for (size_t d = at.size(); d-- > 0;) {
      index += layout.strides[d];
      if (++at[d] < layout.lengths[d]) break;
      index -= layout.strides[d] * layout.lengths[d];
      at[d] = 0;
    }
  }
}

template <class Number>
std::vector<std::byte> converted(const StateArray& array, const Tensor& tensor, const ArrayLayout& layout) {
  const FloatEnvironment ieee;
  require_host_memory(array.bytes(), Paging::pageable);
  std::vector<std::byte> bytes(array.bytes());
  uint64_t n = 0;
  for_each_element(layout, [&](uint64_t index) {
    const double value = element_at(tensor, index);
    const auto number = static_cast<Number>(value);
    if (!std::isfinite(number) || (array.numbers == StateArray::Numbers::from_0 && number < 0))
      fail_argument("SYN-NETWORK-NUMBER", "element %llu of tensor %s is %g; it must be finite%s%s",
                    static_cast<unsigned long long>(index), files::shown(tensor.name).c_str(), value,
                    array.numbers == StateArray::Numbers::from_0 ? ", and at least 0" : "",
                    sizeof number == 4 ? ", in f32" : "");
    std::memcpy(&bytes[n * sizeof number], &number, sizeof number);
    ++n;
  });
  return bytes;
}

// ---- a load ---------------------------------------------------------------------------------------------------------

class ArrayLoad {
 public:
  ArrayLoad(const StateArrays& state, const files::SafetensorsFile& file, bool leave_out)
      : state_(state),
        file_(file),
        leave_out_(leave_out),
        targets_(targets_of(state)),
        parameters_(state.parameters.size()) {}

  // Checks all of it. Returns false if it is left out.
  bool take(const synfire_array_source& source) {
    const char* const ours = source.ours ? source.ours : source.theirs;
    const Target& target = find_target(targets_, ours);
    if (std::ranges::find(taken_, &target) != taken_.end())
      fail_argument("SYN-NETWORK-ARRAY", "%s of the network is given twice", quoted(ours, longest_quoted).c_str());
    taken_.push_back(&target);
    const ArrayLayout* const layout = source.layout ? &find_layout(target.array, ours, source.layout) : nullptr;
    return target.array ? take_array(*target.array, source.theirs, layout)
                        : take_parameter(target, source.theirs, ours);
  }
  void check() const {
    for (size_t group = 0; group < parameters_.size(); ++group)
      if (!parameters_[group].empty()) state_.parameters[group].check(parameters_[group]);
    for (const auto& [array, bytes] : arrays_)
      if (array->check) array->check(bytes);
  }
  bool is_empty() const noexcept { return arrays_.empty() && !has_parameters_; }
  void write() const {
    for (size_t group = 0; group < parameters_.size(); ++group)
      if (!parameters_[group].empty()) state_.parameters[group].write(parameters_[group]);
    for (const auto& [array, bytes] : arrays_) array->write(bytes.data());
  }

 private:
  bool take_array(const StateArray& array, const char* theirs, const ArrayLayout* layout) {
    const std::vector<int64_t>& shape = layout ? layout->shape : array.shape;
    const Tensor* const tensor = find_tensor(file_, theirs, files::shown(shape), leave_out_);
    if (!tensor) return false;
    check_tensor(*tensor);
    if (tensor->shape != shape) {
      if (leave_out_) return false;
      fail_argument("SYN-FILE-SHAPE", "tensor %s has the shape %s; %s of the network needs %s%s",
                    files::shown(theirs).c_str(), files::shown(tensor->shape).c_str(), files::shown(array.name).c_str(),
                    files::shown(shape).c_str(), layout ? "" : other_layout(array, *tensor).c_str());
    }
    const ArrayLayout as_it_is = {nullptr, {}, {static_cast<int64_t>(elements_of(shape))}, {1}};
    const ArrayLayout& order = layout ? *layout : as_it_is;
    arrays_.emplace_back(&array, array.dtype == files::Dtype::f64 ? converted<double>(array, *tensor, order)
                                                                  : converted<float>(array, *tensor, order));
    return true;
  }

  bool take_parameter(const Target& target, const char* theirs, const char* ours) {
    const ParameterGroup& group = state_.parameters[target.group];
    const std::vector<int64_t> lengths = lengths_of(group, target.parameter);
    const std::string needed = shapes_of(lengths);
    const Tensor* const tensor = find_tensor(file_, theirs, needed, leave_out_);
    if (!tensor) return false;
    check_tensor(*tensor);
    const uint64_t count = elements_of(tensor->shape);
    if (tensor->shape.size() > 1 || std::ranges::find(lengths, static_cast<int64_t>(count)) == lengths.end()) {
      if (leave_out_) return false;
      fail_argument("SYN-FILE-SHAPE", "tensor %s has the shape %s; %s of the network needs %s",
                    files::shown(theirs).c_str(), files::shown(tensor->shape).c_str(), files::shown(ours).c_str(),
                    needed.c_str());
    }
    ParameterGroup::Values& values = parameters_[target.group];
    if (values.empty())
      for (uint32_t i = 0; i < group.names.size(); ++i) values.push_back(group.read(i));
    std::vector<double>& own = values[target.parameter];
    own.clear();
    for (uint64_t i = 0; i < count; ++i) own.push_back(element_at(*tensor, i));
    has_parameters_ = true;
    return true;
  }

  const StateArrays& state_;
  const files::SafetensorsFile& file_;
  const bool leave_out_;
  const Targets targets_;
  std::vector<const Target*> taken_;
  std::vector<std::pair<const StateArray*, std::vector<std::byte>>> arrays_;
  std::vector<ParameterGroup::Values> parameters_;  // of each group: those of all its parameters, or none
  bool has_parameters_ = false;
};

}  // namespace

void Network::load_arrays(const files::SafetensorsFile& file, std::span<synfire_array_source> sources, bool leave_out) {
  const Use use(*this);
  check_built();
  const StateArrays state(*parts_);
  ArrayLoad load(state, file, leave_out);
  std::vector<bool> is_loaded;
  for (const synfire_array_source& source : sources) is_loaded.push_back(load.take(source));
  load.check();
  if (!load.is_empty()) {
    HeldGraphs held;
    hold_all(held);
    auto before = std::make_unique<Before>(writer(held).bytes(), *context());
    check_order();
    parts_->frame_tape->set(FrameTape::State::overwritten);
    has_compared_ = false;
    try {
      load.write();
    } catch (...) {
      owed_ = std::move(before);
      take_back(held);
      throw;
    }
  }
  for (size_t i = 0; i < sources.size(); ++i) sources[i].is_loaded = is_loaded[i] ? 1 : 0;
}

}  // namespace synfire::network
