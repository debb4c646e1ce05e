#include "pool_host_kernels.hpp"

#include <cmath>

namespace synfire::host::SYNFIRE_MODEL_LEVEL {
namespace {

template <class R>
void take_larger(R* most, int64_t* places, const R* values, int64_t place, int count) {
  for (int i = 0; i < count; ++i) {
    const bool taken = values[i] > most[i] || std::isnan(values[i]);
    most[i] = taken ? values[i] : most[i];
    places[i] = taken ? place : places[i];
  }
}

template <class R>
void add(R* sums, const R* values, int64_t count) {
  for (int64_t i = 0; i < count; ++i) sums[i] = sums[i] + values[i];
}

template <class R>
void divide(R* values, R divisor, int count) {
  for (int i = 0; i < count; ++i) values[i] = values[i] / divisor;
}

void add_counts(int32_t* sums, const uint8_t* counts, int32_t bound, int count) {
  for (int i = 0; i < count; ++i) sums[i] += counts[i] < bound ? counts[i] : bound;
}

template <class R>
constexpr PoolLoops<R> loops = {take_larger<R>, add<R>, divide<R>};

}  // namespace

extern const PoolKernels pool_kernels = {loops<float>, loops<double>, add_counts};

}  // namespace synfire::host::SYNFIRE_MODEL_LEVEL
