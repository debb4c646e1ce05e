// A chunk of 16 bytes, which a GPU reads at once, and the first refused element in it. Shared by kernel and twin.
#ifndef SYNFIRE_OPERATIONS_CHECK_ELEMENTS_CHUNKS_HPP
#define SYNFIRE_OPERATIONS_CHECK_ELEMENTS_CHUNKS_HPP

#include "check_elements_arguments.hpp"

#include <cstring>

namespace synfire::operations {

inline constexpr int64_t chunk_bytes = 16;

inline namespace SYNFIRE_MODEL_LEVEL {

// Bytes of the first chunk in front of the array.
SYNFIRE_MODEL_FN int64_t bytes_before(const CheckElementsArguments& a) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(a.elements) % static_cast<uintptr_t>(chunk_bytes));
}
SYNFIRE_MODEL_FN int64_t chunks_of(const CheckElementsArguments& a) {
  return (bytes_before(a) + a.n_elements * a.element_bytes + chunk_bytes - 1) / chunk_bytes;
}

// The first and the last chunk may be partly outside the array; nothing beyond the array is read.
template <class Word>
SYNFIRE_MODEL_FN uint64_t first_in_chunk(const CheckElementsArguments& a, int64_t chunk) {
  constexpr int n = static_cast<int>(chunk_bytes / static_cast<int64_t>(sizeof(Word)));
  const AllowedWords<Word> allowed(a.allowed);
  const auto* const elements = static_cast<const Word*>(a.elements);
  const int64_t first = chunk * n - bytes_before(a) / static_cast<int64_t>(sizeof(Word));
  uint32_t refused = 0;  // a bit for each element
  if (first >= 0 && first + n <= a.n_elements) {
    struct alignas(chunk_bytes) Chunk {
      uint64_t halves[2];
    };
    const Chunk bits = *reinterpret_cast<const Chunk*>(elements + first);
    Word words[n];
    std::memcpy(words, &bits, sizeof words);
    for (int i = 0; i < n; ++i) refused |= (allowed.has(words[i]) ? 0u : 1u) << i;
  } else {
    for (int i = 0; i < n; ++i)
      if (first + i >= 0 && first + i < a.n_elements) refused |= (allowed.has(elements[first + i]) ? 0u : 1u) << i;
  }
  if (refused == 0) return nothing_refused;
  for (int i = 0; i < n; ++i)
    if ((refused >> i & 1) != 0 && is_within_length(a, first + i)) return static_cast<uint64_t>(first + i);
  return nothing_refused;
}

SYNFIRE_MODEL_FN uint64_t first_in_chunk(const CheckElementsArguments& a, int64_t chunk) {
  switch (a.element_bytes) {
    case 1:
      return first_in_chunk<uint8_t>(a, chunk);
    case 2:
      return first_in_chunk<uint16_t>(a, chunk);
    case 4:
      return first_in_chunk<uint32_t>(a, chunk);
    default:
      return first_in_chunk<uint64_t>(a, chunk);
  }
}

}  // namespace SYNFIRE_MODEL_LEVEL
}  // namespace synfire::operations

#endif
