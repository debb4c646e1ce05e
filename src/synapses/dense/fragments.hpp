// The layout of byte planes: an integer of 24 bits is two unsigned bytes and a signed one, one of 32 bits three and
// one. Each plane is in the order of a GPU's tensor cores. Left operands are the fragments of mma.m16n8k32 (PTX ISA),
// so that a thread reads its part at once. Right operands are the core matrices of wgmma.m64n64k32, 8 columns of 16
// bytes each, of which a thread of mma.m16n8k32 reads its part by two loads.
// A product is a sum over a length l, in words of 32, which the instruction takes in any order that both operands
// share; here bit c + 4h + 8j of a word is byte j of lane c's register h: a register of a word of spikes is a shift and
// a mask.
#ifndef SYNFIRE_SYNAPSES_DENSE_FRAGMENTS_HPP
#define SYNFIRE_SYNAPSES_DENSE_FRAGMENTS_HPP

#include <synfire/model/platform.hpp>

#include <cstdint>

namespace synfire::operations {

// Register h of lane c for a word of spikes: 4 bytes of 0 or 1.
SYNFIRE_MODEL_FN uint32_t spread(uint32_t word, int c, int h) {
  return word >> (c + 4 * h) & 0x01010101u;
}

// Bytes of a fragment of 32 x 16 (left operand) and 32 x 8 (right operand).
inline constexpr int left_bytes = 512, right_bytes = 256;

// The left operand: byte `plane` of l and row. Rows are in `row_groups` groups of 16.
SYNFIRE_MODEL_FN int64_t left_at(int64_t l, int64_t row, int plane, int n_planes, int64_t row_groups) {
  const int64_t bit = l % 32, fragment = (l / 32 * n_planes + plane) * row_groups + row / 16;
  return fragment * left_bytes + (row % 8 * 4 + bit % 4) * 16 + (bit / 4 % 2 * 2 + row / 8 % 2) * 4 + bit / 8;
}

// The right operand: the beginning of the fragment of a word and of a group of 8 columns. All `n_words` words of 64
// columns are together, so that a block copies them at once.
SYNFIRE_MODEL_FN int64_t right_fragment(int64_t word, int64_t group, int plane, int n_planes, int64_t n_words) {
  return (((group / 8 * n_words + word) * n_planes + plane) * 8 + group % 8) * right_bytes;
}
SYNFIRE_MODEL_FN int64_t right_at(int64_t l, int64_t column, int plane, int n_planes, int64_t n_words) {
  const int64_t bit = l % 32;
  return right_fragment(l / 32, column / 8, plane, n_planes, n_words) + bit / 4 % 2 * 128 +
         (column % 8 * 4 + bit % 4) * 4 + bit / 8;
}

SYNFIRE_MODEL_FN uint32_t byte_of(int32_t value, int plane) {
  return static_cast<uint32_t>(value) >> (8 * plane) & 0xFFu;
}

SYNFIRE_MODEL_FN int32_t signed_value(uint32_t bytes, int n_planes) {
  const int unused = 32 - 8 * n_planes;
  return static_cast<int32_t>(bytes << unused) >> unused;
}
SYNFIRE_MODEL_FN int32_t left_value(const uint8_t* planes, int64_t l, int64_t row, int n_planes, int64_t row_groups) {
  uint32_t bytes = 0;
  for (int plane = 0; plane < n_planes; ++plane)
    bytes |= static_cast<uint32_t>(planes[left_at(l, row, plane, n_planes, row_groups)]) << (8 * plane);
  return signed_value(bytes, n_planes);
}
SYNFIRE_MODEL_FN int32_t right_value(const uint8_t* planes, int64_t l, int64_t column, int n_planes, int64_t n_words) {
  uint32_t bytes = 0;
  for (int plane = 0; plane < n_planes; ++plane)
    bytes |= static_cast<uint32_t>(planes[right_at(l, column, plane, n_planes, n_words)]) << (8 * plane);
  return signed_value(bytes, n_planes);
}

}  // namespace synfire::operations

#endif
