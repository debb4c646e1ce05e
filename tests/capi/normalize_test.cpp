// Batch normalisation: statistics and gradients in f32 against sums in integers of 128 bits, in f64 against loops and
// central differences; what counts; extremes; evaluation as folded into a product; refusals.
#include <functional>
#include <string>

#include "synapse_rig.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;
constexpr float f32_nan = std::numeric_limits<float>::quiet_NaN(),
                f32_infinity = std::numeric_limits<float>::infinity();

struct Case {
  int64_t n_steps, batch, height, width, channels;
  std::vector<uint32_t> lengths = {};  // of each batch row; none: all steps
  int64_t active = -1;                 // batch rows; -1: all
  bool evaluation = false, affine = true, running = true;

  size_t image() const { return static_cast<size_t>(height * width * channels); }
  size_t elements() const { return static_cast<size_t>(n_steps * batch) * image(); }
  size_t n_channels() const { return static_cast<size_t>(channels); }
  bool counts(size_t element) const {
    const size_t row = element / image(), t = row / static_cast<size_t>(batch), b = row % static_cast<size_t>(batch);
    return (lengths.empty() || t < lengths[b]) && (active < 0 || static_cast<int64_t>(b) < active);
  }
  // The elements of a channel that count, in their order.
  std::vector<size_t> members(size_t channel) const {
    std::vector<size_t> found;
    for (size_t i = channel; i < elements(); i += n_channels())
      if (counts(i)) found.push_back(i);
    return found;
  }
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << "T " << c.n_steps << " B " << c.batch << " " << c.height << "x" << c.width << "x" << c.channels
             << (c.lengths.empty() ? "" : " lengths") << " active " << c.active << (c.evaluation ? " evaluation" : "")
             << (c.affine ? " affine" : "") << (c.running ? " running" : "");
}

// Channels below, at and beyond a warp and a tile of 256; places that do not fill lines; a single element.
std::vector<Case> every_case() {
  std::vector<Case> cases = {{1, 1, 1, 1, 1},   {3, 2, 1, 1, 7},   {2, 3, 5, 3, 3},  {1, 1, 9, 7, 33}, {2, 2, 3, 2, 64},
                             {2, 1, 1, 3, 300}, {5, 4, 1, 1, 257}, {4, 3, 1, 11, 1}, {1, 9, 1, 1, 40}};
  std::vector<Case> all;
  for (const Case& plain : cases) {
    Case other = plain;
    all.push_back(plain);
    other.affine = false;
    other.evaluation = true;
    all.push_back(other);
    other = plain;
    for (int64_t b = 0; b < plain.batch; ++b)
      other.lengths.push_back(static_cast<uint32_t>((b + 1) % (plain.n_steps + 2)));
    all.push_back(other);
    other.evaluation = true;
    other.active = plain.batch - 1;
    all.push_back(other);
    other.lengths.clear();
    other.evaluation = other.running = false;
    all.push_back(other);
  }
  return all;
}

template <typename R>
struct Given {
  std::vector<R> y, gradient;                                  // [T, B, N]
  std::vector<R> gamma, beta, running_mean, running_variance;  // [C]
  double epsilon = 1e-5, momentum = 0.1;
};
template <typename R>
struct Results {
  std::vector<R> x, running_mean, running_variance, factor, addend;
  std::vector<R> grad_source, grad_gamma, grad_beta;
};

template <typename R>
Given<R> random_numbers(const Case& c, uint64_t seed) {
  Random random(seed);
  Given<R> given;
  const size_t n = c.n_channels();
  given.gamma = random.values<R>(n, -2, 2);
  given.beta = random.values<R>(n, -1, 1);
  given.running_mean = random.values<R>(n, -1, 1);
  given.running_variance = random.values<R>(n, 0.1, 2);
  // Channels of different sizes and offsets.
  std::vector<R> scale, offset;
  for (size_t i = 0; i < n; ++i) {
    scale.push_back(static_cast<R>(std::ldexp(1.0, static_cast<int>(random.whole(-9, 9)))));
    offset.push_back(static_cast<R>(random.uniform(-3, 3)) * scale.back());
  }
  for (size_t i = 0; i < c.elements(); ++i)
    given.y.push_back(static_cast<R>(random.uniform(-1, 1)) * scale[i % n] + offset[i % n]);
  given.gradient = random.values<R>(c.elements(), -1, 1);
  return given;
}

// ---- The reference --------------------------------------------------------------------------------------------------

// The smallest power of two, at least 2^-149, for which nothing is above 2^30; found by trying them all.
int grid_of_values(float largest) {
  int grid = -149;
  while (std::ldexp(static_cast<double>(largest), -grid) > 0x1p30) ++grid;
  return grid;
}

struct Channel {
  double mean = 0, variance = 0, n = 0;
  bool finite = true;
  int grid = 0;
  std::vector<int64_t> whole;  // Y of the members
  Wide total = 0;
};

