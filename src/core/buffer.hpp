// A buffer: typed memory of a context, owned or borrowed.
#ifndef SYNFIRE_CORE_BUFFER_HPP
#define SYNFIRE_CORE_BUFFER_HPP

#include "context.hpp"

namespace synfire::core {

uint64_t bytes_of_dtype(int32_t dtype);
const char* name_of_dtype(int32_t dtype);
const char* name_of_memory(int32_t memory);

class Buffer final : public Child {
 public:
  Buffer(Context& context, const synfire_buffer_desc& desc);

  int32_t dtype() const noexcept { return dtype_; }
  const Array& array() const noexcept { return array_; }

  void upload(uint64_t offset, const void* source, uint64_t bytes);
  void download(uint64_t offset, void* destination, uint64_t bytes) const;
  void fill(double value);

 private:
  ~Buffer() override;
  void check_range(uint64_t offset, const void* host, const char* host_name, uint64_t bytes) const;

  int32_t dtype_;
  bool owned_;
  Array array_;
};

}  // namespace synfire::core

#endif
