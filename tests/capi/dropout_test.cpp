// Dropout: masks against the generator written out here, and products of synapses with a mask against sums of integers
// of 64 and 128 bits and sums in the fixed order.
#include <cmath>
#include <limits>

#include "graph_support.hpp"
#include "storage_rig.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();

const int32_t formats[] = {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64,  SYNFIRE_DTYPE_F16,      SYNFIRE_DTYPE_BF16,
                           SYNFIRE_DTYPE_U8,  SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_TIME_BITS};

// ---- Masks ----------------------------------------------------------------------------------------------------------

// Philox4x32-10, word n mod 4.
uint32_t random_word(uint64_t seed, uint64_t offset, uint64_t row, uint64_t n) {
  uint64_t c[4] = {n / 4, row, offset & 0xFFFFFFFF, offset >> 32}, key[2] = {seed & 0xFFFFFFFF, seed >> 32};
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = 0xD2511F53u * c[0], b = 0xCD9E8D57u * c[2];
    const uint64_t next[4] = {(b >> 32) ^ c[1] ^ key[0], b & 0xFFFFFFFF, (a >> 32) ^ c[3] ^ key[1], a & 0xFFFFFFFF};
    std::copy_n(next, 4, c);
    key[0] = (key[0] + 0x9E3779B9u) & 0xFFFFFFFF;
    key[1] = (key[1] + 0xBB67AE85u) & 0xFFFFFFFF;
  }
  return static_cast<uint32_t>(c[n % 4]);
}

struct Draw {
  int64_t n_neurons, batch;
  double probability;
  uint64_t seed, offset;

  size_t words_per_row() const { return static_cast<size_t>((n_neurons + 31) / 32); }
  size_t n_words() const { return static_cast<size_t>(batch) * words_per_row(); }
};

std::vector<uint32_t> expected_mask(const Draw& d) {
  std::vector<uint32_t> mask(d.n_words());
  for (int64_t b = 0; b < d.batch; ++b)
    for (int64_t n = 0; n < d.n_neurons; ++n) {
      const uint32_t word = random_word(d.seed, d.offset, static_cast<uint64_t>(b), static_cast<uint64_t>(n));
      if (word >= std::floor(std::ldexp(d.probability, 32)))
        mask[static_cast<size_t>(b) * d.words_per_row() + static_cast<size_t>(n / 32)] |= 1u << (n % 32);
    }
  return mask;
}

// The buffers of a draw.
struct Drawn {
  Drawn(synfire_context context, const Draw& d, int32_t dtype = SYNFIRE_DTYPE_F32)
      : mask(context, SYNFIRE_DTYPE_BITS, 1, d.n_words(), {1, 0}), scale(context, dtype, 1, 1, {1, 0}) {}
  Rows mask, scale;
};

synfire_dropout_desc describe(const Draw& d, const Drawn& into) {
  synfire_dropout_desc desc = SYNFIRE_DROPOUT_DESC_INIT;
  desc.n_neurons = d.n_neurons;
  desc.batch = d.batch;
  desc.probability = d.probability;
  desc.mask = into.mask;
  desc.scale = into.scale;
  desc.seed = d.seed;
  desc.offset = d.offset;
  return desc;
}

class DropoutTest : public testing::Test {
 protected:
  void expect_draw(const Drawn& got, const Draw& d) {
    EXPECT_EQ(got.mask.words(), expected_mask(d));
    const double scale = 1 / (1 - d.probability);
    EXPECT_EQ(got.scale.get()[0], got.scale.dtype() == SYNFIRE_DTYPE_F64 ? scale : static_cast<float>(scale));
  }
  const Context context = make_context(3);
};

const Draw draws[] = {{1, 1, 0.5, 0, 0},
                      {31, 3, 0.1, 1, 1},
                      {32, 1, 0.9, 2, 0xFFFFFFFF},
                      {33, 7, 0, 3, 5},
                      {300, 50, 0.25, ~uint64_t{0}, ~uint64_t{0}},
                      {1025, 2, 1.0 / 3, 0x123456789ABCDEF, 0x100000000},
                      {64, 130, 0.999999, 6, 7},
                      {2048, 40, std::nextafter(1.0, 0.0), 8, 9},
                      {300000, 2, 0.5, 10, 11}};

TEST_F(DropoutTest, DrawsWhatTheHeaderSays) {
  for (const Draw& d : draws)
    for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64}) {
      SCOPED_TRACE(testing::Message() << d.n_neurons << " neurons, batch " << d.batch << ", p " << d.probability);
      const Drawn got(context, d, dtype);
      const auto desc = describe(d, got);
      ASSERT_OK(synfire_dropout(context, &desc, nullptr));
      expect_draw(got, d);
    }
}

