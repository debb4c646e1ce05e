// Edges with a delay and cycles of stages: the state goes on from replay to replay and from file to file; a cycle has
// the bits of the same neurons without one; and what cannot work is refused.
#include <algorithm>
#include <cmath>
#include <utility>

#include "described_stages.hpp"
#include "network_file.hpp"

namespace synfire_test {
namespace {

// A layer with N neurons that read their own spikes, after `delay` steps, over a synapse, a scale or both.
struct Recurrent {
  int64_t n_steps = 4, batch = 3, n_inputs = 21, n_neurons = 37, delay = 1;
  int32_t dtype = SYNFIRE_DTYPE_F32;
  const char* back = "synapse";
  const char* model = "lif";
  bool is_cycle = true, is_trained = true, is_of_zeros = false, has_no_self = false, is_read_as_numbers = false;
  int32_t own_loss = 0;
  StageValues neurons = {};
  // A "delayed" back has delays up to 3; "apart" has a synapse at each delay of the edge instead.
  const char* delays_of = "connections";
  bool learns_delays = false;
};
constexpr int64_t n_delays = 4;
constexpr const char* apart[n_delays] = {"back0", "back1", "back2", "back3"};

synfire_stage_input after(const char* stage, int64_t delay) {
  return {stage, nullptr, delay};
}

Network described(synfire_context context, const Recurrent& plan) {
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = plan.n_steps;
  desc.batch = plan.batch;
  desc.dtype = plan.dtype;
  desc.seed = 5;
  desc.own_loss = plan.own_loss;
  synfire_network made = nullptr;
  require_ok(synfire_network_create(context, &desc, &made));
  Network network(made);
  const auto add = [&](const char* kind, const char* name, const StageValues& values, const StageInputs& inputs = {}) {
    require_ok(add_stage(network, kind, name, values, inputs));
  };
  const auto n_neurons = static_cast<double>(plan.n_neurons);
  add("input", "input", {text("kind", "spikes"), number("n_features", static_cast<double>(plan.n_inputs))});
  add("synapse", "in", {number("n_outputs", n_neurons), number("gain", 4)});
  if (plan.is_cycle) {
    StageValues back;
    if (std::string_view(plan.back) == "synapse") back = {number("n_outputs", n_neurons), number("gain", 2)};
    if (std::string_view(plan.back) == "synapse" && plan.is_of_zeros) back.push_back(text("initialization", "zero"));
    if (plan.has_no_self) back.push_back(number("no_self_connections", 1));
    StageInputs terms = {reads("in")};
    if (std::string_view(plan.back) == "apart") {
      for (int64_t d = 0; d < n_delays; ++d) {
        add("synapse", apart[d], {number("n_outputs", n_neurons), number("bias", 0)},
            {after("hidden", plan.delay + d)});
        terms.push_back(reads(apart[d]));
      }
    } else {
      if (std::string_view(plan.back) == "delayed")
        back = {number("n_outputs", n_neurons),
                number("max_delay", n_delays - 1),
                text("delays_of", plan.delays_of),
                number("learn_delays", plan.learns_delays ? 1 : 0),
                number("bias", 0),
                number("gain", 2)};
      add(plan.back, "back", back, {after("hidden", plan.delay)});
      terms.push_back(reads("back"));
    }
    add("sum", "x", {}, terms);
  }
  StageValues neurons = plan.neurons;
  neurons.push_back(text("model", plan.model));
  add("neurons", "hidden", neurons);
  // Neurons read spikes as numbers.
  if (plan.is_read_as_numbers)
    add("neurons", "echo", {text("model", "lif"), number("v_threshold", 0.5)}, {reads("hidden")});
  add("synapse", "out", {number("n_outputs", 5)});
  add("neurons", "potentials", {text("model", "li")});
  add("readout", "scores", {text("reduction", "steps")});
  if (!plan.is_trained) return network;
  add("loss", "loss", {text("kind", "cross_entropy")});
  add("optimizer", "sgd", {text("kind", "sgd"), number("learning_rate", 0.5)});
  return network;
}

Network built(synfire_context context, const Recurrent& plan) {
  Network network = described(context, plan);
  require_ok(synfire_network_build(network));
  return network;
}

template <class Handle, class Get>
Owned<Handle> part(Get get) {
  Handle handle = nullptr;
  require_ok(get(&handle));
  return Owned<Handle>(handle);
}
Buffer buffer_of(synfire_network network, const char* name) {
  return part<synfire_buffer>([&](auto* out) { return synfire_network_get_buffer(network, name, out); });
}

std::vector<uint32_t> drawn_spikes(const Recurrent& plan, int64_t n_steps, uint64_t seed) {
  Random random(seed);
  const int64_t n_words = (plan.n_inputs + 31) / 32;
  std::vector<uint32_t> words(static_cast<size_t>(n_steps * plan.batch * n_words));
  for (size_t i = 0; i < words.size(); ++i) {
    words[i] = static_cast<uint32_t>(random.next() & random.next());
    const int64_t in_word = plan.n_inputs - static_cast<int64_t>(i) % n_words * 32;
    if (in_word < 32) words[i] &= (1U << in_word) - 1;
  }
  return words;
}

// Runs frames of the network's steps over spikes of more steps, and returns what the readout gives.
std::vector<float> run_frames(synfire_network network, const Recurrent& plan, const std::vector<uint32_t>& spikes) {
  const Graph graph = part<synfire_graph>(
      [&](auto* out) { return synfire_network_get_graph(network, SYNFIRE_NETWORK_GRAPH_INFERENCE, out); });
  const Buffer input = buffer_of(network, "input"), output = buffer_of(network, "output");
  const auto frame = static_cast<size_t>(plan.n_steps * plan.batch * ((plan.n_inputs + 31) / 32));
  std::vector<float> all;
  for (size_t at = 0; at < spikes.size(); at += frame) {
    upload(input, slice(spikes, at, frame));
    uint64_t ticket = 0;
    require_ok(synfire_graph_launch(graph, nullptr, &ticket));
    require_ok(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_YIELD, -1));
    all = joined(all, download<float>(output, static_cast<size_t>(plan.n_steps * plan.batch * 5)));
  }
  return all;
}

TEST(Recurrence, GoesOnFromReplayToReplay) {
  const Context context = make_context();
  for (const int64_t delay : std::vector<int64_t>{1, 2, 7, 40})
    for (const auto& [batch, n_neurons] : std::vector<std::pair<int64_t, int64_t>>{{3, 37}, {1, 1}, {2, 64}}) {
      SCOPED_TRACE(testing::Message() << "delay " << delay << ", batch " << batch);
      Recurrent plan;
      plan.n_steps = 24;
      plan.delay = delay;
      plan.batch = batch;
      plan.n_neurons = n_neurons;
      plan.is_trained = false;
      const std::vector<uint32_t> spikes = drawn_spikes(plan, 24, 3);
      const std::vector<float> whole = run_frames(built(context, plan), plan, spikes);
      plan.is_cycle = false;
      const bool differs = !same_bits(whole, run_frames(built(context, plan), plan, spikes));
      EXPECT_TRUE(differs || delay > 7 || n_neurons == 1);
      plan.is_cycle = true;
      for (const int64_t n_steps : std::vector<int64_t>{1, 4, 12}) {
        plan.n_steps = n_steps;
        EXPECT_TRUE(same_bits(run_frames(built(context, plan), plan, spikes), whole)) << n_steps;
      }
    }
}

// The same with delays on top of that of the edge; the spikes under way are in files.
TEST(Recurrence, GoesOnWithDelaysOfItsSynapse) {
  const Context context = make_context();
  for (const char* const of : {"connections", "inputs", "outputs"})
    for (const bool as_numbers : {false, true}) {
      SCOPED_TRACE(testing::Message() << "of " << of << ", as numbers " << as_numbers);
      Recurrent plan;
      plan.n_steps = 12;
      plan.delay = 2;
      plan.back = "delayed";
      plan.delays_of = of;
      plan.learns_delays = std::string_view(of) == "connections" && as_numbers;
      plan.is_read_as_numbers = as_numbers;
      plan.is_trained = false;
      const std::vector<uint32_t> spikes = drawn_spikes(plan, 12, 3);
      const std::vector<float> whole = run_frames(built(context, plan), plan, spikes);
      plan.is_cycle = false;
      EXPECT_FALSE(same_bits(whole, run_frames(built(context, plan), plan, spikes)));
      plan.is_cycle = true;
      for (const int64_t n_steps : std::vector<int64_t>{1, 4}) {
        plan.n_steps = n_steps;
        const Network network = built(context, plan);
        const std::vector<float> half = run_frames(network, plan, slice(spikes, 0, spikes.size() / 3));
        const File file = saved(network);
        const Network next = created(context, file);
        EXPECT_TRUE(saved(next) == file);
        const std::vector<float> rest = run_frames(next, plan, slice(spikes, spikes.size() / 3, spikes.size() / 3 * 2));
        EXPECT_TRUE(same_bits(joined(half, rest), whole)) << n_steps;
        ASSERT_OK(synfire_network_reset_state(next));
        const std::vector<float> again = run_frames(next, plan, spikes);
        EXPECT_TRUE(same_bits(again, whole)) << n_steps;
      }
    }
}

TEST(Recurrence, GoesOnFromItsFile) {
  const Context context = make_context();
  Recurrent plan;
  plan.n_steps = 3;
  plan.delay = 5;
  plan.is_trained = false;
  const std::vector<uint32_t> before = drawn_spikes(plan, 9, 1), then = drawn_spikes(plan, 9, 2);
  const Network network = built(context, plan);
  run_frames(network, plan, before);
  const File file = saved(network);
  const Network next = created(context, file);
  EXPECT_TRUE(saved(next) == file);
  const std::vector<float> expected = run_frames(network, plan, then);
  EXPECT_TRUE(same_bits(run_frames(next, plan, then), expected));
  // The file of another delay, and spikes of neurons that do not exist.
  plan.delay = 4;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("back", "SYN-NETWORK-OTHER"), load(built(context, plan), file));
  const File broken = FileParts(file).poke<uint32_t>("hidden.state.spikes", 1, 1U << 5).whole();
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-NUMBER", "hidden.state.spikes"), load(next, broken));
  const File longer = FileParts(file).replace("[5,3,2]", "[3,5,2]").whole();
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("hidden.state.spikes"), load(next, longer));
  EXPECT_TRUE(same_bits(run_frames(next, plan, then), run_frames(network, plan, then)));
}

