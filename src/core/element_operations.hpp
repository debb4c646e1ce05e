// Operations on the elements of buffers, which belong to no layer: fill, scale-and-add. What a caller asks for, and the
// checked operations it becomes.
#ifndef SYNFIRE_CORE_ELEMENT_OPERATIONS_HPP
#define SYNFIRE_CORE_ELEMENT_OPERATIONS_HPP

#include "buffer.hpp"

namespace synfire::core {

struct ScaleAddRequest {
  Buffer* source;
  Buffer* destination;
  double scale;
  double keep;
};

// The bits of an element that holds the value; throws INVALID_ARGUMENT when the type has no such element.
uint64_t fill_bits(int32_t dtype, double value);
// Throws INVALID_ARGUMENT unless the number is finite; `name` is what the caller calls it.
void check_scalar(double value, const char* name);

// Throw INVALID_ARGUMENT. The values are those of the request until the operation is told where others are.
OperationList fill(Buffer& buffer, double value, bool host_device);
OperationList scale_add(const ScaleAddRequest& request, bool host_device);

}  // namespace synfire::core

#endif
