// Pools of maps and their gradients: against a reference that pads a map and slides a window over it, for every kind
// and type; by hand; against central differences.
#include <functional>
#include <string>

#include "synapse_rig.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;

struct Case {
  int64_t height, width, channels;
  int64_t kernel_y, kernel_x, stride_y, stride_x, padding_y, padding_x;
  int64_t n_steps = 1, batch = 1;

  int64_t out_height() const { return (height + 2 * padding_y - kernel_y) / stride_y + 1; }
  int64_t out_width() const { return (width + 2 * padding_x - kernel_x) / stride_x + 1; }
  size_t images() const { return static_cast<size_t>(n_steps * batch); }
  size_t inputs() const { return static_cast<size_t>(height * width * channels); }
  size_t outputs() const { return static_cast<size_t>(out_height() * out_width() * channels); }
  Product product() const { return {n_steps, batch, static_cast<int64_t>(inputs()), static_cast<int64_t>(outputs())}; }
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.height << "x" << c.width << "x" << c.channels << " window " << c.kernel_y << "x" << c.kernel_x
             << " stride " << c.stride_y << "," << c.stride_x << " padding " << c.padding_y << "," << c.padding_x
             << " T " << c.n_steps << " B " << c.batch;
}

// Windows that meet, overlap, leave places out, and pass the border; channels below, at and beyond a word, and a tile
// of 256; the whole map; windows side by side that leave out a row and a column.
const Case cases[] = {
    {1, 1, 1, 1, 1, 1, 1, 0, 0},        {4, 6, 2, 2, 2, 2, 2, 0, 0, 3, 2},   {7, 5, 33, 3, 3, 2, 2, 1, 1, 2, 2},
    {6, 6, 64, 5, 5, 1, 1, 2, 2, 1},    {5, 7, 12, 2, 3, 3, 1, 1, 0, 2, 3},  {1, 17, 7, 1, 4, 1, 4, 0, 2, 2, 1},
    {4, 4, 300, 4, 4, 4, 4, 0, 0, 2},   {9, 3, 1, 3, 1, 1, 1, 1, 0, 2, 2},   {3, 3, 40, 1, 1, 2, 2, 0, 0},
    {5, 7, 64, 2, 2, 2, 2, 0, 0, 2, 2}, {6, 10, 12, 3, 3, 3, 3, 0, 0, 1, 2}, {7, 6, 32, 3, 3, 2, 2, 1, 1, 2, 1},
};

// ---- The reference --------------------------------------------------------------------------------------------------

constexpr size_t outside = static_cast<size_t>(-1);

// For each output element, the input elements of its window, row by row.
std::vector<std::vector<size_t>> windows_of(const Case& c) {
  const int64_t padded_width = c.width + 2 * c.padding_x;
  std::vector<size_t> padded(static_cast<size_t>((c.height + 2 * c.padding_y) * padded_width), outside);
  for (int64_t y = 0; y < c.height; ++y)
    for (int64_t x = 0; x < c.width; ++x)
      padded[static_cast<size_t>((y + c.padding_y) * padded_width + x + c.padding_x)] =
          static_cast<size_t>(y * c.width + x);
  std::vector<std::vector<size_t>> windows;
  for (int64_t oy = 0; oy < c.out_height(); ++oy)
    for (int64_t ox = 0; ox < c.out_width(); ++ox)
      for (int64_t channel = 0; channel < c.channels; ++channel) {
        std::vector<size_t> window;
        for (int64_t ky = 0; ky < c.kernel_y; ++ky)
          for (int64_t kx = 0; kx < c.kernel_x; ++kx) {
            const size_t place =
                padded[static_cast<size_t>((oy * c.stride_y + ky) * padded_width + ox * c.stride_x + kx)];
            if (place != outside)
              window.push_back(place * static_cast<size_t>(c.channels) + static_cast<size_t>(channel));
          }
        windows.push_back(window);
      }
  return windows;
}

