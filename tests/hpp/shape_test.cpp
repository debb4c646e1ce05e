// Shapes of buffers: how they are specified and queried, and which ones a layer creates. A buffer of another shape is
// refused where only one fits.
#include <array>
#include <cstdint>
#include <type_traits>
#include <vector>

#include "support.hpp"

namespace synfire_test {
namespace {

using synfire::Buffer;
using synfire::Context;
using synfire::Graph;
using synfire::Layer;
using synfire::neurons;
using synfire::Shape;
using synfire::steps;

// ---- The type -------------------------------------------------------------------------------------------------------

static_assert(Shape().rank() == 0);
static_assert(Shape(20, 64).rank() == 2 && Shape(20, 64)[0] == 20 && Shape(20, 64)[1] == 64);
static_assert(Shape(20, 64) == Shape(20U, std::uint64_t{64}) && Shape(20, 64) != Shape(64, 20));
static_assert(Shape(20, 64) != Shape(20, 1, 64), "lengths of 1 are kept");
static_assert(synfire::buffer_desc<float>({20, 64}).n_elements == 0 && synfire::buffer_desc<float>(20).shape[0] == 0);
static_assert(synfire::buffer_desc<float>({2, 3, 5, 7}).shape[3] == 7);
static_assert(synfire::counts_desc({2, 3}).dtype == SYNFIRE_DTYPE_U32 && synfire::counts_desc({2, 3}).shape[1] == 3);
static_assert(synfire::time_bits_desc({1, 64}).dtype == SYNFIRE_DTYPE_TIME_BITS);
static_assert(!std::is_constructible_v<Shape, double>);

TEST(Shapes, AreGivenAsLengthsOrAsAnArray) {
  const int n_steps = 20;
  const std::size_t n_neurons = 64;
  EXPECT_EQ(synfire::buffer_desc<float>({n_steps, n_neurons}).shape[1], 64u);
  EXPECT_EQ(Shape(std::array<int, 3>{20, 2, 64}), Shape(20, 2, 64));
  for (const auto length : {0, -5}) {
    const std::string text = "length 1 is " + std::to_string(length);
    EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-BUFFER-SHAPE", text, [&] { Shape(20, length); }));
    EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-BUFFER-SHAPE", text, [&] {
      Shape(std::array<int, 2>{20, length});
    }));
  }
}

TEST(Shapes, AreKnownToTheBuffer) {
  const Context context = make_context();
  Buffer x(context, synfire::buffer_desc<float>({20, 1, 64}, SYNFIRE_MEMORY_PINNED));
  EXPECT_EQ(x.shape(), Shape(20, 1, 64));
  EXPECT_EQ(x.size(), 20u * 64);
  const Buffer moved = std::move(x);
  EXPECT_EQ(moved.shape(), Shape(20, 1, 64));
  EXPECT_EQ(Buffer(context, synfire::buffer_desc<float>(7)).shape(), Shape());
  const Buffer pitched(context, synfire::buffer_desc<double>({20, 64}, SYNFIRE_MEMORY_PINNED, 80));
  EXPECT_EQ(pitched.size(), 19u * 80 + 64);
  std::vector<float> memory(2 * 3 * 5 * 7, 1);
  const Buffer lent(context, synfire::borrowed_desc(memory.data(), {2, 3, 5, 7}, SYNFIRE_MEMORY_HOST));
  EXPECT_EQ(lent.shape(), Shape(2, 3, 5, 7));
  EXPECT_EQ(lent.download<float>(), memory);
  synfire_buffer_desc gap = synfire::buffer_desc<float>(8);
  gap.shape[1] = 8;
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-BUFFER-SHAPE", "shape", [&] { Buffer(context, gap); }));
}

// ---- Layers ---------------------------------------------------------------------------------------------------------

TEST(Shapes, OfWhatALayerMakes) {
  const Context context = make_context();
  Layer layer(context, synfire::layer_desc(SYNFIRE_MODEL_LIF, steps{40}, neurons{70}, 3));
  const Buffer x = layer.make_sequence<float>(context, SYNFIRE_MEMORY_PINNED), v = layer.make_state<float>(context);
  const Buffer dense = layer.make_spikes<std::uint8_t>(context), bits = layer.make_spikes(context);
  const Buffer by_time = layer.make_time_bits(context);
  EXPECT_EQ(x.shape(), Shape(40, 3, 70));
  EXPECT_TRUE(x.host_visible());
  EXPECT_EQ(v.shape(), Shape(3, 70));
  EXPECT_EQ(dense.shape(), Shape(40, 3, 70));
  EXPECT_EQ(dense.dtype(), SYNFIRE_DTYPE_U8);
  EXPECT_EQ(bits.shape(), Shape(40, 3, 3));
  EXPECT_EQ(bits.dtype(), SYNFIRE_DTYPE_BITS);
  EXPECT_EQ(by_time.shape(), Shape(2, 3, 70));
  EXPECT_EQ(by_time.dtype(), SYNFIRE_DTYPE_TIME_BITS);
  // Each is accepted where it belongs.
  synfire_forward_desc desc = synfire::forward_desc(x);
  desc.v_init = v;
  for (const Buffer* spikes : {&dense, &bits, &by_time}) {
    desc.spikes = *spikes;
    layer.forward(desc);
  }
}

