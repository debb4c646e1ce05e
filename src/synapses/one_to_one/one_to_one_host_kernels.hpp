// The inner loops of one-to-one synapses, compiled once for each instruction level.
#ifndef SYNFIRE_SYNAPSES_ONE_TO_ONE_ONE_TO_ONE_HOST_KERNELS_HPP
#define SYNFIRE_SYNAPSES_ONE_TO_ONE_ONE_TO_ONE_HOST_KERNELS_HPP

#include <backends/host/level.hpp>

#include <cstdint>

namespace synfire::host {

template <class R>
struct OneToOneLoops {
  // output[i] = fma(weight[i], input[i], bias[i]); with `shared`, all have weight[0] and bias[0].
  void (*product)(R* output, const R* input, const R* weight, const R* bias, bool shared, int count);
  // output[i] = weight[i] * gradients[i], or added to what it holds.
  void (*input_gradient)(R* output, const R* gradients, const R* weight, bool shared, bool add, int count);
};

struct OneToOneKernels {
  OneToOneLoops<float> f32;
  OneToOneLoops<double> f64;
  // Chains of several entries: weights[i] = fma(gradients[i], input[i], weights[i]), biases[i] += gradients[i].
  void (*add_terms)(double* weights, double* biases, const double* gradients, const double* input, int count);
  // The same for terms that follow one another in one chain.
  void (*add_chain)(double* weight, double* bias, const double* gradients, const double* input, int count);
  // The same for the contributions of elements, whose products f64 holds exactly.
  void (*add_contributions)(double* weights, double* biases, const float* gradients, const float* input, int count);
  // Exact sums: largest[i] = max(largest[i], |gradients[i]|), as bits; totals[i] += the gradient on the entry's grid,
  // where input[i] is not 0, and biases[i] += it everywhere. With `shared`, all elements have entry 0.
  void (*largest)(uint32_t* largest, const float* gradients, bool shared, int count);
  void (*add_exact)(int64_t* totals, int64_t* biases, const float* gradients, const float* input, const int32_t* grid,
                    bool shared, int count);
};

SYNFIRE_LEVEL_TABLES(OneToOneKernels, one_to_one_kernels)

}  // namespace synfire::host

#endif
