// The operation, and its work on processors.
#include "last_steps_arrays_of.hpp"

#include <backends/host/host_launcher.hpp>
#include <base/view_checks.hpp>

#include <cstdio>
#include <cstring>

namespace synfire::operations {

using namespace synfire::core;

namespace {

View steps_of(const Buffer& buffer, const char* name) {
  const std::span<const int64_t> lengths = buffer.shape().all();
  return array_view(buffer, name, {lengths[0], lengths[1], lengths[2]});
}

}  // namespace

OperationList clear_last_steps(const Buffer& destination, int64_t first_row, int64_t n_rows) {
  const View to = steps_of(destination, "the neurons' last steps");
  return {LastSteps{first_row, n_rows == 0 ? to.shape[1] - first_row : n_rows, 1, {}, to, {}}};
}

OperationLabel label(const LastSteps& op) {
  char text[96];
  std::snprintf(text, sizeof text, "%s [%lld, %lld, %lld]", op.source.data ? "kept" : "cleared",
                static_cast<long long>(op.destination.shape[0]), static_cast<long long>(op.destination.shape[1]),
                static_cast<long long>(op.destination.shape[2]));
  return {nullptr, text};
}

bool wants_threads(const LastSteps&) {
  return false;
}

void run(const LastSteps& op, host::Launcher&) {
  const LastStepsArrays arrays = arrays_of(op);
  // All rows of a step at once, or each row of a mask.
  const int64_t end = arrays.end_word(), most = arrays.mask ? arrays.row_words : end - arrays.first_word();
  for (int64_t first = arrays.first_word(); first < end; first += most) {
    if (arrays.mask && arrays.mask[first / arrays.row_words] == 0) continue;
    for (int64_t step = 0; step < arrays.n_steps; ++step) {
      uint32_t* const to = arrays.to + step * arrays.to_pitch + first;
      const auto bytes = static_cast<size_t>(most) * sizeof(uint32_t);
      if (arrays.from)
        std::memcpy(to, arrays.from + step * arrays.from_pitch + first, bytes);
      else
        std::memset(to, 0, bytes);
    }
  }
}

}  // namespace synfire::operations