// The element that has the maximum.
size_t winner(const std::vector<size_t>& window, const double* x) {
  size_t found = window[0];
  for (const size_t i : window)
    if (x[i] > x[found] || std::isnan(x[i])) found = i;
  return found;
}

template <typename R>
std::vector<double> pooled(const Case& c, int32_t kind, const std::vector<double>& x) {
  const auto windows = windows_of(c);
  std::vector<double> y;
  for (size_t m = 0; m < c.images(); ++m)
    for (const auto& window : windows) {
      const double* const image = x.data() + m * c.inputs();
      if (kind == SYNFIRE_POOL_MAX) {
        y.push_back(image[winner(window, image)]);
        continue;
      }
      R sum = 0;
      for (const size_t i : window) sum += static_cast<R>(image[i]);
      if (kind == SYNFIRE_POOL_MEAN) sum /= static_cast<R>(c.kernel_y * c.kernel_x);
      y.push_back(static_cast<double>(sum));
    }
  return y;
}

template <typename R>
std::vector<double> gradient(const Case& c, int32_t kind, const std::vector<double>& x, const std::vector<double>& g) {
  const auto windows = windows_of(c);
  std::vector<R> dx(c.images() * c.inputs());
  for (size_t m = 0; m < c.images(); ++m)
    for (size_t o = 0; o < windows.size(); ++o) {
      R given = static_cast<R>(g[m * c.outputs() + o]);
      R* const image = dx.data() + m * c.inputs();
      if (kind == SYNFIRE_POOL_MAX) {
        image[winner(windows[o], x.data() + m * c.inputs())] += given;
        continue;
      }
      if (kind == SYNFIRE_POOL_MEAN) given /= static_cast<R>(c.kernel_y * c.kernel_x);
      for (const size_t i : windows[o]) image[i] += given;
    }
  return std::vector<double>(dx.begin(), dx.end());
}

// ---- The calls ------------------------------------------------------------------------------------------------------

template <class Desc>
Desc windows_in(Desc desc, const Case& c, int32_t kind, int32_t bound) {
  desc.kind = kind;
  desc.n_steps = c.n_steps;
  desc.batch = c.batch;
  desc.channels = c.channels;
  desc.height = c.height;
  desc.width = c.width;
  desc.kernel_height = c.kernel_y;
  desc.kernel_width = c.kernel_x;
  desc.stride_y = c.stride_y;
  desc.stride_x = c.stride_x;
  desc.padding_y = c.padding_y;
  desc.padding_x = c.padding_x;
  desc.count_bound = bound;
  return desc;
}

class Pool : public SynapseTest {
 protected:
  Rows source_rows(const Case& c, int32_t dtype, const std::vector<double>& x, Placement placement) {
    if (dtype == SYNFIRE_DTYPE_BITS) return spikes_in(context, dtype, c.product(), x, placement);
    Rows rows = rows_for_input(context, dtype, c.product(), placement);
    rows.put(x);
    return rows;
  }
  Rows rows_of_outputs(const Case& c, int32_t dtype, Placement placement) {
    Product p = c.product();
    std::swap(p.n_inputs, p.n_outputs);
    return rows_for_input(context, dtype, p, placement);
  }
  // Elements of packed words are spikes.
  std::vector<double> elements_of(const Case& c, const Rows& rows) {
    if (rows.dtype() != SYNFIRE_DTYPE_BITS) return rows.get();
    std::vector<double> spikes;
    const std::vector<uint32_t> words = rows.words();
    const size_t per_row = (c.outputs() + 31) / 32;
    for (size_t m = 0; m < c.images(); ++m) {
      for (size_t i = 0; i < c.outputs(); ++i) spikes.push_back(words[m * per_row + i / 32] >> i % 32 & 1u);
      if (c.outputs() % 32 != 0) {
        EXPECT_EQ(words[(m + 1) * per_row - 1] >> c.outputs() % 32, 0u);
      }
    }
    return spikes;
  }

