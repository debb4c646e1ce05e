// The operation, and its work on processors.
#include "last_steps_arrays_of.hpp"

#include <backends/host/host_launcher.hpp>
#include <base/view_checks.hpp>
#include <graph/operands.hpp>

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

OperationList keep_last_steps(int64_t n_neurons, const View& layer_active, const Buffer& source,
                              const Buffer& destination) {
  const View to = steps_of(destination, "the neurons' last steps");
  const LastSteps op = {0, to.shape[1], n_neurons, steps_of(source, "the neurons' sequence"), to, layer_active};
  OperationList operations = {op};
  check_overlap(operations);
  return operations;
}

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
  const int64_t first = arrays.first_word(), count = arrays.end_word() - first;
  if (count <= 0) return;
  const auto bytes = static_cast<size_t>(count) * sizeof(uint32_t);
  for (int64_t at = first; at < arrays.n_words(); at += arrays.step_words) {
    if (arrays.from)
      std::memcpy(arrays.to + at, arrays.from + at, bytes);
    else
      std::memset(arrays.to + at, 0, bytes);
  }
}

}  // namespace synfire::operations
