#include "check_elements.hpp"

#include <base/dtype.hpp>

#include <cstdio>

namespace synfire::operations {

using namespace synfire::core;

OperationLabel label(const CheckElements& op) {
  char text[120];
  std::snprintf(text, sizeof text, "[%lld, %lld, %lld] of %s", static_cast<long long>(op.elements.shape[0]),
                static_cast<long long>(op.elements.shape[1]), static_cast<long long>(op.elements.shape[2]),
                name_of_dtype(op.elements.dtype));
  return {nullptr, text};
}

CheckElementsArguments arguments_of(const CheckElements& op) {
  const int64_t per_row = op.elements.shape[1] * op.elements.shape[2];
  return {op.allowed,
          op.elements.data,
          static_cast<const uint32_t*>(op.lengths.data),
          op.elements.shape[0] * per_row,
          per_row,
          op.elements.shape[2],
          static_cast<int32_t>(bytes_of_dtype(op.elements.dtype))};
}

}  // namespace synfire::operations
