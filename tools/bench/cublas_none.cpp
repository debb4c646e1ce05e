// cublas_none.cpp - stands for cublas_cuda.cpp in builds without CUDA.
//
// SPDX-License-Identifier: MIT
#include <limits>

#include "cublas.hpp"

namespace synfire_bench {

struct Cublas::Parts {};

Cublas::Cublas(const Machine&) {}
Cublas::~Cublas() = default;

double Cublas::measure(const std::vector<Product>&, bool, std::uint32_t) {
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace synfire_bench
