// Networks drawn at random as graphs of stages: their losses and gradients against automatic differentiation of plain
// formulas in f64; the same bits on every backend, with any number of threads, from file to file, and for a row alone;
// and, where nothing fires, against central differences.
#include <cmath>
#include <map>
#include <optional>

#include "autodiff.hpp"
#include "network_file.hpp"
#include "random_graphs.hpp"

#include "../sample.hpp"

namespace synfire_test {
namespace {

template <class Handle, class Get>
Owned<Handle> part(Get get) {
  Handle handle = nullptr;
  require_ok(get(&handle));
  return Owned<Handle>(handle);
}
Synapse synapse_of(synfire_network network, const std::string& stage) {
  return part<synfire_synapse>([&](auto* out) { return synfire_network_get_synapse(network, stage.c_str(), out); });
}
int64_t length_of(synfire_synapse synapse, const char* array) {
  synfire_synapse_array_info info = SYNFIRE_SYNAPSE_ARRAY_INFO_INIT;
  for (uint32_t i = 0; synfire_synapse_get_array_info(synapse, i, &info) == SYNFIRE_OK; ++i) {
    if (std::string_view(info.name) != array) continue;
    int64_t length = 1;
    for (int32_t d = 0; d < static_cast<int32_t>(info.n_dimensions); ++d) length *= info.shape[d];
    return length;
  }
  return 0;
}
std::vector<double> numbers_of(synfire_synapse synapse, const char* name, int64_t count) {
  std::vector<double> values(static_cast<size_t>(count));
  require_ok(synfire_synapse_read(synapse, name, values.data(), values.size() * sizeof(double)));
  return values;
}

// ---- the oracle -----------------------------------------------------------------------------------------------------

bool has_own_weights(const DrawnStage& stage) {
  if (stage.kind == "normalization") return stage.values.front().number == 1;  // affine
  return ((stage.kind == "synapse" || stage.kind == "conv2d") && stage.word.empty()) || stage.kind == "scale" ||
         stage.kind == "delayed";
}

struct Weights {
  std::vector<Number> weight, bias;
  std::vector<Number> delay;  // of a synapse with delays, learnt or not
  double width = 0;           // of learnt ones
};

class Oracle {
 public:
  Oracle(const DrawnGraph& graph, synfire_network network, const std::vector<DrawnArray>& data)
      : graph_(graph), spikes_(graph.stages.size()), v_(graph.stages.size()) {
    for (const DrawnStage& stage : graph.stages)
      if (has_own_weights(stage)) take(network, stage);
    for (const DrawnArray& one : data) data_[one.stage] = &one.numbers;
    for (size_t i = 0; i < graph.stages.size(); ++i) {
      done_.emplace_back(static_cast<size_t>(graph.n_steps));
      const auto n =
          static_cast<size_t>(graph.stages[i].made.n_steps * graph.batch * graph.stages[i].made.n_features());
      spikes_[i].resize(n);
      if (graph.stages[i].made.is_neurons) v_[i].resize(n);
    }
    for (size_t i = 0; i < graph.stages.size(); ++i)
      for (size_t t = 0; t < steps_of(i); ++t) compute(i, t);
    tape_.differentiate(loss_);
  }

  double loss() const { return loss_.value(); }
  double loss_of(size_t stage) const { return losses_.at(stage); }
  std::vector<double> gradient(const std::string& stage, bool of_bias) const {
    std::vector<double> values;
    const Weights& weights = weights_.at(stage);
    for (const Number& number : of_bias ? weights.bias : weights.weight) values.push_back(tape_.gradient(number));
    return values;
  }
  std::vector<double> delay_gradient(const std::string& stage) const {
    std::vector<double> values;
    for (const Number& number : weights_.at(stage).delay) values.push_back(tape_.gradient(number));
    return values;
  }
  const std::map<std::string, Weights>& weights() const { return weights_; }

 private:
  using Array = std::vector<Number>;  // [T, B, N]

  void take(synfire_network network, const DrawnStage& stage) {
    const Synapse synapse = synapse_of(network, stage.name);
    Weights& weights = weights_[stage.name];
    if (stage.kind == "delayed")
      for (const double value : numbers_of(synapse, "delay", length_of(synapse, "delay")))
        weights.delay.push_back(tape_.variable(value));
    if (stage.word == "learnt") weights.width = numbers_of(synapse, "width", 1)[0];
    for (const double value : numbers_of(synapse, "weight", length_of(synapse, "weight")))
      weights.weight.push_back(tape_.variable(value));
    const int64_t n_biases = length_of(synapse, "bias");
    if (n_biases > 0)
      for (const double value : numbers_of(synapse, "bias", n_biases)) weights.bias.push_back(tape_.variable(value));
  }