// A row that is reset alone is a new one; the others go on. Rows that are not active keep what they have.
TEST(Recurrence, HasRowsOfItsState) {
  const Context context = make_context();
  Recurrent plan;
  plan.delay = 6;
  plan.is_trained = false;
  const std::vector<uint32_t> before = drawn_spikes(plan, 8, 1), then = drawn_spikes(plan, 8, 2);
  const size_t row = 5, step = row * static_cast<size_t>(plan.batch);
  const auto rows = [&](const std::vector<float>& all, size_t b) {
    std::vector<float> of_row;
    for (size_t at = b * row; at < all.size(); at += step) of_row = joined(of_row, slice(all, at, row));
    return of_row;
  };
  const Network fresh = built(context, plan), running = built(context, plan), reset = built(context, plan);
  const std::vector<float> anew = run_frames(fresh, plan, then);
  run_frames(running, plan, before);
  run_frames(reset, plan, before);
  ASSERT_OK(synfire_network_reset_rows(reset, 1, 1));
  const std::vector<float> on = run_frames(running, plan, then), one_reset = run_frames(reset, plan, then);
  EXPECT_TRUE(same_bits(rows(one_reset, 0), rows(on, 0)));
  EXPECT_TRUE(same_bits(rows(one_reset, 1), rows(anew, 1)));
  EXPECT_FALSE(same_bits(rows(on, 1), rows(anew, 1)));
  EXPECT_TRUE(same_bits(rows(one_reset, 2), rows(on, 2)));
  ASSERT_OK(synfire_network_reset_state(reset));
  EXPECT_TRUE(same_bits(run_frames(reset, plan, then), anew));

  const auto layer = part<synfire_layer>([&](auto* out) { return synfire_network_get_layer(reset, "hidden", out); });
  const auto potentials =
      part<synfire_layer>([&](auto* out) { return synfire_network_get_layer(reset, "potentials", out); });
  const File whole = saved(reset);
  const FileParts kept(whole);
  for (const synfire_layer one : {layer.get(), potentials.get()}) ASSERT_OK(synfire_layer_set_n_active(one, 1));
  run_frames(reset, plan, before);
  const File now = saved(reset);
  const FileParts other(now);
  const size_t n_words = 2, bytes_of_row = n_words * sizeof(uint32_t);
  bool changed = false;
  for (size_t d = 0; d < 6; ++d)
    for (size_t b = 0; b < 3; ++b) {
      const size_t at = kept.offset("hidden.state.spikes") + (d * 3 + b) * bytes_of_row;
      const bool same = kept.data.compare(at, bytes_of_row, other.data, at, bytes_of_row) == 0;
      EXPECT_TRUE(same || b == 0) << d << " " << b;
      changed = changed || !same;
    }
  EXPECT_TRUE(changed);
}

