#include "twin.hpp"

#include <operations/replace_nonfinite/replace_nonfinite_kernels.hpp>

namespace synfire::cuda {

namespace {

template <class Word>
const void* replace_nonfinite() {
  return twin<ReplaceNonfiniteLaunch>({}, [](const ReplaceNonfiniteLaunch& launch) {
    const operations::ReplaceNonfiniteArguments& a = launch.arguments;
    uint64_t count = 0;
    for (int64_t i = 0; i < a.n_elements; ++i) {
      const int64_t step = i / a.row, column = i % a.row;
      const Word bits = static_cast<const Word*>(a.source)[step * a.source_pitch + column];
      const bool keep = operations::is_finite(bits, static_cast<Word>(a.exponent));
      static_cast<Word*>(a.destination)[step * a.destination_pitch + column] = keep ? bits : Word{0};
      count += keep ? 0 : 1;
    }
    *a.count = launch.adds ? *a.count + count : count;
  });
}

}  // namespace

const void* replace_nonfinite_kernel(int element_bytes) {
  switch (element_bytes) {
    case 2:
      return replace_nonfinite<uint16_t>();
    case 4:
      return replace_nonfinite<uint32_t>();
    default:
      return replace_nonfinite<uint64_t>();
  }
}

}  // namespace synfire::cuda
