// The layer whose kernels are exported as text, compiled by plain nvcc and compared with the library's.
#ifndef SYNFIRE_TESTS_GPU_EXPORTED_LAYER_HPP
#define SYNFIRE_TESTS_GPU_EXPORTED_LAYER_HPP

#include <cstddef>
#include <cstdint>
#include <vector>

namespace exported {

inline constexpr double tau = 2.7;
inline constexpr size_t n_steps = 70, batch = 2, n_neurons = 1001;
inline constexpr size_t n_row = batch * n_neurons, n_all = n_steps * n_row;
inline constexpr size_t n_words = n_steps * batch * ((n_neurons + 31) / 32);

struct Results {
  std::vector<float> v_seq, grad_x, grad_v_init;
  std::vector<uint32_t> spikes;
};

// Computes the results of the text. Returns the first error of CUDA (layer_source_kernels.cu).
int run_text(const std::vector<float>& x, const std::vector<float>& grad_spike, Results& results);

}  // namespace exported

#endif
