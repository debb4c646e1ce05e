// What tests that look at the device begin with: a fake CUDA runtime of their own, a context on it, and a stream of the
// caller's beside the context's.
#ifndef SYNFIRE_TESTS_FAULT_STREAM_FIXTURE_HPP
#define SYNFIRE_TESTS_FAULT_STREAM_FIXTURE_HPP

#include "../capi/step_support.hpp"
#include "fake_cuda.hpp"

namespace synfire_test {

class WithStream : public testing::Test {
 protected:
  Context context;
  cudaStream_t stream = nullptr;

  void SetUp() override {
    fake::install();
    context = make_context();
    stream = fake::make_stream();
  }
  void TearDown() override {
    fake::release();
    fake::destroy_stream(stream);
  }
  synfire_stream callers() const { return reinterpret_cast<synfire_stream>(stream); }
};

}  // namespace synfire_test

#endif