  template <typename R>
  void check(const Case& c, int32_t kind, int32_t from, int32_t to, int32_t bound, uint64_t seed) {
    SCOPED_TRACE(testing::Message() << c << " kind " << kind << " from " << from << " to " << to << " bound " << bound);
    Random random(seed);
    const bool counts = from == SYNFIRE_DTYPE_U8;
    std::vector<double> x(c.images() * c.inputs());
    for (double& value : x)
      value = from == SYNFIRE_DTYPE_BITS ? (random.whole(0, 3) == 0 ? 1 : 0)
              : counts                   ? static_cast<double>(random.whole(0, 9))
              : random.whole(0, 3) == 0  ? 0.5  // equal ones
                                         : static_cast<double>(static_cast<float>(random.uniform(-2, 2)));
    const Placement placement = seed % 2 == 0 ? Placement{} : Placement{3, 5};
    const Rows source = source_rows(c, from, x, placement), destination = rows_of_outputs(c, to, placement);
    if (counts)
      for (double& value : x) value = std::min<double>(value, bound == 0 ? 1 : bound);
    auto desc = windows_in(synfire_pool_desc SYNFIRE_POOL_DESC_INIT, c, kind, bound);
    desc.source = source;
    desc.destination = destination;
    const std::vector<double> y = pooled<R>(c, kind, x);
    EXPECT_OK(synfire_pool(context, &desc, nullptr));
    EXPECT_TRUE(same_bits(elements_of(c, destination), y));

    constexpr int32_t dtype = dtype_of<R>;
    Rows grad = rows_of_outputs(c, dtype, placement), dx = rows_for_input(context, dtype, c.product(), placement);
    std::vector<double> g = random.values<double>(c.images() * c.outputs(), -1, 1);
    for (double& value : g) value = static_cast<double>(static_cast<R>(value));
    grad.put(g);
    auto back = windows_in(synfire_pool_backward_desc SYNFIRE_POOL_BACKWARD_DESC_INIT, c, kind, bound);
    back.grad_destination = grad;
    back.grad_source = dx;
    if (kind == SYNFIRE_POOL_MAX) back.source = source;
    std::vector<double> wanted = gradient<R>(c, kind, x, g);
    EXPECT_OK(synfire_pool_backward(context, &back, nullptr));
    EXPECT_TRUE(same_bits(dx.get(), wanted));

    // In a graph, added to what is there.
    const Graph graph = make_graph(context);
    back.accumulate = 1;
    EXPECT_OK(synfire_graph_record_pool(graph, &desc));
    EXPECT_OK(synfire_graph_record_pool_backward(graph, &back));
    EXPECT_OK(synfire_graph_instantiate(graph));
    uint64_t ticket = 0;
    EXPECT_OK(synfire_graph_launch(graph, nullptr, &ticket));
    EXPECT_OK(synfire_graph_wait(graph, ticket, SYNFIRE_WAIT_BLOCK, -1));
    EXPECT_TRUE(same_bits(elements_of(c, destination), y));
    for (double& value : wanted) value = static_cast<double>(static_cast<R>(value) + static_cast<R>(value));
    EXPECT_TRUE(same_bits(dx.get(), wanted));
  }
};

TEST_F(Pool, Spikes) {
  uint64_t seed = 1;
  for (const Case& c : cases) {
    check<float>(c, SYNFIRE_POOL_MAX, SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_BITS, 0, seed++);
    check<float>(c, SYNFIRE_POOL_MAX, SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_U8, 0, seed++);
    check<float>(c, SYNFIRE_POOL_SUM, SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_U8, 0, seed++);
    check<float>(c, SYNFIRE_POOL_SUM, SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_F32, 0, seed++);
    check<float>(c, SYNFIRE_POOL_MEAN, SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_F32, 0, seed++);
  }
}

