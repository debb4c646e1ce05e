// The functions of synfire.h for networks.
#include "held.hpp"

#include <files/safetensors_file.hpp>
#include <files/safetensors_writer.hpp>
#include <files/shard_index.hpp>
#include <network/add_stage.hpp>
#include <network/kept_arrays.hpp>
#include <network/network.hpp>
#include <network/stages/stage_kinds.hpp>

#include <cstring>
#include <string>

namespace {

using namespace synfire;
using namespace synfire::capi;

using HeldNetwork = Held<network::Network>;

HeldNetwork held_network(synfire_network handle) {
  return {value_of(handle), "network", core::ObjectType::network};
}

bool checked_flag(int32_t value, const char* name) {
  check_flag(value, "SYN-NETWORK-FLAG", name);
  return value == 1;
}

// Changes the design of a network that is not built.
template <class Change>
synfire_status change(const char* function, synfire_network network, const char* text, const char* argument,
                      Change body) noexcept {
  return guarded(function, [&] {
    const auto found = held_network(network);
    check_pointer(text, argument);
    found->change([&](network::Design& design) { body(design); });
    return SYNFIRE_OK;
  });
}

template <class Handle, class Find>
synfire_status get(const char* function, synfire_network network, const char* text, const char* argument, Handle* part,
                   const char* part_name, Find find) noexcept {
  return guarded(function, [&] {
    check_pointer(part, part_name);
    *part = nullptr;
    const auto found = held_network(network);
    check_pointer(text, argument);
    const auto object = find(*found);
    object->retain();
    *part = registered<Handle>(object.get());
    return SYNFIRE_OK;
  });
}

synfire_status write_text(const std::string& made, char* text, uint64_t* bytes) {
  const uint64_t needed = made.size() + 1;
  if (text && *bytes < needed)
    core::fail_argument("SYN-TEXT-SIZE", "bytes is %llu; the text needs %llu", static_cast<unsigned long long>(*bytes),
                        static_cast<unsigned long long>(needed));
  if (text) std::memcpy(text, made.c_str(), needed);
  *bytes = needed;
  return SYNFIRE_OK;
}

// ---- lists ----------------------------------------------------------------------------------------------------------

constexpr uint64_t most_entries = network::most_stages + 2;  // an array for each stage, and those of the rows

std::string text_of(const char* list, uint64_t i, const char* field) {
  return std::string(list).append("[").append(std::to_string(i)).append("]").append(field);
}

void check_list(const void* list, const char* name, uint64_t count, const char* count_name, uint64_t most) {
  if (count == 0) return;
  check_pointer(list, name);
  if (count > most)
    core::fail_argument("SYN-NETWORK-LIST", "%s is %llu; at most %llu are allowed", count_name,
                        static_cast<unsigned long long>(count), static_cast<unsigned long long>(most));
}

void check_losses(const synfire_stage_result* losses, uint64_t n_losses) {
  check_list(losses, "losses", n_losses, "n_losses", network::most_stages);
  for (uint64_t i = 0; i < n_losses; ++i) check_pointer(losses[i].stage, text_of("losses", i, ".stage").c_str());
}

synfire_stage_desc checked_stage(const synfire_stage_desc* given) {
  const synfire_stage_desc desc = read_descriptor(given, "desc");
  check_reserved(desc.reserved, "desc.reserved");
  check_pointer(desc.kind, "desc.kind");
  check_pointer(desc.name, "desc.name");
  check_list(desc.inputs, "desc.inputs", desc.n_inputs, "desc.n_inputs", network::most_stages);
  for (uint64_t i = 0; i < desc.n_inputs; ++i)
    check_pointer(desc.inputs[i].stage, text_of("desc.inputs", i, ".stage").c_str());
  check_list(desc.values, "desc.values", desc.n_values, "desc.n_values", network::most_values);
  for (uint64_t i = 0; i < desc.n_values; ++i)
    check_pointer(desc.values[i].name, text_of("desc.values", i, ".name").c_str());
  return desc;
}

// Arrays of stages, held for the call.
class HeldArrays {
 public:
  HeldArrays(const synfire_network_array* arrays, uint64_t count, const core::Context& context) {
    check_list(arrays, "arrays", count, "n_arrays", most_entries);
    for (uint64_t i = 0; i < count; ++i) {
      const synfire_network_array& one = arrays[i];
      check_choice(one.role, "SYN-NETWORK-KIND", text_of("arrays", i, ".role").c_str(), SYNFIRE_ARRAY_INPUTS,
                   SYNFIRE_ARRAY_OUTPUTS,
                   "SYNFIRE_ARRAY_INPUTS (0), _LABELS (1), _TARGETS (2), _LENGTHS (3), _SAMPLE_WEIGHTS (4) and "
                   "_OUTPUTS (5)");
      check_reserved(one.reserved, text_of("arrays", i, ".reserved").c_str());
      held_.push_back(required(one.buffer, text_of("arrays", i, ".buffer").c_str(), context));
      arrays_.push_back({one.stage, static_cast<network::DataRole>(one.role), held_.back().get()});
    }
  }
  std::span<const network::GivenArray> arrays() const noexcept { return arrays_; }