Channel channel_of(const std::vector<float>& y, const std::vector<size_t>& members) {
  Channel found;
  float largest = 0;
  for (const size_t i : members) {
    found.finite = found.finite && std::isfinite(y[i]);
    largest = std::max(largest, std::fabs(y[i]));
  }
  found.n = static_cast<double>(members.size());
  if (members.empty()) return found;
  if (!found.finite) {
    found.mean = found.variance = std::nan("");
    return found;
  }
  found.grid = grid_of_values(largest);
  Wide squares = 0;
  for (const size_t i : members) {
    found.whole.push_back(on_grid(static_cast<double>(y[i]), found.grid));
    found.total += found.whole.back();
    squares += static_cast<Wide>(found.whole.back()) * found.whole.back();
  }
  const Wide spread = static_cast<Wide>(members.size()) * squares - found.total * found.total;
  EXPECT_GE(spread, 0);
  found.mean = std::ldexp(static_cast<double>(found.total) / found.n, found.grid);
  found.variance = std::ldexp(static_cast<double>(spread) / (found.n * found.n), 2 * found.grid);
  return found;
}
Channel channel_of(const std::vector<double>& y, const std::vector<size_t>& members) {
  Channel found;
  found.n = static_cast<double>(members.size());
  if (members.empty()) return found;
  for (const size_t i : members) found.mean += y[i];
  found.mean /= found.n;
  for (const size_t i : members) found.variance = std::fma(y[i] - found.mean, y[i] - found.mean, found.variance);
  found.variance /= found.n;
  found.finite = std::isfinite(found.mean) && std::isfinite(found.variance);
  return found;
}

struct Sums {
  double gamma = 0, beta = 0;
};
Sums gradients_of(const Case& c, const Channel& channel, const std::vector<float>& y, const std::vector<float>& g,
                  const std::vector<size_t>& members, double r) {
  bool finite = true;
  float largest = 0;
  for (const size_t i : members) {
    finite = finite && std::isfinite(g[i]);
    largest = std::max(largest, std::fabs(g[i]));
  }
  const double nan = std::nan("");
  if (!finite || (!c.evaluation && !channel.finite)) return {nan, nan};
  if (members.empty()) return {};
  const int grid = grid_of(static_cast<double>(largest), largest_32);
  // In an evaluation, y has a grid of its own.
  Channel own = c.evaluation ? channel_of(y, members) : channel;
  Wide total = 0, products = 0;
  for (size_t i = 0; i < members.size(); ++i) {
    const int64_t whole = on_grid(static_cast<double>(g[members[i]]), grid);
    total += whole;
    if (own.finite) products += static_cast<Wide>(whole) * own.whole[i];
  }
  Sums found;
  found.beta = std::ldexp(static_cast<double>(total), grid);
  if (c.evaluation && !own.finite)
    found.gamma = nan;
  else if (c.evaluation)
    found.gamma = std::ldexp(
        std::fma(-channel.mean, static_cast<double>(total), std::ldexp(static_cast<double>(products), own.grid)) * r,
        grid);
  else
    found.gamma = std::ldexp(
        static_cast<double>(static_cast<Wide>(members.size()) * products - own.total * total) / channel.n * r,
        grid + own.grid);
  return found;
}
Sums gradients_of(const Case& c, const Channel& channel, const std::vector<double>& y, const std::vector<double>& g,
                  const std::vector<size_t>& members, double r) {
  Sums found;
  for (const size_t i : members) {
    found.beta += g[i];
    found.gamma = std::fma(g[i], y[i] - channel.mean, found.gamma);
  }
  found.gamma *= r;
  if (!c.evaluation && !(std::isfinite(found.gamma) && std::isfinite(found.beta) && channel.finite))
    found.gamma = found.beta = std::nan("");
  return found;
}