TEST_F(Pool, Counts) {
  uint64_t seed = 100;
  for (const Case& c : cases) {
    check<float>(c, SYNFIRE_POOL_MAX, SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_U8, 7, seed++);
    check<float>(c, SYNFIRE_POOL_SUM, SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_U8, 7, seed++);
    check<float>(c, SYNFIRE_POOL_MEAN, SYNFIRE_DTYPE_U8, SYNFIRE_DTYPE_F32, 9, seed++);
    check<double>(c, SYNFIRE_POOL_MAX, SYNFIRE_DTYPE_BITS, SYNFIRE_DTYPE_BITS, 0, seed++);
  }
}

TEST_F(Pool, Values) {
  uint64_t seed = 200;
  for (const Case& c : cases)
    for (const int32_t kind : {SYNFIRE_POOL_MAX, SYNFIRE_POOL_SUM, SYNFIRE_POOL_MEAN}) {
      check<float>(c, kind, SYNFIRE_DTYPE_F32, SYNFIRE_DTYPE_F32, 0, seed++);
      check<double>(c, kind, SYNFIRE_DTYPE_F64, SYNFIRE_DTYPE_F64, 0, seed++);
    }
}

// ---- Definitions ----------------------------------------------------------------------------------------------------

TEST_F(Pool, ByHand) {
  const auto run = [&](const Case& c, int32_t kind, const std::vector<double>& x) {
    const Rows source = source_rows(c, SYNFIRE_DTYPE_F32, x, {}),
               destination = rows_of_outputs(c, SYNFIRE_DTYPE_F32, {});
    auto desc = windows_in(synfire_pool_desc SYNFIRE_POOL_DESC_INIT, c, kind, 0);
    desc.source = source;
    desc.destination = destination;
    EXPECT_OK(synfire_pool(context, &desc, nullptr));
    return destination.get();
  };
  using Numbers = std::vector<double>;
  // The divisor counts the border.
  EXPECT_EQ(run({1, 4, 1, 1, 2, 1, 2, 0, 1}, SYNFIRE_POOL_MEAN, {1, 2, 3, 4}), Numbers({0.5, 2.5, 2}));
  EXPECT_EQ(run({1, 4, 1, 1, 2, 1, 2, 0, 1}, SYNFIRE_POOL_MAX, {-1, -2, -3, -4}), Numbers({-1, -2, -4}));
  // One NaN in a window is its maximum.
  const double nan = std::nan("");
  const Numbers with_nan = run({1, 4, 1, 1, 2, 1, 2, 0, 0}, SYNFIRE_POOL_MAX, {nan, 2, 3, nan});
  EXPECT_TRUE(std::isnan(with_nan[0]) && std::isnan(with_nan[1]));
  // Without a kernel, the whole map; without a stride, the kernel: 7 with a window of 3 and a padding of 1 gives 3.
  const Case whole = {16, 16, 1, 16, 16, 1, 1, 0, 0};
  const Rows source = source_rows(whole, SYNFIRE_DTYPE_BITS, Numbers(256, 1), {}),
             mean = rows_of_outputs(whole, SYNFIRE_DTYPE_F32, {});
  synfire_pool_desc desc = SYNFIRE_POOL_DESC_INIT;
  desc.kind = SYNFIRE_POOL_MEAN;
  desc.n_steps = desc.channels = 1;
  desc.height = desc.width = 16;
  desc.source = source;
  desc.destination = mean;
  EXPECT_OK(synfire_pool(context, &desc, nullptr));
  EXPECT_EQ(mean.get(), Numbers({1}));
  const Case left_out = {1, 7, 1, 1, 3, 1, 3, 0, 1};
  const Rows seven = source_rows(left_out, SYNFIRE_DTYPE_F32, {1, 2, 3, 4, 5, 6, 7}, {}),
             three = rows_of_outputs(left_out, SYNFIRE_DTYPE_F32, {});
  desc = SYNFIRE_POOL_DESC_INIT;
  desc.n_steps = desc.channels = 1;
  desc.width = 7;
  desc.kernel_width = 3;
  desc.padding_x = 1;
  desc.source = seven;
  desc.destination = three;
  EXPECT_OK(synfire_pool(context, &desc, nullptr));
  EXPECT_EQ(three.get(), Numbers({2, 5, 7}));
}

