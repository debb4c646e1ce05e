// 16-bit elements, bytes and time-packed spikes, pitches and tapes through the C++ wrapper. The results of layers are
// tested in tests/capi.
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "support.hpp"

namespace synfire_test {
namespace {

using synfire::bf16;
using synfire::Buffer;
using synfire::Context;
using synfire::f16;
using synfire::Layer;

// The number that a code represents, by the definition of the formats; NaN beyond infinity.
template <class Element>
double value_of(std::uint32_t code) {
  constexpr int fraction_bits = std::is_same_v<Element, f16> ? 10 : 7, bias = std::is_same_v<Element, f16> ? 15 : 127;
  const std::uint32_t magnitude = code & 0x7FFFU, fraction = magnitude & ((1U << fraction_bits) - 1);
  const int exponent = static_cast<int>(magnitude >> fraction_bits);
  double value = std::ldexp(static_cast<double>(fraction + (exponent == 0 ? 0U : 1U << fraction_bits)),
                            (exponent == 0 ? 1 : exponent) - bias - fraction_bits);
  if (exponent == (bias * 2 + 1)) {
    value = fraction == 0 ? std::numeric_limits<double>::infinity() : std::numeric_limits<double>::quiet_NaN();
  }
  return (code & 0x8000U) != 0 ? -value : value;
}

template <class Element>
class Elements : public testing::Test {};
using SixteenBits = testing::Types<f16, bf16>;
TYPED_TEST_SUITE(Elements, SixteenBits, );

TYPED_TEST(Elements, EveryCodeIsItsNumberAndBack) {
  static_assert(sizeof(TypeParam) == 2);
  static_assert(std::is_trivially_copyable_v<TypeParam>);
  for (std::uint32_t code = 0; code < 65536; ++code) {
    TypeParam element;
    element.bits = static_cast<std::uint16_t>(code);
    const double expected = value_of<TypeParam>(code);
    const auto value = static_cast<float>(element);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value)) << code;
      EXPECT_TRUE(std::isnan(static_cast<float>(TypeParam(value)))) << code;
    } else {
      EXPECT_EQ(static_cast<double>(value), expected) << code;
      EXPECT_EQ(TypeParam(value).bits, code);
    }
  }
}

TYPED_TEST(Elements, HalfwayGoesToTheEvenCode) {
  constexpr std::uint32_t infinity = std::is_same_v<TypeParam, f16> ? 0x7C00 : 0x7F80;
  for (std::uint32_t code = 0; code + 1 < infinity; ++code) {
    const auto halfway = static_cast<float>((value_of<TypeParam>(code) + value_of<TypeParam>(code + 1)) / 2);
    const std::uint32_t even = code + code % 2;
    EXPECT_EQ(TypeParam(halfway).bits, even) << code;
    EXPECT_EQ(TypeParam(-halfway).bits, even | 0x8000U) << code;
    EXPECT_EQ(TypeParam(std::nextafter(halfway, 0.0F)).bits, code);
    EXPECT_EQ(TypeParam(std::nextafter(halfway, std::numeric_limits<float>::max())).bits, code + 1);
  }
  EXPECT_EQ(TypeParam(std::numeric_limits<float>::infinity()).bits, infinity);
  EXPECT_EQ(TypeParam(std::numeric_limits<float>::max()).bits, infinity);
  EXPECT_EQ(TypeParam(std::numeric_limits<float>::denorm_min()).bits, 0);
  EXPECT_EQ(TypeParam(-0.0F).bits, 0x8000);
}

TEST(Elements16, LimitsOfF16) {
  EXPECT_EQ(f16(65519.0F).bits, 0x7BFF);
  EXPECT_EQ(f16(65520.0F).bits, 0x7C00);
  EXPECT_EQ(f16(1.5F).bits, 0x3E00);
  EXPECT_EQ(bf16(1.5F).bits, 0x3FC0);
  EXPECT_EQ(f16().bits, 0);
}

