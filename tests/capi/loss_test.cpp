// Losses, against the formulas of PyTorch's documentation written out here in f64: every option, type and shape, and
// numbers that are not finite. Gradients also against central differences, and sums in the documented order.
#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>

#include "graph_support.hpp"
#include "storage_rig.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;
constexpr double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
const int32_t every_source[] = {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16,
                                SYNFIRE_DTYPE_U32};
const Placement placements[] = {{0, 0}, {1, 0}, {0, 3}, {1, 5}, {3, 32}};

// ---- The reference --------------------------------------------------------------------------------------------------

// Empty vectors are not given. All numbers are as their buffers store them.
struct Problem {
  size_t n_steps = 1, batch = 1, n_classes = 1;
  bool squared = false, per_step = false, sum = false;
  int32_t dtype = SYNFIRE_DTYPE_F32;
  std::vector<double> x = {}, labels = {}, targets = {}, lengths = {}, sample_weights = {}, class_weights = {};
  std::optional<uint32_t> n_active = {}, ignored = {};
  double smoothing = 0, scale = 1;

  size_t n_samples() const { return n_steps * batch; }
  size_t n_elements() const { return n_samples() * n_classes; }
};

struct Results {
  double loss = 0, divisor = 0, n_correct = 0, n_counted = 0;
  std::vector<double> losses, predictions, gradient;
};

using synfire_test::same_bits;
testing::AssertionResult same_bits(const Results& a, const Results& b) {
  if (auto result = same_bits(a.losses, b.losses); !result) return result << " (losses)";
  if (auto result = same_bits(a.gradient, b.gradient); !result) return result << " (gradient)";
  if (auto result = same_bits(a.predictions, b.predictions); !result) return result << " (predictions)";
  return same_bits(std::vector<double>{a.loss, a.divisor, a.n_correct, a.n_counted},
                   std::vector<double>{b.loss, b.divisor, b.n_correct, b.n_counted})
         << " (loss, divisor, n_correct, n_counted)";
}

struct Sample {
  bool active, counts, invalid;
  size_t label;
  double weight;
};

Sample sample_of(const Problem& p, size_t i) {
  const size_t t = i / p.batch, b = i % p.batch;
  Sample s = {true, true, false, 0, p.sample_weights.empty() ? 1 : p.sample_weights[b]};
  s.active = (p.lengths.empty() || static_cast<double>(t) < p.lengths[b]) && (!p.n_active || b < *p.n_active);
  s.counts = s.active;
  if (p.labels.empty()) return s;
  s.label = static_cast<size_t>(p.labels[p.per_step ? i : b]);
  const bool ignored = p.ignored && s.label == *p.ignored;
  s.counts = s.active && !ignored && s.label < p.n_classes;
  s.invalid = s.active && !ignored && s.label >= p.n_classes;
  return s;
}

double weight_of(const Problem& p, size_t c) {
  return p.class_weights.empty() ? 1 : p.class_weights[c];
}
double target_of(const Problem& p, size_t i, size_t c) {
  if (!p.labels.empty()) return sample_of(p, i).label == c ? 1 : 0;
  return p.targets[(p.per_step ? i : i % p.batch) * p.n_classes + c];
}

double divisor_of(const Problem& p) {
  double divisor = 0, classes = 0;
  for (size_t c = 0; c < p.n_classes; ++c) classes += weight_of(p, c);
  for (size_t i = 0; i < p.n_samples(); ++i) {
    const Sample s = sample_of(p, i);
    if (s.counts) divisor += s.weight * (p.squared ? classes : p.labels.empty() ? 1 : weight_of(p, s.label));
  }
  return divisor;
}

size_t largest(const std::vector<double>& x) {
  size_t at = 0;
  for (size_t c = 0; c < x.size(); ++c) {
    if (std::isnan(x[c])) return c;
    if (x[c] > x[at]) at = c;
  }
  return at;
}

// For finite predictions and positive weights.
Results reference(const Problem& p) {
  Results r;
  r.losses.assign(p.n_samples(), 0);
  r.predictions.assign(p.n_samples(), 0);
  r.gradient.assign(p.n_elements(), 0);
  const double divisor = p.sum ? 1 : divisor_of(p);
  for (size_t i = 0; i < p.n_samples(); ++i) {
    const Sample s = sample_of(p, i);
    const std::vector<double> x = slice(p.x, i * p.n_classes, p.n_classes);
    if (s.active) r.predictions[i] = static_cast<double>(largest(x));
    if (s.invalid) r.losses[i] = nan;
    if (s.counts) {
      ++r.n_counted;
      if (!p.labels.empty() && largest(x) == s.label) ++r.n_correct;
      double exponentials = 0, mass = 0;
      const double most = *std::max_element(x.begin(), x.end());
      for (const double one : x) exponentials += std::exp(one - most);
      const auto share = [&](size_t c) {
        return weight_of(p, c) *
               ((1 - p.smoothing) * target_of(p, i, c) + p.smoothing / static_cast<double>(p.n_classes));
      };
      for (size_t c = 0; c < p.n_classes; ++c) mass += share(c);
      for (size_t c = 0; c < p.n_classes; ++c) {
        const double difference = x[c] - target_of(p, i, c);
        const double probability = std::exp(x[c] - most) / exponentials;
        if (p.squared)
          r.losses[i] += s.weight * weight_of(p, c) * difference * difference;
        else
          r.losses[i] += s.weight * share(c) * (std::log(exponentials) - (x[c] - most));
        r.gradient[i * p.n_classes + c] =
            p.scale * s.weight / divisor *
            (p.squared ? 2 * weight_of(p, c) * difference : mass * probability - share(c));
      }
    }
    r.loss += r.losses[i];
  }
  r.loss /= divisor;
  r.divisor = divisor_of(p);
  return r;
}

// ---- The calls ------------------------------------------------------------------------------------------------------

// All buffers of a problem, with every output. Members may be replaced before a call.
class Rig {
 public:
  Rig(synfire_context context, const Problem& p, Placement placement = {})
      : context_(context), p_(p), arithmetic_(arithmetic_of(p.dtype)) {
    const size_t row = p.batch * p.n_classes, target_steps = p.per_step ? p.n_steps : 1;
    source = rows(p.dtype, p.n_steps, row, p.x, placement);
    labels = rows(SYNFIRE_DTYPE_U32, target_steps, p.batch, p.labels, placement);
    targets = rows(arithmetic_, target_steps, row, p.targets, placement);
    lengths = rows(SYNFIRE_DTYPE_U32, 1, p.batch, p.lengths, {placement.lead, 0});
    sample_weights = rows(SYNFIRE_DTYPE_F32, 1, p.batch, p.sample_weights, {placement.lead, 0});
    class_weights = rows(SYNFIRE_DTYPE_F32, 1, p.n_classes, p.class_weights, {placement.lead, 0});
    if (p.n_active) n_active = rows(SYNFIRE_DTYPE_U32, 1, 1, {static_cast<double>(*p.n_active)}, {});
    const auto output = [&](int32_t dtype, size_t n_rows, size_t length, Placement where) {
      return std::make_unique<Rows>(context, dtype, n_rows, length, where);
    };
    loss = output(arithmetic_, 1, 1, {placement.lead, 0});
    divisor = output(SYNFIRE_DTYPE_F64, 1, 1, {placement.lead, 0});
    losses = output(arithmetic_, p.n_steps, p.batch, placement);
    if (!p.labels.empty()) n_correct = output(SYNFIRE_DTYPE_U32, 1, 1, {});
    n_counted = output(SYNFIRE_DTYPE_U32, 1, 1, {});
    predictions = output(SYNFIRE_DTYPE_U32, p.n_steps, p.batch, placement);
    gradient = output(arithmetic_, p.n_steps, row, placement);
  }