  // An edge reads an array [T, B, N], and nothing before the first step.
  struct Input {
    const Array& array;
    size_t batch, width, delay;

    Number at(size_t t, size_t b, size_t n) const {
      return t < delay ? Number(0) : array[((t - delay) * batch + b) * width + n];
    }
  };
  Input read(const DrawnEdge& edge) const {
    return {edge.v ? v_[edge.from] : spikes_[edge.from], batch(), static_cast<size_t>(graph_.at(edge).n_features()),
            static_cast<size_t>(edge.delay)};
  }
  size_t batch() const { return static_cast<size_t>(graph_.batch); }
  size_t steps_of(size_t index) const { return static_cast<size_t>(graph_.stages[index].made.n_steps); }

  // True if one step of it needs all steps of what it reads.
  static bool needs_all_steps(const DrawnStage& stage) {
    return stage.kind == "loss" || stage.kind == "normalization" || (stage.kind == "readout" && stage.word != "steps");
  }
  void compute_inputs(const DrawnStage& stage, size_t step) {
    for (const DrawnEdge& edge : stage.inputs) {
      const size_t n_steps = steps_of(edge.from), delay = static_cast<size_t>(edge.delay);
      if (needs_all_steps(stage))
        for (size_t t = 0; t < n_steps; ++t) compute(edge.from, t);
      else if (step >= delay)
        for (size_t d = 0; d <= std::min(static_cast<size_t>(stage.max_delay), step - delay); ++d)
          compute(edge.from, n_steps == 1 ? 0 : step - delay - d);
    }
  }

  // Computes a step of a stage, after all that it follows from.
  void compute(size_t index, size_t step) {
    if (done_[index][step]) return;
    done_[index][step] = true;
    const DrawnStage& stage = graph_.stages[index];
    if (stage.made.is_neurons && step > 0) compute(index, step - 1);
    compute_inputs(stage, step);
    Array& made = spikes_[index];
    const auto n_steps = static_cast<size_t>(stage.made.n_steps), width = static_cast<size_t>(stage.made.n_features());
    const auto each = [&](auto body) {
      for (size_t b = 0; b < batch(); ++b)
        for (size_t n = 0; n < width; ++n) made[(step * batch() + b) * width + n] = body(step, b, n);
    };
    if (stage.kind == "input")
      each([&](size_t t, size_t b, size_t n) { return Number(data_.at(index)->at((b * n_steps + t) * width + n)); });
    else if (stage.kind == "synapse")
      compute_product(stage, each);
    else if (stage.kind == "delayed")
      compute_delayed(stage, each);
    else if (stage.kind == "conv2d")
      compute_convolution(stage, each);
    else if (stage.kind == "pool")
      compute_pool(stage, each);
    else if (stage.kind == "normalization")
      compute_normalization(stage, each);
    else if (stage.kind == "upsample" || stage.kind == "pad")
      compute_resized(stage, each);
    else if (stage.kind == "neurons")
      compute_neurons(index, step);
    else if (stage.kind == "readout")
      compute_readout(stage, each);
    else if (stage.kind == "loss")
      compute_loss(index, step);
    else if (stage.kind != "optimizer")
      compute_combined(stage, each);
  }

  template <class Each>
  void compute_product(const DrawnStage& stage, Each each) {
    const Weights& weights = weights_.at(stage.word.empty() ? stage.name : stage.word);
    const Input input = read(stage.inputs[0]);
    const auto k = static_cast<size_t>(graph_.at(stage.inputs[0]).n_features());
    each([&](size_t t, size_t b, size_t n) {
      Number sum = weights.bias.empty() ? Number(0) : weights.bias[n];
      for (size_t i = 0; i < k; ++i) sum = sum + weights.weight[n * k + i] * input.at(t, b, i);
      return sum;
    });
  }

