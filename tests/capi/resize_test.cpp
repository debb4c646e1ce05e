// Nearest upsampling and borders of zeros, and their gradients: against maps that are built place by place, for every
// type; by hand; the gradient as the transpose; refusals.
#include <functional>
#include <string>

#include "synapse_rig.hpp"

namespace synfire_test {
namespace {

constexpr auto refused = SYNFIRE_ERROR_INVALID_ARGUMENT;
constexpr size_t outside = static_cast<size_t>(-1);

// An upsampling if it has a scale, else a border.
struct Case {
  int64_t height, width, channels;
  int64_t scale_y = 0, scale_x = 0;
  int64_t left = 0, right = 0, top = 0, bottom = 0;
  int64_t n_steps = 2, batch = 3;

  bool upsamples() const { return scale_y > 0; }
  int64_t out_height() const { return upsamples() ? height * scale_y : top + height + bottom; }
  int64_t out_width() const { return upsamples() ? width * scale_x : left + width + right; }
  size_t images() const { return static_cast<size_t>(n_steps * batch); }
  size_t inputs() const { return static_cast<size_t>(height * width * channels); }
  size_t outputs() const { return static_cast<size_t>(out_height() * out_width() * channels); }
  Product product() const { return {n_steps, batch, static_cast<int64_t>(inputs()), static_cast<int64_t>(outputs())}; }

  // The input element of each output element; `outside` for zeros.
  std::vector<size_t> sources() const {
    std::vector<size_t> found;
    for (int64_t y = 0; y < out_height(); ++y)
      for (int64_t x = 0; x < out_width(); ++x)
        for (int64_t channel = 0; channel < channels; ++channel) {
          const int64_t iy = upsamples() ? y / scale_y : y - top, ix = upsamples() ? x / scale_x : x - left;
          const bool inside = iy >= 0 && iy < height && ix >= 0 && ix < width;
          found.push_back(inside ? static_cast<size_t>((iy * width + ix) * channels + channel) : outside);
        }
    return found;
  }
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.height << "x" << c.width << "x" << c.channels << " scale " << c.scale_y << "," << c.scale_x
             << " border " << c.left << "," << c.right << "," << c.top << "," << c.bottom;
}

// Channels below, at and beyond a word, and a tile of 256; one place; borders that leave out, and both at once.
const Case cases[] = {
    {1, 1, 1, 2, 2},
    {3, 5, 7, 2, 3},
    {4, 3, 64, 3, 1},
    {1, 9, 33, 1, 2},
    {2, 2, 300, 2, 2},
    {1, 1, 1, 0, 0, 1, 0, 0, 2},
    {4, 5, 3, 0, 0, 1, 2, 3, 4},
    {3, 4, 32, 0, 0, 0, 1, 1, 0},
    {6, 5, 40, 0, 0, -1, -2, 2, -3},
    {5, 4, 9, 0, 0, -3, 4, -4, 0},
    {3, 3, 2, 0, 0, 0, 0, 0, 0},
    {2, 3, 270, 0, 0, 1, 1, 1, 1},
};

class Resize : public SynapseTest {
 protected:
  Rows rows_of(const Case& c, int32_t dtype, bool outputs, Placement placement = {}) {
    Product p = c.product();
    if (outputs) std::swap(p.n_inputs, p.n_outputs);
    return rows_for_input(context, dtype, p, placement);
  }
  template <class Desc>
  static void set_maps(Desc& desc, const Case& c) {
    desc.n_steps = c.n_steps;
    desc.batch = c.batch;
    desc.channels = c.channels;
    desc.height = c.height;
    desc.width = c.width;
    if constexpr (requires { desc.scale_y; }) {
      desc.scale_y = c.scale_y;
      desc.scale_x = c.scale_x;
    } else {
      desc.left = c.left;
      desc.right = c.right;
      desc.top = c.top;
      desc.bottom = c.bottom;
    }
  }

