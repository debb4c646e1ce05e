// The kernels of synapses, as the host code sees them: their arguments, addresses and tiles.
#ifndef SYNFIRE_SYNAPSES_DENSE_DENSE_KERNELS_HPP
#define SYNFIRE_SYNAPSES_DENSE_DENSE_KERNELS_HPP

#include <base/extents.hpp>
#include <operations/spikes/spikes_arrays.hpp>
#include <synapses/passes/input_numbers.hpp>
#include <synapses/passes/synapse_rows.hpp>

#include <cstdint>

namespace synfire::cuda {

// Dropout: words [B, n_words] of the inputs that count, the same in every step, and the factor on the product.
template <class R>
struct KeptArray {
  const uint32_t* mask;  // null: all count, and there is no factor
  int64_t n_words;
  const R* scale;

  SYNFIRE_MODEL_FN const uint32_t* row(int64_t b) const { return mask + b * n_words; }
};

// ---- weights on their grid ------------------------------------------------------------------------------------------

inline constexpr int prepare_threads = 256;

// One block per output clears masked weights, finds the grid and writes the row on it; rows of double are copies.
template <class R>
struct PrepareRowsLaunch {
  int64_t n_inputs, n_outputs;
  R* weights;
  const float* bias;     // null: 0
  const uint32_t* mask;  // null: all are connected
  void* rows;            // int32_t or double, [N, K]
  int64_t rows_pitch;
  int32_t *grid, *bias_on_grid;  // null in f64
  R factor;                      // on the weights
  int32_t dropped_bits;          // of integers
};
template <class R>
const void* prepare_rows_kernel();

// Transposes the rows, or in f32 the weights, to the table in tiles of 32 x 32, by blocks of prepare_threads. Rounded:
// integers become numbers of f32.
enum class TableKind : int32_t { integers, f32, rounded, f64 };
struct PrepareTableLaunch {
  int64_t n_inputs, n_outputs;
  const void* rows;
  int64_t rows_pitch;
  void* table;
  int64_t table_pitch;
  const int32_t* grid;  // of rounded ones
};
const void* prepare_table_kernel(TableKind kind);

// Byte planes of the weights as right operands (fragments.hpp): those of the table add over inputs, those of the rows
// over outputs, of a kernel over its taps and the outputs of each. A thread writes 8 bytes of each plane.
struct PreparePlanesLaunch {
  int64_t n_inputs, n_outputs;
  const int32_t* rows;
  int64_t rows_pitch;
  uint8_t* table_planes;  // null: none
  int64_t table_words, table_groups;
  uint8_t* rows_planes;  // null, without words: none
  int64_t rows_words, rows_groups;
  int64_t n_taps = 1;
};
const void* prepare_planes_kernel();

// ---- exact products with spikes -------------------------------------------------------------------------------------

// How sums of weights are made: by adding the listed rows of the table; by tensor cores in tiles of 16 x 16, for few
// rows or outputs, or of 64 x 32; or by warpgroups, with the planes of 64 outputs in shared memory, whose blocks are a
// multiple of the tiles of outputs.
enum class SpikeProduct : int32_t { gather, small, tiles, groups };
inline constexpr int gather_threads = 128, small_threads = 256, tile_threads = 128, spike_group_threads = 384;
inline constexpr int small_tile = 16, tile_rows = 64, tile_columns = 32;
// Sums of more inputs could overflow the 32 bits of a tensor core: 255 * 2^23 < 2^31.
inline constexpr int64_t most_tensor_inputs = int64_t{1} << 23;

inline constexpr int64_t group_columns = 64;
constexpr int64_t group_bytes(int64_t words) {
  return words * 3 * 32 * group_columns;
}
// A step of spike_group_words words may pass the end of the planes. Shared memory beside them: a ring of spikes, twice
// with dropout, and the columns.
inline constexpr int spike_group_words = 4, spike_group_stages = 4;
constexpr int64_t spike_group_bytes(int64_t words) {
  return group_bytes((words + spike_group_words - 1) / spike_group_words * spike_group_words);
}
inline constexpr int64_t spike_ring_bytes =
    int64_t{spike_group_threads} / 32 * spike_group_stages * 2 * 16 * spike_group_words * 4;

struct SpikeProductLaunch {
  SequenceRows rows;
  int64_t n_inputs, n_outputs;
  RowArray<const uint32_t> bits;  // words; what the last of a row has beyond K is not looked at
  const int32_t* table;           // gather
  int64_t table_pitch;
  const uint8_t* planes;  // the others
  int64_t plane_words;
  const int32_t *grid, *bias;
  RowArray<float> output;
  KeptArray<float> kept;
  const float* own_bias;  // as it is stored, for dropout; null: 0
};
// Kernels for many rows leave out products with the lowest planes of the weights where these are 0: of weights of 16
// bits one, of 8 bits two.
const void* spike_product_kernel(SpikeProduct product, bool kept, int zero_planes);

// ---- exact gradients of weights -------------------------------------------------------------------------------------

// The largest magnitude of each output, as bits; `largest` is 0 before. A block has rows_per_piece rows, and 32
// outputs, or 128 (width 4) if all rows begin at a multiple of 16 bytes.
inline constexpr int largest_threads = 256;
struct LargestLaunch {
  SequenceRows rows;
  RowArray<const float> gradients;
  uint32_t* largest;
  int64_t rows_per_piece, n_pieces;  // each of 32 * width outputs
};
const void* largest_kernel(int width);

// Gradients on the grids of their outputs as 3 (24 bits) or 4 byte planes: the right operand of a sum over rows. A
// block has 32 rows of 64 outputs. Adds those of the bias, which is 0 before.
inline constexpr int planes_threads = 256;
inline constexpr int planes_outputs = 64;
struct GradientPlanesLaunch {
  SequenceRows rows;
  RowArray<const float> gradients;
  const uint32_t* largest;
  uint8_t* planes;
  int64_t n_words, column_groups;
  int64_t* bias_total;  // null: no bias
};
const void* gradient_planes_kernel(int n_planes);

// Spikes as words of 32 rows each, of the inputs that dropout keeps. A warp has a word of the rows and 32 inputs.
inline constexpr int pack_threads = 256;
struct PackKeptLaunch {
  SequenceRows rows;
  RowArray<const uint32_t> bits;
  KeptArray<float> kept;
  uint32_t* packed;  // [n_words, pitch]
  int64_t n_words, pitch;
};
const void* pack_kept_kernel();

// How byte planes are multiplied: as integers, by a warp's tensor cores, or by warpgroups. Adds to total[n * pitch + k]
// the gradients of the rows in which input k spikes, by tensor cores (tiles of 64 outputs and 128 inputs) or by
// selecting (32 and 64). Rows are divided into pieces of words_per_piece words (even). Streams, of gradients of inputs
// alone: by warpgroups too, where the right operand is too large to stay in shared memory.
enum class BytesProduct : int32_t { integers, warps, groups, streams };
inline constexpr int weight_product_threads = 256, weight_group_threads = 288;
inline constexpr int weight_tile_outputs = 64, weight_tile_inputs = 128;
inline constexpr int select_tile_outputs = 32, select_tile_inputs = 64;
struct WeightProductLaunch {
  int64_t n_outputs, n_inputs;
  const uint8_t* planes;
  int64_t n_words;
  const uint32_t* packed;  // words of 32 rows, [n_words, pitch]
  int64_t pitch;
  int64_t words_per_piece;
  int64_t* total;
};
// The warpgroups' dynamic shared memory has a ring of planes and spikes of 2 words each.
inline constexpr int weight_group_stages = 8;
template <int n_planes>
inline constexpr int weight_group_stage_bytes = 2 * (n_planes * 32 * 64 + 4 * weight_tile_inputs);
const void* weight_product_kernel(BytesProduct product, int n_planes);

// Scales the totals, applies the mask, and writes or adds. A block has up to 256 inputs of an output.
inline constexpr int finish_threads = 256;
struct FinishWeightsLaunch {
  int64_t n_outputs, n_inputs;
  const int64_t *total, *bias_total;
  int64_t pitch;
  const uint32_t *largest, *mask;  // mask: null for none
  float *weight_gradient, *bias_gradient;
  bool wide;  // 32 bits
  bool add;
  const float* scale;  // of dropout; null: none
  double factor = 1;   // on the gradients of the weights
};
const void* finish_weights_kernel();

// The whole gradient for few rows, by one launch. A block has 32 outputs and 64 inputs.
inline constexpr int few_rows_threads = 256, few_rows_outputs = 32, few_rows_inputs = 64;
struct FewRowsLaunch {
  SequenceRows rows;
  int64_t n_inputs;
  RowArray<const float> gradients;
  RowArray<const uint32_t> bits;
  const uint32_t* mask;  // null: none
  float *weight_gradient, *bias_gradient;
  bool wide;  // 32 bits
  bool add;
  KeptArray<float> kept;
};
const void* few_rows_kernel();

// By tensor cores, for more rows and several gradients at once: a block has 16 outputs and 32 inputs of one of them.
inline constexpr int64_t most_held_rows = 1024;
inline constexpr int held_rows_threads = 512, held_rows_outputs = 16, held_rows_inputs = 32;
inline constexpr int most_held_gradients = 8;
struct HeldRowsLaunch {
  int32_t n_gradients;
  int64_t first_tiles[most_held_gradients + 1];  // of each gradient; the last is the number of all
  FewRowsLaunch gradients[most_held_gradients];
};
const void* held_rows_kernel();

// ---- exact gradients of weights, of values --------------------------------------------------------------------------

// Both passes of a gradient over dL/dy and over the inputs, in one launch each: the largest magnitudes, and the byte
// planes of dL/dy and of the inputs on their grids. The latter have 3 planes and are the left operand; `gradients` and
// `largest` are those of the inputs.
struct LargestOfValuesLaunch {
  LargestLaunch arrays[2];
  int32_t widths[2];
};
const void* largest_of_values_kernel();
struct ValuePlanesLaunch {
  GradientPlanesLaunch gradients, inputs;
};
const void* value_planes_kernel(int n_planes);  // of dL/dy

// Adds to the two parts of the totals (model::high_part, low_part), [n * pitch + k], the products of inputs and
// gradients over pieces of at most most_value_words words of 32 rows: by tensor cores in tiles of 64 x 64, or as
// integers in tiles of 32 outputs and 64 inputs.
inline constexpr int value_product_threads = 256, value_tile = 64;
inline constexpr int64_t most_value_words = 256;  // three products of 255 * 255 each in 32 bits: at most 11,008 rows
struct ValueProductLaunch {
  int64_t n_outputs, n_inputs;
  const uint8_t *inputs, *gradients;
  int64_t n_words, row_groups;  // of the inputs' planes
  int64_t words_per_piece;
  int64_t *high, *low;
  int64_t pitch;
};
const void* value_product_kernel(BytesProduct product, int n_planes);

// Scales the totals, applies the mask, and writes or adds. A block has up to finish_threads inputs of an output.
struct FinishValuesLaunch {
  FinishWeightsLaunch of;  // `total`: high parts
  const int64_t* low;
  const uint32_t* largest_inputs;
};
const void* finish_values_kernel();

// The whole gradient for up to most_few_values rows, whose sums 64 bits hold, by one launch. A block has 32 outputs and
// 32 inputs.
inline constexpr int64_t most_few_values = 256;
inline constexpr int few_values_inputs = 32;
struct FewValuesLaunch {
  SequenceRows rows;
  RowArray<const float> gradients, inputs;
  const uint32_t* mask;  // null: none
  float *weight_gradient, *bias_gradient;
  bool wide;  // 32 bits
  bool add;
  const float* scale;  // of dropout; null: none
};
const void* few_values_kernel();

// ---- exact gradients of inputs --------------------------------------------------------------------------------------

inline constexpr int32_t not_finite = INT32_MAX;  // in place of a row's grid

// A block has 16 rows of dL/dy times the outputs' grids, on a grid per row, as byte planes: left operands of sums.
struct InputPlanesLaunch {
  SequenceRows rows;
  RowArray<const float> gradients;
  const int32_t* grid;
  int32_t* row_grid;
  uint8_t* planes;
  int64_t n_words, row_groups;
};
const void* input_planes_kernel();

// The product with the weights; tiles of 64 x 64. Warpgroups have the planes of 64 inputs in shared memory, and their
// blocks are a multiple of the tiles of inputs.
inline constexpr int input_product_threads = 128, wide_product_threads = 256, input_group_threads = 256;
inline constexpr int input_tile = 64;
// Sums over more outputs could overflow the 32 bits of a tensor core: three products of 255 * 255 each.
inline constexpr int64_t most_tensor_outputs = 8192;
struct InputProductLaunch {
  SequenceRows rows;
  int64_t n_inputs, n_outputs;
  const uint8_t *left, *right;
  int64_t n_words, row_groups;
  const int32_t* row_grid;
  RowArray<float> grad_input;
  bool add;
  KeptArray<float> kept;
  int zero_planes = 0;  // the lowest planes of the weights, which are 0
};
// Grids, planes and product in one launch, for few rows. A block has 16 rows and 64 inputs.
inline constexpr int64_t most_held_outputs = 512;
struct HeldInputLaunch {
  RowArray<const float> gradients;
  const int32_t* grid;
  InputProductLaunch product;  // without the left operand and the grids of the rows
};
const void* held_input_kernel();

// The warpgroups' dynamic shared memory has, after the planes, a ring of a word of the left operand for each thread.
inline constexpr int input_group_stages = 4;
inline constexpr int64_t input_ring_bytes = int64_t{input_group_stages} * 3 * 16 * input_group_threads;
// Words of the right operand that are on their way through shared memory.
inline constexpr int input_stream_places = 8;
const void* input_product_kernel(BytesProduct product, int zero_planes);

// ---- sums in the fixed order ----------------------------------------------------------------------------------------

// Inputs as numbers [T, B, K] of type R, float or double; +0 if they are dropped.
struct ToNumbersLaunch {
  InputNumbers input;
  void* numbers;
  const uint32_t* kept;  // words [B, ceil(K / 32)]; null: all
};
template <class R>
const void* to_numbers_kernel();

// A product C[i, j] of ordered sums over a length: of the rows of `left` with the columns of a matrix, or (over_rows)
// of the columns of two sequences over all active rows. A thread has several results: large tiles are 128 x 64 in f32
// and 64 x 64 in f64, small ones 32 x 32.
inline constexpr int chain_threads = 256;
template <class R>
constexpr int large_chain_rows = sizeof(R) == 4 ? 128 : 64;
inline constexpr int large_chain_columns = 64, small_chain_tile = 32;

template <class R>
struct ChainLaunch {
  SequenceRows rows;
  RowArray<const R> left;
  RowArray<const R> right;  // a sequence; or a matrix [length, columns], rows `pitch` apart
  int64_t n_columns;
  R* result;  // a sequence of the rows, or a matrix [left.length, n_columns]
  int64_t result_pitch;
  const R* bias;         // null: none
  const uint32_t* mask;  // over rows; null: none
  bool add;              // to what the result holds
  const R* scale;        // of dropout, on the sums; null: none
  KeptArray<R> kept;     // dropped columns of a row are +0; not over rows
};
template <class R>
const void* chain_kernel(bool over_rows, bool large);  // over rows: in f64

// The ordered sum of each column of a sequence in f64 over all active rows. A block has 32 columns.
inline constexpr int column_sum_threads = 512;
struct ColumnSumLaunch {
  SequenceRows rows;
  RowArray<const double> values;
  double* result;
  bool add;
};
const void* column_sum_kernel();

// ---- kernels for warpgroups, which other kernels' functions return (warpgroup_products.cu) --------------------------

const void* spike_group_kernel(bool kept, int zero_planes);
const void* weight_group_kernel(int n_planes);
const void* input_group_kernel(bool streams, int zero_planes);

}  // namespace synfire::cuda

#endif