TEST_F(DropoutTest, DropsTheShareThatIsAskedFor) {
  for (const double p : {0.0, 0.001, 0.1, 0.25, 0.5, 0.8, 0.99}) {
    const Draw d = {1000, 200, p, 17, 3};
    const Drawn got(context, d);
    const auto desc = describe(d, got);
    ASSERT_OK(synfire_dropout(context, &desc, nullptr));
    int64_t kept = 0;
    for (const uint32_t word : got.mask.words()) kept += __builtin_popcount(word);
    const double n = 200000, expected = n * (1 - p), deviation = std::sqrt(n * p * (1 - p));
    EXPECT_LE(std::fabs(static_cast<double>(kept) - expected), 5 * deviation) << "p " << p;
  }
}

TEST_F(DropoutTest, RowsDoNotDependOnTheBatch) {
  const Draw few = {70, 2, 0.4, 5, 6}, many = {200, 9, 0.4, 5, 6};
  const Drawn a(context, few), b(context, many);
  for (const auto& desc : {describe(few, a), describe(many, b)}) ASSERT_OK(synfire_dropout(context, &desc, nullptr));
  const auto small = a.mask.words(), large = b.mask.words();
  for (size_t row = 0; row < 2; ++row)
    for (size_t n = 0; n < 70; ++n)
      EXPECT_EQ(small[row * 3 + n / 32] >> n % 32 & 1u, large[row * 7 + n / 32] >> n % 32 & 1u);
}

TEST_F(DropoutTest, ReplaysAdvanceAndValuesChange) {
  Draw d = {333, 6, 0.3, 21, 40};
  const Drawn got(context, d);
  const Graph graph = make_graph(context);
  const auto desc = describe(d, got);
  ASSERT_OK(synfire_graph_record_dropout(graph, &desc));
  int32_t operation = -1;
  ASSERT_OK(synfire_graph_get_last_operation(graph, &operation));
  ASSERT_OK(synfire_graph_instantiate(graph));
  const auto expect_next = [&] {
    replay(graph);
    expect_draw(got, d);
    ++d.offset;
  };
  for (int i = 0; i < 3; ++i) expect_next();
  ASSERT_OK(synfire_graph_set_value(graph, operation, "probability", 0));
  d.probability = 0;
  expect_next();
  ASSERT_OK(synfire_graph_set_value(graph, operation, "probability", 0.75));
  d.probability = 0.75;
  expect_next();
  ASSERT_OK(synfire_graph_set_value(graph, operation, "seed", 22));
  d.seed = 22;
  expect_next();
  ASSERT_OK(synfire_graph_set_value(graph, operation, "offset", 7));
  d.offset = 7;
  for (int i = 0; i < 2; ++i) expect_next();
  ASSERT_OK(synfire_graph_set_enabled(graph, operation, 0));
  replay(graph);
  ASSERT_OK(synfire_graph_set_enabled(graph, operation, 1));
  expect_next();
  for (const double bad : {-0.1, 1.0, 2.0, nan})
    EXPECT_FAILS(refused, WORDS("SYN-SCALAR-RANGE"), synfire_graph_set_value(graph, operation, "probability", bad));
  expect_next();
}

// ---- What is refused ------------------------------------------------------------------------------------------------

class DropoutErrors : public DropoutTest {
 protected:
  template <typename Change>
  void expect_bad(synfire_status status, std::initializer_list<std::string_view> words, Change change) {
    auto desc = describe(d, into);
    change(desc);
    EXPECT_FAILS(status, words, synfire_dropout(context, &desc, nullptr));
    EXPECT_FAILS(status, words, synfire_graph_record_dropout(graph, &desc));
  }
  const Draw d = {70, 2, 0.5, 0, 0};
  const Drawn into{context, d};
  const Graph graph = make_graph(context);
};

TEST_F(DropoutErrors, NumbersAndBuffers) {
  for (const double bad : {-0.5, 1.0, 2.0, nan})
    expect_bad(refused, {"SYN-DROPOUT-PROBABILITY"}, [&](auto& desc) { desc.probability = bad; });
  expect_bad(SYNFIRE_ERROR_UNSUPPORTED, {"SYN-DROPOUT-SHAPE"},
             [](auto& desc) { desc.n_neurons = (int64_t{1} << 34) + 1; });
  expect_bad(SYNFIRE_ERROR_UNSUPPORTED, {"SYN-DROPOUT-SHAPE"}, [](auto& desc) { desc.batch = (int64_t{1} << 32) + 1; });
  expect_bad(refused, {"SYN-SPIKES-SHAPE"}, [](auto& desc) { desc.n_neurons = 0; });
  expect_bad(refused, {"SYN-RESERVED"}, [](auto& desc) { desc.reserved = 1; });
  expect_bad(SYNFIRE_ERROR_STRUCT_SIZE, {"SYN-STRUCT-SMALL"}, [](auto& desc) { desc.struct_size = 8; });
  const Buffer words = make_buffer(context, SYNFIRE_DTYPE_U32, 6), few = make_buffer(context, SYNFIRE_DTYPE_BITS, 5);
  expect_bad(refused, {"SYN-BUFFER-TYPE", "desc.mask"}, [&](auto& desc) { desc.mask = words; });
  expect_bad(refused, {"SYN-BUFFER-TYPE", "desc.scale"}, [&](auto& desc) { desc.scale = words; });
  expect_bad(refused, {"SYN-BUFFER-SIZE", "desc.mask"}, [&](auto& desc) { desc.mask = few; });
  expect_bad(SYNFIRE_ERROR_INVALID_HANDLE, {"SYN-HANDLE-NULL", "desc.scale"}, [](auto& desc) { desc.scale = nullptr; });
}