  synfire_loss_desc desc() const {
    synfire_loss_desc d = SYNFIRE_LOSS_DESC_INIT;
    d.kind = p_.squared ? SYNFIRE_LOSS_MEAN_SQUARED_ERROR : SYNFIRE_LOSS_CROSS_ENTROPY;
    d.n_steps = p_.n_steps == 1 ? 0 : static_cast<int64_t>(p_.n_steps);
    d.batch = p_.batch == 1 ? 0 : static_cast<int64_t>(p_.batch);
    d.n_classes = static_cast<int64_t>(p_.n_classes);
    d.source = handle(source);
    d.labels = handle(labels);
    d.targets = handle(targets);
    d.lengths = handle(lengths);
    d.n_active = handle(n_active);
    d.sample_weights = handle(sample_weights);
    d.class_weights = handle(class_weights);
    d.loss = handle(loss);
    d.divisor = handle(divisor);
    d.losses = handle(losses);
    d.n_correct = handle(n_correct);
    d.n_counted = handle(n_counted);
    d.predictions = handle(predictions);
    d.gradient = handle(gradient);
    d.label_smoothing = p_.smoothing;
    d.gradient_scale = p_.scale == 1 ? 0 : p_.scale;
    d.targets_per_step = p_.per_step ? 1 : 0;
    d.ignores_label = p_.ignored ? 1 : 0;
    d.ignored_label = p_.ignored.value_or(0);
    d.sum = p_.sum ? 1 : 0;
    return d;
  }

  void poison() {
    for (Rows* const output :
         {loss.get(), divisor.get(), losses.get(), n_correct.get(), n_counted.get(), predictions.get(), gradient.get()})
      if (output) output->poison();
  }
  Results results() const {
    const auto number = [](const std::unique_ptr<Rows>& rows) { return rows ? rows->get()[0] : 0; };
    return {number(loss),  number(divisor),    number(n_correct), number(n_counted),
            losses->get(), predictions->get(), gradient->get()};
  }
  Results run() {
    poison();
    const synfire_loss_desc d = desc();
    EXPECT_OK(synfire_loss(context_, &d, nullptr));
    return results();
  }
  Results replayed() {
    const Graph graph = make_graph(context_);
    const synfire_loss_desc d = desc();
    EXPECT_OK(synfire_graph_record_loss(graph, &d));
    EXPECT_OK(synfire_graph_instantiate(graph));
    poison();
    replay(graph);
    return results();
  }

  static synfire_buffer handle(const std::unique_ptr<Rows>& rows) {
    return rows ? static_cast<synfire_buffer>(*rows) : nullptr;
  }

 private:
  std::unique_ptr<Rows> rows(int32_t dtype, size_t n_rows, size_t length, const std::vector<double>& values,
                             Placement placement) const {
    if (values.empty()) return nullptr;
    auto made = std::make_unique<Rows>(context_, dtype, n_rows, length, placement);
    made->put(values);
    return made;
  }

  synfire_context context_;
  Problem p_;
  int32_t arithmetic_;

 public:
  std::unique_ptr<Rows> source, labels, targets, lengths, n_active, sample_weights, class_weights;
  std::unique_ptr<Rows> loss, divisor, losses, n_correct, n_counted, predictions, gradient;
};

std::vector<double> whole_numbers(Random& random, size_t count, int64_t high) {
  std::vector<double> values(count);
  for (double& value : values) value = static_cast<double>(random.whole(0, high));
  return values;
}

// A problem of this size, with options that the bits of `choice` select.
Problem make_problem(size_t n_steps, size_t batch, size_t n_classes, int32_t dtype, uint64_t choice) {
  Random random(choice * 31 + n_steps + 7 * batch + 131 * n_classes + static_cast<uint64_t>(dtype));
  Problem p = {n_steps, batch, n_classes};
  const auto chosen = [&](int bit) { return (choice >> bit & 1) != 0; };
  p.dtype = dtype;
  p.squared = chosen(0);
  p.per_step = chosen(1);
  p.sum = chosen(2);
  p.x = dtype == SYNFIRE_DTYPE_U32 ? whole_numbers(random, p.n_elements(), 12)
                                   : stored_as(dtype, random.values<double>(p.n_elements(), -6, 6));
  const size_t target_rows = p.per_step ? p.n_samples() : batch;
  if (chosen(3)) {
    p.targets = stored_as(arithmetic_of(dtype), random.values<double>(target_rows * n_classes, 0, 1));
  } else {
    p.labels = whole_numbers(random, target_rows, static_cast<int64_t>(n_classes) - 1);
    if (chosen(4)) p.ignored = static_cast<uint32_t>(p.labels[0]);
  }
  if (chosen(5)) p.lengths = whole_numbers(random, batch, static_cast<int64_t>(n_steps) + 1);
  if (chosen(6)) p.n_active = static_cast<uint32_t>(random.whole(0, static_cast<int64_t>(batch) + 1));
  if (chosen(7)) p.sample_weights = stored_as(SYNFIRE_DTYPE_F32, random.values<double>(batch, 0.5, 2));
  if (chosen(8)) p.class_weights = stored_as(SYNFIRE_DTYPE_F32, random.values<double>(n_classes, 0.5, 2));
  if (chosen(9) && !p.squared) p.smoothing = 0.1;
  if (chosen(10)) p.scale = 1024;
  return p;
}
constexpr uint64_t all_choices = 1 << 11;

void expect_near(const std::vector<double>& got, const std::vector<double>& expected, double tolerance,
                 const char* what) {
  ASSERT_EQ(got.size(), expected.size());
  for (size_t i = 0; i < got.size(); ++i)
    ASSERT_NEAR(got[i], expected[i], tolerance * (1 + std::fabs(expected[i]))) << what << " " << i;
}

class Loss : public testing::Test {
 protected:
  // By the reference, and the same bits in a graph and on the host.
  void check(const Problem& p, Placement placement = {}) {
    Rig rig(context, p, placement);
    const Results got = rig.run();
    Results expected = reference(p);
    if (expected.n_counted == 0) expected.loss = 0;
    const double tolerance = p.dtype == SYNFIRE_DTYPE_F64 ? 1e-13 : 4e-6;
    ASSERT_NO_FATAL_FAILURE(expect_near(got.losses, expected.losses, tolerance, "loss of sample"));
    const double factor = p.scale * (p.squared ? 8 : 2) / (p.sum || expected.n_counted == 0 ? 1 : expected.n_counted);
    for (double& one : expected.gradient) one /= factor;
    std::vector<double> gradient = got.gradient;
    for (double& one : gradient) one /= factor;
    ASSERT_NO_FATAL_FAILURE(expect_near(gradient, expected.gradient, tolerance, "gradient"));
    ASSERT_NEAR(got.loss, expected.loss, tolerance * (1 + std::fabs(expected.loss)));
    ASSERT_NEAR(got.divisor, expected.divisor, 2e-7 * (1 + expected.divisor));
    ASSERT_TRUE(same_bits(got.predictions, expected.predictions));
    ASSERT_EQ(got.n_correct, expected.n_correct);
    ASSERT_EQ(got.n_counted, expected.n_counted);
    ASSERT_TRUE(same_bits(rig.replayed(), got)) << "in a graph";
    ASSERT_TRUE(same_bits(Rig(host, p).run(), got)) << "on the host";
  }

