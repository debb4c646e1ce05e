#include "replace_nonfinite_arguments_of.hpp"

#include <backends/host/host_launcher.hpp>
#include <base/dtype.hpp>

#include <algorithm>
#include <atomic>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// Below this many elements the calling thread works alone.
constexpr int64_t parallel_elements = 1 << 18;

// Replaces within one step. Returns how many were replaced.
template <class Word>
uint64_t replace(const Word* from, Word* to, int64_t n, Word exponent) {
  uint64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    const Word bits = from[i];
    const bool keep = is_finite(bits, exponent);
    to[i] = keep ? bits : Word{0};
    count += keep ? 0 : 1;
  }
  return count;
}

template <class Word>
uint64_t replace(const ReplaceNonfiniteArguments& a, int64_t begin, int64_t end) {
  uint64_t count = 0;
  for (int64_t i = begin; i < end;) {
    const int64_t step = i / a.row, column = i % a.row, n = std::min(a.row - column, end - i);
    count += replace(static_cast<const Word*>(a.source) + step * a.source_pitch + column,
                     static_cast<Word*>(a.destination) + step * a.destination_pitch + column, n,
                     static_cast<Word>(a.exponent));
    i += n;
  }
  return count;
}

}  // namespace

bool wants_threads(const ReplaceNonfinite& op) {
  return arguments_of(op).n_elements >= parallel_elements;
}

void run(const ReplaceNonfinite& op, host::Launcher& launcher) {
  const ReplaceNonfiniteArguments a = arguments_of(op);
  std::atomic<uint64_t> count{0};
  launcher.for_each_range(a.n_elements, wants_threads(op), [&](int64_t begin, int64_t end) {
    uint64_t here = 0;
    switch (bytes_of_dtype(op.source.dtype)) {
      case 2:
        here = replace<uint16_t>(a, begin, end);
        break;
      case 4:
        here = replace<uint32_t>(a, begin, end);
        break;
      default:
        here = replace<uint64_t>(a, begin, end);
    }
    count.fetch_add(here, std::memory_order_relaxed);
  });
  *a.count = count.load(std::memory_order_relaxed) + (op.accumulate ? *a.count : 0);
}

}  // namespace synfire::operations
