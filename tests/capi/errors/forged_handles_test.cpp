// A handle of one type that names the live slot of another type's object, with the right generation. Every function
// refuses it as any argument, and destroys nothing. Other invalid handles are in handles_test.cpp.
#include <atomic>
#include <cmath>
#include <memory>
#include <thread>
#include <tuple>

#include "../call_watch.hpp"
#include "errors.hpp"
#include "operation_calls.hpp"

namespace synfire_test {
namespace {

template <typename Handle>
using Calls = std::vector<std::pair<const char*, std::function<synfire_status(Handle)>>>;

class ForgedHandles : public Errors {
 public:
  static void SetUpTestSuite() { watch = std::make_unique<CallWatch>(); }
  // Every place of the interface has had a forged handle, if no test was left out.
  static void TearDownTestSuite() {
    const auto* const suite = testing::UnitTest::GetInstance()->current_test_suite();
    if (CallWatch::is_possible && suite->test_to_run_count() == suite->total_test_count())
      for (const std::string& place : watch->places_not_seen()) ADD_FAILURE() << "no forged handle in " << place;
    watch.reset();
  }

 protected:
  static inline std::unique_ptr<CallWatch> watch;

  // forged(), for a call that is noted.
  template <typename Handle>
  static Handle forge(Handle of_this_type, uintptr_t other) {
    const Handle bad = forged(of_this_type, other);
    watch->look_for(reinterpret_cast<uintptr_t>(bad));
    return bad;
  }

  const Buffer number = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
  double value = 1;
  float element = 1;
  uint64_t bytes = sizeof element;
  void* data = nullptr;

  synfire_state_desc rows_in(synfire_buffer buffer) const {
    synfire_state_desc desc = SYNFIRE_STATE_DESC_INIT;
    desc.name = "v";
    desc.buffer = buffer;
    return desc;
  }
  // ---- Functions that record or run no operation, and every handle that they take -----------------------------------

  Calls<synfire_context> calls_of_contexts() {
    return {{"reclaim", [](auto bad) { return synfire_context_reclaim(bad, nullptr); }},
            {"synchronize", [](auto bad) { return synfire_context_synchronize(bad); }},
            {"get_properties",
             [](auto bad) {
               synfire_context_properties properties = SYNFIRE_CONTEXT_PROPERTIES_INIT;
               return synfire_context_get_properties(bad, &properties);
             }},
            {"get_memory_use",
             [](auto bad) {
               synfire_memory_use use = SYNFIRE_MEMORY_USE_INIT;
               return synfire_context_get_memory_use(bad, &use);
             }},
            {"buffer_from_dlpack",
             [this](auto bad) {
               synfire_from_dlpack_desc desc = SYNFIRE_FROM_DLPACK_DESC_INIT;
               desc.tensor = &element;  // is not looked at
               synfire_buffer buffer = nullptr;
               return synfire_buffer_from_dlpack(bad, &desc, &buffer);
             }},
            {"buffer_create",
             [](auto bad) {
               synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
               desc.n_elements = 1;
               synfire_buffer buffer = nullptr;
               return synfire_buffer_create(bad, &desc, &buffer);
             }},
            {"layer_create",
             [](auto bad) {
               const synfire_layer_desc desc = describe(shape, SYNFIRE_DTYPE_F32);
               synfire_layer layer = nullptr;
               return synfire_layer_create(bad, &desc, &layer);
             }},
            {"graph_create",
             [](auto bad) {
               synfire_graph made = nullptr;
               return synfire_graph_create(bad, nullptr, &made);
             }},
            {"optimizer_create",
             [](auto bad) {
               const synfire_optimizer_desc desc = SYNFIRE_OPTIMIZER_DESC_INIT;
               synfire_optimizer made = nullptr;
               return synfire_optimizer_create(bad, &desc, &made);
             }},
            {"model_load",
             [](auto bad) {
               const synfire_load_desc desc = SYNFIRE_LOAD_DESC_INIT;
               synfire_model made = nullptr;
               return synfire_model_load(bad, &desc, &made);
             }},
            {"surrogate_load",
             [](auto bad) {
               const synfire_load_desc desc = SYNFIRE_LOAD_DESC_INIT;
               synfire_surrogate made = nullptr;
               return synfire_surrogate_load(bad, &desc, &made);
             }},
            {"network_create",
             [](auto bad) {
               synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
               desc.n_steps = 1;
               synfire_network made = nullptr;
               return synfire_network_create(bad, &desc, &made);
             }},
            {"communicator_create",
             [](auto bad) {
               synfire_communicator made = nullptr;
               return synfire_communicator_create(bad, nullptr, &made);
             }},
            {"network_create_from_file",
             [](auto bad) {
               synfire_network made = nullptr;
               return synfire_network_create_from_file(bad, "nowhere.safetensors", nullptr, &made);
             }},
            {"network_create_from_memory", [this](auto bad) {
               synfire_network made = nullptr;
               return synfire_network_create_from_memory(bad, &element, bytes, nullptr, &made);
             }}};
  }

