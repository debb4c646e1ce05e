// The rate loss against its definition in f64, over formats, shapes and what counts; its gradient also against central
// differences of the rates.
#include <cmath>
#include <functional>
#include <limits>

#include "graph_support.hpp"
#include "storage_rig.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;
constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();

const int32_t every_format[] = {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64,  SYNFIRE_DTYPE_F16,      SYNFIRE_DTYPE_BF16,
                                SYNFIRE_DTYPE_U8,  SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS};
const int32_t every_gradient[] = {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16};
const Placement placements[] = {{0, 0}, {1, 0}, {0, 3}, {1, 5}, {3, 32}};

// ---- The reference --------------------------------------------------------------------------------------------------

struct Loss {
  Shape shape;
  bool whole_layer = false;
  double target = 0.1, strength = 3;
  std::optional<std::vector<uint32_t>> lengths = {};
  std::optional<uint32_t> n_active = {};

  bool counts(size_t t, size_t b) const { return (!lengths || t < (*lengths)[b]) && (!n_active || b < *n_active); }
};
std::ostream& operator<<(std::ostream& out, const Loss& loss) {
  return out << loss.shape << " whole layer " << loss.whole_layer << " lengths " << loss.lengths.has_value()
             << " active " << (loss.n_active ? static_cast<int64_t>(*loss.n_active) : -1);
}

struct Predicted {
  double loss = 0;
  std::vector<std::optional<double>> gradient;  // of each element, or nothing
};

