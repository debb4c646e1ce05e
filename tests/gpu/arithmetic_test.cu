// Arithmetic that a GPU computes in another way than the host: the reciprocal, an estimate with one Newton step, must
// equal division.
#include <synfire/model/elementary.hpp>

#include <gtest/gtest.h>

#include <cuda_runtime.h>

namespace {

constexpr unsigned significands = 1u << 23;

// Counts the significands whose reciprocal differs from division, over exponents from end to end of the range.
__global__ void compare_with_division(unsigned* wrong) {
  const unsigned significand = blockIdx.x * blockDim.x + threadIdx.x;
  if (significand >= significands) return;
  for (unsigned exponent = 127 - 100; exponent < 127 + 100; exponent += 5) {
    const float x = __uint_as_float(exponent << 23 | significand);
    if (__float_as_uint(synfire::model::reciprocal(x)) != __float_as_uint(__fdiv_rn(1.0f, x))) atomicAdd(wrong, 1u);
  }
}

TEST(Arithmetic, TheReciprocalIsCorrectlyRounded) {
  unsigned* wrong = nullptr;
  ASSERT_EQ(cudaMalloc(&wrong, sizeof *wrong), cudaSuccess);
  ASSERT_EQ(cudaMemset(wrong, 0, sizeof *wrong), cudaSuccess);
  compare_with_division<<<significands / 256, 256>>>(wrong);
  unsigned counted = 1;
  ASSERT_EQ(cudaMemcpy(&counted, wrong, sizeof counted, cudaMemcpyDeviceToHost), cudaSuccess);
  cudaFree(wrong);
  EXPECT_EQ(counted, 0u);
}

}  // namespace
