// The kernels of convolutions, as the host code sees them. A thread has one result; neighbouring threads have
// neighbouring channels of it, so they read neighbouring weights, gradients or inputs. R is float or double.
#ifndef SYNFIRE_SYNAPSES_CONV2D_CONV2D_KERNELS_HPP
#define SYNFIRE_SYNAPSES_CONV2D_CONV2D_KERNELS_HPP

#include "conv2d_shape.hpp"

#include <synapses/passes/input_numbers.hpp>
#include <synapses/passes/synapse_rows.hpp>

namespace synfire::cuda {

using operations::Conv2dShape;

// The inputs of a kernel: spikes as words, counts as bytes, or numbers of type R from inputs of any kind.
enum class Conv2dInput : int32_t { bits, counts, numbers };

struct Conv2dInputs {
  RowArray<const uint32_t> bits;   // bits
  RowArray<const uint8_t> counts;  // counts, also as numbers
  InputNumbers numbers;            // numbers, unless `counts` has data
  int32_t bound;                   // of counts
};

// ---- products -------------------------------------------------------------------------------------------------------

// A thread for each element of the output. Exact products of spikes and counts have integers in the table, others
// numbers.
template <class R>
struct Conv2dProductLaunch {
  Conv2dShape shape;
  SequenceRows rows;  // images
  Conv2dInputs inputs;
  RowArray<R> output;
  const void* table;  // [K, N], int32_t or R
  int64_t table_pitch;
  const R* bias;                       // of numbers; null: none
  const int32_t *grid, *bias_on_grid;  // of integers
  const R* scale;                      // of dropout; null: none
};
template <class R>
const void* conv2d_product_kernel(Conv2dInput input);

// ---- patches --------------------------------------------------------------------------------------------------------

// The active places of a step: those of the active rows. A thread for each part of the rows, which are n_images.
struct Conv2dActivePlacesLaunch {
  SequenceRows rows;
  int64_t n_places;
  uint32_t* active;
  int64_t n_parts, n_images;
};
const void* conv2d_active_places_kernel();

// The spikes that each place meets, for kernels that take rows: of one group, words of the terms. By rows: [T * B *
// places, ceil(K / 32)], a thread for each word. Packed: words of 32 places each, [n_words, pitch], a warp for 32 of
// these, in blocks of pack_threads.
inline constexpr int patch_threads = 256;
struct Conv2dPatchLaunch {
  Conv2dShape shape;
  SequenceRows rows;  // images
  RowArray<const uint32_t> bits;
  uint32_t* patches;
  int64_t row_words;       // ceil(K / 32)
  int64_t n_words, pitch;  // packed
};
const void* conv2d_patches_kernel();
const void* conv2d_packed_patches_kernel();

// The counts that each place meets, as one plane of bytes: left operands (dense/fragments.hpp) of sums over terms,
// [T * B * places, K], of which a warp has 16 places and some words; or packed, of sums over places in words of 32, of
// which a warp has a word and some groups of 16 terms. Blocks of patch_threads.
struct Conv2dCountPatchLaunch {
  Conv2dShape shape;
  SequenceRows rows;  // images
  RowArray<const uint8_t> counts;
  int32_t bound;
  uint8_t* patches;
  int64_t n_words, row_groups;
  int32_t together;  // words or groups that a warp has, one after the other
};
const void* conv2d_count_patches_kernel();
const void* conv2d_packed_count_patches_kernel();

// The products of those with the byte planes of the weights: without tensor cores, a thread for each result; with them
// tiles of small_count_tile, for few results, or of count_tile. Sums of 255 * n_inputs stay below 2^23, so that 32 bits
// hold them.
enum class CountProduct : int32_t { sums, small, tiles };
inline constexpr int count_threads = 128, count_tile = 64;
inline constexpr int small_count_threads = 256, small_count_tile = 16;
struct CountProductLaunch {
  SequenceRows rows;  // places
  int64_t n_inputs, n_outputs;
  const uint8_t* left;
  int64_t n_words, row_groups;
  const uint8_t* planes;
  int64_t plane_words;
  const int32_t *grid, *bias;
  RowArray<float> output;
  int zero_planes;
};
const void* count_product_kernel(CountProduct product, int zero_planes);
// The gradients of weights, as WeightProductLaunch says (dense/dense_kernels.hpp), with packed counts in bytes.
const void* count_weights_kernel(bool tensor_cores, int n_planes);

// ---- gradients of weights -------------------------------------------------------------------------------------------

inline constexpr int conv2d_threads = 256;

// The largest magnitude of each channel of a sequence of images, as bits; `largest` is 0 before. A block has 32
// channels and places_per_piece places of all active images.
struct Conv2dLargestLaunch {
  SequenceRows rows;
  RowArray<const float> images;
  int64_t n_places, n_channels, places_per_piece;
  uint32_t* largest;
};
const void* conv2d_largest_kernel();

// Adds to the totals of all weights, and of the bias as the term K of each output, the products of dL/dy on its grid
// with inputs over a piece of the places: of spikes and counts in one part, of numbers, which are on the grids of their
// channels, in two (model::high_part, low_part; places_per_piece is then at most 512). A block has 32 outputs and 8
// terms.
struct Conv2dWeightSumsLaunch {
  Conv2dShape shape;
  SequenceRows rows;
  Conv2dInputs inputs;
  RowArray<const float> gradients;
  const uint32_t *largest, *largest_inputs;
  bool wide;  // a grid of 32 bits
  int64_t places_per_piece;
  int64_t *total, *low;  // [N, K + 1]
};
const void* conv2d_weight_sums_kernel(Conv2dInput input);

// A thread for each weight and bias.
struct Conv2dFinishLaunch {
  Conv2dShape shape;
  const int64_t *total, *low;  // low: null for one part
  const uint32_t *largest, *largest_inputs;
  bool wide;
  double factor;         // on the gradients of the weights
  const float* scale;    // of dropout, likewise; null: none
  const uint32_t* mask;  // words [N, ceil(K / 32)] of the weights; null: all are connected
  float *weight_gradient, *bias_gradient;
  bool add;
};
const void* conv2d_finish_kernel();

// In f64, a thread for each weight and bias, in the fixed order.
struct Conv2dOrderedGradientLaunch {
  Conv2dShape shape;
  SequenceRows rows;
  Conv2dInputs inputs;
  RowArray<const double> gradients;
  double factor;
  const double* scale;   // of dropout; null: none
  const uint32_t* mask;  // null: all are connected
  double *weight_gradient, *bias_gradient;
  bool add;
};
const void* conv2d_ordered_gradient_kernel();

// ---- gradients of inputs --------------------------------------------------------------------------------------------

// Dropout: words [B, ceil(n_inputs / 32)] of the inputs that count, and the factor of their gradients.
template <class R>
struct Conv2dKept {
  const uint32_t* mask;  // null: all count, and there is no factor
  int64_t n_words;
  const R* scale;
};

// The largest magnitude of dL/dy times the outputs' grids in each active image, as an integer in the order of
// magnitudes that is 0 for zeros (largest_key); it is 0 before. Then the grid of each image, and its numbers on that. A
// block has a piece of an image; `width` numbers for each thread at once, 1 or 4, of neighbouring channels.
inline constexpr int64_t image_piece = int64_t{1} << 14;
struct Conv2dImageGridLaunch {
  SequenceRows rows;
  RowArray<const float> gradients;
  int64_t n_channels;
  const int32_t* grid;
  int bits;           // 16, 24 or 32
  uint64_t* largest;  // [T * B]
  int32_t* row_grid;
  int32_t* on_grid;  // [T * B, n_outputs]

