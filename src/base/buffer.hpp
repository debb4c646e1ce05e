// A buffer: typed memory of a context, owned or borrowed. Its version counts what is written to it.
#ifndef SYNFIRE_BASE_BUFFER_HPP
#define SYNFIRE_BASE_BUFFER_HPP

#include "context.hpp"
#include "dtype.hpp"
#include "shape.hpp"
#include "versioned.hpp"
#include "view.hpp"

namespace synfire::core {

class Buffer final : public Child, public Versioned {
 public:
  Buffer(Context& context, const synfire_buffer_desc& desc);

  int32_t dtype() const noexcept { return dtype_; }
  // A transient buffer has no memory: its address is that of no memory, and graphs place it in their arenas.
  const View& view() const noexcept { return view_; }
  bool is_transient() const noexcept { return view_.transient != 0; }
  int32_t memory() const noexcept { return is_transient() ? SYNFIRE_MEMORY_TRANSIENT : view_.memory; }
  // Throws INVALID_ARGUMENT for a transient buffer.
  void check_has_memory(const char* name) const {
    if (is_transient()) fail_transient(name);
  }
  // Nothing may write it from now on.
  void only_read() noexcept { is_only_read_ = true; }
  bool is_only_read() const noexcept { return is_only_read_; }
  // Throws INVALID_ARGUMENT for a buffer that is only read.
  void check_may_be_written(const char* name) const {
    if (is_only_read_) fail_only_read(name, "nothing may write it");
  }
  [[noreturn]] static void fail_only_read(const char* name, const char* why);
  // Elements from one step to the next; 0 when steps follow each other directly.
  uint64_t row_pitch() const noexcept { return row_pitch_; }
  // Rank 0 if its creator stated none.
  const Shape& shape() const noexcept { return shape_; }

  Versioned* versioned() noexcept override { return this; }
  bool counts(const View&) const noexcept override { return true; }

  // Drops the release callback. Used for a buffer that was never returned to the caller.
  void forget_release() noexcept {
    release_ = nullptr;
    release_flag_ = nullptr;
  }

  void upload(uint64_t offset, const void* source, uint64_t bytes);
  void download(uint64_t offset, void* destination, uint64_t bytes) const;

 private:
  ~Buffer() override = default;
  void dispose() noexcept override;
  [[noreturn]] static void fail_transient(const char* name);
  void check_range(uint64_t offset, const void* host, const char* host_name, uint64_t bytes) const;

  int32_t dtype_;
  bool owned_;
  bool is_only_read_ = false;
  uint64_t row_pitch_;
  Shape shape_;
  View view_;
  synfire_release_callback release_;
  void* release_user_;
  uint32_t* release_flag_;
};

}  // namespace synfire::core

#endif