  const Context context = make_context(), host = make_context_on(SYNFIRE_BACKEND_HOST);
};

// ---- By the formulas ------------------------------------------------------------------------------------------------

TEST_F(Loss, KnownAnswers) {
  Problem p = {1, 2, 2};
  p.x = {0, 0, 0, 0};
  p.labels = {0, 1};
  Results r = Rig(context, p).run();
  EXPECT_EQ(r.loss, static_cast<double>(std::log(2.0f)));
  EXPECT_TRUE(same_bits(r.gradient, {-0.25, 0.25, 0.25, -0.25}));
  EXPECT_EQ(r.n_correct, 1);
  p.squared = true;
  p.x = {3, 1, 0, -1};  // the differences are 2, 1, 0, -2
  r = Rig(context, p).run();
  EXPECT_EQ(r.loss, 9.0 / 4);
  EXPECT_TRUE(same_bits(r.gradient, {1, 0.5, 0, -1}));
  // One class: its probability is 1.
  Problem one = {3, 1, 1};
  one.x = {-5, 0, 7};
  one.labels = {0};
  r = Rig(context, one).run();
  EXPECT_EQ(r.loss, 0);
  EXPECT_TRUE(all_are(r.gradient, 0.0));
  EXPECT_EQ(r.n_correct, 3);
}

TEST_F(Loss, EveryChoiceOfOptions) {
  size_t count = 0;
  for (uint64_t choice = 0; choice < all_choices; choice += 1 + choice % 3) {
    SCOPED_TRACE(testing::Message() << "choice " << choice);
    const size_t n_steps = 1 + choice % 4, batch = 1 + choice % 7, n_classes = 1 + choice % 11;
    ASSERT_NO_FATAL_FAILURE(
        check(make_problem(n_steps, batch, n_classes, every_source[choice % 5], choice), placements[count++ % 5]));
  }
}

TEST_F(Loss, EveryShapeInEveryType) {
  const size_t shapes[][3] = {{1, 1, 2},     {1, 1, 20000}, {3, 700, 5},   {1, 5000, 3}, {2, 513, 20}, {5, 3, 32},
                              {1, 9, 33},    {2, 2, 127},   {2, 2, 128},   {2, 2, 129},  {1, 3, 1023}, {1, 17, 1024},
                              {1, 17, 1025}, {2, 2, 2500},  {1, 1024, 16}, {1, 1025, 1}};
  uint64_t choice = 5;
  uint64_t number = 0;
  for (const auto& [n_steps, batch, n_classes] : shapes)
    for (const int32_t dtype : every_source)
      for (int k = 0; k < 3; ++k) {
        choice = (choice * 1103 + 12345) % all_choices;
        if (!sampled(number++)) continue;
        SCOPED_TRACE(testing::Message() << "[" << n_steps << ", " << batch << ", " << n_classes << "] dtype " << dtype
                                        << " choice " << choice);
        ASSERT_NO_FATAL_FAILURE(check(make_problem(n_steps, batch, n_classes, dtype, choice), placements[choice % 5]));
      }
}

TEST_F(Loss, GradientsAreThoseOfCentralDifferences) {
  for (uint64_t choice = 0; choice < all_choices; choice += 37) {
    Problem p = make_problem(2, 3, 4, SYNFIRE_DTYPE_F64, choice);
    p.scale = 1;
    SCOPED_TRACE(testing::Message() << "choice " << choice);
    const Results at = Rig(context, p).run();
    constexpr double h = 1e-5;
    for (size_t i = 0; i < p.x.size(); ++i) {
      Problem moved = p;
      moved.x[i] = p.x[i] + h;
      const double above = Rig(context, moved).run().loss;
      moved.x[i] = p.x[i] - h;
      const double below = Rig(context, moved).run().loss;
      ASSERT_NEAR(at.gradient[i], (above - below) / (2 * h), 1e-8) << "element " << i;
    }
  }
}

// ---- The documented order -------------------------------------------------------------------------------------------

template <typename Number>
Number ordered_sum(const std::vector<Number>& values) {
  const auto tree = [](std::vector<Number> sums) {
    for (size_t half = 64; half > 0; half /= 2)
      for (size_t j = 0; j < half; ++j) sums[j] += sums[j + half];
    return sums[0];
  };
  std::vector<Number> chunks(128, Number(0));
  for (size_t first = 0; first < values.size(); first += 1024) {
    std::vector<Number> sums(128, Number(0));
    for (size_t i = first; i < std::min(values.size(), first + 1024); ++i) sums[i % 128] += values[i];
    chunks[first / 1024 % 128] += tree(sums);
  }
  return tree(chunks);
}

// The sum of f32 as integers on the grid of 32 bits of their largest, found by trying them all.
double exact_sum(const std::vector<double>& values) {
  const auto on_grid = [](double value, int grid) { return std::nearbyint(std::ldexp(value, -grid)); };
  double largest = 0;
  for (const double value : values) largest = std::fmax(largest, std::fabs(value));
  int grid = -149;
  while (on_grid(largest, grid) > 2147483647.0) ++grid;
  int64_t sum = 0;
  for (const double value : values) sum += static_cast<int64_t>(on_grid(value, grid));
  return std::ldexp(static_cast<double>(sum), grid);
}

TEST_F(Loss, SumsAreThoseOfTheDocumentation) {
  for (const size_t batch : std::initializer_list<size_t>{200, 1024, 5000, 140000}) {
    const Problem p = make_problem(1, batch, batch > 100000 ? 1 : 3, SYNFIRE_DTYPE_F32, 1 + 8 + 128);  // squared errors
    const Results r = Rig(context, p).run();
    EXPECT_EQ(r.loss, static_cast<double>(static_cast<float>(
                          exact_sum(r.losses) / (exact_sum(p.sample_weights) * static_cast<double>(p.n_classes)))));
  }
  for (const size_t n_classes : std::initializer_list<size_t>{3, 100, 1024, 2500, 140000}) {
    const Problem p = make_problem(1, 2, n_classes, SYNFIRE_DTYPE_F32, 1 + 8);
    const Results r = Rig(context, p).run();
    for (size_t b = 0; b < 2; ++b) {
      std::vector<float> squares;
      for (size_t c = 0; c < n_classes; ++c) {
        const float difference =
            static_cast<float>(p.x[b * n_classes + c]) - static_cast<float>(p.targets[b * n_classes + c]);
        squares.push_back(difference * difference);
      }
      EXPECT_EQ(r.losses[b], static_cast<double>(ordered_sum(squares))) << n_classes << " classes";
    }
  }
}

TEST_F(Loss, AnyNumberOfThreadsGivesTheSame) {
  for (const uint64_t choice : {0u, 1u, 2u + 8u + 128u, 256u + 512u + 32u, 64u + 1u + 256u})
    for (const auto& [batch, n_classes] : {std::pair<size_t, size_t>{7001, 10}, {33, 3000}, {20011, 4}}) {
      const Problem p = make_problem(1, batch, n_classes, SYNFIRE_DTYPE_F32, choice);
      const Results one = Rig(context, p).run();
      for (const int32_t n_threads : {2, 4}) {
        const Context threads = make_context(n_threads);
        EXPECT_TRUE(same_bits(Rig(threads, p).run(), one)) << n_threads << " threads, choice " << choice;
      }
    }
}