  Calls<synfire_buffer> calls_of_buffers() {
    return {{"get_data", [](auto bad) { return synfire_buffer_get_data(bad, nullptr, nullptr); }},
            {"get_desc",
             [](auto bad) {
               synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
               return synfire_buffer_get_desc(bad, &desc);
             }},
            {"upload", [this](auto bad) { return synfire_buffer_upload(bad, 0, &element, bytes); }},
            {"download", [this](auto bad) { return synfire_buffer_download(bad, 0, &element, bytes); }},
            {"fill", [](auto bad) { return synfire_buffer_fill(bad, 1); }},
            {"mark_written", [](auto bad) { return synfire_buffer_mark_written(bad); }},
            {"to_dlpack", [this](auto bad) { return synfire_buffer_to_dlpack(bad, nullptr, &data); }},
            {"the old one of a rebind", [this](auto bad) { return synfire_graph_rebind(graph, bad, rig.x); }},
            {"the new one of a rebind", [this](auto bad) { return synfire_graph_rebind(graph, rig.x, bad); }},
            {"get_slot", [this](auto bad) { return synfire_graph_get_slot(graph, 0, bad, &data, nullptr); }},
            {"rows of the state to restore",
             [this](auto bad) {
               const auto desc = rows_in(bad);
               return synfire_layer_restore(rig.layer, &desc, &element, bytes);
             }},
            {"rows of the state to save", [this](auto bad) {
               const auto desc = rows_in(bad);
               uint64_t size = 0;
               return synfire_layer_snapshot(rig.layer, &desc, nullptr, &size);
             }}};
  }

  Calls<synfire_layer> calls_of_layers() {
    return {{"set_parameter", [this](auto bad) { return synfire_layer_set_parameter(bad, "tau", &value, 1); }},
            {"set_parameters",
             [this](auto bad) {
               const synfire_parameter_values list = {"tau", &value, 1};
               return synfire_layer_set_parameters(bad, &list, 1);
             }},
            {"get_desc",
             [](auto bad) {
               synfire_layer_desc desc = SYNFIRE_LAYER_DESC_INIT;
               return synfire_layer_get_desc(bad, &desc);
             }},
            {"get_memory_use",
             [](auto bad) {
               synfire_memory_use use = SYNFIRE_MEMORY_USE_INIT;
               return synfire_layer_get_memory_use(bad, &use);
             }},
            {"source", [this](auto bad) { return synfire_layer_source(bad, nullptr, &bytes); }},
            {"set_n_active", [](auto bad) { return synfire_layer_set_n_active(bad, 1); }},
            {"get_run_memory",
             [this](auto bad) {
               return synfire_layer_get_run_memory(bad, SYNFIRE_TAPE_RECOMPUTE, 0, 0, 0, &bytes, &bytes);
             }},
            {"run_forward",
             [](auto bad) {
               const synfire_pointers_desc desc = SYNFIRE_POINTERS_DESC_INIT;
               return synfire_layer_run_forward(bad, &desc, nullptr);
             }},
            {"run_backward",
             [](auto bad) {
               const synfire_pointers_desc desc = SYNFIRE_POINTERS_DESC_INIT;
               return synfire_layer_run_backward(bad, &desc, nullptr);
             }},
            {"get_parameter", [this](auto bad) { return synfire_layer_get_parameter(bad, "tau", &value, 1); }},
            {"get_parameter_info",
             [](auto bad) {
               synfire_parameter_info info = SYNFIRE_PARAMETER_INFO_INIT;
               return synfire_layer_get_parameter_info(bad, 0, &info);
             }},
            {"reset_state", [](auto bad) { return synfire_layer_reset_state(bad, nullptr); }},
            {"read_state", [this](auto bad) { return synfire_layer_read_state(bad, "v", &element, bytes); }},
            {"write_state", [this](auto bad) { return synfire_layer_write_state(bad, "v", &element, bytes); }},
            {"snapshot", [this](auto bad) { return synfire_layer_snapshot(bad, nullptr, nullptr, &bytes); }},
            {"restore", [this](auto bad) { return synfire_layer_restore(bad, nullptr, &element, bytes); }}};
  }

