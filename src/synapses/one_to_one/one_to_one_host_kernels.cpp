#include "one_to_one_host_kernels.hpp"

#include <synfire/model/grid.hpp>

namespace synfire::host::SYNFIRE_MODEL_LEVEL {
namespace {

using namespace synfire::model;

template <class R>
void product(R* __restrict output, const R* __restrict input, const R* __restrict weight, const R* __restrict bias,
             bool shared, int count) {
  if (shared) {
    const R w = weight[0], b = bias[0];
    for (int i = 0; i < count; ++i) output[i] = fma(w, input[i], b);
    return;
  }
  for (int i = 0; i < count; ++i) output[i] = fma(weight[i], input[i], bias[i]);
}

template <class R>
void input_gradient(R* output, const R* gradients, const R* weight, bool shared, bool add, int count) {
  const int64_t step = shared ? 0 : 1;
  if (add) {
    for (int i = 0; i < count; ++i) output[i] = output[i] + weight[i * step] * gradients[i];
    return;
  }
  for (int i = 0; i < count; ++i) output[i] = weight[i * step] * gradients[i];
}

void add_terms(double* __restrict weights, double* __restrict biases, const double* __restrict gradients,
               const double* __restrict input, int count) {
  for (int i = 0; i < count; ++i) {
    weights[i] = fma(gradients[i], input[i], weights[i]);
    biases[i] = biases[i] + gradients[i];
  }
}

void add_chain(double* weight, double* bias, const double* gradients, const double* input, int count) {
  double w = *weight, b = *bias;
  for (int i = 0; i < count; ++i) {
    w = fma(gradients[i], input[i], w);
    b = b + gradients[i];
  }
  *weight = w;
  *bias = b;
}

void add_contributions(double* __restrict weights, double* __restrict biases, const float* __restrict gradients,
                       const float* __restrict input, int count) {
  for (int i = 0; i < count; ++i) {
    const auto gradient = static_cast<double>(gradients[i]);
    weights[i] = weights[i] + gradient * static_cast<double>(input[i]);
    biases[i] = biases[i] + gradient;
  }
}

void largest(uint32_t* largest, const float* gradients, bool shared, int count) {
  if (shared) {
    uint32_t most = largest[0];
    for (int i = 0; i < count; ++i) {
      const uint32_t magnitude = bits_of(gradients[i]) & 0x7FFFFFFFu;
      most = magnitude > most ? magnitude : most;
    }
    largest[0] = most;
    return;
  }
  for (int i = 0; i < count; ++i) {
    const uint32_t magnitude = bits_of(gradients[i]) & 0x7FFFFFFFu;
    largest[i] = magnitude > largest[i] ? magnitude : largest[i];
  }
}

void add_exact(int64_t* totals, int64_t* biases, const float* gradients, const float* input, const int32_t* grid,
               bool shared, int count) {
  if (shared) {
    int64_t total = 0, bias = 0;
    for (int i = 0; i < count; ++i) {
      const int64_t term = on_grid(gradients[i], grid[0]);
      total += input[i] != 0 ? term : 0;
      bias += term;
    }
    totals[0] += total;
    biases[0] += bias;
    return;
  }
  for (int i = 0; i < count; ++i) {
    const int64_t term = on_grid(gradients[i], grid[i]);
    totals[i] += input[i] != 0 ? term : 0;
    biases[i] += term;
  }
}

}  // namespace

extern const OneToOneKernels one_to_one_kernels;
const OneToOneKernels one_to_one_kernels = {{product<float>, input_gradient<float>},
                                            {product<double>, input_gradient<double>},
                                            add_terms,
                                            add_chain,
                                            add_contributions,
                                            largest,
                                            add_exact};

}  // namespace synfire::host::SYNFIRE_MODEL_LEVEL