  // The weights of a connection for each delay: all at one, or spread by a Gaussian.
  const std::vector<std::vector<Number>>& taps_of(const DrawnStage& stage, size_t n_inputs) {
    std::vector<std::vector<Number>>& taps = taps_[stage.name];
    if (!taps.empty()) return taps;
    const Weights& weights = weights_.at(stage.name);
    const auto n_taps = static_cast<size_t>(stage.max_delay) + 1;
    for (size_t i = 0; i < weights.weight.size(); ++i) {
      const Number delay = weights.delay[stage.word == "inputs"    ? i % n_inputs
                                         : stage.word == "outputs" ? i / n_inputs
                                                                   : i];
      std::vector<Number> parts(n_taps, Number(0));
      Number total = 0;
      for (size_t d = 0; d < n_taps; ++d) {
        const auto step = static_cast<double>(d);
        if (weights.width == 0) {
          if (delay.value() == step) parts[d] = weights.weight[i];
          continue;
        }
        const Number z = (Number(step) - delay) / Number(weights.width);
        parts[d] = exp(Number(-0.5) * z * z);
        total = total + parts[d];
      }
      if (weights.width != 0)
        for (Number& part : parts) part = weights.weight[i] * (part / total);
      taps.push_back(std::move(parts));
    }
    return taps;
  }
  template <class Each>
  void compute_delayed(const DrawnStage& stage, Each each) {
    const Weights& weights = weights_.at(stage.name);
    const Input input = read(stage.inputs[0]);
    const auto k = static_cast<size_t>(graph_.at(stage.inputs[0]).n_features());
    const std::vector<std::vector<Number>>& taps = taps_of(stage, k);
    each([&](size_t t, size_t b, size_t n) {
      Number sum = weights.bias.empty() ? Number(0) : weights.bias[n];
      for (size_t i = 0; i < k; ++i)
        for (size_t d = 0; d < taps.front().size() && d <= t; ++d)
          sum = sum + taps[n * k + i][d] * input.at(t - d, b, i);
      return sum;
    });
  }

  // The place of the input that tap k of output place o meets, or -1.
  static int64_t met(const DrawnWindow& window, bool transposed, int64_t length, int64_t o, int64_t k) {
    if (!transposed) {
      const int64_t at = o * window.stride + k * window.dilation - window.padding;
      return at >= 0 && at < length ? at : -1;
    }
    const int64_t distance = o + window.padding - k * window.dilation;
    return distance >= 0 && distance % window.stride == 0 && distance / window.stride < length
               ? distance / window.stride
               : -1;
  }
  // Calls body(tap, input place) for what an output place meets.
  template <class Body>
  void each_met(const DrawnStage& stage, int64_t place, Body body) const {
    const Drawn read = graph_.at(stage.inputs[0]);
    for (int64_t ky = 0; ky < stage.y.kernel; ++ky)
      for (int64_t kx = 0; kx < stage.x.kernel; ++kx) {
        const int64_t iy = met(stage.y, stage.transposed, read.height, place / stage.made.width, ky),
                      ix = met(stage.x, stage.transposed, read.width, place % stage.made.width, kx);
        if (iy >= 0 && ix >= 0) body(ky * stage.x.kernel + kx, static_cast<size_t>(iy * read.width + ix));
      }
  }
  template <class Each>
  void compute_convolution(const DrawnStage& stage, Each each) {
    const Weights& weights = weights_.at(stage.word.empty() ? stage.name : stage.word);
    const Input input = read(stage.inputs[0]);
    const Drawn read = graph_.at(stage.inputs[0]);
    const auto channels = static_cast<size_t>(read.channels), outputs = static_cast<size_t>(stage.made.channels),
               groups = static_cast<size_t>(stage.groups), of_group = channels / groups,
               taps = static_cast<size_t>(stage.y.kernel * stage.x.kernel);
    each([&](size_t t, size_t b, size_t n) {
      const size_t o = n % outputs, first = o / (outputs / groups) * of_group;
      Number sum = weights.bias.empty() ? Number(0) : weights.bias[o];
      each_met(stage, static_cast<int64_t>(n / outputs), [&](int64_t tap, size_t place) {
        for (size_t c = 0; c < of_group; ++c)
          sum = sum + weights.weight[(o * taps + static_cast<size_t>(tap)) * of_group + c] *
                          input.at(t, b, place * channels + first + c);
      });
      return sum;
    });
  }
  template <class Each>
  void compute_pool(const DrawnStage& stage, Each each) {
    const Input input = read(stage.inputs[0]);
    const auto channels = static_cast<size_t>(graph_.at(stage.inputs[0]).channels);
    const auto window = static_cast<double>(stage.y.kernel * stage.x.kernel);
    each([&](size_t t, size_t b, size_t n) {
      Number result = 0;
      bool is_first = true;
      each_met(stage, static_cast<int64_t>(n / channels), [&](int64_t, size_t place) {
        const Number one = input.at(t, b, place * channels + n % channels);
        if (stage.word != "max")
          result = result + one;
        else if (is_first || one.value() > result.value())
          result = one;
        is_first = false;
      });
      return stage.word == "mean" ? result / Number(window) : result;
    });
  }