// ---- The reference of products --------------------------------------------------------------------------------------

struct Case {
  int64_t n_steps, batch, n_inputs, n_outputs;
  int64_t active = -1;  // batch rows; -1: no buffer
  int32_t dtype = SYNFIRE_DTYPE_F32, kind = SYNFIRE_INPUT_SPIKES, input = SYNFIRE_DTYPE_BITS;
  int32_t gradient_bits = 24;
  double probability = 0.5;
  bool bias = true, not_finite = false;
  Placement placement = {};

  bool is_wide() const { return dtype == SYNFIRE_DTYPE_F64; }
  bool is_exact() const { return !is_wide() && kind == SYNFIRE_INPUT_SPIKES; }
  size_t rows() const { return static_cast<size_t>(n_steps * batch); }
  size_t inputs() const { return static_cast<size_t>(n_inputs); }
  size_t outputs() const { return static_cast<size_t>(n_outputs); }
  size_t row_of(size_t m) const { return m % static_cast<size_t>(batch); }
  bool counts(size_t m) const { return active < 0 || static_cast<int64_t>(row_of(m)) < active; }
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << "T " << c.n_steps << " B " << c.batch << " K " << c.n_inputs << " N " << c.n_outputs << " active "
             << c.active << " type " << c.dtype << " kind " << c.kind << " input " << c.input << " bits "
             << c.gradient_bits << " p " << c.probability << " bias " << c.bias << " not finite " << c.not_finite;
}

// Everything that a case reads, as doubles that its types hold.
struct Data {
  std::vector<double> weight, bias, x, gradient;
  std::vector<bool> kept;  // [B, K]
  double scale;

  Data(const Case& c, uint64_t seed) {
    Random random(seed);
    const auto draw = [&](size_t count, double size) {
      std::vector<double> values(count);
      for (double& value : values) value = random.uniform(-size, size);
      return stored_as(c.dtype, values);
    };
    weight = draw(c.outputs() * c.inputs(), 1);
    bias = c.bias ? draw(c.outputs(), 2) : std::vector<double>();
    gradient = draw(c.rows() * c.outputs(), 1);
    if (c.not_finite) gradient[gradient.size() / 2] = nan;
    kept.resize(static_cast<size_t>(c.batch) * c.inputs());
    for (size_t i = 0; i < kept.size(); ++i) kept[i] = random.uniform(0, 1) >= c.probability;
    scale = stored_as(c.dtype, {1 / (1 - c.probability)})[0];
    x.resize(c.rows() * c.inputs());
    const double rate = random.uniform(0, 0.6);
    for (double& value : x)
      value = c.kind == SYNFIRE_INPUT_SPIKES ? (random.uniform(0, 1) < rate ? 1 : 0) : random.uniform(-2, 2);
    if (c.kind == SYNFIRE_INPUT_VALUES) {
      x = stored_as(c.input, x);
      for (size_t i = 0; i < x.size(); ++i)
        if (!is_kept(c, i / c.inputs(), i % c.inputs()) && random.whole(0, 4) == 0) x[i] = nan;
    }
  }
  bool is_kept(const Case& c, size_t m, size_t k) const { return kept[c.row_of(m) * c.inputs() + k]; }
  double input(const Case& c, size_t m, size_t k) const { return is_kept(c, m, k) ? x[m * c.inputs() + k] : 0; }
};

int64_t on_grid(double value, int grid) {
  return static_cast<int64_t>(std::nearbyint(std::ldexp(value, -grid)));
}
int grid_of(double magnitude, int64_t bound, int first = -149) {
  int grid = first;
  while (std::fabs(std::ldexp(magnitude, -grid)) > 4e18 || on_grid(magnitude, grid) > bound) ++grid;
  return grid;
}
constexpr int64_t largest_24 = 0x7F7F7F, largest_32 = 0x7FFFFFFF;
__extension__ typedef __int128 Wide;  // NOLINT(modernize-use-using): an extension