TEST(Shapes, ALayerKnowsItsContext) {
  Context context = make_context();
  Layer layer(context, synfire::layer_desc(SYNFIRE_MODEL_LIF, steps{40}, neurons{70}, 3));
  const Buffer x = layer.make_sequence<float>(SYNFIRE_MEMORY_PINNED), v = layer.make_state<float>();
  const Buffer dense = layer.make_spikes<std::uint8_t>(), bits = layer.make_spikes(), by_time = layer.make_time_bits();
  EXPECT_EQ(x.shape(), Shape(40, 3, 70));
  EXPECT_TRUE(x.host_visible());
  EXPECT_EQ(v.shape(), Shape(3, 70));
  EXPECT_EQ(dense.dtype(), SYNFIRE_DTYPE_U8);
  EXPECT_EQ(bits.shape(), Shape(40, 3, 3));
  EXPECT_EQ(by_time.shape(), Shape(2, 3, 70));
  synfire_forward_desc desc = synfire::forward_desc(x, bits);
  desc.v_init = v;
  layer.forward(desc);
  EXPECT_TRUE(context.properties().struct_size > 0) << "the context is still the program's";

  // Where the layer moves, what it knows moves too.
  Layer moved = std::move(layer);
  EXPECT_EQ(moved.make_state<float>().shape(), Shape(3, 70));
  // A layer that was made from a handle does not know its context, and a context that is destroyed makes nothing.
  const Layer adopted(moved.release(), synfire::layer_desc(SYNFIRE_MODEL_LIF, steps{40}, neurons{70}, 3));
  EXPECT_TRUE(
      throws(SYNFIRE_ERROR_INVALID_HANDLE, "SYN-HANDLE-NULL", "context", [&] { return adopted.make_spikes(); }));
  EXPECT_EQ(adopted.make_spikes(context).shape(), Shape(40, 3, 3));
  const Layer left(context, synfire::layer_desc(SYNFIRE_MODEL_LIF, steps{2}, neurons{3}));
  context.reset();
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_HANDLE, "SYN-HANDLE-STALE", "context", [&] { return left.make_spikes(); }));
}

TEST(Shapes, ATransposedBufferIsRefused) {
  const Context context = make_context();
  Layer layer(context, synfire::layer_desc(SYNFIRE_MODEL_LIF, steps{20}, neurons{64}));
  const auto make = [&](const Shape& shape) {
    return Buffer(context, synfire::buffer_desc<float>(shape, SYNFIRE_MEMORY_PINNED));
  };
  const Buffer right = make({20, 64}), transposed = make({64, 20});
  const auto refused = [&](auto call) {
    return throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-BUFFER-SHAPE", "[64, 20]", call) &&
           throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-BUFFER-SHAPE", "[20, 1, 64]", call);
  };
  Graph graph(context);
  EXPECT_TRUE(refused([&] { layer.forward(synfire::forward_desc(transposed)); }));
  EXPECT_TRUE(refused([&] { layer.forward(synfire::forward_desc(right, transposed)); }));
  EXPECT_TRUE(refused([&] { graph.record_forward(layer, synfire::forward_desc(transposed)); }));
  layer.forward(synfire::forward_desc(right));
  EXPECT_TRUE(refused([&] { layer.backward(synfire::backward_desc(transposed, right)); }));
  const Buffer bytes(context, synfire::buffer_desc<std::uint8_t>({20, 64}));
  EXPECT_TRUE(refused([&] {
    synfire::convert_spikes(context, synfire::convert_spikes_desc(transposed, bytes, steps{20}, neurons{64}));
  }));
  EXPECT_TRUE(refused(
      [&] { graph.record_convert_spikes(synfire::convert_spikes_desc(transposed, bytes, steps{20}, neurons{64})); }));
}

