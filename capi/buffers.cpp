// The functions of synfire.h for buffers.
#include "held.hpp"

#include <operations/elementwise/fill.hpp>

#include <algorithm>

using namespace synfire;
using namespace synfire::capi;

extern "C" {

synfire_status SYNFIRE_CALL synfire_buffer_create(synfire_context context, const synfire_buffer_desc* desc,
                                                  synfire_buffer* buffer) noexcept {
  return guarded(__func__, [&] {
    check_pointer(buffer, "buffer");
    *buffer = nullptr;
    core::drain();
    const auto owner = held(context);
    const synfire_buffer_desc checked = read_descriptor(desc, "desc");
    check_reserved(checked.reserved, "desc.reserved");
    auto* const made = core::charged_as(SYNFIRE_TAG_BUFFER, [&] { return new core::Buffer(*owner, checked); });
    made->retain();
    try {
      *buffer = registered<synfire_buffer>(made);
    } catch (...) {
      made->forget_release();
      made->release();
      throw;
    }
    made->release();
    return SYNFIRE_OK;
  });
}

void SYNFIRE_CALL synfire_buffer_destroy(synfire_buffer buffer) noexcept {
  capi::remove(value_of(buffer), core::ObjectType::buffer);
}

synfire_status SYNFIRE_CALL synfire_buffer_get_data(synfire_buffer buffer, void** data, uint64_t* bytes) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(buffer);
    if (data) *data = found->is_transient() ? nullptr : found->view().data;
    if (bytes) *bytes = found->view().bytes;
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_buffer_get_desc(synfire_buffer buffer, synfire_buffer_desc* desc) noexcept {
  return guarded(__func__, [&] {
    const auto found = held(buffer);
    const Answer out(desc, "desc");
    synfire_buffer_desc answer = SYNFIRE_BUFFER_DESC_INIT;
    answer.memory = found->memory();
    answer.dtype = found->dtype();
    answer.n_elements = found->view().bytes / core::bytes_of_dtype(found->dtype());
    answer.row_pitch = found->row_pitch();
    if (!found->is_transient() && (answer.memory != SYNFIRE_MEMORY_DEVICE || found->context()->device().is_host()))
      answer.data = found->view().data;
    std::ranges::copy(found->shape().all(), answer.shape);
    out.write(answer);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_buffer_upload(synfire_buffer buffer, uint64_t offset, const void* source,
                                                  uint64_t bytes) noexcept {
  return guarded(__func__, [&] {
    held(buffer)->upload(offset, source, bytes);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_buffer_download(synfire_buffer buffer, uint64_t offset, void* destination,
                                                    uint64_t bytes) noexcept {
  return guarded(__func__, [&] {
    held(buffer)->download(offset, destination, bytes);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_buffer_fill(synfire_buffer buffer, double value) noexcept {
  return guarded(__func__, [&] {
    operations::fill_now(*held(buffer), value);
    return SYNFIRE_OK;
  });
}

synfire_status SYNFIRE_CALL synfire_buffer_mark_written(synfire_buffer buffer) noexcept {
  return guarded(__func__, [&] {
    held(buffer)->mark_written();
    return SYNFIRE_OK;
  });
}

}  // extern "C"