// The functions for the state of layers are about the spikes that are read again too, whatever type the readers need.
TEST(Recurrence, KeepsItsHistoryInTheLayer) {
  const Context context = make_context();
  for (const bool as_numbers : {false, true}) {
    Recurrent plan;
    plan.delay = 6;
    plan.is_trained = false;
    plan.is_read_as_numbers = as_numbers;
    const std::vector<uint32_t> before = drawn_spikes(plan, 8, 1), then = drawn_spikes(plan, 8, 2);
    const Network network = built(context, plan);
    const std::vector<float> anew = run_frames(network, plan, then);
    ASSERT_OK(synfire_network_reset_state(network));
    run_frames(network, plan, before);
    std::vector<Layer> layers;
    std::vector<std::vector<unsigned char>> kept;
    for (const char* const name : {"hidden", "potentials", "echo"}) {
      if (!as_numbers && std::string_view(name) == "echo") continue;
      layers.push_back(part<synfire_layer>([&](auto* out) { return synfire_network_get_layer(network, name, out); }));
      uint64_t bytes = 0;
      ASSERT_OK(synfire_layer_snapshot(layers.back(), nullptr, nullptr, &bytes));
      kept.emplace_back(bytes);
      ASSERT_OK(synfire_layer_snapshot(layers.back(), nullptr, kept.back().data(), &bytes));
    }
    const File file = saved(network);
    const std::vector<float> on = run_frames(network, plan, then);
    EXPECT_FALSE(same_bits(on, anew));
    for (size_t i = 0; i < layers.size(); ++i)
      ASSERT_OK(synfire_layer_restore(layers[i], nullptr, kept[i].data(), kept[i].size()));
    EXPECT_TRUE(saved(network) == file);
    EXPECT_TRUE(same_bits(run_frames(network, plan, then), on));
    for (const Layer& layer : layers) ASSERT_OK(synfire_layer_reset_state(layer, nullptr));
    EXPECT_TRUE(same_bits(run_frames(network, plan, then), anew));

    // A row that is copied over another one.
    const Network other = built(context, plan);
    run_frames(other, plan, before);
    synfire_copy_rows_desc copy = SYNFIRE_COPY_ROWS_DESC_INIT;
    copy.first_row = 2;
    copy.n_rows = 1;
    for (size_t i = 0; i < layers.size(); ++i) {
      const Layer from = part<synfire_layer>([&](auto* out) {
        return synfire_network_get_layer(other, i == 0 ? "hidden" : i == 1 ? "potentials" : "echo", out);
      });
      copy.source = from;
      ASSERT_OK(synfire_layer_copy_rows(layers[i], &copy, nullptr));
    }
    // The spikes in files are those of the source's row.
    const auto row = [](const File& whole, size_t b) {
      const FileParts parts(whole);
      std::string words;
      for (size_t d = 0; d < 6; ++d)
        words += parts.data.substr(parts.offset("hidden.state.spikes") + (d * 3 + b) * 8, 8);
      return words;
    };
    EXPECT_EQ(row(saved(network), 0), row(saved(other), 2));
    EXPECT_NE(row(saved(network), 0), row(saved(other), 0));
  }
}