TEST(StorageTypes, BuffersHoldThem) {
  const Context context = make_context();
  Buffer halves(context, synfire::buffer_desc<f16>(3)), bytes(context, synfire::buffer_desc<std::uint8_t>(3)),
      words(context, synfire::time_bits_desc(3));
  EXPECT_EQ(halves.dtype(), SYNFIRE_DTYPE_F16);
  EXPECT_EQ(bytes.dtype(), SYNFIRE_DTYPE_U8);
  EXPECT_EQ(words.dtype(), SYNFIRE_DTYPE_TIME_BITS);
  for (const Buffer* buffer : {&halves, &bytes, &words}) EXPECT_EQ(buffer->size(), 3u);
  halves.upload(std::vector<f16>{f16(1.0F), f16(-2.5F), f16(0.1F)});
  EXPECT_EQ(static_cast<float>(halves.download<f16>()[1]), -2.5F);
  halves.fill(0.1);
  EXPECT_EQ(halves.download<f16>()[2].bits, f16(0.1F).bits);
  words.upload(std::vector<std::uint32_t>{1, 2, 3});
  EXPECT_EQ(words.download<std::uint32_t>(), (std::vector<std::uint32_t>{1, 2, 3}));
  bytes.fill(7);
  EXPECT_EQ(bytes.download<std::uint8_t>(), std::vector<std::uint8_t>(3, 7));
  EXPECT_TRUE(
      throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-BUFFER-TYPE", "synfire::f16", [&] { halves.download<bf16>(); }));
  EXPECT_TRUE(
      throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-BUFFER-TYPE", "std::uint8_t", [&] { bytes.download<float>(); }));
  EXPECT_TRUE(
      throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-BUFFER-TYPE", "std::uint32_t", [&] { words.download<f16>(); }));
}

// T = 3 steps of N = 2 neurons without leak: the first reaches the threshold in the third step, the second spikes in
// every step.
TEST(StorageTypes, ALayerInBf16WithTimePackedSpikesAndAPitch) {
  const Context context = make_context();
  synfire_layer_desc desc = synfire::layer_desc(SYNFIRE_MODEL_IF, synfire::steps{3}, synfire::neurons{2});
  desc.dtype = SYNFIRE_DTYPE_BF16;
  Layer layer(context, desc);
  Buffer x(context, synfire::buffer_desc<bf16>(9, SYNFIRE_MEMORY_DEVICE, 3)),
      spikes(context, synfire::time_bits_desc(2)), grad_x(context, synfire::buffer_desc<bf16>(6)),
      bytes(context, synfire::buffer_desc<std::uint8_t>(6));
  const bf16 half(0.5F), two(2.0F), unused(1000.0F);
  const bf16 weak(0.25F);
  x.upload(std::vector<bf16>{weak, two, unused, half, two, unused, half, two, unused});
  layer.forward(synfire::forward_desc(x, spikes, SYNFIRE_TAPE_STORE_NARROW));
  EXPECT_EQ(spikes.download<std::uint32_t>(), (std::vector<std::uint32_t>{0b100, 0b111}));
  EXPECT_EQ(layer.read_state<float>(), (std::vector<float>{0, 0}));
  EXPECT_TRUE(throws(SYNFIRE_ERROR_INVALID_ARGUMENT, "SYN-STATE-SIZE", "double", [&] { layer.read_state<double>(); }));
  x.fill(0);  // a stored tape does not need it
  const Buffer grad_spike(context, synfire::buffer_desc<float>(6));
  layer.backward(synfire::backward_desc(grad_spike, grad_x));

  layer.forward(synfire::forward_desc(x, bytes));
  EXPECT_EQ(bytes.download<std::uint8_t>(), std::vector<std::uint8_t>(6, 0));
  x.mark_written();
  EXPECT_TRUE(throws(SYNFIRE_ERROR_STALE_TAPE, "SYN-TAPE-WRITTEN", "x",
                     [&] { layer.backward(synfire::backward_desc(grad_spike, grad_x)); }));
  const synfire_layer_memory memory = synfire::layer_memory(desc);
  EXPECT_EQ(memory.narrow_tape_bytes, 12u);
  EXPECT_EQ(memory.narrow_tape_spike_bytes, 8u);
  EXPECT_EQ(memory.stored_tape_bytes, 24u);
}

}  // namespace
}  // namespace synfire_test