  // It takes the statistics of the batch, or frozen ones, which are those of the start: a mean of 0, a variance of 1.
  template <class Each>
  void compute_normalization(const DrawnStage& stage, Each each) {
    const Input read_input = read(stage.inputs[0]);
    const Array& input = read_input.array;
    const auto channels = static_cast<size_t>(stage.made.channels),
               width = static_cast<size_t>(stage.made.n_features());
    std::vector<Number> means(channels), factors(channels);
    for (size_t c = 0; c < channels; ++c) {
      Number mean = 0, variance = 1;
      if (stage.number == 0) {
        const size_t count = input.size() / channels;
        const Number n(static_cast<double>(count));
        for (size_t i = c; i < input.size(); i += channels) mean = mean + input[i];
        mean = mean / n;
        variance = 0;
        for (size_t i = c; i < input.size(); i += channels) variance = variance + (input[i] - mean) * (input[i] - mean);
        variance = variance / n;
      }
      const double root = std::sqrt(variance.value() + 0.5);
      means[c] = mean;
      factors[c] = Tape::result(1 / root, variance, -0.5 / (root * root * root));
    }
    const auto found = weights_.find(stage.name);
    each([&](size_t t, size_t b, size_t n) {
      const size_t c = n % channels;
      const Number x = (input[(t * batch() + b) * width + n] - means[c]) * factors[c];
      return found == weights_.end() ? x : found->second.weight[c] * x + found->second.bias[c];
    });
  }
  template <class Each>
  void compute_resized(const DrawnStage& stage, Each each) {
    const Input input = read(stage.inputs[0]);
    const Drawn read = graph_.at(stage.inputs[0]);
    each([&](size_t t, size_t b, size_t n) {
      const auto i = static_cast<int64_t>(n);
      const int64_t place = i / read.channels, y = place / stage.made.width, x = place % stage.made.width;
      const bool larger = stage.kind == "upsample";
      const int64_t iy = larger ? y / stage.y.kernel : y - stage.y.padding,
                    ix = larger ? x / stage.x.kernel : x - stage.x.padding;
      if (iy < 0 || iy >= read.height || ix < 0 || ix >= read.width) return Number(0);
      return input.at(t, b, static_cast<size_t>((iy * read.width + ix) * read.channels + i % read.channels));
    });
  }

  static Number fired(const Number& h) {
    const double z = 1 / (1 + std::exp(-4 * (h.value() - 1)));
    return Tape::result(h.value() >= 1 ? 1 : 0, h, 4 * z * (1 - z));
  }
  void compute_neurons(size_t index, size_t t) {
    const DrawnStage& stage = graph_.stages[index];
    const Input x = read(stage.inputs[0]);
    const size_t width = static_cast<size_t>(stage.made.n_features()), row = batch() * width;
    const bool one_step = graph_.at(stage.inputs[0]).n_steps == 1;
    for (size_t i = 0; i < row; ++i) {
      Number v = t == 0 ? Number(0) : v_[index][(t - 1) * row + i];
      const Number in = x.at(one_step && x.delay == 0 ? 0 : t, i / width, i % width);
      const Number h = stage.word == "if" ? v + in : v + (in - v) * Number(0.5);
      if (stage.word == "li") {
        v = h;
      } else {
        const Number spike = fired(h);
        spikes_[index][t * row + i] = spike;
        v = h * (Number(1) - spike);
      }
      v_[index][t * row + i] = v;
    }
  }

  template <class Each>
  void compute_readout(const DrawnStage& stage, Each each) {
    const Input input = read(stage.inputs[0]);
    const auto n_steps = static_cast<size_t>(graph_.at(stage.inputs[0]).n_steps);
    each([&](size_t t, size_t b, size_t n) {
      const auto at = [&](size_t step) { return input.at(step, b, n); };
      if (stage.word == "steps") return at(t);
      if (stage.word == "last") return at(n_steps - 1);
      Number result = at(0);
      for (size_t s = 1; s < n_steps; ++s)
        if (stage.word != "max")
          result = result + at(s);
        else if (at(s).value() > result.value())
          result = at(s);
      return stage.word == "mean" ? result / Number(static_cast<double>(n_steps)) : result;
    });
  }

  template <class Each>
  void compute_combined(const DrawnStage& stage, Each each) {
    const auto in = [&](size_t i, size_t t, size_t b, size_t n) { return read(stage.inputs[i]).at(t, b, n); };
    const auto channels_of = [&](size_t i) { return static_cast<size_t>(graph_.at(stage.inputs[i]).channels); };
    each([&](size_t t, size_t b, size_t n) {
      if (stage.kind == "and") return in(0, t, b, n) * in(1, t, b, n);
      if (stage.kind == "iand") return in(0, t, b, n) * (Number(1) - in(1, t, b, n));
      if (stage.kind == "flatten") return in(0, t, b, n);
      if (stage.kind == "sum") {
        Number sum = in(0, t, b, n);
        for (size_t i = 1; i < stage.inputs.size(); ++i) sum = sum + in(i, t, b, n);
        return sum;
      }
      if (stage.kind == "group_mean") {
        const auto size = static_cast<size_t>(stage.number);
        Number sum = 0;
        for (size_t i = 0; i < size; ++i) sum = sum + in(0, t, b, n * size + i);
        return sum / Number(static_cast<double>(size));
      }
      if (stage.kind == "scale") {
        const Weights& weights = weights_.at(stage.name);
        const size_t entry = n % weights.weight.size();
        const Number product = weights.weight[entry] * in(0, t, b, n);
        return weights.bias.empty() ? product : product + weights.bias[entry];
      }
      // A concatenation.
      const auto channels = static_cast<size_t>(stage.made.channels);
      size_t c = n % channels, i = 0;
      const size_t position = n / channels;
      for (; c >= channels_of(i); ++i) c -= channels_of(i);
      return in(i, t, b, position * channels_of(i) + c);
    });
  }

