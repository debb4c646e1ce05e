// The kernels of one-to-one synapses, as the host code sees them. R is float or double.
#ifndef SYNFIRE_SYNAPSES_ONE_TO_ONE_ONE_TO_ONE_KERNELS_HPP
#define SYNFIRE_SYNAPSES_ONE_TO_ONE_ONE_TO_ONE_KERNELS_HPP

#include <synapses/passes/input_numbers.hpp>
#include <synapses/passes/synapse_rows.hpp>

namespace synfire::cuda {

// Elements of a row, and the entries of arrays: element i has entry i mod n_entries.
struct OneToOneShape {
  SequenceRows rows;
  int64_t n_neurons, n_entries;

  SYNFIRE_MODEL_FN int64_t n_shares() const { return n_neurons / n_entries; }
  SYNFIRE_MODEL_FN int64_t n_elements() const { return rows.count() * n_neurons; }
  SYNFIRE_MODEL_FN int64_t entry(int64_t element) const {
    return n_entries == n_neurons ? element : n_entries == 1 ? 0 : row_index(element, n_entries).b;
  }
};

// A thread for each element.
template <class R>
struct OneToOneProductLaunch {
  OneToOneShape shape;
  InputNumbers input;
  RowArray<R> output;
  const R *weight, *bias;  // bias may be null
};
template <class R>
const void* one_to_one_product_kernel();

template <class R>
struct OneToOneInputGradientLaunch {
  OneToOneShape shape;
  RowArray<const R> grad_output;
  RowArray<R> grad_input;
  const R* weight;
  bool add;
};
template <class R>
const void* one_to_one_input_gradient_kernel();

// ---- exact sums -----------------------------------------------------------------------------------------------------

// A block of exact_sum_threads for as many elements and a piece of the rows: first the largest magnitudes, then the
// sums. Both are atomic, because the order of integers does not matter; then a thread for each entry.
inline constexpr int exact_sum_threads = 256;
struct ExactSumLaunch {
  OneToOneShape shape;
  RowArray<const float> grad_output;
  InputNumbers input;
  uint32_t* largest;  // [E], as bits; 0 at first
  int64_t* totals;    // [2, E], of weight and bias; 0 at first
  int64_t rows_per_piece;
  bool wide;  // a grid of 32 bits
  float *weight_gradient, *bias_gradient;
  bool add;
};
const void* exact_largest_kernel();
const void* exact_sum_kernel();
const void* exact_finish_kernel();

// ---- contributions of values in f32 ---------------------------------------------------------------------------------

// A thread for each element of an active row, which adds its terms from the last step back, in f64.
struct ContributionsLaunch {
  OneToOneShape shape;
  RowArray<const float> grad_output;
  InputNumbers input;
  float *weight, *bias;  // [B, N]; bias may be null
};
const void* one_to_one_contributions_kernel();

// ---- sums in the fixed order, in f64 --------------------------------------------------------------------------------

// A thread for each chain of terms. A block of ordered_sum_threads has 16 entries of one block of terms, or, where
// there are fewer entries, one entry of 16. Then a thread for each entry adds the blocks.
inline constexpr int ordered_sum_threads = 256;
struct OrderedSumLaunch {
  OneToOneShape shape;
  RowArray<const double> grad_output;
  InputNumbers input;
  double* blocks;    // [2, n_blocks, E], of weight and bias
  int64_t n_blocks;  // if all rows are active
  int tile_entries;  // 16 or 1
  double *weight_gradient, *bias_gradient;
  bool add;
};
const void* ordered_blocks_kernel();
const void* ordered_finish_kernel();

}  // namespace synfire::cuda

#endif