int grid_of_output(const Case& c, const Data& d, size_t n) {
  double largest = 0;
  for (size_t k = 0; k < c.inputs(); ++k) largest = std::max(largest, std::fabs(d.weight[n * c.inputs() + k]));
  const int grid = grid_of(largest, largest_24);
  return c.is_exact() && c.bias ? std::max(grid, grid_of(std::fabs(d.bias[n]), largest_32)) : grid;
}

template <typename R, typename At>
double ordered_sum(size_t count, At at) {
  double total = 0;
  for (size_t block = 0; block < count; block += 1024) {
    R sum = 0;
    for (size_t chain = block; chain < std::min(block + 1024, count); chain += 64) {
      R link = 0;
      for (size_t i = chain; i < std::min(chain + 64, count); ++i) {
        const auto [a, b] = at(i);
        link = std::fma(static_cast<R>(a), static_cast<R>(b), link);
      }
      sum += link;
    }
    total += static_cast<double>(sum);
  }
  return total;
}

// y, dL/dW, dL/db, dL/dx, and the last three after they were added once more.
using Results = std::vector<std::vector<double>>;

template <typename R>
Results expected(const Case& c, const Data& d) {
  const size_t rows = c.rows(), inputs = c.inputs(), outputs = c.outputs();
  std::vector<double> y(rows * outputs), dw(outputs * inputs), db(outputs), dx(rows * inputs), w = d.weight;
  std::vector<int> grids(outputs);
  for (size_t n = 0; n < outputs && !c.is_wide(); ++n) {
    grids[n] = grid_of_output(c, d, n);
    for (size_t k = 0; k < inputs; ++k)
      w[n * inputs + k] = std::ldexp(static_cast<double>(on_grid(w[n * inputs + k], grids[n])), grids[n]);
  }
  std::vector<size_t> active;
  for (size_t m = 0; m < rows; ++m)
    if (c.counts(m)) active.push_back(m);

  for (const size_t m : active)
    for (size_t n = 0; n < outputs; ++n) {
      const double bias = c.bias ? d.bias[n] : 0;
      double& to = y[m * outputs + n];
      if (c.is_exact()) {
        int64_t sum = 0;
        for (size_t k = 0; k < inputs; ++k)
          if (d.input(c, m, k) != 0) sum += on_grid(w[n * inputs + k], grids[n]);
        const float scale = std::ldexp(1.0f, grids[n]) * static_cast<float>(d.scale);
        to = sum == 0 ? static_cast<float>(bias) + 0.0f
                      : std::fma(static_cast<float>(sum), scale, static_cast<float>(bias));
        continue;
      }
      const double sum =
          ordered_sum<R>(inputs, [&](size_t k) { return std::pair(d.input(c, m, k), d.weight[n * inputs + k]); });
      to = static_cast<R>(c.bias ? std::fma(sum, d.scale, bias) : sum * d.scale);
    }

  for (size_t n = 0; n < outputs; ++n) {
    const auto gradient = [&](size_t i) { return d.gradient[active[i] * outputs + n]; };
    if (c.is_wide()) {
      for (size_t k = 0; k < inputs; ++k)
        dw[n * inputs + k] = static_cast<R>(d.scale * ordered_sum<R>(active.size(), [&](size_t i) {
                                              return std::pair(gradient(i), d.input(c, active[i], k));
                                            }));
      db[n] = static_cast<R>(ordered_sum<R>(active.size(), [&](size_t i) { return std::pair(gradient(i), 1.0); }));
      continue;
    }
    double largest = 0;
    for (size_t i = 0; i < active.size(); ++i)
      largest = std::isnan(gradient(i)) ? nan : std::isnan(largest) ? nan : std::max(largest, std::fabs(gradient(i)));
    const bool finite = std::isfinite(largest);
    const int grid = finite ? grid_of(largest, c.gradient_bits == 24 ? largest_24 : largest_32) : 0;
    if (!c.is_exact()) {
      for (size_t k = 0; k < inputs; ++k) {
        double most = 0;
        for (const size_t m : active) most = std::max(most, std::fabs(d.input(c, m, k)));
        const int input_grid = grid_of(most, largest_24);
        Wide sum = 0;
        for (size_t i = 0; i < active.size() && finite; ++i)
          sum += static_cast<Wide>(on_grid(gradient(i), grid)) * on_grid(d.input(c, active[i], k), input_grid);
        dw[n * inputs + k] =
            finite ? static_cast<float>(std::ldexp(static_cast<double>(sum), grid + input_grid) * d.scale) : nan;
      }
      int64_t sum = 0;
      for (size_t i = 0; i < active.size() && finite; ++i) sum += on_grid(gradient(i), grid);
      db[n] = finite ? static_cast<float>(std::ldexp(static_cast<double>(sum), grid)) : nan;
      continue;
    }
    std::vector<int64_t> sums(inputs + 1);
    for (size_t i = 0; i < active.size() && finite; ++i) {
      const int64_t g = on_grid(gradient(i), grid);
      sums[inputs] += g;
      for (size_t k = 0; k < inputs; ++k) sums[k] += d.input(c, active[i], k) != 0 ? g : 0;
    }
    const auto number = [&](int64_t sum, double scale) {
      return finite ? static_cast<float>(std::ldexp(static_cast<double>(sum), grid) * scale) : nan;
    };
    for (size_t k = 0; k < inputs; ++k) dw[n * inputs + k] = number(sums[k], d.scale);
    db[n] = number(sums[inputs], 1);
  }

  for (const size_t m : active) {
    const double* const g = d.gradient.data() + m * outputs;
    double largest = 0;
    bool finite = true;
    for (size_t n = 0; n < outputs; ++n) {
      finite = finite && std::isfinite(g[n]);
      if (finite) largest = std::max(largest, std::fabs(std::ldexp(g[n], grids[n])));
    }
    const int row = finite && !c.is_wide() && largest > 0 ? grid_of(largest, largest_24, std::ilogb(largest) - 30) : 0;
    for (size_t k = 0; k < inputs; ++k) {
      if (!d.is_kept(c, m, k)) continue;
      double& to = dx[m * inputs + k];
      if (c.is_wide()) {
        to = d.scale * ordered_sum<R>(outputs, [&](size_t n) { return std::pair(g[n], w[n * inputs + k]); });
        continue;
      }
      int64_t sum = 0;
      for (size_t n = 0; n < outputs && finite; ++n)
        sum += on_grid(g[n], row - grids[n]) * on_grid(w[n * inputs + k], grids[n]);
      to = finite ? static_cast<float>(std::ldexp(static_cast<double>(sum), row) * d.scale) : nan;
    }
  }

  const auto twice = [](std::vector<double> values) {
    for (double& value : values) value += value;
    return values;
  };
  return {y, dw, db, dx, twice(dw), twice(db), twice(dx)};
}

