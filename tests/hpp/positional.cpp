// Calls with steps and neurons as plain integers, or swapped. The compiler must refuse each and name the new spelling.
// CASE selects one; 0 is the correct call.
#include <synfire/synfire.hpp>

namespace {

[[maybe_unused]] void call(const synfire::Buffer& a, const synfire::Buffer& b) {
  using synfire::neurons, synfire::steps;
#if CASE == 0
  static_cast<void>(synfire::layer_desc(SYNFIRE_MODEL_LIF, steps{20}, neurons{64}, 2));
  static_cast<void>(synfire::convert_spikes_desc(a, b, steps{20}, neurons{64}));
#elif CASE == 1
  static_cast<void>(synfire::layer_desc(SYNFIRE_MODEL_LIF, 20, 64));
#elif CASE == 2
  static_cast<void>(synfire::layer_desc(SYNFIRE_MODEL_LIF, neurons{64}, steps{20}));
#elif CASE == 3
  static_cast<void>(synfire::layer_desc(SYNFIRE_MODEL_LIF, steps{20}, 64));
#elif CASE == 4
  static_cast<void>(synfire::convert_spikes_desc(a, b, 20, 64));
#elif CASE == 5
  static_cast<void>(synfire::count_spikes_desc(a, b, 20, 64, SYNFIRE_COUNT_TOTAL, 2));
#elif CASE == 6
  static_cast<void>(synfire::encode_bernoulli_desc(a, b, 64, 20, 2, 7));
#else
#error "no such case"
#endif
}

}  // namespace