void give_training(synfire_context context, synfire_network network, const Recurrent& plan) {
  // Rows [R, T, words]: one batch.
  std::vector<uint32_t> words = drawn_spikes(plan, plan.n_steps, 9), labels;
  for (int64_t b = 0; b < plan.batch; ++b) labels.push_back(static_cast<uint32_t>(b % 5));
  const Buffer inputs = make_buffer_of(context, words),
               classes = make_buffer(context, SYNFIRE_DTYPE_U32, labels.size());
  upload(classes, labels);
  require_ok(
      set_arrays(network, SYNFIRE_DATA_TRAINING, plan.batch,
                 {array_of("input", SYNFIRE_ARRAY_INPUTS, inputs), array_of("loss", SYNFIRE_ARRAY_LABELS, classes)}));
}

template <class Number>
std::vector<Number> weights_of(synfire_network network, const char* stage, const char* name, size_t count) {
  const auto synapse =
      part<synfire_synapse>([&](auto* out) { return synfire_network_get_synapse(network, stage, out); });
  std::vector<Number> values(count);
  require_ok(synfire_synapse_read(synapse, name, values.data(), count * sizeof(Number)));
  return values;
}

template <class Number>
void give_weights(synfire_network network, const char* stage, const char* name, const std::vector<Number>& values) {
  const auto synapse =
      part<synfire_synapse>([&](auto* out) { return synfire_network_get_synapse(network, stage, out); });
  require_ok(synfire_synapse_write(synapse, name, values.data(), values.size() * sizeof(Number)));
}

// Each connection at its delay, or at all of them, is a synapse for each delay of the edge. Weights of a few bits make
// sums exact, so that all spikes are the same.
TEST(Recurrence, AddsDelaysOfItsSynapseToThatOfTheEdge) {
  const Context context = make_context();
  constexpr size_t n = 11, n_connections = n * n, n_inputs = 21;
  for (const char* const of : {"connections", "inputs", "outputs", "learnt"}) {
    SCOPED_TRACE(of);
    const bool learnt = std::string_view(of) == "learnt", of_inputs = std::string_view(of) == "inputs",
               of_outputs = std::string_view(of) == "outputs";
    Recurrent plan;
    plan.n_steps = 9;
    plan.delay = 2;
    plan.n_neurons = n;
    plan.dtype = SYNFIRE_DTYPE_F64;
    plan.back = "delayed";
    plan.delays_of = learnt ? "connections" : of;
    plan.learns_delays = learnt;
    const Network network = built(context, plan);
    plan.back = "apart";
    const Network other = built(context, plan);
    Random random(17);
    std::vector<double> in(n * n_inputs), weight(n_connections);
    for (double& one : in) one = static_cast<double>(random.whole(-8, 12)) / 8;
    for (double& one : weight) one = static_cast<double>(random.whole(-8, 12)) / 8;
    std::vector<double> delay =
        weights_of<double>(network, "back", "delay", of_inputs || of_outputs ? n : n_connections);
    const double width = 0.75;
    if (learnt) give_weights(network, "back", "width", std::vector<double>{width});
    give_weights(network, "back", "weight", weight);
    // G(d - D) of each connection.
    std::vector<std::vector<double>> taps(n_connections, std::vector<double>(n_delays));
    for (size_t i = 0; i < n_connections; ++i) {
      const double of_one = delay[of_inputs ? i % n : of_outputs ? i / n : i];
      double total = 0;
      for (size_t d = 0; d < n_delays; ++d) {
        const double z = (static_cast<double>(d) - of_one) / width;
        taps[i][d] = learnt ? std::exp(-z * z / 2) : z == 0 ? 1 : 0;
        total += taps[i][d];
      }
      for (double& tap : taps[i]) tap /= total;
    }
    for (size_t d = 0; d < n_delays; ++d) {
      std::vector<double> of_delay = weight;
      for (size_t i = 0; i < n_connections; ++i) of_delay[i] *= taps[i][d];
      give_weights(other, apart[d], "weight", of_delay);
    }
    for (const synfire_network one : {network.get(), other.get()}) {
      give_weights(one, "in", "weight", in);
      give_weights(one, "in", "bias", std::vector<double>(n));
      give_training(context, one, plan);
    }
    const synfire_network_result mine = trained(network, 1), wanted = trained(other, 1);
    EXPECT_NEAR(mine.loss, wanted.loss, learnt ? 1e-12 : 0);
    const auto near = [](const std::vector<double>& got, const std::vector<double>& expected, const char* what) {
      double largest = 0;
      for (const double value : expected) largest = std::max(largest, std::fabs(value));
      EXPECT_GT(largest, 1e-6) << what;
      for (size_t i = 0; i < got.size(); ++i) EXPECT_NEAR(got[i], expected[i], 1e-12 * largest) << what << " " << i;
    };
    near(weights_of<double>(network, "in", "weight_gradient", n * n_inputs),
         weights_of<double>(other, "in", "weight_gradient", n * n_inputs), "in");
    std::vector<std::vector<double>> gradients;
    for (const char* const name : apart)
      gradients.push_back(weights_of<double>(other, name, "weight_gradient", n_connections));
    std::vector<double> of_weight(n_connections), of_delay(n_connections);
    for (size_t i = 0; i < n_connections; ++i) {
      double mean = 0;
      for (size_t d = 0; d < n_delays; ++d) mean += static_cast<double>(d) * taps[i][d];
      for (size_t d = 0; d < n_delays; ++d) {
        of_weight[i] += gradients[d][i] * taps[i][d];
        of_delay[i] += weight[i] / (width * width) * gradients[d][i] * taps[i][d] * (static_cast<double>(d) - mean);
      }
    }
    near(weights_of<double>(network, "back", "weight_gradient", n_connections), of_weight, "back");
    if (learnt) near(weights_of<double>(network, "back", "delay_gradient", n_connections), of_delay, "delays");
  }
}

