#include "gradient_sums.hpp"

#include <base/error.hpp>
#include <neurons/sum_gradient/sum_gradient.hpp>

#include <synfire/model/reduction.hpp>

#include <algorithm>

namespace synfire::operations {

using namespace synfire::core;

namespace {

int64_t chunks_of(int64_t count) {
  return (count + model::reduction_chunk - 1) / model::reduction_chunk;
}

}  // namespace

void check_gradient_count(const LayerSpec& spec, size_t count, const char* name) {
  const auto most = static_cast<size_t>(n_gradients(*spec.model));
  if (count > most)
    fail_argument("SYN-GRADIENT-COUNT", "%s is %zu; this layer has %zu gradients to ask for", name, count, most);
}

void check_gradient_length(const LayerSpec& spec, uint64_t length, const char* name) {
  const auto n_neurons = static_cast<uint64_t>(spec.extents.n_neurons);
  if (length == 0 || n_neurons % length != 0)
    fail_argument(
        "SYN-GRADIENT-LENGTH",
        "%s holds %llu elements; allowed are 1 (the sum over all neurons), %llu (one per neuron) and any number "
        "that divides %llu (one per channel)",
        name, static_cast<unsigned long long>(length), static_cast<unsigned long long>(n_neurons),
        static_cast<unsigned long long>(n_neurons));
}

int64_t n_gradient_sums(const Extents& extents, size_t count) {
  return (extents.row() + chunks_of(extents.row())) * static_cast<int64_t>(count);
}

uint64_t gradient_scratch_bytes(const LayerSpec& spec, const Extents& extents) {
  return spec.arithmetic() == SYNFIRE_DTYPE_F32 ? most_row_sum_bytes(extents.n_neurons) : 0;
}

void add_gradient_sums(Layer& layer, Backward backward, std::span<const GradientSum> gradients, bool add,
                       FunctionRef<View()> sums, void* scratch, OperationList& operations) {
  const LayerSpec& spec = layer.spec();
  const Extents& e = backward.extents;
  const int64_t row = e.row();
  if (spec.arithmetic() == SYNFIRE_DTYPE_F32 && row > most_row_sum_terms)
    fail(SYNFIRE_ERROR_UNSUPPORTED, "SYN-GRADIENT-ROWS",
         "the layer has %lld rows of %lld neurons; gradients of parameters are computed over less than 2^32 neurons",
         static_cast<long long>(e.batch), static_cast<long long>(e.n_neurons));
  layer.prepare_gradients();

  GradientRows rows = {};
  for (const GradientSum& gradient : gradients) rows.rows[rows.count++] = gradient.row;
  backward.gradients = rows;
  const int64_t n_chunks = chunks_of(row);
  const View all = sums();
  const auto sums_at = [&](int64_t first, int64_t count) {
    View part = all;
    part.rank = 0;
    part.data = static_cast<double*>(all.data) + first;
    part.bytes = static_cast<uint64_t>(count) * sizeof(double);
    return part;
  };
  backward.gradient_partials = sums_at(0, row * rows.count);
  operations.emplace_back(backward);
  for (size_t i = 0; i < gradients.size(); ++i) {
    const auto index = static_cast<int64_t>(i);
    const View partial = sums_at(row * index, row);
    const auto number = static_cast<int32_t>(i);
    const View out = gradients[i].out;
    const auto n_entries = static_cast<int64_t>(out.bytes / spec.element_bytes());
    const bool of_all = n_entries == 1 && e.n_neurons != 1;
    SumGradient sum = {SumKind::rows, partial, e.batch, e.n_neurons, out, number, layer.active()};
    sum.add = add;
    if (spec.arithmetic() == SYNFIRE_DTYPE_F32) {
      sum.n_entries = n_entries;
      sum.scratch.dtype = SYNFIRE_DTYPE_U64;
      sum.scratch.bytes = row_sum_bytes({sum.batch, sum.count, sum.n_entries});
      sum.has_scratch = scratch;
      if (scratch) sum.scratch.data = static_cast<char*>(scratch) + i * gradient_scratch_bytes(spec, e);
      operations.emplace_back(sum);
    } else if (of_all) {
      const View of_chunks = sums_at(row * rows.count + n_chunks * index, n_chunks);
      operations.emplace_back(SumGradient{SumKind::chunks, partial, 1, row, of_chunks, number, layer.active()});
      operations.emplace_back(SumGradient{SumKind::total, of_chunks, 1, n_chunks, out, number, nullptr, add});
    } else {
      // Rows of channels, of which a batch row has several.
      sum.sum = SumKind::batch;
      sum.batch = row / n_entries;
      sum.count = n_entries;
      operations.emplace_back(sum);
    }
  }
}

}  // namespace synfire::operations