// ---- Samples that do not count --------------------------------------------------------------------------------------

TEST_F(Loss, NothingCounts) {
  for (const bool squared : {false, true})
    for (const size_t batch : std::initializer_list<size_t>{3, 2000}) {
      Problem p = make_problem(2, batch, 5, SYNFIRE_DTYPE_F32, squared ? 1 : 0);
      p.n_active = 0;
      p.x.assign(p.x.size(), nan);
      const Results r = Rig(context, p).run();
      for (const auto& values : {r.losses, r.gradient, r.predictions, {r.loss, r.divisor, r.n_correct, r.n_counted}})
        EXPECT_TRUE(all_are(values, 0.0));
    }
}

// Rows that do not count may hold anything.
TEST_F(Loss, GarbageInRowsBeyondTheBatch) {
  Problem p = make_problem(3, 5, 4, SYNFIRE_DTYPE_F32, 0);
  p.n_active = 2;
  p.lengths = {2, 3, 3, 3, 3};
  const Results clean = Rig(context, p).run();
  for (size_t i = 0; i < p.x.size(); ++i)
    if (i / 4 % 5 >= 2 || (i / 20 == 2 && i / 4 % 5 == 0)) p.x[i] = nan;
  for (size_t b = 2; b < 5; ++b) p.labels[b] = 0xFFFFFFFF;
  EXPECT_TRUE(same_bits(Rig(context, p).run(), clean));
  EXPECT_EQ(clean.n_counted, 5);
}

TEST_F(Loss, ALabelThatIsNoClassMakesTheLossNan) {
  for (const bool squared : {false, true})
    for (const size_t batch : std::initializer_list<size_t>{4, 1500})
      for (const double bad : {5.0, 6.0, 2147483648.0, 4294967295.0}) {
        Problem p = make_problem(1, batch, 5, SYNFIRE_DTYPE_F32, squared ? 1 : 0);
        p.labels[2] = bad;
        Problem without = p;
        without.ignored = static_cast<uint32_t>(bad);
        const Results r = Rig(context, p).run(), expected = Rig(context, without).run();
        EXPECT_TRUE(std::isnan(r.loss));
        EXPECT_TRUE(std::isnan(r.losses[2]));
        EXPECT_FALSE(std::isnan(expected.loss));
        EXPECT_EQ(r.n_counted, static_cast<double>(batch - 1));
        EXPECT_EQ(r.n_correct, expected.n_correct);
        EXPECT_TRUE(same_bits(r.gradient, expected.gradient)) << "as if it were ignored";
        EXPECT_TRUE(all_are(slice(r.gradient, 10, 5), 0.0));
      }
}

TEST_F(Loss, ASampleOfWeightZero) {
  Problem p = make_problem(1, 3, 4, SYNFIRE_DTYPE_F32, 0);
  p.sample_weights = {1, 0, 2};
  for (size_t c = 4; c < 8; ++c) p.x[c] = nan;
  const Results r = Rig(context, p).run();
  EXPECT_TRUE(std::isfinite(r.loss));
  EXPECT_EQ(r.losses[1], 0);
  EXPECT_TRUE(all_are(slice(r.gradient, 4, 4), 0.0));
  EXPECT_EQ(r.n_counted, 3);
  p.sample_weights = {0, 0, 0};
  EXPECT_EQ(Rig(context, p).run().loss, 0);
}

// ---- Numbers that are not finite ------------------------------------------------------------------------------------

TEST_F(Loss, InfinityAndNan) {
  struct Case {
    std::vector<double> x;
    double label, loss, prediction;
    std::vector<double> gradient;
  };
  const double log2 = static_cast<double>(std::log(2.0f));
  const Case cases[] = {
      {{nan, 1, 2}, 2, nan, 0, {nan, nan, nan}},
      {{3, 1, nan}, 0, nan, 2, {nan, nan, nan}},
      {{3, nan, nan}, 0, nan, 1, {nan, nan, nan}},
      {{infinity, 1, 2}, 0, nan, 0, {nan, nan, nan}},
      {{-infinity, -infinity, -infinity}, 0, nan, 0, {nan, nan, nan}},
      {{-infinity, 0, 0}, 1, log2, 1, {0, -0.5, 0.5}},
      {{-infinity, 0, 0}, 0, infinity, 1, {-1, 0.5, 0.5}},
      {{-infinity, -infinity, 4}, 2, 0, 2, {0, 0, 0}},
      {{1e30, -1e30, 0}, 0, 0, 0, {0, 0, 0}},
      {{0, -100, -200}, 2, 200, 0, {1, 0, -1}},
      {{-0.0, 0.0, -1000}, 0, log2, 0, {-0.5, 0.5, 0}},
  };
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_BF16})
    for (const Case& one : cases) {
      Problem p = {1, 1, 3};
      p.dtype = dtype;
      p.x = stored_as(dtype, one.x);
      p.labels = {one.label};
      Rig rig(context, p);
      const Results r = rig.run();
      SCOPED_TRACE(testing::Message() << one.x[0] << ", " << one.x[1] << ", " << one.x[2] << " dtype " << dtype);
      EXPECT_TRUE(same_bits(Rig(host, p).run(), r));
      EXPECT_EQ(r.predictions[0], one.prediction);
      if (std::isfinite(one.loss))
        EXPECT_NEAR(r.loss, one.loss, 1e-6);
      else
        EXPECT_TRUE(same_bits(std::vector<double>{r.loss}, {one.loss}));
      for (size_t c = 0; c < 3; ++c)
        if (std::isnan(one.gradient[c]))
          EXPECT_TRUE(std::isnan(r.gradient[c]));
        else
          EXPECT_NEAR(r.gradient[c], one.gradient[c], 1e-6);
    }
}

// A target of 0 takes no part, whatever the prediction is.
TEST_F(Loss, AClassOfNoProbabilityThatIsNoTarget) {
  Problem p = {1, 1, 3};
  p.x = {-infinity, 0, 0};
  p.targets = {0, 0.5, 0.5};
  const Results r = Rig(context, p).run();
  EXPECT_NEAR(r.loss, std::log(2), 1e-6);
  EXPECT_TRUE(all_are(r.gradient, 0.0));
  p.smoothing = 0.1;
  EXPECT_EQ(Rig(context, p).run().loss, infinity);
  p.squared = true;
  p.smoothing = 0;
  const Results squared = Rig(context, p).run();
  EXPECT_EQ(squared.loss, infinity);
  EXPECT_EQ(squared.gradient[0], -infinity);
  EXPECT_EQ(squared.gradient[1], static_cast<double>(2 * (-0.5f / 3)));
}

TEST_F(Loss, EqualPredictionsGiveTheLowestClass) {
  for (const size_t n_classes : std::initializer_list<size_t>{2, 5, 31, 64, 130, 3000}) {
    Problem p = {1, 3, n_classes};
    p.x.assign(p.n_elements(), 1);
    p.x[n_classes - 1] = 2;                                       // the last one
    p.x[n_classes + n_classes / 2] = p.x[2 * n_classes - 1] = 3;  // the one in the middle
    p.labels = {static_cast<double>(n_classes - 1), 0, 0};
    const Results r = Rig(context, p).run();
    const size_t middle = n_classes / 2;
    EXPECT_TRUE(same_bits(r.predictions, {static_cast<double>(n_classes - 1), static_cast<double>(middle), 0}));
    EXPECT_EQ(r.n_correct, 2);
  }
}