  Calls<synfire_graph> calls_of_graphs() {
    return {{"get_last_operation",
             [](auto bad) {
               int32_t operation = 0;
               return synfire_graph_get_last_operation(bad, &operation);
             }},
            {"instantiate", [](auto bad) { return synfire_graph_instantiate(bad); }},
            {"set_enabled", [](auto bad) { return synfire_graph_set_enabled(bad, 0, 0); }},
            {"rebind", [this](auto bad) { return synfire_graph_rebind(bad, rig.x, rig.spikes); }},
            {"set_value", [](auto bad) { return synfire_graph_set_value(bad, 0, "value", 1); }},
            {"launch", [](auto bad) { return synfire_graph_launch(bad, nullptr, nullptr); }},
            {"wait", [](auto bad) { return synfire_graph_wait(bad, 1, SYNFIRE_WAIT_SPIN, 0); }},
            {"poll", [](auto bad) { return synfire_graph_poll(bad, 1); }},
            {"get_slot", [this](auto bad) { return synfire_graph_get_slot(bad, 0, rig.x, &data, nullptr); }},
            {"get_memory_use",
             [](auto bad) {
               synfire_memory_use use = SYNFIRE_MEMORY_USE_INIT;
               return synfire_graph_get_memory_use(bad, &use);
             }},
            {"write_dot", [this](auto bad) { return synfire_graph_write_dot(bad, nullptr, &bytes); }},
            {"get_statistics",
             [](auto bad) {
               synfire_graph_statistics statistics = SYNFIRE_GRAPH_STATISTICS_INIT;
               return synfire_graph_get_statistics(bad, &statistics);
             }},
            {"reset_statistics", [](auto bad) { return synfire_graph_reset_statistics(bad); }}};
  }

  // Handles of one type, forged from the objects of the other types.
  template <typename Handle>
  void expect_refused(Handle of_this_type, const std::vector<uintptr_t>& others, const Calls<Handle>& calls,
                      void (*destroy)(Handle)) {
    for (const uintptr_t other : others) {
      const Handle bad = forge(of_this_type, other);
      for (const auto& [what, call] : calls) {
        SCOPED_TRACE(testing::Message() << what << " with " << bad);
        EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("SYN-HANDLE-STALE"), call(bad));
        if (HasFailure()) return;
      }
      destroy(bad);
    }
  }
};

// The world of the generated calls: a live object of each type and, in each round, forged handles that name the slot of
// another one.
class OperationsForge {
 public:
  using Live =
      std::tuple<synfire_context, synfire_graph, synfire_buffer, synfire_layer, synfire_synapse, synfire_optimizer>;
  using Forge = std::function<void(uint64_t)>;
  static constexpr size_t n_types = std::tuple_size_v<Live>;

  OperationsForge(const Live& live, Forge forge) : live_(live), forge_(std::move(forge)) {}

  static synfire_status callback(void*, const synfire_native_call*) { return SYNFIRE_OK; }
  template <typename Handle>
  Handle live() const {
    return std::get<Handle>(live_);
  }
  template <typename Handle>
  Handle forged() const {
    const uintptr_t own = as<uintptr_t>(live<Handle>());
    std::vector<uintptr_t> others;
    std::apply([&](auto... one) { ((as<uintptr_t>(one) != own ? others.push_back(as<uintptr_t>(one)) : void()), ...); },
               live_);
    const Handle bad = synfire_test::forged(live<Handle>(), others[round_]);
    forge_(as<uintptr_t>(bad));
    return bad;
  }
  template <typename Call>
  void expect_refused(const char* what, Call call) {
    SCOPED_TRACE(what);
    for (round_ = 0; round_ + 1 < n_types; ++round_)
      EXPECT_FAILS(SYNFIRE_ERROR_INVALID_HANDLE, WORDS("SYN-HANDLE-STALE"), call());
  }