 private:
  std::vector<HeldBuffer> held_;
  std::vector<network::GivenArray> arrays_;
};

network::DataKind checked_set(int32_t set) {
  if (set != SYNFIRE_DATA_TRAINING && set != SYNFIRE_DATA_EVALUATION)
    core::fail_argument("SYN-NETWORK-KIND",
                        "set is %d; allowed are SYNFIRE_DATA_TRAINING (0) and SYNFIRE_DATA_EVALUATION (1)", set);
  return static_cast<network::DataKind>(set);
}

// ---- calls of ranks -------------------------------------------------------------------------------------------------

// The checked arguments of a call that all ranks of a network make. If they are refused here, the others do not wait.
template <class Check>
auto checked_for_ranks(network::Network& network, ranks::Call call, Check check) {
  try {
    return check();
  } catch (...) {
    network.tell_refusal(call);
    throw;
  }
}

ranks::Call call_with(int32_t set) {
  return set == SYNFIRE_DATA_EVALUATION ? ranks::Call::evaluation_data : ranks::Call::training_data;
}

Answer<synfire_network_result> checked_results(network::Network& network, ranks::Call call,
                                               const synfire_stage_result* losses, uint64_t n_losses,
                                               synfire_network_result* result) {
  return checked_for_ranks(network, call, [&] {
    const Answer out(result, "result");
    check_losses(losses, n_losses);
    return out;
  });
}

// ---- files ----------------------------------------------------------------------------------------------------------

std::span<synfire_array_source> checked_sources(synfire_array_source* sources, uint64_t n_sources, int32_t leave_out) {
  constexpr uint64_t most_sources = 65536;
  check_pointer(sources, "sources");
  if (n_sources == 0) core::fail_argument("SYN-NETWORK-LIST", "n_sources is 0; at least 1 is needed");
  check_list(sources, "sources", n_sources, "n_sources", most_sources);
  for (uint64_t i = 0; i < n_sources; ++i) {
    check_pointer(sources[i].theirs, text_of("sources", i, ".theirs").c_str());
    check_reserved(sources[i].reserved, text_of("sources", i, ".reserved").c_str());
  }
  checked_flag(leave_out, "leave_out");
  return {sources, n_sources};
}

files::SafetensorsFile file_of(const void* data, uint64_t bytes) {
  check_pointer(data, "data");
  return files::SafetensorsFile::from_memory({static_cast<const std::byte*>(data), bytes});
}

files::SafetensorsFile file_at(const char* path) {
  check_pointer(path, "path");
  return files::ShardIndex::is_index(path) ? files::SafetensorsFile::from_shards(path)
                                           : files::SafetensorsFile::from_file(path);
}

std::vector<network::GivenFile> checked_files(const synfire_data_file* list, uint64_t n_files) {
  constexpr uint64_t most_files = 65536;
  check_pointer(list, "files");
  if (n_files == 0) core::fail_argument("SYN-NETWORK-LIST", "n_files is 0; at least 1 is needed");
  check_list(list, "files", n_files, "n_files", most_files);
  std::vector<network::GivenFile> checked;
  for (uint64_t i = 0; i < n_files; ++i) {
    const synfire_data_file& one = list[i];
    check_pointer(one.path, text_of("files", i, ".path").c_str());
    check_choice(one.role, "SYN-NETWORK-KIND", text_of("files", i, ".role").c_str(), SYNFIRE_ARRAY_INPUTS,
                 SYNFIRE_ARRAY_SAMPLE_WEIGHTS,
                 "SYNFIRE_ARRAY_INPUTS (0), _LABELS (1), _TARGETS (2), _LENGTHS (3) and _SAMPLE_WEIGHTS (4)");
    check_reserved(one.reserved, text_of("files", i, ".reserved").c_str());
    checked.push_back({one.path, one.tensor, one.stage, static_cast<network::DataRole>(one.role)});
  }
  return checked;
}

template <class Read>
synfire_status create_from(const char* function, synfire_context context, const synfire_network_file_desc* desc,
                           synfire_network* network, Read read) noexcept {
  return guarded(function, [&] {
    check_pointer(network, "network");
    *network = nullptr;
    core::drain();
    const auto owner = held(context);
    const synfire_network_file_desc checked =
        desc ? read_descriptor(desc, "desc") : synfire_network_file_desc SYNFIRE_NETWORK_FILE_DESC_INIT;
    check_reserved(checked.reserved, "desc.reserved");
    const network::FileRules rules(checked);
    *network = registered<synfire_network>(core::charged_to_new_account(
        SYNFIRE_TAG_NETWORK, [&] { return network::create_from_file(*owner, read(), rules); }));
    return SYNFIRE_OK;
  });
}

}  // namespace

