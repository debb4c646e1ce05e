// Before any test of a program runs, the fake stands where CUDA was.
#include "fake_cuda.hpp"

namespace {
const bool installed = (synfire_test::fake::install(), true);
}
