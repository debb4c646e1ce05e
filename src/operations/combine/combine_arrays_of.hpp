// Converts the views of a combination to the arguments of kernels; the same on both backends. Rows that follow each
// other without gaps become one long row, so that neither short rows nor odd lengths cost anything.
#ifndef SYNFIRE_OPERATIONS_COMBINE_COMBINE_ARRAYS_OF_HPP
#define SYNFIRE_OPERATIONS_COMBINE_COMBINE_ARRAYS_OF_HPP

#include "combine.hpp"

#include <operations/spikes/spikes_arrays_of.hpp>

namespace synfire::operations {

// Joins the batch rows of each step, and then the steps, of arrays that a Folding has seen all of.
class Folding {
 public:
  explicit Folding(const core::Extents& extents) : extents_(extents) {}

  // An array with `n_neurons` elements in a row.
  void see(const View& view, int64_t n_neurons) {
    const bool bits = view.dtype == SYNFIRE_DTYPE_BITS;
    if (bits && n_neurons % 32 != 0) rows_ = steps_ = false;
    if (view.dtype == SYNFIRE_DTYPE_TIME_BITS || view.is_padded()) steps_ = false;
  }
  // Rows that become one.
  int64_t factor() const { return (rows_ ? extents_.batch : 1) * (rows_ && steps_ ? extents_.n_steps : 1); }
  core::Extents folded(int64_t n_neurons) const {
    return {rows_ && steps_ ? 1 : extents_.n_steps, rows_ ? 1 : extents_.batch, n_neurons * factor()};
  }

 private:
  const core::Extents& extents_;
  bool rows_ = true, steps_ = true;
};

inline CombineSource combine_source(const View& view, int64_t n_neurons, int32_t bound, bool is_number) {
  return {spikes_of(view), n_neurons, 0, 0, view.dtype, storage_of(view.dtype), bound, is_number};
}

inline CombineArrays arrays_of(const Combine& op) {
  const bool joined = op.kind == CombineKind::concatenate;
  CombineArrays arrays = {};
  arrays.kind = op.kind;
  arrays.n_sources = op.n_sources;
  for (int32_t k = 0; joined && k < op.n_sources; ++k) arrays.channels += op.channels[k];
  const int64_t positions = joined ? op.extents.n_neurons / arrays.channels : 1;
  const auto neurons_of = [&](int32_t k) { return joined ? positions * op.channels[k] : op.extents.n_neurons; };
  Folding folding(op.extents);
  folding.see(op.destination, op.extents.n_neurons);
  for (int32_t k = 0; k < op.n_sources; ++k) folding.see(op.sources[k], neurons_of(k));
  arrays.extents = folding.folded(op.extents.n_neurons);
  arrays.destination = spikes_of(op.destination);
  arrays.dtype = op.destination.dtype;
  arrays.storage = storage_of(op.destination.dtype);
  const bool numbers = core::is_number(op.destination.dtype) && (op.kind == CombineKind::sum || joined);
  for (int32_t k = 0; k < op.n_sources; ++k) {
    CombineSource& source = arrays.sources[k];
    source = combine_source(op.sources[k], neurons_of(k) * folding.factor(), op.bounds[k],
                            numbers && core::is_number(op.sources[k].dtype));
    source.channels = op.channels[k];
    if (joined && k > 0) source.first = arrays.sources[k - 1].first + arrays.sources[k - 1].channels;
  }
  return arrays;
}

inline CombineGradientArrays arrays_of(const CombineBackward& op) {
  const int64_t from_neurons = op.grad_destination.shape[2];
  Folding folding(op.extents);
  folding.see(op.grad_destination, from_neurons);
  folding.see(op.grad_source, op.extents.n_neurons);
  if (op.other) folding.see(op.other, op.extents.n_neurons);
  const int64_t factor = folding.factor();
  CombineGradientArrays arrays = {};
  arrays.extents = folding.folded(op.extents.n_neurons);
  arrays.kind = op.kind;
  arrays.of_second = op.source == 1;
  arrays.add = op.add;
  arrays.from = op.grad_destination.data;
  arrays.from_pitch = op.grad_destination.pitch;
  arrays.from_neurons = from_neurons * factor;
  arrays.from_dtype = op.grad_destination.dtype;
  arrays.to = op.grad_source.data;
  arrays.to_pitch = op.grad_source.pitch;
  arrays.to_dtype = op.grad_source.dtype;
  arrays.from_channels = op.all_channels;
  arrays.first = op.first_channel;
  arrays.channels = op.channels;
  if (op.other) arrays.other = combine_source(op.other, op.extents.n_neurons * factor, 1, false);
  return arrays;
}

}  // namespace synfire::operations

#endif
