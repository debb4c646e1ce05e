#include "copy.hpp"
#include "fill.hpp"
#include "scale_add.hpp"

#include <backends/host/host_launcher.hpp>
#include <backends/host/host_storage.hpp>

#include <algorithm>
#include <cstring>

namespace synfire::operations {

using namespace synfire::core;
namespace formats = synfire::host::SYNFIRE_MODEL_LEVEL;

void run(const Copy& op, host::Launcher&) {
  std::memcpy(op.destination.data, op.source.data, op.source.bytes);
}

// ---- fill -----------------------------------------------------------------------------------------------------------

namespace {

template <class E>
void fill(const Fill& op) {
  std::fill_n(static_cast<E*>(op.array.data), op.array.bytes / sizeof(E),
              static_cast<E>(op.bits ? *op.bits : element_bits(op.array.dtype, op.value)));
}

}  // namespace

void fill_memory(const Fill& op) {
  switch (bytes_of_dtype(op.array.dtype)) {
    case 1:
      return fill<uint8_t>(op);
    case 2:
      return fill<uint16_t>(op);
    case 4:
      return fill<uint32_t>(op);
    default:
      return fill<uint64_t>(op);
  }
}

void run(const Fill& op, host::Launcher&) {
  fill_memory(op);
}

// ---- scale and add --------------------------------------------------------------------------------------------------

namespace {

// Below this many elements the calling thread works alone.
constexpr int64_t elementwise_parallel_threshold = 1 << 18;

template <class From, class To>
void scale_add_range(const ScaleAdd& op, int64_t first, int64_t end) {
  using R = formats::Arithmetic<To>;
  const auto* const source = static_cast<const From*>(op.source.data);
  auto* const destination = static_cast<To*>(op.destination.data);
  const R scale = static_cast<R>(op.scale_value ? *op.scale_value : op.scale);
  const R keep = static_cast<R>(op.keep_value ? *op.keep_value : op.keep);
  for (int64_t i = first; i < end; ++i) {
    const R kept = keep == R(0) ? R(0) : keep * formats::decode(destination[i]);
    destination[i] = formats::encode<To>(model::fma(scale, formats::decode(source[i]), kept));
  }
}

int64_t element_count(const ScaleAdd& op) {
  return static_cast<int64_t>(op.source.bytes / bytes_of_dtype(op.source.dtype));
}

}  // namespace

bool wants_threads(const ScaleAdd& op) {
  return element_count(op) >= elementwise_parallel_threshold;
}

void run(const ScaleAdd& op, host::Launcher& launcher) {
  launcher.for_each_range(element_count(op), wants_threads(op), [&](int64_t first, int64_t end) {
    with_element_type(formats::NumberTypes{}, op.source.dtype, [&](auto source) {
      using From = typename decltype(source)::Type;
      with_element_type(formats::NumberTypesBeside<formats::Arithmetic<From>>{}, op.destination.dtype,
                        [&](auto to) { scale_add_range<From, typename decltype(to)::Type>(op, first, end); });
    });
  });
}

}  // namespace synfire::operations
