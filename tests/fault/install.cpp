// Installs the fake before any test of the program runs.
#include "fake_cuda.hpp"

namespace {
const bool installed = (synfire_test::fake::install(), true);
}