// ---- The calls ------------------------------------------------------------------------------------------------------

std::vector<double> read(synfire_synapse synapse, const char* name, const Case& c, size_t count) {
  std::vector<double> values(count);
  std::vector<float> narrow(count);
  if (c.is_wide()) {
    EXPECT_OK(synfire_synapse_read(synapse, name, values.data(), count * sizeof(double)));
    return values;
  }
  EXPECT_OK(synfire_synapse_read(synapse, name, narrow.data(), count * sizeof(float)));
  return {narrow.begin(), narrow.end()};
}
void write(synfire_synapse synapse, const char* name, const Case& c, const std::vector<double>& values) {
  const std::vector<float> narrow(values.begin(), values.end());
  if (c.is_wide())
    ASSERT_OK(synfire_synapse_write(synapse, name, values.data(), values.size() * sizeof(double)));
  else
    ASSERT_OK(synfire_synapse_write(synapse, name, narrow.data(), narrow.size() * sizeof(float)));
}

Rows rows_for_input(synfire_context context, const Case& c, int32_t dtype, Placement placement) {
  const auto n_steps = static_cast<size_t>(c.n_steps), batch = static_cast<size_t>(c.batch);
  if (dtype == SYNFIRE_DTYPE_BITS) return Rows(context, dtype, n_steps, batch * ((c.inputs() + 31) / 32), placement);
  return Rows(context, dtype, dtype == SYNFIRE_DTYPE_TIME_BITS ? (n_steps + 31) / 32 : n_steps, batch * c.inputs(),
              placement);
}

// A synapse, its buffers and its descriptors.
struct Synaptic {
  Synaptic(synfire_context context, const Case& c, const Data& d)
      : c_(c),
        synapse(make(context)),
        input(rows_for_input(context, c, c.input, c.placement)),
        output(sequence(context, c.outputs())),
        grad_output(sequence(context, c.outputs())),
        grad_input(sequence(context, c.inputs())),
        mask(make_buffer(context, SYNFIRE_DTYPE_BITS, static_cast<size_t>(c.batch) * words())),
        scale(context, c.dtype, 1, 1) {
    write(synapse, "weight", c, d.weight);
    if (c.bias) write(synapse, "bias", c, d.bias);
    put_input(context, d);
    grad_output.put(d.gradient);
    scale.put({d.scale});
    // Bits of a row beyond its last input do not count.
    std::vector<uint32_t> bits(static_cast<size_t>(c.batch) * words(), ~uint32_t{0});
    for (size_t b = 0; b < static_cast<size_t>(c.batch); ++b)
      for (size_t k = 0; k < c.inputs(); ++k)
        if (!d.kept[b * c.inputs() + k]) bits[b * words() + k / 32] &= ~(1u << (k % 32));
    upload(mask, bits);
    if (c.active >= 0) {
      active = make_buffer(context, SYNFIRE_DTYPE_U32, 1);
      upload(active, std::vector<uint32_t>{static_cast<uint32_t>(c.active)});
    }
  }

