#include "loop_remarks.hpp"

#include "embedded.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace synfire::jit {
namespace {

struct Loop {
  const char* path;      // of the file that has it
  const char* function;  // how the function begins whose first loop it is
  const char* known_as;
  int n_instances;  // f32 and f64, shared constants and one set per neuron
  TextKind kind;
};
constexpr const char* rows_path = "neurons/passes/host/host_rows.hpp";
constexpr const char* backward_path = "neurons/passes/host/host_backward.cpp";
constexpr Loop known_loops[n_known_loops] = {
    {rows_path, "void forward_row(", "forward", 4, TextKind::model},
    {backward_path, "void adjoint_row(const R* __restrict v,", "backward", 4, TextKind::model},
    {backward_path, "void surrogate_row_of(", "surrogate", 4, TextKind::surrogate}};

// The line of the first loop over neurons after the function's name in an embedded file; 0: there is none.
int line_of(std::string_view file, std::string_view function) {
  const size_t loop = file.find("for (int i = 0;", file.find(function));
  if (loop == std::string_view::npos) return 0;
  return 1 + static_cast<int>(std::count(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(loop), '\n'));
}

// Counts the remarks that the loop at this place, "file:line:", was vectorised. If clang cannot find the line of a
// loop, it puts the remark at the function and the line into a note after it. gcc has a remark of its own for the
// remainder loop with shorter vectors: only those of the longest count.
int count_vectorized(const std::string& output, const std::string& place) {
  constexpr std::string_view unknown_place = "could not determine the original source location for ",
                             of_gcc = ": optimized: loop vectorized using ";
  int count = 0;
  long longest = 0;        // bytes of gcc's vectors
  bool elsewhere = false;  // the last remark was at another place
  for (size_t at = 0; at < output.size();) {
    const size_t end = std::min(output.find('\n', at), output.size());
    const std::string_view line = std::string_view(output).substr(at, end - at);
    at = end + 1;
    if (const size_t bytes_at = line.find(of_gcc); bytes_at != std::string_view::npos) {
      if (!line.starts_with(place)) continue;
      const long bytes = std::strtol(line.data() + bytes_at + of_gcc.size(), nullptr, 10);
      if (bytes > longest) count = 0;
      longest = std::max(longest, bytes);
      if (bytes == longest) ++count;
    } else if (line.find(": remark: vectorized loop") != std::string_view::npos) {
      elsewhere = !line.starts_with(place);
      if (!elsewhere) ++count;
    } else if (const size_t note = line.find(unknown_place); note != std::string_view::npos) {
      if (elsewhere && line.substr(note + unknown_place.size()).starts_with(place)) ++count;
      elsewhere = false;
    }
  }
  return count;
}

}  // namespace

LoopCounts count_loops(const std::string& output) {
  LoopCounts counts = {};
  for (size_t i = 0; i < counts.size(); ++i) {
    const Loop& loop = known_loops[i];
    std::string_view file;
    for (const EmbeddedFile& each : embedded_files())
      if (each.path == loop.path) file = each.text;
    if (const int line = line_of(file, loop.function); line != 0)
      counts[i] = std::min(loop.n_instances,
                           count_vectorized(output, std::string(loop.path) + ":" + std::to_string(line) + ":"));
  }
  return counts;
}

Vectorized described(const LoopCounts& counts, TextKind kind) {
  Vectorized result;
  for (size_t i = 0; i < counts.size(); ++i) {
    const Loop& loop = known_loops[i];
    if (loop.kind != kind) continue;
    result.n_loops += loop.n_instances;
    result.n_vectorized += counts[i];
    if (counts[i] < loop.n_instances)
      result.text.append(result.text.empty() ? "" : ", ")
          .append(std::to_string(loop.n_instances - counts[i]))
          .append(" of ")
          .append(std::to_string(loop.n_instances))
          .append(" ")
          .append(loop.known_as)
          .append(" loops are not vectorised");
  }
  return result;
}

}  // namespace synfire::jit
