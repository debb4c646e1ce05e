// A network as a safetensors file.
#include "network.hpp"
#include "state_arrays.hpp"

#include <base/error.hpp>

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

files::SafetensorsWriter Network::writer(const HeldGraphs& held) const {
  files::SafetensorsWriter writer;
  held.finish();
  for (const std::unique_ptr<StageParts>& stage : parts_->stages) stage->wait();
  Position position;
  position.training = parts_->offsets(held);
  position.next_batch = position.training.back();
  position.inference = parts_->offsets_of(GraphKind::inference, held);
  position.forward = parts_->offsets_of(GraphKind::forward, held);
  position.n_rows = parts_->training_rows();
  write_metadata(writer, design_, position);
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

void Network::save(FunctionRef<void(const files::SafetensorsWriter&)> write) {
  const Use use(*this);
  check_built();
  HeldGraphs held;
  hold_all(held);
  write(writer(held));
}

}  // namespace synfire::network
