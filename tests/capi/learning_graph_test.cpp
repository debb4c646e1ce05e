// A graph with every operation of learning (../learning_graph.h), changed between its replays: operations disabled,
// values set, buffers bound, slots, and training that continues from what was saved.
#include <algorithm>
#include <stdexcept>
#include <string>

#include "recording_support.hpp"
#include "support.hpp"

namespace {

void require(synfire_status status, const char* what) {
  if (status < 0) throw std::runtime_error(std::string(what) + ": " + synfire_test::last_error_text());
}

}  // namespace

#include "../learning_graph.h"

namespace synfire_test {
namespace {

constexpr learning_sizes sizes = {23, 5, 4, 37, 20, 3};  // the last batch of an epoch has 3 rows

class Training {
 public:
  explicit Training(synfire_context context, uint32_t n_slots = 0, uint64_t seed = 1)
      : l_(make_learning(context, sizes, n_slots)) {
    Random random(seed);
    upload(l_.images, random.values<float>(static_cast<size_t>(sizes.rows * sizes.inputs), 0, 0.6));
    std::vector<uint32_t> labels;
    for (int64_t row = 0; row < sizes.rows; ++row)
      labels.push_back(static_cast<uint32_t>(random.whole(0, sizes.classes - 1)));
    upload(l_.labels, labels);
  }
  ~Training() { destroy_learning(&l_); }
  Training(const Training&) = delete;
  Training& operator=(const Training&) = delete;

  const learning& operator*() const { return l_; }
  const learning* operator->() const { return &l_; }

  void train(int n_steps) const {
    for (int i = 0; i < n_steps; ++i) replay(l_.graph);
  }

  // Everything that a step reads and writes for the next one.
  struct State {
    std::vector<std::vector<float>> arrays;
    std::vector<double> tau;
    std::vector<double> counts;  // of the optimiser: any 8 bytes
    std::vector<std::vector<float>> potentials;
  };
  State state() const {
    State s;
    each_array([&](auto read, auto, size_t count) {
      s.arrays.emplace_back(count);
      EXPECT_OK(read(s.arrays.back().data(), count * sizeof(float)));
    });
    s.tau = get_parameter(l_.hidden, "tau");
    for (const char* name : names_of_counts) {
      s.counts.emplace_back();
      EXPECT_OK(synfire_optimizer_read(l_.optimizer, -1, name, &s.counts.back(), 8));
    }
    s.potentials = {read_state<float>(l_.hidden, static_cast<size_t>(sizes.batch * sizes.neurons)),
                    read_state<float>(l_.readout, static_cast<size_t>(sizes.batch * sizes.classes))};
    return s;
  }
  void restore(const State& s) const {
    size_t i = 0;
    each_array([&](auto, auto write, size_t count) { EXPECT_OK(write(s.arrays[i++].data(), count * sizeof(float))); });
    set_parameter(l_.hidden, "tau", s.tau);
    for (size_t name = 0; name < s.counts.size(); ++name)
      EXPECT_OK(synfire_optimizer_write(l_.optimizer, -1, names_of_counts[name], &s.counts[name], 8));
  }

 private:
  static constexpr const char* names_of_counts[] = {"step_count", "skipped", "beta1_power", "beta2_power"};

  // Calls f with a function that reads an array, one that writes it, and its length.
  template <typename F>
  void each_array(F f) const {
    const int64_t lengths[] = {sizes.inputs * sizes.neurons, sizes.neurons, sizes.neurons * sizes.classes,
                               sizes.classes};
    const synfire_synapse synapses[] = {l_.first, l_.first, l_.second, l_.second};
    for (int32_t member = 0; member < 5; ++member) {
      const auto count = static_cast<size_t>(member < 4 ? lengths[member] : 1);
      if (member < 4)
        for (const std::string name : {"", "_gradient"}) {
          const std::string array = (member % 2 == 0 ? "weight" : "bias") + name;
          f([&](void* to, uint64_t bytes) { return synfire_synapse_read(synapses[member], array.c_str(), to, bytes); },
            [&](const void* from, uint64_t bytes) {
              return synfire_synapse_write(synapses[member], array.c_str(), from, bytes);
            },
            count);
        }
      for (const char* name : {"moment1", "moment2"})
        f([&](void* to, uint64_t bytes) { return synfire_optimizer_read(l_.optimizer, member, name, to, bytes); },
          [&](const void* from, uint64_t bytes) {
            return synfire_optimizer_write(l_.optimizer, member, name, from, bytes);
          },
          count);
    }
  }

