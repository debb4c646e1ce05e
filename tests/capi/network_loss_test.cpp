// The loss that a network reports is the one that it minimises: against the definitions of PyTorch written out here, in
// f64, from the scores of an inference; and against the gradients that a training step takes.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "network_by_hand.hpp"

namespace synfire_test {
namespace {

constexpr uint32_t ignored = 77;

// Every option of a loss. The data have a weight, a length and labels or targets for each row.
struct LossPlan {
  bool squared = false, targets = false, per_step = false;
  bool class_weights = false, sample_weights = false, lengths = false, ignores = false;
  double smoothing = 0;
  int64_t n_rows = 7, batch = 3;
  int32_t dtype = SYNFIRE_DTYPE_F64;
};
std::ostream& operator<<(std::ostream& out, const LossPlan& p) {
  return out << (p.squared ? "squared errors" : "cross-entropy") << " targets " << p.targets << " per step "
             << p.per_step << " class weights " << p.class_weights << " sample weights " << p.sample_weights
             << " lengths " << p.lengths << " ignores " << p.ignores << " smoothing " << p.smoothing << " rows "
             << p.n_rows << " of " << p.batch << " type " << p.dtype;
}

constexpr int64_t n_steps = 4, n_inputs = 5, n_classes = 3;

class LossNetwork {
 public:
  LossNetwork(synfire_context context, const LossPlan& plan) : context_(context), plan_(plan) {
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.dtype = plan.dtype;
    desc.n_steps = n_steps;
    desc.batch = plan.batch;
    desc.seed = 3;
    synfire_network made = nullptr;
    require_ok(synfire_network_create(context, &desc, &made));
    network = Network(made);
    const auto set = [&](const char* stage, const char* name, double value) {
      require_ok(synfire_network_set_value(network, stage, name, value));
    };
    require_ok(synfire_network_add_input(network, "input", SYNFIRE_NETWORK_INPUT_VALUES, n_inputs));
    require_ok(synfire_network_add_synapse(network, "synapse", n_classes));
    require_ok(synfire_network_add_neurons(network, "neurons", SYNFIRE_MODEL_LI));
    require_ok(synfire_network_add_readout(network, "scores",
                                           plan.per_step ? SYNFIRE_READOUT_STEPS : SYNFIRE_READOUT_MEAN, 0));
    require_ok(synfire_network_add_loss(network, "loss",
                                        plan.squared ? SYNFIRE_LOSS_MEAN_SQUARED_ERROR : SYNFIRE_LOSS_CROSS_ENTROPY));
    set("loss", "targets", plan.targets ? 1 : 0);
    set("loss", "per_step", plan.per_step ? 1 : 0);
    if (plan.ignores) {
      set("loss", "ignores_label", 1);
      set("loss", "ignored_label", ignored);
    }
    if (plan.smoothing != 0) set("loss", "label_smoothing", plan.smoothing);
    if (plan.class_weights) {
      class_weights_ = {0.25F, 4, 1.5F};
      require_ok(synfire_network_set_class_weights(network, "loss", class_weights_.data(), 3));
    }
    require_ok(synfire_network_add_optimizer(network, "optimizer", SYNFIRE_OPTIMIZER_KIND_SGD, 1));
    require_ok(synfire_network_build(network));
    draw();
  }