template <typename R>
Results<R> predicted(const Case& c, const Given<R>& given) {
  Results<R> to;
  to.x.resize(c.elements());
  to.grad_source.resize(c.elements());
  to.running_mean = given.running_mean;
  to.running_variance = given.running_variance;
  for (size_t k = 0; k < c.n_channels(); ++k) {
    const std::vector<size_t> members = c.members(k);
    Channel channel;
    if (c.evaluation) {
      channel.mean = static_cast<double>(given.running_mean[k]);
      channel.variance = static_cast<double>(given.running_variance[k]);
    } else {
      channel = channel_of(given.y, members);
      const double n = channel.n, unbiased = n == 1 ? channel.variance : channel.variance * n / (n - 1);
      const auto moved = [&](double now, double old) {
        return static_cast<R>(std::fma(given.momentum, now - old, old));
      };
      const R mean = moved(channel.mean, static_cast<double>(given.running_mean[k])),
              variance = moved(unbiased, static_cast<double>(given.running_variance[k]));
      if (c.running && n > 0 && std::isfinite(mean) && std::isfinite(variance)) {
        to.running_mean[k] = mean;
        to.running_variance[k] = variance;
      }
    }
    const double r = 1 / std::sqrt(channel.variance + given.epsilon);
    const auto a = static_cast<R>((c.affine ? static_cast<double>(given.gamma[k]) : 1.0) * r);
    const auto b = static_cast<R>(
        std::fma(-channel.mean, static_cast<double>(a), c.affine ? static_cast<double>(given.beta[k]) : 0.0));
    to.factor.push_back(a);
    to.addend.push_back(b);
    const Sums sums = gradients_of(c, channel, given.y, given.gradient, members, r);
    to.grad_gamma.push_back(static_cast<R>(sums.gamma));
    to.grad_beta.push_back(static_cast<R>(sums.beta));
    const auto wide = static_cast<double>(a);
    const auto k1 = static_cast<R>(-wide * r * sums.gamma / channel.n);
    const auto k0 = static_cast<R>(std::fma(-static_cast<double>(k1), channel.mean, -wide * sums.beta / channel.n));
    for (const size_t i : members) {
      to.x[i] = std::fma(given.y[i], a, b);
      to.grad_source[i] =
          c.evaluation ? a * given.gradient[i] : std::fma(a, given.gradient[i], std::fma(k1, given.y[i], k0));
    }
  }
  return to;
}

// ---- The calls ------------------------------------------------------------------------------------------------------

template <class Desc>
void set_maps(Desc& desc, const Case& c, synfire_buffer lengths, synfire_buffer n_active) {
  desc.mode = c.evaluation ? SYNFIRE_NORMALIZE_EVALUATION : SYNFIRE_NORMALIZE_TRAINING;
  desc.n_steps = c.n_steps;
  desc.batch = c.batch;
  desc.height = c.height;
  desc.width = c.width;
  desc.channels = c.channels;
  desc.lengths = lengths;
  desc.n_active = n_active;
}

// A normalisation and its backward, with all of their buffers.
template <typename R>
struct Rig {
  static constexpr int32_t dtype = dtype_of<R>;

  Rig(synfire_context context, const Case& of, const Given<R>& with, Placement placement = {})
      : c(of),
        source(maps_in(context, placement)),
        destination(maps_in(context, placement)),
        gradient(maps_in(context, placement)),
        grad_source(maps_in(context, placement)),
        gamma(make_buffer_of(context, with.gamma)),
        beta(make_buffer_of(context, with.beta)),
        running_mean(make_buffer_of(context, with.running_mean)),
        running_variance(make_buffer_of(context, with.running_variance)),
        factor(make_buffer(context, dtype, c.n_channels())),
        addend(make_buffer(context, dtype, c.n_channels())),
        grad_gamma(make_buffer(context, dtype, c.n_channels())),
        grad_beta(make_buffer(context, dtype, c.n_channels())),
        saved(make_buffer(context, SYNFIRE_DTYPE_U64, 4 * c.n_channels())) {
    source.put(std::vector<double>(with.y.begin(), with.y.end()));
    gradient.put(std::vector<double>(with.gradient.begin(), with.gradient.end()));
    if (!c.lengths.empty()) {
      lengths = make_buffer(context, SYNFIRE_DTYPE_U32, c.lengths.size());
      upload(lengths, c.lengths);
    }
    if (c.active >= 0) {
      n_active = make_buffer(context, SYNFIRE_DTYPE_U32, 1);
      upload(n_active, std::vector<uint32_t>{static_cast<uint32_t>(c.active)});
    }
    set_maps(forward, c, lengths, n_active);
    forward.source = source;
    forward.destination = destination;
    forward.saved = saved;
    forward.factor = factor;
    forward.addend = addend;
    forward.epsilon = with.epsilon;
    forward.momentum = with.momentum;
    if (c.running) {
      forward.running_mean = running_mean;
      forward.running_variance = running_variance;
    }
    set_maps(backward, c, lengths, n_active);
    backward.source = source;
    backward.saved = saved;
    backward.grad_destination = gradient;
    backward.grad_source = grad_source;
    backward.grad_gamma = grad_gamma;
    backward.grad_beta = grad_beta;
    if (c.affine) {
      forward.gamma = backward.gamma = gamma;
      forward.beta = beta;
    }
  }

  Results<R> results() const {
    const size_t n = c.n_channels();
    const auto rows = [](const Rows& from) {
      const std::vector<double> values = from.get();
      return std::vector<R>(values.begin(), values.end());
    };
    return {rows(destination),          download<R>(running_mean, n), download<R>(running_variance, n),
            download<R>(factor, n),     download<R>(addend, n),       rows(grad_source),
            download<R>(grad_gamma, n), download<R>(grad_beta, n)};
  }
  Rows maps_in(synfire_context context, Placement placement) const {
    return Rows(context, dtype, static_cast<size_t>(c.n_steps), static_cast<size_t>(c.batch) * c.image(), placement);
  }