// ---- Outputs --------------------------------------------------------------------------------------------------------

TEST_F(Loss, EachOutputByItself) {
  for (const uint64_t choice : {0u, 1u, 128u + 256u + 512u})
    for (const size_t batch : std::initializer_list<size_t>{6, 1200}) {
      const Problem p = make_problem(2, batch, 5, SYNFIRE_DTYPE_F32, choice);
      const Results all = Rig(context, p).run();
      using Output = std::unique_ptr<Rows> Rig::*;
      const Output outputs[] = {&Rig::loss,      &Rig::divisor,     &Rig::losses,  &Rig::n_correct,
                                &Rig::n_counted, &Rig::predictions, &Rig::gradient};
      for (const Output only : outputs) {
        Rig rig(context, p);
        const Rig whole(context, p);
        synfire_loss_desc desc = rig.desc();
        desc.loss = desc.divisor = desc.losses = desc.n_correct = desc.n_counted = desc.predictions = desc.gradient =
            nullptr;
        const auto give = [&](Output output, synfire_buffer& field) {
          if (output == only) field = Rig::handle(rig.*output);
        };
        give(&Rig::loss, desc.loss);
        give(&Rig::divisor, desc.divisor);
        give(&Rig::losses, desc.losses);
        give(&Rig::n_correct, desc.n_correct);
        give(&Rig::n_counted, desc.n_counted);
        give(&Rig::predictions, desc.predictions);
        give(&Rig::gradient, desc.gradient);
        ASSERT_OK(synfire_loss(context, &desc, nullptr));
        const synfire_loss_desc every = whole.desc();
        ASSERT_OK(synfire_loss(context, &every, nullptr));
        EXPECT_TRUE(same_bits((rig.*only)->get(), (whole.*only)->get()));
      }
    }
}

TEST_F(Loss, Accumulates) {
  for (const size_t batch : std::initializer_list<size_t>{5, 3000}) {
    const Problem p = make_problem(1, batch, 4, SYNFIRE_DTYPE_F32, 4);  // sums
    Rig rig(context, p);
    const Results once = rig.run();
    synfire_loss_desc desc = rig.desc();
    desc.accumulate = desc.add_gradient = 1;
    rig.loss->put({10});
    rig.divisor->put({3});
    rig.n_correct->put({7});
    rig.n_counted->put({4294967290.0});
    rig.gradient->put(std::vector<double>(p.n_elements(), 0.25));
    ASSERT_OK(synfire_loss(context, &desc, nullptr));
    const Results r = rig.results();
    EXPECT_EQ(r.loss, static_cast<double>(static_cast<float>(10 + exact_sum(once.losses))));
    EXPECT_EQ(r.divisor, 3 + once.divisor);
    EXPECT_EQ(r.n_correct, 7 + once.n_correct);
    EXPECT_EQ(r.n_counted, 4294967295.0) << "the largest number";
    for (size_t i = 0; i < p.n_elements(); ++i)
      ASSERT_EQ(r.gradient[i], static_cast<double>(0.25f + static_cast<float>(once.gradient[i])));
  }
}

// An element of a sample that does not count keeps its bits.
TEST_F(Loss, AddsNoGradientToSamplesThatDoNotCount) {
  Problem p = make_problem(2, 3, 4, SYNFIRE_DTYPE_F32, 0);
  p.lengths = {1, 0, 2};
  Rig rig(context, p);
  rig.gradient->put(std::vector<double>(p.n_elements(), -0.0));
  synfire_loss_desc desc = rig.desc();
  desc.add_gradient = 1;
  ASSERT_OK(synfire_loss(context, &desc, nullptr));
  const Results r = rig.results();
  EXPECT_TRUE(all_are(slice(r.gradient, 4, 4), -0.0));
  EXPECT_TRUE(all_are(slice(r.gradient, 12, 8), -0.0));
  EXPECT_NE(r.gradient[0], 0);
}

TEST_F(Loss, TheLossMayBeF64) {
  const Problem p = make_problem(1, 100, 4, SYNFIRE_DTYPE_F32, 4);
  Rig rig(context, p);
  const Rows wide(context, SYNFIRE_DTYPE_F64, 1, 1);
  synfire_loss_desc desc = rig.desc();
  desc.loss = wide;
  ASSERT_OK(synfire_loss(context, &desc, nullptr));
  EXPECT_EQ(wide.get()[0], exact_sum(rig.losses->get()));
}

TEST_F(Loss, TheDivisorMayBeF32) {
  Problem p = make_problem(1, 100, 4, SYNFIRE_DTYPE_F32, 4 + 128 + 256);
  Rig rig(context, p);
  const double wide = rig.run().divisor;
  const Rows narrow(context, SYNFIRE_DTYPE_F32, 1, 1);
  synfire_loss_desc desc = rig.desc();
  desc.divisor = narrow;
  ASSERT_OK(synfire_loss(context, &desc, nullptr));
  EXPECT_EQ(narrow.get()[0], static_cast<double>(static_cast<float>(wide)));
}

// The mean of several parts is the sum of their losses divided by that of their divisors.
TEST_F(Loss, PartsHaveTheMeanOfTheWhole) {
  for (const uint64_t options : {0u, 1u, 8u, 9u, 128u, 256u, 384u, 256u + 512u}) {
    Problem whole = make_problem(1, 60, 5, SYNFIRE_DTYPE_F64, options);
    Rig sums(context, whole);
    sums.loss->put({0});
    sums.divisor->put({0});
    for (const size_t first : {0u, 7u, 40u}) {
      Problem part = whole;
      part.batch = first == 0 ? 7 : first == 7 ? 33 : 20;
      part.sum = true;
      const auto cut = [&](std::vector<double>& list, size_t width) {
        if (!list.empty()) list = slice(list, first * width, part.batch * width);
      };
      cut(part.x, 5);
      cut(part.labels, 1);
      cut(part.targets, 5);
      cut(part.sample_weights, 1);
      const Rig rig(context, part);
      synfire_loss_desc desc = rig.desc();
      desc.loss = Rig::handle(sums.loss);
      desc.divisor = Rig::handle(sums.divisor);
      desc.accumulate = 1;
      ASSERT_OK(synfire_loss(context, &desc, nullptr));
    }
    EXPECT_NEAR(sums.loss->get()[0] / sums.divisor->get()[0], reference(whole).loss, 1e-13) << options;
  }
}

// ---- Graphs ---------------------------------------------------------------------------------------------------------

class LossReplays : public Loss {
 protected:
  int32_t record(synfire_graph graph, const synfire_loss_desc& desc) {
    EXPECT_OK(synfire_graph_record_loss(graph, &desc));
    int32_t operation = -1;
    EXPECT_OK(synfire_graph_get_last_operation(graph, &operation));
    return operation;
  }
  Results next(synfire_graph graph) {
    rig.poison();
    replay(graph);
    return rig.results();
  }
  Results with(double smoothing, double scale) {
    Problem changed = p;
    changed.smoothing = smoothing;
    changed.scale = scale;
    return Rig(context, changed).run();
  }