  synfire_synapse_forward_desc forward() const {
    synfire_synapse_forward_desc desc = SYNFIRE_SYNAPSE_FORWARD_DESC_INIT;
    desc.n_steps = c_.n_steps;
    desc.batch = c_.batch;
    desc.input = input;
    desc.output = output;
    desc.n_active = active;
    desc.input_mask = mask;
    desc.input_scale = scale;
    return desc;
  }
  synfire_synapse_backward_desc backward(int32_t add) const {
    synfire_synapse_backward_desc desc = SYNFIRE_SYNAPSE_BACKWARD_DESC_INIT;
    desc.n_steps = c_.n_steps;
    desc.batch = c_.batch;
    desc.grad_output = grad_output;
    desc.input = input;
    desc.grad_input = grad_input;
    desc.n_active = active;
    desc.add_gradients = desc.add_input_gradient = add;
    desc.input_mask = mask;
    desc.input_scale = scale;
    return desc;
  }
  void look(Results& results) const {
    results.push_back(read(synapse, "weight_gradient", c_, c_.inputs() * c_.outputs()));
    results.push_back(c_.bias ? read(synapse, "bias_gradient", c_, c_.outputs()) : std::vector<double>());
    results.push_back(grad_input.get());
  }

 private:
  const Case& c_;
  size_t words() const { return (c_.inputs() + 31) / 32; }
  Rows sequence(synfire_context context, size_t row) const {
    return Rows(context, c_.dtype, static_cast<size_t>(c_.n_steps), static_cast<size_t>(c_.batch) * row, c_.placement);
  }
  Synapse make(synfire_context context) const {
    synfire_synapse_desc desc = SYNFIRE_SYNAPSE_DESC_INIT;
    desc.input_kind = c_.kind;
    desc.n_inputs = c_.n_inputs;
    desc.n_outputs = c_.n_outputs;
    desc.dtype = c_.dtype;
    desc.bias = c_.bias ? 1 : 0;
    desc.gradient_bits = c_.gradient_bits;
    synfire_synapse handle = nullptr;
    EXPECT_OK(synfire_synapse_create(context, &desc, &handle));
    return Synapse(handle);
  }
  void put_input(synfire_context context, const Data& d) {
    if (c_.kind == SYNFIRE_INPUT_VALUES) return input.put(d.x);
    Rows bytes = rows_for_input(context, c_, SYNFIRE_DTYPE_U8, {});
    bytes.put(d.x);
    synfire_convert_spikes_desc desc = SYNFIRE_CONVERT_SPIKES_DESC_INIT;
    desc.n_steps = c_.n_steps;
    desc.n_neurons = c_.n_inputs;
    desc.batch = c_.batch;
    desc.source = bytes;
    desc.destination = input;
    ASSERT_OK(synfire_convert_spikes(context, &desc, nullptr));
  }

 public:
  const Synapse synapse;
  Rows input, output, grad_output, grad_input;
  const Buffer mask;
  Rows scale;
  Buffer active;
};

class DropoutOfSynapses : public testing::Test {
 protected:
  void expect_right(const Case& c, uint64_t seed) {
    SCOPED_TRACE(testing::Message() << c << " seed " << seed);
    const Data d(c, seed);
    Results wanted = c.is_wide() ? expected<double>(c, d) : expected<float>(c, d);
    if (!c.bias) wanted[2] = wanted[5] = {};
    Results eager, recorded;
    ASSERT_NO_FATAL_FAILURE(run(context_, c, d, eager));
    expect_same(eager, wanted, "now");
    ASSERT_NO_FATAL_FAILURE(run_recorded(c, d, recorded));
    expect_same(recorded, wanted, "in a graph");
  }
  // For shapes that take the reference too long.
  void expect_as_on_host(const Case& c, uint64_t seed) {
    SCOPED_TRACE(testing::Message() << c << " seed " << seed);
    const Data d(c, seed);
    Results tested, wanted;
    ASSERT_NO_FATAL_FAILURE(run(context_, c, d, tested));
    ASSERT_NO_FATAL_FAILURE(run(host_, c, d, wanted));
    expect_same(tested, wanted, "on the host");
  }

  const Context context_ = make_context(3), host_ = make_context_on(SYNFIRE_BACKEND_HOST);