  Case c;
  Rows source, destination, gradient, grad_source;
  Buffer gamma, beta, running_mean, running_variance, factor, addend, grad_gamma, grad_beta, saved;
  Buffer lengths, n_active;
  synfire_normalize_desc forward = SYNFIRE_NORMALIZE_DESC_INIT;
  synfire_normalize_backward_desc backward = SYNFIRE_NORMALIZE_BACKWARD_DESC_INIT;
};

template <typename R>
void expect_same(const Results<R>& found, const Results<R>& wanted) {
  EXPECT_TRUE(same_bits(found.factor, wanted.factor)) << "factor";
  EXPECT_TRUE(same_bits(found.addend, wanted.addend)) << "addend";
  EXPECT_TRUE(same_bits(found.x, wanted.x)) << "X";
  EXPECT_TRUE(same_bits(found.running_mean, wanted.running_mean)) << "running mean";
  EXPECT_TRUE(same_bits(found.running_variance, wanted.running_variance)) << "running variance";
  EXPECT_TRUE(same_bits(found.grad_gamma, wanted.grad_gamma)) << "dL/dgamma";
  EXPECT_TRUE(same_bits(found.grad_beta, wanted.grad_beta)) << "dL/dbeta";
  EXPECT_TRUE(same_bits(found.grad_source, wanted.grad_source)) << "dL/dy";
}

class Normalize : public SynapseTest {
 protected:
  template <typename R>
  Results<R> run(const Case& c, const Given<R>& given) {
    Rig<R> rig(context, c, given);
    EXPECT_OK(synfire_normalize(context, &rig.forward, nullptr));
    EXPECT_OK(synfire_normalize_backward(context, &rig.backward, nullptr));
    return rig.results();
  }

  template <typename R>
  void check(const Case& c, const Given<R>& given, Placement placement = {}) {
    SCOPED_TRACE(testing::Message() << c << " of " << sizeof(R) << " bytes");
    Rig<R> rig(context, c, given, placement);
    EXPECT_OK(synfire_normalize(context, &rig.forward, nullptr));
    EXPECT_OK(synfire_normalize_backward(context, &rig.backward, nullptr));
    Results<R> wanted = predicted(c, given);
    expect_same(rig.results(), wanted);

    // In a graph, added to what is there.
    upload(rig.running_mean, given.running_mean);
    upload(rig.running_variance, given.running_variance);
    const Graph graph = make_graph(context);
    rig.backward.accumulate = rig.backward.add_gradients = 1;
    EXPECT_OK(synfire_graph_record_normalize(graph, &rig.forward));
    EXPECT_OK(synfire_graph_record_normalize_backward(graph, &rig.backward));
    EXPECT_OK(synfire_graph_instantiate(graph));
    replay(graph);
    for (std::vector<R>* sums : {&wanted.grad_source, &wanted.grad_gamma, &wanted.grad_beta})
      for (R& sum : *sums) sum += sum;
    expect_same(rig.results(), wanted);
  }
};

TEST_F(Normalize, Exact) {
  uint64_t seed = 1;
  for (const Case& c : every_case()) {
    check(c, random_numbers<float>(c, seed), seed % 2 == 0 ? Placement{} : Placement{3, 5});
    ++seed;
  }
}

TEST_F(Normalize, Ordered) {
  uint64_t seed = 100;
  for (const Case& c : every_case()) {
    check(c, random_numbers<double>(c, seed), seed % 2 == 0 ? Placement{} : Placement{1, 3});
    ++seed;
  }
}

// Those that a program would compute in f64: the exact sums are not worse than f32.
TEST_F(Normalize, AgreesWithF64) {
  const Case c = {4, 5, 6, 7, 11};
  Given<float> given = random_numbers<float>(c, 5);
  Given<double> wide;
  wide.y.assign(given.y.begin(), given.y.end());
  wide.gradient.assign(given.gradient.begin(), given.gradient.end());
  wide.gamma.assign(given.gamma.begin(), given.gamma.end());
  wide.beta.assign(given.beta.begin(), given.beta.end());
  wide.running_mean.assign(c.n_channels(), 0);
  wide.running_variance.assign(c.n_channels(), 1);
  const Results<float> found = run(c, given);
  const Results<double> wanted = run(c, wide);
  for (size_t i = 0; i < c.elements(); ++i) {
    ASSERT_NEAR(static_cast<double>(found.x[i]), wanted.x[i], 1e-5) << i;
    const double scale = std::fabs(wanted.factor[i % c.n_channels()]);
    ASSERT_NEAR(static_cast<double>(found.grad_source[i]), wanted.grad_source[i], 1e-6 * scale) << i;
  }
  for (size_t k = 0; k < c.n_channels(); ++k)
    EXPECT_NEAR(static_cast<double>(found.grad_gamma[k]), wanted.grad_gamma[k], 1e-4) << k;
}