  // At the first step, of all.
  void compute_loss(size_t index, size_t step) {
    if (step > 0) return;
    const DrawnStage& stage = graph_.stages[index];
    const Input scores = read(stage.inputs[0]);
    const auto n_steps = static_cast<size_t>(stage.made.n_steps), n = static_cast<size_t>(stage.made.n_features());
    const std::vector<double>& data = *data_.at(index);
    const size_t data_steps = stage.number != 0 ? n_steps : 1;
    Number sum = 0;
    for (size_t t = 0; t < n_steps; ++t)
      for (size_t b = 0; b < batch(); ++b) {
        const size_t sample = b * data_steps + (stage.number != 0 ? t : 0);
        const auto at = [&](size_t c) { return scores.at(t, b, c); };
        if (stage.word == "labels") {
          Number total = 0;
          for (size_t c = 0; c < n; ++c) total = total + exp(at(c));
          sum = sum + Tape::result(std::log(total.value()), total, 1 / total.value()) -
                at(static_cast<size_t>(data[sample]));
          continue;
        }
        for (size_t c = 0; c < n; ++c) {
          const Number difference = at(c) - Number(data[sample * n + c]);
          sum = sum + difference * difference / Number(static_cast<double>(n));
        }
      }
    const Number mean = sum / Number(static_cast<double>(n_steps * batch()));
    losses_[index] = mean.value();
    loss_ = loss_ + Number(stage.weight) * mean;
  }

  const DrawnGraph& graph_;
  Tape tape_;
  std::map<std::string, Weights> weights_;
  std::map<std::string, std::vector<std::vector<Number>>> taps_;
  std::map<size_t, const std::vector<double>*> data_;
  std::vector<Array> spikes_, v_;
  std::vector<std::vector<bool>> done_;  // of each stage, its steps
  std::map<size_t, double> losses_;
  Number loss_ = 0;
};

// ---- networks -------------------------------------------------------------------------------------------------------

bool has_rates(const DrawnGraph& graph) {
  return std::ranges::any_of(graph.stages, [](const DrawnStage& stage) { return stage.word == "rates"; });
}

struct Built {
  Network network;
  std::vector<DrawnArray> data;
};
// None if nothing of the graph learns: it is refused then.
std::optional<Built> built(synfire_context context, const DrawnGraph& graph, uint64_t seed) {
  Built made = {make_drawn(context, graph), draw_data(context, graph, seed)};
  const synfire_status status = synfire_network_build(made.network);
  if (status == SYNFIRE_ERROR_WRONG_ORDER) return std::nullopt;
  require_ok(status);
  require_ok(set_arrays(made.network, SYNFIRE_DATA_TRAINING, graph.n_rows, given_arrays(graph, made.data)));
  return made;
}

std::vector<synfire_stage_result> results_of(const DrawnGraph& graph) {
  std::vector<synfire_stage_result> results;
  for (const size_t loss : graph.of_kind("loss")) results.push_back({graph.stages[loss].name.c_str(), 0, 0, 0});
  return results;
}

void expect_near(const std::vector<double>& got, const std::vector<double>& expected, double tolerance,
                 const std::string& what) {
  ASSERT_EQ(got.size(), expected.size()) << what;
  double largest = 0;
  for (const double value : expected) largest = std::max(largest, std::fabs(value));
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], tolerance * std::max(largest, 1e-6)) << what << ", element " << i;
}

constexpr uint64_t n_drawn = 300;

