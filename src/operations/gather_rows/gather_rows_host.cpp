#include "gather_rows_arrays_of.hpp"

#include <backends/host/host_launcher.hpp>

#include <cstring>

namespace synfire::operations {

using namespace synfire::core;

namespace {

// Below this many bytes and pieces the calling thread works alone.
constexpr int64_t parallel_bytes = int64_t{1} << 20;
constexpr int64_t parallel_pieces = int64_t{1} << 15;

// With the size as a constant, the copy of a short piece needs no call.
template <size_t bytes>
struct Fixed {
  void operator()(char* to, const char* from, int64_t) const {
    if (from)
      std::memcpy(to, from, bytes);
    else
      std::memset(to, 0, bytes);
  }
};
struct Any {
  void operator()(char* to, const char* from, int64_t bytes) const {
    if (from)
      std::memcpy(to, from, static_cast<size_t>(bytes));
    else
      std::memset(to, 0, static_cast<size_t>(bytes));
  }
};

// Clears the bits of steps that the row does not have.
void clear_bits(char* words, int64_t bytes, uint32_t mask) {
  for (int64_t i = 0; i < bytes; i += 4) {
    uint32_t word = 0;
    std::memcpy(&word, words + i, sizeof word);
    word &= mask;
    std::memcpy(words + i, &word, sizeof word);
  }
}

template <class Copy>
void gather(const GatherArrays& arrays, int64_t begin, int64_t end, Copy copy) {
  for (int64_t i = begin; i < end; ++i) {
    const int64_t step = i / arrays.batch, row = i % arrays.batch;
    copy(arrays.to(step, row), arrays.from(step, row), arrays.piece);
    if (const uint32_t mask = arrays.mask(step, row); mask != ~uint32_t{0})
      clear_bits(arrays.to(step, row), arrays.piece, mask);
  }
}

}  // namespace

bool wants_threads(const GatherRows& op) {
  const GatherArrays arrays = arrays_of(op);
  return arrays.n_pieces() * arrays.piece >= parallel_bytes || arrays.n_pieces() >= parallel_pieces;
}

void run(const GatherRows& op, host::Launcher& launcher) {
  const GatherArrays arrays = arrays_of(op);
  launcher.for_each_range(arrays.n_pieces(), wants_threads(op), [&](int64_t begin, int64_t end) {
    switch (arrays.piece) {
      case 1:
        return gather(arrays, begin, end, Fixed<1>{});
      case 2:
        return gather(arrays, begin, end, Fixed<2>{});
      case 4:
        return gather(arrays, begin, end, Fixed<4>{});
      case 8:
        return gather(arrays, begin, end, Fixed<8>{});
      default:
        return gather(arrays, begin, end, Any{});
    }
  });
}

}  // namespace synfire::operations