// ---- Extremes -------------------------------------------------------------------------------------------------------

// A channel for each kind of numbers.
TEST_F(Normalize, Extremes) {
  using Numbers = std::function<float(size_t, Random&)>;
  constexpr float largest = std::numeric_limits<float>::max(), smallest = std::numeric_limits<float>::denorm_min();
  const std::vector<Numbers> kinds = {
      [](size_t, Random&) { return 0.0f; },
      [](size_t, Random&) { return 1.0f; },
      [](size_t, Random&) { return -0.1f; },
      [](size_t, Random&) { return -0.0f; },
      [](size_t i, Random&) { return i == 5 ? 1e6f : 1e-3f; },
      [](size_t i, Random& random) { return i == 5 ? largest : static_cast<float>(random.uniform(-1, 1)); },
      [](size_t, Random& random) { return 1e6f + static_cast<float>(random.uniform(0, 1)); },
      [](size_t i, Random&) { return i == 7 ? std::nextafterf(0.1f, 1.0f) : 0.1f; },
      [](size_t i, Random&) { return smallest * static_cast<float>(i); },
      [](size_t, Random&) { return smallest; },
      [](size_t i, Random&) { return i % 2 == 0 ? largest : -largest; },
      [](size_t, Random&) { return largest; },
      [](size_t i, Random&) { return i == 3 ? f32_infinity : 1.0f; },
      [](size_t i, Random&) { return i == 3 ? f32_nan : static_cast<float>(i); },
      [](size_t, Random& random) {
        return std::ldexp(static_cast<float>(random.uniform(-1, 1)), static_cast<int>(random.whole(-140, 126)));
      },
      [](size_t, Random& random) { return static_cast<float>(std::exp(random.uniform(-40, 40))); },
  };
  Random random(7);
  Case c = {3, 4, 1, 3, static_cast<int64_t>(kinds.size() * kinds.size())};
  for (const bool evaluation : {false, true}) {
    c.evaluation = evaluation;
    Given<float> given = random_numbers<float>(c, 8);
    for (size_t i = 0; i < c.elements(); ++i) {
      const size_t channel = i % c.n_channels(), member = i / c.n_channels();
      given.y[i] = kinds[channel % kinds.size()](member, random);
      given.gradient[i] = kinds[channel / kinds.size()](member, random);
    }
    check(c, given);
  }
  // Constant channels have no variance, whatever they hold.
  c.evaluation = c.affine = false;
  Given<float> constant = random_numbers<float>(c, 9);
  for (size_t i = 0; i < c.elements(); ++i) constant.y[i] = constant.gamma[i % c.n_channels()] * 1e5f;
  EXPECT_TRUE(all_are(run(c, constant).factor, static_cast<float>(1 / std::sqrt(1e-5))));
}

TEST_F(Normalize, NumbersBeyondF32) {
  const Case c = {2, 3, 1, 1, 3};
  Given<double> given = random_numbers<double>(c, 4);
  given.y[1] = std::numeric_limits<double>::infinity();
  given.y[5] = std::nan("");
  given.gradient[3] = std::nan("");
  for (const bool evaluation : {false, true}) {
    Case of = c;
    of.evaluation = evaluation;
    check(of, given);
  }
}

// ---- Running statistics ---------------------------------------------------------------------------------------------

TEST_F(Normalize, RunningStatistics) {
  // A single element has no variance; that of two is divided by one of them.
  Case c = {1, 1, 1, 1, 2};
  Given<float> given = random_numbers<float>(c, 3);
  given.y = {3, -5};
  given.running_mean = {1, 1};
  given.running_variance = {2, 2};
  given.momentum = 0.5;
  Results<float> found = run(c, given);
  EXPECT_EQ(found.running_mean, std::vector<float>({2, -2}));
  EXPECT_EQ(found.running_variance, std::vector<float>({1, 1}));
  for (size_t k = 0; k < 2; ++k) EXPECT_NEAR(found.x[k], given.beta[k], 1e-3f);
  c.n_steps = 2;
  given.y = {3, -5, 5, -9};
  given.gradient.resize(4, 1.0f);
  found = run(c, given);
  EXPECT_EQ(found.running_mean, std::vector<float>({2.5f, -3}));
  EXPECT_EQ(found.running_variance, std::vector<float>({2, 5}));
  // Nothing that counts: they stay, all results are 0.
  c.active = 0;
  found = run(c, given);
  EXPECT_EQ(found.running_mean, given.running_mean);
  EXPECT_EQ(found.running_variance, given.running_variance);
  for (const auto* zeros : {&found.x, &found.grad_source, &found.grad_gamma, &found.grad_beta})
    EXPECT_TRUE(all_are(*zeros, 0.0f));
  c.active = -1;
  c.lengths = {0};
  EXPECT_TRUE(all_are(run(c, given).x, 0.0f));
  // A variance that f32 does not hold, and a y that is not finite, leave both as they were.
  c.lengths.clear();
  given.y = {1e30f, f32_nan, -1e30f, 1};
  found = run(c, given);
  EXPECT_EQ(found.running_mean, given.running_mean);
  EXPECT_EQ(found.running_variance, given.running_variance);
  // Elements that do not count may hold anything.
  Case masked = {2, 2, 1, 1, 3, {1, 2}, 1};
  Given<float> noise = random_numbers<float>(masked, 5);
  const Results<float> clean = run(masked, noise);
  for (size_t i = 0; i < masked.elements(); ++i)
    if (!masked.counts(i)) noise.y[i] = noise.gradient[i] = f32_nan;
  expect_same(run(masked, noise), clean);
}