TEST(RandomGraphs, HaveTheGradientsOfAnOracle) {
  const Context context = make_context();
  int n_checked = 0;
  std::map<std::string, int> n_seen;
  for (uint64_t seed = 0; seed < n_drawn; ++seed) {
    const DrawnGraph graph = GraphDrawing(seed, SYNFIRE_DTYPE_F64, false).draw();
    if (has_rates(graph)) continue;
    SCOPED_TRACE(testing::Message() << "seed " << seed << "\n" << text_of(graph));
    const std::optional<Built> made = built(context, graph, seed);
    if (!made) continue;
    for (size_t i = 0; i < graph.stages.size(); ++i) {
      const DrawnStage& stage = graph.stages[i];
      ++n_seen[stage.kind];
      for (const DrawnEdge& edge : stage.inputs) {
        if (edge.delay > 0) ++n_seen[edge.from > i ? "cycle of " + stage.kind : "delay"];
      }
    }
    for (const size_t synapse : graph.of_kind("synapse"))
      n_seen["shared"] += graph.stages[synapse].word.empty() ? 0 : 1;
    for (const size_t synapse : graph.of_kind("conv2d"))
      n_seen["shared conv2d"] += graph.stages[synapse].word.empty() ? 0 : 1;
    const Oracle oracle(graph, made->network, made->data);
    std::vector<synfire_stage_result> results = results_of(graph);
    synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
    ASSERT_OK(synfire_network_train_stages(made->network, 1, results.data(), results.size(), &result));
    ASSERT_NEAR(result.loss, oracle.loss(), 1e-9 * std::max(1.0, std::fabs(oracle.loss())));
    size_t i = 0;
    for (const size_t loss : graph.of_kind("loss")) {
      ASSERT_NEAR(results[i].loss, oracle.loss_of(loss), 1e-9 * std::max(1.0, std::fabs(oracle.loss_of(loss))));
      ++i;
    }
    for (const auto& [stage, weights] : oracle.weights()) {
      const Synapse synapse = synapse_of(made->network, stage);
      std::vector<double> gradient(weights.weight.size());
      const std::vector<double> expected = oracle.gradient(stage, false);
      if (synfire_synapse_read(synapse, "weight_gradient", gradient.data(), gradient.size() * sizeof(double)) !=
          SYNFIRE_OK) {
        expect_near(std::vector<double>(expected.size()), expected, 0, stage + " without a gradient");
        continue;
      }
      expect_near(gradient, expected, 1e-8, stage);
      if (!weights.bias.empty())
        expect_near(numbers_of(synapse, "bias_gradient", static_cast<int64_t>(weights.bias.size())),
                    oracle.gradient(stage, true), 1e-8, stage + " bias");
      if (weights.width != 0)
        expect_near(numbers_of(synapse, "delay_gradient", static_cast<int64_t>(weights.delay.size())),
                    oracle.delay_gradient(stage), 1e-8, stage + " delays");
      ++n_checked;
    }
  }
  EXPECT_GT(n_checked, 300);
  for (const char* const kind : {"sum",
                                 "and",
                                 "iand",
                                 "concatenate",
                                 "scale",
                                 "group_mean",
                                 "flatten",
                                 "shared",
                                 "conv2d",
                                 "pool",
                                 "shared conv2d",
                                 "normalization",
                                 "upsample",
                                 "pad",
                                 "delay",
                                 "delayed",
                                 "cycle of synapse",
                                 "cycle of delayed",
                                 "cycle of scale",
                                 "cycle of conv2d"})
    EXPECT_GE(n_seen[kind], 8) << kind;
}

// Nothing fires, so that the loss is smooth in the weights.
TEST(RandomGraphs, HaveTheGradientsOfCentralDifferences) {
  const Context context = make_context();
  int n_checked = 0;
  for (uint64_t seed = 1000; seed < 1060; ++seed) {
    const DrawnGraph graph = GraphDrawing(seed, SYNFIRE_DTYPE_F64, true).draw();
    SCOPED_TRACE(testing::Message() << "seed " << seed << "\n" << text_of(graph));
    const std::optional<Built> made = built(context, graph, seed);
    if (!made) continue;
    ASSERT_OK(set_arrays(made->network, SYNFIRE_DATA_EVALUATION, graph.n_rows, given_arrays(graph, made->data)));
    const auto loss = [&] {
      synfire_network_result result = SYNFIRE_NETWORK_RESULT_INIT;
      require_ok(synfire_network_evaluate(made->network, &result));
      return result.loss;
    };
    // A step of 0 leaves the weights as they are.
    for (const size_t optimizer : graph.of_kind("optimizer"))
      ASSERT_OK(synfire_network_set_value(made->network, graph.stages[optimizer].name.c_str(), "learning_rate", 0));
    trained(made->network, 1);
    Random random(seed);
    for (const DrawnStage& stage : graph.stages) {
      if (!has_own_weights(stage)) continue;
      const Synapse synapse = synapse_of(made->network, stage.name);
      const int64_t count = length_of(synapse, "weight");
      std::vector<double> gradient(static_cast<size_t>(count));
      if (synfire_synapse_read(synapse, "weight_gradient", gradient.data(), gradient.size() * sizeof(double)) !=
          SYNFIRE_OK)
        continue;
      const std::vector<double> weights = numbers_of(synapse, "weight", count);
      for (int i = 0; i < 3; ++i) {
        const auto at = static_cast<size_t>(random.whole(0, count - 1));
        constexpr double h = 1e-5;
        const auto moved = [&](double by) {
          std::vector<double> other = weights;
          other[at] += by;
          require_ok(synfire_synapse_write(synapse, "weight", other.data(), other.size() * sizeof(double)));
          return loss();
        };
        const double difference = (moved(h) - moved(-h)) / (2 * h);
        ASSERT_NEAR(gradient[at], difference, 1e-6 * std::max(1.0, std::fabs(difference))) << stage.name << " " << at;
        ++n_checked;
      }
      ASSERT_OK(synfire_synapse_write(synapse, "weight", weights.data(), weights.size() * sizeof(double)));
    }
  }
  EXPECT_GT(n_checked, 100);
}