 private:
  Live live_;
  Forge forge_;
  size_t round_ = 0;
};

TEST_F(ForgedHandles, AreRefusedByEveryOperation) {
  synfire_synapse_desc of_synapse = SYNFIRE_SYNAPSE_DESC_INIT;
  of_synapse.n_inputs = of_synapse.n_outputs = 2;
  synfire_synapse synapse = nullptr;
  ASSERT_OK(synfire_synapse_create(context, &of_synapse, &synapse));
  const synfire_optimizer_desc of_optimizer = SYNFIRE_OPTIMIZER_DESC_INIT;
  synfire_optimizer optimizer = nullptr;
  ASSERT_OK(synfire_optimizer_create(context, &of_optimizer, &optimizer));
  OperationsForge forge({context, graph, rig.x, rig.layer, synapse, optimizer},
                        [](uint64_t bad) { watch->look_for(bad); });
  call_with_forged_handles(forge);
  synfire_synapse_destroy(synapse);
  synfire_optimizer_destroy(optimizer);
  expect_usable();
}

TEST_F(ForgedHandles, AreRefusedByEveryFunction) {
  const uintptr_t a_context = value_of(context), a_buffer = value_of(rig.x), a_layer = value_of(rig.layer),
                  a_graph = value_of(graph);
  expect_refused<synfire_context>(context, {a_buffer, a_layer, a_graph}, calls_of_contexts(),
                                  [](auto bad) { synfire_context_destroy(bad); });
  expect_refused<synfire_buffer>(rig.x, {a_context, a_layer, a_graph}, calls_of_buffers(),
                                 [](auto bad) { synfire_buffer_destroy(bad); });
  expect_refused<synfire_layer>(rig.layer, {a_context, a_buffer, a_graph}, calls_of_layers(),
                                [](auto bad) { synfire_layer_destroy(bad); });
  expect_refused<synfire_graph>(graph, {a_context, a_buffer, a_layer}, calls_of_graphs(),
                                [](auto bad) { synfire_graph_destroy(bad); });
  // There need be no model: a handle of that type names the slot of another object.
  synfire_load_info info = SYNFIRE_LOAD_INFO_INIT;
  synfire_check_report report = SYNFIRE_CHECK_REPORT_INIT;
  constexpr int tag_shift = 56;
  expect_refused<synfire_model>(as<synfire_model>(uintptr_t{0x59} << tag_shift),
                                {a_context, a_buffer, a_layer, a_graph},
                                {{"get_info", [&](auto bad) { return synfire_model_get_info(bad, &info); }},
                                 {"check", [&](auto bad) { return synfire_model_check(bad, 1, 1, &report); }}},
                                [](auto bad) { synfire_model_destroy(bad); });
  expect_refused<synfire_surrogate>(as<synfire_surrogate>(uintptr_t{0x5a} << tag_shift),
                                    {a_context, a_buffer, a_layer, a_graph},
                                    {{"get_info", [&](auto bad) { return synfire_surrogate_get_info(bad, &info); }},
                                     {"check", [&](auto bad) { return synfire_surrogate_check(bad, 1, 1, &report); }}},
                                    [](auto bad) { synfire_surrogate_destroy(bad); });
  // Nor need there be a communicator.
  synfire_communicator_properties place = SYNFIRE_COMMUNICATOR_PROPERTIES_INIT;
  synfire_network_desc together = SYNFIRE_NETWORK_DESC_INIT;
  together.n_steps = 1;
  synfire_network made = nullptr;
  expect_refused<synfire_communicator>(
      as<synfire_communicator>(uintptr_t{0x5b} << tag_shift), {a_context, a_buffer, a_layer, a_graph},
      {{"get_properties", [&](auto bad) { return synfire_communicator_get_properties(bad, &place); }},
       {"barrier", [](auto bad) { return synfire_communicator_barrier(bad); }},
       {"abort", [](auto bad) { return synfire_communicator_abort(bad); }},
       {"the network's",
        [&](auto bad) {
          together.communicator = bad;
          return synfire_network_create(context, &together, &made);
        }}},
      [](auto bad) { synfire_communicator_destroy(bad); });
  EXPECT_OK(synfire_context_synchronize(context));
  expect_usable();  // nothing was destroyed
}

TEST_F(ForgedHandles, OfOptimizersAreRefused) {
  const synfire_optimizer_desc desc = SYNFIRE_OPTIMIZER_DESC_INIT;
  synfire_optimizer optimizer = nullptr;
  ASSERT_OK(synfire_optimizer_create(context, &desc, &optimizer));
  synfire_synapse_desc of_synapse = SYNFIRE_SYNAPSE_DESC_INIT;
  of_synapse.n_inputs = of_synapse.n_outputs = 2;
  synfire_synapse synapse = nullptr;
  ASSERT_OK(synfire_synapse_create(context, &of_synapse, &synapse));
  const synfire_layer layer = rig.layer;
  const double unbounded = HUGE_VAL;
  const auto parameter = [&](synfire_optimizer to, synfire_layer of, synfire_buffer gradient) {
    return synfire_optimizer_add_parameter(to, of, "tau", gradient, 1, 0, -unbounded, unbounded);
  };
  const Calls<synfire_optimizer> calls = {
      {"add_weights", [&](auto bad) { return synfire_optimizer_add_weights(bad, synapse, 1, 1); }},
      {"add_bias", [&](auto bad) { return synfire_optimizer_add_bias(bad, synapse, 1, 0); }},
      {"add_array", [&](auto bad) { return synfire_optimizer_add_array(bad, synapse, "weight", 1, 0); }},
      {"add_parameter", [&](auto bad) { return parameter(bad, layer, number); }},
      {"query_memory",
       [](auto bad) {
         synfire_optimizer_memory memory = SYNFIRE_OPTIMIZER_MEMORY_INIT;
         return synfire_optimizer_query_memory(bad, &memory);
       }},
      {"read", [&](auto bad) { return synfire_optimizer_read(bad, -1, "step_count", &value, sizeof value); }},
      {"write", [&](auto bad) { return synfire_optimizer_write(bad, -1, "step_count", &value, sizeof value); }},
      {"set_factors", [](auto bad) { return synfire_optimizer_set_factors(bad, 0, 1, 1, 0); }}};
  const uintptr_t a_buffer = value_of(rig.x), a_layer = value_of(rig.layer),
                  a_synapse = reinterpret_cast<uintptr_t>(synapse);
  expect_refused<synfire_optimizer>(optimizer, {value_of(context), a_buffer, a_layer, value_of(graph), a_synapse},
                                    calls, [](auto bad) { synfire_optimizer_destroy(bad); });
  const uintptr_t an_optimizer = reinterpret_cast<uintptr_t>(optimizer);
  const auto expect_stale = [](synfire_status status) { EXPECT_EQ(status, SYNFIRE_ERROR_INVALID_HANDLE); };
  expect_stale(synfire_optimizer_add_weights(optimizer, forge(synapse, an_optimizer), 1, 1));
  expect_stale(synfire_optimizer_add_bias(optimizer, forge(synapse, a_buffer), 1, 1));
  expect_stale(synfire_optimizer_add_array(optimizer, forge(synapse, a_buffer), "weight", 1, 1));
  expect_stale(parameter(optimizer, forge(layer, an_optimizer), number));
  expect_stale(parameter(optimizer, layer, forge(number.get(), a_synapse)));
  synfire_optimizer_destroy(optimizer);
  synfire_synapse_destroy(synapse);
  expect_usable();
}

TEST_F(ForgedHandles, OfSynapsesAreRefused) {
  synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
  desc.n_inputs = desc.n_outputs = shape.n_neurons;
  synfire_synapse synapse = nullptr;
  ASSERT_OK(synfire_synapse_create(context, &desc, &synapse));
  std::vector<float> weights(static_cast<size_t>(shape.n_neurons * shape.n_neurons));
  const uint64_t size = weights.size() * sizeof(float);
  synfire_synapse_info info = SYNFIRE_SYNAPSE_INFO_INIT;
  synfire_synapse_array_info array_info = SYNFIRE_SYNAPSE_ARRAY_INFO_INIT;
  synfire_synapse_rounding rounding = SYNFIRE_SYNAPSE_ROUNDING_INIT;
  std::vector<int32_t> exponents(static_cast<size_t>(shape.n_neurons));
  const Calls<synfire_synapse> calls = {
      {"read", [&](auto bad) { return synfire_synapse_read(bad, "weight", weights.data(), size); }},
      {"write", [&](auto bad) { return synfire_synapse_write(bad, "weight", weights.data(), size); }},
      {"get info", [&](auto bad) { return synfire_synapse_get_info(bad, &info); }},
      {"get array info", [&](auto bad) { return synfire_synapse_get_array_info(bad, 0, &array_info); }},
      {"get rounding", [&](auto bad) { return synfire_synapse_get_rounding(bad, -1, &rounding); }},
      {"read integers",
       [&](auto bad) { return synfire_synapse_read_integers(bad, "exponent", exponents.data(), exponents.size()); }}};
  const uintptr_t a_context = value_of(context), a_buffer = value_of(rig.x), a_layer = value_of(rig.layer),
                  a_synapse = reinterpret_cast<uintptr_t>(synapse);
  expect_refused<synfire_synapse>(synapse, {a_context, a_buffer, a_layer, value_of(graph)}, calls,
                                  [](auto bad) { synfire_synapse_destroy(bad); });
  const auto expect_stale = [](synfire_status status) { EXPECT_EQ(status, SYNFIRE_ERROR_INVALID_HANDLE); };
  synfire_synapse created = nullptr;
  expect_stale(synfire_synapse_create(forge(synfire_context(context), a_synapse), &desc, &created));
  synfire_one_to_one_desc one_to_one = SYNFIRE_ONE_TO_ONE_DESC_INIT;
  one_to_one.channels = shape.n_neurons;
  expect_stale(synfire_synapse_create_one_to_one(forge(synfire_context(context), a_synapse), &one_to_one, &created));
  synfire_population_desc population = SYNFIRE_POPULATION_DESC_INIT;
  population.channels = shape.n_neurons;
  population.n_cells = 2;
  expect_stale(synfire_synapse_create_population(forge(synfire_context(context), a_synapse), &population, &created));
  synfire_delayed_desc delayed = SYNFIRE_DELAYED_DESC_INIT;
  delayed.n_inputs = delayed.n_outputs = shape.n_neurons;
  delayed.max_delay = 2;
  expect_stale(synfire_synapse_create_delayed(forge(synfire_context(context), a_synapse), &delayed, &created));
  synfire_conv2d_desc conv2d = SYNFIRE_CONV2D_DESC_INIT;
  conv2d.channels = conv2d.output_channels = shape.n_neurons;
  expect_stale(synfire_synapse_create_conv2d(forge(synfire_context(context), a_synapse), &conv2d, &created));
  synfire_synapse_destroy(synapse);
  expect_usable();
}

TEST_F(ForgedHandles, OfNetworksAreRefused) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = 1;
  synfire_network network = nullptr;
  ASSERT_OK(synfire_network_create(context, &desc, &network));
  synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
  synfire_network_memory memory = SYNFIRE_NETWORK_MEMORY_INIT;
  const uint8_t byte[1] = {1};
  synfire_array_source array_source = {"a.weights", nullptr, nullptr, 0, 0};
  synfire_synapse synapse = nullptr;
  synfire_layer layer = nullptr;
  synfire_buffer buffer = nullptr;
  synfire_graph of_network = nullptr;
  synfire_optimizer optimizer = nullptr;
  const auto set_data = [&](synfire_network of, synfire_buffer inputs, synfire_buffer labels) {
    return synfire_network_set_data(of, SYNFIRE_DATA_TRAINING, 1, inputs, labels, nullptr, nullptr, nullptr);
  };
  const Calls<synfire_network> calls = {
      {"add_input", [](auto bad) { return synfire_network_add_input(bad, "a", SYNFIRE_NETWORK_INPUT_RATES, 1); }},
      {"add_dropout", [](auto bad) { return synfire_network_add_dropout(bad, "a", 0.5); }},
      {"add_synapse", [](auto bad) { return synfire_network_add_synapse(bad, "a", 1); }},
      {"add_neurons", [](auto bad) { return synfire_network_add_neurons(bad, "a", SYNFIRE_MODEL_LIF); }},
      {"add_readout", [](auto bad) { return synfire_network_add_readout(bad, "a", SYNFIRE_READOUT_SUM, 0); }},
      {"add_loss", [](auto bad) { return synfire_network_add_loss(bad, "a", SYNFIRE_LOSS_CROSS_ENTROPY); }},
      {"add_optimizer",
       [](auto bad) { return synfire_network_add_optimizer(bad, "a", SYNFIRE_OPTIMIZER_KIND_ADAM, 0); }},
      {"add_stage",
       [](auto bad) {
         const synfire_stage_value values[] = {{"kind", "rates", 0}, {"n_features", nullptr, 1}};
         synfire_stage_desc stage = SYNFIRE_STAGE_DESC_INIT;
         stage.kind = "input";
         stage.name = "a";
         stage.values = values;
         stage.n_values = 2;
         return synfire_network_add_stage(bad, &stage);
       }},
      {"set_arrays", [](auto bad) { return synfire_network_set_arrays(bad, SYNFIRE_DATA_TRAINING, 1, nullptr, 0); }},
      {"open_data",
       [](auto bad) { return synfire_network_open_data(bad, SYNFIRE_DATA_TRAINING, nullptr, 0, nullptr); }},
      {"save_shards", [](auto bad) { return synfire_network_save_shards(bad, "nowhere.safetensors", 0, nullptr); }},
      {"evaluate_stages", [&](auto bad) { return synfire_network_evaluate_stages(bad, nullptr, 0, &result); }},
      {"train_stages", [&](auto bad) { return synfire_network_train_stages(bad, 0, nullptr, 0, &result); }},
      {"reset_rows", [](auto bad) { return synfire_network_reset_rows(bad, 0, 1); }},
      {"keep", [](auto bad) { return synfire_network_keep(bad, "a.v"); }},
      {"get_monitor",
       [](auto bad) {
         synfire_network_monitor monitor = SYNFIRE_NETWORK_MONITOR_INIT;
         return synfire_network_get_monitor(bad, "a", 0, &monitor);
       }},
      {"infer_arrays", [](auto bad) { return synfire_network_infer_arrays(bad, 1, nullptr, 0); }},
      {"set_value", [](auto bad) { return synfire_network_set_value(bad, "a", "seed", 1); }},
      {"get_value", [&](auto bad) { return synfire_network_get_value(bad, "a", "seed", &value); }},
      {"train_parameter", [](auto bad) { return synfire_network_train_parameter(bad, "a", "tau", 0, 1, 0, 1, 2); }},
      {"set_scope", [](auto bad) { return synfire_network_set_scope(bad, "a", "tau", SYNFIRE_SCOPE_LAYER); }},
      {"set_mask", [&](auto bad) { return synfire_network_set_mask(bad, "a", byte, 1); }},
      {"set_class_weights", [&](auto bad) { return synfire_network_set_class_weights(bad, "a", &element, 1); }},
      {"query_memory", [&](auto bad) { return synfire_network_query_memory(bad, &memory); }},
      {"get_memory_use",
       [](auto bad) {
         synfire_memory_use use = SYNFIRE_MEMORY_USE_INIT;
         return synfire_network_get_memory_use(bad, &use);
       }},
      {"write_summary", [&](auto bad) { return synfire_network_write_summary(bad, nullptr, &bytes); }},
      {"write_dot", [&](auto bad) { return synfire_network_write_dot(bad, nullptr, &bytes); }},
      {"build", [](auto bad) { return synfire_network_build(bad); }},
      {"set_data", [&](auto bad) { return set_data(bad, rig.x, rig.x); }},
      {"train", [&](auto bad) { return synfire_network_train(bad, 0, &result); }},
      {"evaluate", [&](auto bad) { return synfire_network_evaluate(bad, &result); }},
      {"infer", [this](auto bad) { return synfire_network_infer(bad, rig.x, 1, rig.x); }},
      {"reset_state", [](auto bad) { return synfire_network_reset_state(bad); }},
      {"save", [](auto bad) { return synfire_network_save(bad, "nowhere.safetensors"); }},
      {"save_to_memory", [&](auto bad) { return synfire_network_save_to_memory(bad, nullptr, &bytes); }},
      {"load", [](auto bad) { return synfire_network_load(bad, "nowhere.safetensors"); }},
      {"load_from_memory", [&](auto bad) { return synfire_network_load_from_memory(bad, byte, 1); }},
      {"load_arrays",
       [&](auto bad) { return synfire_network_load_arrays(bad, "nowhere.safetensors", &array_source, 1, 0); }},
      {"load_arrays_from_memory",
       [&](auto bad) { return synfire_network_load_arrays_from_memory(bad, byte, 1, &array_source, 1, 0); }},
      {"get_synapse", [&](auto bad) { return synfire_network_get_synapse(bad, "a", &synapse); }},
      {"get_layer", [&](auto bad) { return synfire_network_get_layer(bad, "a", &layer); }},
      {"get_optimizer", [&](auto bad) { return synfire_network_get_optimizer(bad, "a", &optimizer); }},
      {"get_graph", [&](auto bad) { return synfire_network_get_graph(bad, 0, &of_network); }},
      {"get_buffer", [&](auto bad) { return synfire_network_get_buffer(bad, "input", &buffer); }}};
  expect_refused<synfire_network>(network, {value_of(context), value_of(rig.x), value_of(rig.layer), value_of(graph)},
                                  calls, [](auto bad) { synfire_network_destroy(bad); });