 private:
  static void expect_same(const Results& got, const Results& wanted, const char* where) {
    const char* const names[] = {
        "y", "weight gradient", "bias gradient", "dx", "added weight gradient", "added bias gradient", "added dx"};
    ASSERT_EQ(got.size(), wanted.size());
    for (size_t i = 0; i < got.size(); ++i) ASSERT_TRUE(same_bits(got[i], wanted[i])) << names[i] << " " << where;
  }
  static void run(synfire_context context, const Case& c, const Data& d, Results& results) {
    const Synaptic s(context, c, d);
    const auto forward = s.forward();
    ASSERT_OK(synfire_synapse_forward(s.synapse, &forward, nullptr));
    results.push_back(s.output.get());
    for (const int32_t add : {0, 1}) {
      const auto backward = s.backward(add);
      ASSERT_OK(synfire_synapse_backward(s.synapse, &backward, nullptr));
      s.look(results);
    }
  }
  void run_recorded(const Case& c, const Data& d, Results& results) {
    const Synaptic s(context_, c, d);
    for (const int32_t add : {0, 1}) {
      const Graph graph = make_graph(context_);
      const auto forward = s.forward();
      const auto backward = s.backward(add);
      ASSERT_OK(synfire_graph_record_synapse_forward(graph, s.synapse, &forward));
      ASSERT_OK(synfire_graph_record_synapse_backward(graph, s.synapse, &backward));
      ASSERT_OK(synfire_graph_instantiate(graph));
      replay(graph);
      if (add == 0) results.push_back(s.output.get());
      s.look(results);
    }
  }
};

TEST_F(DropoutOfSynapses, SpikesOfEveryFormat) {
  uint64_t seed = 0;
  for (const int32_t format : formats)
    for (Case c : {Case{1, 1, 1, 1}, Case{3, 2, 33, 17}, Case{70, 5, 67, 37}, Case{40, 3, 129, 5, 2}}) {
      c.input = format;
      c.bias = ++seed % 3 != 0;
      c.gradient_bits = seed % 2 == 0 ? 24 : 32;
      c.placement = {seed % 4, seed % 3};
      c.not_finite = seed % 5 == 0;
      c.probability = seed % 7 == 0 ? 0.0 : 0.1 * static_cast<double>(seed % 9);
      expect_right(c, seed);
    }
}

TEST_F(DropoutOfSynapses, ValuesAndDoubles) {
  uint64_t seed = 100;
  for (const Case& shape : {Case{1, 1, 1, 1}, Case{3, 2, 33, 17}, Case{30, 5, 67, 37, 3}, Case{2, 2, 1100, 3}})
    for (const int32_t input :
         {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F16, SYNFIRE_DTYPE_BF16, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_TIME_BITS}) {
      Case c = shape;
      c.input = input;
      c.kind = input == SYNFIRE_DTYPE_TIME_BITS ? SYNFIRE_INPUT_SPIKES : SYNFIRE_INPUT_VALUES;
      c.dtype = input == SYNFIRE_DTYPE_TIME_BITS || input == SYNFIRE_DTYPE_F64 ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32;
      c.bias = ++seed % 3 != 0;
      c.placement = {seed % 4, seed % 3};
      c.probability = 0.1 * static_cast<double>(seed % 9);
      expect_right(c, seed);
    }
}

TEST_F(DropoutOfSynapses, AtRandom) {
  for (uint64_t seed = 1000; seed < 1080; ++seed) {
    Random random(seed);
    Case c = {random.whole(1, 70), random.whole(1, 6), random.whole(1, 150), random.whole(1, 100)};
    if (random.whole(0, 2) == 0) c.active = random.whole(0, c.batch + 1);
    c.input = formats[random.whole(0, 6)];
    c.dtype = random.whole(0, 3) == 0 ? SYNFIRE_DTYPE_F64 : SYNFIRE_DTYPE_F32;
    c.gradient_bits = random.whole(0, 1) == 0 ? 24 : 32;
    c.bias = random.whole(0, 2) != 0;
    c.not_finite = c.is_exact() && random.whole(0, 3) == 0;
    c.probability = random.uniform(0, 0.95);
    expect_as_on_host(c, seed);
    if (seed % 4 == 0) expect_right(c, seed);
  }
}

TEST_F(DropoutOfSynapses, LargeProducts) {
  const Case small[] = {{44, 6, 35, 90}, {5, 3, 770, 31}, {50, 5, 90, 40, 4}};  // sanitizers are much slower
  const Case large[] = {{44, 66, 35, 390}, {5, 14, 770, 310}, {50, 43, 90, 40, 40}};
  uint64_t seed = 2000;
  for (const int32_t dtype : {SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F64})
    for (Case c : is_sanitized() ? small : large) {
      c.dtype = dtype;
      c.input = SYNFIRE_DTYPE_TIME_BITS;
      expect_as_on_host(c, ++seed);
      c.kind = SYNFIRE_INPUT_VALUES;
      c.input = dtype;
      expect_as_on_host(c, ++seed);
    }
}