// The gradient of the spikes before the first step is what the steps that read them send back.
TEST(Recurrence, HasTheGradientOfItsInitialSpikes) {
  const Context context = make_context();
  constexpr size_t n = 11, batch = 3, delay = 3;
  Recurrent plan;
  plan.n_neurons = n;
  plan.delay = delay;
  plan.dtype = SYNFIRE_DTYPE_F64;
  for (const size_t n_steps : std::vector<size_t>{5, 2}) {
    plan.n_steps = static_cast<int64_t>(n_steps);
    const Network network = described(context, plan);
    ASSERT_OK(synfire_network_keep(network, "back.grad_output hidden.grad_initial_spikes"));
    ASSERT_OK(synfire_network_build(network));
    const std::vector<double> weight = weights_of<double>(network, "back", "weight", n * n);
    give_training(context, network, plan);
    trained(network, 1);
    const std::vector<double> of_x = download<double>(buffer_of(network, "back.grad_output"), n_steps * batch * n),
                              got =
                                  download<double>(buffer_of(network, "hidden.grad_initial_spikes"), delay * batch * n);
    for (size_t i = 0; i < got.size(); ++i) {
      const size_t row = i / n, k = i % n;
      double wanted = 0;
      for (size_t o = 0; o < n && row < n_steps * batch; ++o) wanted += weight[o * n + k] * of_x[row * n + o];
      EXPECT_NEAR(got[i], wanted, 1e-14) << i;
      EXPECT_EQ(got[i] != 0, row < n_steps * batch) << i;
    }
  }

  // Neurons that nothing reads with a delay have none.
  plan.is_cycle = false;
  const Network network = described(context, plan);
  ASSERT_OK(synfire_network_keep(network, "hidden.grad_initial_spikes"));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-NETWORK-KEEP", "hidden.grad_initial_spikes", "delay"),
               synfire_network_build(network));
  const Network without = built(context, plan);
  synfire_buffer buffer = nullptr;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-BUFFER", "hidden.grad_initial_spikes"),
               synfire_network_get_buffer(without, "hidden.grad_initial_spikes", &buffer));
  EXPECT_EQ(buffer, nullptr);
}

// Weights of 0 send nothing back and no gradient, so the network has the bits of the one without a cycle, whose neurons
// take all steps at once. All that is carried from step to step is in it.
TEST(Recurrence, HasTheBitsOfOnePassOverAllSteps) {
  const Context context = make_context();
  int i = 0;
  for (const char* const model : {"lif", "izhikevich", "if", "eif", "plif", "cuba_lif", "alif"})
    for (const char* const reset : {"hard", "soft", "soft_delayed"})
      for (const char* const tape : {"recompute", "store", "store_narrow"}) {
        Recurrent plan;
        plan.n_steps = 7;
        plan.model = model;
        plan.is_of_zeros = true;
        const bool narrow = std::string_view(tape) == "store_narrow";
        // Slopes of some models read V, which is exact where a step begins and else has 16 bits.
        const std::string_view name = model;
        if (narrow && name != "lif" && name != "if" && name != "plif") continue;
        plan.neurons = {text("reset", reset), text("tape", tape), number("detach_reset", i % 2),
                        number("refractory_steps", i % 4 == 3 ? 2 : 0),
                        text("dtype", narrow       ? "f16"
                                      : i % 3 == 0 ? "bf16"
                                                   : "f32")};
        ++i;
        SCOPED_TRACE(testing::Message() << model << " " << reset << " " << tape);
        std::vector<float> in[2], out[2];
        for (const bool is_cycle : {false, true}) {
          plan.is_cycle = is_cycle;
          const Network network = built(context, plan);
          give_training(context, network, plan);
          trained(network, 1);
          in[is_cycle ? 1 : 0] = weights_of<float>(network, "in", "weight_gradient", 37 * 21);
          out[is_cycle ? 1 : 0] = weights_of<float>(network, "out", "weight", 37 * 5);
        }
        EXPECT_TRUE(same_bits(in[0], in[1]));
        EXPECT_TRUE(same_bits(out[0], out[1]));
        EXPECT_FALSE(all_are(in[0], 0.0F));
      }
}

