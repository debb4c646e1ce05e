#include "copy.hpp"
#include "elementwise_kernels.hpp"
#include "fill.hpp"
#include "scale_add.hpp"

#include <backends/cuda/cuda_launcher.hpp>

#include <algorithm>

namespace synfire::operations {

using namespace synfire::core;
using namespace synfire::cuda;

// ---- copy -----------------------------------------------------------------------------------------------------------

namespace {

// The largest access of which both addresses and the size are multiples.
int copy_unit(const Copy& op) {
  const auto aligned = [](const void* data, uint64_t bytes) { return reinterpret_cast<uintptr_t>(data) % bytes == 0; };
  for (const uint64_t unit : {uint64_t{16}, uint64_t{4}})
    if (op.source.bytes % unit == 0 && aligned(op.source.data, unit) && aligned(op.destination.data, unit))
      return static_cast<int>(unit);
  return 1;
}

// A kernel with wide accesses copies faster than a copy node within the GPU; up to this size also with narrow accesses
// and across the bus, because the copy engine starts slowly (docs/pages/measurements.md, "Frames in and out").
constexpr uint64_t kernel_copy_bytes = uint64_t{1} << 20;

bool copies_by_kernel(const Copy& op) {
  const auto of_the_gpu = [](const View& view) { return view.memory == SYNFIRE_MEMORY_DEVICE; };
  const auto in_reach = [&](const View& view) { return of_the_gpu(view) || view.memory == SYNFIRE_MEMORY_PINNED; };
  if (of_the_gpu(op.source) && of_the_gpu(op.destination) && copy_unit(op) == 16)
    return op.source.bytes / 16 < uint64_t{0x7FFFFFFF} * copy_threads;
  return in_reach(op.source) && in_reach(op.destination) && op.source.bytes <= kernel_copy_bytes;
}

}  // namespace

Hints hints(const Copy&, const GpuShape&) {
  return {};
}

void enqueue(const Copy& op, Launcher& launcher) {
  if (!copies_by_kernel(op)) return launcher.copy(op.destination.data, op.source.data, op.source.bytes);
  const int unit = copy_unit(op);
  const auto count = static_cast<int64_t>(op.source.bytes / static_cast<uint64_t>(unit));
  const int64_t n_blocks = std::max<int64_t>((count + copy_threads - 1) / copy_threads, 1);
  launcher.launch(copy_kernel(unit), {static_cast<uint32_t>(n_blocks), copy_threads},
                  CopyLaunch{op.destination.data, op.source.data, count});
}

// ---- fill -----------------------------------------------------------------------------------------------------------

namespace {

template <class E>
void fill(const Fill& op, Launcher& launcher) {
  auto* const data = static_cast<E*>(op.array.data);
  const auto count = static_cast<int64_t>(op.array.bytes / sizeof(E));
  if (op.bits)
    launcher.launch(fill_value_kernel<E>(), launcher.over_elements(count), FillValueLaunch<E>{data, count, op.bits});
  else
    launcher.launch(fill_kernel<E>(), launcher.over_elements(count),
                    FillLaunch<E>{data, count, static_cast<E>(element_bits(op.array.dtype, op.value))});
}

}  // namespace

Hints hints(const Fill&, const GpuShape&) {
  return {};
}

void enqueue(const Fill& op, Launcher& launcher) {
  switch (bytes_of_dtype(op.array.dtype)) {
    case 1:
      return fill<uint8_t>(op, launcher);
    case 2:
      return fill<uint16_t>(op, launcher);
    case 4:
      return fill<uint32_t>(op, launcher);
    default:
      return fill<uint64_t>(op, launcher);
  }
}

// ---- scale and add --------------------------------------------------------------------------------------------------

Hints hints(const ScaleAdd&, const GpuShape&) {
  return {};
}

void enqueue(const ScaleAdd& op, Launcher& launcher) {
  const auto count = static_cast<int64_t>(op.source.bytes / bytes_of_dtype(op.source.dtype));
  launcher.launch(
      scale_add_kernel(op.source.dtype, op.destination.dtype), launcher.over_elements(count),
      ScaleAddLaunch{op.source.data, op.destination.data, count, op.scale, op.keep, op.scale_value, op.keep_value});
}

}  // namespace synfire::operations