// The defaults: 1e-5 and 0.1.
TEST_F(Normalize, Defaults) {
  const Case c = {2, 3, 1, 2, 5};
  Given<float> given = random_numbers<float>(c, 11);
  const Results<float> wanted = run(c, given);
  given.epsilon = given.momentum = 0;
  expect_same(run(c, given), wanted);
}

// ---- Splits ---------------------------------------------------------------------------------------------------------

// Threads share the work of maps large enough for them. A batch in another order has the same statistics.
TEST_F(Normalize, NoOrder) {
  for (const int64_t channels : {3, 70, 300}) {
    const Case c = {3, 4, 10, static_cast<int64_t>(600 / channels) + 1, channels};
    const Given<float> given = random_numbers<float>(c, 21);
    const Results<float> one = run(c, given);
    if (on_host()) {
      const Given<double> wide = random_numbers<double>(c, 22);
      const Results<double> one_wide = run(c, wide);
      for (const int32_t n_threads : {2, 5}) {
        const Context threads = make_context(n_threads);
        Rig<float> rig(threads, c, given);
        EXPECT_OK(synfire_normalize(threads, &rig.forward, nullptr));
        EXPECT_OK(synfire_normalize_backward(threads, &rig.backward, nullptr));
        expect_same(rig.results(), one);
        Rig<double> wide_rig(threads, c, wide);
        EXPECT_OK(synfire_normalize(threads, &wide_rig.forward, nullptr));
        EXPECT_OK(synfire_normalize_backward(threads, &wide_rig.backward, nullptr));
        expect_same(wide_rig.results(), one_wide);
      }
    }
    Given<float> turned = given;
    const size_t row = c.image();
    for (size_t i = 0; i < c.elements(); ++i) {
      const size_t other = c.elements() / row - 1 - i / row;
      turned.y[i] = given.y[other * row + i % row];
      turned.gradient[i] = given.gradient[other * row + i % row];
    }
    const Results<float> found = run(c, turned);
    EXPECT_TRUE(same_bits(found.factor, one.factor));
    EXPECT_TRUE(same_bits(found.addend, one.addend));
    EXPECT_TRUE(same_bits(found.running_variance, one.running_variance));
    EXPECT_TRUE(same_bits(found.grad_gamma, one.grad_gamma));
    EXPECT_TRUE(same_bits(found.grad_beta, one.grad_beta));
  }
}

// ---- Evaluation -----------------------------------------------------------------------------------------------------

// After a product of spikes, an evaluation is one factor and one addend on the product's integers; and a row does not
// depend on its batch.
TEST_F(Normalize, EvaluationIsFolded) {
  const Product p = {3, 4, 45, 37};
  const Weights w = random_weights(p, true, 31);
  const Synapse synapse = make_synapse(context, describe(p, true));
  set(synapse, w);
  const std::vector<double> spikes = random_spikes(p, 0.3, 32);
  const Rows input = spikes_in(context, SYNFIRE_DTYPE_BITS, p, spikes), y = outputs_in(context, SYNFIRE_DTYPE_F32, p);
  const synfire_synapse_forward_desc product = forward(p, input, y, nullptr);
  ASSERT_OK(synfire_synapse_forward(synapse, &product, nullptr));
  Case c = {p.n_steps, p.batch, 1, 1, p.n_outputs};
  c.evaluation = true;
  Given<float> given = random_numbers<float>(c, 33);
  const std::vector<double> of_product = y.get();
  given.y.assign(of_product.begin(), of_product.end());
  const Results<float> found = run(c, given);
  std::vector<float> folded;
  for (size_t i = 0; i < c.elements(); ++i) {
    const size_t n = i % p.outputs();
    const int grid = grid_of_row(p, w, n);
    int64_t sum = on_grid(w.bias[n], grid);
    for (size_t k = 0; k < p.inputs(); ++k)
      sum += spikes[i / p.outputs() * p.inputs() + k] != 0 ? on_grid(w.weight[n * p.inputs() + k], grid) : 0;
    folded.push_back(std::fma(static_cast<float>(sum), std::ldexp(found.factor[n], grid), found.addend[n]));
  }
  EXPECT_TRUE(same_bits(found.x, folded));

  Case alone = c;
  alone.batch = 1;
  Given<float> row = given;
  row.y.clear();
  std::vector<float> wanted;
  for (size_t t = 0; t < 3; ++t) {
    row.y = joined(row.y, slice(given.y, (t * 4 + 2) * p.outputs(), p.outputs()));
    wanted = joined(wanted, slice(found.x, (t * 4 + 2) * p.outputs(), p.outputs()));
  }
  row.gradient.resize(row.y.size());
  EXPECT_TRUE(same_bits(run(alone, row).x, wanted));
}

