// Which loops over neurons a compiler vectorised in a text, from the remarks that g++ and clang print about the lines
// of the library's own files.
#ifndef SYNFIRE_JIT_LOOP_REMARKS_HPP
#define SYNFIRE_JIT_LOOP_REMARKS_HPP

#include "model_text.hpp"

#include <array>
#include <cstdint>
#include <string>

namespace synfire::jit {

// How many loops over neurons the compiler vectorised.
struct Vectorized {
  int n_loops = 0, n_vectorized = 0;
  std::string text;  // which are not
};

// Instances that were vectorised of the loops of a forward, a backward and a surrogate. Entries of the cache begin with
// these bytes.
inline constexpr int n_known_loops = 3;
using LoopCounts = std::array<int32_t, n_known_loops>;

LoopCounts count_loops(const std::string& output);

// Describes the counts of the loops that a text of this kind has.
Vectorized described(const LoopCounts& counts, TextKind kind);

}  // namespace synfire::jit

#endif