// Rows of a batch that is not full count nowhere, whatever they did in a cycle.
TEST(Recurrence, LeavesOutRowsThatDoNotCount) {
  const Context context = make_context();
  Recurrent rows;
  rows.n_steps = 6;
  rows.delay = 2;
  std::vector<float> learnt[2];
  for (const bool is_larger : {false, true}) {
    Recurrent plan = rows;
    if (is_larger) plan.batch = 5;
    const Network network = built(context, plan);
    give_training(context, network, rows);
    trained(network, 2);
    EXPECT_FALSE(all_are(weights_of<float>(network, "back", "weight_gradient", 37 * 37), 0.0F));
    learnt[is_larger ? 1 : 0] = joined(weights_of<float>(network, "back", "weight", 37 * 37),
                                       weights_of<float>(network, "in", "weight", 37 * 21));
  }
  EXPECT_TRUE(same_bits(learnt[0], learnt[1]));
}

// Neurons that do not read themselves: the weights stay 0 in a training, and a file has no mask for it.
TEST(Recurrence, MayHaveNoSelfConnections) {
  const Context context = make_context();
  Recurrent plan;
  plan.has_no_self = true;
  const Network network = described(context, plan);
  std::vector<uint8_t> mask(37 * 37, 1);
  const auto connections = [&](synfire_network of) {
    const std::vector<float> weights = weights_of<float>(of, "back", "weight", 37 * 37);
    for (size_t i = 0; i < weights.size(); ++i) EXPECT_EQ(weights[i] != 0, i / 37 != i % 37 && mask[i] == 1) << i;
    return weights;
  };
  ASSERT_OK(synfire_network_build(network));
  const std::vector<float> initial = connections(network);
  give_training(context, network, plan);
  trained(network, 3);
  EXPECT_FALSE(same_bits(connections(network), initial));
  const std::vector<float> gradient = weights_of<float>(network, "back", "weight_gradient", 37 * 37);
  for (size_t i = 0; i < 37; ++i) EXPECT_EQ(gradient[i * 38], 0);
  EXPECT_FALSE(all_are(gradient, 0.0F));
  const File file = saved(network);
  EXPECT_EQ(FileParts(file).data.find("back.mask"), std::string::npos);
  const Network next = created(context, file);
  EXPECT_TRUE(saved(next) == file);
  EXPECT_TRUE(same_bits(connections(next), connections(network)));
  plan.has_no_self = false;
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-NETWORK-OTHER", "no_self_connections"),
               load(built(context, plan), file));

  // With a mask.
  plan.has_no_self = true;
  const Network masked = described(context, plan);
  for (size_t i = 0; i < mask.size(); i += 5) mask[i] = 0;
  ASSERT_OK(synfire_network_set_mask(masked, "back", mask.data(), mask.size()));
  ASSERT_OK(synfire_network_build(masked));
  connections(masked);

  // The neurons that read it are others than those that it reads.
  synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
  desc.n_steps = 2;
  synfire_network made = nullptr;
  ASSERT_OK(synfire_network_create(context, &desc, &made));
  const Network wider(made);
  ASSERT_OK(add_stage(wider, "input", "input", {text("kind", "spikes"), number("n_features", 7)}));
  EXPECT_FAILS(SYNFIRE_ERROR_INVALID_ARGUMENT, WORDS("SYN-SYNAPSE-SELF", "wide", "7", "8"),
               add_stage(wider, "synapse", "wide", {number("n_outputs", 8), number("no_self_connections", 1)}));
}

// Gradients of parameters add up over the steps.
TEST(Recurrence, TrainsParameters) {
  const Context context = make_context();
  Recurrent plan;
  plan.dtype = SYNFIRE_DTYPE_F64;
  plan.n_steps = 9;
  plan.is_of_zeros = true;
  double tau[2] = {};
  for (const bool is_cycle : {false, true}) {
    plan.is_cycle = is_cycle;
    const Network network = described(context, plan);
    ASSERT_OK(synfire_network_train_parameter(network, "hidden", "tau", 0, 1, 0, 1.01, 100));
    ASSERT_OK(synfire_network_build(network));
    give_training(context, network, plan);
    trained(network, 1);
    ASSERT_OK(synfire_network_get_value(network, "hidden", "tau", &tau[is_cycle ? 1 : 0]));
  }
  EXPECT_NE(tau[0], 2);
  EXPECT_NEAR(tau[0], tau[1], 1e-12);
}