// In f64, of values that are all different: what small steps of the source do.
TEST_F(Pool, CentralDifferences) {
  const Case c = {5, 4, 3, 3, 2, 2, 1, 1, 1, 2, 1};
  Random random(9);
  std::vector<double> x = random.values<double>(c.images() * c.inputs(), -1, 1);
  const auto g = random.values<double>(c.images() * c.outputs(), -1, 1);
  for (const int32_t kind : {SYNFIRE_POOL_MAX, SYNFIRE_POOL_SUM, SYNFIRE_POOL_MEAN}) {
    Rows source = source_rows(c, SYNFIRE_DTYPE_F64, x, {}), destination = rows_of_outputs(c, SYNFIRE_DTYPE_F64, {}),
         grad = rows_of_outputs(c, SYNFIRE_DTYPE_F64, {}), dx = rows_for_input(context, SYNFIRE_DTYPE_F64, c.product());
    grad.put(g);
    auto desc = windows_in(synfire_pool_desc SYNFIRE_POOL_DESC_INIT, c, kind, 0);
    desc.source = source;
    desc.destination = destination;
    auto back = windows_in(synfire_pool_backward_desc SYNFIRE_POOL_BACKWARD_DESC_INIT, c, kind, 0);
    back.grad_destination = grad;
    back.grad_source = dx;
    back.source = source;
    EXPECT_OK(synfire_pool_backward(context, &back, nullptr));
    const std::vector<double> found = dx.get();
    const auto loss = [&] {
      source.put(x);
      EXPECT_OK(synfire_pool(context, &desc, nullptr));
      const std::vector<double> y = destination.get();
      double sum = 0;
      for (size_t i = 0; i < y.size(); ++i) sum += g[i] * y[i];
      return sum;
    };
    for (size_t i = 0; i < x.size(); ++i) {
      const double before = x[i], step = 0x1p-24;
      x[i] = before + step;
      const double above = loss();
      x[i] = before - step;
      const double below = loss();
      x[i] = before;
      EXPECT_NEAR((above - below) / (2 * step), found[i], 1e-7) << kind << " " << i;
    }
  }
}

