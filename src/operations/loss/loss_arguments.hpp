// A loss as the code of every backend receives it, and its scratch memory.
#ifndef SYNFIRE_OPERATIONS_LOSS_LOSS_ARGUMENTS_HPP
#define SYNFIRE_OPERATIONS_LOSS_LOSS_ARGUMENTS_HPP

#include <synfire/model/platform.hpp>
#include <synfire/model/reduction.hpp>

#include <cstdint>

namespace synfire::operations {

// Rows leave these for each other in f32: maxima, as bits, and sums of integers (model/grid.hpp). What is found of the
// divisor of the mean has slots, so that blocks of a GPU need no memory that was cleared.
struct LossSums {
  int32_t n_slots;          // 1 or loss_slots
  uint32_t* largest_share;  // [n_slots]: of the divisor
  int64_t* shares;          // [2, n_slots]: the sum of the shares on their grid, and how many samples count
  uint32_t* largest;        // [1]: of the losses
  int64_t* losses;          // [2]: the sum of the losses on their grid, and how many predictions are correct
  float* of_samples;        // [n_samples]: the losses
  uint32_t* n_arrived;      // [1]: blocks
};
inline constexpr int32_t loss_slots = 64;

// In f64, whose sums have an order.
struct LossTotals {
  double class_weight;  // of all classes
  uint64_t n_correct;
  uint32_t n_arrived;  // chunks
};

// Results that the parts of a loss leave for each other, for n samples in chunks of model::reduction_chunk.
struct LossScratch {
  LossTotals* totals;
  double* weights;      // of each chunk
  double* counts;       // samples that count, of each chunk
  double* sums;         // of the losses of each chunk
  void* losses;         // of each sample, in the type of the arithmetic
  uint32_t* n_arrived;  // tiles of each chunk
};

struct LossArguments {
  int64_t n_samples;  // T * B, below 2^32
  int64_t n_steps, batch;
  uint32_t n_classes;
  bool squared;  // a mean squared error, not a cross-entropy
  bool sum, accumulate, add_gradient;
  bool ignores_label;
  uint32_t ignored_label;
  const void* source;
  int64_t source_pitch;    // elements to the next step
  const uint32_t* labels;  // null: `targets`
  const void* targets;
  int64_t target_pitch;  // of labels or targets; 0: one row for all steps
  const uint32_t *lengths, *n_active;
  const float *sample_weights, *class_weights;
  void* gradient;
  int64_t gradient_pitch;
  void* losses;
  int64_t losses_pitch;
  uint32_t* predictions;
  int64_t predictions_pitch;
  void *loss, *divisor;
  bool loss_is_f64, divisor_is_f64;
  uint32_t *n_correct, *n_counted;
  double label_smoothing, gradient_scale;
  const double *label_smoothing_value, *gradient_scale_value;  // null: the numbers above
  LossScratch scratch;                                         // f64; null pointers if one block does everything
  LossSums sums;                                               // f32; likewise
};

inline int64_t loss_chunks(int64_t n_samples) {
  return (n_samples + model::reduction_chunk - 1) / model::reduction_chunk;
}

inline constexpr uint64_t loss_totals_bytes = 64;

inline uint64_t loss_scratch_bytes(int64_t n_samples, uint64_t element) {
  const auto n_chunks = static_cast<uint64_t>(loss_chunks(n_samples));
  return loss_totals_bytes + n_chunks * (3 * sizeof(double) + sizeof(uint32_t)) +
         static_cast<uint64_t>(n_samples) * element;
}

inline LossScratch loss_scratch(void* memory, int64_t n_samples, uint64_t element) {
  const int64_t n_chunks = loss_chunks(n_samples);
  auto* const doubles = reinterpret_cast<double*>(static_cast<char*>(memory) + loss_totals_bytes);
  auto* const losses = reinterpret_cast<char*>(doubles + 3 * n_chunks);
  return {static_cast<LossTotals*>(memory),
          doubles,
          doubles + n_chunks,
          doubles + 2 * n_chunks,
          losses,
          reinterpret_cast<uint32_t*>(losses + static_cast<uint64_t>(n_samples) * element)};
}

// The memory of LossSums if one operation does everything: integers, then the losses.
constexpr uint64_t loss_integers_bytes(int32_t n_slots) {
  const auto slots = static_cast<uint64_t>(n_slots);
  return (2 * slots + 2) * sizeof(int64_t) + (slots + 3) / 2 * 2 * sizeof(uint32_t);
}
inline uint64_t loss_sums_bytes(int64_t n_samples) {
  return loss_integers_bytes(loss_slots) + static_cast<uint64_t>(n_samples) * sizeof(float);
}
inline LossSums loss_sums(void* memory, int32_t n_slots) {
  auto* const wide = static_cast<int64_t*>(memory);
  int64_t* const totals = wide + int64_t{2} * n_slots;
  auto* const narrow = reinterpret_cast<uint32_t*>(totals + 2);
  auto* const losses = reinterpret_cast<float*>(static_cast<char*>(memory) + loss_integers_bytes(n_slots));
  return {n_slots, narrow, wide, narrow + n_slots, totals, losses, narrow + n_slots + 1};
}

// Small losses need no scratch memory: on a GPU one block computes them.
inline bool loss_fits_one_block(int64_t n_samples, int64_t n_classes) {
  constexpr int64_t most_elements = 16384;
  return n_samples <= model::reduction_chunk && n_classes <= most_elements / n_samples;
}

}  // namespace synfire::operations

#endif
