#include "check_elements.hpp"

#include <backends/host/host_launcher.hpp>

#include <algorithm>
#include <atomic>
#include <cstring>

namespace synfire::operations {

using namespace synfire::core;

namespace {

constexpr int64_t check_parallel_elements = 1 << 20;

// Tests whole blocks without a branch, in lanes of one width, so that the compiler can vectorise it.
template <class Word, class Fits>
int64_t find_in(const CheckElementsArguments& a, int64_t begin, int64_t end, Fits fits) {
  constexpr int64_t block = 1024;
  const auto* const elements = static_cast<const char*>(a.elements);
  const auto at = [elements](int64_t i) {
    Word bits;
    std::memcpy(&bits, elements + i * static_cast<int64_t>(sizeof bits), sizeof bits);
    return bits;
  };
  for (int64_t first = begin; first < end; first += block) {
    const int64_t last = std::min(first + block, end);
    Word refused = 0;
    for (int64_t i = first; i < last; ++i) refused = static_cast<Word>(refused | (fits(at(i)) ? Word{0} : Word{1}));
    if (refused == 0) continue;
    for (int64_t i = first; i < last; ++i)
      if (!fits(at(i))) return i;
  }
  return end;
}

template <class Word>
int64_t find_in(const CheckElementsArguments& a, int64_t begin, int64_t end) {
  const AllowedWords<Word> allowed(a.allowed);
  if (allowed.has_no_others()) return find_in<Word>(a, begin, end, [=](Word bits) { return allowed.is_within(bits); });
  return find_in<Word>(a, begin, end, [=](Word bits) { return allowed.has(bits); });
}

int64_t find_in_steps(const CheckElementsArguments& a, int64_t begin, int64_t end) {
  switch (a.element_bytes) {
    case 1:
      return find_in<uint8_t>(a, begin, end);
    case 2:
      return find_in<uint16_t>(a, begin, end);
    case 4:
      return find_in<uint32_t>(a, begin, end);
    default:
      return find_in<uint64_t>(a, begin, end);
  }
}

}  // namespace

int64_t first_refused(const CheckElementsArguments& a, int64_t begin, int64_t end) {
  if (!a.lengths) return find_in_steps(a, begin, end);
  for (int64_t first = begin; first < end;) {
    const int64_t row = first / a.per_row, next = std::min((row + 1) * a.per_row, end);
    const int64_t n_steps = std::min<int64_t>(a.lengths[row], a.per_row / a.width);
    const int64_t last = std::clamp(row * a.per_row + n_steps * a.width, first, next);
    const int64_t found = find_in_steps(a, first, last);
    if (found < last) return found;
    first = next;
  }
  return end;
}

bool wants_threads(const CheckElements& op) {
  return arguments_of(op).n_elements >= check_parallel_elements;
}

void run(const CheckElements& op, host::Launcher& launcher) {
  const CheckElementsArguments a = arguments_of(op);
  std::atomic<uint64_t> first{nothing_refused};
  launcher.for_each_range(a.n_elements, wants_threads(op), [&](int64_t begin, int64_t end) {
    const int64_t found = first_refused(a, begin, end);
    if (found == end) return;
    const auto here = static_cast<uint64_t>(found);
    uint64_t known = first.load(std::memory_order_relaxed);
    while (here < known && !first.compare_exchange_weak(known, here, std::memory_order_relaxed)) {
    }
  });
  *static_cast<uint64_t*>(op.found.data) = first.load(std::memory_order_relaxed);
}

}  // namespace synfire::operations
