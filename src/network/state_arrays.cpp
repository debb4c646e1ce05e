#include "state_arrays.hpp"

namespace synfire::network {

uint64_t StateArray::bytes() const noexcept {
  uint64_t bytes = files::bytes_of(dtype);
  for (const int64_t length : shape) bytes *= static_cast<uint64_t>(length);
  return bytes;
}

files::Dtype file_type_of(int32_t dtype) noexcept {
  return dtype == SYNFIRE_DTYPE_F64 ? files::Dtype::f64 : files::Dtype::f32;
}

StateArrays::StateArrays(const Parts& parts) {
  for (const std::unique_ptr<StageParts>& stage : parts.stages) stage->list_saved(*this);
}

}  // namespace synfire::network