  const Problem p = make_problem(3, 4, 6, SYNFIRE_DTYPE_F32, 256);
  Rig rig{context, p};
};

TEST_F(LossReplays, ValuesAreSetBetweenThem) {
  const Graph graph = make_graph(context);
  const int32_t operation = record(graph, rig.desc());
  ASSERT_OK(synfire_graph_instantiate(graph));
  EXPECT_TRUE(same_bits(next(graph), with(0, 1)));
  EXPECT_OK(synfire_graph_set_value(graph, operation, "gradient_scale", 512));
  EXPECT_TRUE(same_bits(next(graph), with(0, 512)));
  EXPECT_OK(synfire_graph_set_value(graph, operation, "label_smoothing", 0.25));
  EXPECT_TRUE(same_bits(next(graph), with(0.25, 512)));
  EXPECT_OK(synfire_graph_set_value(graph, operation, "label_smoothing", 1));
  EXPECT_OK(synfire_graph_set_value(graph, operation, "gradient_scale", -1));
  EXPECT_TRUE(same_bits(next(graph), with(1, -1)));
  EXPECT_OK(synfire_graph_set_value(graph, operation, "gradient_scale", 0));
  for (const double element : next(graph).gradient) EXPECT_EQ(element, 0);
  for (const double bad : {-0.1, 1.1, nan, infinity, -infinity})
    EXPECT_FAILS(refused, WORDS("SYN-SCALAR-RANGE", "label_smoothing"),
                 synfire_graph_set_value(graph, operation, "label_smoothing", bad));
  for (const double bad : {nan, infinity, -infinity})
    EXPECT_FAILS(refused, WORDS("SYN-SCALAR-RANGE", "gradient_scale"),
                 synfire_graph_set_value(graph, operation, "gradient_scale", bad));
  EXPECT_FAILS(refused, WORDS("SYN-GRAPH-VALUE", "gradient_scale", "label_smoothing"),
               synfire_graph_set_value(graph, operation, "scale", 1));
}

TEST_F(LossReplays, ASquaredErrorHasNoSmoothing) {
  Problem squared = p;
  squared.squared = true;
  const Rig other(context, squared);
  const Graph graph = make_graph(context);
  const int32_t operation = record(graph, other.desc());
  EXPECT_FAILS(refused, WORDS("SYN-GRAPH-VALUE", "gradient_scale"),
               synfire_graph_set_value(graph, operation, "label_smoothing", 0.1));
}

TEST_F(LossReplays, EpochsAreSummedOnTheDevice) {
  for (const size_t batch : std::initializer_list<size_t>{4, 2000}) {
    Problem sums = make_problem(1, batch, 5, SYNFIRE_DTYPE_F32, 4);
    Rig summed(context, sums);
    const Results once = summed.run();
    synfire_loss_desc desc = summed.desc();
    desc.accumulate = 1;
    const Graph graph = make_graph(context);
    record(graph, desc);
    ASSERT_OK(synfire_graph_instantiate(graph));
    summed.loss->put({0});
    summed.n_correct->put({0});
    summed.n_counted->put({0});
    float loss = 0;
    for (int i = 1; i <= 3; ++i) {
      replay(graph);
      loss = static_cast<float>(static_cast<double>(loss) + exact_sum(once.losses));
      const Results r = summed.results();
      EXPECT_EQ(r.loss, static_cast<double>(loss));
      EXPECT_EQ(r.n_counted, static_cast<double>(i) * static_cast<double>(batch));
      EXPECT_EQ(r.n_correct, i * once.n_correct);
    }
  }
}

TEST_F(LossReplays, ReadsWhatTheDeviceWroteBetweenThem) {
  Problem some = p;
  some.n_active = 4;
  some.lengths = {3, 3, 3, 3};
  Rig other(context, some);
  const Graph graph = make_graph(context);
  record(graph, other.desc());
  ASSERT_OK(synfire_graph_instantiate(graph));
  for (const uint32_t n_active : {4u, 2u, 0u, 9u})
    for (const double length : {3.0, 1.0, 100.0}) {
      some.n_active = n_active;
      some.lengths = {length, 0, 2, 3};
      other.n_active->put({static_cast<double>(n_active)});
      other.lengths->put(some.lengths);
      other.poison();
      replay(graph);
      EXPECT_TRUE(same_bits(other.results(), Rig(context, some).run())) << n_active << " rows";
    }
}

TEST_F(LossReplays, ADisabledOneWritesNothing) {
  const Graph graph = make_graph(context);
  const int32_t operation = record(graph, rig.desc());
  ASSERT_OK(synfire_graph_instantiate(graph));
  EXPECT_OK(synfire_graph_set_enabled(graph, operation, 0));
  rig.poison();
  const Results poison = rig.results();
  EXPECT_TRUE(same_bits(next(graph), poison));
  EXPECT_OK(synfire_graph_set_enabled(graph, operation, 1));
  EXPECT_TRUE(same_bits(next(graph), with(0, 1)));
}

TEST_F(LossReplays, OtherBuffers) {
  const Rows other(context, SYNFIRE_DTYPE_F32, 3, 24);
  const Graph graph = make_graph(context);
  record(graph, rig.desc());
  ASSERT_OK(synfire_graph_instantiate(graph));
  ASSERT_OK(synfire_graph_rebind(graph, *rig.gradient, other));
  next(graph);
  EXPECT_TRUE(same_bits(other.get(), with(0, 1).gradient));
}

TEST_F(LossReplays, APictureNamesIt) {
  const Graph graph = make_graph(context);
  record(graph, rig.desc());
  uint64_t bytes = 0;
  ASSERT_OK(synfire_graph_write_dot(graph, nullptr, &bytes));
  std::string dot(bytes, '?');
  ASSERT_OK(synfire_graph_write_dot(graph, dot.data(), &bytes));
  EXPECT_NE(dot.find("cross-entropy [3, 4, 6]"), std::string::npos) << dot.c_str();
}

TEST_F(LossReplays, SlotsHoldTheirOwnResults) {
  const Buffer frame = make_frame(context, p.n_elements()), loss = make_frame(context, 1);
  synfire_loss_desc desc = rig.desc();
  desc.source = frame;
  desc.loss = loss;
  const Graph graph = make_slotted_graph(context, 3);
  record(graph, desc);
  ASSERT_OK(synfire_graph_instantiate(graph));
  uint64_t tickets[3];
  std::vector<float> expected;
  for (size_t i = 0; i < 3; ++i) {
    Problem one = p;
    for (double& x : one.x) x *= static_cast<double>(i);
    one.x = stored_as(SYNFIRE_DTYPE_F32, one.x);
    expected.push_back(static_cast<float>(Rig(context, one).run().loss));
    std::copy(one.x.begin(), one.x.end(), slot_of(graph, 0, frame));
    tickets[i] = launch(graph);
  }
  for (size_t i = 0; i < 3; ++i) {
    wait(graph, tickets[i]);
    EXPECT_EQ(*slot_of(graph, tickets[i], loss), expected[i]) << "replay " << i;
  }
}

