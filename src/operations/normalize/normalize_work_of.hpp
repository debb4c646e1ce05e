// The scratch memory of a normalisation, and the arguments of its work, made of its operands; the same on both
// backends.
#ifndef SYNFIRE_OPERATIONS_NORMALIZE_NORMALIZE_WORK_OF_HPP
#define SYNFIRE_OPERATIONS_NORMALIZE_NORMALIZE_WORK_OF_HPP

#include "normalize.hpp"
#include "normalize_arithmetic.hpp"

#include <operations/reduce/reduce.hpp>

#include <algorithm>

namespace synfire::operations {

// In f32 sums, maxima and coefficients [3, C]: none needs padding.
struct NormalizeMemory {
  int64_t channels;
  bool wide;

  uint64_t bytes() const {
    return wide ? static_cast<uint64_t>(5 * channels) * sizeof(double)
                : integer_bytes() + static_cast<uint64_t>(3 * channels) * sizeof(float);
  }
  // The sums and maxima of IntegerSums, which are first.
  uint64_t integer_bytes() const { return static_cast<uint64_t>(channels) * (3 * sizeof(int64_t) + 2 * sizeof(u32)); }
  void place(IntegerSums& sums, float*& coefficients, void* memory) const {
    sums.totals = static_cast<int64_t*>(memory);
    sums.high = sums.totals + channels;
    sums.low = sums.high + channels;
    sums.largest[0] = reinterpret_cast<u32*>(sums.low + channels);
    sums.largest[1] = sums.largest[0] + channels;
    coefficients = reinterpret_cast<float*>(sums.largest[1] + channels);
  }
  // Arrays of an entry in place of those.
  void place(IntegerSums& sums, const View& largest, const View& totals) const {
    if (totals) {
      sums.totals = static_cast<int64_t*>(totals.data);
      sums.high = sums.totals + channels;
      sums.low = sums.high + channels;
    }
    if (!largest) return;
    sums.largest[0] = static_cast<u32*>(largest.data);
    sums.largest[1] = sums.largest[0] + channels;
  }
  void place(OrderedSums&, const View&, const View&) const {}
  void place(OrderedSums& sums, double*& coefficients, void* memory) const {
    sums.totals = static_cast<double*>(memory);
    sums.products = sums.totals + channels;
    coefficients = sums.products + channels;
  }
};

template <class R>
R* numbers_in(const View& view) {
  return static_cast<R*>(view.data);
}

template <class R>
NormalizeWork<R> work_of(const Normalize& op) {
  NormalizeWork<R> work = {};
  const int64_t length = op.shape.image();
  work.sums.shape = op.shape;
  work.sums.counting = counting_of(op.lengths, op.n_active);
  work.sums.first = images_of(op.source, length);
  if constexpr (sizeof(R) == sizeof(float)) {
    work.sums.second = work.sums.first;
    work.sums.squares = true;
  }
  R* coefficients = nullptr;
  const NormalizeMemory memory = {op.shape.channels, sizeof(R) == sizeof(double)};
  memory.place(work.sums, coefficients, op.scratch.data);
  memory.place(work.sums, op.largest, op.totals);
  if constexpr (sizeof(R) == sizeof(float)) {
    if (op.totals) work.sums.n_all = work.sums.totals + 3 * op.shape.channels;
  }
  work.evaluation = op.evaluation;
  work.epsilon = op.epsilon;
  work.momentum = op.momentum;
  work.gamma = numbers_in<const R>(op.gamma);
  work.beta = numbers_in<const R>(op.beta);
  work.running_mean = numbers_in<R>(op.running_mean);
  work.running_variance = numbers_in<R>(op.running_variance);
  work.saved = numbers_in<u64>(op.saved);
  work.factor = op.factor ? numbers_in<R>(op.factor) : coefficients;
  work.addend = op.addend ? numbers_in<R>(op.addend) : coefficients + op.shape.channels;
  work.destination = images_of(op.destination, length);
  return work;
}

template <class R>
NormalizeGradientWork<R> work_of(const NormalizeBackward& op) {
  NormalizeGradientWork<R> work = {};
  const int64_t length = op.shape.image();
  work.sums.shape = op.shape;
  work.sums.counting = counting_of(op.lengths, op.n_active);
  work.sums.first = images_of(op.grad_destination, length);
  if (op.source) work.sums.second = images_of(op.source, length);
  work.saved = numbers_in<const u64>(op.saved);
  if (sizeof(R) == sizeof(double) || !op.evaluation) work.sums.saved = work.saved;
  R* coefficients = nullptr;
  const NormalizeMemory memory = {op.shape.channels, sizeof(R) == sizeof(double)};
  memory.place(work.sums, coefficients, op.scratch.data);
  memory.place(work.sums, op.largest, op.totals);
  work.evaluation = op.evaluation;
  work.has_sums = op.has_sums();
  work.gamma = numbers_in<const R>(op.gamma);
  work.add_gradients = op.add_gradients;
  work.grad_gamma = numbers_in<R>(op.grad_gamma);
  work.grad_beta = numbers_in<R>(op.grad_beta);
  work.factor = coefficients;
  work.of_source = coefficients + op.shape.channels;
  work.constant = coefficients + 2 * op.shape.channels;
  work.accumulate = op.accumulate;
  if (op.grad_source) work.grad_source = images_of(op.grad_source, length);
  return work;
}

}  // namespace synfire::operations

#endif