  learning l_;
};

testing::AssertionResult same_state(const Training::State& a, const Training::State& b) {
  for (size_t i = 0; i < a.arrays.size(); ++i)
    if (auto result = same_bits(a.arrays[i], b.arrays[i]); !result) return result << " (array " << i << ")";
  for (size_t i = 0; i < a.potentials.size(); ++i)
    if (auto result = same_bits(a.potentials[i], b.potentials[i]); !result) return result << " (V " << i << ")";
  if (auto result = same_bits(a.tau, b.tau); !result) return result << " (tau)";
  return same_bits(a.counts, b.counts);
}

class LearningGraph : public testing::Test {
 protected:
  const Context context = make_context(), host = make_context_on(SYNFIRE_BACKEND_HOST);
};

// With one slot, with several, without a graph, with threads, and on the host.
TEST_F(LearningGraph, HoweverItIsLaunchedItLearnsTheSame) {
  constexpr int n_steps = 14;  // more than two epochs
  const Training one(context);
  const Training::State before = one.state();
  one.train(n_steps);
  const Training::State expected = one.state();
  EXPECT_FALSE(same_state(before, expected));
  const auto expect = [&](synfire_context on, uint32_t n_slots, const char* what) {
    const Training training(on, n_slots);
    training.train(n_steps);
    EXPECT_TRUE(same_state(training.state(), expected)) << what;
  };
  expect(context, SYNFIRE_SLOTS_SHARED, "shared slots");
  expect(context, 2, "two slots");
  expect(context, 5, "five slots");
  expect(host, 1, "on the host");
  expect(make_context(3), 1, "three threads");
  ASSERT_TRUE(set_environment("SYNFIRE_GRAPH", "0"));
  expect(context, 1, "without a graph");
  ASSERT_TRUE(set_environment("SYNFIRE_GRAPH", nullptr));
}

TEST_F(LearningGraph, TheDotTextNamesEveryOperation) {
  const Training training(context);
  uint64_t bytes = 0;
  EXPECT_OK(synfire_graph_write_dot(training->graph, nullptr, &bytes));
  std::string dot(bytes, '\0');
  EXPECT_OK(synfire_graph_write_dot(training->graph, dot.data(), &bytes));
  for (int32_t i = 0; i <= training->step; ++i)
    EXPECT_NE(dot.find(std::to_string(i) + ": "), std::string::npos) << i << " is not in\n" << dot;
  for (const char* name : {"shuffle", "gather", "encode", "dropout", "synapse", "forward, lif", "forward, li ", "mean",
                           "cross-entropy", "rate", "backward, lif", "backward, li ", "optimizer step"})
    EXPECT_NE(dot.find(name), std::string::npos) << name << " is not in\n" << dot;
}

// An operation that is left out for some replays: the same on both backends, and the optimiser's step changes nothing
// then. A launch that is refused, because a backward would read a tape that is stale, is refused by both.
TEST_F(LearningGraph, EachOperationIsDisabledAndEnabledAgain) {
  const int32_t n_operations = Training(host)->step + 1;
  for (int32_t operation = 0; operation < n_operations; ++operation) {
    SCOPED_TRACE(operation);
    std::vector<synfire_status> statuses[2];
    Training::State states[2];
    for (const bool on_the_host : {false, true}) {
      const Training training(on_the_host ? host : context);
      const auto launch = [&](int count) {
        for (int i = 0; i < count; ++i) {
          uint64_t ticket = 0;
          statuses[on_the_host].push_back(synfire_graph_launch(training->graph, nullptr, &ticket));
          if (statuses[on_the_host].back() == SYNFIRE_OK) wait(training->graph, ticket);
        }
      };
      launch(2);
      const Training::State before = training.state();
      EXPECT_OK(synfire_graph_set_enabled(training->graph, operation, 0));
      launch(2);
      if (operation == training->step) {
        EXPECT_EQ(training.state().tau, before.tau);
        EXPECT_TRUE(same_bits(training.state().arrays[0], before.arrays[0]));
      }
      EXPECT_OK(synfire_graph_set_enabled(training->graph, operation, 1));
      launch(2);
      EXPECT_EQ(statuses[on_the_host].back(), SYNFIRE_OK);
      states[on_the_host] = training.state();
    }
    EXPECT_EQ(statuses[0], statuses[1]);
    EXPECT_TRUE(same_state(states[0], states[1]));
  }
}

TEST_F(LearningGraph, ValuesOfItsOperationsChangeBetweenReplays) {
  const Training training(context);
  training.train(2);
  const Training::State before = training.state();
  EXPECT_OK(synfire_graph_set_value(training->graph, training->step, "learning_rate", 0));
  training.train(3);
  const Training::State resting = training.state();
  EXPECT_TRUE(same_bits(resting.arrays[0], before.arrays[0])) << "weights";
  EXPECT_EQ(resting.tau, before.tau);
  EXPECT_OK(synfire_graph_set_value(training->graph, training->step, "learning_rate", 1e-3));
  EXPECT_OK(synfire_graph_set_value(training->graph, training->dropout, "probability", 0));
  EXPECT_OK(synfire_graph_set_value(training->graph, training->rate_loss, "strength", 0));
  EXPECT_OK(synfire_graph_set_value(training->graph, training->loss_operation, "gradient_scale", 0));
  training.train(1);
  const std::vector<float> gradients = training.state().arrays[1];
  EXPECT_TRUE(std::all_of(gradients.begin(), gradients.end(), [](float g) { return g == 0; })) << "no loss is left";
  EXPECT_FALSE(same_bits(training.state().arrays[0], before.arrays[0])) << "but moments are";
}

// Another data set, in pinned memory, from the next launch on.
TEST_F(LearningGraph, AnotherDataSetIsBound) {
  for (const uint32_t n_slots : {uint32_t{1}, uint32_t{3}}) {
    const Training first(context, n_slots, 1), second(context, n_slots, 1), other(context, n_slots, 2);
    for (const Training* training : {&first, &second}) training->train(2);
    EXPECT_OK(synfire_graph_rebind(first->graph, first->images, other->images));
    EXPECT_OK(synfire_graph_rebind(first->graph, first->labels, other->labels));
    second.train(0);
    upload(second->images, download<float>(other->images, static_cast<size_t>(sizes.rows * sizes.inputs)));
    upload(second->labels, download<uint32_t>(other->labels, static_cast<size_t>(sizes.rows)));
    for (const Training* training : {&first, &second}) training->train(4);
    EXPECT_TRUE(same_state(first.state(), second.state())) << n_slots << " slots";
    EXPECT_OK(synfire_graph_rebind(first->graph, other->images, first->images));
    EXPECT_OK(synfire_graph_rebind(first->graph, other->labels, first->labels));
    first.train(2);
    second.train(2);
    EXPECT_FALSE(same_state(first.state(), second.state())) << "the old one again";
  }
}

// Training continues from the values that were read, snapshots of the layers, and the numbers of the draws.
TEST_F(LearningGraph, TrainingContinuesFromWhatWasSaved) {
  const Training training(context), again(context);
  const synfire_state_desc all = rows_desc(0, 0);
  training.train(3);
  const Training::State saved = training.state();
  std::vector<std::vector<unsigned char>> snapshots;
  for (const synfire_layer layer : {training->hidden, training->readout}) {
    uint64_t bytes = 0;
    EXPECT_OK(synfire_layer_snapshot(layer, &all, nullptr, &bytes));
    snapshots.emplace_back(bytes);
    EXPECT_OK(synfire_layer_snapshot(layer, &all, snapshots.back().data(), &bytes));
  }
  training.train(5);
  const Training::State expected = training.state();
  for (const Training* to : {&training, &again}) {
    to->restore(saved);
    const synfire_layer layers[] = {(*to)->hidden, (*to)->readout};
    for (size_t i = 0; i < 2; ++i)
      EXPECT_OK(synfire_layer_restore(layers[i], &all, snapshots[i].data(), snapshots[i].size()));
    // The operations that draw: three batches, steps of three batches, three masks.
    EXPECT_OK(synfire_graph_set_value((*to)->graph, 0, "offset", 3));
    EXPECT_OK(synfire_graph_set_value((*to)->graph, 3, "offset", 3.0 * sizes.steps));
    EXPECT_OK(synfire_graph_set_value((*to)->graph, (*to)->dropout, "offset", 3));
    EXPECT_TRUE(same_state(to->state(), saved)) << "restored";
    to->train(5);
    EXPECT_TRUE(same_state(to->state(), expected)) << (to == &again ? "in another graph" : "in the same graph");
  }
}

}  // namespace
}  // namespace synfire_test