  // The mean loss over these rows, by the definitions of PyTorch: `CrossEntropyLoss` and `MSELoss`, whose means divide
  // by weights; sample weights count as copies of a row.
  double oracle() const {
    const std::vector<double> scores = infer();
    const int64_t steps = plan_.per_step ? n_steps : 1;
    double sum = 0, divisor = 0;
    for (int64_t b = 0; b < plan_.n_rows; ++b)
      for (int64_t t = 0; t < steps; ++t) {
        if (plan_.per_step && plan_.lengths && t >= static_cast<int64_t>(lengths_[at(b)])) continue;
        const int64_t sample = b * steps + t;
        if (!plan_.targets && labels_[at(sample)] == ignored) continue;
        const double row = plan_.sample_weights ? sample_weights_[at(b)] : 1;
        const double* const x = &scores[at(sample * n_classes)];
        double logs[n_classes], all = 0;
        const double most = *std::max_element(x, x + n_classes);
        for (int c = 0; c < n_classes; ++c) all += std::exp(x[c] - most);
        for (int c = 0; c < n_classes; ++c) logs[c] = x[c] - most - std::log(all);
        for (uint32_t c = 0; c < n_classes; ++c) {
          const double weight = class_weights_.empty() ? 1 : static_cast<double>(class_weights_[at(c)]);
          const double y = plan_.targets ? targets_[at(sample * n_classes + c)] : c == labels_[at(sample)] ? 1 : 0;
          if (plan_.squared) {
            sum += row * weight * (x[c] - y) * (x[c] - y);
            divisor += row * weight;
          } else {
            sum -= row * weight * ((1 - plan_.smoothing) * y + plan_.smoothing / n_classes) * logs[c];
            if (!plan_.targets) divisor += row * weight * y;
          }
        }
        if (!plan_.squared && plan_.targets) divisor += row;
      }
    return sum / divisor;
  }

  double evaluated() const {
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    require_ok(synfire_network_evaluate(network, &result));
    EXPECT_EQ(result.rate_loss, 0);
    return result.loss;
  }
  // One epoch that changes nothing.
  double trained_without_steps() const {
    require_ok(synfire_network_set_value(network, "optimizer", "learning_rate", 0));
    return trained();
  }
  double trained() const {
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    require_ok(synfire_network_train(network, 0, &result));
    return result.loss;
  }

  Synapse synapse() const {
    synfire_synapse handle = nullptr;
    require_ok(synfire_network_get_synapse(network, "synapse", &handle));
    return Synapse(handle);
  }

  Network network = {};

 private:
  static size_t at(int64_t i) { return static_cast<size_t>(i); }

  template <class Number>
  Buffer buffer_of(const std::vector<double>& values) const {
    return make_buffer_of(context_, std::vector<Number>(values.begin(), values.end()));
  }
  Buffer numbers(const std::vector<double>& values) const {
    return plan_.dtype == SYNFIRE_DTYPE_F64 ? buffer_of<double>(values) : buffer_of<float>(values);
  }
  Buffer words(const std::vector<uint32_t>& values) const {
    return buffer_of_bytes(context_, SYNFIRE_DTYPE_U32, values.size(), values.data(), values.size() * 4);
  }

  void draw() {
    Random random(17);
    const int64_t steps = plan_.per_step ? n_steps : 1, samples = plan_.n_rows * steps;
    inputs_ = random.values<double>(at(plan_.n_rows * n_steps * n_inputs), -2, 2);
    labels_.resize(at(samples));
    for (uint32_t& label : labels_) label = static_cast<uint32_t>(random.whole(0, n_classes - 1));
    if (plan_.ignores) labels_[1] = labels_[4] = ignored;
    targets_ = random.values<double>(at(samples * n_classes), 0, 1);
    lengths_.resize(at(plan_.n_rows));
    for (uint32_t& length : lengths_) length = static_cast<uint32_t>(random.whole(1, n_steps));
    sample_weights_ = random.values<double>(at(plan_.n_rows), 0.25, 3);
    for (double& weight : sample_weights_) weight = static_cast<double>(static_cast<float>(weight));
    if (plan_.dtype == SYNFIRE_DTYPE_F32)
      for (std::vector<double>* const list : {&inputs_, &targets_})
        for (double& number : *list) number = static_cast<double>(static_cast<float>(number));
    const Buffer inputs = numbers(inputs_), labels = words(labels_), targets = numbers(targets_),
                 lengths = words(lengths_), weights = buffer_of<float>(sample_weights_);
    for (const int32_t kind : {SYNFIRE_DATA_TRAINING, SYNFIRE_DATA_EVALUATION})
      require_ok(synfire_network_set_data(network, kind, plan_.n_rows, inputs, plan_.targets ? nullptr : labels.get(),
                                          plan_.targets ? targets.get() : nullptr,
                                          plan_.lengths ? lengths.get() : nullptr,
                                          plan_.sample_weights ? weights.get() : nullptr));
  }