// As a training step uses it: between a forward and its backward.
TEST_F(LossReplays, BetweenForwardAndBackward) {
  const Shape shape{3, 4, 6};
  const Layer layer = make_layer(context, synfire_test::describe(shape, SYNFIRE_DTYPE_F32));
  const Buffer x = make_buffer_of(context, Random(3).values<float>(shape.sequence(), -0.5, 2)),
               v = make_buffer(context, SYNFIRE_DTYPE_F32, shape.sequence()),
               v_init = make_buffer(context, SYNFIRE_DTYPE_F32, shape.row()),
               grad_x = make_buffer(context, SYNFIRE_DTYPE_F32, shape.sequence());
  synfire_forward_desc forward = SYNFIRE_FORWARD_DESC_INIT;
  forward.x = x;
  forward.v_init = v_init;
  forward.v_seq = v;
  synfire_loss_desc loss = rig.desc();
  loss.source = v;
  synfire_backward_desc backward = SYNFIRE_BACKWARD_DESC_INIT;
  backward.grad_v_seq = *rig.gradient;
  backward.grad_x_seq = grad_x;
  const Graph graph = make_graph(context);
  ASSERT_OK(synfire_graph_record_forward(graph, layer, &forward));
  record(graph, loss);
  ASSERT_OK(synfire_graph_record_backward(graph, layer, &backward));
  ASSERT_OK(synfire_graph_instantiate(graph));
  next(graph);
  const std::vector<float> in_graph = download<float>(grad_x, shape.sequence());
  ASSERT_OK(synfire_buffer_fill(grad_x, 0));
  ASSERT_OK(synfire_layer_forward(layer, &forward, nullptr));
  ASSERT_OK(synfire_loss(context, &loss, nullptr));
  ASSERT_OK(synfire_layer_backward(layer, &backward, nullptr));
  EXPECT_EQ(download<float>(grad_x, shape.sequence()), in_graph);
  EXPECT_NE(in_graph, std::vector<float>(shape.sequence(), 0));
}

// ---- What is refused ------------------------------------------------------------------------------------------------

class LossErrors : public LossReplays {
 protected:
  template <typename Change>
  void expect_bad(synfire_status status, std::initializer_list<std::string_view> words, Change change) {
    synfire_loss_desc desc = rig.desc();
    change(desc);
    EXPECT_FAILS(status, words, synfire_loss(context, &desc, nullptr));
    EXPECT_FAILS(status, words, synfire_graph_record_loss(graph, &desc));
  }
  void SetUp() override { rig.poison(); }
  void TearDown() override {
    for (const double element : rig.losses->get()) EXPECT_TRUE(std::isnan(element)) << "a refused call wrote";
    record(graph, rig.desc());
    ASSERT_OK(synfire_graph_instantiate(graph));
    EXPECT_TRUE(same_bits(next(graph), with(0, 1))) << "the graph, after all";
  }

  const Graph graph = make_graph(context);
};

