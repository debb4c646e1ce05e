// The structures of DLPack, version 1, as its public documentation states them (https://dmlc.github.io/dlpack): how
// libraries pass tensors to each other without copies. A binary interface: nothing here may change.
#ifndef SYNFIRE_BASE_DLPACK_HPP
#define SYNFIRE_BASE_DLPACK_HPP

#include <cstdint>

namespace synfire::dlpack {

constexpr uint32_t major_version = 1;

enum DeviceType : int32_t { cpu = 1, cuda = 2, cuda_host = 3, cuda_managed = 13 };
enum Code : uint8_t { signed_integer = 0, unsigned_integer = 1, floating = 2, bfloat = 4, boolean = 6 };
constexpr uint64_t flag_read_only = 1;

struct Device {
  int32_t type;
  int32_t number;  // of a GPU; 0 for all memory of the host
};

struct DataType {
  uint8_t code;
  uint8_t bits;    // of one lane
  uint16_t lanes;  // of a vector; 1: a number
};

struct Tensor {
  void* data;
  Device device;
  int32_t n_dimensions;
  DataType dtype;
  int64_t* shape;
  int64_t* strides;  // in elements; null: row-major and compact
  uint64_t byte_offset;
};

// DLManagedTensor
struct Unversioned {
  Tensor tensor;
  void* manager;
  void (*deleter)(Unversioned* self);  // may be null
};

// DLManagedTensorVersioned. Of another major version, only what comes before `flags` has this meaning.
struct Versioned {
  uint32_t major, minor;
  void* manager;
  void (*deleter)(Versioned* self);  // may be null
  uint64_t flags;
  Tensor tensor;
};

static_assert(sizeof(Tensor) == 48 && sizeof(Unversioned) == 64 && sizeof(Versioned) == 80);

}  // namespace synfire::dlpack

#endif