// A sum in a cycle reads an input of any type as it reads a scale of it that changes nothing. Spikes of the cycle are
// an output beside the scores.
TEST(Recurrence, ReadsInputsInItsCycle) {
  const Context context = make_context();
  constexpr int64_t n_steps = 5, batch = 3;
  constexpr uint64_t n_features = 13;
  Random random(4);
  const std::vector<float> values = random.values<float>(batch * n_steps * n_features, -1, 2);
  std::vector<uint32_t> bits(batch * n_steps), time_bits(batch * n_features);
  std::vector<uint8_t> bytes(batch * n_steps * n_features);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = values[i] > 0 ? 1 : 0;
    const size_t row = i / n_features, n = i % n_features;
    bits[row] |= static_cast<uint32_t>(bytes[i]) << n;
    time_bits[row / n_steps * n_features + n] |= static_cast<uint32_t>(bytes[i]) << row % n_steps;
  }
  const auto buffer = [&](int32_t dtype, const auto& elements) {
    return buffer_of_bytes(context, dtype, elements.size(), elements.data(), elements.size() * sizeof(elements[0]));
  };
  const std::vector<uint32_t> labels = {0, 3, 4};
  const Buffer classes = buffer(SYNFIRE_DTYPE_U32, labels);
  for (const char* const dtype : {"f32", "bits", "time_bits", "u8"}) {
    SCOPED_TRACE(dtype);
    const std::string_view name = dtype;
    const Buffer rows = name == "f32"    ? buffer(SYNFIRE_DTYPE_F32, values)
                        : name == "bits" ? buffer(SYNFIRE_DTYPE_BITS, bits)
                        : name == "u8"   ? buffer(SYNFIRE_DTYPE_U8, bytes)
                                         : buffer(SYNFIRE_DTYPE_TIME_BITS, time_bits);
    std::vector<float> learnt[2], outputs[2];
    for (const bool is_scaled : {false, true}) {
      synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
      desc.n_steps = n_steps;
      desc.batch = batch;
      desc.seed = 2;
      desc.n_slots = 2;
      desc.transient_arrays = 1;
      synfire_network made = nullptr;
      ASSERT_OK(synfire_network_create(context, &desc, &made));
      const Network network(made);
      const StageValues outputs_of_layer = {number("n_outputs", n_features), number("gain", 3)};
      ASSERT_OK(add_stage(
          network, "input", "input",
          {text("kind", name == "f32" ? "values" : "spikes"), number("n_features", n_features), text("dtype", dtype)}));
      if (is_scaled) require_ok(add_stage(network, "scale", "one", {number("frozen", 1)}));
      ASSERT_OK(add_stage(network, "synapse", "back", outputs_of_layer, {after("hidden", 2)}));
      ASSERT_OK(add_stage(network, "sum", "x", {}, {reads(is_scaled ? "one" : "input"), reads("back")}));
      ASSERT_OK(add_stage(network, "neurons", "hidden", {text("model", "lif")}));
      ASSERT_OK(add_stage(network, "readout", "all", {text("reduction", "steps"), number("of_spikes", 1)}));
      ASSERT_OK(add_stage(network, "synapse", "out", {number("n_outputs", 5)}, {reads("hidden")}));
      ASSERT_OK(add_stage(network, "neurons", "potentials", {text("model", "li")}));
      ASSERT_OK(add_stage(network, "readout", "scores", {text("reduction", "mean")}));
      ASSERT_OK(add_stage(network, "loss", "loss", {text("kind", "cross_entropy")}));
      ASSERT_OK(add_stage(network, "optimizer", "sgd", {text("kind", "sgd"), number("learning_rate", 0.5)}));
      ASSERT_OK(synfire_network_build(network));
      ASSERT_OK(
          set_arrays(network, SYNFIRE_DATA_TRAINING, batch,
                     {array_of("input", SYNFIRE_ARRAY_INPUTS, rows), array_of("loss", SYNFIRE_ARRAY_LABELS, classes)}));
      trained(network, 3);
      const Buffer all = make_buffer(context, SYNFIRE_DTYPE_F32, batch * n_steps * n_features),
                   scores = make_buffer(context, SYNFIRE_DTYPE_F32, batch * 5);
      ASSERT_OK(
          infer_arrays(network, batch,
                       {array_of("input", SYNFIRE_ARRAY_INPUTS, rows), array_of("all", SYNFIRE_ARRAY_OUTPUTS, all),
                        array_of("scores", SYNFIRE_ARRAY_OUTPUTS, scores)}));
      learnt[is_scaled ? 1 : 0] = joined(weights_of<float>(network, "back", "weight", n_features * n_features),
                                         weights_of<float>(network, "out", "weight", n_features * 5));
      outputs[is_scaled ? 1 : 0] =
          joined(download<float>(all, batch * n_steps * n_features), download<float>(scores, batch * 5));
    }
    EXPECT_TRUE(same_bits(learnt[0], learnt[1]));
    EXPECT_TRUE(same_bits(outputs[0], outputs[1]));
    EXPECT_NE(std::ranges::count(outputs[0], 1.0F), 0);
  }
}

