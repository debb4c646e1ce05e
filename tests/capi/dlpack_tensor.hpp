// The structures of DLPack as any other library declares them.
#ifndef SYNFIRE_TESTS_CAPI_DLPACK_TENSOR_HPP
#define SYNFIRE_TESTS_CAPI_DLPACK_TENSOR_HPP

#include <cstdint>

namespace synfire_test {

// --------------------------------------------------------------

struct DLDevice {
  int32_t device_type, device_id;
};
struct DLDataType {
  uint8_t code, bits;
  uint16_t lanes;
};
struct DLTensor {
  void* data;
  DLDevice device;
  int32_t ndim;
  DLDataType dtype;
  int64_t *shape, *strides;
  uint64_t byte_offset;
};
struct DLManagedTensor {
  DLTensor dl_tensor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensor*);
};
struct DLManagedTensorVersioned {
  uint32_t major, minor;
  void* manager_ctx;
  void (*deleter)(DLManagedTensorVersioned*);
  uint64_t flags;
  DLTensor dl_tensor;
};

}  // namespace synfire_test

#endif