// Everything is dropped but the bias, with a factor whose product with a weight's grid is infinite.
TEST_F(DropoutOfSynapses, NothingIsLeft) {
  Case c = {5, 2, 40, 9};
  c.probability = std::nextafter(1.0, 0.0);
  Data d(c, 1);
  for (double& weight : d.weight) weight *= 0x1p126;
  d.scale = static_cast<float>(0x1p53);
  std::fill(d.kept.begin(), d.kept.end(), false);
  const Synaptic s(context_, c, d);
  const auto forward = s.forward();
  ASSERT_OK(synfire_synapse_forward(s.synapse, &forward, nullptr));
  const auto y = s.output.get();
  for (size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], d.bias[i % 9]);
}

// A mask that each replay draws, in front of both products.
TEST_F(DropoutOfSynapses, ATrainingStepDrawsItsMask) {
  const Case c = {20, 4, 100, 30};
  Data d(c, 5);
  const Synaptic s(context_, c, d);
  Draw draw = {c.n_inputs, c.batch, 0.4, 99, 0};
  synfire_dropout_desc drop = SYNFIRE_DROPOUT_DESC_INIT;
  drop.n_neurons = draw.n_neurons;
  drop.batch = draw.batch;
  drop.probability = draw.probability;
  drop.mask = s.mask;
  drop.scale = s.scale;
  drop.seed = draw.seed;
  const Graph graph = make_graph(context_);
  const auto forward = s.forward();
  const auto backward = s.backward(0);
  ASSERT_OK(synfire_graph_record_dropout(graph, &drop));
  ASSERT_OK(synfire_graph_record_synapse_forward(graph, s.synapse, &forward));
  ASSERT_OK(synfire_graph_record_synapse_backward(graph, s.synapse, &backward));
  ASSERT_OK(synfire_graph_instantiate(graph));
  for (int i = 0; i < 4; ++i) {
    if (i == 3) {
      draw.probability = 0;
      ASSERT_OK(synfire_graph_set_value(graph, 0, "probability", 0));
    }
    replay(graph);
    const auto bits = expected_mask(draw);
    for (size_t k = 0; k < d.kept.size(); ++k)
      d.kept[k] = (bits[k / 100 * draw.words_per_row() + k % 100 / 32] >> (k % 100 % 32) & 1u) != 0;
    d.scale = static_cast<float>(1 / (1 - draw.probability));
    const Results wanted = expected<float>(c, d);
    Results got = {s.output.get()};
    s.look(got);
    for (size_t j = 0; j < got.size(); ++j) ASSERT_TRUE(same_bits(got[j], wanted[j])) << "result " << j;
    ++draw.offset;
  }
}

TEST_F(DropoutOfSynapses, WhatIsRefused) {
  const Case c = {2, 2, 40, 3};
  const Data d(c, 1);
  const Synaptic s(context_, c, d);
  const Graph graph = make_graph(context_);
  const auto expect_bad = [&](std::initializer_list<std::string_view> words, auto change) {
    auto forward = s.forward();
    auto backward = s.backward(0);
    change(forward);
    change(backward);
    EXPECT_FAILS(refused, words, synfire_synapse_forward(s.synapse, &forward, nullptr));
    EXPECT_FAILS(refused, words, synfire_graph_record_synapse_forward(graph, s.synapse, &forward));
    EXPECT_FAILS(refused, words, synfire_synapse_backward(s.synapse, &backward, nullptr));
    EXPECT_FAILS(refused, words, synfire_graph_record_synapse_backward(graph, s.synapse, &backward));
  };
  expect_bad({"SYN-SYNAPSE-DROPOUT", "input_mask"}, [](auto& desc) { desc.input_mask = nullptr; });
  expect_bad({"SYN-SYNAPSE-DROPOUT", "input_scale"}, [](auto& desc) { desc.input_scale = nullptr; });
  const Buffer wide = make_buffer(context_, SYNFIRE_DTYPE_F64, 1), few = make_buffer(context_, SYNFIRE_DTYPE_BITS, 3),
               words = make_buffer(context_, SYNFIRE_DTYPE_U32, 4);
  expect_bad({"SYN-BUFFER-TYPE", "input_scale"}, [&](auto& desc) { desc.input_scale = wide; });
  expect_bad({"SYN-BUFFER-TYPE", "input_mask"}, [&](auto& desc) { desc.input_mask = words; });
  expect_bad({"SYN-BUFFER-SIZE", "input_mask"}, [&](auto& desc) { desc.input_mask = few; });
}

}  // namespace
}  // namespace synfire_test