TEST_F(Pool, Refusals) {
  const Case c = {5, 4, 3, 3, 2, 2, 2, 1, 0, 2, 1};
  const Rows spikes = source_rows(c, SYNFIRE_DTYPE_BITS, std::vector<double>(c.images() * c.inputs()), {}),
             values = source_rows(c, SYNFIRE_DTYPE_F32, std::vector<double>(c.images() * c.inputs()), {}),
             bits = rows_of_outputs(c, SYNFIRE_DTYPE_BITS, {}), bytes = rows_of_outputs(c, SYNFIRE_DTYPE_U8, {}),
             numbers = rows_of_outputs(c, SYNFIRE_DTYPE_F32, {});
  auto good = windows_in(synfire_pool_desc SYNFIRE_POOL_DESC_INIT, c, SYNFIRE_POOL_MAX, 0);
  good.source = spikes;
  good.destination = bits;
  EXPECT_OK(synfire_pool(context, &good, nullptr));
  const auto expect = [&](const char* rule, const char* word, const std::function<void(synfire_pool_desc&)>& change,
                          synfire_status status = refused) {
    SCOPED_TRACE(rule);
    synfire_pool_desc bad = good;
    change(bad);
    EXPECT_FAILS(status, WORDS(rule, word), synfire_pool(context, &bad, nullptr));
  };
  expect("SYN-POOL-WINDOW", "desc.channels", [](auto& desc) { desc.channels = 0; });
  for (const int64_t bad : {int64_t{-1}, int64_t{1} << 61}) {
    expect("SYN-POOL-WINDOW", "desc.height", [&](auto& desc) { desc.height = bad; });
    expect("SYN-POOL-WINDOW", "desc.width", [&](auto& desc) { desc.width = bad; });
    expect("SYN-POOL-WINDOW", "desc.kernel_height", [&](auto& desc) { desc.kernel_height = bad; });
    expect("SYN-POOL-WINDOW", "desc.kernel_width", [&](auto& desc) { desc.kernel_width = bad; });
    expect("SYN-POOL-WINDOW", "desc.stride_y", [&](auto& desc) { desc.stride_y = bad; });
    expect("SYN-POOL-WINDOW", "desc.stride_x", [&](auto& desc) { desc.stride_x = bad; });
    expect("SYN-POOL-WINDOW", "desc.padding_y", [&](auto& desc) { desc.padding_y = bad; });
    expect("SYN-POOL-WINDOW", "desc.padding_x", [&](auto& desc) { desc.padding_x = bad; });
  }
  expect("SYN-POOL-WINDOW", "width of 4", [](auto& desc) { desc.kernel_width = 5; });
  expect("SYN-POOL-PADDING", "half", [](auto& desc) { desc.padding_x = 2; });
  expect("SYN-POOL-BOUND", "desc.count_bound", [](auto& desc) { desc.count_bound = 256; });
  expect("SYN-POOL-KIND", "desc.kind", [](auto& desc) { desc.kind = 3; });
  expect("SYN-POOL-TYPE", "one type", [&](auto& desc) { desc.destination = bytes; });
  expect("SYN-POOL-TYPE", "u8 or f32", [&](auto& desc) { desc.kind = SYNFIRE_POOL_SUM; });
  expect("SYN-POOL-TYPE", "is f32", [&](auto& desc) {
    desc.kind = SYNFIRE_POOL_MEAN;
    desc.destination = bytes;
  });
  expect("SYN-POOL-TYPE", "one type", [&](auto& desc) { desc.source = values; });
  // Sums that a byte does not hold, and those that f32 does not.
  const Case large = {5, 4, 3, 5, 4, 1, 1, 0, 0, 2, 1};
  const Rows counts = source_rows(large, SYNFIRE_DTYPE_U8, std::vector<double>(large.images() * large.inputs()), {});
  expect("SYN-POOL-BOUND", "may be 260", [&](auto& desc) {
    desc = windows_in(desc, large, SYNFIRE_POOL_SUM, 13);
    desc.source = counts;
    desc.destination = bytes;
  });
  expect(
      "SYN-POOL-BOUND", "2^24",
      [&](auto& desc) {
        desc = windows_in(desc, {4096, 4096, 1, 4096, 4096, 1, 1, 0, 0}, SYNFIRE_POOL_SUM, 1);
        desc.destination = numbers;
      },
      SYNFIRE_ERROR_UNSUPPORTED);
  expect(
      "SYN-POOL-OVERFLOW", "2^40", [](auto& desc) { desc.height = desc.width = desc.channels = int64_t{1} << 20; },
      SYNFIRE_ERROR_OUT_OF_MEMORY);
  // The gradient of a maximum needs the source.
  const Rows grad = rows_of_outputs(c, SYNFIRE_DTYPE_F32, {}),
             dx = rows_for_input(context, SYNFIRE_DTYPE_F32, c.product());
  auto back = windows_in(synfire_pool_backward_desc SYNFIRE_POOL_BACKWARD_DESC_INIT, c, SYNFIRE_POOL_MAX, 0);
  back.grad_destination = grad;
  back.grad_source = dx;
  EXPECT_FAILS(refused, WORDS("SYN-POOL-SOURCE"), synfire_pool_backward(context, &back, nullptr));
  back.accumulate = 2;
  EXPECT_FAILS(refused, WORDS("SYN-POOL-FLAG", "desc.accumulate"), synfire_pool_backward(context, &back, nullptr));
  back.accumulate = 0;
  const Rows wide = rows_for_input(context, SYNFIRE_DTYPE_F64, c.product());
  back.grad_source = wide;
  back.source = spikes;
  EXPECT_FAILS(refused, WORDS("desc.grad_source", "f32"), synfire_pool_backward(context, &back, nullptr));
}

}  // namespace
}  // namespace synfire_test
