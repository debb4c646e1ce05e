// A network as a safetensors file.
#include "contents_hash.hpp"
#include "network.hpp"
#include "state_arrays.hpp"

#include <base/error.hpp>

#include <algorithm>
#include <cstring>

namespace synfire::network {

using namespace synfire::core;

namespace {

// The memory to fill may have any alignment.
template <class Number>
files::SafetensorsWriter::Fill filled_with(std::vector<Number> values) {
  return [values = std::move(values)](std::span<std::byte> to) { std::memcpy(to.data(), values.data(), to.size()); };
}

void add_parameters(files::SafetensorsWriter& writer, const ParameterGroup& group) {
  for (uint32_t i = 0; i < group.names.size(); ++i) {
    std::vector<double> values = group.read(i);
    std::vector<int64_t> shape;
    if (values.size() > 1) shape.push_back(static_cast<int64_t>(values.size()));
    writer.add_filled(group.names[i], files::Dtype::f64, shape, filled_with(std::move(values)));
  }
}

}  // namespace

Position Network::position(const HeldGraphs& held) const {
  Position position;
  position.training = parts_->offsets(held);
  position.next_batch = position.training.back();
  position.inference = parts_->offsets_of(GraphKind::inference, held);
  position.forward = parts_->offsets_of(GraphKind::forward, held);
  position.n_rows = parts_->training_rows();
  position.blocks = parts_->training_blocks();
  return position;
}

files::SafetensorsWriter Network::writer(const HeldGraphs& held) const {
  files::SafetensorsWriter writer;
  held.finish();
  for (const std::unique_ptr<StageParts>& stage : parts_->stages) stage->wait();
  write_metadata(writer, design_, position(held));
  for (size_t i = 0; i < design_.stages().size(); ++i) design_.stages()[i].kind->write_tensors(design_.view(i), writer);
  StateArrays state(*parts_);
  for (const ParameterGroup& group : state.parameters) add_parameters(writer, group);
  for (StateArray& one : state.arrays)
    writer.add_filled(one.name, one.dtype, one.shape,
                      [dtype = one.dtype, read = std::move(one.read)](std::span<std::byte> to) {
                        read(to.data());
                        files::canonicalize_nans(dtype, to);
                      });
  return writer;
}

// Not of the states of neurons and of where inference goes on, which are each rank's own. Arrays take time: they are
// compared once, because what the ranks learn from then on is the same.
uint64_t Network::contents(const HeldGraphs& held) const {
  files::SafetensorsWriter words;
  held.finish();
  for (const std::unique_ptr<StageParts>& stage : parts_->stages) stage->wait();
  Position of_training = position(held);
  std::ranges::fill(of_training.inference, uint64_t{0});
  write_metadata(words, design_, of_training);
  ContentsHash hash;
  hash.add(words.bytes()).add(has_compared_ ? 1 : 0);
  const StateArrays state(*parts_);
  for (const ParameterGroup& group : state.parameters)
    for (uint32_t i = 0; i < group.names.size(); ++i) {
      const std::vector<double> values = group.read(i);
      hash.add(std::as_bytes(std::span(values)));
    }
  if (has_compared_) return hash.value();
  for (const StateArray& one : state.arrays) {
    if (one.of_rows) continue;
    std::vector<std::byte> bytes(one.bytes());
    one.read(bytes.data());
    hash.add(bytes);
  }
  return hash.value();
}

void Network::save(FunctionRef<void(const files::SafetensorsWriter&)> write) {
  const Use use(*this);
  check_built();
  HeldGraphs held;
  hold_all(held);
  write(writer(held));
}

}  // namespace synfire::network