  // Now, or recorded into a graph.
  synfire_status resize(const Case& c, synfire_buffer source, synfire_buffer destination,
                        synfire_graph graph = nullptr) {
    const auto call = [&](auto desc, auto now, auto record) {
      set_maps(desc, c);
      desc.source = source;
      desc.destination = destination;
      return graph ? record(graph, &desc) : now(context, &desc, nullptr);
    };
    if (c.upsamples())
      return call(synfire_upsample_desc SYNFIRE_UPSAMPLE_DESC_INIT, synfire_upsample, synfire_graph_record_upsample);
    return call(synfire_pad_desc SYNFIRE_PAD_DESC_INIT, synfire_pad, synfire_graph_record_pad);
  }
  synfire_status resize_backward(const Case& c, synfire_buffer grad_destination, synfire_buffer grad_source,
                                 synfire_graph graph = nullptr) {
    const auto call = [&](auto desc, auto now, auto record) {
      set_maps(desc, c);
      desc.grad_destination = grad_destination;
      desc.grad_source = grad_source;
      desc.accumulate = graph ? 1 : 0;
      return graph ? record(graph, &desc) : now(context, &desc, nullptr);
    };
    if (c.upsamples())
      return call(synfire_upsample_backward_desc SYNFIRE_UPSAMPLE_BACKWARD_DESC_INIT, synfire_upsample_backward,
                  synfire_graph_record_upsample_backward);
    return call(synfire_pad_backward_desc SYNFIRE_PAD_BACKWARD_DESC_INIT, synfire_pad_backward,
                synfire_graph_record_pad_backward);
  }

  template <typename R>
  void check(const Case& c, int32_t dtype, uint64_t seed) {
    SCOPED_TRACE(testing::Message() << c << " type " << dtype);
    Random random(seed);
    std::vector<double> x(c.images() * c.inputs()), y;
    for (double& value : x)
      value = dtype == SYNFIRE_DTYPE_BITS ? static_cast<double>(random.whole(0, 1))
              : dtype == SYNFIRE_DTYPE_U8 ? static_cast<double>(random.whole(0, 255))
                                          : static_cast<double>(static_cast<R>(random.uniform(-2, 2)));
    const std::vector<size_t> sources = c.sources();
    for (size_t m = 0; m < c.images(); ++m)
      for (const size_t from : sources) y.push_back(from == outside ? 0 : x[m * c.inputs() + from]);
    const Placement placement = seed % 2 == 0 ? Placement{} : Placement{3, 5};
    const bool bits = dtype == SYNFIRE_DTYPE_BITS;
    Rows source = bits ? spikes_in(context, dtype, c.product(), x, placement) : rows_of(c, dtype, false, placement);
    if (!bits) source.put(x);
    const Rows destination = rows_of(c, dtype, true, placement);
    EXPECT_OK(resize(c, source, destination));
    expect_elements(c, destination, y);

    Rows grad = rows_of(c, dtype_of<R>, true, placement), dx = rows_of(c, dtype_of<R>, false, placement);
    std::vector<R> g = random.values<R>(c.images() * c.outputs(), -1, 1), sums(c.images() * c.inputs());
    grad.put(std::vector<double>(g.begin(), g.end()));
    for (size_t m = 0; m < c.images(); ++m)
      for (size_t o = 0; o < sources.size(); ++o)
        if (sources[o] != outside) sums[m * c.inputs() + sources[o]] += g[m * c.outputs() + o];
    std::vector<double> wanted(sums.begin(), sums.end());
    EXPECT_OK(resize_backward(c, grad, dx));
    EXPECT_TRUE(same_bits(dx.get(), wanted));

    // In a graph, added to what is there.
    const Graph graph = make_graph(context);
    EXPECT_OK(resize(c, source, destination, graph));
    EXPECT_OK(resize_backward(c, grad, dx, graph));
    EXPECT_OK(synfire_graph_instantiate(graph));
    replay(graph);
    expect_elements(c, destination, y);
    for (double& value : wanted) value += value;
    EXPECT_TRUE(same_bits(dx.get(), wanted));
  }

