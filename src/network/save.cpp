// A network as a safetensors file.
#include "network.hpp"
#include "state_arrays.hpp"

#include <base/error.hpp>

#include <cstring>

namespace synfire::network {

using namespace synfire::core;

namespace {

// The fill of a tensor gets memory of any alignment.
template <class Number>
files::SafetensorsWriter::Fill filled_with(std::vector<Number> values) {
  return [values = std::move(values)](std::span<std::byte> to) { std::memcpy(to.data(), values.data(), to.size()); };
}

void add_parameter(files::SafetensorsWriter& writer, const ParameterArray& one) {
  const size_t count = one.layer->parameters().values(one.index).size();
  std::vector<double> values(count);
  one.layer->get_parameter({one.index, false}, one.name.c_str(), values);
  std::vector<int64_t> shape;
  if (count > 1) shape.push_back(static_cast<int64_t>(count));
  writer.add_filled(one.name, files::Dtype::f64, shape, filled_with(std::move(values)));
}

}  // namespace

files::SafetensorsWriter Network::writer(const HeldGraphs& held) const {
  files::SafetensorsWriter writer;
  held.finish();
  for (const Pair& pair : parts_->pairs) pair.synapse->order().wait();
  Position position;
  position.training = parts_->offsets(held);
  position.next_batch = position.training.back();
  position.inference = parts_->offsets_of(GraphKind::inference, held);
  position.n_rows = parts_->training_rows();
  write_metadata(writer, design_, position);
  for (const Stage& stage : design_.stages()) {
    if (!stage.mask.empty()) {
      const size_t index = design_.find(stage.name.c_str());
      const int64_t shape[] = {stage.width, design_.before(index).width};
      writer.add(mask_name(stage), files::Dtype::u8, shape, std::as_bytes(std::span(stage.mask)));
    }
    if (!stage.class_weights.empty()) {
      const int64_t shape[] = {static_cast<int64_t>(stage.class_weights.size())};
      writer.add(class_weights_name(stage), files::Dtype::f32, shape, std::as_bytes(std::span(stage.class_weights)));
    }
  }
  StateArrays state(*parts_);
  for (const ParameterArray& one : state.parameters) add_parameter(writer, one);
  for (StateArray& one : state.arrays)
    writer.add_filled(one.name, one.dtype, one.shape,
                      [dtype = one.dtype, read = std::move(one.read)](std::span<std::byte> to) {
                        read(to.data());
                        files::canonicalize_nans(dtype, to);
                      });
  return writer;
}

void Network::save(FunctionRef<void(const files::SafetensorsWriter&)> write) {
  const Use use(*this);
  check_built();
  HeldGraphs held;
  hold_all(held);
  write(writer(held));
}

}  // namespace synfire::network