  // The scores of all rows, [R, C] or [R, T, C]. Steps beyond the length of a row are 0 for the network.
  std::vector<double> infer() const {
    std::vector<double> given = inputs_;
    const int64_t steps = plan_.per_step ? n_steps : 1;
    const auto count = static_cast<uint64_t>(plan_.n_rows * steps * n_classes);
    const Buffer inputs = numbers(given), outputs = make_buffer(context_, plan_.dtype, count);
    require_ok(synfire_network_infer(network, inputs, plan_.n_rows, outputs));
    if (plan_.dtype == SYNFIRE_DTYPE_F64) return download<double>(outputs, count);
    const std::vector<float> narrow = download<float>(outputs, count);
    return {narrow.begin(), narrow.end()};
  }

  synfire_context context_;
  const LossPlan plan_;
  std::vector<double> inputs_, targets_, sample_weights_;
  std::vector<uint32_t> labels_, lengths_;
  std::vector<float> class_weights_;
};

std::vector<LossPlan> every_plan() {
  std::vector<LossPlan> plans;
  for (int choice = 0; choice < 256; ++choice) {
    const auto chosen = [&](int bit) { return (choice >> bit & 1) != 0; };
    LossPlan plan;
    plan.squared = chosen(0);
    plan.targets = chosen(1);
    plan.per_step = chosen(2);
    plan.class_weights = chosen(3);
    plan.sample_weights = chosen(4);
    plan.lengths = chosen(5) && plan.per_step;  // a readout of fewer steps does not concern the loss
    plan.ignores = chosen(6) && !plan.targets;
    if (chosen(7) && !plan.squared) plan.smoothing = 0.2;
    if (chosen(5) == plan.lengths && chosen(6) == plan.ignores && chosen(7) == (plan.smoothing != 0))
      plans.push_back(plan);
  }
  return plans;
}

class NetworkLoss : public testing::Test {
 protected:
  Context context = make_context();
};

TEST_F(NetworkLoss, IsTheMeanOfPyTorchForEveryOption) {
  for (LossPlan plan : every_plan())
    for (const int32_t dtype : {SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F32}) {
      plan.dtype = dtype;
      SCOPED_TRACE(testing::Message() << plan);
      const LossNetwork network(context, plan);
      const double expected = network.oracle(), tolerance = dtype == SYNFIRE_DTYPE_F64 ? 1e-12 : 2e-6;
      EXPECT_NEAR(network.evaluated(), expected, tolerance * (1 + expected));
      // Three batches in an order of their own, the last one with one row.
      EXPECT_NEAR(network.trained_without_steps(), expected, tolerance * (1 + expected));
    }
}

// A network with one row, one batch or many batches reports the same loss.
TEST_F(NetworkLoss, DoesNotDependOnTheSizeOfABatch) {
  LossPlan plan;
  plan.class_weights = plan.sample_weights = true;
  const double expected = LossNetwork(context, plan).evaluated();
  for (const int64_t batch : {1, 2, 7, 100}) {
    plan.batch = batch;
    EXPECT_NEAR(LossNetwork(context, plan).evaluated(), expected, 1e-12) << batch;
  }
}

// The gradient of a step is the derivative of the loss that is reported for it.
TEST_F(NetworkLoss, IsTheOneWhoseGradientAStepTakes) {
  for (LossPlan plan : every_plan()) {
    plan.batch = plan.n_rows;
    SCOPED_TRACE(testing::Message() << plan);
    const LossNetwork network(context, plan);
    const Synapse synapse = network.synapse();
    constexpr size_t n_weights = n_inputs * n_classes;
    std::vector<double> weights(n_weights), gradient(n_weights);
    require_ok(synfire_synapse_read(synapse, "weight", weights.data(), n_weights * sizeof(double)));
    EXPECT_NEAR(network.trained_without_steps(), network.evaluated(), 1e-12);
    require_ok(synfire_synapse_read(synapse, "weight_gradient", gradient.data(), n_weights * sizeof(double)));
    const auto moved = [&](size_t k, double by) {
      std::vector<double> other = weights;
      other[k] += by;
      require_ok(synfire_synapse_write(synapse, "weight", other.data(), n_weights * sizeof(double)));
      return network.evaluated();
    };
    constexpr double step = 1e-5;
    for (const size_t k : {size_t{0}, size_t{6}, n_weights - 1})
      EXPECT_NEAR((moved(k, step) - moved(k, -step)) / (2 * step), gradient[k], 2e-8 * (1 + std::fabs(gradient[k])))
          << "weight " << k;
  }
}

// The factor of the gradient does not change the loss.
TEST_F(NetworkLoss, IsNotScaled) {
  LossPlan plan;
  plan.class_weights = true;
  const LossNetwork network(context, plan);
  const double expected = network.oracle();
  require_ok(synfire_network_set_value(network.network, "loss", "gradient_scale", 1000));
  EXPECT_NEAR(network.trained_without_steps(), expected, 1e-12 * (1 + expected));
  EXPECT_NEAR(network.evaluated(), expected, 1e-12 * (1 + expected));
}

// If no sample counts, or all weigh 0, the mean is 0, as the gradient is.
TEST_F(NetworkLoss, OfNothingIsZero) {
  LossPlan plan;
  const LossNetwork network(context, plan);
  const Buffer inputs = make_buffer_of(context, std::vector<double>(n_steps * n_inputs, 0.5));
  const std::vector<uint32_t> label = {1};
  const Buffer labels = buffer_of_bytes(context, SYNFIRE_DTYPE_U32, 1, label.data(), 4),
               weights = make_buffer_of(context, std::vector<float>{0});
  require_ok(
      synfire_network_set_data(network.network, SYNFIRE_DATA_EVALUATION, 1, inputs, labels, nullptr, nullptr, weights));
  EXPECT_EQ(network.evaluated(), 0);
}

// ---- rates that are drawn to a target -------------------------------------------------------------------------------

class RateNetwork {
 public:
  RateNetwork(synfire_context context, int64_t batch, bool of_layer, double strength, double scale = 1)
      : batch_(batch) {
    synfire_network_desc desc = SYNFIRE_NETWORK_DESC_INIT;
    desc.n_steps = n_steps;
    desc.batch = batch;
    synfire_network made = nullptr;
    require_ok(synfire_network_create(context, &desc, &made));
    network = Network(made);
    require_ok(synfire_network_add_input(network, "input", SYNFIRE_NETWORK_INPUT_VALUES, n_inputs));
    require_ok(synfire_network_add_synapse(network, "first", n_hidden));
    require_ok(synfire_network_set_value(network, "first", "gain", 4));
    require_ok(synfire_network_add_neurons(network, "hidden", SYNFIRE_MODEL_LIF));
    require_ok(synfire_network_set_value(network, "hidden", "rate_target", target));
    require_ok(synfire_network_set_value(network, "hidden", "rate_strength", strength));
    require_ok(synfire_network_set_value(network, "hidden", "rate_of_layer", of_layer ? 1 : 0));
    require_ok(synfire_network_add_synapse(network, "second", n_classes));
    require_ok(synfire_network_add_neurons(network, "scores", SYNFIRE_MODEL_LI));
    require_ok(synfire_network_add_readout(network, "readout", SYNFIRE_READOUT_MEAN, 0));
    require_ok(synfire_network_add_loss(network, "loss", SYNFIRE_LOSS_CROSS_ENTROPY));
    require_ok(synfire_network_set_value(network, "loss", "gradient_scale", scale));
    require_ok(synfire_network_add_optimizer(network, "optimizer", SYNFIRE_OPTIMIZER_KIND_SGD, 1));
    require_ok(synfire_network_set_value(network, "optimizer", "learning_rate", 0));
    require_ok(synfire_network_build(network));
    Random random(5);
    const Buffer inputs = make_buffer_of(context, random.values<float>(n_rows * n_steps * n_inputs, -1, 2));
    std::vector<uint32_t> classes(n_rows);
    for (size_t i = 0; i < classes.size(); ++i) classes[i] = static_cast<uint32_t>(i % n_classes);
    const Buffer labels = buffer_of_bytes(context, SYNFIRE_DTYPE_U32, n_rows, classes.data(), n_rows * 4);
    for (const int32_t kind : {SYNFIRE_DATA_TRAINING, SYNFIRE_DATA_EVALUATION})
      require_ok(synfire_network_set_data(network, kind, n_rows, inputs, labels, nullptr, nullptr, nullptr));
  }