TEST(Shapes, LengthsOfOneAreIgnored) {
  const Context context = make_context();
  Layer layer(context, synfire::layer_desc(SYNFIRE_MODEL_LIF, steps{20}, neurons{64}));
  for (const Shape& shape : {Shape(20, 64), Shape(20, 1, 64), Shape(1, 20, 64, 1), Shape(1, 1280)}) {
    const Buffer x(context, synfire::buffer_desc<float>(shape, SYNFIRE_MEMORY_PINNED));
    layer.forward(synfire::forward_desc(x));
  }
}

TEST(Shapes, WithoutOneOnlyTheSizeIsChecked) {
  const Context context = make_context();
  Layer layer(context, synfire::layer_desc(SYNFIRE_MODEL_LIF, steps{20}, neurons{64}));
  const Buffer plain(context, synfire::buffer_desc<float>(20 * 64, SYNFIRE_MEMORY_PINNED)),
      flat(context, synfire::buffer_desc<float>(Shape(20 * 64), SYNFIRE_MEMORY_PINNED)),
      small(context, synfire::buffer_desc<float>(20 * 64 - 1, SYNFIRE_MEMORY_PINNED));
  layer.forward(synfire::forward_desc(plain));
  layer.forward(synfire::forward_desc(flat));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-BUFFER-SIZE", "desc.x",
                     [&] { layer.forward(synfire::forward_desc(small)); }));
}

TEST(Shapes, OfPackedSpikesAreInWords) {
  const Context context = make_context();
  Layer layer(context, synfire::layer_desc(SYNFIRE_MODEL_LIF, steps{40}, neurons{64}));
  const Buffer x = layer.make_sequence<float>(context);
  const auto refused = [&](const synfire_buffer_desc& desc, const char* needed) {
    const Buffer spikes(context, desc);
    return throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-BUFFER-SHAPE", needed,
                  [&] { layer.forward(synfire::forward_desc(x, spikes)); });
  };
  EXPECT_TRUE(refused(synfire::buffer_desc<std::uint32_t>({40, 64}), "[40, 1, 2 words]"));
  EXPECT_TRUE(refused(synfire::buffer_desc<std::uint32_t>({2, 40}), "[40, 1, 2 words]"));
  EXPECT_TRUE(refused(synfire::time_bits_desc({64, 2}), "[2 words, 1, 64]"));
  const Buffer bits(context, synfire::buffer_desc<std::uint32_t>({40, 2})),
      by_time(context, synfire::time_bits_desc({2, 64}));
  layer.forward(synfire::forward_desc(x, bits));
  layer.forward(synfire::forward_desc(x, by_time));
}

// ---- Named numbers --------------------------------------------------------------------------------------------------

static_assert(!std::is_default_constructible_v<steps> && std::is_trivially_copyable_v<steps>);
static_assert(steps{20}.count == 20 && neurons{std::size_t{64}}.count == 64 && steps{std::uint8_t{7}}.count == 7);
static_assert(synfire::layer_desc(SYNFIRE_MODEL_LIF, steps{20}, neurons{64}, 2).n_neurons == 64);

TEST(NamedNumbers, GoWhereTheirFieldsAre) {
  const steps n_steps(20);
  const neurons n_neurons(64);
  const synfire_layer_desc layer = synfire::layer_desc(SYNFIRE_MODEL_LIF, n_steps, n_neurons, 2);
  EXPECT_EQ(layer.n_steps, 20);
  EXPECT_EQ(layer.n_neurons, 64);
  const auto converted = synfire::convert_spikes_desc(nullptr, nullptr, n_steps, n_neurons);
  EXPECT_EQ(converted.n_steps, 20);
  EXPECT_EQ(converted.n_neurons, 64);
  EXPECT_EQ(converted.batch, 1);
  const auto counted = synfire::count_spikes_desc(nullptr, nullptr, n_steps, n_neurons, SYNFIRE_COUNT_PER_STEP, 3);
  EXPECT_EQ(counted.kind, SYNFIRE_COUNT_PER_STEP);
  EXPECT_EQ(counted.n_steps, 20);
  EXPECT_EQ(counted.n_neurons, 64);
  EXPECT_EQ(counted.batch, 3);
  const auto encoded = synfire::encode_bernoulli_desc(nullptr, nullptr, n_steps, n_neurons, 3, 7, 100);
  EXPECT_EQ(encoded.n_steps, 20);
  EXPECT_EQ(encoded.n_neurons, 64);
  EXPECT_EQ(encoded.batch, 3);
  EXPECT_EQ(encoded.seed, 7u);
  EXPECT_EQ(encoded.offset, 100u);
}

}  // namespace
}  // namespace synfire_test