extern "C" {

synfire_status SYNFIRE_CALL synfire_network_create(synfire_context context, const synfire_network_desc* desc,
                                                   synfire_network* network) noexcept {
  return guarded(__func__, [&] {
    check_pointer(network, "network");
    *network = nullptr;
    core::drain();
    const auto owner = held(context);
    const synfire_network_desc checked = read_descriptor(desc, "desc");
    network::NetworkRules rules(checked);
    if (checked.communicator) {
      const HeldCommunicator together = held(checked.communicator, "desc.communicator");
      check_same_context(*together, *owner, "desc.communicator");
      rules.divide_among(*together);
    }
    *network = registered<synfire_network>(
        core::charged_to_new_account(SYNFIRE_TAG_NETWORK, [&] { return new network::Network(*owner, rules); }));
    return SYNFIRE_OK;
  });
}

void SYNFIRE_CALL synfire_network_destroy(synfire_network network) noexcept {
  capi::remove(value_of(network), core::ObjectType::network);
}

// ---- stages ---------------------------------------------------------------------------------------------------------

synfire_status SYNFIRE_CALL synfire_network_add_input(synfire_network network, const char* name, int32_t kind,
                                                      int64_t n_features) noexcept {
  return change(__func__, network, name, "name",
                [&](network::Design& design) { network::add_input(design, name, kind, n_features); });
}

synfire_status SYNFIRE_CALL synfire_network_add_dropout(synfire_network network, const char* name,
                                                        double probability) noexcept {
  return change(__func__, network, name, "name",
                [&](network::Design& design) { network::add_dropout(design, name, probability); });
}

synfire_status SYNFIRE_CALL synfire_network_add_synapse(synfire_network network, const char* name,
                                                        int64_t n_outputs) noexcept {
  return change(__func__, network, name, "name",
                [&](network::Design& design) { network::add_synapse(design, name, n_outputs); });
}

synfire_status SYNFIRE_CALL synfire_network_add_neurons(synfire_network network, const char* name,
                                                        int32_t model) noexcept {
  return change(__func__, network, name, "name",
                [&](network::Design& design) { network::add_neurons(design, name, model); });
}

synfire_status SYNFIRE_CALL synfire_network_add_readout(synfire_network network, const char* name, int32_t reduction,
                                                        int32_t of_spikes) noexcept {
  return change(__func__, network, name, "name", [&](network::Design& design) {
    network::add_readout(design, name, reduction, checked_flag(of_spikes, "of_spikes"));
  });
}

synfire_status SYNFIRE_CALL synfire_network_add_loss(synfire_network network, const char* name, int32_t kind) noexcept {
  return change(__func__, network, name, "name",
                [&](network::Design& design) { network::add_loss(design, name, kind); });
}

synfire_status SYNFIRE_CALL synfire_network_add_optimizer(synfire_network network, const char* name, int32_t kind,
                                                          double learning_rate) noexcept {
  return change(__func__, network, name, "name",
                [&](network::Design& design) { network::add_optimizer(design, name, kind, learning_rate); });
}

synfire_status SYNFIRE_CALL synfire_network_add_stage(synfire_network network,
                                                      const synfire_stage_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto found = held_network(network);
    const synfire_stage_desc checked = checked_stage(desc);
    found->change([&](network::Design& design) { network::add_stage(design, checked, *found->context()); });
    return SYNFIRE_OK;
  });
}