// On the host with one thread, and on the backend under test; on the host, with three. One of 15 for 100 steps.
void expect_same_bits(uint64_t n_networks, bool spatial) {
  const Context host = make_context_on(SYNFIRE_BACKEND_HOST), other = on_host() ? make_context(3) : make_context();
  uint64_t n_compared = 0;
  for (uint64_t seed = 0; n_compared < n_networks; ++seed) {
    ASSERT_LT(seed, 2 * n_networks);
    const DrawnGraph graph = GraphDrawing(seed, SYNFIRE_DTYPE_F32, false, spatial).draw();
    SCOPED_TRACE(testing::Message() << "seed " << seed << "\n" << text_of(graph));
    const std::optional<Built> here = built(host, graph, seed), there = built(other, graph, seed);
    ASSERT_EQ(here.has_value(), there.has_value());
    if (!here) continue;
    const int64_t n_batches = n_compared++ % 15 == 0 ? 100 : 2;
    const synfire_network_result one = trained(here->network, n_batches), two = trained(there->network, n_batches);
    EXPECT_EQ(bits_of(one.loss), bits_of(two.loss));
    EXPECT_EQ(one.n_correct, two.n_correct);
    ASSERT_TRUE(saved(here->network) == saved(there->network));
  }
}

TEST(RandomGraphs, HaveTheSameBitsOnEveryBackend) {
  expect_same_bits(n_drawn, false);
}

// Networks of maps alone: tests/gpu/run.sh compares 300 of them.
TEST(RandomGraphs, OfMapsHaveTheSameBitsOnEveryBackend) {
  expect_same_bits(sample_setting("SYNFIRE_TEST_SPATIAL", 15), true);
}

// The rows [R, S, E] of an array as one batch [S, B, E], in the memory of a buffer.
void give_frame(synfire_network network, const std::string& name, synfire_buffer rows) {
  const Buffer frame =
      part<synfire_buffer>([&](auto* out) { return synfire_network_get_buffer(network, name.c_str(), out); });
  synfire_buffer_desc desc = SYNFIRE_BUFFER_DESC_INIT;
  require_ok(synfire_buffer_get_desc(frame, &desc));
  const uint64_t bytes = desc.dtype == SYNFIRE_DTYPE_U8 ? 1 : desc.dtype == SYNFIRE_DTYPE_F64 ? 8 : 4;
  const uint64_t steps = desc.shape[0], batch = desc.shape[1], row = desc.shape[2] * bytes;
  std::vector<char> from(steps * batch * row), to(from.size());
  require_ok(synfire_buffer_download(rows, 0, from.data(), from.size()));
  for (uint64_t b = 0; b < batch; ++b)
    for (uint64_t s = 0; s < steps; ++s) std::memcpy(&to[(s * batch + b) * row], &from[(b * steps + s) * row], row);
  require_ok(synfire_buffer_upload(frame, 0, to.data(), to.size()));
}

