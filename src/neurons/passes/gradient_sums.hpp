// The gradients of parameters that a backward computes: it sums over the steps, and further operations over the rows.
#ifndef SYNFIRE_NEURONS_PASSES_GRADIENT_SUMS_HPP
#define SYNFIRE_NEURONS_PASSES_GRADIENT_SUMS_HPP

#include "backward.hpp"

#include <base/function_ref.hpp>

#include <span>

namespace synfire::operations {

struct GradientSum {
  int32_t row;  // of slopes, or model::gradient_of_*
  View out;     // one element, one per channel, or one per neuron
};

// Both throw INVALID_ARGUMENT; `name` is that of the number, or of the memory with `length` elements.
void check_gradient_count(const core::LayerSpec& spec, size_t count, const char* name);
void check_gradient_length(const core::LayerSpec& spec, uint64_t length, const char* name);

// How many f64 the sums of a backward take: [count, B, N], then those of the chunks of each.
int64_t n_gradient_sums(const Extents& extents, size_t count);
// The scratch memory of the sum of one gradient, whichever length it has.
uint64_t gradient_scratch_bytes(const core::LayerSpec& spec, const Extents& extents);

// Adds the backward and the operations that sum up. `sums` gives the memory of n_gradient_sums(); it is called after
// all checks. `scratch` is memory of the caller's, gradient_scratch_bytes() for each gradient; null: a replay or an
// eager call gives it. Throws UNSUPPORTED if there are too many rows.
void add_gradient_sums(core::Layer& layer, Backward backward, std::span<const GradientSum> gradients, bool add,
                       core::FunctionRef<View()> sums, void* scratch, core::OperationList& operations);

}  // namespace synfire::operations

#endif