  SYNFIRE_MODEL_FN int64_t pieces_of_image() const { return (gradients.length + image_piece - 1) / image_piece; }
};
const void* conv2d_image_maxima_kernel(int width);
const void* conv2d_image_integers_kernel(int width);

// The gradients on their grid that each input place meets, as byte planes: left operands of sums over the taps and the
// outputs of each (dense/fragments.hpp), and the grid of each place. A warp has 16 places and some words, in blocks of
// patch_threads.
struct Conv2dGradientPatchLaunch {
  Conv2dShape shape;
  SequenceRows rows;            // images of all steps
  int64_t first_step, n_steps;  // of these
  int64_t first_image, n_images;
  const int32_t *row_grid, *on_grid;  // [T, B], [T * B, n_outputs]
  uint8_t* planes;
  int64_t n_words, row_groups;
  int32_t* patch_grid;
  int32_t words_together;  // that a warp has, one after the other

  SYNFIRE_MODEL_FN int64_t n_places() const { return n_steps * n_images * shape.input_places(); }
};
const void* conv2d_gradient_patches_kernel();

// A thread for each element of the input; wide: of numbers of 32 bits, whose sums are made in two parts.
struct Conv2dInputGradientLaunch {
  Conv2dShape shape;
  SequenceRows rows;
  const int32_t* on_grid;
  const int32_t* row_grid;
  const int32_t* weights;  // [N, K]
  int64_t weights_pitch;
  RowArray<float> grad_input;
  bool add;
  Conv2dKept<float> kept;
};
const void* conv2d_input_gradient_kernel(bool wide);

struct Conv2dOrderedInputGradientLaunch {
  Conv2dShape shape;
  SequenceRows rows;
  RowArray<const double> gradients;
  const double* weights;  // [N, K]
  int64_t weights_pitch;
  RowArray<double> grad_input;
  bool add;
  Conv2dKept<double> kept;
};
const void* conv2d_ordered_input_gradient_kernel();

// ---- a kernel for each channel --------------------------------------------------------------------------------------

// The same results as the kernels above, of exact products: of bits where 32 divides the number of channels, and in the
// gradient of the input with numbers of at most 24 bits. A warp of a block of conv2d_threads has 32 channels and some
// places of a row, depthwise_places for each thread, or a row of taps and places_per_piece rows of places.
inline constexpr int depthwise_places = 8, depthwise_taps = 8;
const void* depthwise_product_kernel(Conv2dInput input);      // Conv2dProductLaunch<float>
const void* depthwise_weight_sums_kernel(Conv2dInput input);  // Conv2dWeightSumsLaunch
const void* depthwise_input_gradient_kernel();                // Conv2dInputGradientLaunch

}  // namespace synfire::cuda

#endif