// ---- what a stage is like -------------------------------------------------------------------------------------------

synfire_status SYNFIRE_CALL synfire_network_set_value(synfire_network network, const char* stage, const char* name,
                                                      double value) noexcept {
  return guarded(__func__, [&] {
    const auto found = held_network(network);
    check_pointer(stage, "stage");
    check_pointer(name, "name");
    found->set_value(stage, name, value);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_network_get_value(synfire_network network, const char* stage, const char* name,
                                                      double* value) noexcept {
  return guarded(__func__, [&] {
    const auto found = held_network(network);
    check_pointer(stage, "stage");
    check_pointer(name, "name");
    check_pointer(value, "value");
    *value = found->get_value(stage, name);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_network_train_parameter(synfire_network network, const char* stage,
                                                            const char* parameter, int32_t per_neuron,
                                                            double learning_rate_factor, double weight_decay_factor,
                                                            double lower, double upper) noexcept {
  return change(__func__, network, stage, "stage", [&](network::Design& design) {
    check_pointer(parameter, "parameter");
    network::train_parameter(design, stage, {parameter, learning_rate_factor, weight_decay_factor, lower, upper},
                             checked_flag(per_neuron, "per_neuron"));
  });
}

synfire_status SYNFIRE_CALL synfire_network_set_scope(synfire_network network, const char* stage, const char* parameter,
                                                      int32_t scope) noexcept {
  return change(__func__, network, stage, "stage", [&](network::Design& design) {
    check_pointer(parameter, "parameter");
    constexpr core::Scope scopes[] = {core::Scope::neuron, core::Scope::channel,
                                      core::Scope::layer};  // SYNFIRE_SCOPE_*
    if (scope < SYNFIRE_SCOPE_NEURON || scope > SYNFIRE_SCOPE_LAYER)
      core::fail_argument("SYN-NETWORK-VALUE",
                          "scope is %d; allowed are SYNFIRE_SCOPE_NEURON (0), SYNFIRE_SCOPE_CHANNEL (1) and "
                          "SYNFIRE_SCOPE_LAYER (2)",
                          scope);
    network::set_scope(design, stage, parameter, scopes[scope]);
  });
}

synfire_status SYNFIRE_CALL synfire_network_set_mask(synfire_network network, const char* stage, const uint8_t* mask,
                                                     uint64_t length) noexcept {
  return change(__func__, network, stage, "stage", [&](network::Design& design) {
    check_pointer(mask, "mask");
    network::set_mask(design, stage, mask, length);
  });
}

synfire_status SYNFIRE_CALL synfire_network_set_class_weights(synfire_network network, const char* stage,
                                                              const float* weights, uint64_t n_weights) noexcept {
  return change(__func__, network, stage, "stage", [&](network::Design& design) {
    check_pointer(weights, "weights");
    network::set_class_weights(design, stage, weights, n_weights);
  });
}

// ---- seeing inside --------------------------------------------------------------------------------------------------

synfire_status SYNFIRE_CALL synfire_network_query_memory(synfire_network network,
                                                         synfire_network_memory* memory) noexcept {
  return guarded(__func__, [&] {
    const auto found = held_network(network);
    const Answer out(memory, "memory");
    synfire_network_memory answer = SYNFIRE_NETWORK_MEMORY_INIT;
    found->query_memory(answer);
    out.write(answer);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_network_write_summary(synfire_network network, char* text,
                                                          uint64_t* bytes) noexcept {
  return guarded(__func__, [&] {
    check_pointer(bytes, "bytes");
    return write_text(held_network(network)->summary(), text, bytes);
  });
}

synfire_status SYNFIRE_CALL synfire_network_write_dot(synfire_network network, char* text, uint64_t* bytes) noexcept {
  return guarded(__func__, [&] {
    check_pointer(bytes, "bytes");
    return write_text(held_network(network)->dot(), text, bytes);
  });
}

// ---- building and running -------------------------------------------------------------------------------------------

synfire_status SYNFIRE_CALL synfire_network_build(synfire_network network) noexcept {
  return guarded(__func__, [&] {
    core::drain();
    held_network(network)->build();
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_network_set_data(synfire_network network, int32_t set, int64_t n_rows,
                                                     synfire_buffer inputs, synfire_buffer labels,
                                                     synfire_buffer targets, synfire_buffer lengths,
                                                     synfire_buffer sample_weights) noexcept {
  return guarded(__func__, [&] {
    core::drain();
    const auto found = held_network(network);
    struct Given {
      HeldBuffer inputs, labels, targets, lengths, weights;
      network::DataKind kind;
    };
    const Given given = checked_for_ranks(*found, call_with(set), [&] {
      const core::Context& context = *found->context();
      return Given{required(inputs, "inputs", context),
                   optional(labels, "labels", context),
                   optional(targets, "targets", context),
                   optional(lengths, "lengths", context),
                   optional(sample_weights, "sample_weights", context),
                   checked_set(set)};
    });
    found->set_data(
        given.kind, n_rows,
        {given.inputs.get(), given.labels.get(), given.targets.get(), given.lengths.get(), given.weights.get()});
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_network_set_arrays(synfire_network network, int32_t set, int64_t n_rows,
                                                       const synfire_network_array* arrays,
                                                       uint64_t n_arrays) noexcept {
  return guarded(__func__, [&] {
    core::drain();
    const auto found = held_network(network);
    struct Given {
      HeldArrays arrays;
      network::DataKind kind;
    };
    const Given given = checked_for_ranks(*found, call_with(set), [&] {
      return Given{HeldArrays(arrays, n_arrays, *found->context()), checked_set(set)};
    });
    found->set_arrays(given.kind, n_rows, given.arrays.arrays());
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_network_open_data(synfire_network network, int32_t set,
                                                      const synfire_data_file* files, uint64_t n_files,
                                                      const synfire_network_data_desc* desc) noexcept {
  return guarded(__func__, [&] {
    core::drain();
    const auto found = held_network(network);
    struct Given {
      network::DataKind kind;
      std::vector<network::GivenFile> files;
      network::StreamRules rules;
    };
    const Given given = checked_for_ranks(*found, call_with(set), [&] {
      return Given{checked_set(set), checked_files(files, n_files),
                   network::StreamRules(desc ? read_descriptor(desc, "desc")
                                             : synfire_network_data_desc SYNFIRE_NETWORK_DATA_DESC_INIT)};
    });
    found->open_data(given.kind, given.files, given.rules);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_network_train_stages(synfire_network network, int64_t n_batches,
                                                         synfire_stage_result* losses, uint64_t n_losses,
                                                         synfire_network_result* result) noexcept {
  return guarded(__func__, [&] {
    const auto found = held_network(network);
    const Answer out = checked_results(*found, ranks::Call::train, losses, n_losses, result);
    synfire_network_result answer = SYNFIRE_NETWORK_RESULT_INIT;
    found->train(n_batches, answer, {losses, n_losses});
    out.write(answer);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_network_train(synfire_network network, int64_t n_batches,
                                                  synfire_network_result* result) noexcept {
  return guarded(__func__, [&] {
    const auto found = held_network(network);
    const Answer out = checked_results(*found, ranks::Call::train, nullptr, 0, result);
    synfire_network_result answer = SYNFIRE_NETWORK_RESULT_INIT;
    found->train(n_batches, answer);
    out.write(answer);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_network_evaluate(synfire_network network, synfire_network_result* result) noexcept {
  return guarded(__func__, [&] {
    const auto found = held_network(network);
    const Answer out = checked_results(*found, ranks::Call::evaluate, nullptr, 0, result);
    synfire_network_result answer = SYNFIRE_NETWORK_RESULT_INIT;
    found->evaluate(answer);
    out.write(answer);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_network_evaluate_stages(synfire_network network, synfire_stage_result* losses,
                                                            uint64_t n_losses,
                                                            synfire_network_result* result) noexcept {
  return guarded(__func__, [&] {
    const auto found = held_network(network);
    const Answer out = checked_results(*found, ranks::Call::evaluate, losses, n_losses, result);
    synfire_network_result answer = SYNFIRE_NETWORK_RESULT_INIT;
    found->evaluate(answer, {losses, n_losses});
    out.write(answer);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_network_infer(synfire_network network, synfire_buffer inputs, int64_t n_rows,
                                                  synfire_buffer outputs) noexcept {
  return guarded(__func__, [&] {
    const auto found = held_network(network);
    const HeldBuffer from = required(inputs, "inputs", *found->context());
    const HeldBuffer to = required(outputs, "outputs", *found->context());
    found->infer(*from, n_rows, *to);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_network_infer_arrays(synfire_network network, int64_t n_rows,
                                                         const synfire_network_array* arrays,
                                                         uint64_t n_arrays) noexcept {
  return guarded(__func__, [&] {
    const auto found = held_network(network);
    const HeldArrays given(arrays, n_arrays, *found->context());
    found->infer(given.arrays(), n_rows);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_network_reset_state(synfire_network network) noexcept {
  return guarded(__func__, [&] {
    held_network(network)->reset_state();
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_network_reset_rows(synfire_network network, int64_t first_row,
                                                       int64_t n_rows) noexcept {
  return guarded(__func__, [&] {
    held_network(network)->reset_rows(first_row, n_rows);
    return SYNFIRE_OK;
  });
}

// ---- monitors -------------------------------------------------------------------------------------------------------

synfire_status SYNFIRE_CALL synfire_network_keep(synfire_network network, const char* names) noexcept {
  return change(__func__, network, names, "names", [&](network::Design& design) { network::keep(design, names); });
}

synfire_status SYNFIRE_CALL synfire_network_get_monitor(synfire_network network, const char* stage, int32_t restart,
                                                        synfire_network_monitor* monitor) noexcept {
  return guarded(__func__, [&] {
    const auto found = held_network(network);
    const Answer out(monitor, "monitor");
    check_pointer(stage, "stage");
    synfire_network_monitor answer = SYNFIRE_NETWORK_MONITOR_INIT;
    found->read_monitor(stage, checked_flag(restart, "restart"), answer);
    out.write(answer);
    return SYNFIRE_OK;
  });
}

// ---- files ----------------------------------------------------------------------------------------------------------

synfire_status SYNFIRE_CALL synfire_network_save(synfire_network network, const char* path) noexcept {
  return guarded(__func__, [&] {
    const auto found = held_network(network);
    check_pointer(path, "path");
    found->save([&](const files::SafetensorsWriter& writer) { writer.write_file(path); });
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_network_save_shards(synfire_network network, const char* path, uint64_t shard_bytes,
                                                        uint64_t* n_shards) noexcept {
  return guarded(__func__, [&] {
    constexpr uint64_t default_bytes = 5'000'000'000;
    const auto found = held_network(network);
    check_pointer(path, "path");
    uint64_t n_written = 0;
    found->save([&](const files::SafetensorsWriter& writer) {
      n_written = writer.write_shards(path, shard_bytes == 0 ? default_bytes : shard_bytes);
    });
    if (n_shards) *n_shards = n_written;
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_network_save_to_memory(synfire_network network, void* data,
                                                           uint64_t* bytes) noexcept {
  return guarded(__func__, [&] {
    check_pointer(bytes, "bytes");
    held_network(network)->save([&](const files::SafetensorsWriter& writer) {
      if (data) writer.write({static_cast<std::byte*>(data), *bytes});
      *bytes = writer.size();
    });
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_network_load(synfire_network network, const char* path) noexcept {
  return guarded(__func__, [&] {
    core::drain();
    const auto found = held_network(network);
    found->load(file_at(path));
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_network_load_from_memory(synfire_network network, const void* data,
                                                             uint64_t bytes) noexcept {
  return guarded(__func__, [&] {
    core::drain();
    const auto found = held_network(network);
    found->load(file_of(data, bytes));
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_network_load_arrays(synfire_network network, const char* path,
                                                        synfire_array_source* sources, uint64_t n_sources,
                                                        int32_t leave_out) noexcept {
  return guarded(__func__, [&] {
    core::drain();
    const auto found = held_network(network);
    const std::span<synfire_array_source> checked = checked_sources(sources, n_sources, leave_out);
    found->load_arrays(file_at(path), checked, leave_out == 1);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_network_load_arrays_from_memory(synfire_network network, const void* data,
                                                                    uint64_t bytes, synfire_array_source* sources,
                                                                    uint64_t n_sources, int32_t leave_out) noexcept {
  return guarded(__func__, [&] {
    core::drain();
    const auto found = held_network(network);
    const std::span<synfire_array_source> checked = checked_sources(sources, n_sources, leave_out);
    found->load_arrays(file_of(data, bytes), checked, leave_out == 1);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_network_create_from_file(synfire_context context, const char* path,
                                                             const synfire_network_file_desc* desc,
                                                             synfire_network* network) noexcept {
  return create_from(__func__, context, desc, network, [&] { return file_at(path); });
}

synfire_status SYNFIRE_CALL synfire_network_create_from_memory(synfire_context context, const void* data,
                                                               uint64_t bytes, const synfire_network_file_desc* desc,
                                                               synfire_network* network) noexcept {
  return create_from(__func__, context, desc, network, [&] { return file_of(data, bytes); });
}

// ---- parts ----------------------------------------------------------------------------------------------------------

synfire_status SYNFIRE_CALL synfire_network_get_synapse(synfire_network network, const char* stage,
                                                        synfire_synapse* synapse) noexcept {
  return get(__func__, network, stage, "stage", synapse, "synapse", [&](network::Network& found) {
    const network::StageKind* const kinds[] = {&network::synapse_kind, &network::conv2d_kind,
                                               &network::scale_kind,   &network::population_kind,
                                               &network::delayed_kind, &network::normalization_kind};
    return found.object(stage, kinds);
  });
}

synfire_status SYNFIRE_CALL synfire_network_get_layer(synfire_network network, const char* stage,
                                                      synfire_layer* layer) noexcept {
  return get(__func__, network, stage, "stage", layer, "layer", [&](network::Network& found) {
    const network::StageKind* const kinds[] = {&network::neurons_kind};
    return found.object(stage, kinds);
  });
}

synfire_status SYNFIRE_CALL synfire_network_get_optimizer(synfire_network network, const char* stage,
                                                          synfire_optimizer* optimizer) noexcept {
  return get(__func__, network, stage, "stage", optimizer, "optimizer", [&](network::Network& found) {
    const network::StageKind* const kinds[] = {&network::optimizer_kind};
    return found.object(stage, kinds);
  });
}

synfire_status SYNFIRE_CALL synfire_network_get_buffer(synfire_network network, const char* name,
                                                       synfire_buffer* buffer) noexcept {
  return get(__func__, network, name, "name", buffer, "buffer",
             [&](network::Network& found) { return found.buffer(name); });
}

synfire_status SYNFIRE_CALL synfire_network_get_graph(synfire_network network, int32_t kind,
                                                      synfire_graph* graph) noexcept {
  return get(__func__, network, "", "kind", graph, "graph", [&](network::Network& found) {
    if (kind < SYNFIRE_NETWORK_GRAPH_INFERENCE || kind > SYNFIRE_NETWORK_GRAPH_BACKWARD)
      core::fail_argument(
          "SYN-NETWORK-KIND",
          "kind is %d; allowed are SYNFIRE_NETWORK_GRAPH_INFERENCE (0), _TRAINING (1), _EVALUATION (2), "
          "_FORWARD (3) and _BACKWARD (4)",
          kind);
    return found.graph(static_cast<network::GraphKind>(kind));
  });
}

}  // extern "C"
