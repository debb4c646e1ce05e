#include "element_operations.hpp"

#include "array_checks.hpp"
#include "error.hpp"
#include "operands.hpp"

#include <cmath>

namespace synfire::core {

uint64_t fill_bits(int32_t dtype, double value) {
  if (is_packed(dtype) && !(value >= 0 && value < 4294967296.0 && value == std::floor(value)))
    fail_argument("SYN-BUFFER-FILL", "value is %g; a buffer of bits takes a whole number in [0, 2^32) for each word",
                  value);
  const int width = dtype == SYNFIRE_DTYPE_U8    ? 8
                    : dtype == SYNFIRE_DTYPE_U32 ? 32
                    : dtype == SYNFIRE_DTYPE_U64 ? 64
                                                 : 0;
  if (width > 0 && !(value >= 0 && value < std::ldexp(1.0, width) && value == std::floor(value)))
    fail_argument("SYN-BUFFER-FILL", "value is %g; a buffer of %s takes a whole number in [0, 2^%d)", value,
                  name_of_dtype(dtype), width);
  return element_bits(dtype, value);
}

void check_scalar(double value, const char* name) {
  if (!std::isfinite(value)) fail_argument("SYN-SCALAR-RANGE", "%s is %g; it must be finite", name, value);
}

OperationList fill(Buffer& buffer, double value, bool host_device) {
  fill_bits(buffer.dtype(), value);
  check_memory(buffer, "desc.buffer", host_device);
  return {FillOperation{buffer.array(), buffer.dtype(), value}};
}

namespace {

void check_number(const Buffer& buffer, const char* name) {
  switch (buffer.dtype()) {
    case SYNFIRE_DTYPE_F32:
    case SYNFIRE_DTYPE_F64:
    case SYNFIRE_DTYPE_F16:
    case SYNFIRE_DTYPE_BF16: return;
    default:
      fail_argument("SYN-BUFFER-TYPE", "%s holds %s; f32, f64, f16 or bf16 is needed", name,
                    name_of_dtype(buffer.dtype()));
  }
}

uint64_t elements_of(const Buffer& buffer) { return buffer.array().bytes / bytes_of_dtype(buffer.dtype()); }

}  // namespace

OperationList scale_add(const ScaleAddRequest& request, bool host_device) {
  const Buffer &source = *request.source, &destination = *request.destination;
  check_number(source, "desc.source");
  check_number(destination, "desc.destination");
  if ((source.dtype() == SYNFIRE_DTYPE_F64) != (destination.dtype() == SYNFIRE_DTYPE_F64))
    fail_argument("SYN-SCALE-ADD-TYPE", "desc.source holds %s and desc.destination %s; f64 goes with f64 only",
                  name_of_dtype(source.dtype()), name_of_dtype(destination.dtype()));
  if (elements_of(source) != elements_of(destination) || source.row_pitch() != destination.row_pitch())
    fail_argument(
        "SYN-SCALE-ADD-SIZE",
        "desc.source holds %llu elements at a row_pitch of %llu, desc.destination %llu at %llu; both must be the "
        "same",
        static_cast<unsigned long long>(elements_of(source)), static_cast<unsigned long long>(source.row_pitch()),
        static_cast<unsigned long long>(elements_of(destination)),
        static_cast<unsigned long long>(destination.row_pitch()));
  check_scalar(request.scale, "desc.scale");
  check_scalar(request.keep, "desc.keep");
  check_memory(source, "desc.source", host_device);
  check_memory(destination, "desc.destination", host_device);
  // Each element is read before it is written, so the two may be one array.
  OperationList operations = {ScaleAddOperation{source.array(), destination.array(), request.scale, request.keep}};
  check_overlap(operations);
  return operations;
}

}  // namespace synfire::core
