// Descriptions of stages and lists of arrays that break a rule: each is refused with its rule, and nothing is changed.
#include <span>

#include "../described_stages.hpp"
#include "../network_by_hand.hpp"
#include "errors.hpp"

namespace synfire_test {
namespace {

constexpr synfire_status argument = SYNFIRE_ERROR_INVALID_ARGUMENT, order = SYNFIRE_ERROR_WRONG_ORDER;

// A network that ends with neurons, and one that is built.
struct World {
  const Context context = make_context();
  const StagePlan plan;
  const Network open = make_open(), built = make_stages(context, plan);
  const Data data = make_data(context, plan, plan.n_rows, 1);

  World() { require_ok(synfire_network_build(built)); }
  Network make_open() const {
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.n_steps = 2;
    synfire_network made = nullptr;
    require_ok(synfire_network_create(context, &desc, &made));
    Network network(made);
    require_ok(add_stage(network, "input", "in", {text("kind", "spikes"), number("n_features", 3)}));
    require_ok(add_stage(network, "synapse", "s", {number("n_outputs", 2)}));
    require_ok(add_stage(network, "neurons", "n", {text("model", "lif")}));
    return network;
  }
  std::string state() const {
    std::string all;
    for (const synfire_network network : {open.get(), built.get()})
      for (const auto write : {synfire_network_write_summary, synfire_network_write_dot}) {
        uint64_t bytes = 0;
        EXPECT_OK(write(network, nullptr, &bytes));
        std::string own(bytes, '\0');
        EXPECT_OK(write(network, own.data(), &bytes));
        all.append(own);
      }
    return all;
  }
  template <class Change>
  synfire_status changed(Change change) const {
    const StageValues values = {number("n_outputs", 4)};
    const StageInputs inputs = {reads("n")};
    synfire_stage_desc desc = describe_stage("synapse", "a", values, inputs);
    change(desc);
    return synfire_network_add_stage(open, &desc);
  }
  synfire_status synapse(const StageValues& values, const StageInputs& inputs = {}) const {
    return add_stage(open, "synapse", "a", values, inputs);
  }
  StageArrays arrays() const {
    return {array_of("input", SYNFIRE_ARRAY_INPUTS, data.inputs), array_of("loss", SYNFIRE_ARRAY_LABELS, data.labels)};
  }
  template <class Change>
  synfire_status set(Change change) const {
    StageArrays list = arrays();
    change(list);
    return set_arrays(built, SYNFIRE_DATA_TRAINING, plan.n_rows, list);
  }
  template <class Change>
  synfire_status infer(Change change) const {
    const Buffer outputs = make_buffer(context, SYNFIRE_DTYPE_F32, 1000);
    StageArrays list = {array_of("input", SYNFIRE_ARRAY_INPUTS, data.inputs),
                        array_of("readout", SYNFIRE_ARRAY_OUTPUTS, outputs)};
    change(list);
    return infer_arrays(built, plan.n_rows, list);
  }
};

struct Rule {
  std::vector<std::string_view> words;
  synfire_status status;
  synfire_status (*broken)(World& world);
};

const Rule of_stages[] = {
    // The descriptor.
    {{"SYN-STRUCT-SMALL"},
     SYNFIRE_ERROR_STRUCT_SIZE,
     [](World& w) { return w.changed([](auto& d) { d.struct_size = 8; }); }},
    {{"SYN-ARGUMENT-NULL", "desc"}, argument, [](World& w) { return synfire_network_add_stage(w.open, nullptr); }},
    {{"desc.reserved"}, argument, [](World& w) { return w.changed([](auto& d) { d.reserved = 1; }); }},
    {{"SYN-ARGUMENT-NULL", "desc.kind"},
     argument,
     [](World& w) { return w.changed([](auto& d) { d.kind = nullptr; }); }},
    {{"SYN-ARGUMENT-NULL", "desc.name"},
     argument,
     [](World& w) { return w.changed([](auto& d) { d.name = nullptr; }); }},
    {{"SYN-ARGUMENT-NULL", "desc.inputs"},
     argument,
     [](World& w) { return w.changed([](auto& d) { d.inputs = nullptr; }); }},
    {{"SYN-ARGUMENT-NULL", "desc.values"},
     argument,
     [](World& w) { return w.changed([](auto& d) { d.values = nullptr; }); }},
    {{"SYN-NETWORK-LIST", "desc.n_inputs is 4097", "4096"},
     argument,
     [](World& w) { return w.changed([](auto& d) { d.n_inputs = 4097; }); }},
    {{"SYN-NETWORK-LIST", "desc.n_values is 257", "256"},
     argument,
     [](World& w) { return w.changed([](auto& d) { d.n_values = 257; }); }},
    {{"SYN-NETWORK-BUILT"},
     order,
     [](World& w) { return add_stage(w.built, "synapse", "a", {number("n_outputs", 2)}); }},
    // Kinds and names.
    {{"SYN-NETWORK-KIND", "\"synaps\"", "did you mean \"synapse\"", "\"optimizer\""},
     argument,
     [](World& w) { return add_stage(w.open, "synaps", "a", {number("n_outputs", 2)}); }},
    {{"SYN-NETWORK-KIND"}, argument, [](World& w) { return add_stage(w.open, "", "a"); }},
    {{"SYN-NETWORK-NAME", "64"},
     argument,
     [](World& w) { return add_stage(w.open, "synapse", std::string(65, 'a').c_str(), {number("n_outputs", 2)}); }},
    {{"SYN-NETWORK-NAME"},
     argument,
     [](World& w) { return add_stage(w.open, "synapse", "", {number("n_outputs", 2)}); }},
    {{"SYN-NETWORK-NAME", "already"},
     argument,
     [](World& w) { return add_stage(w.open, "synapse", "s", {number("n_outputs", 2)}); }},
    // Inputs.
    {{"SYN-NETWORK-READS", "inputs[0]", "\"a\"", "itself"},
     argument,
     [](World& w) { return w.synapse({number("n_outputs", 2)}, {reads("a")}); }},
    {{"SYN-NETWORK-READS", "inputs[0]", "\"later\"", "before it", "\"in\", \"s\", \"n\""},
     argument,
     [](World& w) { return w.synapse({number("n_outputs", 2)}, {reads("later")}); }},
    {{"SYN-NETWORK-DELAY", "inputs[0]", "delay is 65536", "0 to 65535"},
     argument,
     [](World& w) {
       return w.synapse({number("n_outputs", 2)}, {{"n", nullptr, 65536}});
     }},
    {{"SYN-ARGUMENT-NULL", "desc.inputs[1].stage"},
     argument,
     [](World& w) {
       return w.synapse({number("n_outputs", 2)}, {reads("n"), reads(nullptr)});
     }},
    {{"SYN-NETWORK-PORT", "\"u\"", "\"spikes\", \"v\""},
     argument,
     [](World& w) { return w.synapse({number("n_outputs", 2)}, {reads("n", "u")}); }},
    {{"SYN-NETWORK-PORT", "\"v\"", "null"},
     argument,
     [](World& w) { return w.synapse({number("n_outputs", 2)}, {reads("in", "v")}); }},
    {{"SYN-NETWORK-CHAIN", "cannot read the spikes of stage \"silent\"", "never fire", "\"v\""},
     order,
     [](World& w) {
       const Network network = w.make_open();
       require_ok(add_stage(network, "synapse", "s2", {number("n_outputs", 2)}));
       require_ok(add_stage(network, "neurons", "silent", {text("model", "li")}));
       return add_stage(network, "synapse", "a", {number("n_outputs", 2)}, {reads("silent")});
     }},
    {{"SYN-NETWORK-CHAIN", "at most 1"},
     order,
     [](World& w) {
       return w.synapse({number("n_outputs", 2)}, {reads("n"), reads("in")});
     }},
    {{"SYN-NETWORK-CHAIN", "which stage \"first\" of the same kind reads"},
     order,
     [](World& w) {
       const Network network = w.make_open();
       require_ok(add_stage(network, "readout", "r", {text("reduction", "sum")}));
       require_ok(add_stage(network, "loss", "first", {text("kind", "cross_entropy")}));
       return add_stage(network, "loss", "second", {text("kind", "cross_entropy")}, {reads("r")});
     }},
    {{"SYN-NETWORK-CHAIN", "reads stage \"l\" twice"},
     order,
     [](World& w) {
       const Network network = w.make_open();
       require_ok(add_stage(network, "readout", "r", {text("reduction", "sum")}));
       require_ok(add_stage(network, "loss", "l", {text("kind", "cross_entropy")}));
       return add_stage(network, "optimizer", "o", {text("kind", "sgd")}, {reads("l"), reads("l")});
     }},
    {{"SYN-NETWORK-CHAIN", "\"d\""},
     order,
     [](World& w) {
       const Network network = w.make_open();
       require_ok(add_stage(network, "dropout", "d"));
       return add_stage(network, "neurons", "a", {text("model", "lif")}, {reads("d")});
     }},
    {{"SYN-NETWORK-READOUT", "of_spikes"},
     argument,
     [](World& w) {
       return add_stage(w.open, "readout", "a", {text("reduction", "sum"), number("of_spikes", 1)}, {reads("n", "v")});
     }},
    // Stages that combine others.
    {{"SYN-NETWORK-CHAIN", "reads 1 stages", "at least 2"},
     order,
     [](World& w) { return add_stage(w.open, "sum", "a"); }},
    {{"SYN-NETWORK-CHAIN", "at most 2"},
     order,
     [](World& w) {
       return add_stage(w.open, "and", "a", {}, {reads("n"), reads("in"), reads("s")});
     }},
    {{"SYN-NETWORK-SHAPE", "[2, 1, 2] of stage \"n\"", "[2, 1, 3] of stage \"in\""},
     argument,
     [](World& w) {
       return add_stage(w.open, "sum", "a", {}, {reads("n"), reads("in")});
     }},
    {{"SYN-NETWORK-SHAPE", "[2, 1, 2]", "[1, 1, 2] of stage \"r\""},
     argument,
     [](World& w) {
       const Network network = w.make_open();
       require_ok(add_stage(network, "readout", "r", {text("reduction", "sum")}));
       return add_stage(network, "concatenate", "a", {}, {reads("n"), reads("r")});
     }},
    {{"SYN-NETWORK-SPIKES", "kind iand", "values of stage \"n\""},
     argument,
     [](World& w) {
       return add_stage(w.open, "iand", "a", {}, {reads("n"), reads("n", "v")});
     }},
    {{"SYN-NETWORK-SPIKES", "kind and", "counts of stage \"c\""},
     argument,
     [](World& w) {
       const Network network = w.make_open();
       require_ok(
           add_stage(network, "input", "c", {text("kind", "counts"), number("n_features", 2), number("bound", 1)}));
       return add_stage(network, "and", "a", {}, {reads("n"), reads("c")});
     }},
    {{"SYN-COUNT-BOUND", "256", "255"},
     argument,
     [](World& w) {
       const Network network = w.make_open();
       require_ok(
           add_stage(network, "input", "c", {text("kind", "counts"), number("n_features", 2), number("bound", 255)}));
       return add_stage(network, "sum", "a", {}, {reads("n"), reads("c")});
     }},
    {{"SYN-NETWORK-SHAPE", "\"group_size\"", "3", "2 outputs"},
     argument,
     [](World& w) { return add_stage(w.open, "group_mean", "a", {number("group_size", 3)}); }},
    {{"SYN-NETWORK-VALUE", "\"group_size\"", "needed"},
     argument,
     [](World& w) { return add_stage(w.open, "group_mean", "a"); }},
    {{"SYN-NETWORK-VALUE", "\"initial_weight\"", "0"},
     argument,
     [](World& w) { return add_stage(w.open, "scale", "a", {number("initial_weight", 0)}); }},
    {{"SYN-NETWORK-VALUE", "\"scope\"", "\"all\"", "layer"},
     argument,
     [](World& w) { return add_stage(w.open, "scale", "a", {text("scope", "all")}); }},
    // Inputs that are maps, of one step, or counts.
    {{"SYN-NETWORK-SHAPE", "2, 3 and 4", "n_features is 5"},
     argument,
     [](World& w) {
       return add_stage(w.open, "input", "a",
                        {text("kind", "spikes"), number("height", 2), number("width", 3), number("channels", 4),
                         number("n_features", 5)});
     }},
    {{"SYN-NETWORK-OVERFLOW", "cannot be addressed"},
     SYNFIRE_ERROR_OUT_OF_MEMORY,
     [](World& w) {
       return add_stage(
           w.open, "input", "a",
           {text("kind", "spikes"), number("height", 0x1p31), number("width", 0x1p31), number("channels", 4)});
     }},
    {{"SYN-NETWORK-VALUE", "\"n_features\"", "needed"},
     argument,
     [](World& w) {
       return add_stage(w.open, "input", "a", {text("kind", "spikes"), number("height", 2)});
     }},
    {{"SYN-NETWORK-VALUE", "\"n_steps\"", "3"},
     argument,
     [](World& w) {
       return add_stage(w.open, "input", "a", {text("kind", "spikes"), number("n_features", 2), number("n_steps", 3)});
     }},
    {{"SYN-NETWORK-VALUE", "\"n_steps\"", "except of rates"},
     argument,
     [](World& w) {
       return add_stage(w.open, "input", "a", {text("kind", "rates"), number("n_features", 2), number("n_steps", 1)});
     }},
    {{"SYN-COUNT-BOUND", "256"},
     argument,
     [](World& w) {
       return add_stage(w.open, "input", "a", {text("kind", "counts"), number("n_features", 2), number("bound", 256)});
     }},
    {{"SYN-COUNT-BOUND", "only an input of counts"},
     argument,
     [](World& w) {
       return add_stage(w.open, "input", "a", {text("kind", "spikes"), number("n_features", 2), number("bound", 2)});
     }},
    // Shared weights.
    {{"SYN-NETWORK-VALUE", "\"weights_of\"", "\"t\"", "\"in\", \"s\", \"n\""},
     argument,
     [](World& w) { return w.synapse({text("weights_of", "t")}); }},
    {{"SYN-NETWORK-VALUE", "\"weights_of\"", "the name of a stage"},
     argument,
     [](World& w) { return w.synapse({number("weights_of", 1)}); }},
    {{"SYN-NETWORK-VALUE", "\"weights_of\"", "of kind neurons"},
     argument,
     [](World& w) { return w.synapse({text("weights_of", "n")}); }},
    {{"SYN-NETWORK-SHAPE", "2 inputs and 2 outputs", "3 inputs and 2 outputs"},
     argument,
     [](World& w) { return w.synapse({text("weights_of", "s")}); }},
    {{"SYN-NETWORK-VALUE", "\"gain\"", "whose values count"},
     argument,
     [](World& w) {
       return w.synapse({text("weights_of", "s"), number("gain", 2)}, {reads("in")});
     }},
    // Values.
    {{"SYN-NETWORK-VALUE", "\"a\" of kind synapse", "\"n_outputs\""}, argument, [](World& w) { return w.synapse({}); }},
    {{"SYN-NETWORK-VALUE", "\"gian\"", "did you mean \"gain\"", "\"frozen\""},
     argument,
     [](World& w) {
       return w.synapse({number("n_outputs", 2), number("gian", 2)});
     }},
    {{"SYN-NETWORK-VALUE", "\"gain\" of stage \"a\" is given twice"},
     argument,
     [](World& w) {
       return w.synapse({number("gain", 2), number("n_outputs", 2), number("gain", 2)});
     }},
    {{"SYN-NETWORK-VALUE", "\"n_outputs\" of stage \"a\" is given twice"},
     argument,
     [](World& w) {
       return w.synapse({number("n_outputs", 2), number("n_outputs", 3)});
     }},
    {{"SYN-NETWORK-VALUE", "\"gain\"", "nan"},
     argument,
     [](World& w) {
       return w.synapse({number("n_outputs", 2), number("gain", nan)});
     }},
    {{"SYN-NETWORK-VALUE", "\"gain\"", "inf"},
     argument,
     [](World& w) {
       return w.synapse({number("n_outputs", 2), number("gain", infinity)});
     }},
    {{"SYN-NETWORK-VALUE", "\"bias\"", "0.5", "integer"},
     argument,
     [](World& w) {
       return w.synapse({number("n_outputs", 2), number("bias", 0.5)});
     }},
    {{"SYN-NETWORK-VALUE", "\"n_outputs\"", "nan", "integer"},
     argument,
     [](World& w) { return w.synapse({number("n_outputs", nan)}); }},
    {{"SYN-NETWORK-VALUE", "\"n_outputs\"", "2.5"},
     argument,
     [](World& w) { return w.synapse({number("n_outputs", 2.5)}); }},
    {{"SYN-NETWORK-VALUE", "\"n_outputs\"", "1e+300"},
     argument,
     [](World& w) { return w.synapse({number("n_outputs", 1e300)}); }},
    {{"SYN-NETWORK-WIDTH", "-3"}, argument, [](World& w) { return w.synapse({number("n_outputs", -3)}); }},
    {{"SYN-NETWORK-VALUE", "\"n_outputs\"", "\"two\"", "number"},
     argument,
     [](World& w) { return w.synapse({text("n_outputs", "two")}); }},
    {{"SYN-NETWORK-VALUE", "\"gain\"", "\"large\"", "number"},
     argument,
     [](World& w) {
       return w.synapse({number("n_outputs", 2), text("gain", "large")});
     }},
    {{"SYN-NETWORK-VALUE", "\"initialization\"", "\"gaussian\"", "normal"},
     argument,
     [](World& w) {
       return w.synapse({number("n_outputs", 2), text("initialization", "gaussian")});
     }},
    {{"SYN-ARGUMENT-NULL", "desc.values[0].name"}, argument, [](World& w) { return w.synapse({number(nullptr, 2)}); }},
    {{"SYN-NETWORK-VALUE", "\"model\"", "\"lief\""},
     argument,
     [](World& w) { return add_stage(w.make_open(), "neurons", "a", {text("model", "lief")}); }},
    {{"SYN-NETWORK-KIND", "7"},
     argument,
     [](World& w) { return add_stage(w.open, "readout", "a", {number("reduction", 7)}); }},
    {{"SYN-NETWORK-FLAG", "of_spikes"},
     argument,
     [](World& w) {
       return add_stage(w.open, "readout", "a", {number("reduction", 0), number("of_spikes", 4294967297.0)});
     }},
    // A value of a stage that was chosen.
    {{"SYN-NETWORK-VALUE", "\"n_outputs\"", "chosen once"},
     argument,
     [](World& w) { return synfire_network_set_value(w.open, "s", "n_outputs", 3); }},
};

const Rule of_arrays[] = {
    {{"SYN-NETWORK-ARRAY", "arrays[1]", "labels of stage \"s0\" of kind synapse", "takes nothing"},
     argument,
     [](World& w) { return w.set([](auto& list) { list[1].stage = "s0"; }); }},
    {{"SYN-NETWORK-ARRAY", "arrays[0]", "inputs of stage \"loss\"", "takes labels"},
     argument,
     [](World& w) { return w.set([](auto& list) { list[0].stage = "loss"; }); }},
    {{"SYN-NETWORK-ARRAY", "targets"},
     argument,
     [](World& w) { return w.set([](auto& list) { list[1].role = SYNFIRE_ARRAY_TARGETS; }); }},
    {{"SYN-NETWORK-ARRAY", "targets", "nothing here"},
     argument,
     [](World& w) {
       return w.set([](auto& list) { list[1] = array_of(nullptr, SYNFIRE_ARRAY_TARGETS, list[1].buffer); });
     }},
    {{"SYN-NETWORK-ARRAY", "outputs"},
     argument,
     [](World& w) {
       return w.set([](auto& list) { list[1] = array_of(nullptr, SYNFIRE_ARRAY_OUTPUTS, list[1].buffer); });
     }},
    {{"SYN-NETWORK-ARRAY", "lengths of stage \"input\""},
     argument,
     [](World& w) {
       return w.set([](auto& list) { list.push_back(array_of("input", SYNFIRE_ARRAY_LENGTHS, list[1].buffer)); });
     }},
    {{"SYN-NETWORK-ARRAY", "arrays[2]", "labels of stage \"loss\"", "before it"},
     argument,
     [](World& w) { return w.set([](auto& list) { list.push_back(list[1]); }); }},
    {{"SYN-NETWORK-ARRAY", "no labels of stage \"loss\""},
     argument,
     [](World& w) { return w.set([](auto& list) { list.pop_back(); }); }},
    {{"SYN-NETWORK-ARRAY", "no inputs"}, argument, [](World& w) { return w.set([](auto& list) { list.clear(); }); }},
    {{"SYN-NETWORK-STAGE", "\"lost\"", "\"loss\""},
     argument,
     [](World& w) { return w.set([](auto& list) { list[1].stage = "lost"; }); }},
    {{"SYN-NETWORK-KIND", "arrays[0].role is 6"},
     argument,
     [](World& w) { return w.set([](auto& list) { list[0].role = 6; }); }},
    {{"SYN-NETWORK-KIND", "arrays[0].role is -1"},
     argument,
     [](World& w) { return w.set([](auto& list) { list[0].role = -1; }); }},
    {{"arrays[1].reserved"}, argument, [](World& w) { return w.set([](auto& list) { list[1].reserved = 1; }); }},
    {{"SYN-HANDLE-NULL", "arrays[1].buffer"},
     SYNFIRE_ERROR_INVALID_HANDLE,
     [](World& w) { return w.set([](auto& list) { list[1].buffer = nullptr; }); }},
    {{"SYN-NETWORK-LIST", "4099"},
     argument,
     [](World& w) {
       const StageArrays list = w.arrays();
       return synfire_network_set_arrays(w.built, SYNFIRE_DATA_TRAINING, 1, list.data(), 4099);
     }},
    {{"SYN-ARGUMENT-NULL", "arrays"},
     argument,
     [](World& w) { return synfire_network_set_arrays(w.built, SYNFIRE_DATA_TRAINING, 1, nullptr, 1); }},
    {{"SYN-NETWORK-KIND", "set is 2"}, argument, [](World& w) { return set_arrays(w.built, 2, 1, w.arrays()); }},
    {{"SYN-NETWORK-DATA", "n_rows is 0"}, argument, [](World& w) { return set_arrays(w.built, 0, 0, w.arrays()); }},
    {{"SYN-BUFFER-SIZE"}, argument, [](World& w) { return set_arrays(w.built, 0, 11, w.arrays()); }},
    {{"SYN-BUFFER-TYPE"},
     argument,
     [](World& w) { return w.set([](auto& list) { std::swap(list[0].buffer, list[1].buffer); }); }},
    {{"SYN-NETWORK-NOT-BUILT"}, order, [](World& w) { return set_arrays(w.open, 0, 1, w.arrays()); }},
    // Inference.
    {{"SYN-NETWORK-ARRAY", "no inputs of stage \"input\""},
     argument,
     [](World& w) { return w.infer([](auto& list) { list.erase(list.begin()); }); }},
    {{"SYN-NETWORK-ARRAY", "no outputs"},
     argument,
     [](World& w) { return w.infer([](auto& list) { list.pop_back(); }); }},
    {{"SYN-NETWORK-ARRAY", "outputs of stage \"n1\" of kind neurons"},
     argument,
     [](World& w) { return w.infer([](auto& list) { list[1].stage = "n1"; }); }},
    {{"SYN-NETWORK-ARRAY", "labels"},
     argument,
     [](World& w) { return w.infer([](auto& list) { list[1].role = SYNFIRE_ARRAY_LABELS; }); }},
    {{"SYN-NETWORK-ARRAY", "arrays[2]"},
     argument,
     [](World& w) { return w.infer([](auto& list) { list.push_back(list[1]); }); }},
    {{"SYN-BUFFER-OVERLAP"},
     argument,
     [](World& w) { return w.infer([](auto& list) { list[1].buffer = list[0].buffer; }); }},
    {{"SYN-NETWORK-DATA", "n_rows is 0"}, argument, [](World& w) { return infer_arrays(w.built, 0, w.arrays()); }},
    {{"SYN-NETWORK-NOT-BUILT"}, order, [](World& w) { return infer_arrays(w.open, 1, w.arrays()); }},
    // Results.
    {{"SYN-NETWORK-STAGE", "\"readout\" is of kind readout"},
     argument,
     [](World& w) {
       synfire_stage_result loss = {"readout", 0, 0, 0};
       synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
       return synfire_network_evaluate_stages(w.built, &loss, 1, &result);
     }},
    {{"SYN-ARGUMENT-NULL", "losses[0].stage"},
     argument,
     [](World& w) {
       synfire_stage_result loss = {nullptr, 0, 0, 0};
       synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
       return synfire_network_evaluate_stages(w.built, &loss, 1, &result);
     }},
    {{"SYN-NETWORK-NO-DATA"},
     order,
     [](World& w) {
       synfire_stage_result loss = {"loss", 0, 0, 0};
       synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
       return synfire_network_evaluate_stages(w.built, &loss, 1, &result);
     }},
};

void expect_all(std::span<const Rule> rules) {
  World world;
  const std::string before = world.state();
  for (const Rule& rule : rules) {
    SCOPED_TRACE(rule.words.front());
    SCOPED_TRACE(&rule - rules.data());
    poison_last_error();
    const synfire_status status = rule.broken(world);
    EXPECT_EQ(status, rule.status);
    const std::string error = last_error_text();
    for (const std::string_view word : rule.words)
      EXPECT_NE(error.find(word), std::string::npos) << word << "\n" << error;
    ASSERT_TRUE(world.state() == before);
  }
  // Everything still works.
  EXPECT_OK(world.synapse({number("n_outputs", 2)}));
  EXPECT_OK(set_arrays(world.built, SYNFIRE_DATA_TRAINING, world.plan.n_rows, world.arrays()));
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  EXPECT_OK(synfire_network_train(world.built, 0, &result));
}

TEST(NetworkStageErrors, OfStages) {
  expect_all(of_stages);
}
TEST(NetworkStageErrors, OfArrays) {
  expect_all(of_arrays);
}

// A parameter by both of its names is the same number twice.
TEST(NetworkStageErrors, AParameterIsGivenOnce) {
  const World world;
  ASSERT_OK(world.synapse({number("n_outputs", 2)}));
  EXPECT_FAILS(
      argument, WORDS("SYN-NETWORK-VALUE", "\"tau\"", "\"reciprocal_tau\"", "the same number"),
      add_stage(world.open, "neurons", "b", {text("model", "plif"), number("tau", 4), number("reciprocal_tau", 0.25)}));
  EXPECT_OK(add_stage(world.open, "neurons", "b", {text("model", "plif"), number("tau", 4)}));
}

}  // namespace
}  // namespace synfire_test