// ---- Gradients ------------------------------------------------------------------------------------------------------

// In f64: small steps of y, gamma and beta.
TEST_F(Normalize, CentralDifferences) {
  for (const bool evaluation : {false, true}) {
    Case c = {2, 3, 2, 2, 3, {2, 1, 2}, 3};
    c.evaluation = evaluation;
    Given<double> given = random_numbers<double>(c, 41);
    given.y = Random(42).values<double>(c.elements(), -1, 1);
    Rig<double> rig(context, c, given);
    rig.forward.running_mean = rig.forward.running_variance = nullptr;
    if (evaluation) {
      rig.forward.running_mean = rig.running_mean;
      rig.forward.running_variance = rig.running_variance;
    }
    const auto loss = [&] {
      rig.source.put(given.y);
      upload(rig.gamma, given.gamma);
      upload(rig.beta, given.beta);
      EXPECT_OK(synfire_normalize(context, &rig.forward, nullptr));
      const std::vector<double> x = rig.destination.get();
      double sum = 0;
      for (size_t i = 0; i < x.size(); ++i) sum += given.gradient[i] * x[i];
      return sum;
    };
    loss();
    EXPECT_OK(synfire_normalize_backward(context, &rig.backward, nullptr));
    const Results<double> found = rig.results();
    const auto compare = [&](std::vector<double>& values, const std::vector<double>& gradients, const char* name) {
      for (size_t i = 0; i < values.size(); ++i) {
        const double before = values[i], step = 0x1p-17;
        values[i] = before + step;
        const double above = loss();
        values[i] = before - step;
        const double below = loss();
        values[i] = before;
        EXPECT_NEAR((above - below) / (2 * step), gradients[i], 1e-7) << name << " " << i << " " << c;
      }
    };
    compare(given.y, found.grad_source, "y");
    compare(given.gamma, found.grad_gamma, "gamma");
    compare(given.beta, found.grad_beta, "beta");
  }
}

// Each output alone, and a backward of an evaluation that does not read y.
TEST_F(Normalize, OptionalOutputs) {
  for (const bool evaluation : {false, true}) {
    Case c = {2, 3, 1, 2, 5};
    c.evaluation = evaluation;
    const Given<float> given = random_numbers<float>(c, 51);
    const Results<float> all = run(c, given);
    Rig<float> rig(context, c, given);
    EXPECT_OK(synfire_normalize(context, &rig.forward, nullptr));
    const auto backward = [&](bool source, bool gamma, bool beta) {
      synfire_normalize_backward_desc desc = rig.backward;
      if (!source) desc.grad_source = nullptr;
      if (!gamma) desc.grad_gamma = nullptr;
      if (!beta) desc.grad_beta = nullptr;
      if (evaluation && !gamma) desc.source = nullptr;
      EXPECT_OK(synfire_normalize_backward(context, &desc, nullptr));
    };
    backward(true, false, false);
    backward(false, true, false);
    backward(false, false, true);
    expect_same(rig.results(), all);
    // Without the arrays that only others read.
    synfire_normalize_desc desc = rig.forward;
    desc.saved = desc.factor = desc.addend = nullptr;
    EXPECT_OK(synfire_normalize(context, &desc, nullptr));
    EXPECT_TRUE(same_bits(rig.results().x, all.x));
  }
}