  // A built network refuses forged buffers.
  ASSERT_OK(synfire_network_add_input(network, "a", SYNFIRE_NETWORK_INPUT_RATES, 1));
  ASSERT_OK(synfire_network_add_synapse(network, "b", 1));
  ASSERT_OK(synfire_network_add_neurons(network, "c", SYNFIRE_MODEL_LIF));
  ASSERT_OK(synfire_network_add_readout(network, "d", SYNFIRE_READOUT_SUM, 0));
  ASSERT_OK(synfire_network_add_loss(network, "e", SYNFIRE_LOSS_CROSS_ENTROPY));
  ASSERT_OK(synfire_network_add_optimizer(network, "f", SYNFIRE_OPTIMIZER_KIND_ADAM, 0));
  ASSERT_OK(synfire_network_build(network));
  const synfire_buffer forgery = forge(rig.x.get(), reinterpret_cast<uintptr_t>(network));
  const synfire_network_array of_forgery = {nullptr, SYNFIRE_ARRAY_INPUTS, 0, forgery};
  const Buffer one = make_buffer(context, SYNFIRE_DTYPE_F32, 1), label = make_buffer(context, SYNFIRE_DTYPE_U32, 1);
  for (const synfire_status status :
       {set_data(network, forgery, label), set_data(network, one, forgery),
        synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, 1, one, nullptr, forgery, nullptr, nullptr),
        synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, 1, one, label, nullptr, forgery, nullptr),
        synfire_network_set_data(network, SYNFIRE_DATA_TRAINING, 1, one, label, nullptr, nullptr, forgery),
        synfire_network_infer(network, forgery, 1, one), synfire_network_infer(network, one, 1, forgery),
        synfire_network_set_arrays(network, SYNFIRE_DATA_TRAINING, 1, &of_forgery, 1),
        synfire_network_infer_arrays(network, 1, &of_forgery, 1)})
    EXPECT_EQ(status, SYNFIRE_ERROR_INVALID_HANDLE);
  EXPECT_OK(set_data(network, one, label));
  synfire_network_destroy(network);
  expect_usable();
}