double tree_sum(std::vector<double> lanes) {
  for (size_t half = 64; half > 0; half /= 2)
    for (size_t i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}

Predicted predicted(const Loss& of, const std::vector<double>& spikes) {
  const auto n_neurons = static_cast<size_t>(of.shape.n_neurons), batch = static_cast<size_t>(of.shape.batch);
  std::vector<double> counts(n_neurons, 0);
  double steps = 0, all = 0;
  for (size_t t = 0; t < static_cast<size_t>(of.shape.n_steps); ++t)
    for (size_t b = 0; b < batch; ++b) {
      if (!of.counts(t, b)) continue;
      ++steps;
      for (size_t n = 0; n < n_neurons; ++n) counts[n] += spikes[(t * batch + b) * n_neurons + n] != 0 ? 1 : 0;
    }
  for (const double count : counts) all += count;
  Predicted result;
  result.gradient.resize(spikes.size());
  if (steps == 0) return result;
  const double n = static_cast<double>(n_neurons), mean = all / (n * steps) - of.target;
  std::vector<double> chunks;
  for (size_t first = 0; first < n_neurons; first += 1024) {
    std::vector<double> lanes(128, 0.0);
    for (size_t i = first; i < std::min(first + 1024, n_neurons); ++i) {
      const double off = counts[i] / steps - of.target;
      lanes[i % 128] = std::fma(off, off, lanes[i % 128]);
    }
    chunks.push_back(tree_sum(lanes));
  }
  double squares = chunks[0];
  if (chunks.size() > 1) {
    chunks.resize(128, 0.0);
    squares = tree_sum(chunks);
  }
  result.loss = of.whole_layer ? of.strength * (mean * mean) : of.strength * (squares / n);
  for (size_t i = 0; i < spikes.size(); ++i) {
    if (!of.counts(i / (batch * n_neurons), i / n_neurons % batch)) continue;
    const double off = of.whole_layer ? mean : counts[i % n_neurons] / steps - of.target;
    result.gradient[i] = 2 * of.strength * off / (n * steps);
  }
  return result;
}
std::vector<double> written(const Predicted& of, int32_t dtype) {
  std::vector<double> values;
  for (const auto& value : of.gradient) values.push_back(stored_as(arithmetic_of(dtype), {value.value_or(0)}).front());
  return stored_as(dtype, values);
}
std::vector<double> added(const Predicted& of, const std::vector<double>& held, int32_t dtype) {
  std::vector<double> values = held;
  for (size_t i = 0; i < held.size(); ++i) {
    if (!of.gradient[i]) continue;
    values[i] = dtype == SYNFIRE_DTYPE_F64
                    ? held[i] + *of.gradient[i]
                    : static_cast<double>(static_cast<float>(held[i]) + static_cast<float>(*of.gradient[i]));
  }
  return stored_as(dtype, values);
}

Loss with_counting(Loss loss, uint64_t choice) {
  Random random(choice);
  if (choice % 2 == 1) {
    loss.lengths.emplace();
    for (int64_t b = 0; b < loss.shape.batch; ++b)
      loss.lengths->push_back(static_cast<uint32_t>(random.whole(0, loss.shape.n_steps + 2)));
  }
  if (choice % 4 >= 2)
    loss.n_active = choice % 16 == 2   ? 0
                    : choice % 16 == 6 ? 0xFFFFFFFF
                                       : static_cast<uint32_t>(random.whole(1, loss.shape.batch));
  return loss;
}

// ---- The calls ------------------------------------------------------------------------------------------------------

class RateLoss : public testing::Test {
 protected:
  // 0 and 1 in any format.
  static Rows spikes_in(synfire_context context, int32_t dtype, const Shape& shape, const std::vector<double>& values,
                        Placement placement = {}) {
    const auto n_steps = static_cast<size_t>(shape.n_steps), batch = static_cast<size_t>(shape.batch);
    if (dtype == SYNFIRE_DTYPE_BITS) {
      Rows rows(context, dtype, n_steps, batch * shape.words_per_row(), placement);
      std::vector<double> words;
      for (const uint32_t word : pack_bits(shape, values)) words.push_back(word);
      rows.put(words);
      return rows;
    }
    if (dtype == SYNFIRE_DTYPE_TIME_BITS) {
      Rows rows(context, dtype, (n_steps + 31) / 32, shape.row(), placement);
      std::vector<double> words((n_steps + 31) / 32 * shape.row(), 0);
      for (size_t i = 0; i < values.size(); ++i) {
        const size_t t = i / shape.row();
        if (values[i] != 0) words[t / 32 * shape.row() + i % shape.row()] += std::ldexp(1, static_cast<int>(t % 32));
      }
      rows.put(words);
      return rows;
    }
    Rows rows(context, dtype, n_steps, shape.row(), placement);
    rows.put(values);
    return rows;
  }
  static std::vector<double> random_spikes(const Shape& shape, uint64_t seed) {
    Random random(seed);
    std::vector<double> spikes(shape.sequence());
    for (double& spike : spikes) spike = random.whole(0, 4) == 0 ? 1 : 0;
    return spikes;
  }

  // Buffers of what counts.
  struct Counting {
    Buffer lengths, n_active;
  };
  static Counting counting(const Loss& loss, synfire_context context) {
    const auto whole = [&](const std::vector<uint32_t>& values) {
      Buffer buffer = make_buffer(context, SYNFIRE_DTYPE_U32, values.size());
      upload(buffer, values);
      return buffer;
    };
    Counting made;
    if (loss.lengths) made.lengths = whole(*loss.lengths);
    if (loss.n_active) made.n_active = whole({*loss.n_active});
    return made;
  }
  static synfire_rate_loss_desc describe(const Loss& loss, synfire_buffer spikes, synfire_buffer to,
                                         synfire_buffer gradient, const Counting& counting) {
    synfire_rate_loss_desc desc = SYNFIRE_RATE_LOSS_DESC_INIT;
    desc.whole_layer = loss.whole_layer ? 1 : 0;
    desc.n_steps = loss.shape.n_steps;
    desc.n_neurons = loss.shape.n_neurons;
    desc.batch = loss.shape.batch == 1 ? 0 : loss.shape.batch;
    desc.target = loss.target;
    desc.strength = loss.strength;
    desc.spikes = spikes;
    desc.lengths = counting.lengths;
    desc.n_active = counting.n_active;
    desc.loss = to;
    desc.grad_spike_seq = gradient;
    return desc;
  }

  const Context context = make_context();
};

// ---- Results --------------------------------------------------------------------------------------------------------

TEST_F(RateLoss, IsThePredictedOneInEveryFormat) {
  uint64_t count = 0;
  for (const Shape& shape : {Shape{1, 1, 1}, Shape{16, 3, 20}, Shape{33, 2, 65}, Shape{64, 5, 31}, Shape{5, 40, 257},
                             Shape{7, 2, 1024}, Shape{3, 2, 2500}})
    for (const int32_t format : every_format)
      for (const bool whole_layer : {false, true}) {
        if (!sampled(count++)) continue;
        const Loss loss =
            with_counting({shape, whole_layer, 0.05 * static_cast<double>(count % 7), 1.7}, count * 5 / 2);
        const int32_t gradient_type = every_gradient[count % 4];
        const int32_t loss_type = count % 3 == 0 ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32;
        SCOPED_TRACE(testing::Message() << loss << " from dtype " << format << " to " << gradient_type);
        const std::vector<double> values = random_spikes(shape, count);
        const Rows spikes = spikes_in(context, format, shape, values, placements[count % 5]);
        Rows to(context, loss_type, 1, 1);
        Rows gradient(context, gradient_type, static_cast<size_t>(shape.n_steps), shape.row(),
                      placements[count / 2 % 5]);
        const Counting counts = counting(loss, context);
        auto desc = describe(loss, spikes, to, gradient, counts);
        ASSERT_OK(synfire_rate_loss(context, &desc, nullptr));
        const Predicted expected = predicted(loss, values);
        ASSERT_TRUE(same_bits(to.get(), stored_as(loss_type, {expected.loss})));
        ASSERT_TRUE(same_bits(gradient.get(), written(expected, gradient_type)));
        desc.accumulate = desc.accumulate_loss = 1;
        const Graph graph = make_graph(context);
        ASSERT_OK(synfire_graph_record_rate_loss(graph, &desc));
        ASSERT_OK(synfire_graph_instantiate(graph));
        const std::vector<double> held =
            stored_as(gradient_type, Random(count).values<double>(shape.sequence(), -1e-3, 1e-3));
        to.put({0.5});
        gradient.put(held);
        replay(graph);
        ASSERT_TRUE(same_bits(to.get(), stored_as(loss_type, {0.5 + expected.loss}))) << "added, in a graph";
        ASSERT_TRUE(same_bits(gradient.get(), added(expected, held, gradient_type))) << "added, in a graph";
      }
}

TEST_F(RateLoss, EitherOutputAlone) {
  const Loss loss{{9, 2, 33}};
  const std::vector<double> values = random_spikes(loss.shape, 5);
  const Predicted expected = predicted(loss, values);
  const Rows spikes = spikes_in(context, SYNFIRE_DTYPE_BITS, loss.shape, values), to(context, SYNFIRE_DTYPE_F32, 1, 1),
             gradient(context, SYNFIRE_DTYPE_F32, 9, loss.shape.row());
  auto desc = describe(loss, spikes, to, nullptr, {});
  ASSERT_OK(synfire_rate_loss(context, &desc, nullptr));
  EXPECT_TRUE(same_bits(to.get(), stored_as(SYNFIRE_DTYPE_F32, {expected.loss})));
  desc = describe(loss, spikes, nullptr, gradient, {});
  ASSERT_OK(synfire_rate_loss(context, &desc, nullptr));
  EXPECT_TRUE(same_bits(gradient.get(), written(expected, SYNFIRE_DTYPE_F32)));
}

TEST_F(RateLoss, AnyNumberOfThreadsGivesTheSame) {
  for (const Shape& shape : {Shape{33, 3, 2661}, Shape{40, 101, 133}})
    for (const bool whole_layer : {false, true}) {
      const Loss loss = with_counting({shape, whole_layer}, 3);
      const std::vector<double> values = random_spikes(shape, 4);
      const Predicted expected = predicted(loss, values);
      for (const int32_t n_threads : {1, 2, 4}) {
        SCOPED_TRACE(testing::Message() << loss << " on " << n_threads << " threads");
        const Context threads = make_context(n_threads);
        const Rows spikes = spikes_in(threads, SYNFIRE_DTYPE_U8, shape, values), to(threads, SYNFIRE_DTYPE_F64, 1, 1),
                   gradient(threads, SYNFIRE_DTYPE_F32, 1, shape.sequence());
        const Counting counts = counting(loss, threads);
        const auto desc = describe(loss, spikes, to, gradient, counts);
        ASSERT_OK(synfire_rate_loss(threads, &desc, nullptr));
        EXPECT_TRUE(same_bits(to.get(), std::vector<double>{expected.loss}));
        EXPECT_TRUE(same_bits(gradient.get(), written(expected, SYNFIRE_DTYPE_F32)));
      }
    }
}

// The loss is a parabola in each spike: its difference between 1 and 0 is the mean of the slopes there.
TEST_F(RateLoss, GradientsAreDifferencesOfTheLoss) {
  for (const bool whole_layer : {false, true}) {
    const Loss loss = with_counting({{10, 8, 3}, whole_layer, 0.3, 2}, 3);
    std::vector<double> values = random_spikes(loss.shape, 6);
    const Counting counts = counting(loss, context);
    const Rows to(context, SYNFIRE_DTYPE_F64, 1, 1), gradient(context, SYNFIRE_DTYPE_F64, 10, loss.shape.row());
    const auto loss_with = [&](size_t element, double spike) {
      values[element] = spike;
      const Rows spikes = spikes_in(context, SYNFIRE_DTYPE_U8, loss.shape, values);
      const auto desc = describe(loss, spikes, to, gradient, counts);
      EXPECT_OK(synfire_rate_loss(context, &desc, nullptr));
      return to.get().front();
    };
    for (size_t i = 0; i < values.size(); i += 7) {
      const double before = values[i], up = loss_with(i, 1), slope_up = gradient.get()[i], down = loss_with(i, 0),
                   slope_down = gradient.get()[i];
      EXPECT_NEAR(up - down, (slope_up + slope_down) / 2, 1e-14) << "element " << i;
      values[i] = before;
    }
  }
}

TEST_F(RateLoss, NoSpikesAndNothingButSpikes) {
  for (const double of_all : {0.0, 1.0}) {
    const Loss loss{{8, 2, 40}, false, 0.25, 4};
    const Rows spikes = spikes_in(context, SYNFIRE_DTYPE_F32, loss.shape, std::vector<double>(640, of_all)),
               to(context, SYNFIRE_DTYPE_F32, 1, 1), gradient(context, SYNFIRE_DTYPE_F32, 8, 80);
    const auto desc = describe(loss, spikes, to, gradient, {});
    ASSERT_OK(synfire_rate_loss(context, &desc, nullptr));
    const double off = of_all - 0.25;
    EXPECT_TRUE(same_bits(to.get(), {4 * off * off}));
    EXPECT_TRUE(all_are(gradient.get(), static_cast<double>(static_cast<float>(8 * off / (40 * 16)))));
  }
}

// Every non-zero element of dense spikes is one spike, NaNs and subnormal numbers too.
TEST_F(RateLoss, AnythingButZeroIsASpike) {
  const Loss loss{{6, 1, 1}, false, 0, 1};
  const Rows spikes = spikes_in(context, SYNFIRE_DTYPE_F32, loss.shape, {nan, -0.0, 1e-45, 7, 0, -infinity}),
             to(context, SYNFIRE_DTYPE_F64, 1, 1);
  const auto desc = describe(loss, spikes, to, nullptr, {});
  ASSERT_OK(synfire_rate_loss(context, &desc, nullptr));
  EXPECT_TRUE(same_bits(to.get(), {(4.0 / 6) * (4.0 / 6)}));
}

// ---- Graphs ---------------------------------------------------------------------------------------------------------

TEST_F(RateLoss, ValuesAndCountsChangeBetweenReplays) {
  Loss loss{{12, 3, 21}};
  loss.lengths = {12, 3, 7};
  loss.n_active = 3;
  const std::vector<double> values = random_spikes(loss.shape, 9);
  const Rows spikes = spikes_in(context, SYNFIRE_DTYPE_TIME_BITS, loss.shape, values);
  Rows to(context, SYNFIRE_DTYPE_F64, 1, 1);
  const Rows gradient(context, SYNFIRE_DTYPE_F32, 12, loss.shape.row());
  const Counting counts = counting(loss, context);
  const auto desc = describe(loss, spikes, to, gradient, counts);
  const Graph graph = make_graph(context);
  ASSERT_OK(synfire_graph_record_rate_loss(graph, &desc));
  ASSERT_OK(synfire_graph_instantiate(graph));
  const auto expect_predicted = [&](const char* what) {
    to.poison();
    replay(graph);
    const Predicted expected = predicted(loss, values);
    EXPECT_TRUE(same_bits(to.get(), {expected.loss})) << what;
    EXPECT_TRUE(same_bits(gradient.get(), written(expected, SYNFIRE_DTYPE_F32))) << what;
  };
  expect_predicted("the first");
  loss.target = 0.4;
  EXPECT_OK(synfire_graph_set_value(graph, 0, "target", loss.target));
  expect_predicted("a target");
  loss.strength = -0.7;
  EXPECT_OK(synfire_graph_set_value(graph, 0, "strength", loss.strength));
  expect_predicted("a strength");
  loss.lengths = {5, 12, 100};
  loss.n_active = 2;
  upload(counts.lengths, *loss.lengths);
  upload(counts.n_active, std::vector<uint32_t>{2});
  expect_predicted("what counts");
  for (const char* const name : {"target", "strength"})
    for (const double bad : {nan, infinity, -infinity})
      EXPECT_FAILS(refused, WORDS("SYN-SCALAR-RANGE", name), synfire_graph_set_value(graph, 0, name, bad));
  EXPECT_FAILS(refused, WORDS("SYN-GRAPH-VALUE", "target", "strength"), synfire_graph_set_value(graph, 0, "rate", 1));
  expect_predicted("refused values");
  EXPECT_OK(synfire_graph_set_enabled(graph, 0, 0));
  to.poison();
  replay(graph);
  EXPECT_TRUE(all_are(to.get(), nan));
  EXPECT_OK(synfire_graph_set_enabled(graph, 0, 1));
  char dot[4096];
  uint64_t bytes = sizeof dot;
  ASSERT_OK(synfire_graph_write_dot(graph, dot, &bytes));
  EXPECT_NE(std::string(dot).find("neurons [12, 3, 21]"), std::string::npos) << dot;
  const Rows other(context, SYNFIRE_DTYPE_F64, 1, 1);
  EXPECT_OK(synfire_graph_rebind(graph, to, other));
  replay(graph);
  EXPECT_TRUE(same_bits(other.get(), {predicted(loss, values).loss}));
}

TEST_F(RateLoss, FramesOfSlots) {
  const Loss loss{{4, 1, 2}, true, 0, 1};
  const Buffer frame = make_frame(context, 8), result = make_frame(context, 1);
  const Graph graph = make_slotted_graph(context, 2);
  const auto desc = describe(loss, frame, result, nullptr, {});
  ASSERT_OK(synfire_graph_record_rate_loss(graph, &desc));
  ASSERT_OK(synfire_graph_instantiate(graph));
  for (int i = 0; i < 4; ++i) {
    float* const in = slot_of(graph, 0, frame);
    for (int k = 0; k < 8; ++k) in[k] = k < 2 * i ? 1.0f : 0.0f;
    const uint64_t ticket = launch(graph);
    wait(graph, ticket);
    const float rate = static_cast<float>(i) / 4;
    EXPECT_EQ(*slot_of(graph, ticket, result), rate * rate);
  }
}

// ---- Refusals -------------------------------------------------------------------------------------------------------

TEST_F(RateLoss, Refusals) {
  const Loss loss{{4, 2, 3}};
  const Rows spikes = spikes_in(context, SYNFIRE_DTYPE_F32, loss.shape, std::vector<double>(24, 1)),
             to(context, SYNFIRE_DTYPE_F32, 1, 1), gradient(context, SYNFIRE_DTYPE_F32, 4, 6);
  const Buffer small = make_buffer(context, SYNFIRE_DTYPE_F32, 5), longs = make_buffer(context, SYNFIRE_DTYPE_U64, 24),
               one = make_buffer(context, SYNFIRE_DTYPE_U32, 1), half = make_buffer(context, SYNFIRE_DTYPE_F16, 1);
  const Graph graph = make_graph(context);
  const auto refuses = [&](const char* rule, const std::function<void(synfire_rate_loss_desc&)>& change,
                           synfire_status status = refused) {
    auto desc = describe(loss, spikes, to, gradient, {});
    change(desc);
    EXPECT_FAILS(status, WORDS(rule), synfire_rate_loss(context, &desc, nullptr));
    EXPECT_FAILS(status, WORDS(rule), synfire_graph_record_rate_loss(graph, &desc));
    EXPECT_TRUE(all_are(to.get(), nan));
    EXPECT_TRUE(all_are(gradient.get(), nan));
  };
  for (const int32_t bad : {-1, 2}) {
    refuses("SYN-RATE-FLAG", [&](auto& desc) { desc.whole_layer = bad; });
    refuses("SYN-RATE-FLAG", [&](auto& desc) { desc.accumulate = bad; });
    refuses("SYN-RATE-FLAG", [&](auto& desc) { desc.accumulate_loss = bad; });
  }
  for (const double bad : {nan, infinity, -infinity}) {
    refuses("SYN-SCALAR-RANGE", [&](auto& desc) { desc.target = bad; });
    refuses("SYN-SCALAR-RANGE", [&](auto& desc) { desc.strength = bad; });
  }
  refuses("SYN-RATE-OUTPUT", [](auto& desc) { desc.loss = desc.grad_spike_seq = nullptr; });
  refuses("SYN-SPIKES-SHAPE", [](auto& desc) { desc.n_steps = 0; });
  refuses(
      "SYN-HANDLE-NULL", [](auto& desc) { desc.spikes = nullptr; }, SYNFIRE_ERROR_INVALID_HANDLE);
  refuses("SYN-BUFFER-TYPE", [&](auto& desc) { desc.spikes = longs; });
  refuses("SYN-BUFFER-TYPE", [&](auto& desc) { desc.loss = half; });
  refuses("SYN-BUFFER-TYPE", [&](auto& desc) { desc.grad_spike_seq = longs; });
  refuses("SYN-BUFFER-TYPE", [&](auto& desc) { desc.lengths = small; });
  refuses("SYN-BUFFER-TYPE", [&](auto& desc) { desc.n_active = small; });
  refuses("SYN-BUFFER-SIZE", [&](auto& desc) { desc.spikes = small; });
  refuses("SYN-BUFFER-SIZE", [&](auto& desc) { desc.grad_spike_seq = small; });
  refuses("SYN-BUFFER-SIZE", [&](auto& desc) { desc.lengths = one; });
  refuses("SYN-BUFFER-OVERLAP", [](auto& desc) { desc.grad_spike_seq = desc.spikes; });
  refuses("SYN-BUFFER-OVERLAP", [](auto& desc) { desc.loss = desc.spikes; });
}

}  // namespace
}  // namespace synfire_test