  synfire_network_result evaluated() const {
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    require_ok(synfire_network_evaluate(network, &result));
    return result;
  }
  synfire_network_result trained() const {
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    require_ok(synfire_network_train(network, 0, &result));
    return result;
  }
  // strength * mean of (rate - target)^2 over the neurons, or that of their mean rate, of the batch that was last.
  double oracle(int64_t rows, bool of_layer, double strength) const {
    synfire_buffer handle = nullptr;
    require_ok(synfire_network_get_buffer(network, "hidden.spikes", &handle));
    const Buffer spikes(handle);
    const std::vector<uint32_t> words = download<uint32_t>(spikes, static_cast<size_t>(n_steps * batch_));
    double counts[n_hidden] = {}, loss = 0, all = 0;
    for (int64_t t = 0; t < n_steps; ++t)
      for (int64_t b = 0; b < rows; ++b)
        for (int n = 0; n < n_hidden; ++n) counts[n] += words[static_cast<size_t>(t * batch_ + b)] >> n & 1;
    for (double& count : counts) {
      count /= static_cast<double>(n_steps * rows);
      all += count / n_hidden;
      loss += (count - target) * (count - target) / n_hidden;
    }
    return strength * (of_layer ? (all - target) * (all - target) : loss);
  }

  static constexpr int64_t n_rows = 5;
  static constexpr int n_hidden = 11;
  static constexpr double target = 0.3;
  Network network = {};