  static void expect_elements(const Case& c, const Rows& rows, const std::vector<double>& wanted) {
    if (rows.dtype() != SYNFIRE_DTYPE_BITS) {
      EXPECT_TRUE(same_bits(rows.get(), wanted));
      return;
    }
    EXPECT_EQ(rows.words(), pack_bits(Shape{c.n_steps, c.batch, static_cast<int64_t>(c.outputs())}, wanted));
  }
};

TEST_F(Resize, Copies) {
  uint64_t seed = 1;
  for (const Case& c : cases) {
    check<float>(c, SYNFIRE_DTYPE_BITS, seed++);
    check<float>(c, SYNFIRE_DTYPE_U8, seed++);
    check<float>(c, SYNFIRE_DTYPE_F32, seed++);
    check<double>(c, SYNFIRE_DTYPE_F64, seed++);
  }
}

// Enough for several threads.
TEST_F(Resize, Threads) {
  const Context threads = make_context(3);
  const Case c = {20, 30, 12, 3, 2, 0, 0, 0, 0, 5, 1};
  Random random(3);
  const std::vector<float> x = random.values<float>(c.images() * c.inputs(), -1, 1);
  const Buffer source = make_buffer_of(threads, x),
               destination = make_buffer(threads, SYNFIRE_DTYPE_F32, c.images() * c.outputs());
  synfire_upsample_desc desc = SYNFIRE_UPSAMPLE_DESC_INIT;
  set_maps(desc, c);
  desc.source = source;
  desc.destination = destination;
  EXPECT_OK(synfire_upsample(threads, &desc, nullptr));
  std::vector<float> wanted;
  for (size_t m = 0; m < c.images(); ++m)
    for (const size_t from : c.sources()) wanted.push_back(x[m * c.inputs() + from]);
  EXPECT_TRUE(same_bits(download<float>(destination, wanted.size()), wanted));
}

TEST_F(Resize, ByHand) {
  using Numbers = std::vector<double>;
  const auto run = [&](const Case& c, const Numbers& x) {
    Rows source = rows_of(c, SYNFIRE_DTYPE_F32, false);
    const Rows destination = rows_of(c, SYNFIRE_DTYPE_F32, true);
    source.put(x);
    EXPECT_OK(resize(c, source, destination));
    return destination.get();
  };
  // Two channels stay together.
  EXPECT_EQ(run({1, 2, 2, 1, 2, 0, 0, 0, 0, 1, 1}, {1, 2, 3, 4}), Numbers({1, 2, 1, 2, 3, 4, 3, 4}));
  EXPECT_EQ(run({2, 1, 1, 2, 2, 0, 0, 0, 0, 1, 1}, {1, 2}), Numbers({1, 1, 1, 1, 2, 2, 2, 2}));
  EXPECT_EQ(run({1, 2, 1, 0, 0, 1, 0, 0, 1, 1, 1}, {5, 6}), Numbers({0, 5, 6, 0, 0, 0}));
  EXPECT_EQ(run({2, 3, 1, 0, 0, -1, 0, -1, 0, 1, 1}, {1, 2, 3, 4, 5, 6}), Numbers({5, 6}));
  // Without a scale, 2 on both axes.
  const Case twice = {1, 2, 1, 2, 2, 0, 0, 0, 0, 1, 1};
  Rows source = rows_of(twice, SYNFIRE_DTYPE_F32, false);
  const Rows destination = rows_of(twice, SYNFIRE_DTYPE_F32, true);
  source.put({7, 8});
  synfire_upsample_desc desc = SYNFIRE_UPSAMPLE_DESC_INIT;
  desc.n_steps = desc.channels = 1;
  desc.width = 2;
  desc.source = source;
  desc.destination = destination;
  EXPECT_OK(synfire_upsample(context, &desc, nullptr));
  EXPECT_EQ(destination.get(), Numbers({7, 7, 8, 8, 7, 7, 8, 8}));
}

TEST_F(Resize, Refusals) {
  const Case up = {3, 4, 2, 2, 3}, border = {3, 4, 2, 0, 0, 1, 0, 2, 1};
  const Rows source = rows_of(up, SYNFIRE_DTYPE_F32, false), bytes = rows_of(up, SYNFIRE_DTYPE_U8, true),
             halves = rows_of(up, SYNFIRE_DTYPE_F16, false), large = rows_of(up, SYNFIRE_DTYPE_F32, true),
             padded = rows_of(border, SYNFIRE_DTYPE_F32, true), wide = rows_of(up, SYNFIRE_DTYPE_F64, false);
  synfire_upsample_desc upsample = SYNFIRE_UPSAMPLE_DESC_INIT;
  synfire_pad_desc pad = SYNFIRE_PAD_DESC_INIT;
  set_maps(upsample, up);
  set_maps(pad, border);
  upsample.source = pad.source = source;
  upsample.destination = large;
  pad.destination = padded;
  EXPECT_OK(synfire_upsample(context, &upsample, nullptr));
  EXPECT_OK(synfire_pad(context, &pad, nullptr));
  const auto expect_up = [&](const char* rule, const char* word,
                             const std::function<void(synfire_upsample_desc&)>& change,
                             synfire_status status = refused) {
    SCOPED_TRACE(rule);
    synfire_upsample_desc bad = upsample;
    change(bad);
    EXPECT_FAILS(status, WORDS(rule, word), synfire_upsample(context, &bad, nullptr));
  };
  const auto expect_pad = [&](const char* rule, const char* word, const std::function<void(synfire_pad_desc&)>& change,
                              synfire_status status = refused) {
    SCOPED_TRACE(rule);
    synfire_pad_desc bad = pad;
    change(bad);
    EXPECT_FAILS(status, WORDS(rule, word), synfire_pad(context, &bad, nullptr));
  };
  for (const int64_t bad : {int64_t{-1}, int64_t{1} << 61}) {
    expect_up("SYN-UPSAMPLE-SHAPE", "desc.height", [&](auto& desc) { desc.height = bad; });
    expect_up("SYN-UPSAMPLE-SHAPE", "desc.width", [&](auto& desc) { desc.width = bad; });
    expect_up("SYN-UPSAMPLE-SCALE", "desc.scale_y", [&](auto& desc) { desc.scale_y = bad; });
    expect_up("SYN-UPSAMPLE-SCALE", "desc.scale_x", [&](auto& desc) { desc.scale_x = bad; });
    expect_pad("SYN-PAD-SHAPE", "desc.height", [&](auto& desc) { desc.height = bad; });
    expect_pad("SYN-PAD-SHAPE", "desc.width", [&](auto& desc) { desc.width = bad; });
  }
  expect_up("SYN-UPSAMPLE-SHAPE", "desc.channels", [](auto& desc) { desc.channels = 0; });
  expect_pad("SYN-PAD-SHAPE", "desc.channels", [](auto& desc) { desc.channels = -2; });
  for (const int64_t bad : {int64_t{1} << 30, -(int64_t{1} << 61), int64_t{-4}}) {
    expect_pad("SYN-PAD-BORDER", "desc.left", [&](auto& desc) { desc.left = bad; });
    expect_pad("SYN-PAD-BORDER", "desc.right", [&](auto& desc) { desc.right = bad; });
    expect_pad("SYN-PAD-BORDER", "desc.top", [&](auto& desc) { desc.top = bad; });
    expect_pad("SYN-PAD-BORDER", "desc.bottom", [&](auto& desc) { desc.bottom = bad; });
  }
  // One column must stay, whatever is added on the other side.
  expect_pad("SYN-PAD-BORDER", "desc.left", [](auto& desc) { desc.left = desc.right = -2; });
  expect_pad("SYN-PAD-BORDER", "desc.left", [](auto& desc) {
    desc.left = -4;
    desc.right = 9;
  });
  expect_up("SYN-UPSAMPLE-TYPE", "u8", [&](auto& desc) { desc.destination = bytes; });
  expect_pad("SYN-PAD-TYPE", "u8", [&](auto& desc) { desc.destination = bytes; });
  expect_up("SYN-BUFFER-TYPE", "desc.source", [&](auto& desc) { desc.source = halves; });
  const int64_t many = int64_t{1} << 20;
  expect_up(
      "SYN-UPSAMPLE-OVERFLOW", "2^40", [&](auto& desc) { desc.height = desc.width = desc.channels = many; },
      SYNFIRE_ERROR_OUT_OF_MEMORY);
  expect_pad(
      "SYN-PAD-OVERFLOW", "2^40", [&](auto& desc) { desc.height = desc.width = desc.channels = many; },
      SYNFIRE_ERROR_OUT_OF_MEMORY);
  synfire_upsample_backward_desc back = SYNFIRE_UPSAMPLE_BACKWARD_DESC_INIT;
  set_maps(back, up);
  back.grad_destination = large;
  back.grad_source = wide;
  EXPECT_FAILS(refused, WORDS("desc.grad_source", "f32"), synfire_upsample_backward(context, &back, nullptr));
  back.grad_source = source;
  back.accumulate = 2;
  EXPECT_FAILS(refused, WORDS("SYN-UPSAMPLE-FLAG", "desc.accumulate"),
               synfire_upsample_backward(context, &back, nullptr));
  synfire_pad_backward_desc pad_back = SYNFIRE_PAD_BACKWARD_DESC_INIT;
  set_maps(pad_back, border);
  pad_back.grad_destination = padded;
  pad_back.grad_source = source;
  pad_back.accumulate = -1;
  EXPECT_FAILS(refused, WORDS("SYN-PAD-FLAG", "desc.accumulate"), synfire_pad_backward(context, &pad_back, nullptr));
}

}  // namespace
}  // namespace synfire_test
