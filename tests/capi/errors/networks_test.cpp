// Networks refuse what breaks a rule: each rule is broken once, and nothing is changed by it.
#include <atomic>
#include <span>
#include <thread>

#include "../network_by_hand.hpp"
#include "errors.hpp"

namespace synfire_test {
namespace {

constexpr synfire_status argument = SYNFIRE_ERROR_INVALID_ARGUMENT, order = SYNFIRE_ERROR_WRONG_ORDER,
                         memory = SYNFIRE_ERROR_OUT_OF_MEMORY;

std::string text_of(synfire_network network, bool dot) {
  const auto write = dot ? synfire_network_write_dot : synfire_network_write_summary;
  uint64_t bytes = 0;
  EXPECT_OK(write(network, nullptr, &bytes));
  std::string text(bytes, '\0');
  EXPECT_OK(write(network, text.data(), &bytes));
  return text;
}

// A network without stages, one that has all of them, and one that is built and has data.
class World {
 public:
  Context context = make_context();
  StagePlan plan;
  Network empty = make_empty(), open = make_stages(context, plan), built = make_stages(context, plan);
  Data data = make_data(context, plan, plan.n_rows, 1);

  World() {
    EXPECT_OK(synfire_network_build(built));
    set_data(built, SYNFIRE_DATA_TRAINING, plan.n_rows, data);
  }
  Network make_empty() const {
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.n_steps = 2;
    synfire_network made = nullptr;
    EXPECT_OK(synfire_network_create(context, &desc, &made));
    return Network(made);
  }
  template <class Change>
  synfire_status create(Change change) const {
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.n_steps = 2;
    change(desc);
    auto made = some_handle<synfire_network>();
    const synfire_status status = synfire_network_create(context, &desc, &made);
    EXPECT_EQ(made, nullptr);
    return status;
  }
  // A network that ends with neurons of a model.
  Network with_neurons(int32_t model) const {
    Network network = make_empty();
    EXPECT_OK(synfire_network_add_input(network, "in", SYNFIRE_NETWORK_INPUT_SPIKES, 3));
    EXPECT_OK(synfire_network_add_synapse(network, "s", 2));
    EXPECT_OK(synfire_network_add_neurons(network, "n", model));
    return network;
  }
  synfire_status set_rows(int64_t n_rows, synfire_buffer inputs, synfire_buffer labels,
                          synfire_buffer targets = nullptr) const {
    return synfire_network_set_data(built, SYNFIRE_DATA_TRAINING, n_rows, inputs, labels, targets, nullptr, nullptr);
  }
  // Everything that a refused call must not change.
  std::string state() const {
    std::string all = text_of(empty, false) + text_of(open, false) + text_of(open, true) + text_of(built, false);
    for (const synfire_network network : {open.get(), built.get()})
      for (const char* const name : {"gain", "seed", "bias"}) {
        double value = 0;
        EXPECT_OK(synfire_network_get_value(network, "s0", name, &value));
        all.append(std::to_string(value)).append(" ");
      }
    const Learnt numbers = learnt(built, plan);
    for (const uint32_t word : numbers.words()) all.append(std::to_string(word)).append(" ");
    return all;
  }
};

struct Rule {
  const char* id;
  synfire_status status;
  synfire_status (*broken)(World& world);
};

const Rule of_designs[] = {
    {"SYN-NETWORK-STEPS", argument, [](World& w) { return w.create([](auto& desc) { desc.n_steps = 0; }); }},
    {"SYN-NETWORK-STEPS", argument, [](World& w) { return w.create([](auto& desc) { desc.n_steps = -1; }); }},
    {"SYN-NETWORK-BATCH", argument, [](World& w) { return w.create([](auto& desc) { desc.batch = -1; }); }},
    {"SYN-NETWORK-BATCH", argument,
     [](World& w) { return w.create([](auto& desc) { desc.batch = int64_t{1} << 32; }); }},
    {"SYN-NETWORK-DTYPE", argument,
     [](World& w) { return w.create([](auto& desc) { desc.dtype = SYNFIRE_DTYPE_F16; }); }},
    {"SYN-NETWORK-FLAG", argument, [](World& w) { return w.create([](auto& desc) { desc.drop_last = 2; }); }},
    {"SYN-GRAPH-SLOT-COUNT", argument, [](World& w) { return w.create([](auto& desc) { desc.n_slots = 65; }); }},
    {"SYN-NETWORK-OVERFLOW", memory,
     [](World& w) { return w.create([](auto& desc) { desc.n_steps = int64_t{1} << 58; }); }},
    {"SYN-STRUCT-SMALL", SYNFIRE_ERROR_STRUCT_SIZE,
     [](World& w) { return w.create([](auto& desc) { desc.struct_size = 8; }); }},
    // Stages.
    {"SYN-NETWORK-CHAIN", order, [](World& w) { return synfire_network_add_synapse(w.empty, "a", 3); }},
    {"SYN-NETWORK-CHAIN", order, [](World& w) { return synfire_network_add_neurons(w.empty, "a", 0); }},
    {"SYN-NETWORK-CHAIN", order, [](World& w) { return synfire_network_add_dropout(w.empty, "a", 0.1); }},
    {"SYN-NETWORK-CHAIN", order, [](World& w) { return synfire_network_add_readout(w.empty, "a", 0, 0); }},
    {"SYN-NETWORK-CHAIN", order, [](World& w) { return synfire_network_add_loss(w.empty, "a", 0); }},
    {"SYN-NETWORK-CHAIN", order, [](World& w) { return synfire_network_add_optimizer(w.empty, "a", 0, 0); }},
    // A loss without a readout.
    {"SYN-NETWORK-CHAIN", order,
     [](World& w) { return synfire_network_add_loss(w.with_neurons(SYNFIRE_MODEL_LIF), "a", 0); }},
    // Neurons that never fire have nothing for a synapse.
    {"SYN-NETWORK-CHAIN", order,
     [](World& w) { return synfire_network_add_synapse(w.with_neurons(SYNFIRE_MODEL_LI), "a", 3); }},
    {"SYN-NETWORK-CHAIN", order,
     [](World& w) { return synfire_network_add_dropout(w.with_neurons(SYNFIRE_MODEL_LI), "a", 0.1); }},
    {"SYN-NETWORK-READOUT", argument,
     [](World& w) { return synfire_network_add_readout(w.with_neurons(SYNFIRE_MODEL_LI), "a", 0, 1); }},
    {"SYN-NETWORK-NAME", argument,
     [](World& w) { return synfire_network_add_synapse(w.with_neurons(SYNFIRE_MODEL_LIF), "s", 3); }},
    {"SYN-NETWORK-NAME", argument, [](World& w) { return synfire_network_add_input(w.empty, "", 0, 3); }},
    {"SYN-NETWORK-NAME", argument, [](World& w) { return synfire_network_add_input(w.empty, "a b", 0, 3); }},
    {"SYN-NETWORK-NAME", argument, [](World& w) { return synfire_network_add_input(w.empty, "a\"\n", 0, 3); }},
    {"SYN-NETWORK-NAME", argument,
     [](World& w) { return synfire_network_add_input(w.empty, std::string(65, 'a').c_str(), 0, 3); }},
    {"SYN-ARGUMENT-NULL", argument, [](World& w) { return synfire_network_add_input(w.empty, nullptr, 0, 3); }},
    {"SYN-NETWORK-KIND", argument, [](World& w) { return synfire_network_add_input(w.empty, "a", 4, 3); }},
    {"SYN-COUNT-BOUND", argument,
     [](World& w) { return synfire_network_add_input(w.empty, "a", SYNFIRE_NETWORK_INPUT_COUNTS, 3); }},
    {"SYN-NETWORK-KIND", argument, [](World& w) { return synfire_network_add_input(w.empty, "a", -1, 3); }},
    {"SYN-NETWORK-KIND", argument,
     [](World& w) { return synfire_network_add_readout(w.with_neurons(SYNFIRE_MODEL_LIF), "a", 5, 0); }},
    {"SYN-NETWORK-FLAG", argument,
     [](World& w) { return synfire_network_add_readout(w.with_neurons(SYNFIRE_MODEL_LIF), "a", 0, 2); }},
    {"SYN-NETWORK-WIDTH", argument, [](World& w) { return synfire_network_add_input(w.empty, "a", 0, 0); }},
    {"SYN-NETWORK-WIDTH", argument,
     [](World& w) { return synfire_network_add_synapse(w.with_neurons(SYNFIRE_MODEL_LIF), "a", -5); }},
    {"SYN-NETWORK-OVERFLOW", memory,
     [](World& w) { return synfire_network_add_input(w.empty, "a", 0, int64_t{1} << 62); }},
    {"SYN-NETWORK-OVERFLOW", memory,
     [](World& w) { return synfire_network_add_synapse(w.with_neurons(SYNFIRE_MODEL_LIF), "a", INT64_MAX); }},
    {"SYN-LAYER-MODEL", argument,
     [](World& w) {
       Network network = w.make_empty();
       EXPECT_OK(synfire_network_add_input(network, "in", 0, 3));
       EXPECT_OK(synfire_network_add_synapse(network, "s", 3));
       const synfire_status status = synfire_network_add_neurons(network, "n", 99);
       EXPECT_OK(synfire_network_add_neurons(network, "n", SYNFIRE_MODEL_IF));  // the name is still free
       return status;
     }},
    {"SYN-NETWORK-VALUE", argument,
     [](World& w) { return synfire_network_add_dropout(w.with_neurons(SYNFIRE_MODEL_LIF), "a", 1); }},
    // Values.
    {"SYN-NETWORK-STAGE", argument, [](World& w) { return synfire_network_set_value(w.open, "s9", "gain", 1); }},
    {"SYN-NETWORK-STAGE", argument, [](World& w) { return synfire_network_set_value(w.empty, "s0", "gain", 1); }},
    {"SYN-NETWORK-VALUE", argument, [](World& w) { return synfire_network_set_value(w.open, "s0", "gian", 1); }},
    {"SYN-NETWORK-VALUE", argument, [](World& w) { return synfire_network_set_value(w.open, "readout", "gain", 1); }},
    {"SYN-NETWORK-VALUE", argument, [](World& w) { return synfire_network_set_value(w.open, "s0", "gain", nan); }},
    {"SYN-NETWORK-VALUE", argument, [](World& w) { return synfire_network_set_value(w.open, "s0", "gain", 0); }},
    {"SYN-NETWORK-VALUE", argument, [](World& w) { return synfire_network_set_value(w.open, "s0", "bias", 0.5); }},
    {"SYN-NETWORK-VALUE", argument, [](World& w) { return synfire_network_set_value(w.open, "s0", "seed", -1); }},
    {"SYN-SYNAPSE-GRADIENT-BITS", argument,
     [](World& w) { return synfire_network_set_value(w.open, "s0", "gradient_bits", 25); }},
    {"SYN-NETWORK-VALUE", argument, [](World& w) { return synfire_network_set_value(w.open, "n0", "tape", 1); }},
    {"SYN-NETWORK-VALUE", argument, [](World& w) { return synfire_network_set_value(w.open, "n0", "tape", 3); }},
    {"SYN-NETWORK-VALUE", argument,
     [](World& w) { return synfire_network_set_value(w.open, "n1", "rate_strength", 1); }},  // never fires
    {"SYN-PARAMETER-RANGE", argument, [](World& w) { return synfire_network_set_value(w.open, "n0", "tau", -1); }},
    {"SYN-NETWORK-VALUE", argument, [](World& w) { return synfire_network_set_value(w.open, "n0", "tauu", 2); }},
    {"SYN-LAYER-SURROGATE", argument,
     [](World& w) { return synfire_network_set_value(w.open, "n0", "surrogate", 77); }},
    {"SYN-NETWORK-DTYPE", argument,
     [](World& w) { return synfire_network_set_value(w.open, "n0", "dtype", SYNFIRE_DTYPE_F64); }},
    {"SYN-NETWORK-DTYPE", argument,
     [](World& w) { return synfire_network_set_value(w.open, "input", "dtype", SYNFIRE_DTYPE_BITS); }},
    {"SYN-NETWORK-VALUE", argument, [](World& w) { return synfire_network_set_value(w.open, "loss", "per_step", 1); }},
    {"SYN-NETWORK-VALUE", argument,
     [](World& w) {
       EXPECT_OK(synfire_network_set_value(w.open, "loss", "targets", 1));
       const synfire_status status = synfire_network_set_value(w.open, "loss", "ignores_label", 1);
       poison_last_error();
       EXPECT_FAILS(argument, WORDS("SYN-NETWORK-VALUE"),
                    synfire_network_set_value(w.open, "loss", "ignores_label", 1));
       EXPECT_OK(synfire_network_set_value(w.open, "loss", "targets", 0));
       return status;
     }},
    {"SYN-OPTIMIZER-NUMBER", argument,
     [](World& w) {
       Network network = w.with_neurons(SYNFIRE_MODEL_LIF);
       EXPECT_OK(synfire_network_add_readout(network, "r", 0, 0));
       EXPECT_OK(synfire_network_add_loss(network, "l", 0));
       EXPECT_OK(synfire_network_add_optimizer(network, "o", SYNFIRE_OPTIMIZER_KIND_SGD, 0));
       return synfire_network_set_value(network, "o", "nesterov", 1);  // without momentum
     }},
    {"SYN-NETWORK-BUILT", order, [](World& w) { return synfire_network_set_value(w.built, "s0", "gain", 1); }},
    {"SYN-NETWORK-BUILT", order, [](World& w) { return synfire_network_set_value(w.built, "n0", "rate_strength", 1); }},
    {"SYN-NETWORK-VALUE", argument,
     [](World& w) {
       double value = 0;
       return synfire_network_get_value(w.open, "s0", "weight", &value);
     }},
    {"SYN-ARGUMENT-NULL", argument, [](World& w) { return synfire_network_get_value(w.open, "s0", "gain", nullptr); }},
    // Parameters, masks and weights of classes.
    {"SYN-NETWORK-STAGE", argument,
     [](World& w) { return synfire_network_train_parameter(w.open, "s0", "tau", 0, 1, 0, -infinity, infinity); }},
    {"SYN-PARAMETER-NAME", argument,
     [](World& w) { return synfire_network_train_parameter(w.open, "n0", "mu", 0, 1, 0, -infinity, infinity); }},
    {"SYN-GRADIENT-SURROGATE", argument,
     [](World& w) { return synfire_network_train_parameter(w.open, "n0", "alpha", 0, 1, 0, -infinity, infinity); }},
    {"SYN-NETWORK-FLAG", argument,
     [](World& w) { return synfire_network_train_parameter(w.open, "n0", "tau", 2, 1, 0, -infinity, infinity); }},
    {"SYN-NETWORK-VALUE", argument,
     [](World& w) { return synfire_network_train_parameter(w.open, "n0", "tau", 0, -1, 0, -infinity, infinity); }},
    {"SYN-NETWORK-VALUE", argument,
     [](World& w) { return synfire_network_train_parameter(w.open, "n0", "tau", 0, 1, 0, 3, 2); }},
    {"SYN-NETWORK-VALUE", argument,
     [](World& w) { return synfire_network_train_parameter(w.open, "n0", "tau", 0, 1, 0, nan, 0.5); }},
    {"SYN-NETWORK-TRAINED", argument,
     [](World& w) {
       Network network = w.with_neurons(SYNFIRE_MODEL_PLIF);
       EXPECT_OK(synfire_network_train_parameter(network, "n", "tau", 0, 1, 0, -infinity, infinity));
       return synfire_network_train_parameter(network, "n", "reciprocal_tau", 1, 1, 0, -infinity, infinity);
     }},
    {"SYN-NETWORK-BUILT", order,
     [](World& w) { return synfire_network_train_parameter(w.built, "n0", "tau", 0, 1, 0, -infinity, infinity); }},
    {"SYN-NETWORK-STAGES", argument,
     [](World& w) -> synfire_status {
       Network network = w.make_empty();
       EXPECT_OK(synfire_network_add_input(network, "in", SYNFIRE_NETWORK_INPUT_SPIKES, 3));
       for (int i = 0; i < 4095; i += 2) {
         EXPECT_OK(synfire_network_add_synapse(network, numbered('s', static_cast<size_t>(i)).c_str(), 1));
         const std::string name = numbered('n', static_cast<size_t>(i));
         const synfire_status status = synfire_network_add_neurons(network, name.c_str(), SYNFIRE_MODEL_LIF);
         if (i == 4094) return status;
         EXPECT_OK(status);
       }
       return SYNFIRE_OK;
     }},
    {"SYN-SYNAPSE-MASK", argument,
     [](World& w) {
       const std::vector<uint8_t> mask(299, 1);
       return synfire_network_set_mask(w.open, "s0", mask.data(), mask.size());
     }},
    {"SYN-SYNAPSE-MASK", argument,
     [](World& w) {
       const std::vector<uint8_t> mask(300, 2);
       return synfire_network_set_mask(w.open, "s0", mask.data(), mask.size());
     }},
    {"SYN-ARGUMENT-NULL", argument, [](World& w) { return synfire_network_set_mask(w.open, "s0", nullptr, 300); }},
    {"SYN-NETWORK-CLASSES", argument,
     [](World& w) {
       const float weights[] = {1, 2, 3};
       return synfire_network_set_class_weights(w.open, "loss", weights, 3);
     }},
    {"SYN-NETWORK-CLASSES", argument,
     [](World& w) {
       const float weights[] = {1, 2, 3, static_cast<float>(nan)};
       return synfire_network_set_class_weights(w.open, "loss", weights, 4);
     }},
    // Building.
    {"SYN-NETWORK-INCOMPLETE", order, [](World& w) { return synfire_network_build(w.empty); }},
    {"SYN-NETWORK-INCOMPLETE", order,
     [](World& w) {
       Network network = w.with_neurons(SYNFIRE_MODEL_LIF);
       EXPECT_OK(synfire_network_add_synapse(network, "more", 3));
       return synfire_network_build(network);
     }},
    {"SYN-NETWORK-INCOMPLETE", order,
     [](World& w) {
       synfire_network_memory bytes = SYNFIRE_NETWORK_MEMORY_INIT;
       return synfire_network_query_memory(w.empty, &bytes);
     }},
    // Nothing to train.
    {"SYN-NETWORK-INCOMPLETE", order,
     [](World& w) {
       Network network = w.with_neurons(SYNFIRE_MODEL_LIF);
       EXPECT_OK(synfire_network_add_readout(network, "r", 0, 0));
       EXPECT_OK(synfire_network_add_loss(network, "l", 0));
       EXPECT_OK(synfire_network_add_optimizer(network, "o", 0, 0));
       EXPECT_OK(synfire_network_set_value(network, "s", "frozen", 1));
       const synfire_status status = synfire_network_build(network);
       return status;
     }},
    {"SYN-NETWORK-BUILT", order, [](World& w) { return synfire_network_build(w.built); }},
    {"SYN-NETWORK-BUILT", order, [](World& w) { return synfire_network_add_input(w.built, "a", 0, 3); }},
    {"SYN-TEXT-SIZE", argument,
     [](World& w) {
       char text[4];
       uint64_t bytes = sizeof text;
       return synfire_network_write_summary(w.open, text, &bytes);
     }},
    {"SYN-TEXT-SIZE", argument,
     [](World& w) {
       char text[4];
       uint64_t bytes = sizeof text;
       return synfire_network_write_dot(w.open, text, &bytes);
     }},
};

template <class Handle, class Get>
synfire_status get_nothing(Get get) {
  auto handle = some_handle<Handle>();
  const synfire_status status = get(&handle);
  EXPECT_EQ(handle, nullptr);
  return status;
}

const Rule of_runs[] = {
    {"SYN-NETWORK-NOT-BUILT", order,
     [](World& w) {
       synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
       return synfire_network_train(w.open, 1, &result);
     }},
    {"SYN-NETWORK-NOT-BUILT", order,
     [](World& w) {
       synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
       return synfire_network_evaluate(w.open, &result);
     }},
    {"SYN-NETWORK-NOT-BUILT", order,
     [](World& w) { return synfire_network_infer(w.open, w.data.inputs, 1, w.data.labels); }},
    {"SYN-NETWORK-NOT-BUILT", order, [](World& w) { return synfire_network_reset_state(w.open); }},
    {"SYN-NETWORK-NOT-BUILT", order,
     [](World& w) {
       return get_nothing<synfire_layer>([&](auto* out) { return synfire_network_get_layer(w.open, "n0", out); });
     }},
    {"SYN-NETWORK-NO-DATA", order,
     [](World& w) {
       synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
       return synfire_network_evaluate(w.built, &result);
     }},
    {"SYN-NETWORK-NO-DATA", order,
     [](World& w) {
       return get_nothing<synfire_graph>(
           [&](auto* out) { return synfire_network_get_graph(w.built, SYNFIRE_NETWORK_GRAPH_EVALUATION, out); });
     }},
    {"SYN-NETWORK-KIND", argument,
     [](World& w) {
       return get_nothing<synfire_graph>([&](auto* out) { return synfire_network_get_graph(w.built, 5, out); });
     }},
    {"SYN-NETWORK-STAGE", argument,
     [](World& w) {
       return get_nothing<synfire_layer>([&](auto* out) { return synfire_network_get_layer(w.built, "s0", out); });
     }},
    {"SYN-NETWORK-STAGE", argument,
     [](World& w) {
       return get_nothing<synfire_synapse>([&](auto* out) { return synfire_network_get_synapse(w.built, "n0", out); });
     }},
    {"SYN-NETWORK-STAGE", argument,
     [](World& w) {
       return get_nothing<synfire_optimizer>(
           [&](auto* out) { return synfire_network_get_optimizer(w.built, "loss", out); });
     }},
    {"SYN-NETWORK-BUFFER", argument,
     [](World& w) {
       return get_nothing<synfire_buffer>(
           [&](auto* out) { return synfire_network_get_buffer(w.built, "n1.spikes", out); });
     }},
    {"SYN-NETWORK-NOT-KEPT", order,
     [](World& w) {
       return get_nothing<synfire_buffer>([&](auto* out) { return synfire_network_get_buffer(w.built, "n0.v", out); });
     }},
    {"SYN-ARGUMENT-NULL", argument, [](World& w) { return synfire_network_get_buffer(w.built, "input", nullptr); }},
    {"SYN-NETWORK-BATCHES", argument,
     [](World& w) {
       synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
       return synfire_network_train(w.built, -1, &result);
     }},
    {"SYN-STRUCT-SIZE", SYNFIRE_ERROR_STRUCT_SIZE,
     [](World& w) {
       synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
       result.struct_size = 5000;
       return synfire_network_train(w.built, 1, &result);
     }},
    // Data.
    {"SYN-NETWORK-NOT-BUILT", order,
     [](World& w) {
       return synfire_network_set_data(w.open, SYNFIRE_DATA_TRAINING, 3, w.data.inputs, w.data.labels, nullptr, nullptr,
                                       nullptr);
     }},
    {"SYN-NETWORK-KIND", argument,
     [](World& w) {
       return synfire_network_set_data(w.built, 2, 3, w.data.inputs, w.data.labels, nullptr, nullptr, nullptr);
     }},
    {"SYN-NETWORK-DATA", argument, [](World& w) { return w.set_rows(0, w.data.inputs, w.data.labels); }},
    {"SYN-NETWORK-DATA", argument, [](World& w) { return w.set_rows(-4, w.data.inputs, w.data.labels); }},
    {"SYN-NETWORK-DATA", argument, [](World& w) { return w.set_rows(INT64_MAX, w.data.inputs, w.data.labels); }},
    {"SYN-NETWORK-DATA", argument, [](World& w) { return w.set_rows(3, w.data.inputs, nullptr); }},
    {"SYN-NETWORK-DATA", argument, [](World& w) { return w.set_rows(3, w.data.inputs, w.data.labels, w.data.inputs); }},
    {"SYN-BUFFER-SIZE", argument, [](World& w) { return w.set_rows(11, w.data.inputs, w.data.labels); }},
    {"SYN-BUFFER-SIZE", argument, [](World& w) { return w.set_rows(0xFFFFFFFF, w.data.inputs, w.data.labels); }},
    {"SYN-BUFFER-TYPE", argument, [](World& w) { return w.set_rows(3, w.data.labels, w.data.labels); }},
    {"SYN-BUFFER-TYPE", argument, [](World& w) { return w.set_rows(3, w.data.inputs, w.data.inputs); }},
    {"SYN-BUFFER-PITCH", argument,
     [](World& w) {
       synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
       desc.n_elements = 1000;
       desc.row_pitch = 21;
       synfire_buffer made = nullptr;
       EXPECT_OK(synfire_buffer_create(w.context, &desc, &made));
       const Buffer buffer(made);
       return w.set_rows(3, buffer, w.data.labels);
     }},
    {"SYN-BUFFER-SHAPE", argument,
     [](World& w) {
       synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
       desc.shape[0] = 20;
       desc.shape[1] = 10;
       synfire_buffer made = nullptr;
       EXPECT_OK(synfire_buffer_create(w.context, &desc, &made));
       const Buffer buffer(made);
       return w.set_rows(10, buffer, w.data.labels);
     }},
    {"SYN-HANDLE-NULL", SYNFIRE_ERROR_INVALID_HANDLE, [](World& w) { return w.set_rows(3, nullptr, w.data.labels); }},
    {"SYN-HANDLE-FOREIGN", SYNFIRE_ERROR_INVALID_HANDLE,
     [](World& w) {
       const Context other = make_context();
       const Data foreign = make_data(other, w.plan, w.plan.n_rows, 1);
       return w.set_rows(3, foreign.inputs, w.data.labels);
     }},
    {"SYN-NETWORK-INCOMPLETE", order,
     [](World& w) {
       Network network = w.with_neurons(SYNFIRE_MODEL_LIF);
       EXPECT_OK(synfire_network_build(network));
       return synfire_network_set_data(network, SYNFIRE_DATA_EVALUATION, 1, w.data.inputs, nullptr, nullptr, nullptr,
                                       nullptr);
     }},
    {"SYN-NETWORK-INCOMPLETE", order,
     [](World& w) {
       Network network = w.with_neurons(SYNFIRE_MODEL_LIF);
       EXPECT_OK(synfire_network_build(network));
       synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
       return synfire_network_train(network, 1, &result);
     }},
    {"SYN-NETWORK-INCOMPLETE", order,
     [](World& w) {
       Network network = w.with_neurons(SYNFIRE_MODEL_LIF);
       EXPECT_OK(synfire_network_build(network));
       synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
       return synfire_network_evaluate(network, &result);
     }},
    // Inference.
    {"SYN-NETWORK-DATA", argument,
     [](World& w) { return synfire_network_infer(w.built, w.data.inputs, 0, w.data.inputs); }},
    {"SYN-BUFFER-TYPE", argument,
     [](World& w) { return synfire_network_infer(w.built, w.data.inputs, 2, w.data.labels); }},
    {"SYN-BUFFER-OVERLAP", argument,
     [](World& w) { return synfire_network_infer(w.built, w.data.inputs, 2, w.data.inputs); }},
    {"SYN-BUFFER-SIZE", argument,
     [](World& w) {
       const Buffer outputs = make_buffer(w.context, SYNFIRE_DTYPE_F32, 39);
       return synfire_network_infer(w.built, w.data.inputs, 10, outputs);
     }},
    {"SYN-BUFFER-SIZE", argument,
     [](World& w) {
       const Buffer outputs = make_buffer(w.context, SYNFIRE_DTYPE_F32, 400);
       return synfire_network_infer(w.built, w.data.inputs, 11, outputs);
     }},
    // Handles.
    {"SYN-HANDLE-NULL", SYNFIRE_ERROR_INVALID_HANDLE, [](World&) { return synfire_network_build(nullptr); }},
    {"SYN-HANDLE-STALE", SYNFIRE_ERROR_INVALID_HANDLE,
     [](World& w) { return synfire_network_build(as<synfire_network>(w.data.inputs.get())); }},
    {"SYN-HANDLE-STALE", SYNFIRE_ERROR_INVALID_HANDLE,
     [](World& w) {
       const synfire_network gone = w.make_empty().release();
       synfire_network_destroy(gone);
       synfire_network_destroy(gone);
       return synfire_network_add_input(gone, "a", 0, 3);
     }},
};

void expect_all(std::span<const Rule> rules) {
  World world;
  const std::string before = world.state();
  for (const Rule& rule : rules) {
    SCOPED_TRACE(rule.id);
    SCOPED_TRACE(&rule - rules.data());
    EXPECT_FAILS(rule.status, WORDS(rule.id), rule.broken(world));
    ASSERT_TRUE(world.state() == before);
  }
  // Everything still works.
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  EXPECT_OK(synfire_network_train(world.built, 0, &result));
  EXPECT_EQ(result.n_batches, 3u);
  EXPECT_OK(synfire_network_build(world.open));
}

TEST(NetworkErrors, OfDesigns) {
  expect_all(of_designs);
}
TEST(NetworkErrors, OfRuns) {
  expect_all(of_runs);
}

// Another thread gets BUSY while one trains.
TEST(NetworkErrors, AUsedNetworkIsBusy) {
  World world;
  std::atomic<bool> done{false}, started{false};
  bool seen = false;
  for (int tries = 0; tries < 100 && !seen; ++tries) {
    done = started = false;
    std::thread trainer([&] {
      synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
      started = true;
      while (synfire_network_train(world.built, 200, &result) == SYNFIRE_ERROR_BUSY) {
      }
      done = true;
    });
    while (!started) std::this_thread::yield();
    while (!done && !seen) {
      double rate = 0;
      poison_last_error();
      const synfire_status status = synfire_network_get_value(world.built, "optimizer", "learning_rate", &rate);
      if (status == SYNFIRE_OK) continue;
      EXPECT_TRUE(fails_with(status, SYNFIRE_ERROR_BUSY, WORDS("SYN-NETWORK-BUSY")));
      seen = true;
    }
    trainer.join();
  }
  EXPECT_TRUE(seen);
}

}  // namespace
}  // namespace synfire_test