// The two graphs around a loss of the program's own, with the labels of the frame, are a step of training. Sums over
// rows do not depend on their order.
TEST(RandomGraphs, LearnFromFrames) {
  const Context context = make_context();
  int n_checked = 0;
  for (uint64_t seed = 0; seed < n_drawn; seed += 2) {
    const DrawnGraph graph = GraphDrawing(seed, SYNFIRE_DTYPE_F32, false).draw();
    if (has_rates(graph)) continue;
    SCOPED_TRACE(testing::Message() << "seed " << seed << "\n" << text_of(graph));
    const std::optional<Built> made = built(context, graph, seed);
    if (!made) continue;
    const Network own = make_drawn(context, graph, SYNFIRE_OWN_LOSS_STARTS);
    require_ok(synfire_network_build(own));
    const Graph forward = part<synfire_graph>(
                    [&](auto*out) { return synfire_network_get_graph(own, SYNFIRE_NETWORK_GRAPH_FORWARD, out); }),
                backward = part<synfire_graph>(
                    [&](auto*out) { return synfire_network_get_graph(own, SYNFIRE_NETWORK_GRAPH_BACKWARD, out); });
    for (const DrawnArray& one : made->data) {
      const DrawnStage& stage = graph.stages[one.stage];
      give_frame(own, stage.name + "." + (stage.kind == "input" ? "input" : stage.word), one.buffer);
    }
    for (int i = 0; i < 2; ++i) {
      trained(made->network, 1);
      replay(forward);
      replay(backward);
    }
    for (const DrawnStage& stage : graph.stages) {
      if (!has_own_weights(stage)) continue;
      const Synapse here = synapse_of(made->network, stage.name), there = synapse_of(own, stage.name);
      std::vector<float> one(static_cast<size_t>(length_of(here, "weight"))), other(one.size());
      require_ok(synfire_synapse_read(here, "weight", one.data(), one.size() * sizeof(float)));
      require_ok(synfire_synapse_read(there, "weight", other.data(), other.size() * sizeof(float)));
      ASSERT_TRUE(same_bits(one, other)) << stage.name;
      ++n_checked;
    }
  }
  EXPECT_GT(n_checked, 200);
}

// A network that was saved goes on with the same bits, and a row in a batch has the bits that it has alone.
TEST(RandomGraphs, GoOnFromTheirFiles) {
  const Context context = make_context();
  for (uint64_t seed = 0; seed < n_drawn; seed += 6) {
    DrawnGraph graph = GraphDrawing(seed, SYNFIRE_DTYPE_F32, false).draw();
    SCOPED_TRACE(testing::Message() << "seed " << seed << "\n" << text_of(graph));
    const std::optional<Built> made = built(context, graph, seed);
    if (!made) continue;
    trained(made->network, 2);
    const File file = saved(made->network);
    const Network next = created(context, file);
    EXPECT_TRUE(saved(next) == file);
    require_ok(set_arrays(next, SYNFIRE_DATA_TRAINING, graph.n_rows, given_arrays(graph, made->data)));
    trained(next, 2);
    trained(made->network, 2);
    EXPECT_TRUE(saved(next) == saved(made->network));
  }
}

TEST(RandomGraphs, HaveTheBitsOfARowAlone) {
  const Context context = make_context();
  int n_compared = 0;
  for (uint64_t seed = 0; seed < n_drawn; seed += 3) {
    const DrawnGraph graph = GraphDrawing(seed, SYNFIRE_DTYPE_F32, false).draw();
    // Each row of a batch draws random numbers of its own.
    if (has_rates(graph) || graph.n_rows == 1) continue;
    SCOPED_TRACE(testing::Message() << "seed " << seed << "\n" << text_of(graph));
    const std::optional<Built> made = built(context, graph, seed);
    if (!made) continue;
    const File file = saved(made->network);
    const Network together = created(context, file, 0, 0, true), alone = created(context, file, 0, 1, true);
    for (size_t i = 0; i < graph.stages.size(); ++i) {
      const Drawn& drawn = graph.stages[i].made;
      const bool is_inside = std::ranges::any_of(graph.stages, [&](const DrawnStage& reader) {
        return reader.kind != "loss" &&
               std::ranges::any_of(reader.inputs, [&](const DrawnEdge& e) { return e.from == i; });
      });
      if (!drawn.is_readout || is_inside || graph.stages[i].kind == "loss") continue;
      const auto n = static_cast<uint64_t>(graph.n_rows * drawn.n_steps * drawn.n_features());
      std::vector<float> outputs[2];
      for (const bool is_alone : {false, true}) {
        const Buffer to = make_buffer(context, SYNFIRE_DTYPE_F32, n);
        StageArrays arrays = {array_of(graph.stages[i].name.c_str(), SYNFIRE_ARRAY_OUTPUTS, to)};
        for (const synfire_network_array& one : given_arrays(graph, made->data))
          if (one.role == SYNFIRE_ARRAY_INPUTS) arrays.push_back(one);
        ASSERT_OK(infer_arrays(is_alone ? alone : together, graph.n_rows, arrays));
        outputs[is_alone ? 1 : 0] = download<float>(to, n);
      }
      EXPECT_TRUE(same_bits(outputs[0], outputs[1])) << graph.stages[i].name;
      ++n_compared;
    }
  }
  EXPECT_GT(n_compared, 30);
}

}  // namespace
}  // namespace synfire_test
