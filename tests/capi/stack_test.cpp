// Small layers one after the other, which a GPU runs in fewer launches than there are operations: whatever is recorded
// beside them, switched off, shared or rebound, host and GPU have the same bits everywhere.
#include <cmath>

#include "recording_support.hpp"
#include "synapse_rig.hpp"

namespace synfire_test {
namespace {

const uint64_t n_plans = is_sanitized() ? 10 : 60;  // sanitizers are much slower
constexpr int n_replays = 3;

// How X of the layers is kept.
enum class Places { each_its_own, all_the_same, of_the_layers };

struct Plan {
  std::vector<int64_t> sizes;   // from the input on
  std::vector<int32_t> models;  // of the layers
  int64_t n_steps = 1, batch = 1;
  int64_t active = 1;  // rows of the products, by a buffer
  int64_t active_of_layer = 1, layer = 0;
  Places x = Places::each_its_own;
  int32_t tape = SYNFIRE_TAPE_NONE;
  bool per_neuron = false;            // tau of the first layer
  bool same_spikes = false;           // all layers write where the first one does
  bool soft = false, copied = false;  // a copy between the layers
  int disabled = -1;                  // of the recorded operations, for the second replay
  uint64_t seed = 0;
};
std::ostream& operator<<(std::ostream& out, const Plan& plan) {
  for (const int64_t size : plan.sizes) out << size << " ";
  out << "models";
  for (const int32_t model : plan.models) out << " " << model;
  return out << " T " << plan.n_steps << " B " << plan.batch << " active " << plan.active << ", of layer " << plan.layer
             << " " << plan.active_of_layer << " places " << static_cast<int>(plan.x) << " tape " << plan.tape
             << " per neuron " << plan.per_neuron << " same spikes " << plan.same_spikes << " copied " << plan.copied
             << " disabled " << plan.disabled << " seed " << plan.seed;
}

Plan random_plan(uint64_t seed) {
  Random random(seed);
  Plan plan;
  plan.seed = seed;
  plan.sizes = {random.whole(1, 150)};
  const int64_t n_layers = random.whole(0, 5) == 0 ? random.whole(7, 10) : random.whole(1, 4);
  for (int64_t i = 0; i < n_layers; ++i) {
    plan.sizes.push_back(random.whole(0, 8) == 0 ? random.whole(200, 300) : random.whole(1, 100));
    const bool reads_out = i + 1 == n_layers && random.whole(0, 2) == 0;
    plan.models.push_back(reads_out ? SYNFIRE_MODEL_LI : static_cast<int32_t>(random.whole(1, 6)));
  }
  plan.n_steps = random.whole(0, 3) == 0 ? random.whole(30, 70) : random.whole(1, 20);
  plan.batch = random.whole(1, 9);
  plan.active = random.whole(0, 2) == 0 ? random.whole(1, plan.batch) : plan.batch;
  plan.active_of_layer = random.whole(0, 2) == 0 ? random.whole(1, plan.batch) : plan.batch;
  plan.layer = random.whole(0, n_layers - 1);
  plan.x = static_cast<Places>(random.whole(0, 2));
  plan.tape = random.whole(0, 1) == 0 ? SYNFIRE_TAPE_NONE : SYNFIRE_TAPE_RECOMPUTE;
  plan.per_neuron = random.whole(0, 3) == 0;
  plan.same_spikes = plan.x != Places::of_the_layers && random.whole(0, 5) == 0;
  plan.soft = random.whole(0, 1) == 0;
  plan.copied = random.whole(0, 5) == 0;
  if (random.whole(0, 1) == 0) plan.disabled = static_cast<int>(random.whole(0, n_layers - 1));
  return plan;
}

// Everything that is in memory after the replays, in one array of words.
std::vector<uint32_t> run(synfire_context context, const Plan& plan) {
  Random random(plan.seed + 1000);
  const size_t n_layers = plan.models.size();
  const auto rows = static_cast<size_t>(plan.n_steps * plan.batch);
  const auto words = [](int64_t neurons) { return static_cast<size_t>((neurons + 31) / 32); };
  int64_t largest = 0;
  for (const int64_t size : plan.sizes) largest = std::max(largest, size);
  const auto poisoned = [&](int32_t dtype, size_t count) {
    Buffer buffer = make_buffer(context, dtype, count);
    EXPECT_OK(synfire_buffer_upload(buffer, 0, std::vector<uint32_t>(count, 0x3F000000).data(), count * 4));
    return buffer;
  };
  std::vector<Synapse> synapses;
  std::vector<Layer> layers;
  std::vector<Buffer> x, spikes, v;
  std::vector<uint32_t> input(rows * words(plan.sizes[0]));
  for (uint32_t& word : input) word = static_cast<uint32_t>(random.next() & random.next());
  const Buffer source = make_buffer_of(context, input);
  const Buffer n_active = make_buffer(context, SYNFIRE_DTYPE_U32, 1);
  upload(n_active, std::vector<uint32_t>{static_cast<uint32_t>(plan.active)});
  const Buffer copy = poisoned(SYNFIRE_DTYPE_F32, rows * words(largest));
  const Graph graph = make_graph(context);
  std::vector<int32_t> operations;
  for (size_t i = 0; i < n_layers; ++i) {
    const Product product = {plan.n_steps, plan.batch, plan.sizes[i], plan.sizes[i + 1]};
    synfire_synapse_desc described = describe(product, true);
    described.seed = plan.seed + i;
    described.gain = 4;
    synapses.push_back(make_synapse(context, described));
    const bool fires = plan.models[i] != SYNFIRE_MODEL_LI;
    synfire_layer_desc layer = describe(Shape{plan.n_steps, plan.batch, plan.sizes[i + 1]}, SYNFIRE_DTYPE_F32);
    layer.model = plan.models[i];
    if (fires && plan.soft) layer.reset = SYNFIRE_RESET_SOFT;
    layers.push_back(make_layer(context, layer));
    if (i == 0 && plan.per_neuron && plan.models[0] != SYNFIRE_MODEL_IF)
      set_parameter(layers[0], "tau", random.values<double>(static_cast<size_t>(plan.sizes[1]), 1.5, 4));
    const size_t elements = rows * static_cast<size_t>(plan.sizes[i + 1]);
    const bool own_x = plan.x == Places::each_its_own || i == 0;
    if (own_x)
      x.push_back(
          poisoned(SYNFIRE_DTYPE_F32, plan.x == Places::all_the_same ? rows * static_cast<size_t>(largest) : elements));
    if (!plan.same_spikes || i == 0)
      spikes.push_back(poisoned(SYNFIRE_DTYPE_BITS, rows * words(plan.same_spikes ? largest : plan.sizes[i + 1])));
    v.push_back(poisoned(SYNFIRE_DTYPE_F32, elements));
    // A window, because a buffer must have exactly the elements that are asked for.
    const synfire_buffer shared_x = x.back();
    const Buffer own = make_window(context, shared_x, SYNFIRE_DTYPE_F32, 0, elements);
    const Buffer out = make_window(context, spikes.back(), SYNFIRE_DTYPE_BITS, 0, rows * words(plan.sizes[i + 1]));
    const synfire_buffer before =
        i == 0 ? synfire_buffer(source) : synfire_buffer(plan.same_spikes ? spikes[0] : spikes[i - 1]);
    const Buffer in = make_window(context, before, SYNFIRE_DTYPE_BITS, 0, rows * words(plan.sizes[i]));
    synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
    forward.tape = plan.tape;
    if (plan.x == Places::of_the_layers) {
      forward.synapse = synapses[i];
      forward.synapse_input = in;
      forward.n_active = n_active;
    } else {
      synfire_synapse_forward_desc desc = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
      desc.n_steps = plan.n_steps;
      desc.batch = plan.batch;
      desc.input = in;
      desc.output = own;
      desc.n_active = n_active;
      EXPECT_OK(synfire_graph_record_synapse_forward(graph, synapses[i], &desc));
      operations.push_back(last_operation(graph));
      forward.x = own;
    }
    if (fires)
      forward.spikes = out;
    else
      forward.v_seq = v.back();
    EXPECT_OK(synfire_graph_record_forward(graph, layers[i], &forward));
    operations.push_back(last_operation(graph));
    if (plan.copied && i == 0) {
      const Buffer there = make_window(context, copy, SYNFIRE_DTYPE_BITS, 0, rows * words(plan.sizes[1]));
      if (fires) record_copy(graph, out, there);
    }
  }
  EXPECT_OK(synfire_graph_instantiate(graph));
  EXPECT_OK(synfire_layer_set_n_active(layers[static_cast<size_t>(plan.layer)], plan.active_of_layer));
  std::vector<uint32_t> all;
  for (int i = 0; i < n_replays; ++i) {
    if (plan.disabled >= 0 && i > 0) {
      EXPECT_OK(synfire_graph_set_enabled(graph, operations[static_cast<size_t>(plan.disabled)], i == 1 ? 0 : 1));
    }
    replay(graph);
    const auto add = [&](synfire_buffer buffer, size_t count) {
      const std::vector<uint32_t> held = download<uint32_t>(buffer, count);
      all.insert(all.end(), held.begin(), held.end());
    };
    // Any NaN equals any NaN.
    const auto add_number = [&](float value) { all.push_back(std::isnan(value) ? 0x7FC00000 : bits_of(value)); };
    const auto add_numbers = [&](synfire_buffer buffer, size_t count) {
      for (const float value : download<float>(buffer, count)) add_number(value);
    };
    if (plan.x == Places::each_its_own)
      for (size_t k = 0; k < x.size(); ++k) add_numbers(x[k], rows * static_cast<size_t>(plan.sizes[k + 1]));
    if (plan.x == Places::all_the_same) add_numbers(x[0], rows * static_cast<size_t>(plan.sizes.back()));
    if (plan.same_spikes)
      add(spikes[0], rows * words(largest));
    else
      for (size_t k = 0; k < n_layers; ++k) add(spikes[k], rows * words(plan.sizes[k + 1]));
    for (size_t k = 0; k < n_layers; ++k) {
      add_numbers(v[k], rows * static_cast<size_t>(plan.sizes[k + 1]));
      const size_t row = static_cast<size_t>(plan.batch * plan.sizes[k + 1]);
      for (const float value : read_state<float>(layers[k], row)) add_number(value);
    }
    add(copy, rows * words(largest));
  }
  return all;
}

TEST(Stacks, AreTheSameOnBothBackends) {
  const Context context = make_context(), host = make_context_on(SYNFIRE_BACKEND_HOST);
  for (uint64_t seed = 1; seed <= n_plans; ++seed) {
    const Plan plan = random_plan(seed);
    SCOPED_TRACE(testing::Message() << plan);
    ASSERT_TRUE(same_bits(run(context, plan), run(host, plan)));
  }
}

// The edges: one step, one row, one neuron; whole and broken words; 16, 17, 32 and 33 steps of few batch rows, and of
// as many as join that many steps; 256 neurons and one more.
TEST(Stacks, AtTheEdgesOfTheirShapes) {
  const Context context = make_context(), host = make_context_on(SYNFIRE_BACKEND_HOST);
  uint64_t seed = 1;
  for (const auto& [n_steps, batch] :
       std::vector<std::pair<int64_t, int64_t>>{{1, 3}, {16, 1}, {17, 3}, {33, 3}, {17, 8}, {31, 9}, {32, 8}, {33, 9}})
    for (const auto& sizes : std::vector<std::vector<int64_t>>{
             {1, 1, 1}, {64, 128, 128, 8}, {31, 32, 33}, {33, 256, 7}, {33, 257, 7}, {257, 255, 1}}) {
      Plan plan;
      plan.sizes = sizes;
      plan.models.assign(sizes.size() - 1, SYNFIRE_MODEL_LIF);
      plan.n_steps = n_steps;
      plan.batch = plan.active = plan.active_of_layer = batch;
      plan.tape = SYNFIRE_TAPE_RECOMPUTE;
      plan.seed = seed++;
      SCOPED_TRACE(testing::Message() << plan);
      ASSERT_TRUE(same_bits(run(context, plan), run(host, plan)));
    }
}

}  // namespace
}  // namespace synfire_test