TEST_F(LossErrors, Shapes) {
  for (const int64_t bad : {int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    expect_bad(refused, {"SYN-LOSS-SHAPE", "n_steps"}, [&](auto& desc) { desc.n_steps = bad; });
    expect_bad(refused, {"SYN-LOSS-SHAPE", "n_classes"}, [&](auto& desc) { desc.n_classes = bad; });
    expect_bad(refused, {"SYN-LOSS-SHAPE", "batch"}, [&](auto& desc) { desc.batch = bad; });
  }
  expect_bad(refused, {"SYN-LOSS-SHAPE", "n_classes"}, [](auto& desc) { desc.n_classes = 0; });
  expect_bad(refused, {"SYN-LOSS-SHAPE", "n_classes"}, [](auto& desc) { desc.n_classes = int64_t{1} << 31; });
  expect_bad(refused, {"SYN-LOSS-SHAPE", "n_steps"}, [](auto& desc) { desc.n_steps = int64_t{1} << 32; });
  expect_bad(refused, {"SYN-LOSS-SHAPE", "batch"}, [](auto& desc) {
    desc.n_steps = int64_t{1} << 40;
    desc.batch = int64_t{1} << 40;
  });
  expect_bad(SYNFIRE_ERROR_OUT_OF_MEMORY, {"SYN-LOSS-OVERFLOW", "n_classes"}, [](auto& desc) {
    desc.n_steps = 1;
    desc.batch = (int64_t{1} << 32) - 1;
    desc.n_classes = (int64_t{1} << 31) - 1;
  });
}

TEST_F(LossErrors, KindAndFlags) {
  for (const int32_t bad : {-1, 2, 255, std::numeric_limits<int32_t>::min()}) {
    expect_bad(refused, {"SYN-LOSS-KIND", "kind"}, [&](auto& desc) { desc.kind = bad; });
    expect_bad(refused, {"SYN-LOSS-FLAG", "targets_per_step"}, [&](auto& desc) { desc.targets_per_step = bad; });
    expect_bad(refused, {"SYN-LOSS-FLAG", "ignores_label"}, [&](auto& desc) { desc.ignores_label = bad; });
    expect_bad(refused, {"SYN-LOSS-FLAG", "sum"}, [&](auto& desc) { desc.sum = bad; });
    expect_bad(refused, {"SYN-LOSS-FLAG", "accumulate"}, [&](auto& desc) { desc.accumulate = bad; });
    expect_bad(refused, {"SYN-LOSS-FLAG", "add_gradient"}, [&](auto& desc) { desc.add_gradient = bad; });
  }
}

TEST_F(LossErrors, Numbers) {
  for (const double bad : {-0.1, 1.5, nan, infinity, -infinity})
    expect_bad(refused, {"SYN-LOSS-SMOOTHING", "label_smoothing"}, [&](auto& desc) { desc.label_smoothing = bad; });
  expect_bad(refused, {"SYN-LOSS-SMOOTHING", "label_smoothing"}, [](auto& desc) {
    desc.kind = SYNFIRE_LOSS_MEAN_SQUARED_ERROR;
    desc.label_smoothing = 0.1;
  });
  for (const double bad : {nan, infinity, -infinity})
    expect_bad(refused, {"SYN-SCALAR-RANGE", "gradient_scale"}, [&](auto& desc) { desc.gradient_scale = bad; });
}

TEST_F(LossErrors, LabelsTargetsAndOutputs) {
  const Buffer targets = make_buffer(context, SYNFIRE_DTYPE_F32, p.n_elements());
  expect_bad(refused, {"SYN-LOSS-TARGET", "labels", "targets"}, [](auto& desc) { desc.labels = nullptr; });
  expect_bad(refused, {"SYN-LOSS-TARGET", "labels", "targets"}, [&](auto& desc) { desc.targets = targets; });
  expect_bad(refused, {"SYN-LOSS-LABELS", "n_correct"}, [&](auto& desc) {
    desc.labels = nullptr;
    desc.targets = targets;
  });
  expect_bad(refused, {"SYN-LOSS-LABELS", "ignores_label"}, [&](auto& desc) {
    desc.labels = nullptr;
    desc.targets = targets;
    desc.n_correct = nullptr;
    desc.ignores_label = 1;
  });
  expect_bad(refused, {"SYN-LOSS-OUTPUT", "loss", "gradient"}, [](auto& desc) {
    desc.loss = desc.divisor = desc.losses = desc.n_correct = desc.n_counted = desc.predictions = desc.gradient =
        nullptr;
  });
}

using Field = synfire_buffer synfire_loss_desc::*;
struct NamedField {
  Field field;
  const char* name;
  int32_t dtype;
  uint64_t n_elements;
};
const NamedField fields[] = {
    {&synfire_loss_desc::source, "desc.source", SYNFIRE_DTYPE_F32, 72},
    {&synfire_loss_desc::labels, "desc.labels", SYNFIRE_DTYPE_U32, 4},
    {&synfire_loss_desc::lengths, "desc.lengths", SYNFIRE_DTYPE_U32, 4},
    {&synfire_loss_desc::n_active, "desc.n_active", SYNFIRE_DTYPE_U32, 1},
    {&synfire_loss_desc::sample_weights, "desc.sample_weights", SYNFIRE_DTYPE_F32, 4},
    {&synfire_loss_desc::class_weights, "desc.class_weights", SYNFIRE_DTYPE_F32, 6},
    {&synfire_loss_desc::loss, "desc.loss", SYNFIRE_DTYPE_F32, 1},
    {&synfire_loss_desc::losses, "desc.losses", SYNFIRE_DTYPE_F32, 12},
    {&synfire_loss_desc::n_correct, "desc.n_correct", SYNFIRE_DTYPE_U32, 1},
    {&synfire_loss_desc::n_counted, "desc.n_counted", SYNFIRE_DTYPE_U32, 1},
    {&synfire_loss_desc::predictions, "desc.predictions", SYNFIRE_DTYPE_U32, 12},
    {&synfire_loss_desc::gradient, "desc.gradient", SYNFIRE_DTYPE_F32, 72},
};

TEST_F(LossErrors, TypesAndSizes) {
  for (const NamedField& one : fields) {
    for (const int32_t dtype : {SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS, SYNFIRE_DTYPE_U64}) {
      const Buffer wrong = make_buffer(context, dtype, 100);
      expect_bad(refused, {"SYN-BUFFER-TYPE", one.name}, [&](auto& desc) { desc.*one.field = wrong; });
    }
    if (one.n_elements == 1) continue;
    const Buffer small = make_buffer(context, one.dtype, one.n_elements - 1);
    expect_bad(refused, {"SYN-BUFFER-SIZE", one.name}, [&](auto& desc) { desc.*one.field = small; });
  }
  const Buffer wide = make_buffer(context, SYNFIRE_DTYPE_F64, 100);
  for (const NamedField& one : fields)
    if (one.dtype == SYNFIRE_DTYPE_F32 && one.field != &synfire_loss_desc::source &&
        one.field != &synfire_loss_desc::loss)
      expect_bad(refused, {"SYN-BUFFER-TYPE", one.name}, [&](auto& desc) { desc.*one.field = wide; });
  expect_bad(refused, {"SYN-BUFFER-TYPE", "desc.losses"}, [&](auto& desc) { desc.source = wide; });
  const Buffer targets = make_buffer(context, SYNFIRE_DTYPE_F64, 100);
  expect_bad(refused, {"SYN-BUFFER-TYPE", "desc.targets"}, [&](auto& desc) {
    desc.targets = targets;
    desc.labels = desc.n_correct = nullptr;
  });
  expect_bad(refused, {"SYN-BUFFER-SIZE", "desc.labels"}, [](auto& desc) { desc.targets_per_step = 1; });
}

TEST_F(LossErrors, ShapesOfBuffers) {
  synfire_buffer_desc turned = SYNFIRE_BUFFER_DESC_INIT;
  turned.shape[0] = 6;
  turned.shape[1] = 4;
  turned.shape[2] = 3;
  synfire_buffer handle = nullptr;
  ASSERT_OK(synfire_buffer_create(context, &turned, &handle));
  const Buffer wrong(handle);
  expect_bad(refused, {"SYN-BUFFER-SHAPE", "desc.source"}, [&](auto& desc) { desc.source = wrong; });
  expect_bad(refused, {"SYN-BUFFER-SHAPE", "desc.gradient"}, [&](auto& desc) { desc.gradient = wrong; });
}

TEST_F(LossErrors, Overlaps) {
  expect_bad(refused, {"SYN-BUFFER-OVERLAP", "desc.gradient"}, [](auto& desc) { desc.gradient = desc.source; });
  expect_bad(refused, {"SYN-BUFFER-OVERLAP", "desc.n_correct"}, [](auto& desc) { desc.n_correct = desc.n_counted; });
  expect_bad(refused, {"SYN-BUFFER-OVERLAP", "desc.predictions"}, [](auto& desc) {
    desc.labels = desc.predictions;
    desc.targets_per_step = 1;
  });
}

TEST_F(LossErrors, HandlesDescriptorsAndStreams) {
  const auto bad_handle = SYNFIRE_ERROR_INVALID_HANDLE;
  Buffer gone = make_buffer(context, SYNFIRE_DTYPE_F32, 100);
  const synfire_buffer stale = gone;
  gone.reset();
  const Context elsewhere = make_context();
  for (const NamedField& one : fields) {
    const Buffer foreign = make_buffer(elsewhere, one.dtype, one.n_elements);
    expect_bad(bad_handle, {"SYN-HANDLE-STALE", one.name}, [&](auto& desc) { desc.*one.field = stale; });
    expect_bad(bad_handle, {"SYN-HANDLE-FOREIGN", one.name}, [&](auto& desc) { desc.*one.field = foreign; });
    if (!on_host()) {
      const Buffer pageable = make_frame(context, one.n_elements, SYNFIRE_MEMORY_HOST, one.dtype);
      expect_bad(refused, {"SYN-BUFFER-KIND", one.name}, [&](auto& desc) { desc.*one.field = pageable; });
    }
  }
  expect_bad(bad_handle, {"SYN-HANDLE-NULL", "desc.source"}, [](auto& desc) { desc.source = nullptr; });
  const synfire_loss_desc good = rig.desc();
  EXPECT_FAILS(bad_handle, WORDS("context"), synfire_loss(nullptr, &good, nullptr));
  EXPECT_FAILS(bad_handle, WORDS("graph"), synfire_graph_record_loss(nullptr, &good));
  EXPECT_FAILS(refused, WORDS("desc"), synfire_loss(context, nullptr, nullptr));
  EXPECT_FAILS(refused, WORDS("desc"), synfire_graph_record_loss(graph, nullptr));
  // The smallest size is that of version 0.2, which ends before `divisor`.
  constexpr auto before = static_cast<uint32_t>(offsetof(synfire_loss_desc, divisor));
  for (const uint32_t size : {0u, 1u, before - 1})
    expect_bad(SYNFIRE_ERROR_STRUCT_SIZE, {"SYN-STRUCT-SMALL"}, [&](auto& desc) { desc.struct_size = size; });
  for (const uint32_t size : {before + 1, static_cast<uint32_t>(sizeof good - 1), 4097u})
    expect_bad(SYNFIRE_ERROR_STRUCT_SIZE, {"SYN-STRUCT-SIZE"}, [&](auto& desc) { desc.struct_size = size; });
  if (on_host()) {
    const auto stream = reinterpret_cast<synfire_stream>(uintptr_t{1});
    EXPECT_FAILS(refused, WORDS("stream"), synfire_loss(context, &good, stream));
  }
  const Graph done = make_graph(context);
  record(done, good);
  ASSERT_OK(synfire_graph_instantiate(done));
  EXPECT_FAILS(SYNFIRE_ERROR_WRONG_ORDER, WORDS("SYN-GRAPH-INSTANTIATED"), synfire_graph_record_loss(done, &good));
}

}  // namespace
}  // namespace synfire_test
