#include "state_arrays.hpp"

#include "saved.hpp"

#include <synapses/synapse.hpp>

#include <utility>

namespace synfire::network {

using Numbers = StateArray::Numbers;

uint64_t StateArray::bytes() const noexcept {
  uint64_t bytes = files::bytes_of(dtype);
  for (const int64_t length : shape) bytes *= static_cast<uint64_t>(length);
  return bytes;
}

namespace {

files::Dtype type_of(int32_t dtype) {
  return dtype == SYNFIRE_DTYPE_F64 ? files::Dtype::f64 : files::Dtype::f32;
}

class Lister {
 public:
  Lister(Parts& parts, StateArrays& list) : parts_(parts), list_(list) {
    pair_of_.make_room(2 * pairs_.size());
    for (size_t i = 0; i < pairs_.size(); ++i)
      for (const void* const object :
           {static_cast<const void*>(pairs_[i].synapse.get()), static_cast<const void*>(pairs_[i].layer.get())})
        pair_of_.set(object, static_cast<uint32_t>(i));
  }

  void add_synapse(const Pair& pair) {
    const Stage& stage = parts_.stage(pair.synapse_stage);
    for (const core::SynapseArray& array : pair.synapse->arrays()) add_array(*pair.synapse, array, stage);
  }

  void add_layer(const Pair& pair) {
    const Stage& stage = parts_.stage(pair.neurons_stage);
    core::Layer& layer = *pair.layer;
    for (int i = 0; i < layer.spec().model->n_states; ++i) {
      const char* const name = layer.spec().model->states[static_cast<size_t>(i)];
      StateArray array = {stage.name + ".state." + name,
                          type_of(layer.spec().arithmetic()),
                          {layer.spec().extents.batch, layer.spec().extents.n_neurons},
                          Numbers::any};
      array.of_rows = true;
      const uint64_t bytes = array.bytes();
      array.read = [&layer, name, bytes](void* values) { layer.read_state(name, values, bytes); };
      array.write = [&layer, name, bytes](const void* values) { layer.write_state(name, values, bytes); };
      list_.arrays.push_back(std::move(array));
    }
    for (uint32_t i = 0; i < layer.parameters().size(); ++i)
      list_.parameters.push_back({stage.name + ".parameter." + layer.parameters().spec(i).name, &layer, i});
  }

  void add_optimizer(const std::string& name) {
    constexpr int32_t itself = -1;
    add_state(itself, "step_count", name, files::Dtype::u64, {}, Numbers::any);
    add_state(itself, "skipped", name, files::Dtype::u64, {}, Numbers::any);
    add_state(itself, "beta1_power", name, files::Dtype::f64, {}, Numbers::from_0_to_1);
    add_state(itself, "beta2_power", name, files::Dtype::f64, {}, Numbers::from_0_to_1);
    const std::vector<operations::OptimizerMember>& members = parts_.optimizer->members();
    for (size_t i = 0; i < members.size(); ++i) add_moments(static_cast<int32_t>(i), members[i], name);
  }

 private:
  void add_array(core::Synapse& synapse, const core::SynapseArray& of, const Stage& stage) {
    const std::span<const int64_t> lengths = of.lengths();
    StateArray array = {name_of(of, stage), type_of(of.dtype), std::vector<int64_t>(lengths.begin(), lengths.end()),
                        Numbers::finite};
    const uint64_t bytes = array.bytes();
    const char* const known_as = of.name;
    array.read = [&synapse, known_as, bytes](void* values) { synapse.read(known_as, values, bytes); };
    array.write = [&synapse, known_as, bytes](const void* values) { synapse.write(known_as, values, bytes); };
    list_.arrays.push_back(std::move(array));
  }

  void add_state(int32_t member, const char* known_as, const std::string& prefix, files::Dtype dtype,
                 std::vector<int64_t>&& shape, Numbers numbers) {
    StateArray array = {prefix + "." + known_as, dtype, std::move(shape), numbers};
    const uint64_t bytes = array.bytes();
    operations::Optimizer& optimizer = *parts_.optimizer;
    array.read = [&optimizer, member, known_as, bytes](void* values) {
      optimizer.read(member, known_as, values, bytes);
    };
    array.write = [&optimizer, member, known_as, bytes](const void* values) {
      optimizer.write(member, known_as, values, bytes);
    };
    list_.arrays.push_back(std::move(array));
  }

  void add_moments(int32_t number, const operations::OptimizerMember& member, const std::string& name) {
    const std::string of = name + "." + name_of(member);
    std::vector<int64_t> shape;
    if (member.synapse) {
      const std::span<const int64_t> lengths = member.synapse->arrays()[member.array].lengths();
      shape.assign(lengths.begin(), lengths.end());
    } else if (member.layer->parameters().values(member.parameter).size() > 1) {
      shape = {member.count};
    }
    const int n_moments = parts_.optimizer->spec().n_moments();
    const auto add_moment = [&](const char* known_as, Numbers numbers) {
      add_state(number, known_as, of, type_of(member.dtype), std::vector<int64_t>(shape), numbers);
    };
    if (n_moments == 1) add_moment("momentum", Numbers::finite);
    if (n_moments == 2) {
      add_moment("moment1", Numbers::finite);
      add_moment("moment2", Numbers::from_0);
    }
  }

  // "hidden.weights", "neurons.parameter.tau".
  std::string name_of(const operations::OptimizerMember& member) const {
    if (member.layer)
      return parts_.stage(pairs_[pair_of_.find(member.layer.get())].neurons_stage).name + ".parameter." +
             member.layer->parameters().spec(member.parameter).name;
    return name_of(member.synapse->arrays()[member.array],
                   parts_.stage(pairs_[pair_of_.find(member.synapse.get())].synapse_stage));
  }
  static std::string name_of(const core::SynapseArray& array, const Stage& stage) {
    return stage.name + "." + array.file_name;
  }

  Parts& parts_;
  StateArrays& list_;
  const std::vector<Pair>& pairs_ = parts_.pairs;
  core::AddressIndex pair_of_;  // a synapse, or a layer
};

}  // namespace

StateArrays::StateArrays(Parts& parts) {
  Lister lister(parts, *this);
  for (const Pair& pair : parts.pairs) {
    lister.add_synapse(pair);
    lister.add_layer(pair);
  }
  if (parts.optimizer) lister.add_optimizer(parts.design.only(StageKind::optimizer)->name);
}

}  // namespace synfire::network