// Slots get other objects, and objects of other types, while forged handles are looked up.
TEST_F(ForgedHandles, AreRefusedWhileTheirSlotChangesHands) {
  std::atomic<uintptr_t> newest{value_of(rig.x)};
  std::atomic<bool> stop{false};
  std::atomic<int> taken{0};
  const synfire_layer layer = rig.layer;
  const synfire_graph some_graph = graph;
  std::thread user([&] {
    while (!stop.load(std::memory_order_relaxed)) {
      const uintptr_t now = newest.load(std::memory_order_relaxed);
      if (synfire_layer_set_n_active(forged(layer, now), 1) != SYNFIRE_ERROR_INVALID_HANDLE) taken.fetch_add(1);
      if (synfire_graph_poll(forged(some_graph, now), 1) != SYNFIRE_ERROR_INVALID_HANDLE) taken.fetch_add(1);
      synfire_layer_destroy(forged(layer, now));
    }
  });
  for (int i = 0; i < 2000; ++i) {
    const Buffer buffer = make_buffer(context, SYNFIRE_DTYPE_F32, 1);
    newest.store(value_of(buffer), std::memory_order_relaxed);
    EXPECT_OK(synfire_buffer_fill(buffer, 1));
    const Context other = make_context();
    newest.store(value_of(other), std::memory_order_relaxed);
    EXPECT_OK(synfire_context_synchronize(other));
  }
  stop.store(true);
  user.join();
  EXPECT_EQ(taken.load(), 0);
  expect_usable();
}

}  // namespace
}  // namespace synfire_test