TEST_F(Normalize, Refusals) {
  const Case c = {2, 3, 1, 2, 5};
  const Given<float> given = random_numbers<float>(c, 61);
  Rig<float> rig(context, c, given);
  const Rig<double> wide(context, c, random_numbers<double>(c, 62));
  const auto expect = [&](const char* rule, const char* word,
                          const std::function<void(synfire_normalize_desc&)>& change, synfire_status status = refused) {
    SCOPED_TRACE(rule);
    synfire_normalize_desc bad = rig.forward;
    change(bad);
    EXPECT_FAILS(status, WORDS(rule, word), synfire_normalize(context, &bad, nullptr));
  };
  expect("SYN-NORMALIZE-SHAPE", "desc.n_steps", [](auto& desc) { desc.n_steps = 0; });
  expect("SYN-NORMALIZE-SHAPE", "desc.channels", [](auto& desc) { desc.channels = 0; });
  for (const int64_t bad : {int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    expect("SYN-NORMALIZE-SHAPE", "desc.batch", [&](auto& desc) { desc.batch = bad; });
    expect("SYN-NORMALIZE-SHAPE", "desc.height", [&](auto& desc) { desc.height = bad; });
    expect("SYN-NORMALIZE-SHAPE", "desc.width", [&](auto& desc) { desc.width = bad; });
  }
  expect("SYN-NORMALIZE-COUNT", "2^32", [](auto& desc) { desc.height = desc.width = 1 << 16; });
  expect(
      "SYN-NORMALIZE-OVERFLOW", "desc.width", [](auto& desc) { desc.height = desc.width = int64_t{1} << 31; },
      SYNFIRE_ERROR_OUT_OF_MEMORY);
  for (const double bad : {-1e-5, std::nan(""), HUGE_VAL})
    expect("SYN-NORMALIZE-EPSILON", "desc.epsilon", [&](auto& desc) { desc.epsilon = bad; });
  for (const double bad : {-0.1, 1.5, std::nan("")})
    expect("SYN-NORMALIZE-MOMENTUM", "desc.momentum", [&](auto& desc) { desc.momentum = bad; });
  expect("SYN-NORMALIZE-MODE", "desc.mode", [](auto& desc) { desc.mode = 2; });
  expect("SYN-NORMALIZE-STATISTICS", "desc.running_mean", [](auto& desc) {
    desc.mode = SYNFIRE_NORMALIZE_EVALUATION;
    desc.running_mean = desc.running_variance = nullptr;
  });
  expect("SYN-NORMALIZE-STATISTICS", "desc.running_variance", [](auto& desc) { desc.running_variance = nullptr; });
  expect("SYN-NORMALIZE-STATISTICS", "desc.running_mean", [](auto& desc) { desc.running_mean = nullptr; });
  const auto fails = [&](const char* word, const std::function<void(synfire_normalize_desc&)>& change) {
    synfire_normalize_desc bad = rig.forward;
    change(bad);
    EXPECT_FAILS(refused, WORDS(word), synfire_normalize(context, &bad, nullptr));
  };
  fails("desc.destination", [&](auto& desc) { desc.destination = wide.destination; });
  fails("desc.gamma", [&](auto& desc) { desc.gamma = wide.gamma; });
  fails("desc.beta", [&](auto& desc) { desc.beta = wide.beta; });
  fails("desc.running_mean", [&](auto& desc) { desc.running_mean = wide.running_mean; });
  fails("desc.running_variance", [&](auto& desc) { desc.running_variance = wide.running_variance; });
  fails("desc.factor", [&](auto& desc) { desc.factor = wide.factor; });
  fails("desc.addend", [&](auto& desc) { desc.addend = wide.addend; });
  fails("desc.saved", [&](auto& desc) { desc.saved = wide.factor; });
  const Buffer few = make_buffer(context, SYNFIRE_DTYPE_U64, 19);
  fails("desc.saved", [&](auto& desc) { desc.saved = few; });
  fails("desc.lengths", [&](auto& desc) { desc.lengths = rig.gamma; });
  fails("desc.n_active", [&](auto& desc) { desc.n_active = rig.gamma; });
  fails("desc.destination", [&](auto& desc) { desc.destination = rig.source; });
  EXPECT_EQ(download<float>(rig.running_mean, 5), given.running_mean);

  const auto backward = [&](const char* rule, const char* word,
                            const std::function<void(synfire_normalize_backward_desc&)>& change) {
    SCOPED_TRACE(rule);
    synfire_normalize_backward_desc bad = rig.backward;
    change(bad);
    EXPECT_FAILS(refused, WORDS(rule, word), synfire_normalize_backward(context, &bad, nullptr));
  };
  backward("SYN-NORMALIZE-OUTPUT", "least",
           [](auto& desc) { desc.grad_source = desc.grad_gamma = desc.grad_beta = nullptr; });
  backward("SYN-NORMALIZE-SOURCE", "training", [](auto& desc) { desc.source = nullptr; });
  backward("SYN-NORMALIZE-SOURCE", "gamma", [](auto& desc) {
    desc.source = nullptr;
    desc.mode = SYNFIRE_NORMALIZE_EVALUATION;
  });
  backward("SYN-NORMALIZE-FLAG", "desc.add_gradients", [](auto& desc) { desc.add_gradients = 2; });
  backward("SYN-NORMALIZE-FLAG", "desc.accumulate", [](auto& desc) { desc.accumulate = -1; });
}

}  // namespace
}  // namespace synfire_test