TEST(Recurrence, RefusesWhatCannotWork) {
  const Context context = make_context();
  Recurrent plan;
  const auto fresh = [&] {
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.n_steps = plan.n_steps;
    synfire_network made = nullptr;
    require_ok(synfire_network_create(context, &desc, &made));
    Network network(made);
    require_ok(add_stage(network, "input", "input",
                         {text("kind", "spikes"), number("height", 4), number("width", 4), number("channels", 2)}));
    require_ok(
        add_stage(network, "conv2d", "in", {number("output_channels", 3), number("kernel", 3), number("padding", 1)}));
    return network;
  };
  const StageValues outputs = {number("n_outputs", 48)},
                    like_in = {number("output_channels", 3), number("kernel", 3), number("padding", 1)};
  Network network = fresh();
  constexpr synfire_status order = SYNFIRE_ERROR_WRONG_ORDER, argument = SYNFIRE_ERROR_INVALID_ARGUMENT;
  for (const int64_t delay : std::vector<int64_t>{-1, 65536})
    EXPECT_FAILS(argument, WORDS("SYN-NETWORK-DELAY", "65535"),
                 add_stage(network, "synapse", "back", outputs, {after("hidden", delay)}));
  EXPECT_FAILS(argument, WORDS("SYN-NETWORK-READS", "hidden"),
               add_stage(network, "synapse", "back", outputs, {reads("hidden")}));
  EXPECT_FAILS(argument, WORDS("SYN-NETWORK-READS", "cycle"),
               add_stage(network, "synapse", "back", outputs, {after("back", 1)}));
  EXPECT_FAILS(argument, WORDS("SYN-NETWORK-PORT", "spikes"),
               add_stage(network, "synapse", "back", outputs, {{"hidden", "v", 1}}));
  EXPECT_FAILS(order, WORDS("SYN-NETWORK-AWAITS", "pool"),
               add_stage(network, "pool", "pool", {text("kind", "max")}, {after("hidden", 1)}));
  EXPECT_FAILS(order, WORDS("SYN-NETWORK-DELAY", "input"),
               add_stage(network, "synapse", "back", outputs, {after("input", 1)}));
  // A shape that is not known yet.
  ASSERT_OK(add_stage(network, "conv2d", "back", like_in, {after("hidden", 1)}));
  EXPECT_FAILS(order, WORDS("SYN-NETWORK-AWAITS", "back"), add_stage(network, "flatten", "flat", {}, {reads("back")}));
  const std::vector<uint8_t> mask(81, 1);
  EXPECT_FAILS(order, WORDS("SYN-NETWORK-AWAITS", "hidden"),
               synfire_network_set_mask(network, "back", mask.data(), mask.size()));
  EXPECT_FAILS(order, WORDS("SYN-NETWORK-AWAITS", "hidden"),
               add_stage(network, "conv2d", "same", {text("weights_of", "back")}, {reads("input")}));
  ASSERT_OK(add_stage(network, "sum", "x", {}, {reads("in"), reads("back")}));
  EXPECT_FAILS(order, WORDS("SYN-NETWORK-INCOMPLETE", "hidden"), synfire_network_build(network));
  char summary[4096];
  uint64_t bytes = sizeof summary;
  ASSERT_OK(synfire_network_write_summary(network, summary, &bytes));
  EXPECT_NE(std::string(summary).find("hidden-1"), std::string::npos) << summary;
  // A stage that is not neurons, and neurons that never fire; then the neurons.
  EXPECT_FAILS(order, WORDS("SYN-NETWORK-DELAY", "hidden"), add_stage(network, "scale", "hidden", {}, {reads("x")}));
  EXPECT_FAILS(order, WORDS("SYN-NETWORK-CHAIN", "never fire"),
               add_stage(network, "neurons", "hidden", {text("model", "li")}));
  ASSERT_OK(add_stage(network, "neurons", "hidden", {text("model", "lif")}));
  EXPECT_FAILS(order, WORDS("SYN-NETWORK-DELAY", "V"),
               add_stage(network, "synapse", "late", outputs, {{"hidden", "v", 2}}));
  EXPECT_FAILS(
      order, WORDS("SYN-NETWORK-DELAY", "readout"),
      add_stage(network, "readout", "mean", {text("reduction", "mean"), number("of_spikes", 1)}, {after("hidden", 2)}));
  ASSERT_OK(synfire_network_set_mask(network, "back", mask.data(), mask.size()));
  ASSERT_OK(synfire_network_build(network));
  // A map of another size.
  network = fresh();
  ASSERT_OK(add_stage(network, "conv2d", "back", {number("output_channels", 3)}, {after("hidden", 1)}));
  ASSERT_OK(add_stage(network, "pool", "half", {text("kind", "sum"), number("window", 2)}, {reads("in")}));
  ASSERT_OK(add_stage(network, "sum", "x", {}, {reads("in"), reads("back")}));
  EXPECT_FAILS(argument, WORDS("SYN-NETWORK-SHAPE", "x"),
               add_stage(network, "neurons", "hidden", {text("model", "if")}, {reads("half")}));
  // A stage that takes all steps at once, and too many of them.
  network = fresh();
  ASSERT_OK(add_stage(network, "conv2d", "back", like_in, {after("hidden", 1)}));
  ASSERT_OK(add_stage(network, "sum", "x", {}, {reads("in"), reads("back")}));
  ASSERT_OK(add_stage(network, "normalization", "norm", {}, {reads("x")}));
  EXPECT_FAILS(order, WORDS("SYN-NETWORK-CYCLE", "back", "x", "norm", "hidden"),
               add_stage(network, "neurons", "hidden", {text("model", "if")}));
  plan.n_steps = 4097;
  network = fresh();
  ASSERT_OK(add_stage(network, "conv2d", "back", like_in, {after("hidden", 1)}));
  ASSERT_OK(add_stage(network, "sum", "x", {}, {reads("in"), reads("back")}));
  EXPECT_FAILS(argument, WORDS("SYN-NETWORK-CYCLE", "4096"),
               add_stage(network, "neurons", "hidden", {text("model", "if")}));
}

}  // namespace
}  // namespace synfire_test