 private:
  const int64_t batch_;
};

TEST_F(NetworkLoss, HasThatOfRatesAndSaysHowMuchItIs) {
  for (const bool of_layer : {false, true}) {
    const RateNetwork with(context, 5, of_layer, 0.75), without(context, 5, of_layer, 0);
    const synfire_network_result result = with.evaluated();
    EXPECT_GT(result.rate_loss, 0);
    EXPECT_NEAR(result.rate_loss, with.oracle(5, of_layer, 0.75), 1e-12);
    EXPECT_NEAR(result.loss - result.rate_loss, without.evaluated().loss, 1e-12);
    EXPECT_EQ(without.evaluated().rate_loss, 0);
    const synfire_network_result trained = with.trained();
    EXPECT_NEAR(trained.rate_loss, with.oracle(5, of_layer, 0.75), 1e-12);
    EXPECT_NEAR(trained.loss, result.loss, 1e-6);
    // Neither is scaled.
    EXPECT_NEAR(RateNetwork(context, 5, of_layer, 0.75, 1000).trained().loss, trained.loss, 1e-12);
  }
}

// Over several batches it is their mean: here of three, the last one with one row.
TEST_F(NetworkLoss, OfRatesIsTheMeanOverBatches) {
  const RateNetwork all(context, 2, false, 0.5);
  const double mean = all.evaluated().rate_loss;
  EXPECT_NEAR(all.evaluated().rate_loss, mean, 0) << "an evaluation leaves no trace";
  double sum = all.oracle(1, false, 0.5);  // the last batch
  // Each of the others alone, as the last batch of a data set of its own.
  for (const int64_t first : {0, 2}) {
    const RateNetwork one(context, 2, false, 0.5);
    Random random(5);
    const std::vector<float> rows = random.values<float>(RateNetwork::n_rows * n_steps * n_inputs, -1, 2);
    const Buffer inputs =
        make_buffer_of(context, slice(rows, static_cast<size_t>(first * n_steps * n_inputs), 2 * n_steps * n_inputs));
    const std::vector<uint32_t> classes = {0, 1};
    const Buffer labels = buffer_of_bytes(context, SYNFIRE_DTYPE_U32, 2, classes.data(), 8);
    require_ok(
        synfire_network_set_data(one.network, SYNFIRE_DATA_EVALUATION, 2, inputs, labels, nullptr, nullptr, nullptr));
    const double alone = one.evaluated().rate_loss;
    EXPECT_NEAR(alone, one.oracle(2, false, 0.5), 1e-12);
    sum += one.oracle(2, false, 0.5);
  }
  EXPECT_NEAR(mean, sum / 3, 1e-12);
}

}  // namespace
}  // namespace synfire_test
