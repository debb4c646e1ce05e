// cublas.hpp - the products of a network by cuBLAS, for comparison. The library is opened at run time, if there is one.
//
// SPDX-License-Identifier: MIT
#ifndef SYNFIRE_TOOLS_BENCH_CUBLAS_HPP
#define SYNFIRE_TOOLS_BENCH_CUBLAS_HPP

#include <cstdint>
#include <memory>
#include <vector>

#include "network.hpp"

namespace synfire_bench {

/// Implemented by cublas_cuda.cpp if the library has its CUDA backend, else by cublas_none.cpp.
class Cublas {
 public:
  explicit Cublas(const Machine& machine);
  ~Cublas();
  Cublas(const Cublas&) = delete;
  Cublas& operator=(const Cublas&) = delete;

  /// True if cuBLAS was found.
  bool available() const { return parts_ != nullptr; }

  /// Seconds of one pass over these products, in f32 or with TF32, as a CUDA graph: the median of `samples`.
  double measure(const std::vector<Product>& products, bool tf32, std::uint32_t samples);

 private:
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace synfire_bench

#endif
